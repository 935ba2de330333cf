// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/byte_budget.hh"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/mutex.hh"

namespace xec {
namespace {

uint64_t UploadShare(uint64_t limit) { return limit / 4 * 3; }

}  // namespace

// What the budget and its leases share. Thread-safe.
class ByteBudget::Core {
 public:
  // `share_bytes`: of the limit, for uploads if there is more than one.
  Core(uint64_t limit_bytes, uint64_t share_bytes, Executor& executor)
      : limit(limit_bytes), share(share_bytes), executor_(executor) {}
  Core(Lease whole, Executor& executor)
      : limit(whole.bytes()), share(UploadShare(limit)), executor_(executor), whole_(std::move(whole)) {}

  // Nobody asks for anything any more: `whole` goes back, what is in use as it is returned.
  void End();

  // True when the bytes were free; else `admit` is called when it is their turn.
  bool TakeOrWait(uint64_t bytes, Use use, UniqueFunction<void(bool)> admit);
  bool TryTake(uint64_t bytes);
  void Return(uint64_t bytes, Use use);

  uint64_t in_use() const;
  uint64_t peak() const;
  size_t waiting() const;

  const uint64_t limit, share;
  Reclaim reclaim;  // may be empty; never called under mutex_

 private:
  struct Waiter {
    uint64_t bytes;
    Use use;
    UniqueFunction<void(bool)> admit;
  };
  bool ShareAllows(uint64_t bytes, Use use) const XEC_REQUIRES(mutex_);
  // The first waiter that waits for more than a share of uploads, if any.
  std::deque<Waiter>::iterator FirstInLine() XEC_REQUIRES(mutex_);
  bool MustWait(uint64_t bytes, Use use) XEC_REQUIRES(mutex_);
  void AskBack(uint64_t bytes) XEC_EXCLUDES(mutex_) {
    if (reclaim) reclaim(bytes);
  }
  void Count(uint64_t bytes, Use use) XEC_REQUIRES(mutex_);

  Executor& executor_;  // not used when nobody waits
  mutable Mutex mutex_;
  Lease whole_ XEC_GUARDED_BY(mutex_);  // of another budget, whose part this is; may be empty
  bool ended_ XEC_GUARDED_BY(mutex_) = false;
  uint64_t in_use_ XEC_GUARDED_BY(mutex_) = 0;
  uint64_t uploads_in_use_ XEC_GUARDED_BY(mutex_) = 0;  // of in_use_
  uint64_t peak_ XEC_GUARDED_BY(mutex_) = 0;
  std::deque<Waiter> waiters_ XEC_GUARDED_BY(mutex_);
};

bool ByteBudget::Core::ShareAllows(uint64_t bytes, Use use) const {
  return use == Use::kOther || uploads_in_use_ == 0 || uploads_in_use_ + bytes <= share;
}

void ByteBudget::Core::End() {
  Lease free;  // released without the lock
  MutexLock lock(mutex_);
  ended_ = true;
  if (whole_.bytes() > 0) free = whole_.Split(limit - in_use_);
}

std::deque<ByteBudget::Core::Waiter>::iterator ByteBudget::Core::FirstInLine() {
  bool uploads_wait = false;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
    if (waiter->use == Use::kUpload && uploads_wait) continue;
    if (ShareAllows(waiter->bytes, waiter->use)) return waiter;
    uploads_wait = true;
  }
  return waiters_.end();
}

bool ByteBudget::Core::MustWait(uint64_t bytes, Use use) {
  if (limit - in_use_ < bytes || !ShareAllows(bytes, use)) return true;
  return use == Use::kUpload ? !waiters_.empty() : FirstInLine() != waiters_.end();
}

void ByteBudget::Core::Count(uint64_t bytes, Use use) {
  in_use_ += bytes;
  if (use == Use::kUpload) uploads_in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

bool ByteBudget::Core::TakeOrWait(uint64_t bytes, Use use, UniqueFunction<void(bool)> admit) {
  MutexLock lock(mutex_);
  if (!MustWait(bytes, use)) {
    Count(bytes, use);
    return true;
  }
  // A waiter whose coroutine is gone (simulated crash) would be admitted to bytes nobody returns; the
  // setter's shared state cannot tell, so a crash in the simulator discards the whole budget.
  waiters_.push_back(Waiter{bytes, use, std::move(admit)});
  lock.Unlock();
  AskBack(limit);
  return false;
}

bool ByteBudget::Core::TryTake(uint64_t bytes) {
  MutexLock lock(mutex_);
  if (limit - in_use_ < bytes && waiters_.empty()) {
    const uint64_t missing = bytes - (limit - in_use_);
    lock.Unlock();
    AskBack(missing);
    lock.Lock();
  }
  if (MustWait(bytes, Use::kOther)) return false;
  Count(bytes, Use::kOther);
  return true;
}

void ByteBudget::Core::Return(uint64_t bytes, Use use) {
  std::vector<Waiter> admitted;
  Lease of_whole;  // released without the lock
  {
    MutexLock lock(mutex_);
    XEC_CHECK(in_use_ >= bytes);
    in_use_ -= bytes;
    if (ended_ && whole_.bytes() > 0) of_whole = whole_.Split(bytes);
    if (use == Use::kUpload) uploads_in_use_ -= bytes;
    for (auto waiter = FirstInLine(); waiter != waiters_.end() && limit - in_use_ >= waiter->bytes;
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

uint64_t ByteBudget::Core::in_use() const {
  MutexLock lock(mutex_);
  return in_use_;
}

uint64_t ByteBudget::Core::peak() const {
  MutexLock lock(mutex_);
  return peak_;
}

size_t ByteBudget::Core::waiting() const {
  MutexLock lock(mutex_);
  return waiters_.size();
}

ByteBudget::Lease::Lease(std::shared_ptr<Core> core, uint64_t bytes, Use use)
    : core_(std::move(core)), bytes_(bytes), use_(use) {}

ByteBudget::Lease::Lease(Lease&& other) noexcept
    : core_(std::move(other.core_)), bytes_(other.bytes_), use_(other.use_) {}

ByteBudget::Lease& ByteBudget::Lease::operator=(Lease&& other) noexcept {
  Release();
  core_ = std::move(other.core_);
  bytes_ = other.bytes_;
  use_ = other.use_;
  return *this;
}

void ByteBudget::Lease::Release() {
  if (const std::shared_ptr<Core> core = std::move(core_)) core->Return(bytes_, use_);
}

ByteBudget::Lease ByteBudget::Lease::Split(uint64_t bytes) {
  XEC_CHECK(core_ != nullptr && bytes <= bytes_);
  bytes_ -= bytes;
  return Lease(core_, bytes, use_);
}

ByteBudget::ByteBudget(uint64_t limit_bytes, Executor& executor)
    : core_(std::make_shared<Core>(limit_bytes, UploadShare(limit_bytes), executor)),
      claims_(std::make_shared<Core>(core_->share, core_->share, executor)) {}

ByteBudget::ByteBudget(Lease whole, Executor& executor)
    : core_(std::make_shared<Core>(std::move(whole), executor)),
      claims_(std::make_shared<Core>(core_->share, core_->share, executor)) {}

ByteBudget::~ByteBudget() { core_->End(); }

Task<Result<ByteBudget::Lease>> ByteBudget::Acquire(uint64_t bytes, Use use) {
  const std::shared_ptr<Core> core = core_;
  if (bytes > core->limit) {
    co_return Fail(Code::kInvalidArgument, "{} bytes are more than the whole memory budget of {} bytes",
                   bytes, core->limit);
  }
  OneShot<bool> admitted;
  if (!core->TakeOrWait(bytes, use, admitted.Setter())) co_await admitted;
  co_return Lease(core, bytes, use);
}

std::optional<ByteBudget::Lease> ByteBudget::TryAcquire(uint64_t bytes) {
  if (!core_->TryTake(bytes)) return std::nullopt;
  return Lease(core_, bytes, Use::kOther);
}

uint64_t ByteBudget::BytesToClaim(uint64_t bytes, Use use) const {
  // Not to be had in any case, as Acquire will say.
  if (bytes > core_->limit) return 0;
  if (use == Use::kUpload) return std::min(bytes, claims_->limit);
  const uint64_t quarter = core_->limit - claims_->limit;
  return bytes > quarter ? bytes - quarter : 0;
}

Task<ByteBudget::Lease> ByteBudget::Claim(uint64_t bytes, Use use) {
  const std::shared_ptr<Core> claims = claims_;
  const uint64_t claim = BytesToClaim(bytes, use);
  if (claim == 0) co_return Lease();
  OneShot<bool> admitted;
  if (!claims->TakeOrWait(claim, use, admitted.Setter())) co_await admitted;
  co_return Lease(claims, claim, use);
}

Task<Result<ByteBudget::Claimed>> ByteBudget::ClaimAndAcquire(uint64_t bytes, Use use) {
  Claimed claimed;
  claimed.claim = co_await Claim(bytes, use);
  Result<Lease> memory = co_await Acquire(bytes, use);
  if (!memory) co_return memory.error();
  claimed.memory = std::move(*memory);
  co_return std::move(claimed);
}

void ByteBudget::SetReclaim(Reclaim reclaim) { core_->reclaim = std::move(reclaim); }

uint64_t ByteBudget::limit() const { return core_->limit; }
uint64_t ByteBudget::claimed() const { return claims_->in_use(); }
uint64_t ByteBudget::in_use() const { return core_->in_use(); }
uint64_t ByteBudget::peak() const { return core_->peak(); }
size_t ByteBudget::waiting() const { return core_->waiting(); }
size_t ByteBudget::waiting_to_claim() const { return claims_->waiting(); }

}  // namespace xec
