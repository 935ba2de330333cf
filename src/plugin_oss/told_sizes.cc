// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/told_sizes.hh"

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "plugin_access/client_door.hh"

namespace xec {
bool IsHttp(XrdOucEnv* env) {
  const XrdSecEntity* entity = env == nullptr ? nullptr : env->secEnv();
  return entity != nullptr && IsHttp(*entity);
}

void ToldSizes::Tell(std::string_view client, std::string_view path, uint64_t size) {
  const MutexLock lock(mutex_);
  const auto found = told_.find(client);
  if (found != told_.end()) {
    found->second = {std::string(path), size};
    return;
  }
  told_.emplace(client, Told{std::string(path), size});
  order_.emplace_back(client);
  while (order_.size() > clients_max_) {
    told_.erase(order_.front());
    order_.pop_front();
  }
}

bool ToldSizes::Contradicts(std::string_view client, std::string_view path, uint64_t size) {
  const MutexLock lock(mutex_);
  const auto found = told_.find(client);
  if (found == told_.end()) return false;
  const Told told = found->second;
  // An entry that another request left behind is none of ours.
  found->second.path.clear();
  return told.path == path && told.size != 0 && told.size != size;
}

}  // namespace xec
