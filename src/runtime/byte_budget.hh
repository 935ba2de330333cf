// SPDX-License-Identifier: LGPL-3.0-or-later
// ByteBudget: the process's one memory budget (promise P7). Work waits its turn in order and never fails;
// a Lease gives its bytes back when it is destroyed, which may be long after the operation ended if a
// network library still owns the buffer.
//
// No deadlock: an operation reserves all it needs for one step (a whole stripe) in one Acquire and never
// acquires while it holds bytes that only its own progress can release, but for what an upload holds beside
// its stripes, which is in its claim.
//
// How long an upload holds its bytes is up to its client and to the slowest of its servers, so uploads have
// at most three quarters of the budget between them (a single one may have all): what else needs no more than
// a quarter gets on, where a stripe is no more than three.
//
// Nor do uploads wait for each other for ever, though one client may have many that it fills in turn: an
// upload claims a stripe of the three quarters before it begins, until its archives are sealed. Claims are no
// memory; they bound how much is held by uploads that do not get on, so that one that has a claim and waits
// for memory does (apart from what requests keep that a server does not answer). A request for more than a
// quarter at once, if it is not an upload's, claims the rest before: requests up to a quarter do not wait for
// it; later uploads and other large requests do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"
#include "runtime/unique_function.hh"

namespace xec {

class ByteBudget {
  class Core;

 public:
  enum class Use { kUpload, kOther };

  // May outlive the budget: a library may let go of a buffer after everything else has ended.
  class Lease {
   public:
    Lease() = default;
    Lease(std::shared_ptr<Core> core, uint64_t bytes, Use use);
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { Release(); }
    void Release();
    // Splits `bytes` off this lease (at most what it holds).
    Lease Split(uint64_t bytes);
    uint64_t bytes() const { return core_ ? bytes_ : 0; }

   private:
    std::shared_ptr<Core> core_;
    uint64_t bytes_ = 0;
    Use use_ = Use::kOther;
  };

  // `executor` resumes waiters. Both it and this outlive every waiter.
  ByteBudget(uint64_t limit_bytes, Executor& executor);

  // A budget of what `whole` has, for work that must wait for memory while its operation holds some: what it
  // waits for is then its own. At its end `whole` is returned, but for what is still taken: that follows.
  ByteBudget(Lease whole, Executor& executor);
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  ~ByteBudget();

  // Asks the owner of bytes that it could do without to give so many back; on any thread. It has to give back
  // all of them when somebody waits (and is in line by then), because nobody else may give any back for long.
  // Set before the first request.
  using Reclaim = UniqueFunction<void(uint64_t bytes)>;
  void SetReclaim(Reclaim reclaim);

  // Waits in line for `bytes`. Uploads that wait only because uploads have their share let others pass.
  // Error: kInvalidArgument at once when bytes exceed the whole budget.
  Task<Result<Lease>> Acquire(uint64_t bytes, Use use = Use::kOther);

  // Takes `bytes` (not for an upload) only if they are free and nobody waits for such.
  std::optional<Lease> TryAcquire(uint64_t bytes);

  // Waits in line until all claims together fit into the share of uploads; never with memory in hand. For an
  // upload that will hold at most `bytes` at a time until its client sends more: all of the share if that is
  // less, as such an upload is the only one. Else before so many are acquired, for what exceeds a quarter;
  // nothing if nothing does. Uploads that wait only for uploads let others pass. Empty when `bytes` exceed
  // the budget: Acquire says so.
  Task<Lease> Claim(uint64_t bytes, Use use);

  // Both, one after the other; the claim is kept as long as the memory. Errors: as of Acquire.
  struct Claimed {
    Lease claim;
    Lease memory;
  };
  Task<Result<Claimed>> ClaimAndAcquire(uint64_t bytes, Use use = Use::kOther);

  uint64_t limit() const;
  uint64_t claimed() const;
  uint64_t in_use() const;
  uint64_t peak() const;
  size_t waiting() const;
  size_t waiting_to_claim() const;

 private:
  uint64_t BytesToClaim(uint64_t bytes, Use use) const;

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Core> claims_;
};

}  // namespace xec
