// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/caller.hh"

#include "base/text.hh"
#include "plugin_access/client_access.hh"
#include "plugin_access/client_door.hh"

namespace xec {

Caller CallerOf(const XrdSecEntity& client) {
  const auto text = [](const char* word) { return std::string(word == nullptr ? "" : word); };
  Caller caller;
  caller.subject = text(client.name);
  caller.dn = text(client.moninfo);
  // Of a client without a login it is what that says of itself, for XRootD's monitoring.
  if (!caller.dn.starts_with('/')) caller.dn.clear();
  // XRootD separates them by blanks.
  for (const std::string_view group : Split(client.grps == nullptr ? "" : client.grps, ' ')) {
    if (!group.empty()) caller.groups.emplace_back(group);
  }
  caller.host = text(client.host);
  caller.door = IsHttp(client) ? "https" : "root";
  return caller;
}

std::shared_ptr<const Caller> CallerOf(XrdOucEnv* env) {
  const XrdSecEntity* entity = env == nullptr ? nullptr : env->secEnv();
  if (entity == nullptr) return nullptr;
  Caller caller = CallerOf(*entity);
  const char* subject = env->Get(SubjectKey());
  if (subject != nullptr) caller.subject = subject;
  return std::make_shared<const Caller>(std::move(caller));
}

}  // namespace xec
