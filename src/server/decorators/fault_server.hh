// SPDX-License-Identifier: LGPL-3.0-or-later
// FaultServer: a decorator that makes a data server fail on demand: by rules (operation, part of the path,
// the n-th such request, or one in so many at random) and by states (down, read-only, full). Thread-safe.
//
// Answers made up here run on the executor, never inline, as the contract says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "base/random.hh"
#include "server/decorators/decorator.hh"

namespace xec {

enum class FaultKind {
  kFailBefore,  // not executed; the error is answered
  kFailAfter,   // executed, then the error is answered instead (a lost reply)
  kDelay,       // executed after `delay`
  kHang,        // kept, neither executed nor answered, until ReleaseHung or DropHung
  kCorrupt,     // a successful read has one flipped bit (others: no effect)
  kShortRead,   // a successful read answers about half of its bytes (others: no effect)
};

struct FaultRule {
  FaultKind kind = FaultKind::kFailBefore;
  std::optional<Operation> operation = {};  // any when not given
  std::string path_contains = {};           // any when empty; of renames the source counts
  uint64_t first = 1;                       // the rule acts from the first-th matching request on ...
  uint64_t count = UINT64_MAX;              // ... for so many matching requests ...
  uint64_t one_in = 1;                      // ... and of these on one in so many, at random
  Error error = {Code::kUnavailable, "injected fault"};
  Duration delay{0};
};

// What the server is to do wrong. Shared by the server, its files and the requests it holds back.
class FaultPlan : public std::enable_shared_from_this<FaultPlan> {
 public:
  static constexpr bool kSeesEachListing = true;

  // `executor` outlives the plan; `seed` decides the random rules and which bits flip.
  FaultPlan(Executor& executor, uint64_t seed) : executor_(executor), random_(seed) {}

  // The first rule that acts decides; a rule's id removes it again.
  uint64_t Add(FaultRule rule);
  void Remove(uint64_t id);
  // No rules and no states any more. What hangs keeps hanging.
  void Clear();

  void SetDown(bool down);           // everything is kUnavailable at once
  void SetReadOnly(bool read_only);  // what changes something is kPermissionDenied
  void SetFull(bool full);  // what needs space is kNoSpace: create, write, make directory, attributes

  // How many requests act on a rule so far, and how many hang now.
  uint64_t injected() const;
  size_t hung() const;
  // What hangs is executed now, late, as by a server that was stopped and goes on.
  void ReleaseHung();
  // What hangs is never executed and answers kUnavailable, as by a server that was killed. Needed before
  // the plan is let go, too: a request that hangs keeps server and plan alive.
  void DropHung();

  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done);
  void AfterRead(const Request& request, const Slice& into, Result<uint64_t>& result);

 private:
  struct ActiveRule {
    FaultRule rule;
    uint64_t matched = 0;
  };
  struct Hung {
    Closure execute;
    Closure drop;
  };
  // The fault for this request, among the rules for which `kinds` holds; nullopt: none.
  std::optional<FaultRule> Decide(const Request& request, bool read_results);
  std::optional<Error> StateError(const Request& request) const XEC_REQUIRES(mutex_);
  std::vector<Hung> TakeHung();

  Executor& executor_;
  mutable Mutex mutex_;
  Random random_ XEC_GUARDED_BY(mutex_);
  std::map<uint64_t, ActiveRule> rules_ XEC_GUARDED_BY(mutex_);
  uint64_t next_rule_ XEC_GUARDED_BY(mutex_) = 1;
  uint64_t injected_ XEC_GUARDED_BY(mutex_) = 0;
  bool down_ XEC_GUARDED_BY(mutex_) = false;
  bool read_only_ XEC_GUARDED_BY(mutex_) = false;
  bool full_ XEC_GUARDED_BY(mutex_) = false;
  std::vector<Hung> hung_ XEC_GUARDED_BY(mutex_);
};

class FaultServer final : public DecoratedServer<FaultPlan> {
 public:
  FaultServer(DataServerPtr inner, Executor& executor, uint64_t seed = 1);
  ~FaultServer() override;

  FaultPlan& plan() { return *core_; }
};

}  // namespace xec
