// SPDX-License-Identifier: LGPL-3.0-or-later
// What a reader remembers of servers whose archive it could not have.
#include <algorithm>

#include "object/archive_set.hh"

namespace xec {
namespace {

// So many chunks of one archive that could not be read are remembered.
constexpr size_t kUnreadPlacesMax = 64;

}  // namespace

bool ArchiveSet::HasFailed(MemberIndex server) const {
  const TimePoint now = engine_.executor().Now();
  std::lock_guard lock(mutex_);
  const auto slot = slots_.find(server);
  return slot != slots_.end() && slot->second.state == Slot::kFailed &&
         now < slot->second.loaded_at + kRetryAfter;
}

bool ArchiveSet::MayHaveReturned(MemberIndex server) {
  const TimePoint now = engine_.executor().Now();
  const Standing standing = engine_.health().At(server, now);
  std::lock_guard lock(mutex_);
  Slot& slot = slots_[server];
  // Another read has found out.
  if (slot.state == Slot::kOpen || slot.state == Slot::kIdle) return true;
  if (standing.state != ServerState::kUp) return false;
  if (slot.state == Slot::kLoading) return true;
  const bool may = now >= slot.loaded_at + kRetryAfter || standing.since > slot.loaded_at;
  if (may) slot.state = Slot::kIdle;
  return may;
}

void ArchiveSet::Forget(MemberIndex server, const ArchivePtr& archive, MemberName chunk, Error error) {
  const Error why = error;
  {
    std::lock_guard lock(mutex_);
    Slot& slot = slots_[server];
    if (slot.archive != archive) return;
    corrupt_.erase(server);
    slot.archive.reset();
    slot.state = Slot::kFailed;
    slot.error = std::move(error);
    slot.loaded_at = engine_.executor().Now();
  }
  NoteUnread(server, chunk, why);
  CloseLater(archive->file());
}

// All files of a server share connections: one that is lost is no news of a single archive, unless the same
// bytes are met again.
void ArchiveSet::NoteUnread(MemberIndex server, std::optional<MemberName> chunk, const Error& error) {
  if (error.code != Code::kUnavailable) return;
  {
    std::lock_guard lock(mutex_);
    std::map<std::optional<MemberName>, int>& unread = slots_[server].unread;
    if (unread.size() == kUnreadPlacesMax && !unread.contains(chunk)) return;
    if (++unread[chunk] < 2) return;
  }
  ReportDamage(fmt::format("its archive on {} could be opened, but not read: {}", engine_.server_id(server),
                           error.message));
}

int ArchiveSet::TimesUnread(MemberIndex server) const {
  std::lock_guard lock(mutex_);
  const auto slot = slots_.find(server);
  int most = 0;
  if (slot == slots_.end()) return most;
  for (const auto& [chunk, times] : slot->second.unread) most = std::max(most, times);
  return most;
}

}  // namespace xec
