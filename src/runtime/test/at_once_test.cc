// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/at_once.hh"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

namespace xec {
namespace {

// Works that wait until the test lets them end.
class Held {
 public:
  Task<Status> Run(size_t number) {
    OneShot<Status> end;
    {
      MutexLock lock(mutex_);
      begun_.push_back(number);
      ends_.push_back(end.Setter());
      most_ = std::max(most_, ends_.size());
    }
    changed_.NotifyAll();
    Status answer = co_await end;
    co_return std::move(answer);
  }

  // Ends the oldest one once `count` have been begun that have not ended.
  void EndOne(size_t count, Status answer = OkStatus()) {
    std::function<void(Status)> end;
    {
      MutexLock lock(mutex_);
      while (ends_.size() < count) changed_.Wait(mutex_);
      end = ends_.front();
      ends_.erase(ends_.begin());
    }
    end(std::move(answer));
  }

  size_t begun() {
    MutexLock lock(mutex_);
    return begun_.size();
  }
  size_t most() {
    MutexLock lock(mutex_);
    return most_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<size_t> begun_ XEC_GUARDED_BY(mutex_);
  std::vector<std::function<void(Status)>> ends_ XEC_GUARDED_BY(mutex_);
  size_t most_ XEC_GUARDED_BY(mutex_) = 0;
};

TEST(RunAtOnceTest, SoManyAreUnderWayUntilAllAreThrough) {
  Held held;
  Status answer = Fail(Code::kUnknown, "not yet");
  std::thread caller([&] { answer = RunAtOnce(10, 3, [&](size_t number) { return held.Run(number); }); });
  for (int i = 0; i < 8; ++i) held.EndOne(3);
  for (size_t left = 2; left > 0; --left) held.EndOne(left);
  caller.join();
  EXPECT_TRUE(answer);
  EXPECT_EQ(held.begun(), 10u);
  EXPECT_EQ(held.most(), 3u);
}

TEST(RunAtOnceTest, AfterAFailureNoMoreAreBegun) {
  Held held;
  Status answer = OkStatus();
  std::thread caller([&] { answer = RunAtOnce(10, 3, [&](size_t number) { return held.Run(number); }); });
  held.EndOne(3);
  held.EndOne(3, Fail(Code::kUnavailable, "the second"));
  held.EndOne(2, Fail(Code::kUnavailable, "the third"));
  held.EndOne(1);
  caller.join();
  EXPECT_EQ(held.begun(), 4u);
  EXPECT_EQ(answer.error().message, "the second");
}

TEST(RunAtOnceTest, NothingToDo) {
  EXPECT_TRUE(RunAtOnce(0, 3, [](size_t) -> Task<Status> { co_return Fail(Code::kUnknown, "asked"); }));
}

}  // namespace
}  // namespace xec
