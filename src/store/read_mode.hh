// SPDX-License-Identifier: LGPL-3.0-or-later
// The mode of a name (protocol/mode.hh).
#pragma once

#include "commit/engine/names.hh"

namespace xec {

// Costs requests only where attributes were set. nullopt: none was, or they cannot be read now.
Task<std::optional<uint32_t>> ReadMode(Engine& engine, NameInfo info);

}  // namespace xec
