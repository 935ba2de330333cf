// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archive_set.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/access.hh"
#include "commit/move.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

// A file can be renamed between being listed and being opened; so often in a row it is not.
constexpr int kFindTriesMax = 3;
constexpr int kMoveHopsMax = 16;

Task<void> CloseQuietly(CallContext call, ArchiveFilePtr file) {
  // Nothing is lost when a file opened for reading does not close well.
  const Status closed = co_await Close(call, std::move(file));
  (void)closed;
}

struct Ending {
  ArchiveIndex index;
  std::shared_ptr<Buffer> image;  // null unless the archive was read whole
};

uint64_t TailBytes(uint64_t archive_bytes, uint64_t chunk_bytes) {
  return std::min(kArchiveTailBytes,
                  ArchiveTailSizeMax(archive_bytes / chunk_bytes + 1, kUsualManifestBytes));
}

// Reads and parses the end of an archive; the whole archive when it is small and memory is at hand.
// `chunk_bytes`: probably that of the archive.
Task<Result<Ending>> ReadEnding(Engine& engine, ArchiveFilePtr file, uint64_t chunk_bytes) {
  const uint64_t size = file->size();
  const uint64_t tail = TailBytes(size, chunk_bytes);
  uint64_t from = size > tail ? size - tail : 0;
  std::optional<ByteBudget::Lease> lease;
  if (size <= kWholeArchiveBytesMax) lease = engine.budget().TryAcquire(size + kBufferAlignment);
  if (lease) from = 0;
  while (true) {
    ByteBudget::Lease held = lease ? std::move(*lease) : ByteBudget::Lease();
    lease.reset();
    const bool whole = held.bytes() > 0;
    const std::shared_ptr<Buffer> buffer = Buffer::Allocate(size - from, std::move(held));
    Slice slice(buffer);
    std::vector<ByteRange> ranges = {ByteRange{from, size - from}};
    Result<uint64_t> got = uint64_t{0};
    if (size > from) got = co_await Read(engine.ReadCall(), file, std::move(ranges), slice);
    if (!got) co_return got.error();
    if (*got != size - from) co_return Fail(Code::kCorruption, "the archive ends early");
    Result<TailOutcome> parsed = ParseArchiveTail(slice.span(), size);
    if (!parsed) co_return parsed.error();
    if (parsed->index) co_return Ending{std::move(*parsed->index), whole ? buffer : nullptr};
    if (parsed->need_from >= from) co_return Fail(Code::kCorruption, "the archive's end is inconsistent");
    from = parsed->need_from;
  }
}

// For one open and one read of an archive's end.
Duration PatienceToOpen(const Engine& engine, MemberIndex server) {
  return engine.health().Patience(server, RequestKind::kMetadata) +
         engine.ReadPatience(server, kArchiveTailBytes);
}

bool IsWitness(std::string_view path) {
  const std::optional<State> state = ParseState(path.substr(path.rfind('/') + 1));
  return state && state->kind == StateKind::kWitness;
}

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

}  // namespace

Absence AbsenceOf(Code code) {
  switch (code) {
    case Code::kNotFound: return Absence::kMissing;
    case Code::kCorruption:
    case Code::kUnreadable:
    case Code::kUnsupported: return Absence::kCorrupt;
    default: return Absence::kUnavailable;
  }
}

std::string VersionKey(const NameInfo& info) {
  return info.path.text() + " " + info.accepted.version.ToString();
}

Archive::Archive(MemberIndex server, std::string path, ArchiveFilePtr file, ArchiveIndex index,
                 Manifest manifest, std::weak_ptr<Buffer> image)
    : server_(server),
      path_(std::move(path)),
      file_(std::move(file)),
      manifest_(std::move(manifest)),
      members_([&] {
        std::sort(index.members.begin(), index.members.end(),
                  [](const ArchiveMember& a, const ArchiveMember& b) { return a.name < b.name; });
        return std::move(index.members);
      }()),
      image_(std::move(image)) {}

const ArchiveMember* Archive::Find(MemberName name) const {
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), name,
                       [](const ArchiveMember& member, MemberName n) { return member.name < n; });
  return found != members_.end() && found->name == name ? &*found : nullptr;
}

ArchiveSet::ArchiveSet(Engine& engine, NameInfo info, std::shared_ptr<RepairQueue> damage)
    : engine_(engine), info_(std::move(info)), damage_(std::move(damage)) {}

ArchiveSet::~ArchiveSet() {
  for (auto& [server, slot] : slots_) {
    if (slot.archive) CloseLater(slot.archive->file());
  }
}

void ArchiveSet::CloseLater(ArchiveFilePtr file) const {
  engine_.scope().Spawn(CloseQuietly(engine_.MetadataCall(), std::move(file)));
}

std::vector<ArchivePtr> ArchiveSet::Open() const {
  std::vector<ArchivePtr> open;
  std::lock_guard lock(mutex_);
  for (const auto& [server, slot] : slots_) {
    if (slot.archive) open.push_back(slot.archive);
  }
  return open;
}

Duration ArchiveSet::Patience(MemberIndex server, uint64_t bytes) const {
  bool open = false;
  {
    std::lock_guard lock(mutex_);
    const auto slot = slots_.find(server);
    open = slot != slots_.end() && slot->second.state == Slot::kOpen;
  }
  const Duration read = engine_.ReadPatience(server, bytes);
  return open ? read : read + PatienceToOpen(engine_, server);
}

Task<Result<ArchiveSet::Loaded>> ArchiveSet::Load(std::shared_ptr<ArchiveSet> self, MemberIndex server) {
  OneShot<Result<Loaded>> shared;
  bool wait = false;
  ArchivePtr stale;
  {
    std::lock_guard lock(self->mutex_);
    Slot& slot = self->slots_[server];
    const bool stands = self->Stands(slot);
    if (stands && slot.state == Slot::kOpen) co_return Loaded{slot.archive, slot.archive->image()};
    if (stands && slot.state == Slot::kFailed) co_return *slot.error;
    wait = slot.state == Slot::kLoading;
    if (wait) slot.waiters.emplace_back(shared.Setter());
    slot.state = Slot::kLoading;
    stale = std::move(slot.archive);
  }
  if (stale) self->CloseLater(stale->file());
  if (wait) {
    Result<Loaded> loaded = co_await shared;
    co_return std::move(loaded);
  }
  Result<Loaded> loaded = co_await LoadNow(self, server);
  co_return std::move(loaded);
}

bool ArchiveSet::Stands(const Slot& slot) const {
  if (slot.state == Slot::kOpen && !IsWitness(slot.archive->path())) return true;
  const bool just_now = engine_.executor().Now() < slot.loaded_at + kRetryAfter;
  return slot.state != Slot::kIdle && just_now && slot.place_changes == place_changes_;
}

// Opens the archive and tells all who wait for it.
Task<Result<ArchiveSet::Loaded>> ArchiveSet::LoadNow(std::shared_ptr<ArchiveSet> self, MemberIndex server) {
  const uint64_t changes = self->PlaceChanges();
  Result<Loaded> loaded = co_await self->OpenAndRead(server);
  std::vector<Waiter> waiters;
  bool lost = false;
  {
    std::lock_guard lock(self->mutex_);
    Slot& slot = self->slots_[server];
    waiters.swap(slot.waiters);
    slot.place_changes = changes;
    slot.loaded_at = self->engine_.executor().Now();
    if (loaded) {
      slot.state = Slot::kOpen;
      slot.archive = loaded->archive;
      slot.unread.erase(std::nullopt);
      if (!self->manifest_) self->manifest_ = std::make_shared<const Manifest>(loaded->archive->manifest());
      lost = self->NamedServerHasNothing();
    } else {
      slot.state = Slot::kFailed;
      slot.error = loaded.error();
    }
  }
  // Reads may have no need of it any more.
  if (!loaded && AbsenceOf(loaded.code()) == Absence::kCorrupt) self->ReportDamage(loaded.error().message);
  if (lost) self->StartFindStrays();
  for (Waiter& waiter : waiters) waiter(loaded);
  co_return std::move(loaded);
}

Result<MemberIndex> ArchiveSet::ServerOf(const Manifest& manifest, uint64_t stripe, uint32_t chunk) const {
  const uint32_t lane = LaneOfChunk(stripe, chunk, manifest.geometry.Total());
  {
    std::lock_guard lock(mutex_);
    const auto stray = strays_.find(lane);
    if (stray != strays_.end()) return stray->second;
  }
  if (lane >= manifest.servers.size() || manifest.servers[lane].empty()) {
    return Fail(Code::kNotFound, "chunk {} was never written", chunk);
  }
  const std::optional<MemberIndex> server = engine_.FindMember(manifest.servers[lane]);
  if (!server) return Fail(Code::kUnavailable, "{} is no member of the store", manifest.servers[lane]);
  return *server;
}

Result<Manifest> ArchiveSet::ReadManifest(const ArchiveIndex& index) const {
  XEC_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(index.manifest));
  if (manifest.object_id != info_.accepted.oid || manifest.size_bytes != info_.accepted.size) {
    return Fail(Code::kCorruption, "it belongs to another object ({} of {} bytes, not {} of {})",
                manifest.object_id, manifest.size_bytes, info_.accepted.oid, info_.accepted.size);
  }
  return manifest;
}

Task<Result<ArchiveSet::Loaded>> ArchiveSet::OpenAndRead(MemberIndex server) {
  std::string path;
  Result<ArchiveFilePtr> opened = co_await FindArchive(server, path);
  if (!opened) co_return opened.error();
  Result<Loaded> loaded = co_await ReadOpened(server, path, *opened);
  // A witness beside which there is no archive may be of a version that was moved in; also one that does not
  // say so, and one that is damaged.
  const bool seek =
      IsWitness(path) && (loaded || loaded.code() == Code::kCorruption || loaded.code() == Code::kUnreadable);
  if (!seek) co_return std::move(loaded);
  // This server's archive may be here already, or still where it came from.
  Result<ArchiveFilePtr> moved = co_await FindMoved(server, kArchiveRank, path);
  if (!moved && moved.code() == Code::kNotFound) co_return std::move(loaded);
  if (loaded) CloseLater(loaded->archive->file());
  if (!moved) co_return moved.error();
  co_return co_await ReadOpened(server, std::move(path), *moved);
}

Task<Result<ArchiveSet::Loaded>> ArchiveSet::ReadOpened(MemberIndex server, std::string path,
                                                        ArchiveFilePtr file) {
  const Geometry& configured = GeometryFor(engine_.descriptor(), info_.path.text());
  Result<Ending> ending = co_await ReadEnding(engine_, file, configured.chunk_size_bytes);
  if (!ending && AbsenceOf(ending.code()) == Absence::kUnavailable)
    NoteUnread(server, std::nullopt, ending.error());
  Result<Manifest> manifest = ending ? ReadManifest(ending->index) : Result<Manifest>(ending.error());
  if (!manifest) {
    CloseLater(file);
    co_return Fail(manifest.code(), "archive {} on {}: {}", path, engine_.server_id(server),
                   manifest.error().message);
  }
  std::shared_ptr<Buffer> image = std::move(ending->image);
  ArchivePtr archive = std::make_shared<const Archive>(server, std::move(path), file,
                                                       std::move(ending->index), std::move(*manifest), image);
  co_return Loaded{std::move(archive), std::move(image)};
}

uint64_t ArchiveSet::PlaceChanges() const {
  std::lock_guard lock(mutex_);
  return place_changes_;
}

bool ArchiveSet::MayHaveOtherPlaces() const {
  std::lock_guard lock(mutex_);
  return places_ && !places_->complete;
}

void ArchiveSet::Remember(Places places) {
  places_again_ = engine_.executor().Now() + kRetryAfter;
  // Who told more may be silent now.
  const bool less = places_ && places_->directories.size() > places.directories.size();
  if (less && !places.complete) return;
  const bool others = places_ && places_->directories != places.directories;
  places_ = std::move(places);
  if (!others) return;
  // What was not found may be where nobody has looked.
  ++place_changes_;
  ++stray_changes_;
  strays_known_ = false;
}

Task<Result<Places>> ArchiveSet::FindPlaces() {
  OneShot<Result<Places>> shared;
  bool wait = false;
  {
    std::lock_guard lock(mutex_);
    if (places_ && (places_->complete || engine_.executor().Now() < places_again_)) co_return *places_;
    wait = places_sought_;
    if (wait) place_waiters_.emplace_back(shared.Setter());
    places_sought_ = true;
  }
  if (wait) {
    Result<Places> places = co_await shared;
    co_return std::move(places);
  }
  Result<Places> places = co_await PlacesOf(engine_, info_);
  std::vector<UniqueFunction<void(Result<Places>)>> waiters;
  {
    std::lock_guard lock(mutex_);
    if (places) Remember(std::move(*places));
    if (!places && places_) places_again_ = engine_.executor().Now() + kRetryAfter;
    if (places_) places = *places_;
    places_sought_ = false;
    waiters.swap(place_waiters_);
  }
  for (UniqueFunction<void(Result<Places>)>& waiter : waiters) waiter(places);
  co_return std::move(places);
}

// Opens the archive where it should be; else looks where else it could be.
Task<Result<ArchiveFilePtr>> ArchiveSet::FindArchive(MemberIndex server, std::string& path) {
  const std::string& oid = info_.accepted.oid;
  State place = PromotedState(info_.accepted.version, oid, info_.accepted.size);
  const auto listing = info_.listings.find(server);
  if (listing != info_.listings.end()) {
    if (const State* listed = BestPlace(listing->second, oid)) place = *listed;
  }
  path = ArchivePath(info_.path, place);
  Result<ArchiveFilePtr> file =
      co_await xec::Open(engine_.MetadataCall(), engine_.server(server), path, OpenMode::kRead);
  if (file || file.code() != Code::kNotFound) co_return std::move(file);
  co_return co_await FindMoved(server, kWitnessRank, path);
}

// Lists the directories and opens the best archive of the upload in them. kNotFound: there is none, or only
// one that `least` excludes.
Task<Result<ArchiveFilePtr>> ArchiveSet::FindIn(MemberIndex server, std::vector<ObjectPath> directories,
                                                int least, std::string& path) {
  const std::string& oid = info_.accepted.oid;
  for (int tries = 0; tries < kFindTriesMax; ++tries) {
    const State* best = nullptr;
    std::vector<States> listings;
    listings.reserve(directories.size());
    for (const ObjectPath& directory : directories) {
      Result<States> states = co_await ListStates(engine_, server, directory);
      if (!states) co_return states.error();
      listings.push_back(std::move(*states));
      const State* found = BestPlace(listings.back(), oid);
      if (found == nullptr || PlaceRank(*found, oid) < least) continue;
      if (best != nullptr && PlaceRank(*found, oid) <= PlaceRank(*best, oid)) continue;
      best = found;
      path = ArchivePath(directory, *found);
    }
    if (best == nullptr) break;
    Result<ArchiveFilePtr> file =
        co_await xec::Open(engine_.MetadataCall(), engine_.server(server), path, OpenMode::kRead);
    if (file || file.code() != Code::kNotFound) co_return std::move(file);
  }
  co_return Fail(Code::kNotFound, "{} has no archive of {} version {}", engine_.server_id(server),
                 info_.path.text(), info_.accepted.version.ToString());
}

// The archive itself: not promoted yet, not moved in yet, or moved on with its name since the look-up.
Task<Result<ArchiveFilePtr>> ArchiveSet::FindMoved(MemberIndex server, int least, std::string& path) {
  Result<Places> places = co_await FindPlaces();
  if (!places) co_return places.error();
  std::vector<ObjectPath> directories = std::move(places->directories);
  Accepted moved = info_.accepted;
  for (int hop = 0; hop < kMoveHopsMax; ++hop) {
    std::vector<ObjectPath> where = directories;
    Result<ArchiveFilePtr> file = co_await FindIn(server, std::move(where), least, path);
    if (file || file.code() != Code::kNotFound) co_return std::move(file);
    // Has it been moved since it was looked up? Something newer may be at the name since.
    const ObjectPath last = directories.back();
    Result<NameInfo> now = co_await LookUp(engine_, last);
    if (!now) co_return now.error();
    const std::vector<Accepted> moves = MovesIn(now->listings);
    const auto on = std::find_if(moves.begin(), moves.end(), [&](const Accepted& move) {
      return move.version.Unmoved() == moved.version;
    });
    if (on == moves.end()) co_return std::move(file);
    Result<MoveRecord> record = co_await ReadMoveRecord(engine_, last, *on);
    if (!record) co_return record.error();
    moved.version = *on->target;
    directories = {last, record->to};
  }
  co_return Fail(Code::kUnavailable,
                 "{} has been renamed more often than its archives are followed; open it again",
                 info_.path.text());
}

// Where a manifest may be: homes that list an archive, best first, then those with a witness, then all
// others.
std::vector<MemberIndex> ArchiveSet::Candidates() const {
  std::vector<MemberIndex> candidates;
  const auto add = [&](MemberIndex member) {
    if (!Contains(candidates, member)) candidates.push_back(member);
  };
  const std::vector<MemberIndex> homes = engine_.Homes(info_.path);
  for (const int rank_min : {2, 1}) {
    for (const MemberIndex home : homes) {
      const auto listing = info_.listings.find(home);
      if (listing == info_.listings.end()) continue;
      const State* place = BestPlace(listing->second, info_.accepted.oid);
      if (place != nullptr && PlaceRank(*place, info_.accepted.oid) >= rank_min) add(home);
    }
  }
  for (const MemberIndex holder : info_.holders) add(holder);
  for (const MemberIndex home : homes) add(home);
  for (size_t member = 0; member < engine_.server_count(); ++member) add(static_cast<MemberIndex>(member));
  return candidates;
}

Task<Result<ArchiveSet::Described>> ArchiveSet::Describe() {
  {
    std::lock_guard lock(mutex_);
    if (manifest_) co_return Described{manifest_, nullptr};
  }
  Result<Described> described = co_await LoadAnyOf(shared_from_this(), Candidates());
  // A small object comes with its manifest.
  if (described && engine_.manifests() != nullptr && !described->image)
    engine_.manifests()->Keep(VersionKey(info_), described->manifest, engine_.executor().Now());
  co_return std::move(described);
}

void ArchiveSet::UseKnownManifest() {
  if (engine_.manifests() == nullptr) return;
  std::lock_guard lock(mutex_);
  if (!manifest_) manifest_ = engine_.manifests()->Find(VersionKey(info_), engine_.executor().Now());
}

// Asks one candidate after the other, those that are well first, the next one as soon as all asked have
// failed or are late.
Task<Result<ArchiveSet::Described>> ArchiveSet::LoadAnyOf(std::shared_ptr<ArchiveSet> self,
                                                          std::vector<MemberIndex> candidates) {
  Engine& engine = self->engine_;
  const std::vector<MemberIndex> order = engine.ByHealth(std::move(candidates));
  ServerGather<Result<Loaded>> gather(engine);
  const uint64_t changes = self->PlaceChanges();
  std::string problems;
  bool unavailable = false;
  size_t next = 0;
  while (true) {
    for (; next < order.size() && gather.timely() == 0; ++next)
      gather.Start(order[next], order[next], PatienceToOpen(engine, order[next]), Load(self, order[next]));
    if (gather.pending() == 0) break;
    const ServerGather<Result<Loaded>>::Event event = co_await gather.Next();
    if (!event.value) continue;
    if (event.value->has_value()) {
      const Loaded& loaded = event.value->value();
      std::lock_guard lock(self->mutex_);
      co_return Described{self->manifest_, loaded.image};
    }
    const Error& error = event.value->error();
    if (AbsenceOf(error.code) == Absence::kUnavailable) unavailable = true;
    if (AbsenceOf(error.code) != Absence::kMissing)
      problems += (problems.empty() ? "" : "; ") + error.message;
  }
  const std::string& path = self->info_.path.text();
  if (self->MayHaveOtherPlaces() || self->PlaceChanges() != changes) unavailable = true;
  if (unavailable) co_return Fail(Code::kUnavailable, "cannot read {} now: {}", path, problems);
  co_return Fail(Code::kDataLoss, "no archive of {} version {} can be read: {}", path,
                 self->info_.accepted.version.ToString(), problems.empty() ? "all are missing" : problems);
}

}  // namespace xec
