// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/archive_slot.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

using State = ArchiveSlot::State;

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));
constexpr TimePoint kNext = kStart + std::chrono::milliseconds(1);
constexpr TimePoint kLater = kStart + ArchiveSlot::kRetryAfter;

ArchivePtr NewArchive(bool is_witness = false) {
  Manifest manifest;
  manifest.kind = is_witness ? ManifestKind::kWitness : ManifestKind::kObject;
  return std::make_shared<const Archive>(MemberIndex{1}, FoundArchive{"/p", nullptr, is_witness},
                                         ArchiveIndex{}, std::move(manifest), std::weak_ptr<Buffer>());
}

Error Silence() { return Fail(Code::kUnavailable, "it does not answer"); }

ArchiveSlot Open(const ArchivePtr& archive, uint64_t changes = 0) {
  ArchiveSlot slot;
  slot.BeginLoading();
  slot.SetOpen(archive, changes, kStart);
  return slot;
}

ArchiveSlot Failed(Error error = Silence(), uint64_t changes = 0) {
  ArchiveSlot slot;
  slot.BeginLoading();
  slot.SetFailed(std::move(error), changes, kStart);
  return slot;
}

TEST(ArchiveSlotTest, AnArchiveStandsForEver) {
  EXPECT_FALSE(ArchiveSlot().Stands(kStart, 0));
  EXPECT_TRUE(Open(NewArchive()).Stands(kStart + std::chrono::hours(9), 5));
}

TEST(ArchiveSlotTest, AFailureAndAWitnessStandForAWhileUnlessMorePlacesAreKnown) {
  for (const ArchiveSlot& slot : {Failed(Silence(), 3), Open(NewArchive(/*is_witness=*/true), 3)}) {
    EXPECT_TRUE(slot.Stands(kNext, 3));
    EXPECT_FALSE(slot.Stands(kNext, 4));
    EXPECT_FALSE(slot.Stands(kLater, 3));
  }
}

TEST(ArchiveSlotTest, WhatWasOpenIsGivenBackToBeClosed) {
  const ArchivePtr witness = NewArchive(/*is_witness=*/true);
  ArchiveSlot slot = Open(witness);
  EXPECT_EQ(slot.BeginLoading(), witness);
  EXPECT_EQ(slot.state(), State::kLoading);
  EXPECT_EQ(slot.archive(), nullptr);
  EXPECT_EQ(slot.BeginLoading(), nullptr);
}

TEST(ArchiveSlotTest, OnlyTheArchiveThatIsOpenIsForgotten) {
  const ArchivePtr archive = NewArchive();
  ArchiveSlot slot = Open(archive);
  EXPECT_FALSE(slot.Forget(NewArchive(), Silence(), kNext));
  EXPECT_EQ(slot.archive(), archive);
  slot.NoteCorrupt(archive);
  EXPECT_TRUE(slot.Forget(archive, Silence(), kNext));
  EXPECT_EQ(slot.archive(), nullptr);
  EXPECT_FALSE(slot.corrupt()) << "the next one may be another one";
  EXPECT_TRUE(slot.HasFailed(kNext));
  EXPECT_TRUE(slot.Stands(kNext, 0));
  EXPECT_FALSE(slot.Forget(archive, Silence(), kNext));
}

TEST(ArchiveSlotTest, AFailureIsOneForAWhile) {
  EXPECT_FALSE(ArchiveSlot().HasFailed(kStart));
  EXPECT_FALSE(Open(NewArchive()).HasFailed(kStart));
  EXPECT_TRUE(Failed().HasFailed(kNext));
  EXPECT_FALSE(Failed().HasFailed(kLater));
}

TEST(ArchiveSlotTest, OnlyNotFoundIsMissing) {
  EXPECT_TRUE(Failed(Fail(Code::kNotFound, "gone")).IsMissing());
  EXPECT_FALSE(Failed().IsMissing());
  EXPECT_FALSE(Open(NewArchive()).IsMissing());
  EXPECT_FALSE(ArchiveSlot().IsMissing());
}

TEST(ArchiveSlotTest, WhoIsUpAndHasAnsweredOthersSinceMayHaveReturned) {
  const Standing down{ServerState::kDown, kNext, false};
  const Standing up_before{ServerState::kUp, kStart, true};
  const Standing up_since{ServerState::kUp, kNext, false};
  EXPECT_FALSE(Failed().MayHaveReturned(kLater, down));
  EXPECT_FALSE(Failed().MayHaveReturned(kNext, up_before));
  EXPECT_TRUE(Failed().MayHaveReturned(kNext, up_since));
  EXPECT_TRUE(Failed().MayHaveReturned(kLater, up_before));
  // Another read has found out, or is about to.
  EXPECT_TRUE(Open(NewArchive()).MayHaveReturned(kStart, down));
  EXPECT_TRUE(ArchiveSlot().MayHaveReturned(kStart, down));
  ArchiveSlot loading;
  loading.BeginLoading();
  EXPECT_FALSE(loading.MayHaveReturned(kStart, down));
  EXPECT_TRUE(loading.MayHaveReturned(kStart, up_before));
}

TEST(ArchiveSlotTest, WhatMayHaveReturnedIsNoFailureAnyMore) {
  ArchiveSlot slot = Failed();
  ASSERT_TRUE(slot.MayHaveReturned(kNext, {ServerState::kUp, kNext, false}));
  EXPECT_EQ(slot.state(), State::kIdle);
  EXPECT_FALSE(slot.HasFailed(kNext));
  EXPECT_FALSE(slot.Stands(kNext, 0));
}

TEST(ArchiveSlotTest, DamageIsNewsOnceAndOnlyOfWhatIsOpen) {
  const ArchivePtr archive = NewArchive();
  ArchiveSlot slot = Open(archive);
  EXPECT_FALSE(slot.NoteCorrupt(NewArchive()));
  EXPECT_FALSE(slot.corrupt());
  EXPECT_TRUE(slot.NoteCorrupt(archive));
  EXPECT_FALSE(slot.NoteCorrupt(archive));
  EXPECT_TRUE(slot.corrupt());
}

TEST(ArchiveSlotTest, ADamagedArchiveIsOpenedAnewAfterAWhile) {
  const ArchivePtr archive = NewArchive();
  ArchiveSlot slot = Open(archive);
  const TimePoint then = kStart + ArchiveSlot::kReopenAfter;
  EXPECT_FALSE(slot.MayBeRepaired(then)) << "it shows no damage";
  slot.NoteCorrupt(archive);
  EXPECT_FALSE(slot.MayBeRepaired(then - Duration(1)));
  EXPECT_TRUE(slot.MayBeRepaired(then));
  ArchivePtr other = NewArchive();
  const ArchivePtr expected = other;
  EXPECT_TRUE(slot.Replace(other, then));
  EXPECT_EQ(slot.archive(), expected);
  EXPECT_EQ(other, archive) << "to be closed";
  EXPECT_FALSE(slot.MayBeRepaired(then)) << "that was just done";
  EXPECT_TRUE(slot.corrupt()) << "until it is read well nobody knows";
}

TEST(ArchiveSlotTest, AWitnessDoesNotTakeAnArchivesPlace) {
  const ArchivePtr archive = NewArchive();
  ArchiveSlot slot = Open(archive);
  ArchivePtr witness = NewArchive(/*is_witness=*/true);
  EXPECT_FALSE(slot.Replace(witness, kNext));
  EXPECT_EQ(slot.archive(), archive);
  ArchiveSlot failed = Failed();
  EXPECT_FALSE(failed.Replace(witness, kNext));
}

TEST(ArchiveSlotTest, UnreadCountsBytesThatAreMetAgain) {
  ArchiveSlot slot;
  EXPECT_EQ(slot.TimesUnread(), 0);
  EXPECT_FALSE(slot.NoteUnread(MemberName{0, 1}));
  EXPECT_FALSE(slot.NoteUnread(MemberName{0, 2})) << "a connection may be lost anywhere";
  EXPECT_FALSE(slot.NoteUnread(std::nullopt));
  EXPECT_EQ(slot.TimesUnread(), 1);
  EXPECT_TRUE(slot.NoteUnread(MemberName{0, 1}));
  EXPECT_EQ(slot.TimesUnread(), 2);
  EXPECT_TRUE(slot.NoteUnread(std::nullopt));
}

TEST(ArchiveSlotTest, AnEndThatWasReadIsNotUnread) {
  ArchiveSlot slot;
  slot.NoteUnread(std::nullopt);
  slot.SetOpen(NewArchive(), 0, kStart);
  EXPECT_EQ(slot.TimesUnread(), 0);
}

TEST(ArchiveSlotTest, SoManyUnreadChunksAreRemembered) {
  ArchiveSlot slot;
  for (uint32_t stripe = 0; stripe < ArchiveSlot::kUnreadPlacesMax; ++stripe)
    EXPECT_FALSE(slot.NoteUnread(MemberName{stripe, 0}));
  const MemberName one_more{ArchiveSlot::kUnreadPlacesMax, 0};
  EXPECT_FALSE(slot.NoteUnread(one_more));
  EXPECT_FALSE(slot.NoteUnread(one_more)) << "it was not remembered";
  EXPECT_TRUE(slot.NoteUnread(MemberName{5, 0}));
}

}  // namespace
}  // namespace xec
