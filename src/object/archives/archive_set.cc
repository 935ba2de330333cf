// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/archive_set.hh"

#include "commit/engine/server_gather.hh"
#include "object/archives/archive_places.hh"
#include "object/layout.hh"

namespace xec {
namespace {

OpenVersionPtr NewVersion(Engine& engine, NameInfo info, std::shared_ptr<RepairQueue> damage,
                          bool ends_only) {
  return std::make_shared<const OpenVersion>(OpenVersion{
      .engine = engine, .info = std::move(info), .damage = std::move(damage), .ends_only = ends_only});
}

}  // namespace

std::string VersionKey(const NameInfo& info) {
  return info.path.text() + " " + info.accepted.version.ToString();
}

ArchiveSet::ArchiveSet(OpenVersionPtr version, std::shared_ptr<ArchiveSource> source)
    : version_(std::move(version)),
      source_(std::move(source)),
      open_(std::make_shared<OpenArchives>(version_, source_)),
      strays_(std::make_shared<StrayLanes>(version_, source_, open_)) {
  open_->OnMissed([weak = std::weak_ptr(strays_)] {
    if (const std::shared_ptr<StrayLanes> strays = weak.lock()) strays->StartSearch();
  });
}

ArchiveSet::ArchiveSet(Engine& engine, NameInfo info, std::shared_ptr<RepairQueue> damage, bool ends_only)
    : ArchiveSet(NewVersion(engine, std::move(info), std::move(damage), ends_only)) {}

ArchiveSet::ArchiveSet(const OpenVersionPtr& version)
    : ArchiveSet(version, std::make_shared<ArchivePlaces>(version)) {}

Result<MemberIndex> ArchiveSet::ServerOf(const Manifest& manifest, uint64_t stripe, uint32_t chunk) const {
  const uint32_t lane = LaneOfChunk(stripe, chunk, manifest.geometry.Total());
  const std::optional<MemberIndex> stray = strays_->Find(lane);
  if (stray) return *stray;
  if (lane >= manifest.servers.size() || manifest.servers[lane].empty()) {
    return Fail(Code::kNotFound, "chunk {} was never written", chunk);
  }
  const std::optional<MemberIndex> server = engine().FindMember(manifest.servers[lane]);
  if (!server) return Fail(Code::kUnavailable, "{} is no member of the store", manifest.servers[lane]);
  return *server;
}

Task<Result<ArchiveSet::Described>> ArchiveSet::Describe() {
  std::shared_ptr<const Manifest> manifest = open_->manifest();
  if (manifest) co_return Described{std::move(manifest), nullptr};
  Result<Described> described = co_await LoadAny(shared_from_this());
  // A small object comes with its manifest.
  if (described && engine().manifests() != nullptr && !described->image)
    engine().manifests()->Keep(VersionKey(info()), described->manifest, engine().executor().Now());
  co_return std::move(described);
}

void ArchiveSet::UseKnownManifest() {
  if (engine().manifests() == nullptr || open_->manifest()) return;
  open_->UseManifest(engine().manifests()->Find(VersionKey(info()), engine().executor().Now()));
}

Task<Result<LoadedArchive>> ArchiveSet::Load(std::shared_ptr<const ArchiveSet> self, MemberIndex server) {
  Result<LoadedArchive> loaded = co_await self->open_->Load(server);
  co_return std::move(loaded);
}

// Asks one candidate after the other, those that are well first, and the next one as soon as all that were
// asked have failed or are late.
Task<Result<ArchiveSet::Described>> ArchiveSet::LoadAny(std::shared_ptr<ArchiveSet> self) {
  Engine& engine = self->engine();
  const std::vector<MemberIndex> order = engine.ByHealth(self->source_->Candidates());
  ServerGather<Result<LoadedArchive>> gather(engine);
  const uint64_t changes = self->source_->changes();
  std::string problems;
  bool unavailable = false;
  size_t next = 0;
  while (true) {
    for (; next < order.size() && gather.timely() == 0; ++next)
      gather.Start(order[next], order[next], PatienceToOpen(engine, order[next]), Load(self, order[next]));
    if (gather.pending() == 0) break;
    const ServerGather<Result<LoadedArchive>>::Event event = co_await gather.Next();
    if (!event.value) continue;
    if (event.value->has_value()) co_return Described{self->open_->manifest(), event.value->value().image};
    const Error& error = event.value->error();
    if (AbsenceOf(error.code) == Absence::kUnavailable) unavailable = true;
    if (AbsenceOf(error.code) != Absence::kMissing)
      problems += (problems.empty() ? "" : "; ") + error.message;
  }
  const std::string& path = self->info().path.text();
  if (self->source_->MayHaveOtherPlaces() || self->source_->changes() != changes) unavailable = true;
  if (unavailable) co_return Fail(Code::kUnavailable, "cannot read {} now: {}", path, problems);
  co_return Fail(Code::kDataLoss, "no archive of {} version {} can be read: {}", path,
                 self->info().accepted.version.ToString(), problems.empty() ? "all are missing" : problems);
}

Task<Error> ArchiveSet::WhyLost(Error error) {
  Engine& engine = this->engine();
  const ObjectPath& path = info().path;
  const Result<NameInfo> now = co_await LookUp(engine, path);
  if (!now) {
    co_return Fail(Code::kUnavailable, "cannot tell whether {} was replaced: {} ({})", path.text(),
                   now.error().message, error.message);
  }
  if (now->accepted.version == info().accepted.version) co_return error;
  co_return Fail(Code::kConflict,
                 "{} was replaced, renamed or removed while it was read, and its old bytes are gone; open it "
                 "again ({})",
                 path.text(), error.message);
}

}  // namespace xec
