// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "server/data_server.hh"

namespace xec::sim {

// The server as a gateway uses it: refused while it does not hold that identity (server/identity_guard.hh).
DataServerPtr GuardIdentity(DataServerPtr server, Executor& executor, std::string identity,
                            std::string description);

}  // namespace xec::sim
