// SPDX-License-Identifier: LGPL-3.0-or-later
// The copies of the store descriptor on the data servers: one file for each epoch, never overwritten
// (docs/protocol/members.md).
#pragma once

#include <optional>
#include <string>

#include "placement/store_descriptor.hh"
#include "runtime/task.hh"
#include "server/calls.hh"

namespace xec {

// The newest copy that the server has, as text; two requests. Errors: kNotFound (it has none), kCorruption
// (too long), what the server says.
Task<Result<std::string>> ReadNewestDescriptor(CallContext call, DataServerPtr server);

// Makes a copy, complete and synced, under a name of its own first; `nonce`: 8 hex digits that nobody else
// has. OK also if there is one of this epoch already.
Task<Status> WriteDescriptor(CallContext call, DataServerPtr server, StoreDescriptor descriptor,
                             std::string nonce);

}  // namespace xec
