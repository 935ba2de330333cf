// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/told_sizes.hh"

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "base/text.hh"

namespace xec {
namespace {

// In the trace identity NAME.NUMBER:FD@HOST, XRootD's HTTP has for a number that of the session, since there
// is no client that tells its process, as one of root:// does.
bool HasNumberOfSession(const XrdSecEntity& entity) {
  const std::string_view client = entity.tident == nullptr ? "" : entity.tident;
  const size_t colon = client.rfind(':', client.rfind('@'));
  const size_t dot = client.rfind('.', colon);
  if (colon == std::string_view::npos || dot == std::string_view::npos) return false;
  return ParseUint(client.substr(dot + 1, colon - dot - 1)) == entity.ueid;
}

}  // namespace

bool IsHttp(XrdOucEnv* env) {
  const XrdSecEntity* entity = env == nullptr ? nullptr : env->secEnv();
  if (entity == nullptr) return false;
  return std::string_view(entity->prot).starts_with("http") || HasNumberOfSession(*entity);
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
