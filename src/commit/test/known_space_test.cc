// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/known_space.hh"

#include <gmock/gmock.h>

namespace xec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimePoint kNow = TimePoint{} + std::chrono::hours(1);

class KnownSpaceTest : public testing::Test {
 protected:
  KnownSpaceTest() {
    for (const char* id : {"s01", "s02", "s03"}) store_.members.push_back(Member{id, "local", id});
  }
  KnownSpace::Room Room(TimePoint now = kNow) const { return space_.RoomOf(store_, now); }

  StoreDescriptor store_;
  KnownSpace space_{SpaceReserve{.bytes = 100}};
};

TEST_F(KnownSpaceTest, WhereNothingIsKnownAllAreAlike) {
  EXPECT_THAT(Room().weights, IsEmpty());
  EXPECT_EQ(Room().full_count, 0u);
  space_.NoteWritten("s01", 1000);
  space_.NoteFull("s01");
  EXPECT_EQ(Room().full_count, 0u) << "nobody can say when that will be over";
}

TEST_F(KnownSpaceTest, WhatIsFreeAboveTheReserveCountsAndTheUnknownIsAverage) {
  space_.Note({{"s01", {1000, 500}}, {"s02", {1000, 900}}}, kNow);
  EXPECT_THAT(Room().weights, ElementsAre(400, 800, 600));
  EXPECT_THAT(Room().full, ElementsAre(false, false, false));
}

TEST_F(KnownSpaceTest, MembersOfOneDiskShareIt) {
  space_.Note({{"s01", {1000, 500, "one"}}, {"s02", {1000, 500, "one"}}, {"s03", {1000, 500, "other"}}},
              kNow);
  EXPECT_THAT(Room().weights, ElementsAre(200, 200, 400));
  space_.NoteWritten("s01", 450);
  EXPECT_THAT(Room().full, ElementsAre(true, true, false));
}

TEST_F(KnownSpaceTest, OneWithLessThanTheReserveIsFullUntilSomebodyHearsOtherwise) {
  space_.Note({{"s01", {1000, 150}}, {"s02", {1000, 300}}, {"s03", {1000, 99}}}, kNow);
  EXPECT_THAT(Room().full, ElementsAre(false, false, true));
  EXPECT_TRUE(space_.IsTight());
  space_.NoteWritten("s01", 51);
  space_.NoteFull("s02");
  EXPECT_EQ(Room().full_count, 3u);
  EXPECT_THAT(space_.WhyFull("s01"), HasSubstr("99 B are free, and 100 B are its reserve"));
  space_.Note({{"s02", {1000, 300}}, {"s03", {1000, 800}}}, kNow);
  EXPECT_THAT(Room().full, ElementsAre(true, false, false)) << "s01 was not heard";
  space_.Note({{"s01", {1000, 800}}, {"s02", {1000, 300}}}, kNow);
  EXPECT_FALSE(space_.IsTight());
}

TEST_F(KnownSpaceTest, WhatIsOldIsNotKnown) {
  space_.Note({{"s01", {1000, 10}}, {"s02", {1000, 600}}}, kNow);
  space_.Note({{"s02", {1000, 600}}}, kNow + KnownSpace::kKnownFor);
  const KnownSpace::Room room = Room(kNow + KnownSpace::kKnownFor + Duration(1));
  EXPECT_EQ(room.full_count, 0u);
  EXPECT_THAT(room.weights, ElementsAre(500, 500, 500));
}

TEST_F(KnownSpaceTest, AFirstUploadWaitsAMomentIfSomebodyIsAboutToLook) {
  EXPECT_FALSE(space_.IsAwaited(kNow));
  space_.Expect(kNow);
  EXPECT_TRUE(space_.IsAwaited(kNow));
  EXPECT_FALSE(space_.IsAwaited(kNow + KnownSpace::kFirstWait));
  space_.Note({{"s01", {1000, 10}}}, kNow);
  EXPECT_FALSE(space_.IsAwaited(kNow));
}

TEST(SpaceReserve, IsTwoPercentButOfSmallDisksMoreAndNeverMoreThanATenth) {
  const SpaceReserve reserve;
  EXPECT_EQ(reserve.Of(20 * 1024 * kGiB) / kGiB, 409u);
  EXPECT_EQ(reserve.Of(kGiB), 64 * kMiB);
  EXPECT_EQ(reserve.Of(50 * kMiB), 5 * kMiB);
  EXPECT_EQ(reserve.Of(0), 0u);
  EXPECT_EQ(SpaceReserve{.percent = 5}.Of(1000), 50u);
  EXPECT_EQ((SpaceReserve{.bytes = 0}).Of(kGiB), 0u);
}

}  // namespace
}  // namespace xec
