// SPDX-License-Identifier: LGPL-3.0-or-later
// The log of a directory rename: one small file, the same on all data servers, from before the first object
// is renamed until after the last one.
#pragma once

#include <set>

#include "commit/engine/engine.hh"

namespace xec {

struct MoveLog {
  std::string id;
  ObjectPath from;
  ObjectPath to;
  Version version;  // of the directory `from`: another one made there later is not what was renamed
};

// On all servers that take it. OK when these are enough that the rename can be found again: the servers on
// which a copy may still turn up. Else it is removed where servers answer: kNoQuorum when what is left cannot
// be taken for a rename, kUnknown when a cleaner may find enough of it.
Task<Result<std::set<MemberIndex>>> WriteMoveLog(Engine& engine, MoveLog log);

// Where servers answer. `late`: on which a copy may turn up afterwards. True: too few may still have it for
// anybody to take the rename up.
Task<bool> RemoveMoveLog(Engine& engine, std::string id, std::set<MemberIndex> late);

// What the logs of processes that have died say. Young logs may belong to renames under way.
struct MoveLogsFound {
  std::vector<MoveLog> open;  // renames that may have begun
  std::vector<std::string> void_;  // ids: never begun (cut short while logged), or over, but for the log
  size_t undecided = 0;  // too few servers answer
  size_t young = 0;  // not told of; or void as it seems, but not for as long as the horizon
  size_t silent = 0;  // servers that did not answer in time: they may have more
};
Task<MoveLogsFound> FindMoveLogs(Engine& engine);

// Does a log, however young, say that this directory is renamed, or one above it? True also if too few
// servers answer.
Task<bool> MayBeRenamed(Engine& engine, ObjectPath directory);

// Do logs, however young, say that this rename waits for others that wait for it? Each of them makes
// something in a directory that the next one renames. False also if too few servers answer.
Task<bool> WaitsForItself(Engine& engine, MoveLog log);

}  // namespace xec
