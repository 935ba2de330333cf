// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/task.hh"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/gather.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

Task<int> Add(int a, int b) { co_return a + b; }

Task<int> AddTwice(int a) {
  const int once = co_await Add(a, 1);
  co_return co_await Add(once, 1);
}

TEST(Task, AwaitsAndReturns) { EXPECT_EQ(SyncWait(AddTwice(40)), 42); }

// As a writer of many stripes at once does that never has to wait.
TEST(Task, ALoopOfWhatIsReadyNeedsNoStack) {
  const auto one = [](int value) -> Task<int> { co_return value; };
  const auto sum = [&]() -> Task<int> {
    int total = 0;
    for (int i = 0; i < 1'000'000; ++i) total += co_await one(1);
    co_return total;
  };
  EXPECT_EQ(SyncWait(sum()), 1'000'000);
}

Task<int> After(Executor& executor, Duration delay, int value) {
  OneShot<int> done;
  executor.RunAt(executor.Now() + delay, [set = done.Setter(), value] { set(value); });
  co_return co_await done;
}

TEST(Task, ResumesOnAnotherThread) {
  ThreadPool pool("test", 2);
  EXPECT_EQ(SyncWait(After(pool, 1ms, 7)), 7);
}

Task<std::vector<size_t>> TakeTwoOfThree(TaskScope& scope, Executor& executor) {
  Gather<int> gather(scope, executor);
  gather.Start(0, After(executor, 30ms, 1));
  gather.Start(1, After(executor, 1ms, 2));
  gather.StartTimer(9, executor.Now() + 8ms);
  std::vector<size_t> order;
  for (int i = 0; i < 2; ++i) {
    const auto event = co_await gather.Next();
    order.push_back(event.tag);
  }
  co_return order;
}

TEST(Gather, DeliversInOrderOfCompletionAndDropsTheRest) {
  ThreadPool pool("test", 2);
  TaskScope scope;
  EXPECT_EQ(SyncWait(TakeTwoOfThree(scope, pool)), (std::vector<size_t>{1, 9}));
  scope.Drain();
}

// They may hold memory for which the owner is going to wait.
TEST(Gather, LetsGoOfAnswersNobodyTookWhileOthersGoOn) {
  VirtualExecutor executor;
  TaskScope scope;
  OneShot<std::shared_ptr<int>> late;
  std::weak_ptr<int> answer;
  const auto at_once = [](std::shared_ptr<int> value) -> Task<std::shared_ptr<int>> { co_return value; };
  const auto wait = [](OneShot<std::shared_ptr<int>>& event) -> Task<std::shared_ptr<int>> {
    std::shared_ptr<int> value = co_await event;
    co_return value;
  };
  {
    Gather<std::shared_ptr<int>> gather(scope, executor);
    gather.Start(0, wait(late));
    auto value = std::make_shared<int>(1);
    answer = value;
    gather.Start(1, at_once(std::move(value)));
    EXPECT_FALSE(answer.expired());
  }
  EXPECT_TRUE(answer.expired());
  late.Setter()(nullptr);
  scope.Drain();
}

TEST(Gather, ManyAtOnce) {
  ThreadPool pool("test", 4);
  TaskScope scope;
  const auto sum = [](TaskScope& s, Executor& e) -> Task<int> {
    Gather<int> gather(s, e);
    for (size_t i = 0; i < 1000; ++i) gather.Start(i, After(e, Duration(0), 1));
    int total = 0;
    while (gather.pending() > 0) {
      const auto event = co_await gather.Next();
      total += *event.value;
    }
    co_return total;
  };
  EXPECT_EQ(SyncWait(sum(scope, pool)), 1000);
  scope.Drain();
}

Task<void> SetWhenDestroyed(Executor& executor, bool& destroyed) {
  struct Guard {
    bool& flag;
    ~Guard() { flag = true; }
  } guard{destroyed};
  co_await After(executor, 1h, 1);
}

// The memory of a task may be another one's before the scope has heard of its end.
TEST(TaskScope, CountsTasksThatStartAsOthersEnd) {
  constexpr size_t kTasks = 100'000;
  TaskScope scope;
  std::vector<std::unique_ptr<OneShot<int>>> events(kTasks);
  for (auto& event : events) event = std::make_unique<OneShot<int>>();
  const auto wait_for = [](OneShot<int>& event) -> Task<void> { co_await event; };
  std::atomic<size_t> spawned = 0;
  std::thread ends_every_other([&] {
    for (size_t i = 0; i < kTasks; i += 2) {
      while (spawned.load() <= i) std::this_thread::yield();
      events[i]->Setter()(0);
    }
  });
  for (auto& event : events) {
    scope.Spawn(wait_for(*event));
    ++spawned;
  }
  ends_every_other.join();
  EXPECT_EQ(scope.running(), kTasks / 2);
  for (size_t i = 1; i < kTasks; i += 2) events[i]->Setter()(0);
  scope.Drain();
}

TEST(TaskScope, AbandonDestroysSuspendedTasks) {
  bool destroyed = false;
  ThreadPool pool("test", 1);
  TaskScope scope;
  scope.Spawn(SetWhenDestroyed(pool, destroyed));
  EXPECT_EQ(scope.running(), 1u);
  scope.Abandon();
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(scope.running(), 0u);
}

Task<void> SpawnWhenDestroyed(Executor& executor, TaskScope& scope, bool& destroyed, bool& never) {
  struct Guard {
    Executor& executor;
    TaskScope& scope;
    bool& flag;
    ~Guard() { scope.Spawn(SetWhenDestroyed(executor, flag)); }
  } guard{executor, scope, never};
  co_await SetWhenDestroyed(executor, destroyed);
}

TEST(TaskScope, TheDeadStartNothing) {
  bool destroyed = false;
  bool never = false;
  ThreadPool pool("test", 1);
  TaskScope scope;
  scope.Spawn(SpawnWhenDestroyed(pool, scope, destroyed, never));
  scope.Abandon();
  EXPECT_TRUE(destroyed);
  EXPECT_FALSE(never);
  EXPECT_EQ(scope.running(), 0u);
}

TEST(OneShot, FirstSetterWinsEvenBeforeTheAwait) {
  const auto run = []() -> Task<int> {
    OneShot<int> done;
    auto set = done.Setter();
    set(1);
    set(2);
    co_return co_await done;
  };
  EXPECT_EQ(SyncWait(run()), 1);
}

}  // namespace
}  // namespace xec
