// SPDX-License-Identifier: LGPL-3.0-or-later
// Breaches of the order of locks end a program that checks it, whether or not another thread is there.
#include <thread>

#include <gtest/gtest.h>

#include "base/mutex.hh"

namespace xec {
namespace {

TEST(LockOrderDeathTest, ALeafUnderALeafIsABreach) {
  Mutex one, other;
  const MutexLock lock(one);
  EXPECT_DEATH(
      { const MutexLock nested(other); },
      "of rank kLeaf is taken in .*lock_order_test.cc:[0-9]+.* while one of rank kLeaf is held, taken in .*"
      "lock_order_test.cc:[0-9]+");
}

TEST(LockOrderDeathTest, AnEarlierRankUnderALaterOneIsABreach) {
  Mutex upload(LockRank::kUpload), cache(LockRank::kSliceCache);
  const MutexLock lock(cache);
  EXPECT_DEATH(
      { const MutexLock nested(upload); }, "of rank kUpload is taken .* while one of rank kSliceCache is");
}

TEST(LockOrderDeathTest, TheSameLockTwiceIsABreach) {
  SharedMutex gate(LockRank::kExecutorGate);
  const ReaderLock lock(gate);
  EXPECT_DEATH({ const ReaderLock again(gate); }, "base/lock_order.hh has the order");
}

TEST(LockOrderDeathTest, AnotherThreadMustNotLetGo) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer reports this first";
#endif
  Mutex mutex;
  const MutexLock lock(mutex);
  EXPECT_DEATH(std::jthread([&] { mutex.Unlock(); }).join(), "held over a co_await");
}

TEST(LockOrder, LaterRanksAreTakenUnderEarlierOnes) {
  Mutex upload(LockRank::kUpload), cache(LockRank::kSliceCache), leaf, other;
  MutexLock first(upload);
  {
    const MutexLock second(cache);
    const MutexLock third(leaf);
  }
  const MutexLock third(leaf);
  // What is held is what counts, in whatever order it is let go of.
  first.Unlock();
  std::jthread([&] {
    const MutexLock elsewhere(upload);
    const MutexLock under(other);
  }).join();
}

TEST(LockOrder, ALockCanBeTakenAgain) {
  Mutex one, other;
  MutexLock lock(one);
  lock.Unlock();
  {
    const MutexLock between(other);
  }
  lock.Lock();
}

TEST(CondVar, WaitsUntilItIsTold) {
  Mutex mutex;
  CondVar changed;
  bool told = false;
  std::jthread teller([&] {
    const MutexLock lock(mutex);
    told = true;
    changed.NotifyAll();
  });
  const MutexLock lock(mutex);
  while (!told) changed.Wait(mutex);
  EXPECT_FALSE(changed.WaitUntil(mutex, std::chrono::steady_clock::now()));
}

}  // namespace
}  // namespace xec
