// SPDX-License-Identifier: LGPL-3.0-or-later
// Engine: what every operation of one store works with: the servers, the clock, randomness, the budget and
// the bounds. One for each gateway process (and for each simulated gateway), and another one when the members
// of the store change: an operation goes by one list of members from beginning to end
// (docs/protocol/members.md). All of it is thread-safe; it outlives every operation.
#pragma once

#include <string>
#include <vector>

#include "api/engine_options.hh"
#include "archive/page_tables.hh"
#include "base/mutex.hh"
#include "base/random.hh"
#include "commit/engine/crowded_names.hh"
#include "commit/engine/given_up_files.hh"
#include "commit/engine/known_directories.hh"
#include "commit/engine/known_manifests.hh"
#include "commit/engine/known_space.hh"
#include "commit/engine/upload_notes.hh"
#include "placement/homes.hh"
#include "placement/store_descriptor.hh"
#include "protocol/hybrid_clock.hh"
#include "protocol/member_list.hh"
#include "protocol/object_path.hh"
#include "runtime/byte_budget.hh"
#include "runtime/hedge_budget.hh"
#include "runtime/slice_cache.hh"
#include "server/calls.hh"
#include "server/health/health_monitor.hh"

namespace xec {

class Engine {
 public:
  // Local headers that are too long to be read with their data, at a time: beside the budget.
  static constexpr uint64_t kLongHeaderBytesMax = 8 * 1024 * 1024;

  // `servers[i]` serves member i of the descriptor; null while that member is missing. `scope` runs what
  // outlasts an operation's answer.
  Engine(StoreDescriptor descriptor, std::vector<DataServerPtr> servers, Executor& executor, TaskScope& scope,
         uint64_t seed, EngineOptions options);
  // Goes on from `before`, with which it shares memory, what is cached, the clock and the randomness, by
  // another list of the same store. `servers` as above; `before` stays for as long as this one is used.
  Engine(Engine& before, StoreDescriptor descriptor, std::vector<DataServerPtr> servers);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // Ends the probing; what is in flight ends by itself.
  ~Engine();

  const StoreDescriptor& descriptor() const { return descriptor_; }
  const EngineOptions& options() const { return options_; }
  Executor& executor() const { return executor_; }
  TaskScope& scope() const { return scope_; }
  ByteBudget& budget() { return shared_->budget; }
  // For local headers that are too long to be read with their data. Who waits for it may hold memory of the
  // other one; who has got it waits for one request only.
  ByteBudget& long_headers() { return shared_->long_headers; }
  // Whole stripes, verified, shared by all readers.
  const std::shared_ptr<SliceCache>& stripes() const { return shared_->stripes; }
  PageTables& page_tables() { return page_tables_; }
  // Only where stripes are kept, too (cache_bytes); else null.
  KnownManifests* manifests() { return options_.cache_bytes > 0 ? &manifests_ : nullptr; }
  KnownDirectories& known_directories() { return known_directories_; }
  HedgeBudget& hedges() { return shared_->hedges; }
  KnownSpace& space() { return shared_->space; }
  // Which members may get new archives, as far as is known now.
  KnownSpace::Room Room() const { return shared_->space.RoomOf(descriptor_, executor_.Now()); }
  // What this process has still to remove; gateways do (TidyGivenUpFiles).
  GivenUpFiles& given_up_files() { return given_up_files_; }
  // What is to be cleaned out of turn; gateways do (CleanCrowded).
  CrowdedNames& crowded_names() { return crowded_names_; }
  // Where uploads are noted; null: nowhere. Set once, before the first upload, if at all.
  void SetUploadNotes(std::shared_ptr<UploadNotes> notes) { shared_->upload_notes = std::move(notes); }
  const std::shared_ptr<UploadNotes>& upload_notes() const { return shared_->upload_notes; }
  // By the list before, with which operations may still be under way; null: this is the first.
  Engine* before() const { return before_; }

  size_t server_count() const { return servers_.size(); }
  // A server that answers kUnavailable to everything stands in for a missing member.
  const DataServerPtr& server(MemberIndex member) const { return servers_[member]; }
  const std::string& server_id(MemberIndex member) const { return descriptor_.members[member].id; }
  std::optional<MemberIndex> FindMember(std::string_view id) const;

  xec::Homes Homes(const ObjectPath& path) const { return home_finder_.Of(path.Last()); }
  size_t HomeQuorum(const ObjectPath& path) const { return home_finder_.QuorumOf(path.Last()); }
  // How many homes of any name may be bad.
  size_t LateHomesMax() const { return home_finder_.late_max(); }
  // How many servers may be silent before a committed name could be missed: every name has been accepted by a
  // quorum of its homes, so one of them is heard.
  size_t SilentServersMax() const { return home_finder_.silent_max(); }
  // What is known about the servers, and the prober of those that are not well. All requests through server()
  // feed it.
  const ServerHealth& health() const { return *health_; }
  HealthMonitor& monitor() const { return *monitor_; }
  // The members in the order in which to ask them: as given, but those that are not well last. Has these
  // probed.
  std::vector<MemberIndex> ByHealth(std::vector<MemberIndex> members) const;
  // ServerHealth::Rank now, or that of a suspect for a member in maintenance; has a server that is not well
  // probed.
  int Rank(MemberIndex member) const;
  bool InMaintenance(MemberIndex member) const { return executor_.Now() < maintained_until_[member]; }
  // After which time a read of so many bytes is late.
  Duration ReadPatience(MemberIndex member, uint64_t bytes) const;
  // All members, in that order.
  std::vector<MemberIndex> AllByHealth() const;

  // Whether the members are still those of the descriptor; the opener of the store keeps it up to date. Each
  // listing of a home asks it after the answer has come, so no decision outlives it.
  MemberList& member_list() { return member_list_; }
  Status MembersInForce() const { return member_list_.InForce(executor_.Now()); }

  bool SyncBeforeCommit() const { return descriptor_.sync == SyncPolicy::kCommit; }

  CallContext MetadataCall() const { return Until(options_.metadata_timeout); }
  CallContext ReadCall() const { return Until(options_.read_timeout); }
  CallContext WriteCall() const { return Until(options_.write_timeout); }

  // A version above `above` and everything before; see HybridClock.
  Result<Version> NextVersion(const std::optional<Version>& above);
  std::string NewObjectId();  // kObjectIdBytes hex digits
  std::string NewNonce();  // 8 hex digits
  uint64_t RandomBelow(uint64_t bound);  // uniform in [0, bound); bound > 0

 private:
  CallContext Until(Duration timeout) const { return {&executor_, executor_.Now() + timeout}; }

  // What engines that follow each other have in common.
  struct Shared {
    Shared(Executor& executor, const EngineOptions& options, uint64_t seed);

    ByteBudget budget;
    ByteBudget long_headers;
    const std::shared_ptr<SliceCache> stripes;
    HedgeBudget hedges;
    KnownSpace space;
    std::shared_ptr<UploadNotes> upload_notes;
    Mutex random_mutex;
    Random random XEC_GUARDED_BY(random_mutex);
    HybridClock clock;
  };
  Engine(std::shared_ptr<Shared> shared, StoreDescriptor descriptor, std::vector<DataServerPtr> servers,
         Executor& executor, TaskScope& scope, EngineOptions options);

  const std::shared_ptr<Shared> shared_;
  Engine* before_ = nullptr;
  const StoreDescriptor descriptor_;
  const HomeFinder home_finder_;
  const EngineOptions options_;
  std::vector<DataServerPtr> servers_;
  std::vector<TimePoint> maintained_until_;
  Executor& executor_;
  TaskScope& scope_;
  const std::shared_ptr<ServerHealth> health_;
  const std::shared_ptr<HealthMonitor> monitor_;
  PageTables page_tables_;
  KnownManifests manifests_;
  KnownDirectories known_directories_;
  GivenUpFiles given_up_files_;
  CrowdedNames crowded_names_;
  MemberList member_list_;
};

}  // namespace xec
