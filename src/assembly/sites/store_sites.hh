// SPDX-License-Identifier: LGPL-3.0-or-later
// StoreSites: the data servers that a store may lie on, and what they show.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assembly/configuration/configuration.hh"
#include "assembly/sites/sites.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

// Of one look at what a data server is.
constexpr Duration kInspectTimeout = std::chrono::seconds(5);

// One owner, one call at a time. Servers are connected once and looked at any number of times.
class StoreSites {
 public:
  // All outlive it; what is late goes on in `scope`.
  StoreSites(const Configuration& configuration, Executor& executor, TaskScope& scope,
             std::shared_ptr<CompletionGate> gate)
      : configuration_(configuration), executor_(executor), scope_(scope), gate_(std::move(gate)) {}

  // What the servers show that the configuration lists, or that its redirector knows, and the members with an
  // address that only a descriptor names. Errors: kNoQuorum (the redirector), kInvalidArgument.
  Task<Result<std::vector<SiteView>>> Inspect();

  // Lets go of the servers.
  void Clear() { raw_.clear(); }

 private:
  Task<Result<std::vector<Site>>> Listed();
  Task<Result<std::vector<SiteView>>> InspectAll(std::vector<Site> sites, std::vector<SiteView> known);

  const Configuration& configuration_;
  Executor& executor_;
  TaskScope& scope_;
  const std::shared_ptr<CompletionGate> gate_;
  std::map<std::string, SiteView> raw_;  // by address; nothing of what they show
};

}  // namespace xec
