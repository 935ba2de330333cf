// SPDX-License-Identifier: LGPL-3.0-or-later
// Rebuilds a store after a loss (api/rebuild.hh). It walks all names along what stands on the servers, looks
// at several objects at once, and keeps those that lack archives in a RebuildQueue, from which several are
// repaired at once. It has no state on the servers: a rebuild that is killed is begun anew and finds what is
// left, and two of them at once do each other no harm, by the rules of docs/protocol/repair.md.
#pragma once

#include "api/rebuild.hh"
#include "store/layout_store.hh"
#include "store/rebuild_pace.hh"

namespace xec {

// `engine`: of the store; both outlive the task. Errors: kCancelled when `options` ended it; kUnsupported for
// layout xrdec.
Task<Result<RebuildReport>> Rebuild(Engine& engine, LayoutStore& store, RebuildOptions options);

// For whatever else repairs objects at a pace: how many at once fit into the part of the memory budget that
// repairs may have, and what there is to see now (it also forgets which clients it has seen).
size_t RepairsThatFit(Engine& engine);
RebuildPace::Seen LookAround(const Engine& engine, ClientRequests& clients);

}  // namespace xec
