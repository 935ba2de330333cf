// SPDX-License-Identifier: LGPL-3.0-or-later
// Gives up the uploads that a process of this machine was at when it was killed, so that others can change
// these objects at once.
#include <iterator>
#include <map>
#include <set>

#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "commit/clean/clean_name.hh"

namespace xec {

extern const JobKind kUploadsJob;

namespace {

// How often it is seen whether another process of this machine has died.
constexpr Duration kLookInterval = std::chrono::seconds(30);
// While homes do not answer.
constexpr Duration kRetryFirst = std::chrono::seconds(2), kRetryMax = std::chrono::minutes(2);

// A step is the uploads of a few names: two rounds of requests to all servers for each.
class UploadsJob final : public Job {
 public:
  explicit UploadsJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kUploadsJob.text; }
  JobPace pace() const override { return {.retry_first = kRetryFirst, .retry_max = kRetryMax}; }

  Task<StepEnd> Step(JobStep step) override {
    StepEnd end{.kind = StepEnd::kRest, .pause = kLookInterval};
    if (!left_) co_await Take();
    if (!left_) co_return end;
    Engine& engine = site_.engine();
    for (; next_ != names_.end() && engine.executor().Now() < step.until && !step.stopped(); ++end.units) {
      const Status done = co_await GiveUp(engine, next_->first, next_->second);
      if (!done) end.problem = done.error();
      next_ = done ? names_.erase(next_) : std::next(next_);
    }
    step.show({.total = names_.size()});
    if (next_ != names_.end()) {
      end.kind = StepEnd::kMore;
      end.pause = {};
      co_return end;
    }
    next_ = names_.begin();
    end.pause = {};
    // By then the cleaner gives up what is left.
    const bool old = engine.executor().Now() - taken_at_ > engine.options().upload_grace;
    if (!names_.empty() && !old) co_return end;
    co_await site_.uploads->Remove(*std::exchange(left_, std::nullopt));
    co_return end;
  }

 private:
  Task<void> Take() {
    left_ = co_await site_.uploads->TakeLeft();
    if (!left_) co_return;
    taken_at_ = site_.engine().executor().Now();
    names_.clear();
    for (const auto& [object_id, path] : left_->uploads) names_[path].insert(object_id);
    next_ = names_.begin();
    if (!names_.empty()) {
      Log(LogLevel::kInfo, "store", "gives up {} uploads of a process that was killed: {}{}",
          left_->uploads.size(), names_.begin()->first, names_.size() > 1 ? ", ..." : "");
    }
  }

  static Task<Status> GiveUp(Engine& engine, std::string name, std::set<std::string> object_ids) {
    Result<ObjectPath> path = ObjectPath::ParseStored(name);
    if (!path) co_return OkStatus();  // a line that was cut off
    co_return co_await GiveUpUploads(engine, std::move(*path), std::move(object_ids));
  }

  JobSite& site_;
  std::optional<UploadJournal::Left> left_;
  TimePoint taken_at_{};
  std::map<std::string, std::set<std::string>> names_;  // object ids by path, those not done yet
  std::map<std::string, std::set<std::string>>::iterator next_ = names_.end();
};

}  // namespace

constinit const JobKind kUploadsJob = {
    .text = {.name = "uploads",
             .summary = "gives up uploads of processes of this machine that were killed",
             .unit = "names",
             .must_run = "without it these objects could not be changed for an hour"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> {
      if (site.uploads == nullptr) return nullptr;
      return std::make_unique<UploadsJob>(site);
    }};

}  // namespace xec
