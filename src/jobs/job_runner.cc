// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_runner.hh"

#include <algorithm>

namespace xec {

std::unique_ptr<JobRunner::Entry> JobRunner::NewEntry(std::unique_ptr<Job> job) const {
  auto entry = std::make_unique<Entry>(std::move(job), executor_);
  entry->report.name = entry->job->text().name;
  entry->report.unit = entry->job->text().unit;
  entry->report.since_ms = executor_.WallNow();
  entry->standing.must_run = !entry->job->text().must_run.empty();
  entry->standing.due = executor_.Now() + entry->job->first_pause();
  return entry;
}

void JobRunner::Start(std::vector<std::unique_ptr<Job>> jobs) {
  std::vector<Entry*> started;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    for (auto& job : jobs) started.push_back(entries_.emplace_back(NewEntry(std::move(job))).get());
  }
  for (Entry* const entry : started) scope_.Spawn(Run(*entry));
}

Task<void> JobRunner::Run(Entry& entry) {
  while (true) {
    const NextMove next = Look(entry);
    if (next.kind == NextMove::kEnd) break;
    if (next.kind == NextMove::kWait) co_await entry.alarm.Wait(next.until);
    if (next.kind == NextMove::kStep) co_await DoStep(entry);
    if (next.kind == NextMove::kCancel) {
      co_await entry.job->Cancel();
      NoteCancelled(entry);
    }
  }
  co_await entry.job->Cancel();
}

NextMove JobRunner::Look(Entry& entry) {
  MutexLock lock(mutex_);
  Restate(entry);
  return DecideMove(entry.standing, executor_.Now());
}

Task<void> JobRunner::DoStep(Entry& entry) {
  Begin(entry);
  const TimePoint began = executor_.Now();
  JobStep step = LimitedStep(entry.job->pace(), began);
  step.stopped = [this, &entry] { return IsStopped(entry); };
  step.show = [this, &entry](JobProgress progress) { Show(entry, std::move(progress)); };
  const StepEnd end = co_await entry.job->Step(std::move(step));
  Note(entry, end, began, entry.job->cursor());
}

void JobRunner::Begin(Entry& entry) {
  std::string restored;
  {
    MutexLock lock(mutex_);
    entry.in_step = true;
    Restate(entry);
    restored.swap(entry.restored);
  }
  if (!restored.empty()) entry.job->Restore(std::move(restored));
}

void JobRunner::Note(Entry& entry, const StepEnd& end, TimePoint began, std::string cursor) {
  const JobPace pace = entry.job->pace();
  const TimePoint now = executor_.Now();
  MutexLock lock(mutex_);
  entry.in_step = false;
  entry.in_pass = end.kind == StepEnd::kMore;
  // It has ended by itself.
  if (!entry.in_pass) entry.standing.cancelled = false;
  entry.standing.done = end.kind == StepEnd::kDone;
  entry.failures = end.problem ? entry.failures + 1 : 0;
  entry.standing.due = NextDue(end, pace, entry.failures, began, now);
  entry.report.cursor = std::move(cursor);
  if (end.problem) {
    entry.report.problem = end.problem->message;
    entry.report.problem_ms = executor_.WallNow();
  }
}

void JobRunner::NoteCancelled(Entry& entry) {
  const TimePoint due = executor_.Now() + entry.job->first_pause();
  MutexLock lock(mutex_);
  entry.standing.cancelled = false;
  entry.in_pass = false;
  entry.standing.due = due;
  entry.report.cursor.clear();
  entry.report.progress = {};
}

bool JobRunner::IsStopped(const Entry& entry) const {
  MutexLock lock(mutex_);
  return entry.standing.stopping || entry.standing.cancelled;
}

void JobRunner::Show(Entry& entry, JobProgress progress) {
  MutexLock lock(mutex_);
  entry.report.progress = std::move(progress);
}

void JobRunner::Restate(Entry& entry) const {
  const JobStanding& standing = entry.standing;
  JobState state = JobState::kWaiting;
  if (standing.paused && !standing.must_run) state = JobState::kPaused;
  if (state != JobState::kPaused && entry.in_pass) state = JobState::kRunning;
  if (entry.in_step) state = JobState::kRunning;
  if (standing.done) state = JobState::kDone;
  if (state == entry.report.state) return;
  entry.report.state = state;
  entry.report.since_ms = executor_.WallNow();
}

void JobRunner::Restore(std::string_view job, std::string cursor) {
  MutexLock lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->report.name != job) continue;
    // Told on, in case this process ends before its first step.
    entry->report.cursor = cursor;
    entry->restored = std::move(cursor);
    return;
  }
}

void JobRunner::Tell(const JobOrders& orders) {
  {
    MutexLock lock(mutex_);
    for (const auto& entry : entries_) {
      const JobOrder order = orders.Of(entry->report.name);
      JobStanding& standing = entry->standing;
      // What is under way in this process began before that.
      const bool cancel = standing.told && order.cancelled_ms > entry->cancel_seen_ms;
      if (cancel && (entry->in_step || entry->in_pass) && entry->job->text().has_passes)
        standing.cancelled = true;
      if (cancel && !std::exchange(entry->restored, "").empty()) entry->report.cursor.clear();
      entry->cancel_seen_ms = std::max(entry->cancel_seen_ms, order.cancelled_ms);
      standing.paused = order.paused && !standing.must_run;
      standing.told = true;
    }
  }
  RingAll();
}

void JobRunner::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    for (const auto& entry : entries_) entry->standing.stopping = true;
  }
  RingAll();
}

void JobRunner::RingAll() {
  std::vector<Entry*> all;
  {
    MutexLock lock(mutex_);
    for (const auto& entry : entries_) all.push_back(entry.get());
  }
  for (Entry* const entry : all) entry->alarm.Ring();
}

std::vector<JobReport> JobRunner::Reports() const {
  const TimePoint now = executor_.Now();
  const int64_t now_ms = executor_.WallNow();
  std::vector<JobReport> reports;
  MutexLock lock(mutex_);
  for (const auto& entry : entries_) {
    Restate(*entry);
    JobReport& report = reports.emplace_back(entry->report);
    if (report.state != JobState::kWaiting) continue;
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(entry->standing.due - now);
    report.next_ms = now_ms + std::max<int64_t>(0, wait.count());
  }
  return reports;
}

}  // namespace xec
