// SPDX-License-Identifier: LGPL-3.0-or-later
// What the cleaner does with few requests, where its look ahead (IdleNames) has shown what else it would have
// to ask for. nullopt: the name is not as it was then, or a server that counts is silent; it is to be cleaned
// as any other. Internal to the cleaner.
#pragma once

#include "commit/clean/clean_outcome.hh"
#include "commit/clean/idle_names.hh"

namespace xec {

// Of a name of which the look has shown a version on a quorum of homes, and nothing but a lower one that
// nobody reads any more beside it: another look at its homes, and at the servers that showed something of it,
// made after that version stood on a quorum, finds the same.
Task<std::optional<CleanOutcome>> PurgeName(Engine& engine, ObjectPath path, Purgeable purgeable);

// Of a name without a folder of its own that was found forgettable, and no stray file, after all servers had
// told the folder that it is in, asked for at `asked_ms` (of the wall clock), past the horizon: another look
// at its homes is all that is needed, for what began before all of them had the tombstone.
Task<std::optional<CleanOutcome>> ForgetName(Engine& engine, ObjectPath path, int64_t asked_ms);

}  // namespace xec
