// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/sites/site_server.hh"

#include "assembly/servers/server_kinds.hh"
#include "placement/store_descriptor.hh"
#include "server/decorators/identity_guard.hh"

namespace xec {

Result<DataServerPtr> MakeSiteServer(const std::string& address, Executor& executor,
                                     std::shared_ptr<CompletionGate> gate, SiteServerOptions options) {
  const ServerKind& kind = KindOf(address);
  ServerSetUp set_up{.executor = executor, .gate = std::move(gate), .sync_names = options.sync_names};
  if (kind.knows_its_disk) set_up.identity = options.identity;
  XEC_ASSIGN_OR_RETURN(DataServerPtr server, kind.connect(address, std::move(set_up)));
  if (kind.knows_its_disk || options.identity.empty()) return server;
  IdentityOptions identity;
  identity.path = kIdentityPath;
  identity.content = std::move(options.identity);
  identity.description = std::move(options.description);
  return DataServerPtr(std::make_shared<IdentityGuard>(std::move(server), executor, std::move(identity)));
}

Result<SiteView> MakeSite(Site site, Executor& executor, std::shared_ptr<CompletionGate> gate) {
  SiteView view;
  XEC_ASSIGN_OR_RETURN(view.server, MakeSiteServer(site.address, executor, std::move(gate), {}));
  view.directory = KindOf(site.address).local;
  if (view.directory) view.look = std::make_shared<DirectoryLook>(site.address);
  view.site = std::move(site);
  return view;
}

}  // namespace xec
