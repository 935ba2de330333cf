// SPDX-License-Identifier: LGPL-3.0-or-later
// The gateway's cleaner: one pass over all names after the other.
#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "jobs/stepped_walk.hh"

namespace xec {

extern const JobKind kCleanJob;

namespace {

// A step ends between two names; what cannot be cut is the cleaning of one.
class CleanJob final : public Job {
 public:
  explicit CleanJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kCleanJob.text; }
  JobPace pace() const override { return {.units_per_second = site_.configuration.clean_rate}; }
  Duration first_pause() const override { return site_.configuration.clean_interval; }

  Task<StepEnd> Step(JobStep step) override {
    Executor& executor = site_.engine().executor();
    if (!walk_) Begin();
    const TimePoint began = executor.Now();
    const auto show = step.show;
    const bool ended = co_await walk_->Step(std::move(step));
    worked_ += executor.Now() - began;
    const WalkPoint& point = walk_->point();
    StepEnd end{.kind = StepEnd::kMore, .units = walk_->units()};
    if (!ended) {
      show({.done = point.done, .total = names_, .at = point.at});
      co_return end;
    }
    end.kind = StepEnd::kRest;
    end.pause = PauseAfter(worked_, site_.configuration.clean_interval);
    end.problem = Finish();
    show({.done = names_.value_or(0), .total = names_});
    walk_.reset();
    co_return end;
  }

  Task<void> Cancel() override {
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
  }

  std::string cursor() const override { return walk_ ? walk_->point().at : ""; }
  void Restore(std::string cursor) override {
    Log(LogLevel::kInfo, "cleaner", "begins at {}, where the process before this one was", cursor);
    from_ = std::move(cursor);
  }

 private:
  void Begin() {
    worked_ = {};
    report_ = std::make_shared<Report>();
    CleanOptions options{.from = std::exchange(from_, "")};
    walk_.emplace(
        site_.engine().scope(), site_.engine().executor(),
        [this, options, report = report_](Turn turn) { return Pass(options, std::move(turn), report); });
  }

  using Report = std::optional<Result<CleanReport>>;
  Task<void> Pass(CleanOptions options, Turn turn, std::shared_ptr<Report> report) {
    options.turn = std::move(turn);
    *report = co_await site_.store().CleanLed(std::move(options));
  }

  std::optional<Error> Finish() {
    const Result<CleanReport>& report = **report_;
    if (!report) {
      Log(LogLevel::kWarning, "cleaner", "{}", report.error().message);
      return report.error();
    }
    names_ = report->names;
    if (report->removed > 0) {
      Log(LogLevel::kInfo, "cleaner", "removed {} files of {} names, {} left for later", report->removed,
          report->names, report->left);
    }
    return std::nullopt;
  }

  JobSite& site_;
  std::string from_;
  // Of the pass under way.
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Report> report_;
  Duration worked_{};
  std::optional<uint64_t> names_;  // in the last pass
};

}  // namespace

constinit const JobKind kCleanJob = {
    .text = {.name = "clean",
             .summary =
                 "removes what interrupted work and replaced versions left, and finds what lacks archives",
             .unit = "names",
             .has_passes = true},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<CleanJob>(site); }};

}  // namespace xec
