// SPDX-License-Identifier: LGPL-3.0-or-later
// The space of the whole store, from all its servers.
#pragma once

#include <map>

#include "api/store.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Of the members that answer; late ones are waited for only as long as nobody has answered.
Task<std::map<MemberIndex, Space>> AskSpace(Engine& engine);

// Servers that share a file system count once. Error: kNoQuorum when no server answers.
Task<Result<StoreSpace>> SumSpace(Engine& engine);

}  // namespace xec
