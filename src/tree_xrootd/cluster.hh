// SPDX-License-Identifier: LGPL-3.0-or-later
// Cluster: the data servers behind one address: a server, or those below a redirector and the redirectors
// below it. It asks many of them at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.hh"
#include "tree_xrootd/ask_limits.hh"
#include "tree_xrootd/endpoint.hh"
#include "tree_xrootd/round.hh"
#include "tree_xrootd/workers.hh"

namespace xec {

// A data server, and whether it answers. Thread-safe.
class ClusterMember {
 public:
  explicit ClusterMember(EndpointPtr endpoint) : endpoint_(std::move(endpoint)) {}
  const EndpointPtr& endpoint() const { return endpoint_; }

  // One that has not answered in time is asked by one request now and then; other requests fail at once, so
  // that workers are there for other servers. False: not now.
  bool MayAsk();
  // How a request of it ended; nullopt: well.
  void Answered(std::optional<Code> failure);
  // Has the last request not reached it?
  bool failing() const;

 private:
  const EndpointPtr endpoint_;
  mutable Mutex mutex_;
  bool failing_ XEC_GUARDED_BY(mutex_) = false;
  bool silent_ XEC_GUARDED_BY(mutex_) = false;
  TimePoint again_ XEC_GUARDED_BY(mutex_) = {};  // when a silent one is asked next
};
using ClusterMemberPtr = std::shared_ptr<ClusterMember>;

// Blocking, thread-safe.
class Cluster {
 public:
  // The list of data servers is asked for anew so often, and so often while one of them cannot be reached.
  static constexpr Duration kRefreshEvery = std::chrono::minutes(3);
  static constexpr Duration kRefreshSoon = std::chrono::seconds(5);
  // Names whose server is remembered.
  static constexpr size_t kPlacesMax = 200'000;

  // `url`: root://host:port//prefix. The address is asked what it is. Errors: kInvalidArgument, kUnavailable,
  // kDeadlineExceeded.
  static Result<std::unique_ptr<Cluster>> Open(const std::string& url, Executor& executor);
  // For Open.
  Cluster(EndpointPtr door, std::string prefix, std::string url, bool has_redirector, Executor& executor);
  ~Cluster();

  // True: new files go through a redirector, and a name may be on several servers.
  bool has_redirector() const { return has_redirector_; }
  // The address that was given.
  const EndpointPtr& door() const { return door_; }
  Workers& workers() { return workers_; }

  std::vector<ClusterMemberPtr> members() const;
  // Null: there is none with this address.
  ClusterMemberPtr Find(const std::string& host_port) const;
  // Asks for the list of data servers. Error: it stays as it is.
  Status Refresh();

  // Answers of these members in their order. `enough`: the first such answer is waited for, and the others
  // are given up. What is not answered in time is kDeadlineExceeded.
  template <typename T>
  std::vector<Result<T>> AskAll(const std::vector<ClusterMemberPtr>& whom,
                                std::function<Result<T>(const Endpoint&, TimePoint)> ask,
                                std::function<bool(const Result<T>&)> enough = nullptr);

  // Where a name was seen last. Null: nowhere.
  ClusterMemberPtr PlaceOf(const std::string& path) const;
  void SetPlace(const std::string& path, const ClusterMemberPtr& member);
  void ForgetPlace(const std::string& path);
  void ForgetPlaces();

 private:
  void KeepFresh(const std::stop_token& stop);
  void RefreshSoon();
  void AskFailingAgain();
  // One request, on a worker's thread or the caller's.
  template <typename T>
  Result<T> AskOne(const ClusterMemberPtr& member, TimePoint deadline,
                   const std::function<Result<T>(const Endpoint&, TimePoint)>& ask);

  const EndpointPtr door_;
  const std::string prefix_;
  const std::string url_;
  const bool has_redirector_;
  Executor& executor_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool some_fail_ XEC_GUARDED_BY(mutex_) = false;
  std::vector<ClusterMemberPtr> members_ XEC_GUARDED_BY(mutex_);  // by address
  std::unordered_map<std::string, ClusterMemberPtr> places_ XEC_GUARDED_BY(mutex_);
  Workers workers_;
  std::jthread keeps_fresh_;
};

template <typename T>
Result<T> Cluster::AskOne(const ClusterMemberPtr& member, TimePoint deadline,
                          const std::function<Result<T>(const Endpoint&, TimePoint)>& ask) {
  const Endpoint& endpoint = *member->endpoint();
  if (executor_.Now() >= deadline || !member->MayAsk())
    return Fail(Code::kUnavailable, "root://{} has not answered a moment ago", endpoint.host_port());
  Result<T> answer = ask(endpoint, deadline);
  member->Answered(answer ? std::nullopt : std::optional<Code>(answer.code()));
  if (member->failing()) RefreshSoon();
  return answer;
}

template <typename T>
std::vector<Result<T>> Cluster::AskAll(const std::vector<ClusterMemberPtr>& whom,
                                       std::function<Result<T>(const Endpoint&, TimePoint)> ask,
                                       std::function<bool(const Result<T>&)> enough) {
  const TimePoint deadline = executor_.Now() + kAnswerLimit;
  const auto round = std::make_shared<Round<T>>(whom.size(), std::move(enough));
  for (size_t i = 0; i < whom.size(); ++i) {
    const bool posted = workers_.Post([this, round, i, deadline, member = whom[i], ask] {
      if (!round->over()) round->Take(i, AskOne<T>(member, deadline, ask));
    });
    if (!posted) round->Take(i, Fail(Code::kUnavailable, "too many questions wait for workers"));
  }
  return round->Wait(deadline, [&whom](size_t i) { return "root://" + whom[i]->endpoint()->host_port(); });
}

}  // namespace xec
