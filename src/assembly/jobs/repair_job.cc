// SPDX-License-Identifier: LGPL-3.0-or-later
// Repairs what readers and the cleaner report, one object at a time: at this process's pace, not at that of
// the finders of damage. What waits is not kept over a restart: it is found again.
#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"

namespace xec {

extern const JobKind kRepairJob;

namespace {

// How often the queue is looked at when nothing waited.
constexpr Duration kRepairInterval = std::chrono::seconds(1);

std::string Joined(const std::vector<std::string>& clauses) {
  std::string text;
  for (const std::string& clause : clauses) text += (text.empty() ? "" : "; ") + clause;
  return text;
}

// A step is one object, which cannot be cut.
class RepairJob final : public Job {
 public:
  explicit RepairJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kRepairJob.text; }
  Duration first_pause() const override { return kRepairInterval; }

  Task<StepEnd> Step(JobStep step) override {
    RepairQueue& queue = site_.damage();
    Executor& executor = site_.engine().executor();
    const std::optional<DamagedObject> object = queue.Take(executor.Now());
    StepEnd end{.kind = StepEnd::kRest, .pause = kRepairInterval};
    if (!object) {
      TellDropped();
      co_return end;
    }
    step.show({.done = done_, .total = done_ + 1 + queue.counts().waiting, .at = object->path.text()});
    const RepairQueue::End repaired = co_await Repair(*object, end);
    if (!queue.Finish(*object, repaired, executor.Now())) {
      Log(LogLevel::kWarning, "repair", "{} is given up until somebody meets the damage again",
          object->path.text());
    }
    ++done_;
    step.show({.done = done_, .total = done_ + queue.counts().waiting});
    end.kind = StepEnd::kMore;
    end.pause = {};
    end.units = 1;
    co_return end;
  }

 private:
  // One line for each object in which something was wrong.
  Task<RepairQueue::End> Repair(const DamagedObject& object, StepEnd& end) {
    using End = RepairQueue::End;
    const std::string path = object.path.text();
    RepairOptions options;
    options.version = object.version;
    const Result<RepairReport> report = co_await site_.store().Repair(path, std::move(options), {});
    if (!report && report.code() == Code::kNotFound) co_return End::kRepaired;
    if (!report) {
      Log(LogLevel::kWarning, "repair", "{} cannot be repaired now ({}): {}", path, object.problem,
          report.error().message);
      end.problem = report.error();
      co_return End::kFailed;
    }
    if (report->archives_bad == 0 && report->problems.empty()) co_return End::kWhole;
    const bool done = report->problems.empty();
    Log(done ? LogLevel::kInfo : LogLevel::kWarning, "repair", "{}: {} of {} archives written anew: {}{}{}",
        path, report->archives_made, report->archives_bad, Joined(report->made),
        report->made.empty() || done ? "" : "; ", Joined(report->problems));
    if (!done) end.problem = Fail(Code::kUnavailable, "{}: {}", path, report->problems.front());
    co_return done ? End::kRepaired : End::kFailed;
  }

  void TellDropped() {
    const RepairQueue::Counts counts = site_.damage().counts();
    if (counts.dropped > dropped_) {
      Log(LogLevel::kWarning, "repair", "{} reports of damage did not fit the queue of {}; {} objects wait",
          counts.dropped - dropped_, RepairQueue::kObjectsMax, counts.waiting);
    }
    dropped_ = counts.dropped;
  }

  JobSite& site_;
  uint64_t done_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace

constinit const JobKind kRepairJob = {
    .text = {.name = "repair",
             .summary = "writes lost and damaged archives of objects anew that readers and the cleaner met",
             .unit = "objects"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<RepairJob>(site); }};

}  // namespace xec
