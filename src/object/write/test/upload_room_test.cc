// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads in a store whose disks fill up.
#include "object/write/upload_room.hh"

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "object/test/test_upload.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::HasSubstr;

class UploadRoomTest : public testing::Test {
 protected:
  static constexpr uint64_t kDisk = 1'000'000'000;

  UploadRoomTest() : store_({.geometry = kSmall, .servers = 9}) { SetSpaceTold(false); }

  // While they tell none, what was noted stays.
  void SetSpaceTold(bool told) {
    for (MemberIndex i = 0; i < store_.server_count(); ++i) {
      store_.faults(i).Clear();
      if (!told) store_.faults(i).Add({.operation = Operation::kGetSpace});
    }
  }

  void Note(const std::vector<MemberIndex>& full) {
    std::map<std::string, Space> heard;
    for (MemberIndex i = 0; i < store_.server_count(); ++i)
      heard[store_.engine().server_id(i)] = {kDisk, Contains(full, i) ? 1000 : kDisk / 2};
    store_.engine().space().Note(std::move(heard), store_.engine().executor().Now());
  }
  // Servers with chunks of the object.
  std::set<MemberIndex> Holders(const std::string& name) {
    std::set<MemberIndex> holders;
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader(name);
    EXPECT_TRUE(reader);
    EXPECT_TRUE(SyncWait((*reader)->Locate([&](const ChunkReport& chunk) { holders.insert(chunk.server); })));
    return holders;
  }
  std::vector<MemberIndex> Homes() { return store_.engine().Homes(TestStore::Path("/o")); }

  TestStore store_;
};

TEST_F(UploadRoomTest, MembersWithoutRoomGetNoLaneAndFullHomesKnowOfTheVersion) {
  const std::vector<MemberIndex> full = {Homes()[0], Homes()[1], Homes()[4]};
  Note(full);
  const std::string bytes = TestBytes(200'000);
  const Result<Committed> committed = store_.Put("/o", bytes);
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_TRUE(committed->debts.empty());
  store_.Settle();
  EXPECT_TRUE(*store_.Get("/o") == bytes);
  const std::set<MemberIndex> holders = Holders("/o");
  EXPECT_EQ(holders.size(), 6u);
  std::set<MemberIndex> know;
  for (const auto& [server, path] : store_.Archives("/o")) know.insert(static_cast<MemberIndex>(server));
  for (const MemberIndex home : full) EXPECT_FALSE(holders.contains(home)) << home;
  for (const MemberIndex home : Homes()) EXPECT_TRUE(know.contains(home)) << home;
}

TEST_F(UploadRoomTest, AnUploadForWhichTooFewAreLeftIsRefusedAsItBegins) {
  Note({0, 1, 2, 3, 4});
  WriteOptions options;
  options.archives_min = 5;
  const Result<std::unique_ptr<ObjectWriter>> refused = store_.Start("/o", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::kNoSpace);
  EXPECT_THAT(refused.error().message, HasSubstr("only 4 data servers have more than their reserve free"));
  EXPECT_THAT(refused.error().message, HasSubstr("upload needs 5 (s00: 1000 B are free"));
  Note({0, 1, 2, 3});
  EXPECT_TRUE(store_.Start("/o", options));
  // Before one is refused the servers are asked once more.
  Note({0, 1, 2, 3, 4});
  SetSpaceTold(true);
  EXPECT_TRUE(store_.Start("/o", options));
  SetSpaceTold(false);
  Note({0, 1, 2, 3});
  options.archives_min = 0;
  EXPECT_EQ(store_.Start("/o", options).code(), Code::kNoSpace) << "all six are wanted";
  EXPECT_TRUE(SyncWait(MakeDirectoryName(store_.engine(), TestStore::Path("/d"), false)));
}

// A nearly full store could not grow: it refused to write down the list with the server that is added.
TEST_F(UploadRoomTest, ListsOfMembersAreWrittenIntoTheReserve) {
  Note({0, 1, 2, 3, 4, 5, 6, 7, 8});
  const ObjectPath list = ObjectPath::OfList(2);
  WriteOptions options;
  options.only_if = OnlyIf::Absent();
  options.archives_min = 1;
  Result<std::unique_ptr<ObjectWriter>> writer =
      SyncWait(ObjectWriter::Start(store_.engine(), list, std::move(options)));
  ASSERT_TRUE(writer) << writer.error().ToString();
  const std::string bytes = TestBytes(2000);
  ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(bytes))));
  const Result<Committed> committed = SyncWait((*writer)->Commit());
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_TRUE(committed->debts.empty());
  EXPECT_EQ(store_.Start("/o").code(), Code::kNoSpace);
}

// It is known to be full from then on, until somebody looks again.
TEST_F(UploadRoomTest, AMemberThatRefusesForWantOfSpaceIsPassedOver) {
  const MemberIndex full = Homes()[2];
  for (const Operation operation : {Operation::kCreate, Operation::kWrite}) {
    Note({});
    store_.faults(full).Add({.operation = operation, .error = {Code::kNoSpace, "no space"}});
    ASSERT_TRUE(store_.Put("/o", TestBytes(200'000)));
    EXPECT_TRUE(store_.engine().Room().IsFull(full));
    EXPECT_EQ(store_.engine().Room().full_count, 1u);
    store_.Settle();
    store_.faults(full).Clear();
  }
}

TEST_F(UploadRoomTest, WhatIsWrittenCounts) {
  Note({});
  const KnownSpace::Room before = store_.engine().Room();
  ASSERT_TRUE(store_.Put("/o", TestBytes(200'000)));
  const KnownSpace::Room after = store_.engine().Room();
  double sum = 0;
  for (size_t i = 0; i < store_.server_count(); ++i) sum += before.weights[i] - after.weights[i];
  EXPECT_GT(sum, 250'000);
  EXPECT_LT(sum, 400'000);
}

}  // namespace
}  // namespace xec
