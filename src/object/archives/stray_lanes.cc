// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/stray_lanes.hh"

#include <algorithm>

#include "commit/engine/server_gather.hh"
#include "object/layout.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

using Holding = OpenArchives::Holding;
using ByLane = std::map<uint32_t, MemberIndex>;

// Tags of servers that the manifest names.
constexpr size_t kNamed = kMembersOfStoreMax;

// The search begins again after this time, if a chunk is missed then; if nothing new was found, after twice
// the time, and so on.
constexpr Duration kSearchAgainAfter = std::chrono::seconds(2);
constexpr Duration kSearchPauseMax = std::chrono::seconds(8);

// The lane of an archive; nullopt: it has none, or one that its version does not have.
std::optional<uint32_t> LaneOf(const Archive& archive, const Manifest& manifest) {
  const Manifest& told = archive.manifest();
  if (told.kind != ManifestKind::kObject || !told.lane || *told.lane >= manifest.geometry.Total())
    return std::nullopt;
  return *told.lane;
}

bool IsNamed(const Engine& engine, const Manifest& manifest, uint32_t lane, MemberIndex server) {
  return lane < manifest.servers.size() && manifest.servers[lane] == engine.server_id(server);
}

// The server with the best of the archives that are open, by lane.
ByLane BestOpen(const Engine& engine, const Manifest& manifest, const std::vector<Holding>& holdings) {
  ByLane best;
  // Undamaged archives come first, and of these the one in place.
  for (const bool corrupt : {false, true}) {
    for (const bool in_place : {true, false}) {
      for (const Holding& holding : holdings) {
        if (!holding.archive || holding.corrupt != corrupt) continue;
        const std::optional<uint32_t> lane = LaneOf(*holding.archive, manifest);
        if (lane && IsNamed(engine, manifest, *lane, holding.server) == in_place)
          best.emplace(*lane, holding.server);
      }
    }
  }
  return best;
}

// Lanes that are open, but not where the manifest has them.
ByLane Elsewhere(const Engine& engine, const Manifest& manifest, const ByLane& best) {
  ByLane elsewhere;
  for (const auto& [lane, server] : best) {
    if (!IsNamed(engine, manifest, lane, server)) elsewhere.emplace(lane, server);
  }
  return elsewhere;
}

// Is a lane that has an archive open nowhere?
bool LacksAny(const Manifest& manifest, const ByLane& best) {
  const std::vector<uint32_t> lanes = LanesWithMembers(manifest.Stripes());
  return std::any_of(lanes.begin(), lanes.end(), [&](uint32_t lane) { return !best.contains(lane); });
}

// null: it has not answered.
const Holding* HoldingOf(const std::vector<Holding>& holdings, MemberIndex server) {
  const auto found = std::find_if(holdings.begin(), holdings.end(),
                                  [&](const Holding& holding) { return holding.server == server; });
  return found == holdings.end() ? nullptr : &*found;
}

}  // namespace

StrayLanes::StrayLanes(OpenVersionPtr version, std::shared_ptr<const ArchiveSource> source,
                       std::shared_ptr<OpenArchives> archives)
    : version_(std::move(version)), source_(std::move(source)), archives_(std::move(archives)) {}

std::optional<MemberIndex> StrayLanes::Find(uint32_t lane) const {
  MutexLock lock(mutex_);
  const auto stray = strays_.find(lane);
  return stray == strays_.end() ? std::nullopt : std::optional(stray->second);
}

std::vector<std::pair<uint32_t, MemberIndex>> StrayLanes::CorruptBeside() const {
  const std::shared_ptr<const Manifest> manifest = archives_->manifest();
  std::vector<std::pair<uint32_t, MemberIndex>> beside;
  if (!manifest) return beside;
  const std::vector<Holding> holdings = archives_->Holdings();
  const ByLane best = BestOpen(version_->engine, *manifest, holdings);
  for (const Holding& holding : holdings) {
    if (!holding.archive || !holding.corrupt) continue;
    const std::optional<uint32_t> lane = LaneOf(*holding.archive, *manifest);
    if (lane && !HoldingOf(holdings, best.at(*lane))->corrupt) beside.emplace_back(*lane, holding.server);
  }
  return beside;
}

std::vector<uint32_t> StrayLanes::Lacking(const Manifest& manifest) const {
  const Engine& engine = version_->engine;
  const std::vector<Holding> holdings = archives_->Holdings();
  const ByLane best = BestOpen(engine, manifest, holdings);
  const auto is_lacking = [&](uint32_t lane) {
    const auto open = best.find(lane);
    if (open != best.end()) return HoldingOf(holdings, open->second)->corrupt;
    if (lane >= manifest.servers.size()) return true;
    const std::optional<MemberIndex> named = engine.FindMember(manifest.servers[lane]);
    return !named || HoldingOf(holdings, *named) != nullptr || archives_->HasFailed(*named);
  };
  std::vector<uint32_t> lacking = LanesWithMembers(manifest.Stripes());
  std::erase_if(lacking, [&](uint32_t lane) { return !is_lacking(lane); });
  return lacking;
}

void StrayLanes::ReportLost(const Manifest& manifest, const std::vector<Holding>& holdings,
                            const ByLane& elsewhere) const {
  for (const uint32_t lane : LanesWithMembers(manifest.Stripes())) {
    if (elsewhere.contains(lane)) continue;
    const std::string named = lane < manifest.servers.size() ? manifest.servers[lane] : "";
    if (named.empty()) return version_->ReportDamage(fmt::format("archive {} was never written", lane));
    const std::optional<MemberIndex> server = version_->engine.FindMember(named);
    const Holding* holding = server ? HoldingOf(holdings, *server) : nullptr;
    if (holding == nullptr) continue;
    // The archive that is open there may be of another lane, or of none.
    const bool in_place = holding->archive && LaneOf(*holding->archive, manifest) == lane;
    if (!in_place) return version_->ReportDamage(fmt::format("archive {} is not on {}", lane, named));
  }
}

void StrayLanes::UseFound(const Manifest& manifest) {
  const std::vector<Holding> holdings = archives_->Holdings();
  const ByLane elsewhere =
      Elsewhere(version_->engine, manifest, BestOpen(version_->engine, manifest, holdings));
  MutexLock lock(mutex_);
  bool changed = false;
  for (const auto& [lane, server] : elsewhere) {
    const auto [entry, is_new] = strays_.emplace(lane, server);
    // The archive that was found before may be gone, or its server silent.
    const Holding* before = HoldingOf(holdings, entry->second);
    const bool moved = entry->second != server && (before == nullptr || !before->archive);
    if (moved) entry->second = server;
    changed = changed || is_new || moved;
  }
  if (changed) ++changes_;
}

bool StrayLanes::IsDue(TimePoint now) const {
  return !searched_ || heard_enough_ || archives_->times_corrupt() != corrupt_known_ || now >= again_;
}

bool StrayLanes::LastIsComplete() const { return known_ && source_->changes() == places_known_; }

Task<void> StrayLanes::SearchFor(Self self) {
  const bool ready = self->archives_->manifest() != nullptr;
  while (true) {
    OneShot<Heard> shared;
    bool wait = false;
    {
      MutexLock lock(self->mutex_);
      wait = self->searching_;
      if (!wait && !(ready && self->IsDue(self->version_->engine.executor().Now()))) co_return;
      if (wait) self->waiters_.emplace_back(shared.Setter());
      self->searching_ = true;
    }
    if (!wait) break;
    const Heard heard = co_await shared;
    if (heard != Heard::kEnough) co_return;
  }
  co_await SearchNow(self, true);
}

Task<void> StrayLanes::SearchNow(Self self, bool ask_all) {
  Engine& engine = self->version_->engine;
  const std::shared_ptr<OpenArchives> archives = self->archives_;
  const std::shared_ptr<const Manifest> manifest = archives->manifest();
  const uint64_t changes = self->source_->changes();
  {
    MutexLock lock(self->mutex_);
    self->corrupt_known_ = archives->times_corrupt();
    ask_all = ask_all || self->heard_enough_;
  }
  const ByLane before = BestOpen(engine, *manifest, archives->Holdings());
  bool enough = false;
  if (!ask_all) enough = co_await AskFirst(self, manifest);
  if (enough) {
    self->End(*manifest, before, Heard::kEnough, changes);
    co_return;
  }
  std::vector<size_t> tags;
  for (const MemberIndex server : self->source_->Spares(*manifest)) tags.push_back(server);
  // A server that lost its archive for good may have got another lane since.
  for (const std::string& id : manifest->servers) {
    const std::optional<MemberIndex> named = engine.FindMember(id);
    if (named) tags.push_back(kNamed + *named);
  }
  bool all_answered = co_await Ask(self, manifest, std::move(tags));
  if (LacksAny(*manifest, BestOpen(engine, *manifest, archives->Holdings()))) {
    const std::vector<MemberIndex> last = self->source_->SparesLast(*manifest);
    const bool others_answered = co_await Ask(self, manifest, {last.begin(), last.end()});
    all_answered = all_answered && others_answered;
  }
  self->End(*manifest, before, all_answered ? Heard::kAll : Heard::kNotAll, changes);
}

Task<bool> StrayLanes::LoadIfListed(Self self, MemberIndex server) {
  const bool listed = co_await self->source_->IsListed(server);
  if (!listed) co_return false;
  const Result<LoadedArchive> loaded = co_await self->archives_->Load(server);
  co_return loaded.has_value();
}

// That a server lists nothing does not count as its answer: the version may just be moving to another name.
// Finding that out takes further requests, which are worth it only if this was no use.
Task<bool> StrayLanes::AskFirst(Self self, std::shared_ptr<const Manifest> manifest) {
  Engine& engine = self->version_->engine;
  const std::vector<uint32_t> lacking = self->Lacking(*manifest);
  const std::vector<MemberIndex> spares = self->source_->SparesFirst(*manifest);
  // Where there are no others, asking these first saves nothing.
  const bool are_all = spares.size() >= self->source_->Spares(*manifest).size();
  if (lacking.empty() || are_all) co_return false;
  ServerGather<bool> gather(engine);
  for (const MemberIndex spare : spares)
    gather.Start(spare, spare, PatienceToOpen(engine, spare), LoadIfListed(self, spare));
  while (gather.timely() > 0) {
    const ServerGather<bool>::Event event = co_await gather.Next();
    if (!event.value.value_or(false)) continue;
    self->UseFound(*manifest);
    if (self->Lacking(*manifest).empty()) co_return true;
  }
  co_return false;
}

Task<bool> StrayLanes::Ask(Self self, std::shared_ptr<const Manifest> manifest, std::vector<size_t> tags) {
  Engine& engine = self->version_->engine;
  Gather<Result<LoadedArchive>> gather(engine.scope(), engine.executor());
  for (const size_t tag : tags)
    gather.Start(tag, self->archives_->Load(static_cast<MemberIndex>(tag < kNamed ? tag : tag - kNamed)));
  bool all_answered = true;
  while (gather.pending() > 0) {
    const Gather<Result<LoadedArchive>>::Event event = co_await gather.Next();
    const bool silent = !event.value->has_value() && AbsenceOf(event.value->code()) == Absence::kUnavailable;
    if (silent && event.tag < kNamed) all_answered = false;
    self->UseFound(*manifest);
  }
  co_return all_answered;
}

void StrayLanes::End(const Manifest& manifest, const ByLane& before, Heard heard, uint64_t changes) {
  const Engine& engine = version_->engine;
  const std::vector<Holding> holdings = archives_->Holdings();
  const ByLane best = BestOpen(engine, manifest, holdings);
  const bool more =
      std::any_of(best.begin(), best.end(), [&](const auto& lane) { return !before.contains(lane.first); });
  ByLane found = Elsewhere(engine, manifest, best);
  const bool known = heard == Heard::kAll && source_->changes() == changes;
  if (known) ReportLost(manifest, holdings, found);
  std::vector<UniqueFunction<void(Heard)>> waiters;
  {
    MutexLock lock(mutex_);
    // A server that is silent now may still have what was found there.
    for (const auto& [lane, server] : strays_) {
      if (!best.contains(lane) && HoldingOf(holdings, server) == nullptr) found.emplace(lane, server);
    }
    const bool changed = more || found != strays_;
    if (changed) ++changes_;
    pause_ = changed ? kSearchAgainAfter : std::clamp(2 * pause_, kSearchAgainAfter, kSearchPauseMax);
    strays_ = std::move(found);
    searching_ = false;
    searched_ = true;
    heard_enough_ = heard == Heard::kEnough;
    known_ = known;
    places_known_ = changes;
    again_ = engine.executor().Now() + pause_;
    waiters.swap(waiters_);
  }
  for (UniqueFunction<void(Heard)>& waiter : waiters) waiter(heard);
}

void StrayLanes::StartSearch() {
  const TimePoint now = version_->engine.executor().Now();
  const std::shared_ptr<const Manifest> manifest = archives_->manifest();
  const bool lacks = manifest && !Lacking(*manifest).empty();
  {
    MutexLock lock(mutex_);
    const bool over = searched_ && archives_->times_corrupt() == corrupt_known_ &&
                      (LastIsComplete() || now < again_) && !(heard_enough_ && lacks);
    if (over || searching_ || !manifest) return;
    searching_ = true;
  }
  version_->engine.scope().Spawn(SearchNow(shared_from_this(), false));
}

TimePoint StrayLanes::SearchOn() {
  const TimePoint now = version_->engine.executor().Now();
  const bool ready = archives_->manifest() != nullptr;
  {
    MutexLock lock(mutex_);
    if (searching_) return now + kLookAgain;
    if (!ready) return TimePoint::max();
    if (!IsDue(now)) return again_;
    searching_ = true;
  }
  version_->engine.scope().Spawn(SearchNow(shared_from_this(), false));
  return now + kLookAgain;
}

bool StrayLanes::searching() const {
  MutexLock lock(mutex_);
  return searching_;
}

bool StrayLanes::known() const {
  if (source_->MayHaveOtherPlaces()) return false;
  MutexLock lock(mutex_);
  return LastIsComplete();
}

uint64_t StrayLanes::changes() const { return changes_ + source_->changes() + archives_->times_reopened(); }

}  // namespace xec
