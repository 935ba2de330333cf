// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/jobs/store_jobs.hh"

#include "assembly/maintenance/known_jobs.hh"

namespace xec {

// A new job is a file that defines one of these, its name here, and the file's in CMakeLists.txt.
extern const JobKind kMembersJob, kCleanJob, kRepairJob, kTidyJob, kClocksJob, kWritesJob, kCompareJob,
    kChangeJob, kRebuildJob, kInventoryJob, kSpaceJob, kCountJob, kUploadsJob, kCrowdedJob, kBoardJob;

std::span<const JobKind* const> JobKinds() {
  static const JobKind* const kinds[] = {
      &kMembersJob, &kCleanJob,   &kRepairJob,  &kTidyJob,    &kClocksJob,
      &kWritesJob,  &kCompareJob, &kChangeJob,  &kRebuildJob, &kInventoryJob,
      &kSpaceJob,   &kCountJob,   &kUploadsJob, &kCrowdedJob, &kBoardJob,
  };
  return kinds;
}

std::vector<std::unique_ptr<Job>> MakeJobs(JobSite& site, bool gateway) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (const JobKind* const kind : JobKinds()) {
    if (!gateway && !kind->in_commands) continue;
    std::unique_ptr<Job> job = kind->make(site);
    if (job) jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<const JobText*> KnownJobs() {
  std::vector<const JobText*> known;
  for (const JobKind* const kind : JobKinds()) {
    if (kind->text.name != kJobBoardName) known.push_back(&kind->text);
  }
  return known;
}

}  // namespace xec
