// SPDX-License-Identifier: LGPL-3.0-or-later
// Counts what is in the store for each group of its space, from listings alone. Of the gateways one does it.
#include "assembly/jobs/count_walk.hh"
#include "assembly/jobs/store_jobs.hh"
#include "assembly/maintenance/space_board.hh"
#include "base/log.hh"
#include "jobs/stepped_walk.hh"

namespace xec {

extern const JobKind kCountJob;

namespace {

// Before a process looks for the first time: by then it knows what others have told.
constexpr Duration kFirstPause = std::chrono::seconds(2);
// How often it looks whether a count is due.
constexpr Duration kLookInterval = std::chrono::seconds(5);
// The pause after a count, if that was short.
constexpr Duration kPauseMin = std::chrono::minutes(1);
constexpr int kPauseForCount = 4;  // times as long as a count took
// Before a page that could not be listed is asked for again.
constexpr Duration kTryAgainAfter = std::chrono::seconds(5);
constexpr uint64_t kNamesPerSecond = 5000;

Task<Result<NamesPage>> ListPage(Generation& store, std::string directory, ListOptions options) {
  const Status in_force = store.engine->MembersInForce();
  if (!in_force) co_return in_force.error();
  co_return co_await store.layout->ListPage(std::move(directory), std::move(options));
}

// A step ends between two names.
class CountJob final : public Job {
 public:
  explicit CountJob(JobSite& site) : site_(site), ledger_(*site.space) {}

  const JobText& text() const override { return kCountJob.text; }
  JobPace pace() const override { return {.units_per_second = kNamesPerSecond}; }
  Duration first_pause() const override { return kFirstPause; }

  Task<StepEnd> Step(JobStep step) override {
    if (!walk_) {
      const bool begun = co_await Begin();
      if (!begun) co_return StepEnd{.kind = StepEnd::kRest, .pause = kLookInterval};
    }
    const auto show = step.show;
    StepEnd end{.kind = StepEnd::kMore};
    if (!walk_ended_) {
      co_await GoOn(std::move(step));
      end.units = walk_->units();
      show({.done = walk_->point().done, .total = names_, .at = walk_->point().at});
      if (counting_->waits) end.pause = kTryAgainAfter;
      if (!walk_ended_) co_return end;
    }
    end.pause = kLookInterval;
    if (*walked_) {
      const Status heard = co_await HearOfSpace(site_.engine(), ledger_);
      if (!heard) {
        end.problem = heard.error();
        co_return end;
      }
      Finish();
    } else {
      Rest(kPauseMin, kPauseMin);
    }
    end.kind = StepEnd::kRest;
    end.problem = Problem();
    show({.done = names_.value_or(0), .total = names_});
    walk_.reset();
    co_return end;
  }

  // Another one does not begin at once.
  Task<void> Cancel() override {
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
    Rest(kPauseMin, kPauseMin);
  }

 private:
  int64_t Now() const { return site_.engine().executor().WallNow(); }

  bool IsDue() const {
    const TimePoint now = site_.engine().executor().Now();
    if (now < not_before_) return false;
    const std::optional<SpaceCount> last = ledger_.count();
    if (!last || ledger_.MovedSince(last->began_ms)) return true;
    if (now < rests_until_) return false;
    const Duration since = std::chrono::milliseconds(Now() - last->ended_ms);
    // The clock of another one may be ahead.
    return since < -kPauseMin || since >= PauseAfter(*last);
  }

  static Duration PauseAfter(const SpaceCount& count) {
    return std::max<Duration>(kPauseMin,
                              kPauseForCount * std::chrono::milliseconds(count.ended_ms - count.began_ms));
  }

  // Makes walk_, if a count is due and this process is to make it.
  Task<bool> Begin() {
    if (!IsDue() || !IsFirst()) co_return false;
    Generation& now = site_.now();
    const Status heard = co_await HearOfSpace(*now.engine, ledger_);
    if (!heard || !IsDue() || !IsFirst()) co_return false;
    began_ms_ = Now();
    before_ = Sums();
    walked_ = std::make_shared<Status>();
    walk_ended_ = false;
    counting_ = std::make_shared<Counting>(ledger_.groups());
    walk_.emplace(now.engine->scope(), site_.engine().executor(),
                  [&now, walked = walked_, counting = counting_](Turn turn) {
                    return Walk(now, counting, std::move(turn), walked);
                  });
    co_return true;
  }

  bool IsFirst() const {
    const Duration silent = kJobsSilentAfter;
    return ledger_.IsFirst(Now() - std::chrono::duration_cast<std::chrono::milliseconds>(silent).count());
  }

  static Task<void> Walk(Generation& store, std::shared_ptr<Counting> counting, Turn turn,
                         std::shared_ptr<Status> walked) {
    const ListPages list = [&store](std::string directory, ListOptions options) {
      return ListPage(store, std::move(directory), std::move(options));
    };
    *walked = co_await CountTree(list, *counting, std::move(turn));
  }

  Task<void> GoOn(JobStep step) {
    counting_->waits = false;
    // It asks again in the next step.
    step.stopped = [counting = counting_, stopped = step.stopped] { return counting->waits || stopped(); };
    walk_ended_ = co_await walk_->Step(std::move(step));
    // Of those that have begun, or were heard, only since.
    before_.merge(Sums());
  }

  std::optional<Error> Problem() const {
    if (!*walked_) return walked_->error();
    if (counting_->left_out == 0) return std::nullopt;
    return Fail(counting_->why.code, "{} directories could not be counted to their ends{}; the first one: {}",
                counting_->left_out, taken_ ? "" : ", so the count before stays", counting_->why.message);
  }

  // `least`: even if something was moved.
  void Rest(Duration least, Duration pause) {
    const TimePoint now = site_.engine().executor().Now();
    not_before_ = now + least;
    rests_until_ = now + pause;
  }

  // Of those that are gone nothing changes any more, whatever they have written.
  std::map<std::string, UsageByPrefix> Sums() const {
    const Duration gone = kJobsForgottenAfter;
    return ledger_.Sums(Now() - std::chrono::duration_cast<std::chrono::milliseconds>(gone).count());
  }

  void Finish() {
    SpaceCount count{.began_ms = began_ms_,
                     .ended_ms = Now(),
                     .found = std::move(counting_->found),
                     .sums = MiddleOf(before_, Sums())};
    const std::optional<SpaceCount> last = ledger_.count();
    // What is known of all is better than what was found of a part, and that better than nothing.
    taken_ = !last || counting_->left_out == 0;
    Rest(taken_ ? kPauseMin : PauseAfter(count), PauseAfter(count));
    names_ = counting_->done;
    if (!taken_) return;
    // The latest one counts for all.
    if (last) count.ended_ms = std::max(count.ended_ms, last->ended_ms + 1);
    ledger_.TakeCount(std::move(count));
  }

  JobSite& site_;
  SpaceLedger& ledger_;
  std::optional<uint64_t> names_;  // in the last count
  // After one of its own; the second only unless something was moved.
  TimePoint not_before_{}, rests_until_{};
  // Of the walk under way.
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Status> walked_;
  std::shared_ptr<Counting> counting_;
  bool walk_ended_ = false;
  bool taken_ = false;  // its count stands
  int64_t began_ms_ = 0;
  std::map<std::string, UsageByPrefix> before_;  // the sums when it began
};

}  // namespace

constinit const JobKind kCountJob = {
    .text = {.name = "count",
             .summary = "counts what the groups of the space use, if no other gateway does",
             .unit = "names",
             .has_passes = true},
    .make = [](JobSite& site) -> std::unique_ptr<Job> {
      if (site.space == nullptr) return nullptr;
      return std::make_unique<CountJob>(site);
    }};

}  // namespace xec
