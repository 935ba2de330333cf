// SPDX-License-Identifier: LGPL-3.0-or-later
// StrayLanes: lanes of a version whose archive is not where the manifest says: written anew on another server
// after the manifest was. Searches for them, and chooses among several archives of a lane.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.hh"
#include "object/archives/open_archives.hh"

namespace xec {

class StrayLanes : public std::enable_shared_from_this<StrayLanes> {
 public:
  StrayLanes(OpenVersionPtr version, std::shared_ptr<const ArchiveSource> source,
             std::shared_ptr<OpenArchives> archives);

  // The server to be asked for the lane; nullopt: the one that the manifest names.
  std::optional<MemberIndex> Find(uint32_t lane) const;

  // Looks, unless that was done a moment ago, for archives on servers that the manifest does not name. Lanes
  // that are nowhere, while the servers that should have them answer, are reported as damage. Concurrent
  // callers wait for one search. Nothing is done before a manifest is known. All servers are asked.
  Task<void> Search() { return SearchFor(shared_from_this()); }
  // The same in the background; also again, after a while, for servers that did not answer. Servers where
  // lost archives mostly are written anew are asked first, and if they have all that is lacking, no others.
  void StartSearch();
  // For a reader that cannot go on without: the same by the rule of Search. Answers when to look at changes()
  // and call it again.
  TimePoint SearchOn();
  // So often a reader that waits for a search looks at what it has found.
  static constexpr Duration kLookAgain = std::chrono::milliseconds(20);

  // Is a search under way? What it finds on the way counts at once.
  bool searching() const;
  // Has the last search heard all servers that it asked, and is it known where to look on them? Else a chunk
  // that was not found may not be lost.
  bool known() const;
  // Another number: since the one before, a search has changed what Find tells or has opened an archive of
  // another lane, or more places are known, or damaged archives were opened anew.
  uint64_t changes() const;

  // Lanes and servers of damaged archives where another one that shows no damage serves the lane.
  std::vector<std::pair<uint32_t, MemberIndex>> CorruptBeside() const;

 private:
  using Self = std::shared_ptr<StrayLanes>;
  using ByLane = std::map<uint32_t, MemberIndex>;

  static Task<void> SearchFor(Self self);
  // What a search has heard: too little, all that could be told, or only where the lacking lanes are.
  enum class Heard { kNotAll, kAll, kEnough };
  // One search; searching_ is set.
  static Task<void> SearchNow(Self self, bool ask_all);
  // Asks the servers where archives of lacking lanes mostly are. True: no lane is known to be lacking now.
  static Task<bool> AskFirst(Self self, std::shared_ptr<const Manifest> manifest);
  static Task<bool> LoadIfListed(Self self, MemberIndex server);
  // Lanes without an undamaged archive that is open: their servers have none, do not answer or are none of
  // the store. Not those whose servers have not been asked.
  std::vector<uint32_t> Lacking(const Manifest& manifest) const;
  // Opens what is there; false: a spare has not answered. Tags: see the .cc file.
  static Task<bool> Ask(Self self, std::shared_ptr<const Manifest> manifest, std::vector<size_t> tags);
  bool IsDue(TimePoint now) const XEC_REQUIRES(mutex_);
  bool LastIsComplete() const XEC_REQUIRES(mutex_);
  // While others are still asked.
  void UseFound(const Manifest& manifest);
  // What the search has found. `changes`: of the source, when it began.
  void End(const Manifest& manifest, const ByLane& before, Heard heard, uint64_t changes);
  void ReportLost(const Manifest& manifest, const std::vector<OpenArchives::Holding>& holdings,
                  const ByLane& elsewhere) const;

  const OpenVersionPtr version_;
  const std::shared_ptr<const ArchiveSource> source_;
  const std::shared_ptr<OpenArchives> archives_;
  mutable Mutex mutex_;
  ByLane strays_ XEC_GUARDED_BY(mutex_);
  bool searching_ XEC_GUARDED_BY(mutex_) = false;
  bool searched_ XEC_GUARDED_BY(mutex_) = false;
  bool heard_enough_ XEC_GUARDED_BY(mutex_) = false;  // the last search was kEnough: the next one asks all
  bool known_ XEC_GUARDED_BY(mutex_) = false;  // the last search heard all, in the places known then
  uint64_t places_known_ XEC_GUARDED_BY(mutex_) = 0;  // ArchiveSource::changes() then
  // OpenArchives::times_corrupt() when the last search began.
  uint64_t corrupt_known_ XEC_GUARDED_BY(mutex_) = 0;
  TimePoint again_ XEC_GUARDED_BY(mutex_) = {};
  Duration pause_ XEC_GUARDED_BY(mutex_){0};
  // Of the search under way; they are told what it has heard.
  std::vector<UniqueFunction<void(Heard)>> waiters_ XEC_GUARDED_BY(mutex_);
  std::atomic<uint64_t> changes_ = 0;  // of its own; grows under mutex_
};

}  // namespace xec
