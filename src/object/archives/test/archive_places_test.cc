// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/archive_places.hh"

#include <gmock/gmock.h>

#include "object/test/test_version.hh"

namespace xec {
namespace {

using testing::StartsWith;

class ArchivePlacesTest : public testing::Test {
 protected:
  Result<FoundArchive> Find(MemberIndex server) { return of_.world.Run(of_.places->Find(server)); }
  // Gives the archive there another name of the same upload.
  void RenameTo(MemberIndex server, StateKind kind) {
    const std::string file = of_.ArchiveOn(server);
    State state = *ParseState(file.substr(file.rfind('/') + 1));
    const std::string from = FormatState(state);
    state.kind = kind;
    XEC_CHECK(of_.world.Run(RenameState(of_.engine, server, of_.path, from, FormatState(state))).has_value());
  }

  TestVersion of_;
};

TEST_F(ArchivePlacesTest, WhatIsPromotedIsFoundByOneRequest) {
  const uint64_t before = of_.gateway.counts->Total();
  const Result<FoundArchive> found = Find(of_.named[0]);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, of_.ArchiveOn(of_.named[0]));
  EXPECT_FALSE(found->is_witness);
  EXPECT_EQ(of_.gateway.counts->Total(), before + 1);
}

TEST_F(ArchivePlacesTest, WhatIsStillSealedIsFoundWhereItIsListed) {
  RenameTo(of_.named[0], StateKind::kSealed);
  const Result<FoundArchive> found = Find(of_.named[0]);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(found->path, of_.ArchiveOn(of_.named[0]));
}

TEST_F(ArchivePlacesTest, NothingIsNotFound) {
  const Result<FoundArchive> found = Find(of_.spares[0]);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.code(), Code::kNotFound);
}

TEST_F(ArchivePlacesTest, OnASpareAnArchiveIsFoundByItsListing) {
  const auto find = [&] { return of_.world.Run(of_.places->FindOnSpare(of_.spares[0])); };
  EXPECT_EQ(find().code(), Code::kNotFound);
  of_.CopyTo(of_.named[1], of_.spares[0]);
  const uint64_t before = of_.gateway.counts->Total();
  const Result<FoundArchive> found = find();
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(found->path, of_.ArchiveOn(of_.spares[0]));
  EXPECT_EQ(of_.gateway.counts->Total(), before + 2);
  of_.world.memory[of_.spares[0]]->SetDown(true);
  EXPECT_EQ(find().code(), Code::kUnavailable);
}

// What can be opened needs no listing.
TEST_F(ArchivePlacesTest, OnASpareAnArchiveIsFoundThatCannotBeListed) {
  of_.CopyTo(of_.named[1], of_.spares[0]);
  of_.gateway.faults[of_.spares[0]]->plan().Add(
      {.operation = Operation::kList, .error = {Code::kUnreadable, "a bad sector"}});
  const Result<FoundArchive> found = of_.world.Run(of_.places->FindOnSpare(of_.spares[0]));
  EXPECT_TRUE(found) << found.error().ToString();
}

TEST_F(ArchivePlacesTest, SilenceIsNotNothing) {
  of_.world.memory[of_.named[0]]->SetDown(true);
  EXPECT_EQ(Find(of_.named[0]).code(), Code::kUnavailable);
}

TEST_F(ArchivePlacesTest, AWitnessIsFoundButIsNotTheArchive) {
  RenameTo(of_.named[0], StateKind::kWitness);
  const Result<FoundArchive> found = Find(of_.named[0]);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_TRUE(found->is_witness);
  EXPECT_EQ(of_.world.Run(of_.places->FindBesideWitness(of_.named[0])).code(), Code::kNotFound);
  of_.CopyTo(of_.named[1], of_.named[0]);
  const Result<FoundArchive> beside = of_.world.Run(of_.places->FindBesideWitness(of_.named[0]));
  ASSERT_TRUE(beside) << beside.error().ToString();
  EXPECT_FALSE(beside->is_witness);
}

TEST_F(ArchivePlacesTest, WhatWasRenamedSinceIsFoundAtItsNewName) {
  const ObjectPath to = TestWorld::Path("/moved");
  ASSERT_TRUE(of_.world.Run(RenameObject(of_.engine, of_.path, to)));
  of_.world.Pass(std::chrono::seconds(1));
  const Result<FoundArchive> found = Find(of_.named[0]);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_THAT(found->path, StartsWith(to.ObjectDirectory() + "/"));
}

// Every server without an archive had the name looked up, to see whether the object had been moved since.
TEST_F(ArchivePlacesTest, AllThatMissAnArchiveTogetherShareTwoLookUps) {
  for (const auto& server : of_.gateway.faults)
    server->plan().Add(
        {.kind = FaultKind::kDelay, .operation = Operation::kList, .delay = std::chrono::milliseconds(5)});
  int missed = 0;
  const auto find = [](TestPlaces& places, MemberIndex server, int& count) -> Task<void> {
    const Result<FoundArchive> found = co_await places.Find(server);
    if (found.code() == Code::kNotFound) ++count;
  };
  constexpr int kTimes = 10;
  const uint64_t before = of_.gateway.counts->Of(Operation::kList);
  for (int i = 0; i < kTimes; ++i) {
    for (const MemberIndex spare : of_.spares) of_.gateway.scope.Spawn(find(*of_.places, spare, missed));
  }
  of_.world.Pass(std::chrono::seconds(1));
  const size_t finds = kTimes * of_.spares.size();
  EXPECT_EQ(missed, static_cast<int>(finds));
  const Homes homes = of_.engine.Homes(of_.path);
  EXPECT_LE(of_.gateway.counts->Of(Operation::kList) - before, finds + homes.size() + 2 * homes.quorum());
}

// A look-up may have heard the homes before a rename, and an archive be missed because of it.
TEST_F(ArchivePlacesTest, WhatWasMissedDuringALookUpIsAskedByTheNextOne) {
  const ObjectPath to = TestWorld::Path("/moved");
  const Homes homes = of_.engine.Homes(of_.path);
  TestWorld::Gateway& renamer = of_.world.NewGateway();
  // The tombstone is on the first three homes only.
  for (const MemberIndex home : {homes[3], homes[4]}) renamer.faults[home]->plan().SetDown(true);
  std::optional<Status> missed, moved;
  const auto find = [](TestPlaces& places, MemberIndex server, std::optional<Status>& status) -> Task<void> {
    const Result<FoundArchive> found = co_await places.Find(server);
    status = found ? OkStatus() : Status(found.error());
  };
  EXPECT_EQ(Find(of_.spares[0]).code(), Code::kNotFound) << "the places are known from now on";
  // A look-up hears two of these, and then one that was not told.
  for (const MemberIndex home : {homes[2], homes[4]})
    of_.gateway.faults[home]->plan().Add({.operation = Operation::kList});
  of_.gateway.faults[homes[3]]->plan().Add({.kind = FaultKind::kHang, .operation = Operation::kList});
  of_.gateway.scope.Spawn(find(*of_.places, of_.spares[0], missed));
  of_.world.Pass(std::chrono::milliseconds(20));
  ASSERT_TRUE(of_.world.Run(RenameObject(*renamer.engine, of_.path, to)));
  of_.world.Pass(std::chrono::milliseconds(100));
  ASSERT_FALSE(missed);
  of_.gateway.scope.Spawn(find(*of_.places, homes[0], moved));
  of_.world.Pass(std::chrono::milliseconds(100));
  for (const auto& fault : of_.gateway.faults) {
    fault->plan().Clear();
    fault->plan().ReleaseHung();
  }
  of_.world.Pass(std::chrono::seconds(5));
  ASSERT_TRUE(missed && moved);
  EXPECT_EQ(missed->code(), Code::kNotFound);
  EXPECT_TRUE(*moved) << moved->error().ToString();
}

// That home could know that the object was moved in, and from where.
TEST_F(ArchivePlacesTest, WhileAHomeDoesNotAnswerThereMayBeOtherPlaces) {
  EXPECT_FALSE(of_.places->MayHaveOtherPlaces()) << "nobody has looked yet";
  const Homes homes = of_.engine.Homes(of_.path);
  const MemberIndex asked = of_.spares[0];
  const MemberIndex away = homes.front() == asked ? homes.back() : homes.front();
  of_.world.memory[away]->SetDown(true);
  EXPECT_EQ(Find(asked).code(), Code::kNotFound);
  EXPECT_TRUE(of_.places->MayHaveOtherPlaces());
  of_.world.memory[away]->SetDown(false);
  EXPECT_EQ(Find(asked).code(), Code::kNotFound);
  EXPECT_TRUE(of_.places->MayHaveOtherPlaces()) << "that was asked a moment ago";
  of_.world.Pass(ArchivePlaces::kAskAgainAfter);
  EXPECT_EQ(Find(asked).code(), Code::kNotFound);
  EXPECT_FALSE(of_.places->MayHaveOtherPlaces());
  EXPECT_EQ(of_.places->changes(), 0u) << "it was nowhere else";
}

TEST_F(ArchivePlacesTest, HomesThatListAnArchiveAreAskedForTheManifestFirst) {
  const Homes homes = of_.engine.Homes(of_.path);
  const std::vector<MemberIndex> candidates = of_.places->Candidates();
  EXPECT_EQ(candidates.size(), of_.world.memory.size());
  size_t listed = 0;
  for (const MemberIndex home : homes) listed += of_.version->info.listings.contains(home) ? 1 : 0;
  ASSERT_GT(listed, 0u);
  for (size_t i = 0; i < listed; ++i)
    EXPECT_TRUE(of_.version->info.listings.contains(candidates[i])) << "candidate " << i;
}

TEST_F(ArchivePlacesTest, AnArchiveOfAnotherObjectIsNone) {
  Manifest manifest = of_.Load(of_.named[0])->archive->manifest();
  ArchiveIndex index;
  index.manifest = *manifest.Serialize();
  EXPECT_TRUE(of_.places->ReadManifest(index));
  manifest.size_bytes += 1;
  index.manifest = *manifest.Serialize();
  EXPECT_EQ(of_.places->ReadManifest(index).code(), Code::kCorruption);
  index.manifest = "no manifest";
  EXPECT_FALSE(of_.places->ReadManifest(index));
}

TEST_F(ArchivePlacesTest, SparesAreWhereTheManifestNamesNobody) {
  ASSERT_TRUE(of_.Load(of_.named[0]));
  std::vector<MemberIndex> spares = of_.places->Spares(*of_.archives->manifest());
  std::sort(spares.begin(), spares.end());
  EXPECT_EQ(spares, of_.spares);
}

}  // namespace
}  // namespace xec
