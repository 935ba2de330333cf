// SPDX-License-Identifier: LGPL-3.0-or-later
// Rows of an inventory as values, and back.
#pragma once

#include <vector>

#include "api/object_places.hh"
#include "inventory/sqlite.hh"

namespace xec {

inline constexpr const char* kRunsOfObject =
    "SELECT lane, first, stripes, bytes, server, held FROM runs WHERE object = ?1 ORDER BY lane, first";

// `statement`: of kRunsOfObject.
inline Result<std::vector<LaneRun>> ReadRuns(SqlStatement& statement, uint64_t object) {
  statement.Bind(object);
  std::vector<LaneRun> runs;
  while (true) {
    XEC_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return runs;
    const std::optional<uint64_t> server = statement.NumberIfAny(4);
    runs.push_back({.lane = static_cast<uint32_t>(statement.Number(0)),
                    .first = statement.Number(1),
                    .stripes = statement.Number(2),
                    .bytes = statement.Number(3),
                    .server = server ? static_cast<MemberIndex>(*server) : LaneRun::kNoServer,
                    .held = statement.Number(5) != 0});
  }
}

inline std::optional<uint64_t> NumberOf(MemberIndex server) {
  if (server == LaneRun::kNoServer) return std::nullopt;
  return server;
}

}  // namespace xec
