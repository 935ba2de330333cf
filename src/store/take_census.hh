// SPDX-License-Identifier: LGPL-3.0-or-later
// Takes the census of a store (api/census.hh).
#pragma once

#include "api/store_maintenance.hh"
#include "store/layout_store.hh"

namespace xec {

// An object without bytes has nothing to lose: it counts as full. Errors: as reading a manifest and the
// chunks' places; kDataLoss and kUnavailable become Redundancy where the geometry is known.
Task<Result<Redundancy>> CountRedundancy(std::shared_ptr<ObjectReader> reader, bool deep);

// Counts every object of the store, several at a time. `engine`: of the store. Error: kCancelled when
// `progress` said so.
Task<Result<Census>> TakeCensus(Engine& engine, LayoutStore& store, CensusOptions options);

}  // namespace xec
