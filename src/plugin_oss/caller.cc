// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/caller.hh"

#include <XrdSec/XrdSecEntity.hh>

#include "base/text.hh"
#include "plugin_oss/told_sizes.hh"

namespace xec {

std::shared_ptr<const Caller> CallerOf(XrdOucEnv* env) {
  const XrdSecEntity* entity = env == nullptr ? nullptr : env->secEnv();
  if (entity == nullptr) return nullptr;
  const auto text = [](const char* word) { return std::string(word == nullptr ? "" : word); };
  Caller caller;
  caller.subject = text(entity->name);
  // XRootD separates them by blanks.
  for (const std::string_view group : Split(entity->grps == nullptr ? "" : entity->grps, ' ')) {
    if (!group.empty()) caller.groups.emplace_back(group);
  }
  caller.host = text(entity->host);
  caller.door = IsHttp(env) ? "https" : "root";
  return std::make_shared<const Caller>(std::move(caller));
}

}  // namespace xec
