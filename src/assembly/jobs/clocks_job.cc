// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads the clocks of the disks and moves them on (docs/protocol/disks.md): how a gateway notices disks
// that went back in time.
#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"

namespace xec {

extern const JobKind kClocksJob;

namespace {

// A step is one round: a few requests to each server.
class ClocksJob final : public Job {
 public:
  explicit ClocksJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kClocksJob.text; }

  Task<StepEnd> Step(JobStep) override {
    Engine& beneath = site_.beneath();
    StepEnd end{.kind = StepEnd::kRest, .pause = kClockInterval};
    ClockRound round = co_await ReadDiskClocks(beneath, site_.clocks);
    const size_t tolerance = beneath.descriptor().tolerance;
    if (round.back.size() > tolerance) {
      end.problem = Fail(Code::kNoQuorum,
                         "the disks of {} data servers went back in time, and no more than {} may be away: "
                         "see \"A disk comes back older than it was\" in docs/operations.md",
                         round.back.size(), tolerance);
      if (round.back.size() > told_) Log(LogLevel::kError, "disks", "{}", end.problem->message);
    }
    told_ = round.back.size();
    site_.gone_back->Set(round.back);
    co_await AdvanceDiskClocks(beneath, site_.clocks, std::move(round));
    co_return end;
  }

 private:
  JobSite& site_;
  size_t told_ = 0;  // so many were back in the round before
};

}  // namespace

constinit const JobKind kClocksJob = {
    .text = {.name = "clocks",
             .summary = "notices disks that went back in time, by clocks on each of them",
             .must_run = "without it a disk that lacks what was written would be believed"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> {
      // With nobody to compare with clocks are not kept.
      if (site.beneath().descriptor().tolerance == 0) return nullptr;
      return std::make_unique<ClocksJob>(site);
    }};

}  // namespace xec
