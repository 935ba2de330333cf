// SPDX-License-Identifier: LGPL-3.0-or-later
// Bringing a list of members that is decided to the members themselves (docs/protocol/members.md).
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// Copies the list to members that lack it. True: all have it, but for as many as may be away.
Task<bool> SpreadList(Engine& engine, StoreDescriptor list);

}  // namespace xec
