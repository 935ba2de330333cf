// SPDX-License-Identifier: LGPL-3.0-or-later
// Asks members how much space their disks have.
#pragma once

#include <map>

#include "commit/engine/engine.hh"

namespace xec {

// Of the members that answer; late ones are waited for only as long as nobody has answered.
Task<std::map<MemberIndex, Space>> AskSpace(Engine& engine);

// The same, noted for the placement of archives (KnownSpace).
Task<void> LookAtSpace(Engine& engine);

}  // namespace xec
