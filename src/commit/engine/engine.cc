// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/engine.hh"

#include <algorithm>
#include <numeric>

#include "base/text.hh"
#include "server/health/health_server.hh"
#include "server/kinds/missing_server.hh"

namespace xec {

Engine::Shared::Shared(Executor& executor, const EngineOptions& options, uint64_t seed)
    : budget(options.memory_bytes, executor),
      long_headers(kLongHeaderBytesMax, executor),
      stripes(SliceCache::Make(budget, executor, options.cache_bytes)),
      hedges(options.hedge_percent),
      space(options.reserve),
      random(seed),
      clock(static_cast<uint32_t>(Mix64(seed))) {}

Engine::Engine(StoreDescriptor descriptor, std::vector<DataServerPtr> servers, Executor& executor,
               TaskScope& scope, uint64_t seed, EngineOptions options)
    : Engine(std::make_shared<Shared>(executor, options, seed), std::move(descriptor), std::move(servers),
             executor, scope, options) {}

Engine::Engine(Engine& before, StoreDescriptor descriptor, std::vector<DataServerPtr> servers)
    : Engine(before.shared_, std::move(descriptor), std::move(servers), before.executor_, before.scope_,
             before.options_) {
  before_ = &before;
}

Engine::Engine(std::shared_ptr<Shared> shared, StoreDescriptor descriptor, std::vector<DataServerPtr> servers,
               Executor& executor, TaskScope& scope, EngineOptions options)
    : shared_(std::move(shared)),
      descriptor_(std::move(descriptor)),
      home_finder_(descriptor_),
      options_(options),
      servers_(std::move(servers)),
      executor_(executor),
      scope_(scope),
      health_(std::make_shared<ServerHealth>(servers_.size(), options.health)),
      monitor_(std::make_shared<HealthMonitor>(health_, executor, options.probes)) {
  XEC_CHECK(servers_.size() == descriptor_.members.size());
  const int64_t now_ms = executor.WallNow();
  for (const Member& member : descriptor_.members) {
    const auto until_ms = static_cast<int64_t>(member.maintenance_until_s) * 1000;
    const std::chrono::milliseconds left(std::max<int64_t>(0, until_ms - now_ms));
    maintained_until_.push_back(executor.Now() + std::min<Duration>(left, kMaintenanceMax));
  }
  std::vector<DataServerPtr> probed;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i]) servers_[i] = MakeMissingServer(descriptor_.members[i].id, executor_);
    // Requests in flight may outlive the engine.
    const auto on_trouble = [monitor = std::weak_ptr(monitor_), i] {
      if (const auto watching = monitor.lock()) watching->Watch(i);
    };
    probed.push_back(std::make_shared<HealthServer>(servers_[i], health_, i, executor_));
    servers_[i] = std::make_shared<HealthServer>(std::move(servers_[i]), health_, i, executor_, on_trouble);
  }
  monitor_->SetServers(std::move(probed));
}

Engine::~Engine() { monitor_->Stop(); }

int Engine::Rank(MemberIndex member) const {
  const int rank = health_->Rank(member, executor_.Now());
  if (rank >= ServerHealth::kRankUntrusted) monitor_->Watch(member);
  return InMaintenance(member) ? std::max(rank, ServerHealth::kRankSuspect) : rank;
}

Duration Engine::ReadPatience(MemberIndex member, uint64_t bytes) const {
  const auto times = static_cast<Duration::rep>(std::max<uint64_t>(1, bytes / kReadBytesMax));
  return std::min(health_->Patience(member, ReadKindOf(bytes)), options_.hedge_delay * times);
}

std::vector<MemberIndex> Engine::ByHealth(std::vector<MemberIndex> members) const {
  std::vector<std::pair<int, MemberIndex>> ranked;
  ranked.reserve(members.size());
  bool all_well = true;
  for (const MemberIndex member : members) {
    const int rank = Rank(member);
    all_well = all_well && rank == 0;
    ranked.emplace_back(rank, member);
  }
  if (all_well) return members;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < members.size(); ++i) members[i] = ranked[i].second;
  return members;
}

std::vector<MemberIndex> Engine::AllByHealth() const {
  std::vector<MemberIndex> members(servers_.size());
  std::iota(members.begin(), members.end(), MemberIndex{0});
  return ByHealth(std::move(members));
}

std::optional<MemberIndex> Engine::FindMember(std::string_view id) const {
  for (size_t i = 0; i < descriptor_.members.size(); ++i) {
    if (descriptor_.members[i].id == id) return static_cast<MemberIndex>(i);
  }
  return std::nullopt;
}

Result<Version> Engine::NextVersion(const std::optional<Version>& above) {
  return shared_->clock.Next(executor_.WallNow(), above);
}

std::string Engine::NewObjectId() {
  MutexLock lock(shared_->random_mutex);
  const uint64_t high = shared_->random.Next();
  const uint64_t low = shared_->random.Next();
  return Hex(high, 16) + Hex(low & 0xffffffff, 8);
}

std::string Engine::NewNonce() {
  MutexLock lock(shared_->random_mutex);
  return Hex(shared_->random.Next() & 0xffffffff, 8);
}

uint64_t Engine::RandomBelow(uint64_t bound) {
  MutexLock lock(shared_->random_mutex);
  return shared_->random.Below(bound);
}

}  // namespace xec
