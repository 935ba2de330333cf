// SPDX-License-Identifier: LGPL-3.0-or-later
// What a rename moves, as its seal and its moved tombstone say it.
#pragma once

#include "commit/engine/access.hh"

namespace xec {

// Content of the seal r.<rid> and hence of the moved tombstone: what is moved, where to, and where it lies.
struct MoveRecord {
  ObjectPath to;
  std::string oid;
  uint64_t size = 0;
  std::vector<std::string> servers;  // that hold archives of the version, by the ids of the descriptor
  Given given = {};
};
std::string FormatMoveRecord(const MoveRecord& record);
Result<MoveRecord> ParseMoveRecord(std::string_view text);

// Reads the record of an accepted moved tombstone from a home that has it. Errors: kUnavailable; when every
// home answered, kNotFound if none has it, kCorruption if it is whole on none. In both cases the rename is
// complete: its seals were whole on a quorum, and only its retirement takes them away.
Task<Result<MoveRecord>> ReadMoveRecord(Engine& engine, ObjectPath from, Accepted moved);
// The same from these homes first. kNotFound, or kCorruption if one has it cut short: once a quorum has
// answered that it is not there whole, and all of `first`. What is committed and not retired is whole on one
// of any quorum. `least`: as of ServerGather.
Task<Result<MoveRecord>> ReadRecordFrom(Engine& engine, ObjectPath from, Accepted moved,
                                        std::vector<MemberIndex> first, Late late_ones, Duration least = {});

}  // namespace xec
