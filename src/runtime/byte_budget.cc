// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/byte_budget.hh"

#include <algorithm>
#include <vector>

namespace xec {

void ByteBudget::Lease::Release() {
  if (budget_) std::exchange(budget_, nullptr)->Return(bytes_);
}

ByteBudget::Lease ByteBudget::Lease::Split(uint64_t bytes) {
  XEC_CHECK(budget_ != nullptr && bytes <= bytes_);
  bytes_ -= bytes;
  return Lease(budget_, bytes);
}

Task<Result<ByteBudget::Lease>> ByteBudget::Acquire(uint64_t bytes) {
  if (bytes > limit_) {
    co_return Fail(Code::kInvalidArgument, "{} bytes are more than the whole memory budget of {} bytes",
                   bytes, limit_);
  }
  OneShot<bool> admitted;
  {
    std::lock_guard lock(mutex_);
    if (waiters_.empty() && limit_ - in_use_ >= bytes) {
      in_use_ += bytes;
      peak_ = std::max(peak_, in_use_);
      co_return Lease(this, bytes);
    }
    // A waiter whose coroutine is gone (simulated crash) would be admitted to bytes nobody returns; the
    // setter's shared state cannot tell, so a crash in the simulator discards the whole budget.
    waiters_.push_back(Waiter{bytes, admitted.Setter()});
  }
  co_await admitted;
  co_return Lease(this, bytes);
}

std::optional<ByteBudget::Lease> ByteBudget::TryAcquire(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!waiters_.empty() || limit_ - in_use_ < bytes) return std::nullopt;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return Lease(this, bytes);
}

void ByteBudget::Return(uint64_t bytes) {
  std::vector<Waiter> admitted;
  {
    std::lock_guard lock(mutex_);
    XEC_CHECK(in_use_ >= bytes);
    in_use_ -= bytes;
    while (!waiters_.empty() && limit_ - in_use_ >= waiters_.front().bytes) {
      in_use_ += waiters_.front().bytes;
      admitted.push_back(std::move(waiters_.front()));
      waiters_.pop_front();
    }
    peak_ = std::max(peak_, in_use_);
  }
  // Never inline: the lease may be released deep inside a library callback.
  for (Waiter& waiter : admitted) {
    executor_.Post([admit = std::move(waiter.admit)]() mutable { admit(true); });
  }
}

uint64_t ByteBudget::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

uint64_t ByteBudget::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

size_t ByteBudget::waiting() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace xec
