// SPDX-License-Identifier: LGPL-3.0-or-later
// The clocks of the disks, read and moved on (docs/protocol/disks.md). A disk that went back in time
// lacks what its server had accepted: identity guards leave that server out, as if it were away, until
// ReconcileDisk has compared it with all others.
//
// `beneath` is an engine of the same members whose guards do not look at clocks.
#pragma once

#include <map>
#include <memory>

#include "commit/engine/engine.hh"
#include "runtime/turn.hh"
#include "server/decorators/disk_clocks.hh"

namespace xec {

using DiskClocksPtr = std::shared_ptr<DiskClocks>;

// How often each gateway reads the clocks, and moves them on unless another one has just done so.
constexpr Duration kClockInterval = std::chrono::seconds(10);
// After which time a reading is on the disk for good: its writer has seen it there where changes are durable
// before they are told; else file systems have written it by then.
constexpr std::chrono::milliseconds SettledAfter(SyncPolicy sync) {
  return std::chrono::seconds(sync == SyncPolicy::kCommit ? 10 : 40);
}
// The clock of the disk of the member of this id as its guard watches it.
DiskClock ClockOf(const StoreDescriptor& descriptor, std::string member, DiskClocksPtr clocks);

struct ClockRound {
  std::vector<MemberIndex> well;  // told their clock, and their disk did not go back
  std::vector<MemberIndex> back;  // whose disk did

  size_t heard() const { return well.size() + back.size(); }
};

// What the disks show, and what each has noted about the others, goes into `clocks`. Waits for servers as a
// ServerGather does, `least` included.
Task<ClockRound> ReadDiskClocks(Engine& beneath, DiskClocksPtr clocks, Duration least = {});

// Writes a new reading to all disks that are well, with a table of the latest ones known, and removes old
// ones. Whether it succeeds decides nothing.
Task<void> AdvanceDiskClocks(Engine& beneath, DiskClocksPtr clocks, ClockRound round);

// The table in the reading of that time: what a server notes about the disks of all members. nullopt: none
// that this program can read, or a damaged one (all that is noted is older than the reading).
std::string FormatClockTable(const StoreDescriptor& descriptor, const DiskClocks& clocks);
std::optional<std::map<MemberIndex, DiskTime>> ParseClockTable(const StoreDescriptor& descriptor,
                                                               DiskTime reading, std::string_view text);

// The path of the draft that a process makes first to move a clock on. Its name is changed to a reading only
// if the disk still has it, and nothing older, by then.
std::string ClockDraft(Engine& beneath);
// Now, by the clock of this process.
DiskTime DiskTimeNow(const Engine& beneath);
// Makes the draft a reading, `least` or later and above all that is known of the disk. Error: what the server
// said; kUnavailable if the draft is not there any more or, unless `is_back`, the disk is known to have gone
// back.
Task<Status> TellTime(Engine& beneath, DiskClocksPtr clocks, MemberIndex member, std::string draft,
                      DiskTime least, bool is_back);

// Has a majority of the servers note that the disk of `member` had a clock of now, whatever it shows: so an
// empty disk that gets the identity of that member is one that went back in time, to everybody. Errors:
// kUnavailable (too few servers took the note in time), kCancelled.
Task<Status> NoteDiskLost(Engine& beneath, DiskClocksPtr clocks, MemberIndex member);

// The same for a disk that is there, but may have forgotten names; its clock is removed. Errors: likewise,
// and what the server said.
Task<Status> NotePartLost(Engine& beneath, DiskClocksPtr clocks, MemberIndex member);

// Compares a disk that went back in time with the other servers, for which `engine` has to leave it out:
// brings every name to a quorum of its homes without it, removes from it what the others know nothing of any
// more (it was removed, and that forgotten), and moves its clock on, so that everybody uses it again. Any
// number may run; OK also when another one was faster. `turn` is awaited before each name; kCancelled when it
// ended the comparison. Error: a sentence; then the disk stays left out and can be tried again.
Task<Status> ReconcileDisk(Engine& engine, Engine& beneath, DiskClocksPtr clocks, MemberIndex member,
                           Turn turn);

}  // namespace xec
