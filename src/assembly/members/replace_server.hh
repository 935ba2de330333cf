// SPDX-License-Identifier: LGPL-3.0-or-later
// The replacement of a member whose disk is lost: another disk gets its identity.
#pragma once

#include "api/server_changes.hh"
#include "assembly/configuration/configuration.hh"
#include "commit/disk/disk_clock.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

// What changes of the members work with. All outlive what goes on in the engine's scope.
struct MemberTools {
  Engine& engine;
  Engine& beneath;  // the same members, also those whose disks went back in time
  DiskClocksPtr clocks;
  const Configuration& configuration;
  std::shared_ptr<CompletionGate> gate;  // of directories
};

// As StoreMaintenance::ReplaceServer and CompareDisk.
Task<Result<ReplacedServer>> ReplaceServer(MemberTools tools, ReplaceOptions options);
Task<Status> CompareDisk(MemberTools tools, MemberIndex member, CompareProgress progress);

}  // namespace xec
