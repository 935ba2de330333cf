// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/archive_places.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/engine/access.hh"
#include "commit/steps/move_record.hh"
#include "object/layout.hh"
#include "object/spares.hh"

namespace xec {
namespace {

// A file can be renamed between being listed and being opened, but not so often in a row.
constexpr int kFindTriesMax = 3;
constexpr int kMoveHopsMax = 16;

constexpr int kWitnessRank = 1;  // tells about the object, has no chunks
constexpr int kArchiveRank = 2;

// Rank of a state as a place of this upload's archive: promoted first; 0: none.
int PlaceRank(const State& state, const std::string& oid) {
  if (state.oid != oid) return 0;
  switch (state.kind) {
    case StateKind::kPromoted: return 4;
    case StateKind::kSealed: return 3;
    case StateKind::kAborted: return kArchiveRank;
    case StateKind::kWitness: return kWitnessRank;
    default: return 0;
  }
}

const State* BestPlace(const States& states, const std::string& oid) {
  const State* best = nullptr;
  for (const State& state : states) {
    const int rank = PlaceRank(state, oid);
    if (rank > (best == nullptr ? 0 : PlaceRank(*best, oid))) best = &state;
  }
  return best;
}

// Error: what the server said.
Task<Result<FoundArchive>> OpenAt(Engine& engine, MemberIndex server, ObjectPath directory, State state) {
  FoundArchive found;
  found.path = ArchivePath(directory, state);
  found.is_witness = state.kind == StateKind::kWitness;
  Result<ArchiveFilePtr> file =
      co_await xec::Open(engine.MetadataCall(), engine.server(server), found.path, OpenMode::kRead);
  if (!file) co_return file.error();
  found.file = std::move(*file);
  co_return std::move(found);
}

}  // namespace

bool ArchivePlaces::MayHaveOtherPlaces() const {
  MutexLock lock(mutex_);
  return places_ && !places_->complete;
}

void ArchivePlaces::Remember(Places places) {
  again_ = version_->engine.executor().Now() + kAskAgainAfter;
  // Servers that told more may be silent now.
  const bool less = places_ && places_->directories.size() > places.directories.size();
  if (less && !places.complete) return;
  const bool others = places_ && places_->directories != places.directories;
  places_ = std::move(places);
  // An archive that was not found may be where nobody has looked.
  if (others) ++changes_;
}

Task<Result<Places>> ArchivePlaces::Look() {
  Engine& engine = version_->engine;
  OneShot<Result<Places>> shared;
  bool wait = false;
  {
    MutexLock lock(mutex_);
    if (places_ && (places_->complete || engine.executor().Now() < again_)) co_return *places_;
    wait = looking_;
    if (wait) waiters_.emplace_back(shared.Setter());
    looking_ = true;
  }
  if (wait) {
    Result<Places> places = co_await shared;
    co_return std::move(places);
  }
  Result<Places> places = co_await PlacesOf(engine, version_->info);
  std::vector<UniqueFunction<void(Result<Places>)>> waiters;
  {
    MutexLock lock(mutex_);
    if (places) Remember(std::move(*places));
    if (!places && places_) again_ = engine.executor().Now() + kAskAgainAfter;
    if (places_) places = *places_;
    looking_ = false;
    waiters.swap(waiters_);
  }
  for (UniqueFunction<void(Result<Places>)>& waiter : waiters) waiter(places);
  co_return std::move(places);
}

// Opens the archive where it should be; else looks where else it could be.
Task<Result<FoundArchive>> ArchivePlaces::Find(MemberIndex server) {
  Engine& engine = version_->engine;
  const NameInfo& info = version_->info;
  const std::string& oid = info.accepted.oid;
  State place = PromotedState(info.accepted.version, oid, info.accepted.size, info.accepted.given);
  const auto listing = info.listings.find(server);
  if (listing != info.listings.end()) {
    if (const State* listed = BestPlace(listing->second, oid)) place = *listed;
  }
  Result<FoundArchive> found = co_await OpenAt(engine, server, info.path, place);
  if (found || found.code() != Code::kNotFound) co_return std::move(found);
  co_return co_await FindMoved(server, kWitnessRank);
}

// While nobody has asked where else archives may be, one at the name itself does not wait for that.
Task<Result<FoundArchive>> ArchivePlaces::FindListed(MemberIndex server) {
  bool known = false;
  {
    MutexLock lock(mutex_);
    known = places_.has_value();
  }
  if (!known) {
    std::vector<ObjectPath> name = {version_->info.path};
    Result<FoundArchive> found = co_await FindIn(server, std::move(name), kWitnessRank);
    if (found || found.code() != Code::kNotFound) co_return std::move(found);
  }
  co_return co_await FindMoved(server, kWitnessRank);
}

Task<Result<FoundArchive>> ArchivePlaces::FindOnSpare(MemberIndex server) {
  Engine& engine = version_->engine;
  const Homes homes = engine.Homes(version_->info.path);
  if (Contains(homes, server)) co_return co_await Find(server);
  Result<FoundArchive> found = co_await FindListed(server);
  if (found || found.code() == Code::kNotFound) co_return std::move(found);
  // A file can be opened where directories cannot be read, or listings do not count.
  const bool is_silent = AbsenceOf(found.code()) == Absence::kUnavailable && engine.MembersInForce();
  if (is_silent) co_return std::move(found);
  co_return co_await Find(server);
}

Task<bool> ArchivePlaces::IsListed(MemberIndex server) const {
  const Result<States> states = co_await ListStates(version_->engine, server, version_->info.path);
  if (!states) co_return false;
  const std::string& oid = version_->info.accepted.oid;
  const State* place = BestPlace(*states, oid);
  co_return place != nullptr&& PlaceRank(*place, oid) >= kArchiveRank;
}

// The archive may be here already, or still where it came from.
Task<Result<FoundArchive>> ArchivePlaces::FindBesideWitness(MemberIndex server) {
  co_return co_await FindMoved(server, kArchiveRank);
}

// Lists the directories and opens the best archive of the upload in them. kNotFound: there is none, or only
// one that `least` excludes.
Task<Result<FoundArchive>> ArchivePlaces::FindIn(MemberIndex server, std::vector<ObjectPath> directories,
                                                 int least) {
  Engine& engine = version_->engine;
  const std::string& oid = version_->info.accepted.oid;
  for (int tries = 0; tries < kFindTriesMax; ++tries) {
    std::optional<State> best;
    const ObjectPath* best_directory = nullptr;
    for (const ObjectPath& directory : directories) {
      const Result<States> states = co_await ListStates(engine, server, directory);
      if (!states) co_return states.error();
      const State* found = BestPlace(*states, oid);
      if (found == nullptr || PlaceRank(*found, oid) < least) continue;
      if (best && PlaceRank(*found, oid) <= PlaceRank(*best, oid)) continue;
      best = *found;
      best_directory = &directory;
    }
    if (!best) break;
    Result<FoundArchive> found = co_await OpenAt(engine, server, *best_directory, *best);
    if (found || found.code() != Code::kNotFound) co_return std::move(found);
  }
  co_return Fail(Code::kNotFound, "{} has no archive of {} version {}", engine.server_id(server),
                 version_->info.path.text(), version_->info.accepted.version.ToString());
}

Task<ArchivePlaces::Moved> ArchivePlaces::AskWhetherMoved(ObjectPath from, Version version) const {
  Engine& engine = version_->engine;
  Result<NameInfo> now = co_await LookUp(engine, from);
  if (!now) co_return now.error();
  const std::vector<Accepted> moves = MovesIn(now->listings);
  const auto on = std::find_if(moves.begin(), moves.end(),
                               [&](const Accepted& move) { return move.version.Unmoved() == version; });
  if (on == moves.end()) co_return std::nullopt;
  Result<MoveRecord> record = co_await ReadMoveRecord(engine, from, *on);
  if (!record) co_return record.error();
  co_return MovedOn{*on->target, std::move(record->to)};
}

Task<ArchivePlaces::Moved> ArchivePlaces::MovedSince(ObjectPath from, Version version) {
  OneShot<std::optional<Moved>> shared;
  bool wait = false;
  {
    MutexLock lock(mutex_);
    const auto [asking, is_first] = asking_.try_emplace(from);
    wait = !is_first;
    if (wait) asking->second.emplace_back(shared.Setter());
  }
  if (wait) {
    std::optional<Moved> told = co_await shared;
    if (told) co_return std::move(*told);
  }
  std::vector<UniqueFunction<void(std::optional<Moved>)>> waiters;
  {
    MutexLock lock(mutex_);
    waiters.swap(asking_.at(from));
  }
  Moved moved = co_await AskWhetherMoved(from, version);
  UniqueFunction<void(std::optional<Moved>)> next;
  {
    MutexLock lock(mutex_);
    const auto asking = asking_.find(from);
    if (asking->second.empty()) {
      asking_.erase(asking);
    } else {
      next = std::move(asking->second.front());
      asking->second.erase(asking->second.begin());
    }
  }
  if (next) next(std::nullopt);
  for (auto& waiter : waiters) waiter(moved);
  co_return std::move(moved);
}

// The archive itself: not promoted yet, not moved in yet, or moved on with its name since the look-up.
Task<Result<FoundArchive>> ArchivePlaces::FindMoved(MemberIndex server, int least) {
  Result<Places> places = co_await Look();
  if (!places) co_return places.error();
  std::vector<ObjectPath> directories = std::move(places->directories);
  Version version = version_->info.accepted.version;
  for (int hop = 0; hop < kMoveHopsMax; ++hop) {
    std::vector<ObjectPath> where = directories;
    Result<FoundArchive> found = co_await FindIn(server, std::move(where), least);
    if (found || found.code() != Code::kNotFound) co_return std::move(found);
    // Has the version been moved since it was looked up? Something newer may be at the name by now.
    const ObjectPath last = directories.back();
    Moved moved = co_await MovedSince(last, version);
    if (!moved) co_return moved.error();
    if (!*moved) co_return std::move(found);
    version = (*moved)->version;
    directories = {last, (*moved)->to};
  }
  co_return Fail(Code::kUnavailable,
                 "{} has been renamed more often than its archives are followed; open it again",
                 version_->info.path.text());
}

Result<Manifest> ArchivePlaces::ReadManifest(const ArchiveIndex& index) const {
  const Accepted& accepted = version_->info.accepted;
  XEC_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(index.manifest));
  if (manifest.object_id != accepted.oid || manifest.size_bytes != accepted.size) {
    return Fail(Code::kCorruption, "it belongs to another object ({} of {} bytes, not {} of {})",
                manifest.object_id, manifest.size_bytes, accepted.oid, accepted.size);
  }
  return manifest;
}

std::vector<MemberIndex> ArchivePlaces::Candidates() const {
  const Engine& engine = version_->engine;
  const NameInfo& info = version_->info;
  std::vector<MemberIndex> candidates;
  const auto add = [&](MemberIndex member) {
    if (!Contains(candidates, member)) candidates.push_back(member);
  };
  const Homes homes = engine.Homes(info.path);
  for (const int rank_min : {kArchiveRank, kWitnessRank}) {
    for (const MemberIndex home : homes) {
      const auto listing = info.listings.find(home);
      if (listing == info.listings.end()) continue;
      const State* place = BestPlace(listing->second, info.accepted.oid);
      if (place != nullptr && PlaceRank(*place, info.accepted.oid) >= rank_min) add(home);
    }
  }
  for (const MemberIndex holder : info.holders) add(holder);
  for (const MemberIndex home : homes) add(home);
  for (size_t member = 0; member < engine.server_count(); ++member) add(static_cast<MemberIndex>(member));
  return candidates;
}

std::vector<MemberIndex> ArchivePlaces::Spares(const Manifest& manifest) const {
  return SparesSearched(version_->engine, version_->info.path, manifest);
}

std::vector<MemberIndex> ArchivePlaces::SparesFirst(const Manifest& manifest) const {
  return SparesSearchedFirst(version_->engine, version_->info.path, manifest);
}

std::vector<MemberIndex> ArchivePlaces::SparesLast(const Manifest& manifest) const {
  return SparesSearchedLast(version_->engine, version_->info.path, manifest);
}

}  // namespace xec
