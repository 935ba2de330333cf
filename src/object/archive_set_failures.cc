// SPDX-License-Identifier: LGPL-3.0-or-later
// What a reader remembers of servers whose archive it could not have.
#include "object/archive_set.hh"

namespace xec {

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
  if (slot.state == Slot::kOpen) return true;  // for another read
  if (slot.state != Slot::kFailed || standing.state != ServerState::kUp) return false;
  const bool may = now >= slot.loaded_at + kRetryAfter || standing.since > slot.loaded_at;
  if (may) slot.state = Slot::kIdle;
  return may;
}

void ArchiveSet::Forget(MemberIndex server, const ArchivePtr& archive, Error error) {
  const std::string problem = error.message;
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
  NoteUnread(server, problem);
  CloseLater(archive->file());
}

void ArchiveSet::NoteUnread(MemberIndex server, const std::string& problem) {
  {
    std::lock_guard lock(mutex_);
    if (++slots_[server].unread < 2) return;
  }
  ReportDamage(
      fmt::format("its archive on {} could be opened, but not read: {}", engine_.server_id(server), problem));
}

int ArchiveSet::TimesUnread(MemberIndex server) const {
  std::lock_guard lock(mutex_);
  const auto slot = slots_.find(server);
  return slot == slots_.end() ? 0 : slot->second.unread;
}

}  // namespace xec
