// SPDX-License-Identifier: LGPL-3.0-or-later
// RepairedVersion: the version that is repaired, as all parts of its repair know it. Immutable.
#pragma once

#include <memory>

#include "api/store_maintenance.hh"
#include "object/read/object_reader.hh"

namespace xec {

struct RepairedVersion {
  Engine& engine;  // outlives it
  NameInfo info;   // live and an object
  std::shared_ptr<ObjectReader> reader;
  Manifest manifest;
  RepairOptions options;
};

}  // namespace xec
