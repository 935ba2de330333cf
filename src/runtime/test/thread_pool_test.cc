// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/thread_pool.hh"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/sync_wait.hh"
#include "runtime/task.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

Task<int> Wait(OneShot<int>& shot) { co_return co_await shot; }

TEST(ThreadPool, TimersRunInOrderAndCancel) {
  ThreadPool pool("test", 1);
  std::vector<int> order;
  OneShot<int> last;
  // Far enough away that a slow machine has set all of them before the first is due.
  const TimePoint base = pool.Now() + 200ms;
  pool.RunAt(base + 3ms, [&order] { order.push_back(3); });
  const TimerId cancelled = pool.RunAt(base + 2ms, [&order] { order.push_back(2); });
  pool.RunAt(base + 1ms, [&order] { order.push_back(1); });
  EXPECT_TRUE(pool.Cancel(cancelled));
  EXPECT_FALSE(pool.Cancel(cancelled));
  pool.RunAt(base + 5ms, [set = last.Setter()] { set(0); });
  SyncWait(Wait(last));
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
}

TEST(ThreadPool, AnEarlierTimerWakesTheThreadThatWaitsForALaterOne) {
  ThreadPool pool("test", 1);
  for (int i = 0; i < 3; ++i) {
    OneShot<int> soon;
    const TimerId late = pool.RunAt(pool.Now() + 10min, [] {});
    pool.RunAt(pool.Now() + 20ms, [set = soon.Setter()] { set(7); });
    EXPECT_EQ(SyncWait(Wait(soon)), 7);
    // Then also with a cancelled one, for which the thread still sleeps.
    EXPECT_TRUE(i == 0 || pool.Cancel(late));
  }
}

TEST(ThreadPool, ALongStepDoesNotHoldUpWhatIsPostedMeanwhile) {
  ThreadPool pool("test", 2);
  for (int i = 0; i < 3; ++i) {
    OneShot<int> begun;
    OneShot<int> done;
    const auto other = std::make_shared<std::promise<void>>();
    pool.Post([other, begin = begun.Setter(), end = done.Setter()] {
      begin(1);
      other->get_future().wait();
      end(1);
    });
    SyncWait(Wait(begun));
    const TimePoint since = pool.Now();
    while (pool.Now() - since <= kLongStep) std::this_thread::yield();
    pool.Post([other] { other->set_value(); });
    SyncWait(Wait(done));
  }
}

// What was posted just after a long step had begun waited for its end, if nothing else was posted.
TEST(ThreadPool, ALongStepDoesNotHoldUpWhatIsPostedAtItsBegin) {
  ThreadPool pool("test", 2);
  for (int i = 0; i < 3; ++i) {
    OneShot<int> done;
    pool.Post([&pool, end = done.Setter()] {
      const auto other = std::make_shared<std::promise<void>>();
      pool.Post([other] { other->set_value(); });
      end(other->get_future().wait_for(60s) == std::future_status::ready ? 1 : 0);
    });
    EXPECT_EQ(SyncWait(Wait(done)), 1);
  }
}

// So did the second of two, when the first one was long as well.
TEST(ThreadPool, SeveralLongStepsDoNotHoldUpWhatIsPostedAtTheirBegin) {
  ThreadPool pool("test", 3);
  OneShot<int> done;
  const auto last = std::make_shared<std::promise<void>>();
  pool.Post([&pool, last, end = done.Setter()] {
    const std::shared_future<void> ran = last->get_future().share();
    pool.Post([ran] { ran.wait_for(60s); });
    pool.Post([last] { last->set_value(); });
    end(ran.wait_for(60s) == std::future_status::ready ? 1 : 0);
  });
  EXPECT_EQ(SyncWait(Wait(done)), 1);
}

TEST(ThreadPool, AllThatIsPostedRuns) {
  constexpr int kPosts = 20'000;
  std::atomic<int> ran = 0;
  {
    ThreadPool pool("test", 3);
    std::vector<std::jthread> posters;
    for (int i = 0; i < 3; ++i) {
      posters.emplace_back([&] {
        for (int k = 0; k < kPosts; ++k) {
          pool.Post([&ran] { ++ran; });
          if (k % 100 == 0) std::this_thread::yield();
        }
      });
    }
    posters.clear();
    // Nobody was left asleep: what is posted last runs without the end of the pool.
    OneShot<int> last;
    pool.Post([set = last.Setter()] { set(1); });
    SyncWait(Wait(last));
  }
  EXPECT_EQ(ran, 3 * kPosts);
}

TEST(ThreadPool, BlockingOnAnEngineThreadAborts) {
  EXPECT_DEATH(
      {
        ThreadPool pool("test", 1);
        OneShot<int> never;
        pool.Post([&never] { SyncWait(Wait(never)); });
        SyncWait(Wait(never));
      },
      "an engine thread must not block");
}

}  // namespace
}  // namespace xec
