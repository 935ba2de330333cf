// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/byte_budget.hh"

#include <algorithm>
#include <vector>

namespace xec {

void ByteBudget::Lease::Release() {
  if (budget_) std::exchange(budget_, nullptr)->Return(bytes_, use_);
}

ByteBudget::Lease ByteBudget::Lease::Split(uint64_t bytes) {
  XEC_CHECK(budget_ != nullptr && bytes <= bytes_);
  bytes_ -= bytes;
  return Lease(budget_, bytes, use_);
}

bool ByteBudget::ShareAllows(uint64_t bytes, Use use) const {
  return use == Use::kOther || uploads_in_use_ == 0 || uploads_in_use_ + bytes <= limit_ / 4 * 3;
}

std::deque<ByteBudget::Waiter>::iterator ByteBudget::FirstInLine() {
  bool uploads_wait = false;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
    if (waiter->use == Use::kUpload && uploads_wait) continue;
    if (ShareAllows(waiter->bytes, waiter->use)) return waiter;
    uploads_wait = true;
  }
  return waiters_.end();
}

bool ByteBudget::MustWait(uint64_t bytes, Use use) {
  if (limit_ - in_use_ < bytes || !ShareAllows(bytes, use)) return true;
  return use == Use::kUpload ? !waiters_.empty() : FirstInLine() != waiters_.end();
}

void ByteBudget::Count(uint64_t bytes, Use use) {
  in_use_ += bytes;
  if (use == Use::kUpload) uploads_in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

Task<Result<ByteBudget::Lease>> ByteBudget::Acquire(uint64_t bytes, Use use) {
  if (bytes > limit_) {
    co_return Fail(Code::kInvalidArgument, "{} bytes are more than the whole memory budget of {} bytes",
                   bytes, limit_);
  }
  OneShot<bool> admitted;
  {
    std::lock_guard lock(mutex_);
    if (!MustWait(bytes, use)) {
      Count(bytes, use);
      co_return Lease(this, bytes, use);
    }
    // A waiter whose coroutine is gone (simulated crash) would be admitted to bytes nobody returns; the
    // setter's shared state cannot tell, so a crash in the simulator discards the whole budget.
    waiters_.push_back(Waiter{bytes, use, admitted.Setter()});
  }
  co_await admitted;
  co_return Lease(this, bytes, use);
}

std::optional<ByteBudget::Lease> ByteBudget::TryAcquire(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (MustWait(bytes, Use::kOther)) return std::nullopt;
  Count(bytes, Use::kOther);
  return Lease(this, bytes, Use::kOther);
}

void ByteBudget::Return(uint64_t bytes, Use use) {
  std::vector<Waiter> admitted;
  {
    std::lock_guard lock(mutex_);
    XEC_CHECK(in_use_ >= bytes);
    in_use_ -= bytes;
    if (use == Use::kUpload) uploads_in_use_ -= bytes;
    for (auto waiter = FirstInLine(); waiter != waiters_.end() && limit_ - in_use_ >= waiter->bytes;
         waiter = FirstInLine()) {
      Count(waiter->bytes, waiter->use);
      admitted.push_back(std::move(*waiter));
      waiters_.erase(waiter);
    }
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
