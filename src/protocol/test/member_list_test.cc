// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/member_list.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xec {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Shown = std::vector<Result<StoreDescriptor>>;
using Round = MemberList::Round;

StoreDescriptor Epoch(uint64_t epoch, const std::string& last_member = "s05") {
  StoreDescriptor d;
  d.store_id = std::string(32, 'a');
  d.epoch = epoch;
  d.tolerance = 1;
  d.geometry = Geometry{2, 1, 65536};
  for (const std::string& id : {std::string("s01"), std::string("s02"), std::string("s03"), last_member})
    d.members.push_back(Member{id, "root://" + id + ":1094", id});
  return d;
}

StoreDescriptor OfAnotherStore() {
  StoreDescriptor d = Epoch(9);
  d.store_id = std::string(32, 'b');
  return d;
}

Result<StoreDescriptor> Away() { return Fail(Code::kUnavailable, "s02 does not answer"); }

TEST(MemberList, WhatADescriptorSays) {
  EXPECT_EQ(WhatItSays(Epoch(2), Epoch(2)), DescriptorSays::kNoNewer);
  EXPECT_EQ(WhatItSays(Epoch(2), Epoch(1, "s04")), DescriptorSays::kNoNewer);
  EXPECT_EQ(WhatItSays(Epoch(2), Epoch(3)), DescriptorSays::kNext);
  EXPECT_EQ(WhatItSays(Epoch(2), Epoch(4)), DescriptorSays::kLater);
  EXPECT_EQ(WhatItSays(Epoch(2), Epoch(2, "s04")), DescriptorSays::kOther);
  EXPECT_EQ(WhatItSays(Epoch(2), OfAnotherStore()), DescriptorSays::kNothing);
  EXPECT_EQ(WhatItSays(Epoch(2), Away()), DescriptorSays::kNothing);
  EXPECT_EQ(WhatItSays(Epoch(2), Fail(Code::kCorruption, "noise")), DescriptorSays::kNothing);
  EXPECT_EQ(WhatItSays(Epoch(2), Fail(Code::kUnsupported, "format 2")), DescriptorSays::kLater);
}

class WatchedListTest : public testing::Test {
 protected:
  WatchedListTest() { list_.Watch(Epoch(2), {.needed = 3, .lease = 90s}, start_); }

  std::string Problem(Duration after) {
    const Status in_force = list_.InForce(start_ + after);
    EXPECT_TRUE(in_force || in_force.code() == Code::kNoQuorum);
    return in_force ? "" : in_force.error().message;
  }

  const TimePoint start_{1000h};
  MemberList list_;
};

TEST(MemberList, IsInForceForEverUnlessWatched) {
  EXPECT_TRUE(MemberList().InForce(TimePoint::max() - Duration(1)));
}

TEST_F(WatchedListTest, EndsWithItsLeaseCountedFromTheQuestion) {
  EXPECT_EQ(Problem(90s - Duration(1)), "");
  EXPECT_EQ(
      Problem(90s),
      "cannot tell: for 90 s fewer than 3 of the 4 data servers have shown the store descriptor, so the "
      "members may have been changed; retry");
  // The answers came late: what counts is when they were asked.
  EXPECT_EQ(list_.Heard(start_ + 30s, Shown{Epoch(2), Epoch(2), Epoch(1)}).kind, Round::kConfirmed);
  EXPECT_EQ(Problem(120s - Duration(1)), "");
  EXPECT_NE(Problem(120s), "");
}

TEST_F(WatchedListTest, TooFewConfirmNothingAndEndNothing) {
  EXPECT_EQ(list_.Heard(start_ + 30s, Shown{Epoch(2), Epoch(2), Away(), OfAnotherStore()}).kind,
            Round::kTooFew);
  EXPECT_EQ(Problem(89s), "");
  EXPECT_NE(Problem(90s), "");
  EXPECT_EQ(list_.Heard(start_ + 100s, Shown{Epoch(2), Epoch(2), Away(), Epoch(2)}).kind, Round::kConfirmed);
  EXPECT_EQ(Problem(101s), "");
}

TEST_F(WatchedListTest, TheNextListIsTakenUpOnceAMajorityShowsIt) {
  // Too few show it: this list goes on.
  EXPECT_EQ(list_.Heard(start_ + 30s, Shown{Epoch(2), Epoch(2), Epoch(2), Epoch(3)}).kind, Round::kConfirmed);
  EXPECT_EQ(Problem(120s - Duration(1)), "");
  // Neither has a majority: the lease runs on.
  EXPECT_EQ(list_.Heard(start_ + 60s, Shown{Epoch(2), Epoch(2), Epoch(3), Epoch(3)}).kind, Round::kTooFew);
  EXPECT_EQ(Problem(120s - Duration(1)), "");
  EXPECT_NE(Problem(120s), "");
  // Operations that have begun end by the old list until its lease is over, which is not renewed.
  const Round round = list_.Heard(start_ + 90s, Shown{Epoch(2), Epoch(3), Epoch(3), Epoch(3)});
  ASSERT_EQ(round.kind, Round::kFollowed);
  EXPECT_EQ(round.next->epoch, 3u);
  EXPECT_EQ(Problem(120s - Duration(1)), "");
  EXPECT_THAT(Problem(120s), HasSubstr("were changed (epoch 3, this process knows 2)"));
}

TEST_F(WatchedListTest, TheListAfterTheNextEndsItAtOnce) {
  EXPECT_EQ(list_.Heard(start_ + 30s, Shown{Epoch(2), Epoch(2), Epoch(2), Epoch(4)}).kind, Round::kChanged);
  EXPECT_THAT(Problem(30s), HasSubstr("epoch 4, this process knows 2"));
  const Round round = list_.Heard(start_ + 60s, Shown{Epoch(3), Epoch(4), Epoch(4), Epoch(4)});
  ASSERT_EQ(round.kind, Round::kFollowed);
  EXPECT_EQ(round.next->epoch, 4u);
  EXPECT_NE(Problem(60s), "");
}

TEST_F(WatchedListTest, AMajorityOfTheNextListIsOfItsOwnMembers) {
  StoreDescriptor grown = Epoch(3);
  grown.members.push_back(Member{"s06", "root://s06:1094", "s06"});
  grown.members.push_back(Member{"s07", "root://s07:1094", "s07"});
  EXPECT_EQ(list_.Heard(start_, Shown{Epoch(2), grown, grown, grown}).kind, Round::kTooFew);
  EXPECT_EQ(list_.Heard(start_, Shown{grown, grown, grown, grown}).kind, Round::kFollowed);
}

TEST(ChooseList, TheNewestThatAMajorityShowsElseTheOneBefore) {
  using Copies = std::vector<StoreDescriptor>;
  const auto epoch = [](const Copies& copies, std::optional<size_t> all = {}) {
    const auto chosen = ChooseList(copies, all);
    return chosen ? chosen->epoch : 0;
  };
  EXPECT_EQ(epoch({Epoch(2), Epoch(2), Epoch(2)}), 2u);
  EXPECT_EQ(epoch({Epoch(2), Epoch(2)}), 0u) << "of four";
  EXPECT_EQ(epoch({Epoch(2), Epoch(2), Epoch(2), Epoch(3)}), 2u);
  EXPECT_EQ(epoch({Epoch(2), Epoch(3), Epoch(3), Epoch(3)}), 3u);
  EXPECT_EQ(epoch({Epoch(2), Epoch(2), Epoch(3), Epoch(3)}), 0u);
  EXPECT_EQ(epoch({Epoch(2), Epoch(2), Epoch(2), Epoch(4)}), 0u) << "not the one before";
  EXPECT_EQ(epoch({Epoch(2), Epoch(2)}, 2), 2u) << "directories: all that are there";
  EXPECT_EQ(epoch({}), 0u);
}

TEST_F(WatchedListTest, SaysWhatTheMatterIs) {
  list_.Heard(start_, Shown{Epoch(2, "s04"), Epoch(2), Epoch(2), Epoch(2)});
  EXPECT_THAT(Problem(0s), HasSubstr("two different store descriptors of epoch 2"));
  list_.Heard(start_, Shown{Fail(Code::kUnsupported, "format 2"), Epoch(2), Epoch(2), Epoch(2)});
  EXPECT_THAT(Problem(0s), HasSubstr("newer XEC (format 2)"));
}

TEST(MemberList, WhatHasBegunGoesOnWithAListOfTheSameHomes) {
  const TimePoint start = TimePoint() + 1h;
  MemberList before, next;
  before.Watch(Epoch(2), {.needed = 3, .lease = 90s}, start);
  next.Watch(Epoch(3), {.needed = 3, .lease = 90s}, start + 80s);
  EXPECT_FALSE(before.InForce(start + 100s));
  before.GoOnWith(next);
  EXPECT_TRUE(before.InForce(start + 100s));
  EXPECT_FALSE(before.InForce(start + 180s)) << "no longer than that one";
}

}  // namespace
}  // namespace xec
