// SPDX-License-Identifier: LGPL-3.0-or-later
// The moved tombstone `t.<v>m.<b>` of a rename: a small file that says where version v went.
#pragma once

#include "commit/roll_forward.hh"

namespace xec {

// Content of an intent and of a moved tombstone.
struct MoveRecord {
  ObjectPath to;
  std::string oid;
  uint64_t size = 0;
};
std::string FormatMoveRecord(const MoveRecord& record);
Result<MoveRecord> ParseMoveRecord(std::string_view text);

constexpr size_t kMoveRecordBytesMax = 16 * 1024;

// Reads the record of an accepted moved tombstone from a home that has it.
Task<Result<MoveRecord>> ReadMoveRecord(Engine& engine, ObjectPath from, Accepted moved);

// Writes the moved tombstone on one more home: as an intent first, renamed only if another home still has it.
Task<RollResult> CopyMovedTombstone(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal);

}  // namespace xec
