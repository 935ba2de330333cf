// SPDX-License-Identifier: LGPL-3.0-or-later
// ClientRequests: how many calls of front ends are under way, so that work in the background knows when to
// make room. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "runtime/task.hh"

namespace xec {

class ClientRequests {
 public:
  bool any() const { return under_way_.load(std::memory_order_relaxed) > 0; }
  // Were there any since this was asked last, or are there?
  bool AnySinceAsked() { return seen_.exchange(any(), std::memory_order_relaxed) || any(); }

  // The task of a call, which counts until it has ended, also if nobody waits for it any more.
  template <typename T>
  static Task<T> Count(std::shared_ptr<ClientRequests> requests, Task<T> task) {
    const UnderWay counted(std::move(requests));
    T answer = co_await task;
    co_return std::move(answer);
  }

 private:
  class UnderWay {
   public:
    explicit UnderWay(std::shared_ptr<ClientRequests> requests) : requests_(std::move(requests)) {
      requests_->under_way_.fetch_add(1, std::memory_order_relaxed);
      requests_->seen_.store(true, std::memory_order_relaxed);
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    ~UnderWay() { requests_->under_way_.fetch_sub(1, std::memory_order_relaxed); }

   private:
    const std::shared_ptr<ClientRequests> requests_;
  };

  std::atomic<int64_t> under_way_ = 0;
  std::atomic<bool> seen_ = false;
};

}  // namespace xec
