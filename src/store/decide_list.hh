// SPDX-License-Identifier: LGPL-3.0-or-later
// Which list of members follows: decided once, by an exclusive creation on the homes of the list before.
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// The descriptor that has the epoch of `wanted`, which follows the one that the engine goes by: `wanted`,
// unless another one was decided before. Whoever asks gets the same, however late. Errors: kNoQuorum,
// kUnknown, and what makes an exclusive creation fail; it can be asked again.
Task<Result<StoreDescriptor>> DecideList(Engine& engine, StoreDescriptor wanted);

}  // namespace xec
