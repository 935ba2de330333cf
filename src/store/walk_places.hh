// SPDX-License-Identifier: LGPL-3.0-or-later
// Finds out which server holds which chunks of every object (api/object_places.hh).
#pragma once

#include "api/store_maintenance.hh"
#include "store/layout_store.hh"

namespace xec {

// From the ends of its archives. `path`: under which it was opened. Errors: as reading a manifest and the
// chunks' places.
Task<Result<ObjectPlaces>> FindPlaces(std::string path, std::shared_ptr<ObjectReader> reader);

// As StoreMaintenance::WalkPlaces. `engine`: of the store.
Task<Status> WalkPlaces(Engine& engine, LayoutStore& store, PlacesOptions options);

}  // namespace xec
