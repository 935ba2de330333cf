// SPDX-License-Identifier: LGPL-3.0-or-later
// Carries out changes of the data servers that somebody has begun.
#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "jobs/stepped_walk.hh"
#include "placement/list_changes.hh"
#include "store/change_list.hh"

namespace xec {

extern const JobKind kChangeJob;

namespace {

// How often it is seen whether a change is under way, which costs nothing.
constexpr Duration kLookInterval = std::chrono::seconds(2);
// After a part of a change that failed.
constexpr Duration kTryAgain = std::chrono::seconds(10);

// A step ends between two names, or within a wait.
class ChangeJob final : public Job {
 public:
  explicit ChangeJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kChangeJob.text; }

  Task<StepEnd> Step(JobStep step) override {
    StepEnd end{.kind = StepEnd::kRest, .pause = kLookInterval};
    if (!walk_ && NeedSettled(site_.now().stored)) co_return end;
    if (!walk_) Begin();
    const auto show = step.show;
    const bool ended = co_await walk_->Step(std::move(step));
    const WalkPoint& point = walk_->point();
    show({.done = point.done, .at = point.at});
    end.units = walk_->units();
    end.kind = StepEnd::kMore;
    end.pause = {};
    if (!ended) co_return end;
    end.kind = StepEnd::kRest;
    end.pause = kTryAgain;
    end.problem = Finish();
    walk_.reset();
    show({});
    co_return end;
  }

  Task<void> Cancel() override {
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
  }

 private:
  void Begin() {
    Log(LogLevel::kInfo, "members", "a change of the data servers is under way");
    done_ = std::make_shared<Status>();
    walk_.emplace(site_.engine().scope(), site_.engine().executor(),
                  [this, done = done_](Turn turn) { return CarryOut(std::move(turn), done); });
  }

  Task<void> CarryOut(Turn turn, std::shared_ptr<Status> done) {
    *done = co_await CarryOutChange(
        [this] {
          Generation& in_use = site_.now();
          return ListInUse{*in_use.engine, in_use.stored};
        },
        std::move(turn));
  }

  std::optional<Error> Finish() {
    if (*done_) {
      Log(LogLevel::kInfo, "members", "the change of the data servers is complete");
      return std::nullopt;
    }
    if (done_->code() != Code::kCancelled)
      Log(LogLevel::kWarning, "members", "the change of the data servers waits: {}", done_->error().message);
    return done_->error();
  }

  JobSite& site_;
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Status> done_;
};

}  // namespace

constinit const JobKind kChangeJob = {
    .text = {.name = "change",
             .summary = "carries out changes of the data servers",
             .unit = "names",
             .has_passes = true},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<ChangeJob>(site); }};

}  // namespace xec
