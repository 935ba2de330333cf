// SPDX-License-Identifier: LGPL-3.0-or-later
// KnownSpace: the space on the disks of the members as this process heard it last, for the placement of new
// archives. Where nobody looks (in tests, say) nothing is known, and all members count alike. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "placement/space_reserve.hh"
#include "placement/store_descriptor.hh"
#include "runtime/executor.hh"
#include "server/data_server.hh"

namespace xec {

class KnownSpace {
 public:
  // What is older is not known.
  static constexpr Duration kKnownFor = std::chrono::minutes(10);
  // A first upload waits for so long at most until anything is known.
  static constexpr Duration kFirstWait = std::chrono::seconds(1);

  explicit KnownSpace(SpaceReserve reserve) : reserve_(reserve) {}

  // Somebody is about to look for the first time, and Note follows.
  void Expect(TimePoint now);
  // Shall an upload wait a moment, because Note is about to be called?
  bool IsAwaited(TimePoint now) const;

  // What the members told that have answered, by id; of the others what was known stays. Members with the
  // same file system have one disk.
  void Note(std::map<std::string, Space> heard, TimePoint now);
  // This process has sent so much to be written there since.
  void NoteWritten(const std::string& id, uint64_t bytes);
  // The member has refused it for want of space.
  void NoteFull(const std::string& id);

  // By member.
  struct Room {
    // Expectations of new archives, relative to each other: free space above the reserve, shared by all
    // members of a disk; where it is not known, what the others have on average. Empty: all alike.
    std::vector<double> weights;
    // Is less free than the reserve? Such a member gets no new archives.
    std::vector<bool> full;
    size_t full_count = 0;
    bool IsFull(MemberIndex member) const { return full_count > 0 && full[member]; }
  };
  Room RoomOf(const StoreDescriptor& descriptor, TimePoint now) const;
  // A clause about a member that is full: what it has.
  std::string WhyFull(const std::string& id) const;
  // Is less than twice the reserve left on some disk? Then it is worth looking more often.
  bool IsTight() const;

 private:
  struct Disk {
    uint64_t total = 0;
    uint64_t free = 0;
    size_t members = 0;
    TimePoint at;
  };
  const Disk* DiskOf(const std::string& id) const XEC_REQUIRES(mutex_);

  const SpaceReserve reserve_;
  mutable Mutex mutex_;
  std::optional<TimePoint> first_until_ XEC_GUARDED_BY(mutex_);
  std::map<std::string, std::string> disk_of_ XEC_GUARDED_BY(mutex_);  // by member
  std::map<std::string, Disk> disks_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
