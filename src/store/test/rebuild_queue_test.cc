// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild_queue.hh"

#include <vector>

#include <gmock/gmock.h>

namespace xec {
namespace {

using testing::ElementsAre;

RebuildQueue::Object Begun(RebuildQueue& queue, const std::string& path, int survives, uint64_t chance) {
  RebuildQueue::Object object{.path = path, .survives = survives, .chance = chance};
  object.number = queue.Begin(path);
  return object;
}

TEST(RebuildQueueTest, TheLeastRedundancyComesFirstAndThenChance) {
  RebuildQueue queue;
  int number = 0;
  for (const auto& [survives, chance] : std::vector<std::pair<int, uint64_t>>{{1, 7}, {0, 9}, {1, 3}, {0, 5}})
    queue.Add(Begun(queue, fmt::format("/{}", number++), survives, chance));
  std::vector<std::string> taken;
  while (const auto object = queue.Take()) taken.push_back(object->path);
  EXPECT_THAT(taken, ElementsAre("/3", "/1", "/2", "/0"));
}

TEST(RebuildQueueTest, ItHasRoomForSoMany) {
  RebuildQueue queue;
  for (size_t i = 0; i < RebuildQueue::kObjectsMax; ++i) {
    ASSERT_TRUE(queue.HasRoom());
    queue.Add(Begun(queue, "/o", 1, 0));
  }
  EXPECT_FALSE(queue.HasRoom());
  queue.Take();
  EXPECT_TRUE(queue.HasRoom());
}

TEST(RebuildQueueTest, AWalkCanBeginAgainWhereTheFirstObjectIsOpen) {
  RebuildQueue queue;
  EXPECT_EQ(queue.From("/a"), "/a");
  const auto a = Begun(queue, "/a", 1, 0), b = Begun(queue, "/b", 1, 0);
  EXPECT_EQ(queue.From("/c"), "/a");
  queue.Close(b.number);
  EXPECT_EQ(queue.From("/c"), "/a");
  queue.Close(a.number);
  EXPECT_EQ(queue.From("/c"), "/c");
}

TEST(RebuildQueueTest, WhatIsBelowANameComesBeforeLongerNames) {
  const std::vector<std::string> in_order = {"/a",   "/a/b", "/a/b/c", "/a/c",
                                             "/a b", "/a-b", "/b",     "/\xc3\xa9"};
  for (size_t i = 0; i < in_order.size(); ++i) {
    for (size_t j = 0; j < in_order.size(); ++j)
      EXPECT_EQ(IsBefore(in_order[i], in_order[j]), i < j) << in_order[i] << " " << in_order[j];
  }
  EXPECT_FALSE(IsBefore("/a", ""));
}

}  // namespace
}  // namespace xec
