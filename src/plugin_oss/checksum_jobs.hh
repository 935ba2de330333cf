// SPDX-License-Identifier: LGPL-3.0-or-later
// ChecksumJobs: checksums that were not made when an object was written. Each is computed once for all that
// ask, from verified data, and kept with the version, so that nobody computes it again. Nobody waits for long
// in here: a request holds up what else its connection carries, and clients give up after a minute of
// silence; so the client is told to ask again. XRootD's own way for this, a job that calls Calc and answers
// later, can lose the answer of a job that fails at once (XRootD 5.5 to 6.1: XrdXrootdJob::Schedule sets the
// status of a job that has ended), and takes all algorithms of a name for one job.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/store.hh"
#include "base/mutex.hh"

namespace xec {

class ChecksumJobs {
 public:
  struct Limits {
    size_t at_once = 2;  // objects read at the same time, 4 MiB of memory each; others wait in line
    size_t jobs_max = 1000;  // computed, waiting and done ones that are remembered
    std::chrono::milliseconds wait = std::chrono::seconds(2);  // in Ask
    // One for which nobody has asked for so long is given up, done or not.
    std::chrono::milliseconds kept = std::chrono::seconds(60);
    // For so long a client that asks again hears of a failure; then it is tried again. More than XRootD has
    // clients wait.
    std::chrono::milliseconds failure_kept = std::chrono::seconds(10);
  };

  // `store` outlives it. Starts threads with the first job only, after the daemon has forked.
  ChecksumJobs(Store& store, Limits limits) : store_(store), limits_(limits) {}
  ChecksumJobs(const ChecksumJobs&) = delete;
  ChecksumJobs& operator=(const ChecksumJobs&) = delete;
  ~ChecksumJobs();

  // The checksum, in lower-case hex, of the version that the caller has just seen at `path`; nullopt: it is
  // not ready, ask again. `options` is for this one algorithm. Errors: as Store::OpenRead and
  // ReadHandle::Read; kConflict when another version lives there by now; kUnsupported, see ObjectDigests;
  // kUnavailable when there are too many.
  Result<std::optional<std::string>> Ask(const std::string& path, Version version,
                                         const std::string& algorithm, const DigestOptions& options);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Job {
    std::string path, algorithm;
    Version version;
    DigestOptions options;
    TimePoint asked;  // guarded by mutex_, as all below
    size_t waiting = 0;  // callers in Ask
    std::optional<Result<std::string>> result;
    TimePoint ended;
  };
  using JobPtr = std::shared_ptr<Job>;
  using Key = std::tuple<std::string, Version, std::string>;  // path, version, algorithm

  Result<JobPtr> Find(const Key& key, const DigestOptions& options) XEC_REQUIRES(mutex_);
  // Under mutex_, as the next.
  bool Forgotten(const Job& job, TimePoint now) const;
  bool FailedLongAgo(const Job& job, TimePoint now) const;
  void Forget() XEC_REQUIRES(mutex_);
  void Work(const std::stop_token& stop);
  bool GoOn(const Job& job, const std::stop_token& stop);
  Result<std::string> Compute(const Job& job, const std::stop_token& stop);
  void Keep(const Job& job, const std::string& hex);

  Store& store_;
  const Limits limits_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Key, JobPtr> jobs_ XEC_GUARDED_BY(mutex_);
  std::deque<JobPtr> line_ XEC_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
