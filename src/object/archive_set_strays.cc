// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives on servers that the other archives do not name: re-created after those were written.
#include <algorithm>

#include "object/archive_set.hh"
#include "placement/homes.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// So many servers that hold no lane are asked: a lane goes to the first of them that take it.
constexpr size_t kStraysSearchedMax = 16;

}  // namespace

// Servers without a lane, in the order in which uploads choose spares.
std::vector<MemberIndex> ArchiveSet::StrayCandidates(const Manifest& manifest) const {
  const StoreDescriptor& descriptor = engine_.descriptor();
  const auto usable = std::make_unique<bool[]>(engine_.server_count());
  for (size_t i = 0; i < engine_.server_count(); ++i) {
    const std::string& id = engine_.server_id(static_cast<MemberIndex>(i));
    usable[i] = std::find(manifest.servers.begin(), manifest.servers.end(), id) == manifest.servers.end();
  }
  const std::vector<MemberIndex> homes = engine_.Homes(info_.path);
  return PlaceLanes(descriptor, homes, info_.accepted.oid, kStraysSearchedMax, engine_.server_count(),
                    std::span<const bool>(usable.get(), engine_.server_count()));
}

Task<void> ArchiveSet::FindStrays(std::shared_ptr<ArchiveSet> self) {
  OneShot<bool> shared;
  std::shared_ptr<const Manifest> manifest;
  bool wait = false;
  {
    std::lock_guard lock(self->mutex_);
    if (self->strays_searched_ || !self->manifest_) co_return;
    wait = self->strays_searching_;
    if (wait) self->stray_waiters_.emplace_back(shared.Setter());
    self->strays_searching_ = true;
    manifest = self->manifest_;
  }
  if (wait) {
    co_await shared;
    co_return;
  }

  const std::vector<MemberIndex> candidates = self->StrayCandidates(*manifest);
  Gather<Result<Loaded>> gather(self->engine_.scope(), self->engine_.executor());
  for (const MemberIndex server : candidates) gather.Start(server, Load(self, server));
  std::map<uint32_t, MemberIndex> found;
  bool known = true;
  while (gather.pending() > 0) {
    const Gather<Result<Loaded>>::Event event = co_await gather.Next();
    if (!event.value->has_value()) {
      if (AbsenceOf(event.value->code()) == Absence::kUnavailable) known = false;
      continue;
    }
    const Manifest& told = event.value->value().archive->manifest();
    if (told.kind == ManifestKind::kObject && told.lane && *told.lane < manifest->geometry.Total())
      found.emplace(*told.lane, static_cast<MemberIndex>(event.tag));
  }
  std::vector<UniqueFunction<void(bool)>> waiters;
  {
    std::lock_guard lock(self->mutex_);
    self->strays_ = found;
    self->strays_searched_ = true;
    self->strays_known_ = known;
    waiters.swap(self->stray_waiters_);
  }
  for (UniqueFunction<void(bool)>& waiter : waiters) waiter(true);
}

void ArchiveSet::StartFindStrays() {
  {
    std::lock_guard lock(mutex_);
    if (strays_searching_ || strays_searched_) return;
  }
  engine_.scope().Spawn(FindStrays(shared_from_this()));
}

bool ArchiveSet::StraysKnown() const {
  std::lock_guard lock(mutex_);
  return strays_known_;
}

size_t ArchiveSet::StrayCount() const {
  std::lock_guard lock(mutex_);
  return strays_.size();
}

}  // namespace xec
