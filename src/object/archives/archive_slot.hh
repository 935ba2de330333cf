// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchiveSlot: what a reader knows of the archive on one server: whether it is open, and if it could not be
// had, why, and how long that is taken for true. Pure; its owner serialises (OpenArchives, under its lock).
#pragma once

#include <map>
#include <optional>

#include "object/archives/archive_handle.hh"
#include "server/health/server_health.hh"

namespace xec {

class ArchiveSlot {
 public:
  enum class State { kIdle, kLoading, kOpen, kFailed };
  // How long a server that failed is not asked again by the same reader.
  static constexpr Duration kRetryAfter = std::chrono::seconds(2);
  // An archive in which damage was found may have been repaired so long after it was opened.
  static constexpr Duration kReopenAfter = std::chrono::seconds(2);
  // So many chunks of one archive that could not be read are remembered.
  static constexpr size_t kUnreadPlacesMax = 64;

  State state() const { return state_; }
  const ArchivePtr& archive() const { return archive_; }  // null unless it is open
  const Error& error() const { return *error_; }  // of kFailed

  // Is what was found, kOpen or kFailed, true still? A failure is not after a while, nor a witness, beside
  // which an archive may have been put; and neither is if the archive may be where it was not looked for.
  // `changes`: ArchiveSource::changes() now.
  bool Stands(TimePoint now, uint64_t changes) const;

  // Answers the archive that was open, to be closed.
  ArchivePtr BeginLoading();
  // `changes`: from before it was looked for.
  void SetOpen(ArchivePtr archive, uint64_t changes, TimePoint now);
  void SetFailed(Error error, uint64_t changes, TimePoint now);

  // Forgets `archive`, whose requests fail, so that it is opened anew after a while. False: it is another
  // one's turn.
  bool Forget(const ArchivePtr& archive, Error error, TimePoint now);
  // A chunk in `archive` is damaged. True: that is news of the archive that is open.
  bool NoteCorrupt(const ArchivePtr& archive);
  bool corrupt() const { return corrupt_; }
  // May it be worth opening a damaged archive anew?
  bool MayBeRepaired(TimePoint now) const;
  // `archive` is what is there now. True: it takes the place of the one that was open, which it is then.
  bool Replace(ArchivePtr& archive, TimePoint now);

  // Could the archive not be had a moment ago?
  bool HasFailed(TimePoint now) const;
  // It could not be had, but may be now: what is known is old, or its server, which is in `standing`, has
  // answered others since. True: it is no failure any more.
  bool MayHaveReturned(TimePoint now, const Standing& standing);
  // Has its server answered, and is no archive of the lane that it is named for there? Of what is open the
  // owner knows whether it is of another lane.
  bool IsMissing() const { return state_ == State::kFailed && error_->code == Code::kNotFound; }

  // The archive could be opened, but `chunk`, or its end (nullopt), not be read. True: not for the first
  // time.
  bool NoteUnread(std::optional<MemberName> chunk);
  // How often that happened with one and the same chunk, or with the end.
  int TimesUnread() const;

 private:
  State state_ = State::kIdle;
  ArchivePtr archive_;  // of kOpen
  std::optional<Error> error_;  // of kFailed
  TimePoint since_{};  // of kOpen and kFailed
  uint64_t changes_ = 0;  // those known when it was looked for
  bool corrupt_ = false;
  std::map<std::optional<MemberName>, int> unread_;
};

}  // namespace xec
