// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenVersion: the version that a reader reads, as all of its classes know it. Immutable.
#pragma once

#include <memory>
#include <string>

#include "commit/engine/names.hh"
#include "object/repair_queue.hh"

namespace xec {

struct OpenVersion {
  Engine& engine;  // outlives it
  NameInfo info;  // live and an object
  std::shared_ptr<RepairQueue> damage;  // hears what is found lost or damaged; may be null
  bool ends_only = false;  // archives are not read whole when they are opened, however small

  // An archive of this version is damaged or lost. Cheap.
  void ReportDamage(std::string problem) const {
    if (!damage) return;
    damage->Report(info.path, info.accepted.version, std::move(problem), engine.executor().Now());
  }
};
using OpenVersionPtr = std::shared_ptr<const OpenVersion>;

}  // namespace xec
