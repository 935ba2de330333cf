// SPDX-License-Identifier: LGPL-3.0-or-later
// Stands in for a member of the store that was not found: answers kUnavailable to everything.
#pragma once

#include "server/data_server.hh"

namespace xec {

// `executor` runs the answers and outlives the server.
DataServerPtr MakeMissingServer(std::string member_id, Executor& executor);

}  // namespace xec
