// SPDX-License-Identifier: LGPL-3.0-or-later
// Rebuild: archives that the store has lost are written anew, many objects at a time; what is asked of it and
// what it tells.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hh"
#include "placement/store_descriptor.hh"
#include "runtime/executor.hh"
#include "runtime/turn.hh"

namespace xec {

struct RepairReport;

// Where an archive is.
struct LanePlace {
  uint32_t lane = 0;
  MemberIndex server = 0;
  uint64_t bytes = 0;  // of its chunks
};

// An archive that is to lie on another server.
struct LaneMove {
  uint32_t lane = 0;
  MemberIndex from = 0;
  MemberIndex to = 0;
  uint64_t bytes = 0;  // of its chunks
};

// Where a rebuild is. Objects: those that stand on the servers.
struct RebuildProgress {
  uint64_t objects = 0;  // looked at
  uint64_t needed = 0;  // of these: have archives that are lost or damaged
  uint64_t repaired = 0;  // of these: have none any more
  uint64_t not_done = 0;  // of those looked at: cannot be looked at, or repaired, as far as is known now
  uint64_t under_way = 0;  // are repaired now
  uint64_t at_once = 0;  // so many may be; fewer while clients are served
  uint64_t twice = 0;  // archives of lanes that another server has, left there since they are too young
  uint64_t brought = 0;  // were in no listing, and are again
  uint64_t unlisted = 0;  // directories that cannot be listed: what is below them was not looked at
  uint64_t bytes_lost = 0;  // of the archives to be written anew, as far as is known
  uint64_t bytes_read = 0;  // of chunks
  uint64_t bytes_written = 0;  // of archives
  // All objects were looked at, so that `needed` and `bytes_lost` do not grow any more.
  bool all_found = false;
  Duration elapsed{0};
  // By the rate of the last while; nobody can know it before all were found.
  std::optional<Duration> left;
};

// What became of an object; or, of a dry run, what would.
struct RebuiltObject {
  std::string path;
  bool brought = false;  // no listing found it, and they do again
  // Null: `problem` says why it could not be looked at or repaired, and `code` is that of the error.
  const RepairReport* report = nullptr;
  Code code = Code::kInternal;
  std::string problem;
};

// So many bytes of archives have to be written within that time.
struct RebuildDue {
  uint64_t bytes = 0;
  Duration time{};
};

struct RebuildOptions {
  // As of RepairOptions.
  std::vector<MemberIndex> gone;
  bool deep = false;
  // Nothing is written; what would be is told.
  bool dry_run = false;
  // While it is behind with that it gives way neither to clients nor to servers that are slow.
  std::optional<RebuildDue> due;
  // The `at` of a turn of an earlier rebuild: what lies before it was done.
  std::string from;
  // Awaited before each object that is looked at. Empty: nobody leads it.
  Turn turn;
  // In place of repairs: what is moved of an object that is whole; told what a look at it showed, one call at
  // a time.
  std::function<std::vector<LaneMove>(const std::string& path, const RepairReport& look)> moves;
  // With that: these were not moved after all; and whether no further objects need be looked at.
  std::function<void(const std::vector<LaneMove>&)> not_moved = [](const std::vector<LaneMove>&) {};
  std::function<bool()> enough = [] { return false; };
  // Hears of every object, once or, if it could not be repaired at first, twice; one call at a time.
  std::function<void(const RebuiltObject&)> told = [](const RebuiltObject&) {};
  // Asked now and then; false: the rebuild ends with kCancelled, and what was done stays done.
  std::function<bool(const RebuildProgress&)> progress = [](const RebuildProgress&) { return true; };
};

struct RebuildReport {
  static constexpr size_t kNotDoneTold = 1000;  // by name

  RebuildProgress total;  // at the end
  struct NotDone {
    std::string path;
    std::string problem;
    bool lost = false;  // fewer chunks are left than are needed, and all servers have answered
  };
  std::vector<NotDone> not_done;
  struct Unlisted {
    std::string directory;
    std::string problem;
  };
  std::vector<Unlisted> unlisted;  // as many by name
  // Servers that do not answer: what they hold was left alone.
  std::vector<MemberIndex> silent;
  // What was written, or would be, by server.
  struct Written {
    uint64_t archives = 0;
    uint64_t bytes = 0;
  };
  std::map<MemberIndex, Written> written;

  // Is nothing left to do, as far as servers answer?
  bool Done() const { return total.not_done == 0 && total.unlisted == 0; }
};

}  // namespace xec
