// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec health` tells of a store.
#pragma once

#include <memory>

#include "api/store_maintenance.hh"
#include "cli/json_output.hh"
#include "cli/outlook.hh"

namespace xec {

// Of all objects, with where it is from.
struct RedundancyTold {
  std::shared_ptr<const Census> census;
  int64_t began_ms = 0, ended_ms = 0;
  std::string inventory;  // its file; "" = counted by this process
  uint64_t unlooked = 0;  // objects and directories that the inventory's walk could not look at
};

struct HealthReport {
  StoreDescriptor store;
  ServersReport servers;
  Result<JobsTold> jobs;
  bool redundancy_wanted = false;
  // Error: it is not known.
  Result<RedundancyTold> redundancy;
  std::vector<Outlook> outlooks = {};  // the first one is of the store as it is
  int64_t now_ms = 0;

  ServersAsTheyAre AsTheyAre() const;
};

// The servers, the members and the jobs; then what needs a census.
void PrintServersAndWork(const HealthReport& report);
void PrintRedundancy(const HealthReport& report);
Json HealthJson(const HealthReport& report);

// kExitDamage when objects are lost; kExitRetry when some lack redundancy or their redundancy is not known,
// or a server does not answer or takes no writes; else kExitOk.
int HealthExitCode(const HealthReport& report);

}  // namespace xec
