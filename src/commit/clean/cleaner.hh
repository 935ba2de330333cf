// SPDX-License-Identifier: LGPL-3.0-or-later
// CLEANER: brings names to one version everywhere and removes what is debris (docs/protocol/cleaner.md). Any
// number of cleaners may run, beside readers and writers. A server that does not answer only delays what
// concerns it.
#pragma once

#include <functional>

#include "commit/clean/clean_outcome.hh"
#include "commit/engine/engine.hh"
#include "commit/engine/names_at_rest.hh"
#include "runtime/turn.hh"

namespace xec {

// Hears of each thin object at once, whatever becomes of the rest of the pass.
using OnThin = std::function<void(const ThinObject&)>;

// How the caller leads a pass.
struct CleanOptions {
  // The point of an earlier pass to begin at; all names are visited all the same. Empty, or anything else:
  // wherever chance begins.
  std::string from = {};
  Turn turn = {};  // awaited before each name
};

// Everything below the directory, the directory's own name last. kNoQuorum if some name could not be decided
// or some directory not be listed (the others are cleaned all the same); kCancelled if the pass was ended by
// its turn. `rests`: what passes of the same directory before have found out, and this one does; null:
// nothing, and for nobody. It lives until the end.
Task<Result<CleanOutcome>> CleanTree(Engine& engine, ObjectPath directory, OnThin on_thin = nullptr,
                                     NamesAtRest* rests = nullptr, CleanOptions options = CleanOptions());

}  // namespace xec
