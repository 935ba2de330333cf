// SPDX-License-Identifier: LGPL-3.0-or-later
// Engine: what every operation of one store works with: the servers, the clock, randomness, the budget and
// the bounds. One for each gateway process (and for each simulated gateway). All of it is thread-safe; it
// outlives every operation.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "archive/page_tables.hh"
#include "base/random.hh"
#include "commit/given_up_files.hh"
#include "commit/known_directories.hh"
#include "commit/known_manifests.hh"
#include "placement/homes.hh"
#include "placement/store_descriptor.hh"
#include "protocol/hybrid_clock.hh"
#include "protocol/member_list.hh"
#include "protocol/object_path.hh"
#include "runtime/byte_budget.hh"
#include "runtime/hedge_budget.hh"
#include "runtime/slice_cache.hh"
#include "server/calls.hh"
#include "server/health_monitor.hh"

namespace xec {

// Every bound of the engine with its default; docs/configuration.md names the directives.
struct EngineOptions {
  Duration metadata_timeout = std::chrono::seconds(10);    // of one listing, rename, removal, small file
  Duration read_timeout = std::chrono::seconds(60);        // of one read of chunk data
  Duration write_timeout = std::chrono::seconds(1800);     // of one write of chunk data, sync or close
  // A chunk of up to kReadBytesMax is late after its server's patience, and after this at the latest; larger
  // ones after as many times of it, and all of them later while everybody is behind (FleetLag). Then others
  // are asked in its place.
  Duration hedge_delay = std::chrono::milliseconds(200);
  uint32_t hedge_percent = 5;  // so many requests more for chunks that are merely late (hedge_budget.hh)
  // An upload gives a server up for a spare when it is at least this much later than the others.
  Duration failover_delay = std::chrono::seconds(1);
  uint64_t memory_bytes = kGiB;  // the one budget for payload (promise P7)
  // Of it at most so many for stripes that were read and may be wanted again (slice_cache.hh). What is read
  // from there tells nothing about the servers: damage of what everybody reads stays unseen for longer.
  uint64_t cache_bytes = 0;
  size_t stripes_in_flight = 3;  // of one writer or sequential reader
  int retries_max = 4;  // restarts of one operation overtaken by others
  // How long a version that was replaced or removed stays readable to who has it open.
  Duration superseded_grace = std::chrono::minutes(5);
  // How long an upload may be silent before the cleaner gives it up.
  Duration upload_grace = std::chrono::hours(1);
  // How long a tombstone outlives its removal; far above operation_limit.
  Duration tombstone_horizon = std::chrono::minutes(15);
  // A remove, rename, promotion or exclusive creation that has taken longer since it chose its version gives
  // up (by its own monotonic clock), so that what it sends cannot meet a collected tombstone.
  Duration operation_limit = std::chrono::minutes(1);
  // How often the store descriptor is read again; after three times as long without it nothing is answered.
  Duration descriptor_interval = std::chrono::seconds(30);
  HealthRules health;  // when a server is suspect, and how long it is waited for
  HealthMonitorOptions probes;  // how servers that are not well are probed
};

class Engine {
 public:
  // `servers[i]` serves member i of the descriptor; null while that member is missing. `scope` runs what
  // outlasts an operation's answer.
  Engine(StoreDescriptor descriptor, std::vector<DataServerPtr> servers, Executor& executor, TaskScope& scope,
         uint64_t seed, EngineOptions options);
  // Ends the probing; what is in flight ends by itself.
  ~Engine();

  const StoreDescriptor& descriptor() const { return descriptor_; }
  const EngineOptions& options() const { return options_; }
  Executor& executor() const { return executor_; }
  TaskScope& scope() const { return scope_; }
  ByteBudget& budget() { return budget_; }
  // Whole stripes, verified, shared by all readers.
  const std::shared_ptr<SliceCache>& stripes() const { return stripes_; }
  PageTables& page_tables() { return page_tables_; }
  // Only where stripes are kept, too (cache_bytes); else null.
  KnownManifests* manifests() { return options_.cache_bytes > 0 ? &manifests_ : nullptr; }
  KnownDirectories& known_directories() { return known_directories_; }
  HedgeBudget& hedges() { return hedges_; }
  // What this process has still to remove; gateways do (TidyGivenUpFiles).
  GivenUpFiles& given_up_files() { return given_up_files_; }

  size_t server_count() const { return servers_.size(); }
  // A server that answers kUnavailable to everything stands in for a missing member.
  const DataServerPtr& server(MemberIndex member) const { return servers_[member]; }
  const std::string& server_id(MemberIndex member) const { return descriptor_.members[member].id; }
  std::optional<MemberIndex> FindMember(std::string_view id) const;

  std::vector<MemberIndex> Homes(const ObjectPath& path) const { return HomesOf(descriptor_, path.Last()); }
  // What is known about the servers, and who probes those that are not well. All requests through server()
  // feed it.
  const ServerHealth& health() const { return *health_; }
  HealthMonitor& monitor() const { return *monitor_; }
  // The members in the order in which to ask them: as given, but those that are not well last. Has these
  // probed.
  std::vector<MemberIndex> ByHealth(std::vector<MemberIndex> members) const;
  // ServerHealth::Rank now; has a server that is not well probed.
  int Rank(MemberIndex member) const;
  // After which time a read of so many bytes is late.
  Duration ReadPatience(MemberIndex member, uint64_t bytes) const;
  // All members, in that order.
  std::vector<MemberIndex> AllByHealth() const;

  // Whether the members are still those of the descriptor; whoever opened the store keeps it up to date. Each
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

  const StoreDescriptor descriptor_;
  const EngineOptions options_;
  std::vector<DataServerPtr> servers_;
  Executor& executor_;
  TaskScope& scope_;
  const std::shared_ptr<ServerHealth> health_;
  const std::shared_ptr<HealthMonitor> monitor_;
  ByteBudget budget_;
  const std::shared_ptr<SliceCache> stripes_;
  PageTables page_tables_;
  KnownManifests manifests_;
  KnownDirectories known_directories_;
  HedgeBudget hedges_;
  GivenUpFiles given_up_files_;
  std::mutex random_mutex_;
  Random random_;  // guarded by random_mutex_
  HybridClock clock_;
  MemberList member_list_;
};

}  // namespace xec
