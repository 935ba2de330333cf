// SPDX-License-Identifier: LGPL-3.0-or-later
// Counts what is in the store for each group of its space, from listings alone. Of the gateways one does it.
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
constexpr uint64_t kNamesPerSecond = 5000;

// What a walk has found so far.
struct Counting {
  const std::vector<SpaceGroup>& groups;
  Turn turn;
  UsageByPrefix found = {};
  uint64_t done = 0;  // names
};

Task<Status> CountDirectory(Generation& store, std::string directory, Counting& counting) {
  ListOptions options;
  for (bool more = true; more;) {
    const Status in_force = store.engine->MembersInForce();
    if (!in_force) co_return in_force;
    Result<NamesPage> page = co_await store.layout->ListPage(directory, options);
    const bool gone = !page && (page.code() == Code::kNotFound || page.code() == Code::kNotDirectory);
    if (gone) co_return OkStatus();
    if (!page) co_return page.error();
    for (const ListedName& name : page->names) {
      std::string path = (directory == "/" ? "" : directory) + "/" + name.name;
      WalkPoint point{path, counting.done++};
      const bool goes_on = co_await counting.turn(std::move(point));
      if (!goes_on) co_return Fail(Code::kCancelled, "interrupted");
      if (!name.directory) {
        const SpaceGroup* const group = GroupOf(counting.groups, path);
        counting.found[group->prefix] += {static_cast<int64_t>(name.size), 1};
        continue;
      }
      const Status counted = co_await CountDirectory(store, std::move(path), counting);
      if (!counted) co_return counted;
    }
    more = page->more && !page->names.empty();
    if (more) options.after = page->names.back().name;
  }
  co_return OkStatus();
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
      walk_ended_ = co_await walk_->Step(std::move(step));
      end.units = walk_->units();
      // Of those that have begun, or were heard, only since.
      before_.merge(Sums());
      show({.done = walk_->point().done, .total = names_, .at = walk_->point().at});
      if (!walk_ended_) co_return end;
    }
    if (*walked_) {
      const Status heard = co_await HearOfSpace(site_.engine(), ledger_);
      if (!heard) {
        end.pause = kLookInterval;
        end.problem = heard.error();
        co_return end;
      }
    }
    end.kind = StepEnd::kRest;
    end.pause = kLookInterval;
    if (*walked_) {
      Finish();
    } else {
      end.pause = kPauseMin;
      end.problem = walked_->error();
    }
    show({.done = names_.value_or(0), .total = names_});
    walk_.reset();
    co_return end;
  }

  Task<void> Cancel() override {
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
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
    walk_.emplace(now.engine->scope(), site_.engine().executor(),
                  [this, &now, walked = walked_](Turn turn) { return Walk(now, std::move(turn), walked); });
    co_return true;
  }

  bool IsFirst() const {
    const Duration silent = kJobsSilentAfter;
    return ledger_.IsFirst(Now() - std::chrono::duration_cast<std::chrono::milliseconds>(silent).count());
  }

  Task<void> Walk(Generation& store, Turn turn, std::shared_ptr<Status> walked) {
    Counting counting{ledger_.groups(), std::move(turn)};
    for (const SpaceGroup& group : counting.groups) counting.found[group.prefix];
    *walked = co_await CountDirectory(store, "/", counting);
    found_ = std::move(counting.found);
    done_ = counting.done;
  }

  // Of those that are gone nothing changes any more, whatever they have written.
  std::map<std::string, UsageByPrefix> Sums() const {
    const Duration gone = kJobsForgottenAfter;
    return ledger_.Sums(Now() - std::chrono::duration_cast<std::chrono::milliseconds>(gone).count());
  }

  void Finish() {
    SpaceCount count{.began_ms = began_ms_,
                     .ended_ms = Now(),
                     .found = std::move(found_),
                     .sums = MiddleOf(before_, Sums())};
    const TimePoint now = site_.engine().executor().Now();
    not_before_ = now + kPauseMin;
    rests_until_ = now + PauseAfter(count);
    // The latest one counts for all.
    const std::optional<SpaceCount> last = ledger_.count();
    if (last) count.ended_ms = std::max(count.ended_ms, last->ended_ms + 1);
    ledger_.TakeCount(std::move(count));
    names_ = done_;
  }

  JobSite& site_;
  SpaceLedger& ledger_;
  std::optional<uint64_t> names_;  // in the last count
  // After one of its own; the second only unless something was moved.
  TimePoint not_before_{}, rests_until_{};
  // Of the walk under way.
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Status> walked_;
  bool walk_ended_ = false;
  int64_t began_ms_ = 0;
  std::map<std::string, UsageByPrefix> before_;  // the sums when it began
  UsageByPrefix found_;
  uint64_t done_ = 0;
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
