// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/open_archives.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/engine/server_gather.hh"

namespace xec {

OpenArchives::OpenArchives(OpenVersionPtr version, std::shared_ptr<ArchiveSource> source)
    : version_(std::move(version)), source_(std::move(source)) {}

OpenArchives::~OpenArchives() {
  for (const auto& [server, entry] : entries_) {
    if (entry.slot.archive()) CloseLater(version_->engine, entry.slot.archive()->file());
  }
}

Task<Result<LoadedArchive>> OpenArchives::LoadFor(Self self, MemberIndex server) {
  OneShot<Result<LoadedArchive>> shared;
  bool wait = false;
  ArchivePtr stale;
  {
    MutexLock lock(self->mutex_);
    Entry& entry = self->entries_[server];
    ArchiveSlot& slot = entry.slot;
    if (slot.Stands(self->version_->engine.executor().Now(), self->source_->changes())) {
      if (slot.state() == ArchiveSlot::State::kOpen)
        co_return LoadedArchive{slot.archive(), slot.archive()->image()};
      if (slot.state() == ArchiveSlot::State::kFailed) co_return slot.error();
    }
    wait = slot.state() == ArchiveSlot::State::kLoading;
    if (wait) entry.waiters.emplace_back(shared.Setter());
    stale = slot.BeginLoading();
  }
  if (stale) CloseLater(self->version_->engine, stale->file());
  if (wait) {
    Result<LoadedArchive> loaded = co_await shared;
    co_return std::move(loaded);
  }
  Result<LoadedArchive> loaded = co_await LoadNow(self, server);
  co_return std::move(loaded);
}

// Opens the archive and tells all reads that wait for it.
Task<Result<LoadedArchive>> OpenArchives::LoadNow(Self self, MemberIndex server) {
  const uint64_t changes = self->source_->changes();
  Result<LoadedArchive> loaded = co_await self->OpenAndRead(server);
  const TimePoint now = self->version_->engine.executor().Now();
  std::vector<Waiter> waiters;
  bool missed = false;
  {
    MutexLock lock(self->mutex_);
    Entry& entry = self->entries_[server];
    waiters.swap(entry.waiters);
    if (loaded) {
      entry.slot.SetOpen(loaded->archive, changes, now);
      if (!self->manifest_) self->manifest_ = std::make_shared<const Manifest>(loaded->archive->manifest());
      missed = self->NamedServerHasNothing();
    } else {
      entry.slot.SetFailed(loaded.error(), changes, now);
    }
  }
  // Reads may have no need of it any more.
  if (!loaded && AbsenceOf(loaded.code()) == Absence::kCorrupt)
    self->version_->ReportDamage(loaded.error().message);
  if (missed && self->missed_) self->missed_();
  for (Waiter& waiter : waiters) waiter(loaded);
  co_return std::move(loaded);
}

Task<Result<FoundArchive>> OpenArchives::Find(MemberIndex server) {
  const std::shared_ptr<const Manifest> known = manifest();
  if (known && !Contains(known->servers, version_->engine.server_id(server)))
    return source_->FindOnSpare(server);
  return source_->Find(server);
}

Task<Result<LoadedArchive>> OpenArchives::OpenAndRead(MemberIndex server) {
  Result<FoundArchive> found = co_await Find(server);
  if (!found) co_return found.error();
  const bool is_witness = found->is_witness;
  Result<LoadedArchive> loaded = co_await ReadFound(server, std::move(*found));
  // A witness without an archive beside it may belong to a version that was moved in, even if it does not say
  // so or is damaged.
  const bool seek =
      is_witness && (loaded || loaded.code() == Code::kCorruption || loaded.code() == Code::kUnreadable);
  if (!seek) co_return std::move(loaded);
  Result<FoundArchive> beside = co_await source_->FindBesideWitness(server);
  if (!beside && beside.code() == Code::kNotFound) co_return std::move(loaded);
  if (loaded) CloseLater(version_->engine, loaded->archive->file());
  if (!beside) co_return beside.error();
  co_return co_await ReadFound(server, std::move(*beside));
}

Task<Result<LoadedArchive>> OpenArchives::ReadFound(MemberIndex server, FoundArchive found) {
  Engine& engine = version_->engine;
  const Geometry& configured = GeometryFor(engine.descriptor(), version_->info.path.text());
  ArchiveEndRead end =
      co_await ReadEndOrWhole(engine, found.file, configured.chunk_size_bytes, version_->ends_only);
  if (!end.index && AbsenceOf(end.index.code()) == Absence::kUnavailable)
    NoteUnread(server, std::nullopt, end.index.error());
  Result<Manifest> manifest =
      end.index ? source_->ReadManifest(*end.index) : Result<Manifest>(end.index.error());
  if (!manifest) {
    CloseLater(engine, found.file);
    co_return Fail(manifest.code(), "archive {} on {}: {}", found.path, engine.server_id(server),
                   manifest.error().message);
  }
  std::shared_ptr<Buffer> image = std::move(end.image);
  ArchivePtr archive = std::make_shared<const Archive>(server, std::move(found), std::move(*end.index),
                                                       std::move(*manifest), image);
  co_return LoadedArchive{std::move(archive), std::move(image)};
}

std::shared_ptr<const Manifest> OpenArchives::manifest() const {
  MutexLock lock(mutex_);
  return manifest_;
}

void OpenArchives::UseManifest(std::shared_ptr<const Manifest> manifest) {
  MutexLock lock(mutex_);
  if (!manifest_) manifest_ = std::move(manifest);
}

std::vector<ArchivePtr> OpenArchives::All() const {
  std::vector<ArchivePtr> open;
  MutexLock lock(mutex_);
  for (const auto& [server, entry] : entries_) {
    if (entry.slot.archive()) open.push_back(entry.slot.archive());
  }
  return open;
}

std::vector<OpenArchives::Holding> OpenArchives::Holdings() const {
  std::vector<Holding> holdings;
  MutexLock lock(mutex_);
  for (const auto& [server, entry] : entries_) {
    const ArchiveSlot& slot = entry.slot;
    if (slot.archive() || slot.IsMissing()) holdings.push_back({server, slot.archive(), slot.corrupt()});
  }
  return holdings;
}

bool OpenArchives::NamedServerHasNothing() const {
  for (const auto& [server, entry] : entries_) {
    if (entry.slot.IsMissing() && Contains(manifest_->servers, version_->engine.server_id(server)))
      return true;
  }
  return false;
}

bool OpenArchives::HasFailed(MemberIndex server) const {
  const TimePoint now = version_->engine.executor().Now();
  MutexLock lock(mutex_);
  const auto entry = entries_.find(server);
  return entry != entries_.end() && entry->second.slot.HasFailed(now);
}

bool OpenArchives::MayHaveReturned(MemberIndex server) {
  const TimePoint now = version_->engine.executor().Now();
  const Standing standing = version_->engine.health().At(server, now);
  MutexLock lock(mutex_);
  return entries_[server].slot.MayHaveReturned(now, standing);
}

Duration OpenArchives::Patience(MemberIndex server, uint64_t bytes) const {
  bool open = false;
  {
    MutexLock lock(mutex_);
    const auto entry = entries_.find(server);
    open = entry != entries_.end() && entry->second.slot.archive();
  }
  const Engine& engine = version_->engine;
  const Duration read = engine.ReadPatience(server, bytes);
  return open ? read : read + PatienceToOpen(engine, server);
}

void OpenArchives::Forget(MemberIndex server, const ArchivePtr& archive, MemberName chunk, Error error) {
  const Error why = error;
  {
    MutexLock lock(mutex_);
    const TimePoint now = version_->engine.executor().Now();
    if (!entries_[server].slot.Forget(archive, std::move(error), now)) return;
  }
  NoteUnread(server, chunk, why);
  CloseLater(version_->engine, archive->file());
}

// All files of a server share connections, so a lost connection says nothing about a single archive, unless
// the same bytes are met again.
void OpenArchives::NoteUnread(MemberIndex server, std::optional<MemberName> chunk, const Error& error) {
  if (error.code != Code::kUnavailable) return;
  {
    MutexLock lock(mutex_);
    if (!entries_[server].slot.NoteUnread(chunk)) return;
  }
  version_->ReportDamage(fmt::format("its archive on {} could be opened, but not read: {}",
                                     version_->engine.server_id(server), error.message));
}

int OpenArchives::TimesUnread(MemberIndex server) const {
  MutexLock lock(mutex_);
  const auto entry = entries_.find(server);
  return entry == entries_.end() ? 0 : entry->second.slot.TimesUnread();
}

void OpenArchives::NoteCorrupt(const ArchivePtr& archive, std::string problem) {
  {
    MutexLock lock(mutex_);
    ArchiveSlot& slot = entries_[archive->server()].slot;
    // An archive that was opened anew since is another one.
    if (slot.archive() != archive) return;
    if (slot.NoteCorrupt(archive)) ++times_corrupt_;
  }
  version_->ReportDamage(std::move(problem));
}

Task<bool> OpenArchives::Reopen(Self self, MemberIndex server) {
  Result<LoadedArchive> loaded = co_await self->OpenAndRead(server);
  if (!loaded) co_return false;
  ArchivePtr stale = loaded->archive;
  bool replaced = false;
  {
    MutexLock lock(self->mutex_);
    const TimePoint now = self->version_->engine.executor().Now();
    replaced = self->entries_[server].slot.Replace(stale, now);
    if (replaced) ++self->times_reopened_;
  }
  CloseLater(self->version_->engine, stale->file());
  co_return replaced;
}

Task<bool> OpenArchives::ReopenCorruptOf(Self self) {
  Engine& engine = self->version_->engine;
  std::vector<MemberIndex> servers;
  {
    MutexLock lock(self->mutex_);
    const TimePoint now = engine.executor().Now();
    for (const auto& [server, entry] : self->entries_) {
      if (entry.slot.MayBeRepaired(now)) servers.push_back(server);
    }
  }
  ServerGather<bool> gather(engine);
  for (const MemberIndex server : servers) gather.Start(server, Reopen(self, server));
  bool any = false;
  while (gather.timely() > 0) {
    const ServerGather<bool>::Event event = co_await gather.Next();
    any = any || event.value.value_or(false);
  }
  co_return any;
}

}  // namespace xec
