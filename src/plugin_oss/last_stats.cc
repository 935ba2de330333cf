// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/last_stats.hh"

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "plugin_access/client_door.hh"

namespace xec {
namespace {

constexpr Duration kJustTold = std::chrono::seconds(1);

thread_local bool http_removal_of_thread = false;

}  // namespace

bool IsHttp(XrdOucEnv* env) {
  const XrdSecEntity* entity = env == nullptr ? nullptr : env->secEnv();
  return entity != nullptr && IsHttp(*entity);
}

HttpRemovalOfThread::HttpRemovalOfThread(bool is_http) { http_removal_of_thread = is_http; }
HttpRemovalOfThread::~HttpRemovalOfThread() { http_removal_of_thread = false; }
bool HttpRemovalOfThread::Get() { return http_removal_of_thread; }

void LastStats::Tell(std::string_view client, std::string_view path, const ObjectInfo& info, TimePoint now) {
  Told told{std::string(path), info, now};
  const MutexLock lock(mutex_);
  const auto found = told_.find(client);
  if (found != told_.end()) {
    found->second = std::move(told);
    return;
  }
  told_.emplace(client, std::move(told));
  order_.emplace_back(client);
  while (order_.size() > clients_max_) {
    told_.erase(order_.front());
    order_.pop_front();
  }
}

std::optional<LastStats::Told> LastStats::Take(std::string_view client, std::string_view path) {
  const MutexLock lock(mutex_);
  const auto found = told_.find(client);
  if (found == told_.end()) return std::nullopt;
  Told told = found->second;
  // An entry that another request left behind is none of ours.
  found->second.path.clear();
  if (told.path != path) return std::nullopt;
  return told;
}

bool LastStats::Contradicts(std::string_view client, std::string_view path, uint64_t size) {
  const std::optional<Told> told = Take(client, path);
  return told && told->info.size != 0 && told->info.size != size;
}

std::optional<ObjectGone> LastStats::ObjectJustTold(std::string_view client, std::string_view path,
                                                    TimePoint now) {
  const std::optional<Told> told = Take(client, path);
  if (!told || told->info.directory || now - told->at > kJustTold) return std::nullopt;
  return ObjectGone{told->info.version, told->info.size};
}

}  // namespace xec
