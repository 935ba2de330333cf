// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/completion_gate.hh"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"
#include "server/kinds/memory_server.hh"

namespace xec {
namespace {

TEST(CompletionGateTest, WhatIsAnsweredAfterItClosedIsDroppedWithAllItHolds) {
  VirtualExecutor executor;
  MemoryServer memory("s00", executor, {});
  const auto gate = std::make_shared<CompletionGate>();
  GatedServer server(memory.ViewFor(executor), gate);
  int answers = 0;
  const auto held = std::make_shared<int>(0);
  const auto list = [&] {
    server.List({}, "/", [&answers, held](const Result<std::vector<Entry>>&) { ++answers; });
  };
  list();
  executor.RunUntilIdle(100);
  EXPECT_EQ(answers, 1);
  list();
  gate->Close();
  executor.RunUntilIdle(100);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(CompletionGateTest, ClosingWaitsForWhoIsInside) {
  CompletionGate gate;
  ASSERT_TRUE(gate.Enter());
  std::atomic<bool> closed = false;
  std::jthread closer([&] {
    gate.Close();
    closed = true;
  });
  // Once it refuses others it is waiting.
  while (gate.Enter()) gate.Leave();
  EXPECT_FALSE(closed);
  gate.Leave();
  closer.join();
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace xec
