// SPDX-License-Identifier: LGPL-3.0-or-later
// ByteBudget: the process's one memory budget (promise P7). Work waits its turn in order and never fails;
// a Lease gives its bytes back when it is destroyed, which may be long after the operation ended if a
// network library still owns the buffer.
//
// No deadlock: an operation reserves all it needs for one step (a whole stripe) in one Acquire and never
// acquires while it holds bytes that only its own progress can release.
//
// How long an upload holds its bytes is up to its client and to the slowest of its servers, so uploads have
// at most three quarters of the budget between them (a single one may have all): everything else always gets
// on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/result.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

class ByteBudget {
 public:
  enum class Use { kUpload, kOther };

  class Lease {
   public:
    Lease() = default;
    Lease(ByteBudget* budget, uint64_t bytes, Use use) : budget_(budget), bytes_(bytes), use_(use) {}
    Lease(Lease&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_), use_(other.use_) {}
    Lease& operator=(Lease&& other) noexcept {
      Release();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = other.bytes_;
      use_ = other.use_;
      return *this;
    }
    ~Lease() { Release(); }
    void Release();
    // Splits `bytes` off this lease (at most what it holds).
    Lease Split(uint64_t bytes);
    uint64_t bytes() const { return budget_ ? bytes_ : 0; }

   private:
    ByteBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
    Use use_ = Use::kOther;
  };

  // `executor` resumes waiters. Both it and this outlive every lease and waiter.
  ByteBudget(uint64_t limit_bytes, Executor& executor) : limit_(limit_bytes), executor_(executor) {}

  // Waits in line for `bytes`. Uploads that wait only because uploads have their share let others pass.
  // Error: kInvalidArgument at once when bytes exceed the whole budget.
  Task<Result<Lease>> Acquire(uint64_t bytes, Use use = Use::kOther);

  // Takes `bytes` (not for an upload) only if they are free and nobody waits for such.
  std::optional<Lease> TryAcquire(uint64_t bytes);

  uint64_t limit() const { return limit_; }
  uint64_t in_use() const;
  uint64_t peak() const;
  size_t waiting() const;

 private:
  struct Waiter {
    uint64_t bytes;
    Use use;
    UniqueFunction<void(bool)> admit;
  };
  bool ShareAllows(uint64_t bytes, Use use) const;
  // The first waiter that waits for more than a share of uploads, if any.
  std::deque<Waiter>::iterator FirstInLine();
  bool MustWait(uint64_t bytes, Use use);
  void Count(uint64_t bytes, Use use);
  void Return(uint64_t bytes, Use use);

  const uint64_t limit_;
  Executor& executor_;
  mutable std::mutex mutex_;
  uint64_t in_use_ = 0;          // guarded by mutex_, as all below
  uint64_t uploads_in_use_ = 0;  // of in_use_
  uint64_t peak_ = 0;
  std::deque<Waiter> waiters_;
};

}  // namespace xec
