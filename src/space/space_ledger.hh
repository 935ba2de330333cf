// SPDX-License-Identifier: LGPL-3.0-or-later
// SpaceLedger: what a process knows of the space that groups use, and what its uploads are about to use.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "api/handles.hh"
#include "base/mutex.hh"
#include "base/result.hh"
#include "runtime/executor.hh"
#include "space/space_told.hh"

namespace xec {

// Of so many processes the sums are kept; those that told last.
inline constexpr size_t kSpaceSumsMax = 256;

// Of so many objects that went last it is known that they are summed up already.
inline constexpr size_t kSpaceGoneMax = 10'000;

// Thread-safe.
class SpaceLedger {
 public:
  // One for all that no group covers is added. `id`: of this process, and of no other one of the store.
  SpaceLedger(std::vector<SpaceGroup> groups, std::string id);

  const std::vector<SpaceGroup>& groups() const { return groups_; }
  // Of a path as users write it. It lives as long as the ledger.
  const SpaceGroup& Of(std::string_view path) const;
  // May a directory that is renamed so take objects from one group into another?
  bool Crosses(std::string_view from, std::string_view to) const;

  // A change that this process has made.
  void Add(const SpaceGroup& group, Usage change);
  // What it takes away that the object is gone from this name: nothing if this was asked before. Changes that
  // are made at the same moment are told of the same object.
  Usage TakenBy(std::string_view path, const ObjectGone& gone);
  // A directory was renamed from one group to another.
  void NoteMoved(int64_t now_ms);

  // Goes on with the sums of the process before this one.
  void GoOnWith(SpaceTold before);
  // What others told. `now`: when they were asked, by the clock of the executor. Of a process that the count
  // does not know, only what comes after it was heard of counts, or what it says itself: its sums may be old.
  void Hear(std::vector<SpaceTold> told, TimePoint now);
  void TakeCount(SpaceCount count);

  // What this process has to tell.
  SpaceTold Told() const;
  // The sums of all that have told something since then, and the own ones, by id.
  std::map<std::string, UsageByPrefix> Sums(int64_t told_since_ms) const;
  // The last count of these groups, if there is one, and whether something was moved since it began.
  std::optional<SpaceCount> count() const;
  bool MovedSince(int64_t wall_ms) const;
  TimePoint heard_at() const;
  // Is this process the first of those that have told something since then, in an order that all go by?
  bool IsFirst(int64_t since_ms) const;

  GroupUse Use(const SpaceGroup& group) const;

  // Takes room of the quota for an upload: `bytes` in place of the `held` ones that it has. `frees`: bytes
  // that are used less when it is committed. Error: kOverQuota with the numbers, and what is held stays.
  // Without a quota, and while nothing was counted yet, everything fits.
  Status Claim(const SpaceGroup& group, uint64_t held, uint64_t bytes, uint64_t frees);
  // Gives that room back, and adds what has come of the upload in the same moment.
  void Release(const SpaceGroup& group, uint64_t held, Usage change);

 private:
  // If it is of these groups, and later than what is known.
  void TakeLater(const std::optional<SpaceCount>& count) XEC_REQUIRES(mutex_);
  void Sum() XEC_REQUIRES(mutex_);
  Usage Used(const std::string& prefix) const XEC_REQUIRES(mutex_);

  const std::vector<SpaceGroup> groups_;
  mutable Mutex mutex_{LockRank::kLeaf};
  SpaceTold own_ XEC_GUARDED_BY(mutex_);
  std::map<std::string, SpaceTold> heard_ XEC_GUARDED_BY(mutex_);  // of others, by id
  // The sums from which those are counted that the last count lacks, by id.
  std::map<std::string, UsageByPrefix> not_in_count_ XEC_GUARDED_BY(mutex_);
  UsageByPrefix beside_own_ XEC_GUARDED_BY(mutex_);  // what is used without the own sums
  std::map<std::string, uint64_t> claimed_ XEC_GUARDED_BY(mutex_);  // bytes, by prefix
  std::set<size_t> gone_ XEC_GUARDED_BY(mutex_);  // hashes of names with versions
  std::deque<size_t> gone_order_ XEC_GUARDED_BY(mutex_);
  TimePoint heard_at_ XEC_GUARDED_BY(mutex_){};
};

// Room that an upload has claimed; given back when this goes. Used by one thread at a time; the ledger and
// the group outlive it.
class SpaceClaim {
 public:
  SpaceClaim(SpaceLedger& ledger, const SpaceGroup& group) : ledger_(ledger), group_(group) {}
  ~SpaceClaim() { Release(); }
  SpaceClaim(const SpaceClaim&) = delete;
  SpaceClaim& operator=(const SpaceClaim&) = delete;

  uint64_t bytes() const { return bytes_; }
  // Of what the upload takes the place of, as it said last.
  uint64_t replaces() const { return replaces_; }
  // So many in all, unless there are more already, in place of `replaces` ones: the difference is claimed.
  // Errors: as SpaceLedger::Claim.
  Status GrowTo(uint64_t bytes, uint64_t replaces);
  // `change`: what has become of it.
  void Release(Usage change = {});

 private:
  SpaceLedger& ledger_;
  const SpaceGroup& group_;
  uint64_t bytes_ = 0, replaces_ = 0;
  uint64_t held_ = 0;  // in the ledger
};

}  // namespace xec
