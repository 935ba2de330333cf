// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/checksum_jobs.hh"

#include "base/log.hh"
#include "base/units.hh"
#include "runtime/sync_wait.hh"
#include "runtime/task.hh"

namespace xec {
namespace {

constexpr size_t kReadBytes = 4 * kMiB;

}  // namespace

ChecksumJobs::~ChecksumJobs() {
  std::vector<std::jthread> threads;
  {
    const MutexLock lock(mutex_);
    for (std::jthread& thread : threads_) thread.request_stop();
    threads.swap(threads_);
    changed_.NotifyAll();
  }
}

bool ChecksumJobs::Forgotten(const Job& job, TimePoint now) const {
  return job.waiting == 0 && now - job.asked > limits_.kept;
}

bool ChecksumJobs::FailedLongAgo(const Job& job, TimePoint now) const {
  return job.result && !*job.result && now - job.ended > limits_.failure_kept;
}

// One that is being computed is given up when its thread sees it.
void ChecksumJobs::Forget() {
  const TimePoint now = std::chrono::steady_clock::now();
  std::erase_if(line_, [&](const JobPtr& job) { return Forgotten(*job, now); });
  std::erase_if(jobs_, [&](const auto& known) {
    return Forgotten(*known.second, now) || FailedLongAgo(*known.second, now);
  });
}

Result<ChecksumJobs::JobPtr> ChecksumJobs::Find(const Key& key, const DigestOptions& options) {
  Forget();
  JobPtr& job = jobs_[key];
  if (job) return job;
  if (jobs_.size() > limits_.jobs_max) {
    jobs_.erase(key);
    return Fail(Code::kUnavailable, "{} checksums are being computed already; retry later", limits_.jobs_max);
  }
  job = std::make_shared<Job>();
  std::tie(job->path, job->version, job->algorithm) = key;
  job->options = options;
  job->asked = std::chrono::steady_clock::now();
  line_.push_back(job);
  while (threads_.size() < limits_.at_once)
    threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  changed_.NotifyAll();
  return job;
}

Result<std::optional<std::string>> ChecksumJobs::Ask(const std::string& path, Version version,
                                                     const std::string& algorithm,
                                                     const DigestOptions& options) {
  MutexLock lock(mutex_);
  XEC_ASSIGN_OR_RETURN(const JobPtr job, Find({path, version, algorithm}, options));
  ++job->waiting;
  const TimePoint until = std::chrono::steady_clock::now() + limits_.wait;
  while (!job->result && changed_.WaitUntil(mutex_, until)) {
  }
  --job->waiting;
  job->asked = std::chrono::steady_clock::now();
  if (!job->result) return std::optional<std::string>();
  if (!*job->result) return job->result->error();
  return std::optional<std::string>(**job->result);
}

void ChecksumJobs::Work(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (true) {
    while (line_.empty() && !stop.stop_requested()) changed_.Wait(mutex_);
    if (stop.stop_requested()) return;
    const JobPtr job = line_.front();
    line_.pop_front();
    lock.Unlock();
    Result<std::string> result = Compute(*job, stop);
    if (result) Keep(*job, *result);
    lock.Lock();
    job->result = std::move(result);
    job->ended = std::chrono::steady_clock::now();
    changed_.NotifyAll();
  }
}

// Does anybody still want it?
bool ChecksumJobs::GoOn(const Job& job, const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  return !stop.stop_requested() && !Forgotten(job, std::chrono::steady_clock::now());
}

Result<std::string> ChecksumJobs::Compute(const Job& job, const std::stop_token& stop) {
  XEC_ASSIGN_OR_RETURN(ObjectDigests digests, ObjectDigests::Create(job.options));
  XEC_ASSIGN_OR_RETURN(const std::shared_ptr<ReadHandle> reader, SyncWait(store_.Open(job.path)));
  if (reader->version() != job.version)
    return Fail(Code::kConflict, "{} was replaced while its {} was computed; retry", job.path, job.algorithm);
  std::vector<std::byte> buffer(std::min<uint64_t>(kReadBytes, reader->size()));
  for (uint64_t offset = 0; offset < reader->size();) {
    if (!GoOn(job, stop))
      return Fail(Code::kCancelled, "nobody asks for the {} of {} any more", job.algorithm, job.path);
    XEC_ASSIGN_OR_RETURN(const uint64_t got, SyncWait(reader->Read(offset, buffer)));
    if (got == 0) return Fail(Code::kCorruption, "{} ended after {} bytes", job.path, offset);
    digests.Add(ByteSpan(buffer).first(got));
    offset += got;
  }
  return digests.Finish()[job.algorithm];
}

void ChecksumJobs::Keep(const Job& job, const std::string& hex) {
  const Status kept = SyncWait(store_.KeepChecksum(job.path, job.version, job.algorithm, hex));
  if (kept) return;
  Log(LogLevel::kInfo, "checksum", "the {} of {} was computed, but is not kept: {}", job.algorithm, job.path,
      kept.error().ToString());
}

}  // namespace xec
