// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives on servers that the other archives do not name: re-created after those were written.
#include <algorithm>

#include "base/contains.hh"
#include "commit/server_gather.hh"
#include "object/archive_set.hh"
#include "object/spares.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Tags of servers that the manifest names.
constexpr size_t kNamed = kMembersOfStoreMax;

// It is searched again after this time, when a chunk is missed then; after twice the time when nothing new
// was found, and so on.
constexpr Duration kSearchAgainAfter = std::chrono::seconds(2);
constexpr Duration kSearchPauseMax = std::chrono::seconds(8);
// An archive in which damage was found may have been repaired so long after it was opened.
constexpr Duration kReopenAfter = std::chrono::seconds(2);

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

}  // namespace

std::vector<MemberIndex> ArchiveSet::StrayCandidates(const Manifest& manifest) const {
  return SparesSearched(engine_, info_.path, manifest);
}

std::map<uint32_t, MemberIndex> ArchiveSet::BestOpen(const Manifest& manifest) const {
  const std::vector<ArchivePtr> open = Open();
  std::map<uint32_t, MemberIndex> best;
  std::lock_guard lock(mutex_);
  // Undamaged ones first, and of these the one in place.
  for (const bool corrupt : {false, true}) {
    for (const bool in_place : {true, false}) {
      for (const ArchivePtr& archive : open) {
        const std::optional<uint32_t> lane = LaneOf(*archive, manifest);
        if (!lane || corrupt_.contains(archive->server()) != corrupt) continue;
        if (IsNamed(engine_, manifest, *lane, archive->server()) == in_place)
          best.emplace(*lane, archive->server());
      }
    }
  }
  return best;
}

std::vector<std::pair<uint32_t, MemberIndex>> ArchiveSet::CorruptBeside() const {
  std::shared_ptr<const Manifest> manifest;
  {
    std::lock_guard lock(mutex_);
    manifest = manifest_;
  }
  std::vector<std::pair<uint32_t, MemberIndex>> beside;
  if (!manifest) return beside;
  const std::map<uint32_t, MemberIndex> best = BestOpen(*manifest);
  for (const ArchivePtr& archive : Open()) {
    const std::optional<uint32_t> lane = LaneOf(*archive, *manifest);
    if (!lane) continue;
    const auto chosen = best.find(*lane);
    std::lock_guard lock(mutex_);
    if (chosen != best.end() && corrupt_.contains(archive->server()) && !corrupt_.contains(chosen->second))
      beside.emplace_back(*lane, archive->server());
  }
  return beside;
}

void ArchiveSet::NoteCorrupt(const ArchivePtr& archive, std::string problem) {
  {
    std::lock_guard lock(mutex_);
    // One that was opened anew since is another one.
    if (slots_[archive->server()].archive != archive) return;
    if (corrupt_.insert(archive->server()).second) corrupt_noted_ = true;
  }
  ReportDamage(std::move(problem));
}

Task<bool> ArchiveSet::Reopen(std::shared_ptr<ArchiveSet> self, MemberIndex server) {
  Result<Loaded> loaded = co_await self->OpenAndRead(server);
  if (!loaded) co_return false;
  ArchivePtr stale = loaded->archive;
  bool replaced = false;
  {
    std::lock_guard lock(self->mutex_);
    Slot& slot = self->slots_[server];
    // A witness in its place tells that the lane is elsewhere, and has nothing itself.
    replaced = slot.state == Slot::kOpen && slot.archive->manifest().kind == stale->manifest().kind;
    if (replaced) {
      std::swap(slot.archive, stale);
      slot.loaded_at = self->engine_.executor().Now();
      ++self->stray_changes_;
    }
  }
  self->CloseLater(stale->file());
  co_return replaced;
}

Task<bool> ArchiveSet::ReopenCorrupt(std::shared_ptr<ArchiveSet> self) {
  std::vector<MemberIndex> servers;
  {
    std::lock_guard lock(self->mutex_);
    const TimePoint long_ago = self->engine_.executor().Now() - kReopenAfter;
    for (const MemberIndex server : self->corrupt_) {
      const Slot& slot = self->slots_[server];
      if (slot.state == Slot::kOpen && slot.loaded_at <= long_ago) servers.push_back(server);
    }
  }
  ServerGather<bool> gather(self->engine_);
  for (const MemberIndex server : servers) gather.Start(server, Reopen(self, server));
  bool any = false;
  while (gather.timely() > 0) {
    const ServerGather<bool>::Event event = co_await gather.Next();
    any = any || event.value.value_or(false);
  }
  co_return any;
}

void ArchiveSet::ReportDamage(std::string problem) const {
  if (!damage_) return;
  damage_->Report(info_.path, info_.accepted.version, std::move(problem), engine_.executor().Now());
}

bool ArchiveSet::NamedServerHasNothing() const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& known) {
    const Slot& slot = known.second;
    if (slot.state != Slot::kFailed || slot.error->code != Code::kNotFound) return false;
    const std::string& id = engine_.server_id(known.first);
    return Contains(manifest_->servers, id);
  });
}

bool ArchiveSet::ShowsNoLane(MemberIndex server) const {
  std::lock_guard lock(mutex_);
  return HasNoLane(server);
}

bool ArchiveSet::HasNoLane(MemberIndex server) const {
  const auto slot = slots_.find(server);
  if (slot == slots_.end()) return false;
  // What is open there is of another lane, or of none.
  return slot->second.state == Slot::kOpen ||
         (slot->second.state == Slot::kFailed && slot->second.error->code == Code::kNotFound);
}

void ArchiveSet::ReportLost(const Manifest& manifest,
                            const std::map<uint32_t, MemberIndex>& elsewhere) const {
  const std::vector<ArchivePtr> open = Open();
  for (uint32_t lane = 0; lane < manifest.geometry.Total(); ++lane) {
    // If any stripe has bytes in this lane, the first one has.
    const uint32_t chunk = ChunkOfLane(0, lane, manifest.geometry.Total());
    if (manifest.geometry.ChunkBytes(manifest.size_bytes, 0, chunk) == 0 || elsewhere.contains(lane))
      continue;
    const std::string named = lane < manifest.servers.size() ? manifest.servers[lane] : "";
    if (named.empty()) return ReportDamage(fmt::format("archive {} was never written", lane));
    const std::optional<MemberIndex> server = engine_.FindMember(named);
    const bool in_place = std::any_of(open.begin(), open.end(), [&](const ArchivePtr& archive) {
      return server && archive->server() == *server && LaneOf(*archive, manifest) == lane;
    });
    if (!server || in_place || !ShowsNoLane(*server)) continue;
    return ReportDamage(fmt::format("archive {} is not on {}", lane, named));
  }
}

std::map<uint32_t, MemberIndex> ArchiveSet::Elsewhere(const Manifest& manifest,
                                                      const std::map<uint32_t, MemberIndex>& best) const {
  std::map<uint32_t, MemberIndex> elsewhere;
  for (const auto& [lane, server] : best) {
    if (!IsNamed(engine_, manifest, lane, server)) elsewhere.emplace(lane, server);
  }
  return elsewhere;
}

void ArchiveSet::UseStrays(const Manifest& manifest) {
  const std::map<uint32_t, MemberIndex> elsewhere = Elsewhere(manifest, BestOpen(manifest));
  std::lock_guard lock(mutex_);
  bool changed = false;
  for (const auto& [lane, server] : elsewhere) {
    const auto [entry, is_new] = strays_.emplace(lane, server);
    // Where it was found before it may be gone, or its server silent.
    const bool moved = entry->second != server && slots_[entry->second].state != Slot::kOpen;
    if (moved) entry->second = server;
    changed = changed || is_new || moved;
  }
  if (changed) ++stray_changes_;
}

bool ArchiveSet::SearchIsDue(TimePoint now) const {
  return manifest_ && (!strays_searched_ || corrupt_noted_ || now >= strays_again_);
}

Task<void> ArchiveSet::FindStrays(std::shared_ptr<ArchiveSet> self) {
  OneShot<bool> shared;
  bool wait = false;
  {
    std::lock_guard lock(self->mutex_);
    wait = self->strays_searching_;
    if (!wait && !self->SearchIsDue(self->engine_.executor().Now())) co_return;
    if (wait) self->stray_waiters_.emplace_back(shared.Setter());
    self->strays_searching_ = true;
  }
  if (wait) {
    co_await shared;
    co_return;
  }
  co_await SearchStrays(self);
}

Task<void> ArchiveSet::SearchStrays(std::shared_ptr<ArchiveSet> self) {
  std::shared_ptr<const Manifest> manifest;
  uint64_t changes = 0;
  {
    std::lock_guard lock(self->mutex_);
    manifest = self->manifest_;
    changes = self->place_changes_;
    self->corrupt_noted_ = false;
  }
  const std::map<uint32_t, MemberIndex> before = self->BestOpen(*manifest);
  const std::vector<MemberIndex> candidates = self->StrayCandidates(*manifest);
  Gather<Result<Loaded>> gather(self->engine_.scope(), self->engine_.executor());
  for (const MemberIndex server : candidates) gather.Start(server, Load(self, server));
  // One that lost its archive for good may have got another lane since.
  for (const std::string& id : manifest->servers) {
    const std::optional<MemberIndex> named = self->engine_.FindMember(id);
    if (named) gather.Start(kNamed + *named, Load(self, *named));
  }
  bool known = true;
  while (gather.pending() > 0) {
    const Gather<Result<Loaded>>::Event event = co_await gather.Next();
    const bool silent = !event.value->has_value() && AbsenceOf(event.value->code()) == Absence::kUnavailable;
    if (silent && event.tag < kNamed) known = false;
    self->UseStrays(*manifest);
  }
  const std::map<uint32_t, MemberIndex> best = self->BestOpen(*manifest);
  const bool more =
      std::any_of(best.begin(), best.end(), [&](const auto& lane) { return !before.contains(lane.first); });
  std::map<uint32_t, MemberIndex> found = self->Elsewhere(*manifest, best);
  known = known && self->PlaceChanges() == changes;
  if (known) self->ReportLost(*manifest, found);
  std::vector<UniqueFunction<void(bool)>> waiters;
  {
    std::lock_guard lock(self->mutex_);
    known = known && self->place_changes_ == changes;
    // Who is silent now may still have what was found there.
    for (const auto& [lane, server] : self->strays_) {
      if (!best.contains(lane) && !self->HasNoLane(server)) found.emplace(lane, server);
    }
    const bool changed = more || found != self->strays_;
    if (changed) ++self->stray_changes_;
    self->search_pause_ =
        changed ? kSearchAgainAfter : std::clamp(2 * self->search_pause_, kSearchAgainAfter, kSearchPauseMax);
    self->strays_ = std::move(found);
    self->strays_searching_ = false;
    self->strays_searched_ = true;
    self->strays_known_ = known;
    self->strays_again_ = self->engine_.executor().Now() + self->search_pause_;
    waiters.swap(self->stray_waiters_);
  }
  for (UniqueFunction<void(bool)>& waiter : waiters) waiter(true);
}

void ArchiveSet::StartFindStrays() {
  const TimePoint now = engine_.executor().Now();
  {
    std::lock_guard lock(mutex_);
    const bool over = strays_searched_ && !corrupt_noted_ && (strays_known_ || now < strays_again_);
    if (over || strays_searching_ || !manifest_) return;
    strays_searching_ = true;
  }
  engine_.scope().Spawn(SearchStrays(shared_from_this()));
}

TimePoint ArchiveSet::SearchOn() {
  const TimePoint now = engine_.executor().Now();
  {
    std::lock_guard lock(mutex_);
    if (strays_searching_) return now + kLookAgain;
    if (!SearchIsDue(now)) return manifest_ ? strays_again_ : TimePoint::max();
    strays_searching_ = true;
  }
  engine_.scope().Spawn(SearchStrays(shared_from_this()));
  return now + kLookAgain;
}

bool ArchiveSet::StraysSearching() const {
  std::lock_guard lock(mutex_);
  return strays_searching_;
}

bool ArchiveSet::StraysKnown() const {
  if (MayHaveOtherPlaces()) return false;
  std::lock_guard lock(mutex_);
  return strays_known_;
}

Task<Error> ArchiveSet::WhyLost(Error error) {
  const Result<NameInfo> now = co_await LookUp(engine_, info_.path);
  if (!now) {
    co_return Fail(Code::kUnavailable, "cannot tell whether {} was replaced: {} ({})", info_.path.text(),
                   now.error().message, error.message);
  }
  if (now->accepted.version == info_.accepted.version) co_return error;
  co_return Fail(Code::kConflict,
                 "{} was replaced, renamed or removed while it was read, and its old bytes are gone; open it "
                 "again ({})",
                 info_.path.text(), error.message);
}

uint64_t ArchiveSet::StrayChanges() const {
  std::lock_guard lock(mutex_);
  return stray_changes_;
}

}  // namespace xec
