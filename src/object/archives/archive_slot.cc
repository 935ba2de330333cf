// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/archive_slot.hh"

#include <algorithm>
#include <utility>

namespace xec {

bool ArchiveSlot::Stands(TimePoint now, uint64_t changes) const {
  if (state_ == State::kOpen && !archive_->is_witness()) return true;
  return state_ != State::kIdle && now < since_ + kRetryAfter && changes_ == changes;
}

ArchivePtr ArchiveSlot::BeginLoading() {
  state_ = State::kLoading;
  return std::exchange(archive_, nullptr);
}

void ArchiveSlot::SetOpen(ArchivePtr archive, uint64_t changes, TimePoint now) {
  state_ = State::kOpen;
  archive_ = std::move(archive);
  changes_ = changes;
  since_ = now;
  unread_.erase(std::nullopt);
}

void ArchiveSlot::SetFailed(Error error, uint64_t changes, TimePoint now) {
  state_ = State::kFailed;
  error_ = std::move(error);
  changes_ = changes;
  since_ = now;
}

bool ArchiveSlot::Forget(const ArchivePtr& archive, Error error, TimePoint now) {
  if (archive_ != archive) return false;
  corrupt_ = false;
  archive_.reset();
  SetFailed(std::move(error), changes_, now);
  return true;
}

bool ArchiveSlot::NoteCorrupt(const ArchivePtr& archive) {
  return archive_ == archive && !std::exchange(corrupt_, true);
}

bool ArchiveSlot::MayBeRepaired(TimePoint now) const {
  return corrupt_ && state_ == State::kOpen && since_ <= now - kReopenAfter;
}

bool ArchiveSlot::Replace(ArchivePtr& archive, TimePoint now) {
  // A witness in the archive's place tells that the lane is elsewhere, and has nothing itself.
  if (state_ != State::kOpen || archive_->manifest().kind != archive->manifest().kind) return false;
  std::swap(archive_, archive);
  since_ = now;
  return true;
}

bool ArchiveSlot::HasFailed(TimePoint now) const {
  return state_ == State::kFailed && now < since_ + kRetryAfter;
}

bool ArchiveSlot::MayHaveReturned(TimePoint now, const Standing& standing) {
  // Another read has found it out already.
  if (state_ == State::kOpen || state_ == State::kIdle) return true;
  if (standing.state != ServerState::kUp) return false;
  if (state_ == State::kLoading) return true;
  const bool may = now >= since_ + kRetryAfter || standing.since > since_;
  if (may) state_ = State::kIdle;
  return may;
}

bool ArchiveSlot::NoteUnread(std::optional<MemberName> chunk) {
  if (unread_.size() == kUnreadPlacesMax && !unread_.contains(chunk)) return false;
  return ++unread_[chunk] >= 2;
}

int ArchiveSlot::TimesUnread() const {
  int most = 0;
  for (const auto& [chunk, times] : unread_) most = std::max(most, times);
  return most;
}

}  // namespace xec
