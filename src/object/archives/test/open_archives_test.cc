// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/open_archives.hh"

#include <gmock/gmock.h>

#include "object/test/test_version.hh"

namespace xec {
namespace {

using testing::ElementsAre;

class OpenArchivesTest : public testing::Test {
 protected:
  TestVersion of_;
};

TEST_F(OpenArchivesTest, WhatIsOpenStaysOpen) {
  const Result<LoadedArchive> first = of_.Load(of_.named[0]);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->archive->server(), of_.named[0]);
  const Result<LoadedArchive> again = of_.Load(of_.named[0]);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->archive, first->archive);
  EXPECT_EQ(of_.places->finds, 1);
  EXPECT_THAT(of_.archives->All(), ElementsAre(first->archive));
}

TEST_F(OpenArchivesTest, ConcurrentCallersShareOneOpening) {
  std::vector<ArchivePtr> got;
  for (int i = 0; i < 3; ++i) {
    of_.gateway.scope.Spawn([](std::shared_ptr<OpenArchives> archives, MemberIndex server,
                               std::vector<ArchivePtr>& into) -> Task<void> {
      const Result<LoadedArchive> loaded = co_await archives->Load(server);
      if (loaded) into.push_back(loaded->archive);
    }(of_.archives, of_.named[0], got));
  }
  of_.world.Pass(std::chrono::seconds(1));
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
  EXPECT_EQ(of_.places->finds, 1);
}

TEST_F(OpenArchivesTest, TheFirstOneTellsTheManifest) {
  EXPECT_EQ(of_.archives->manifest(), nullptr);
  ASSERT_TRUE(of_.Load(of_.named[1]));
  const auto manifest = of_.archives->manifest();
  ASSERT_NE(manifest, nullptr);
  EXPECT_EQ(manifest->object_id, of_.version->info.accepted.oid);
  of_.archives->UseManifest(std::make_shared<const Manifest>());
  EXPECT_EQ(of_.archives->manifest(), manifest);
}

TEST_F(OpenArchivesTest, AFailureIsRememberedForAWhile) {
  const MemberIndex server = of_.spares[0];
  EXPECT_EQ(of_.Load(server).code(), Code::kNotFound);
  EXPECT_EQ(of_.Load(server).code(), Code::kNotFound);
  EXPECT_EQ(of_.places->finds, 1);
  EXPECT_TRUE(of_.archives->HasFailed(server));
  of_.world.Pass(ArchiveSlot::kRetryAfter);
  EXPECT_FALSE(of_.archives->HasFailed(server));
  EXPECT_EQ(of_.Load(server).code(), Code::kNotFound);
  EXPECT_EQ(of_.places->finds, 2);
}

TEST_F(OpenArchivesTest, WhatWasNotFoundIsLookedForWhenMorePlacesAreKnown) {
  EXPECT_EQ(of_.Load(of_.spares[0]).code(), Code::kNotFound);
  ++of_.places->more_changes;
  EXPECT_EQ(of_.Load(of_.spares[0]).code(), Code::kNotFound);
  EXPECT_EQ(of_.places->finds, 2);
}

TEST_F(OpenArchivesTest, TellsWhatEachServerHas) {
  ASSERT_TRUE(of_.Load(of_.named[0]));
  EXPECT_FALSE(of_.Load(of_.spares[0]));
  of_.world.memory[of_.named[1]]->SetDown(true);
  EXPECT_FALSE(of_.Load(of_.named[1]));
  std::map<MemberIndex, bool> has;
  for (const OpenArchives::Holding& holding : of_.archives->Holdings())
    has[holding.server] = holding.archive != nullptr;
  EXPECT_EQ(has, (std::map<MemberIndex, bool>{{of_.named[0], true}, {of_.spares[0], false}}));
}

TEST_F(OpenArchivesTest, AnArchiveThatIsMissingWhereItIsNamedIsTold) {
  int missed = 0;
  of_.archives->OnMissed([&] { ++missed; });
  EXPECT_FALSE(of_.Load(of_.spares[0]));
  ASSERT_TRUE(of_.Load(of_.named[0]));
  EXPECT_EQ(missed, 0) << "nobody has named that one";
  of_.RemoveFrom(of_.named[2]);
  EXPECT_FALSE(of_.Load(of_.named[2]));
  EXPECT_EQ(missed, 0);
  ASSERT_TRUE(of_.Load(of_.named[1]));
  EXPECT_EQ(missed, 1);
}

TEST_F(OpenArchivesTest, WhatIsForgottenIsOpenedAnewAfterAWhile) {
  const MemberIndex server = of_.named[0];
  const ArchivePtr archive = of_.Load(server)->archive;
  of_.archives->Forget(server, archive, MemberName{0, 0}, Fail(Code::kUnavailable, "cut off"));
  EXPECT_TRUE(of_.archives->HasFailed(server));
  EXPECT_EQ(of_.Load(server).code(), Code::kUnavailable);
  of_.world.Pass(ArchiveSlot::kRetryAfter);
  const Result<LoadedArchive> again = of_.Load(server);
  ASSERT_TRUE(again);
  EXPECT_NE(again->archive, archive);
  // A read that still goes on from the old archive has no say in the new one.
  of_.archives->Forget(server, archive, MemberName{0, 0}, Fail(Code::kUnavailable, "cut off"));
  EXPECT_EQ(of_.Load(server)->archive, again->archive);
}

TEST_F(OpenArchivesTest, WhatTwiceCouldNotBeReadIsReported) {
  const MemberIndex server = of_.named[0];
  for (int times = 1; times <= 2; ++times) {
    const ArchivePtr archive = of_.Load(server)->archive;
    of_.archives->Forget(server, archive, MemberName{0, 0}, Fail(Code::kUnavailable, "cut off"));
    EXPECT_EQ(of_.archives->TimesUnread(server), times);
    EXPECT_EQ(of_.damage->counts().reported, times < 2 ? 0u : 1u);
    of_.world.Pass(ArchiveSlot::kRetryAfter);
  }
}

TEST_F(OpenArchivesTest, WhoIsBackIsAskedAgainAtOnce) {
  const MemberIndex server = of_.named[0];
  of_.world.memory[server]->SetDown(true);
  EXPECT_FALSE(of_.Load(server));
  EXPECT_FALSE(of_.archives->MayHaveReturned(server));
  of_.world.memory[server]->SetDown(false);
  EXPECT_EQ(of_.Load(server).code(), Code::kUnavailable) << "it is remembered";
  of_.world.Pass(std::chrono::milliseconds(10));
  ASSERT_TRUE(of_.world.Run(ListStates(of_.engine, server, of_.path)));
  EXPECT_TRUE(of_.archives->MayHaveReturned(server));
  EXPECT_TRUE(of_.Load(server));
}

TEST_F(OpenArchivesTest, ADamagedArchiveIsReportedAndOpenedAnew) {
  const MemberIndex server = of_.named[0];
  const ArchivePtr archive = of_.Load(server)->archive;
  of_.archives->NoteCorrupt(archive, "chunk 0 is damaged");
  of_.archives->NoteCorrupt(archive, "chunk 1 is damaged");
  EXPECT_EQ(of_.archives->times_corrupt(), 1u);
  EXPECT_EQ(of_.damage->counts().reported, 1u);
  EXPECT_TRUE(of_.archives->Holdings().front().corrupt);
  EXPECT_FALSE(of_.world.Run(of_.archives->ReopenCorrupt())) << "it was opened just now";
  of_.world.Pass(ArchiveSlot::kReopenAfter);
  EXPECT_TRUE(of_.world.Run(of_.archives->ReopenCorrupt()));
  EXPECT_EQ(of_.archives->times_reopened(), 1u);
  const ArchivePtr anew = of_.Load(server)->archive;
  EXPECT_NE(anew, archive);
}

TEST_F(OpenArchivesTest, DamageInAnArchiveThatWasReplacedIsNoNews) {
  const MemberIndex server = of_.named[0];
  const ArchivePtr archive = of_.Load(server)->archive;
  of_.archives->Forget(server, archive, MemberName{0, 0}, Fail(Code::kUnavailable, "cut off"));
  of_.world.Pass(ArchiveSlot::kRetryAfter);
  ASSERT_TRUE(of_.Load(server));
  of_.archives->NoteCorrupt(archive, "chunk 0 is damaged");
  EXPECT_EQ(of_.archives->times_corrupt(), 0u);
  EXPECT_EQ(of_.damage->counts().reported, 0u);
}

TEST_F(OpenArchivesTest, OpeningIsWaitedForBesideReading) {
  const Duration closed = of_.archives->Patience(of_.named[0], 1000);
  ASSERT_TRUE(of_.Load(of_.named[0]));
  EXPECT_LT(of_.archives->Patience(of_.named[0], 1000), closed);
}

TEST_F(OpenArchivesTest, ClosesAllWhenItGoes) {
  ASSERT_TRUE(of_.Load(of_.named[0]));
  ASSERT_TRUE(of_.Load(of_.named[1]));
  const uint64_t before = of_.gateway.counts->Of(Operation::kClose);
  of_.strays.reset();
  of_.archives.reset();
  of_.world.Pass(std::chrono::seconds(1));
  EXPECT_EQ(of_.gateway.counts->Of(Operation::kClose), before + 2);
}

}  // namespace
}  // namespace xec
