// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/cluster.hh"

#include <algorithm>
#include <utility>

#include "base/log.hh"
#include "runtime/sync_wait.hh"
#include "server_xrootd/client_settings.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

// A server that has not answered in time is asked by one request in so long a time.
constexpr Duration kSilentPause = std::chrono::seconds(5);
// For how long one is waited for that could not be reached before.
constexpr Duration kProbeLimit = std::chrono::seconds(3);

bool ByAddress(const ClusterMemberPtr& a, const ClusterMemberPtr& b) {
  return a->endpoint()->host_port() < b->endpoint()->host_port();
}

}  // namespace

bool ClusterMember::MayAsk() {
  const TimePoint now = endpoint_->Now();
  const MutexLock lock(mutex_);
  if (!silent_) return true;
  if (now < again_) return false;
  again_ = now + kAnswerLimit;  // unless it answers before
  return true;
}

void ClusterMember::Answered(std::optional<Code> failure) {
  const TimePoint now = endpoint_->Now();
  const MutexLock lock(mutex_);
  silent_ = failure == Code::kDeadlineExceeded;
  failing_ = silent_ || failure == Code::kUnavailable;
  again_ = now + kSilentPause;
}

bool ClusterMember::failing() const {
  const MutexLock lock(mutex_);
  return failing_;
}

Result<std::unique_ptr<Cluster>> Cluster::Open(const std::string& url, Executor& executor) {
  ApplyClientSettings();
  XEC_ASSIGN_OR_RETURN(ServerAddress address, ParseServerUrl(url));
  auto door = std::make_shared<Endpoint>(address.host_port, address.prefix, &executor, /*patient=*/false);
  XEC_ASSIGN_OR_RETURN(const bool manager, door->IsManager(executor.Now() + kAnswerLimit));
  if (!manager) {
    door = std::make_shared<Endpoint>(address.host_port, address.prefix, &executor, true);
    door->LookForGateway(executor.Now() + kAnswerLimit);
  }
  auto cluster =
      std::make_unique<Cluster>(door, address.prefix, "root://" + address.host_port, manager, executor);
  if (manager) XEC_TRY(cluster->Refresh());
  return cluster;
}

Cluster::Cluster(EndpointPtr door, std::string prefix, std::string url, bool has_redirector,
                 Executor& executor)
    : door_(std::move(door)),
      prefix_(std::move(prefix)),
      url_(std::move(url)),
      has_redirector_(has_redirector),
      executor_(executor),
      workers_(Workers::kCount) {
  if (!has_redirector_) {
    members_.push_back(std::make_shared<ClusterMember>(door_));
    return;
  }
  keeps_fresh_ = std::jthread([this](const std::stop_token& stop) { KeepFresh(stop); });
}

Cluster::~Cluster() {
  keeps_fresh_.request_stop();
  {
    const MutexLock lock(mutex_);
    changed_.NotifyAll();
  }
  if (keeps_fresh_.joinable()) keeps_fresh_.join();
  // What its work refers to is there until it has ended.
  workers_.SetCount(0);
}

void Cluster::KeepFresh(const std::stop_token& stop) {
  while (true) {
    {
      MutexLock lock(mutex_);
      const TimePoint started = executor_.Now();
      while (!stop.stop_requested()) {
        const TimePoint next = started + (some_fail_ ? kRefreshSoon : kRefreshEvery);
        if (executor_.Now() >= next) break;
        changed_.WaitUntil(mutex_, next);
      }
    }
    if (stop.stop_requested()) return;
    const Status refreshed = Refresh();
    if (!refreshed)
      Log(LogLevel::kWarning, "mount", "the list of data servers stays: {}", refreshed.error().message);
    AskFailingAgain();
  }
}

// So that those that are well again are known to be, and the list is looked at until the others are gone.
void Cluster::AskFailingAgain() {
  bool some = false;
  for (const ClusterMemberPtr& member : members()) {
    if (!member->failing()) continue;
    const Result<Told> top = member->endpoint()->Stat("/", executor_.Now() + kProbeLimit);
    member->Answered(top ? std::nullopt : std::optional<Code>(top.code()));
    some = some || member->failing();
  }
  const MutexLock lock(mutex_);
  some_fail_ = some;
}

void Cluster::RefreshSoon() {
  const MutexLock lock(mutex_);
  if (std::exchange(some_fail_, true)) return;
  changed_.NotifyAll();
}

std::vector<ClusterMemberPtr> Cluster::members() const {
  const MutexLock lock(mutex_);
  return members_;
}

ClusterMemberPtr Cluster::Find(const std::string& host_port) const {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const ClusterMemberPtr& member) {
    return member->endpoint()->host_port() == host_port;
  });
  return found == members_.end() ? nullptr : *found;
}

Status Cluster::Refresh() {
  if (!has_redirector_) return OkStatus();
  auto found = SyncWait(DiscoverServers(url_, executor_, executor_.Now() + kAnswerLimit));
  const MutexLock lock(mutex_);
  if (!found) return found.error();
  if (found->empty()) return Fail(Code::kUnavailable, "{} knows no data server", url_);
  std::vector<ClusterMemberPtr> members;
  for (const std::string& host_port : *found) {
    const auto known = std::find_if(members_.begin(), members_.end(), [&](const ClusterMemberPtr& member) {
      return member->endpoint()->host_port() == host_port;
    });
    members.push_back(known != members_.end() ? *known
                                              : std::make_shared<ClusterMember>(std::make_shared<Endpoint>(
                                                    host_port, prefix_, &executor_, /*patient=*/false)));
  }
  std::sort(members.begin(), members.end(), ByAddress);
  if (members.size() != members_.size())
    Log(LogLevel::kInfo, "mount", "{} has {} data servers", url_, members.size());
  members_ = std::move(members);
  // What a server that is gone had may be elsewhere.
  places_.clear();
  return OkStatus();
}

ClusterMemberPtr Cluster::PlaceOf(const std::string& path) const {
  const MutexLock lock(mutex_);
  if (!has_redirector_) return members_.front();
  const auto found = places_.find(path);
  return found == places_.end() ? nullptr : found->second;
}

void Cluster::SetPlace(const std::string& path, const ClusterMemberPtr& member) {
  if (!has_redirector_ || member == nullptr) return;
  const MutexLock lock(mutex_);
  if (places_.size() >= kPlacesMax) places_.clear();
  places_[path] = member;
}

void Cluster::ForgetPlace(const std::string& path) {
  const MutexLock lock(mutex_);
  places_.erase(path);
}

void Cluster::ForgetPlaces() {
  const MutexLock lock(mutex_);
  places_.clear();
}

}  // namespace xec
