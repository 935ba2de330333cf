// SPDX-License-Identifier: LGPL-3.0-or-later
// What a process knows about the clocks of the disks of its store. Gateways write, every few seconds, one
// file on each data server whose name is a time (docs/protocol/disks.md). The latest one is the disk's
// clock: it never goes back, unless the disk does, because an older copy of it was put in its place, or a
// crash took what had not reached it. Such a disk lacks changes that it had accepted.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hh"
#include "server/data_server.hh"

namespace xec {

// Milliseconds since 1970, by the clocks of gateways; 0: a disk on which none was ever written.
using DiskTime = uint64_t;

// The readings that one disk shows, in any order.
struct ShownReadings {
  std::vector<DiskTime> times;

  DiskTime Newest() const;  // 0: none
  // The newest one that has been there for `settled` when the newest of all was written; 0: none.
  DiskTime Settled(std::chrono::milliseconds settled) const;
};

// The latest settled reading of each disk that anybody is known to have seen, by the id of its member.
// Thread-safe.
class DiskClocks {
 public:
  DiskTime Latest(const std::string& member) const;  // 0: none
  DiskTime LatestOfAll() const;
  // The disk is known to have shown this, settled.
  void Raise(const std::string& member, DiskTime settled);

 private:
  mutable Mutex mutex_;
  std::map<std::string, DiskTime> latest_ XEC_GUARDED_BY(mutex_);  // only grow
};

// The clock of one server's disk.
struct DiskClock {
  std::shared_ptr<DiskClocks> clocks;
  std::string member;  // whose disk it is
  std::string folder;  // where its readings are
  std::chrono::milliseconds settled{0};
};

// An entry of the folder: a reading, or nullopt for what is none.
std::string FormatDiskTime(DiskTime time);
std::optional<DiskTime> ParseDiskTime(std::string_view entry);
// Of what the folder lists.
ShownReadings ReadingsIn(const std::vector<Entry>& entries);

// "2026-11-23 18:04:09 UTC"; `time` is a reading.
std::string DescribeDiskTime(DiskTime time);

}  // namespace xec
