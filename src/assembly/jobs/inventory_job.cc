// SPDX-License-Identifier: LGPL-3.0-or-later
// Fills the inventory of the gateway (src/inventory): one walk over all objects after the other.
//
// All work on the database is done by a thread of the job's own. A transaction is short, but the disk below
// it may hang, and it must not take a thread of the engine with it.
#include <filesystem>

#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "inventory/inventory_writer.hh"
#include "jobs/stepped_walk.hh"
#include "runtime/thread_pool.hh"

namespace xec {

extern const JobKind kInventoryJob;

namespace {

// Before the first walk of a process, which has more urgent things to do.
constexpr Duration kFirstPause = std::chrono::seconds(10);
// The pause after a walk, if that was short.
constexpr Duration kPauseMin = std::chrono::minutes(1);
constexpr int kPauseForWalk = 4;  // times as long as a walk took
// What a step may find before it is written.
constexpr uint64_t kStepObjectsMax = 1000;
constexpr uint64_t kStepRunsMax = 100'000;
// So often in a process a damaged inventory is made anew.
constexpr int kAnewMax = 3;

// A step ends between two objects and after a few small transactions.
class InventoryJob final : public Job {
 public:
  explicit InventoryJob(JobSite& site)
      : site_(site), file_(site.configuration.inventory), interval_(site.configuration.inventory_interval) {}

  const JobText& text() const override { return kInventoryJob.text; }
  JobPace pace() const override { return {.units_per_second = site_.configuration.inventory_rate}; }
  Duration first_pause() const override { return std::min(kFirstPause, interval_); }

  Task<StepEnd> Step(JobStep step) override {
    if (!walk_) {
      const Result<Duration> wait = co_await Begin();
      if (!wait) co_return Failed(wait.error());
      if (!walk_) co_return StepEnd{.kind = StepEnd::kRest, .pause = *wait};
    }
    const auto show = step.show;
    step.units_max = std::min(step.units_max, kStepObjectsMax);
    step.stopped = [this, stopped = std::move(step.stopped)] {
      return batch_.runs >= kStepRunsMax || stopped();
    };
    const bool ended = co_await walk_->Step(std::move(step));
    const Result<Duration> written = co_await Write(ended);
    StepEnd end{.kind = StepEnd::kMore, .units = walk_->units()};
    if (!written) {
      if (!ended) co_await walk_->End();
      walk_.reset();
      co_return Failed(written.error());
    }
    if (!ended) {
      show({.done = state_.done, .total = objects_, .at = state_.at});
      co_return end;
    }
    end.kind = StepEnd::kRest;
    end.pause = *written;
    end.problem = *walked_ ? std::exchange(unknown_, std::nullopt) : walked_->error();
    if (*walked_) objects_ = state_.done;
    show({.done = objects_.value_or(0), .total = objects_});
    walk_.reset();
    co_return end;
  }

  Task<void> Cancel() override {
    go_on_ = false;
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
  }

  // For lists: the inventory itself knows where to go on.
  std::string cursor() const override { return walk_ ? state_.at : ""; }

 private:
  // What the walk has found since it was written last.
  struct Batch {
    std::vector<ObjectPlaces> objects;
    std::vector<std::string> uncounted;
    uint64_t runs = 0;
  };

  int64_t Now() const { return site_.engine().executor().WallNow(); }

  // Awaits `work`, done by the thread of the database, and goes on on one of the engine's.
  template <typename T>
  Task<T> ByThread(std::function<T()> work) {
    OneShot<T> done;
    thread_.Post([&executor = site_.engine().executor(), work = std::move(work), set = done.Setter()] {
      T value = work();
      executor.Post([set, value = std::move(value)]() mutable { set(std::move(value)); });
    });
    T value = co_await done;
    co_return std::move(value);
  }

  // So long after its end the next walk begins.
  Duration PauseAfterWalk(int64_t began_ms, int64_t ended_ms) const {
    const Duration took = std::chrono::milliseconds(std::max<int64_t>(0, ended_ms - began_ms));
    return std::min(interval_, std::max(kPauseMin, kPauseForWalk * took));
  }

  // Makes walk_, unless it is not time yet: answers how long to wait.
  Task<Result<Duration>> Begin() {
    // The walk stays with the list of members with which it begins.
    Generation& now = site_.now();
    std::function<Result<Duration>()> open = [this, members = now.engine->descriptor(), now_ms = Now()] {
      return Open(members, now_ms);
    };
    Result<Duration> wait = co_await ByThread(std::move(open));
    if (!wait || *wait > Duration()) co_return std::move(wait);
    go_on_ = true;
    batch_ = {};
    walked_ = std::make_shared<Status>();
    walk_.emplace(now.engine->scope(), site_.engine().executor(),
                  [this, &store = *now.maintenance, walked = walked_](Turn turn) {
                    return Walk(store, std::move(turn), walked);
                  });
    co_return Duration();
  }

  // On the thread of the database, as Save.
  Result<Duration> Open(const StoreDescriptor& members, int64_t now_ms) {
    writer_.reset();
    const InventoryWriter::Options options{.check = !std::exchange(checked_, true)};
    XEC_ASSIGN_OR_RETURN(writer_, InventoryWriter::Open(file_, members, options));
    if (!writer_->moved_away().empty()) {
      Log(LogLevel::kWarning, "inventory", "{} was moved to {}.damaged ({}); it is made anew", file_, file_,
          writer_->moved_away());
    }
    XEC_ASSIGN_OR_RETURN(const std::optional<InventoryWriter::Ended> last, writer_->LastEnded());
    if (last && go_on_) {
      const Duration since = std::chrono::milliseconds(std::max<int64_t>(0, now_ms - last->ended_ms));
      const Duration pause = PauseAfterWalk(last->began_ms, last->ended_ms);
      if (since < pause) return pause - since;
    }
    XEC_ASSIGN_OR_RETURN(state_, writer_->BeginWalk(go_on_, now_ms));
    return Duration();
  }

  Task<void> Walk(Maintenance& store, Turn turn, std::shared_ptr<Status> walked) {
    PlacesOptions options{.from = state_.at, .turn = std::move(turn)};
    options.object = [this](ObjectPlaces object) {
      ++state_.done;
      batch_.runs += object.runs.size();
      batch_.objects.push_back(std::move(object));
      return true;
    };
    options.unknown = [this](const std::string& path, bool directory, const Error& error) {
      unknown_ = Fail(error.code, "{} could not be looked at: {}", path, error.message);
      ++(directory ? state_.unlisted : state_.uncounted);
      if (!directory) batch_.uncounted.push_back(path);
      return true;
    };
    *walked = co_await store.WalkPlaces(std::move(options), {});
  }

  // Answers the pause, if the walk is at its end.
  Task<Result<Duration>> Write(bool ended) {
    if (!ended) state_.at = walk_->point().at;
    const bool whole = ended && *walked_;
    std::function<Result<Duration>()> save = [this, whole] { return Save(whole, Now()); };
    Result<Duration> saved = co_await ByThread(std::move(save));
    batch_ = {};
    co_return std::move(saved);
  }

  Result<Duration> Save(bool whole, int64_t now_ms) {
    std::error_code error;
    if (!std::filesystem::exists(file_, error)) return Fail(Code::kCorruption, "{} was removed", file_);
    XEC_TRY(writer_->Write(state_, batch_.objects, batch_.uncounted, now_ms));
    if (!whole) return kPauseMin;
    XEC_TRY(writer_->EndWalk(state_, now_ms));
    return PauseAfterWalk(state_.began_ms, now_ms);
  }

  StepEnd Failed(const Error& error) {
    StepEnd end{.kind = StepEnd::kRest, .pause = std::min(kPauseMin, interval_), .problem = error};
    if (error.code == Code::kConflict) return end;  // somebody else is at work on it
    if (error.code == Code::kCorruption && ++times_damaged_ <= kAnewMax) {
      checked_ = false;
      Log(LogLevel::kWarning, "inventory", "{} is made anew: {}", file_, error.message);
      end.kind = StepEnd::kMore;
      end.pause = {};
      return end;
    }
    Log(LogLevel::kWarning, "inventory", "{} is not kept any more until the gateway is started again: {}",
        file_, error.message);
    end.kind = StepEnd::kDone;
    return end;
  }

  JobSite& site_;
  const std::string file_;
  const Duration interval_;
  bool go_on_ = true;  // with the walk that the inventory has as not ended
  bool checked_ = false;  // for damage; used by the thread only, as writer_
  int times_damaged_ = 0;
  std::optional<uint64_t> objects_;  // of the last walk
  // Of the walk under way.
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Status> walked_;
  InventoryWalk state_;
  std::optional<Error> unknown_;  // the last object or directory that could not be looked at
  Batch batch_;
  std::optional<InventoryWriter> writer_;  // used by the thread only
  ThreadPool thread_{"xec-inventory", 1};  // goes first: nothing may use the others then
};

}  // namespace

constinit const JobKind kInventoryJob = {
    .text = {.name = "inventory",
             .summary = "takes down which server holds what, for `xec lost`",
             .unit = "objects",
             .has_passes = true},
    .make = [](JobSite& site) -> std::unique_ptr<Job> {
      const std::string& file = site.configuration.inventory;
      if (file.empty() || file == kNoFile) return nullptr;
      return std::make_unique<InventoryJob>(site);
    }};

}  // namespace xec
