// SPDX-License-Identifier: LGPL-3.0-or-later
// Listing a directory: what is asked, and what of it is decided name by name.
#include "base/contains.hh"
#include "commit/engine/folder.hh"
#include "commit/engine/names.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;

class ListTest : public testing::Test {
 protected:
  ListTest() {
    EXPECT_TRUE(world_.Run(MakeDirectoryName(*gateway_.engine, Path("/d"), false)));
    for (int i = 0; i < kNames; ++i) EXPECT_TRUE(world_.Put(gateway_, Name(i)));
  }

  static ObjectPath Path(std::string_view text) { return TestWorld::Path(text); }
  static std::string Name(int i) { return fmt::format("/d/{:03}", i); }

  // The names that `reader` lists.
  std::vector<std::string> Names(TestWorld::Gateway& reader) {
    const auto listed = world_.Run(ListDirectory(*reader.engine, Path("/d")));
    EXPECT_TRUE(listed) << listed.error().message;
    std::vector<std::string> names;
    for (const ListedName& name : *listed) names.push_back("/d/" + name.name);
    return names;
  }
  std::vector<std::string> AllBut(std::vector<int> missing) const {
    std::vector<std::string> names;
    for (int i = 0; i < kNames; ++i) {
      if (!Contains(missing, i)) names.push_back(Name(i));
    }
    return names;
  }

  static constexpr int kNames = 300;  // more than are looked at together
  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
};

TEST_F(ListTest, EachNameCostsAQuorumOfItsHomesAndNoRoundTripOfItsOwn) {
  TestWorld::Gateway& reader = world_.NewGateway();
  const TimePoint start = world_.executor.Now();
  EXPECT_EQ(Names(reader), AllBut({}));
  // The directory itself, its folder on all servers, and two homes of each name.
  EXPECT_EQ(reader.counts->Of(Operation::kList), 2 + world_.options.servers + 2 * kNames);
  EXPECT_EQ(reader.counts->Total(), reader.counts->Of(Operation::kList));
  // Four round trips of up to 10 ms: two before the names, and one for each batch of these.
  EXPECT_LE(world_.executor.Now() - start, milliseconds(4 * 10));
}

// What all servers tell may be known already (NamesAtRest), and a large folder takes all of them long.
TEST_F(ListTest, NobodyIsLateBecauseTheFolderIsLarge) {
  const auto heard = [&](milliseconds last) {
    TestWorld::Gateway& reader = world_.NewGateway();
    for (size_t i = 0; i < world_.options.servers; ++i)
      reader.faults[i]->plan().Add({.kind = FaultKind::kDelay, .delay = i == 0 ? last : milliseconds(500)});
    return world_.Run(ListFolder(*reader.engine, Path("/d"))).heard.size();
  };
  EXPECT_EQ(heard(milliseconds(700)), world_.options.servers);
  EXPECT_EQ(heard(milliseconds(5000)), world_.options.servers - 1);
}

TEST_F(ListTest, WhatIsNotDecidedIsRolledForward) {
  // One home only has the tombstone of 7.
  TestWorld::Gateway& remover = world_.NewGateway();
  const Result<NameInfo> info = world_.Run(LookUp(*remover.engine, Path(Name(7))));
  ASSERT_TRUE(info);
  const Result<Version> above = remover.engine->NextVersion(info->HighestShown());
  ASSERT_TRUE(above);
  const MemberIndex home = remover.engine->Homes(Path(Name(7))).front();
  EXPECT_TRUE(
      world_.Run(MakeMark(*remover.engine, home, Path(Name(7)), FormatState(TombstoneState(*above)))));
  EXPECT_EQ(Names(world_.NewGateway()), AllBut({7}));
  // Whoever cannot ask that home must find the name gone, too.
  TestWorld::Gateway& other = world_.NewGateway();
  other.faults[home]->plan().SetDown(true);
  EXPECT_FALSE(world_.Lives(other, Name(7)));
  EXPECT_EQ(Names(other), AllBut({7}));
}

TEST_F(ListTest, NoNameIsLeftOutBecauseItsHomesFail) {
  TestWorld::Gateway& reader = world_.NewGateway();
  FaultRule rule;
  rule.operation = Operation::kList;
  rule.path_contains = "/d/007";
  rule.error = {Code::kUnknown, "input/output error"};
  rule.count = 1;
  for (const MemberIndex home : reader.engine->Homes(Path(Name(7)))) reader.faults[home]->plan().Add(rule);
  EXPECT_EQ(Names(reader), AllBut({}));
  rule.count = UINT64_MAX;
  for (const MemberIndex home : reader.engine->Homes(Path(Name(7)))) reader.faults[home]->plan().Add(rule);
  EXPECT_EQ(world_.Run(ListDirectory(*reader.engine, Path("/d"))).code(), Code::kNoQuorum);
}

TEST_F(ListTest, RemovedAndMovedNamesAreNotListed) {
  EXPECT_TRUE(world_.Run(RemoveObject(*gateway_.engine, Path(Name(0)))));
  EXPECT_TRUE(world_.Run(RenameObject(*gateway_.engine, Path(Name(1)), Path("/moved"))));
  EXPECT_TRUE(world_.Run(RenameObject(*gateway_.engine, Path(Name(2)), Path(Name(299)))));
  EXPECT_EQ(Names(world_.NewGateway()), AllBut({0, 1, 2}));
}

TEST_F(ListTest, ARenameThatStopsOnceItIsDecidedIsSeenAtItsNewName) {
  TestWorld::Gateway& renamer = world_.NewGateway();
  // No home of the new name accepts it.
  FaultRule rule;
  rule.kind = FaultKind::kHang;
  rule.operation = Operation::kRename;
  rule.path_contains = "/d/moved";
  for (const auto& fault : renamer.faults) fault->plan().Add(rule);
  const auto rename = [](Engine& engine) -> Task<void> {
    (void)co_await RenameObject(engine, Path(Name(1)), Path("/d/moved"));
  };
  renamer.scope.Spawn(rename(*renamer.engine));
  world_.Pass(milliseconds(500));
  std::vector<std::string> names = AllBut({1});
  names.push_back("/d/moved");
  EXPECT_EQ(Names(world_.NewGateway()), names);
}

TEST_F(ListTest, AHomeThatFailsIsReplacedByAnother) {
  TestWorld::Gateway& reader = world_.NewGateway();
  // Its folder is told, none of its object directories.
  FaultRule rule;
  rule.operation = Operation::kList;
  rule.path_contains = "/d/";
  rule.kind = FaultKind::kFailBefore;
  rule.error = {Code::kUnknown, "input/output error"};
  reader.faults[2]->plan().Add(rule);
  EXPECT_EQ(Names(reader), AllBut({}));
}

}  // namespace
}  // namespace xec
