// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/xrdec_archive_set.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/engine/server_gather.hh"
#include "protocol/xrdec_paths.hh"

namespace xec {

namespace {

// Every holder has one archive; there are no witnesses, and nothing is moved.
class XrdecPlaces final : public ArchiveSource {
 public:
  XrdecPlaces(OpenVersionPtr version, Geometry geometry)
      : version_(std::move(version)), geometry_(geometry) {}

  Task<Result<FoundArchive>> Find(MemberIndex server) override;
  Task<bool> IsListed(MemberIndex server) const override { co_return Contains(Candidates(), server); }
  Task<Result<FoundArchive>> FindBesideWitness(MemberIndex server) override { return Find(server); }
  Result<Manifest> ReadManifest(const ArchiveIndex& index) const override;
  std::vector<MemberIndex> Candidates() const override { return version_->info.holders; }
  // All servers have been asked.
  std::vector<MemberIndex> Spares(const Manifest&) const override { return {}; }
  std::vector<MemberIndex> SparesFirst(const Manifest&) const override { return {}; }
  std::vector<MemberIndex> SparesLast(const Manifest&) const override { return {}; }
  uint64_t changes() const override { return 0; }
  bool MayHaveOtherPlaces() const override { return false; }

 private:
  const OpenVersionPtr version_;
  const Geometry geometry_;
};

Task<Result<FoundArchive>> OpenAt(CallContext call, DataServerPtr server, std::string path) {
  Result<ArchiveFilePtr> file = co_await xec::Open(call, server, path, OpenMode::kRead);
  if (!file) co_return file.error();
  FoundArchive found;
  found.path = std::move(path);
  found.file = std::move(*file);
  co_return std::move(found);
}

Task<Result<FoundArchive>> XrdecPlaces::Find(MemberIndex server) {
  Engine& engine = version_->engine;
  const NameInfo& info = version_->info;
  const DataServerPtr target = engine.server(server);
  Result<FoundArchive> found = co_await OpenAt(engine.MetadataCall(), target, info.path.PlainPath());
  const std::string& oid = info.accepted.oid;
  if (found || found.code() != Code::kNotFound || oid.empty()) co_return std::move(found);
  // The archive is on its way to the name: just written, or being renamed.
  const Result<std::vector<Entry>> listed =
      co_await List(engine.MetadataCall(), target, std::string(kStagedDirectory));
  if (!listed) co_return std::move(found);
  for (const Entry& entry : *listed) {
    const std::optional<StagedName> staged = StagedName::Parse(entry.name);
    if (!staged || staged->oid != oid) continue;
    co_return co_await OpenAt(engine.MetadataCall(), target, staged->Path());
  }
  co_return std::move(found);
}

// Archives that XEC wrote for the xrdec layout have a manifest, stock ones have none.
Result<Manifest> XrdecPlaces::ReadManifest(const ArchiveIndex& index) const {
  const NameInfo& info = version_->info;
  const Accepted& accepted = info.accepted;
  if (!index.manifest.empty()) {
    XEC_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(index.manifest));
    if (manifest.size_bytes == accepted.size &&
        (accepted.oid.empty() || manifest.object_id == accepted.oid)) {
      return manifest;
    }
    return Fail(Code::kCorruption, "it belongs to another object ({} of {} bytes)", manifest.object_id,
                manifest.size_bytes);
  }
  Manifest manifest;
  manifest.size_bytes = accepted.size;
  manifest.geometry = geometry_;
  manifest.path = info.path.text();
  manifest.mtime_ns = accepted.version.WallMillis() * 1'000'000;
  return manifest;
}

}  // namespace

XrdecArchiveSet::XrdecArchiveSet(const OpenVersionPtr& version, Geometry geometry)
    : ArchiveSet(version, std::make_shared<XrdecPlaces>(version, geometry)), geometry_(geometry) {}

XrdecArchiveSet::XrdecArchiveSet(Engine& engine, NameInfo info, Geometry geometry)
    : XrdecArchiveSet(std::make_shared<const OpenVersion>(
                          OpenVersion{.engine = engine, .info = std::move(info), .damage = nullptr}),
                      geometry) {}

Status XrdecArchiveSet::CheckGeometry() const {
  size_t fitting = 0;
  size_t others = 0;
  for (const ArchivePtr& archive : open().All()) {
    const Manifest& manifest = archive->manifest();
    for (const ArchiveMember& member : archive->members()) {
      const bool fits =
          member.name.chunk < manifest.geometry.Total() &&
          member.size_bytes == manifest.Stripes().ChunkBytes(member.name.stripe, member.name.chunk);
      ++(fits ? fitting : others);
    }
  }
  if (others <= fitting) return OkStatus();
  return Fail(Code::kInvalidArgument,
              "the geometry configured for {} ({} with chunks of {}) does not fit its archives, which XrdEc "
              "wrote with "
              "another one",
              info().path.text(), geometry_.ToString(), FormatSize(geometry_.chunk_size_bytes));
}

Task<Result<ArchiveSet::Described>> XrdecArchiveSet::OpenAll(std::shared_ptr<XrdecArchiveSet> self) {
  ServerGather<Result<LoadedArchive>> gather(self->engine());
  for (const MemberIndex holder : self->info().holders)
    gather.Start(holder, holder, self->open().Patience(holder, 0), Load(self, holder));
  std::shared_ptr<const Manifest> manifest;
  std::string problems;
  bool unavailable = false;
  size_t open = 0;
  while (gather.pending() > 0 && (open < self->geometry_.data_chunks || gather.timely() > 0)) {
    ServerGather<Result<LoadedArchive>>::Event event = co_await gather.Next();
    if (!event.value) continue;
    if (event.value->has_value()) {
      ++open;
      if (!manifest) manifest = std::make_shared<const Manifest>(event.value->value().archive->manifest());
      continue;
    }
    const Error& error = event.value->error();
    if (AbsenceOf(error.code) == Absence::kUnavailable) unavailable = true;
    problems += (problems.empty() ? "" : "; ") + error.message;
  }
  if (!manifest) {
    const std::string& path = self->info().path.text();
    if (unavailable) co_return Fail(Code::kUnavailable, "cannot read {} now: {}", path, problems);
    co_return Fail(Code::kDataLoss, "no archive of {} can be read: {}", path, problems);
  }
  const Status fits = self->CheckGeometry();
  if (!fits) co_return fits.error();
  co_return Described{std::move(manifest), nullptr};
}

Task<Result<ArchiveSet::Described>> XrdecArchiveSet::Describe() {
  const std::vector<ArchivePtr> archives = open().All();
  if (archives.size() == info().holders.size() && !archives.empty()) {
    co_return Described{std::make_shared<const Manifest>(archives.front()->manifest()), nullptr};
  }
  Result<Described> described =
      co_await OpenAll(std::static_pointer_cast<XrdecArchiveSet>(shared_from_this()));
  co_return std::move(described);
}

Result<MemberIndex> XrdecArchiveSet::ServerOf(const Manifest&, uint64_t stripe, uint32_t chunk) const {
  const MemberName name{static_cast<uint32_t>(stripe), chunk};
  const std::vector<ArchivePtr> archives = open().All();
  for (const ArchivePtr& archive : archives) {
    if (archive->Find(name) != nullptr) return archive->server();
  }
  std::string closed;
  for (const MemberIndex holder : info().holders) {
    const auto on_holder = [&](const ArchivePtr& archive) { return archive->server() == holder; };
    if (std::any_of(archives.begin(), archives.end(), on_holder)) continue;
    closed += (closed.empty() ? "" : ", ") + engine().server_id(holder);
  }
  if (closed.empty()) return Fail(Code::kNotFound, "chunk {} is in no archive", chunk);
  return Fail(Code::kUnavailable, "chunk {} is in no archive that can be read (those on {} cannot)", chunk,
              closed);
}

}  // namespace xec
