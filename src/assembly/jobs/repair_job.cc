// SPDX-License-Identifier: LGPL-3.0-or-later
// Repairs what readers and the cleaner report, several objects at a time: at this process's pace, not at that
// of the finders of damage. What waits is not kept over a restart: it is found again.
#include <map>

#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "runtime/gather.hh"
#include "store/rebuild.hh"

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

// A step begins with as many objects as may be under way and ends when one of them does; it cannot be cut.
class RepairJob final : public Job {
 public:
  explicit RepairJob(JobSite& site)
      : site_(site),
        pace_(RepairsThatFit(site.engine())),
        gather_(site.engine().scope(), site.engine().executor()) {}

  const JobText& text() const override { return kRepairJob.text; }
  Duration first_pause() const override { return kRepairInterval; }

  Task<StepEnd> Step(JobStep step) override {
    LookAround();
    // These repairs read everything, and do not rest.
    const size_t at_once = pace_.beside_clients() ? 1 : pace_.at_once();
    while (gather_.pending() < at_once && StartOne()) {
    }
    StepEnd end{.kind = StepEnd::kRest, .pause = kRepairInterval};
    if (gather_.pending() == 0) {
      TellDropped();
      co_return end;
    }
    const auto todo = [&] { return gather_.pending() + site_.damage().counts().waiting; };
    step.show({.done = done_, .total = done_ + todo(), .at = under_way_.begin()->second.path.text()});
    Gather<Result<RepairReport>>::Event event = co_await gather_.Next();
    const DamagedObject object = std::move(under_way_.extract(event.tag).mapped());
    const RepairQueue::End repaired = Tell(object, *event.value, end);
    if (!site_.damage().Finish(object, repaired, site_.engine().executor().Now())) {
      Log(LogLevel::kWarning, "repair", "{} is given up until somebody meets the damage again",
          object.path.text());
    }
    ++done_;
    step.show({.done = done_, .total = done_ + todo()});
    end.kind = StepEnd::kMore;
    end.pause = {};
    end.units = 1;
    co_return end;
  }

 private:
  void LookAround() {
    const std::shared_ptr<ClientRequests> clients = site_.store().clients();
    if (clients) pace_.Note(xec::LookAround(site_.engine(), *clients), site_.engine().executor().Now());
  }

  // False: none waits.
  bool StartOne() {
    std::optional<DamagedObject> object = site_.damage().Take(site_.engine().executor().Now());
    if (!object) return false;
    RepairOptions options;
    options.version = object->version;
    gather_.Start(next_, site_.store().Repair(object->path.text(), std::move(options), {}));
    under_way_.emplace(next_++, std::move(*object));
    return true;
  }

  // One line for each object in which something was wrong.
  static RepairQueue::End Tell(const DamagedObject& object, const Result<RepairReport>& report,
                               StepEnd& end) {
    using End = RepairQueue::End;
    const std::string path = object.path.text();
    if (!report && report.code() == Code::kNotFound) return End::kRepaired;
    if (!report) {
      Log(LogLevel::kWarning, "repair", "{} cannot be repaired now ({}): {}", path, object.problem,
          report.error().message);
      end.problem = report.error();
      return End::kFailed;
    }
    if (report->archives_bad == 0 && report->problems.empty()) return End::kWhole;
    const bool done = report->problems.empty();
    Log(done ? LogLevel::kInfo : LogLevel::kWarning, "repair", "{}: {} of {} archives written anew: {}{}{}",
        path, report->archives_made, report->archives_bad, Joined(report->made),
        report->made.empty() || done ? "" : "; ", Joined(report->problems));
    if (!done) end.problem = Fail(Code::kUnavailable, "{}: {}", path, report->problems.front());
    return done ? End::kRepaired : End::kFailed;
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
  RebuildPace pace_;
  Gather<Result<RepairReport>> gather_;
  std::map<size_t, DamagedObject> under_way_;  // by tag
  size_t next_ = 0;
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
