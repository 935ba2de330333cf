// SPDX-License-Identifier: LGPL-3.0-or-later
// JobRunner: runs all jobs of a process on its executor, each by itself, one step at a time. When a step
// comes and what it may do is decided in job_schedule.hh.
//
//   held --Tell--> waiting --due--> running --kRest, kMore--> waiting (of kMore: shown as running)
//                   ^    |            |------kDone---------> done
//   resumed --------+    +--paused--> paused, when no step is under way
//
// Jobs that must run are never held nor paused. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.hh"
#include "jobs/alarm.hh"
#include "jobs/job.hh"
#include "jobs/job_orders.hh"
#include "jobs/job_record.hh"
#include "jobs/job_schedule.hh"

namespace xec {

class JobRunner {
 public:
  // Both outlive the runner. `scope` has to be drained, after Stop, before the runner goes.
  JobRunner(Executor& executor, TaskScope& scope) : executor_(executor), scope_(scope) {}
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  // Once; the names are unique. After Stop it does nothing.
  void Start(std::vector<std::unique_ptr<Job>> jobs);

  // What an earlier process told of the pass that it had under way. Before the first Tell.
  void Restore(std::string_view job, std::string cursor);
  // What was asked of jobs; all of it, each time. The first call lets those jobs begin that may be paused;
  // passes are cancelled for what is new in later ones.
  void Tell(const JobOrders& orders);

  // No step begins any more, and those under way are told to end; passes are given up. For ever.
  void Stop();

  std::vector<JobReport> Reports() const;

 private:
  struct Entry {
    Entry(std::unique_ptr<Job> the_job, Executor& executor) : job(std::move(the_job)), alarm(executor) {}
    const std::unique_ptr<Job> job;  // used by its own loop only
    Alarm alarm;
    JobStanding standing;  // guarded by mutex_ of the runner, as all below
    bool in_step = false;
    bool in_pass = false;
    int failures = 0;
    int64_t cancel_seen_ms = 0;
    std::string restored;
    JobReport report;
  };

  std::unique_ptr<Entry> NewEntry(std::unique_ptr<Job> job) const;
  Task<void> Run(Entry& entry);
  NextMove Look(Entry& entry);
  Task<void> DoStep(Entry& entry);
  void Begin(Entry& entry);
  void Note(Entry& entry, const StepEnd& end, TimePoint began, std::string cursor);
  void NoteCancelled(Entry& entry);
  bool IsStopped(const Entry& entry) const;
  void Show(Entry& entry, JobProgress progress);
  // After what it goes by has changed.
  void Restate(Entry& entry) const XEC_REQUIRES(mutex_);
  void RingAll();

  Executor& executor_;
  TaskScope& scope_;
  mutable Mutex mutex_;
  bool stopped_ XEC_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Entry>> entries_ XEC_GUARDED_BY(mutex_);  // set once
};

}  // namespace xec
