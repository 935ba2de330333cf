// SPDX-License-Identifier: LGPL-3.0-or-later
#include "identity.hh"

#include "placement/store_descriptor.hh"
#include "server/identity_guard.hh"

namespace xec::sim {

DataServerPtr GuardIdentity(DataServerPtr server, Executor& executor, std::string identity,
                            std::string description) {
  IdentityOptions options;
  options.path = kIdentityPath;
  options.content = std::move(identity);
  options.description = std::move(description);
  return std::make_shared<IdentityGuard>(std::move(server), executor, std::move(options));
}

}  // namespace xec::sim
