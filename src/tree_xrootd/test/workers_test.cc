// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/workers.hh"

#include <future>
#include <latch>

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(Workers, WorkWaitsWhileThereAreNone) {
  Workers workers(0);
  std::promise<void> done;
  std::future<void> ended = done.get_future();
  workers.Post([&done] { done.set_value(); });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  workers.SetCount(1);
  ended.get();
  EXPECT_EQ(workers.count(), 1u);
}

TEST(Workers, AreAsManyAsWanted) {
  Workers workers(1);
  workers.SetCount(3);
  // Three at once: each ends when all have begun.
  std::latch begun(3), ended(3);
  for (int i = 0; i < 3; ++i) {
    workers.Post([&] {
      begun.arrive_and_wait();
      ended.count_down();
    });
  }
  ended.wait();
  workers.SetCount(0);
  EXPECT_EQ(workers.count(), 0u);
  workers.SetCount(Workers::kCountMax + 1);
  EXPECT_EQ(workers.count(), Workers::kCountMax);
}

}  // namespace
}  // namespace xec
