// SPDX-License-Identifier: LGPL-3.0-or-later
// The jobs of a store: what a process that has opened it does by itself. Each is one file of this folder and
// one line in store_jobs.cc.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "assembly/configuration/configuration.hh"
#include "assembly/maintenance/generation.hh"
#include "assembly/maintenance/upload_journal.hh"
#include "base/mutex.hh"
#include "commit/disk/disk_clock.hh"
#include "jobs/job_runner.hh"
#include "space/space_ledger.hh"

namespace xec {

// The disks that the last look at their clocks showed to have gone back in time. Thread-safe.
class DisksGoneBack {
 public:
  void Set(const std::vector<MemberIndex>& members) {
    MutexLock lock(mutex_);
    members_ = {members.begin(), members.end()};
  }
  std::set<MemberIndex> Get() const {
    MutexLock lock(mutex_);
    return members_;
  }

 private:
  mutable Mutex mutex_;
  std::set<MemberIndex> members_ XEC_GUARDED_BY(mutex_);
};

// What the jobs of a store work with. It outlives them, and all that it refers to outlives it. Each step of a
// job asks anew for what belongs to the list of members, which may be another one by then; what it got stays.
struct JobSite {
  std::function<Generation&()> now;
  // Goes on by this later list, which enough data servers showed when they were asked at `asked`.
  std::function<Task<Status>(StoreDescriptor next, TimePoint asked)> follow;
  DiskClocksPtr clocks;
  const Configuration& configuration;
  std::string process;  // how lists of jobs name this one
  JobRunner& runner;
  SpaceLedger* space = nullptr;  // null: changes are not summed up
  UploadJournal* uploads = nullptr;  // null: they are not noted
  std::shared_ptr<DisksGoneBack> gone_back = std::make_shared<DisksGoneBack>();

  Engine& engine() const { return *now().engine; }
  Engine& beneath() const { return *now().beneath; }
  // Answers only while this process may go by its list of members.
  Maintenance& store() const { return *now().maintenance; }
  RepairQueue& damage() const { return now().layout->damage(); }
  size_t confirmations() const { return now().confirmations; }
};

struct JobKind {
  JobText text;
  bool in_commands = false;  // runs in every process that has opened the store; else in gateways only
  // Null: this store has no use for it.
  std::unique_ptr<Job> (*make)(JobSite& site) = nullptr;
};

// The one of that reads and tells what concerns the others, which lists do not show.
inline constexpr std::string_view kJobBoardName = "jobs";

std::span<const JobKind* const> JobKinds();
std::vector<std::unique_ptr<Job>> MakeJobs(JobSite& site, bool gateway);

}  // namespace xec
