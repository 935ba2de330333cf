// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/site_server.hh"

#include "placement/store_descriptor.hh"
#include "server/identity_guard.hh"
#include "server/local_server.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

bool IsDirectory(const std::string& address) { return address.find("://") == std::string::npos; }

}  // namespace

Result<DataServerPtr> MakeSiteServer(const std::string& address, Executor& executor,
                                     std::shared_ptr<CompletionGate> gate, SiteServerOptions options) {
  if (IsDirectory(address)) {
    LocalServerOptions local;
    if (!options.identity.empty())
      local.identity = LocalIdentity{std::string(kIdentityPath), options.identity};
    local.sync_directories = options.sync_directories;
    auto server = std::make_shared<LocalServer>(address, std::move(local));
    return DataServerPtr(std::make_shared<GatedServer>(std::move(server), std::move(gate)));
  }
  XEC_ASSIGN_OR_RETURN(
      DataServerPtr server,
      MakeXrootdServer({.url = address, .executor = &executor, .sync_names = options.sync_directories}));
  if (options.identity.empty()) return server;
  IdentityOptions identity;
  identity.path = kIdentityPath;
  identity.content = std::move(options.identity);
  identity.description = std::move(options.description);
  return DataServerPtr(std::make_shared<IdentityGuard>(std::move(server), executor, std::move(identity)));
}

Result<SiteView> MakeSite(Site site, Executor& executor, std::shared_ptr<CompletionGate> gate) {
  SiteView view;
  XEC_ASSIGN_OR_RETURN(view.server, MakeSiteServer(site.address, executor, std::move(gate), {}));
  view.directory = IsDirectory(site.address);
  if (view.directory) view.look = std::make_shared<DirectoryLook>(site.address);
  view.site = std::move(site);
  return view;
}

}  // namespace xec
