// SPDX-License-Identifier: LGPL-3.0-or-later
// The cleaner of layout xrdec: brings archives that are on their way to their name, removes what removals
// left over and what uploads that died left staged, judges what removers that died left aside, and keeps the
// register clean.
#pragma once

#include "commit/clean/clean_outcome.hh"
#include "commit/engine/engine.hh"
#include "runtime/turn.hh"

namespace xec {

// One pass over all names of the register. Files at plain names that XEC does not know as left over are never
// touched. kNoQuorum if some name could not be decided; the others are cleaned all the same. `turn` is
// awaited before each name; kCancelled when it ended the pass.
Task<Result<CleanOutcome>> CleanXrdec(Engine& engine, Turn turn = nullptr);

}  // namespace xec
