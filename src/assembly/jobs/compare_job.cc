// SPDX-License-Identifier: LGPL-3.0-or-later
// Compares disks that went back in time with the others, until they can be used again.
#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "jobs/stepped_walk.hh"

namespace xec {

extern const JobKind kCompareJob;

namespace {

// A step ends between two names; a pass is one disk.
class CompareJob final : public Job {
 public:
  explicit CompareJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kCompareJob.text; }
  Duration first_pause() const override { return kClockInterval; }

  Task<StepEnd> Step(JobStep step) override {
    StepEnd end{.kind = StepEnd::kRest, .pause = kClockInterval};
    if (!walk_ && waiting_.empty()) waiting_ = site_.gone_back->Get();
    while (!walk_ && !waiting_.empty()) BeginNext();
    if (!walk_) co_return end;
    const auto show = step.show;
    const bool ended = co_await walk_->Step(std::move(step));
    const WalkPoint& point = walk_->point();
    show({.done = point.done, .at = fmt::format("{} on {}", point.at, member_.id)});
    end.units = walk_->units();
    if (ended) {
      end.problem = Finish();
      walk_.reset();
      show({});
    }
    const bool more = walk_ || !waiting_.empty();
    if (more) end.kind = StepEnd::kMore;
    if (more) end.pause = {};
    co_return end;
  }

  Task<void> Cancel() override {
    waiting_.clear();
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
  }

 private:
  // Unless that disk has been compared meanwhile.
  void BeginNext() {
    const MemberIndex index = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    // They may be of the list before.
    const std::vector<Member>& members = site_.beneath().descriptor().members;
    if (index >= members.size() || !site_.gone_back->Get().contains(index)) return;
    member_ = members[index];
    Log(LogLevel::kWarning, "disks",
        "the disk of {} ({}) went back in time; it is left out until it is compared with the others",
        member_.id, member_.address);
    done_ = std::make_shared<Status>();
    walk_.emplace(site_.engine().scope(), site_.engine().executor(),
                  [this, index, done = done_](Turn turn) { return Compare(index, std::move(turn), done); });
  }

  Task<void> Compare(MemberIndex index, Turn turn, std::shared_ptr<Status> done) {
    *done = co_await ReconcileDisk(site_.engine(), site_.beneath(), site_.clocks, index, std::move(turn));
  }

  std::optional<Error> Finish() {
    if (*done_) {
      Log(LogLevel::kInfo, "disks", "the disk of {} was compared with the others and is used again",
          member_.id);
      return std::nullopt;
    }
    if (done_->code() != Code::kCancelled) {
      Log(LogLevel::kWarning, "disks", "the disk of {} cannot be compared now: {}", member_.id,
          done_->error().message);
    }
    return done_->error();
  }

  JobSite& site_;
  std::set<MemberIndex> waiting_;
  // Of the pass under way; the list may become another one meanwhile.
  Member member_;
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Status> done_;
};

}  // namespace

constinit const JobKind kCompareJob = {
    .text = {.name = "compare",
             .summary = "compares disks that went back in time with the others, so that they are used again",
             .unit = "names",
             .has_passes = true},
    .make = [](JobSite& site) -> std::unique_ptr<Job> {
      if (site.beneath().descriptor().tolerance == 0) return nullptr;
      return std::make_unique<CompareJob>(site);
    }};

}  // namespace xec
