// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/task_lock.hh"

#include <string>

#include <gtest/gtest.h>

#include "runtime/io_threads.hh"

namespace xec {
namespace {

// Notes when it has the lock, and keeps it until the gate opens.
Task<void> Hold(TaskLock& lock, bool shares, std::string name, std::string& log, OneShot<bool>& gate) {
  Task<TaskLock::Held> wait = shares ? lock.Share() : lock.Take();
  const TaskLock::Held held = co_await wait;
  log += name;
  co_await gate;
}

TEST(TaskLock, OneAfterAnotherInTheOrderOfTheCalls) {
  TaskLock lock;
  TaskScope scope;
  std::string log;
  OneShot<bool> a, b, c;
  scope.Spawn(Hold(lock, false, "a", log, a));
  scope.Spawn(Hold(lock, false, "b", log, b));
  scope.Spawn(Hold(lock, false, "c", log, c));
  EXPECT_EQ(log, "a");
  c.Setter()(true);
  a.Setter()(true);
  EXPECT_EQ(log, "ab");
  b.Setter()(true);
  EXPECT_EQ(log, "abc");
  EXPECT_EQ(scope.running(), 0u);
}

TEST(TaskLock, SharersAreTogetherAndOvertakeNobody) {
  TaskLock lock;
  TaskScope scope;
  std::string log;
  OneShot<bool> a, b, c, d;
  scope.Spawn(Hold(lock, true, "a", log, a));
  scope.Spawn(Hold(lock, true, "b", log, b));
  EXPECT_EQ(log, "ab");
  scope.Spawn(Hold(lock, false, "C", log, c));
  scope.Spawn(Hold(lock, true, "d", log, d));
  EXPECT_EQ(log, "ab");
  a.Setter()(true);
  EXPECT_EQ(log, "ab");
  b.Setter()(true);
  EXPECT_EQ(log, "abC");
  c.Setter()(true);
  EXPECT_EQ(log, "abCd");
  d.Setter()(true);
  EXPECT_EQ(scope.running(), 0u);
}

Task<void> CountUp(TaskLock& lock, int& count) {
  const TaskLock::Held held = co_await lock.Take();
  ++count;
}

TEST(TaskLock, FromManyThreads) {
  TaskLock lock;
  TaskScope scope;
  int count = 0;
  {
    IoThreads threads("test", 4);
    for (int i = 0; i < 10'000; ++i) threads.Post([&] { scope.Spawn(CountUp(lock, count)); });
  }
  scope.Drain();
  EXPECT_EQ(count, 10'000);
}

}  // namespace
}  // namespace xec
