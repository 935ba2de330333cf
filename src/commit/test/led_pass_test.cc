// SPDX-License-Identifier: LGPL-3.0-or-later
// A pass of the cleaner that somebody leads: where it begins, what its turns tell, and how it ends early.
#include <gmock/gmock.h>

#include "commit/engine/names_at_rest.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class LedPassTest : public testing::Test {
 protected:
  LedPassTest() {
    EXPECT_TRUE(world_.Run(MakeDirectoryName(*gateway_.engine, TestWorld::Path("/d"), false)));
    for (const char* name : {"/a", "/d/p", "/d/q", "/d/r", "/z"})
      EXPECT_TRUE(world_.Put(gateway_, name)) << name;
  }

  // Cleans; the turns go into turns_. The pass is ended before the turn of that number.
  Result<CleanOutcome> Clean(std::string from, size_t end_before = SIZE_MAX) {
    turns_.clear();
    CleanOptions options{.from = std::move(from), .turn = [this, end_before](WalkPoint point) -> Task<bool> {
                           EXPECT_EQ(point.done, turns_.size());
                           if (turns_.size() == end_before) co_return false;
                           turns_.push_back(std::move(point.at));
                           co_return true;
                         }};
    return world_.Run(
        CleanTree(*gateway_.engine, TestWorld::Path("/"), nullptr, &rests_, std::move(options)));
  }

  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
  NamesAtRest rests_;
  std::vector<std::string> turns_;
};

TEST_F(LedPassTest, EveryNameHasATurn) {
  ASSERT_TRUE(Clean(""));
  EXPECT_THAT(turns_, UnorderedElementsAre("/a", "/d", "/d/p", "/d/q", "/d/r", "/z"));
}

TEST_F(LedPassTest, APassBeginsWhereItIsToldAndVisitsAll) {
  ASSERT_TRUE(Clean("/d/q"));
  EXPECT_THAT(turns_, ElementsAre("/d", "/d/q", "/d/r", "/d/p", "/z", "/a"));
  ASSERT_TRUE(Clean("/z"));
  EXPECT_EQ(turns_.front(), "/z");
  EXPECT_THAT(turns_, testing::SizeIs(6));
}

TEST_F(LedPassTest, ANameThatIsGoneStandsForTheNextOne) {
  ASSERT_TRUE(Clean("/d/pp/x"));
  EXPECT_THAT(turns_, ElementsAre("/d", "/d/q", "/d/r", "/d/p", "/z", "/a"));
  ASSERT_TRUE(Clean("/zz"));
  EXPECT_EQ(turns_.front(), "/a");
}

TEST_F(LedPassTest, AnyTextMayBeTold) {
  for (const char* from : {"x", "//", "/d/", "/../..", "/d/q/", "/.xec"}) {
    ASSERT_TRUE(Clean(from)) << from;
    EXPECT_THAT(turns_, testing::SizeIs(6)) << from;
  }
  ASSERT_TRUE(Clean("/" + std::string(5000, 'x')));
  EXPECT_THAT(turns_, testing::SizeIs(6));
}

TEST_F(LedPassTest, APassThatIsEndedStopsAnywhere) {
  for (size_t turns = 0; turns < 6; ++turns) {
    EXPECT_EQ(Clean("/a", turns).code(), Code::kCancelled);
    EXPECT_EQ(turns_.size(), turns) << "and asks no more";
  }
}

TEST_F(LedPassTest, WhatWasKnownStaysKnownWhenAPassIsEnded) {
  for (int pass = 0; pass < 3; ++pass) {
    ASSERT_TRUE(Clean(""));
    world_.Pass(kShownFor + std::chrono::seconds(1));
  }
  const uint64_t before = gateway_.counts->Total();
  ASSERT_TRUE(Clean(""));
  const uint64_t at_rest = gateway_.counts->Total() - before;
  EXPECT_EQ(Clean("", 2).code(), Code::kCancelled);
  const uint64_t then = gateway_.counts->Total();
  ASSERT_TRUE(Clean(""));
  EXPECT_EQ(gateway_.counts->Total() - then, at_rest);
}

}  // namespace
}  // namespace xec
