// SPDX-License-Identifier: LGPL-3.0-or-later
// The data servers behind the addresses of a configuration.
#pragma once

#include <memory>
#include <string>

#include "assembly/sites/sites.hh"
#include "runtime/executor.hh"
#include "server/data_server.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

struct SiteServerOptions {
  std::string identity;     // what the identity file must hold; "" = whatever it is, for looking around
  std::string description;  // for messages: "s03 of store 4f2a91c0"
  bool sync_names = true;  // policy commit
};

// A server of any kind (server_kinds.hh). `executor` outlives what is in flight, or AbandonXrootdRequests is
// called and `gate` closed before it goes. Error: kInvalidArgument.
Result<DataServerPtr> MakeSiteServer(const std::string& address, Executor& executor,
                                     std::shared_ptr<CompletionGate> gate, SiteServerOptions options);

// One that has not been asked anything yet, without any check of identity: for InspectSite. As
// MakeSiteServer.
Result<SiteView> MakeSite(Site site, Executor& executor, std::shared_ptr<CompletionGate> gate);

}  // namespace xec
