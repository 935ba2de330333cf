// SPDX-License-Identifier: LGPL-3.0-or-later
// Removes, or promotes, what this process gave up on servers that were away, as soon as they are back.
#include "assembly/jobs/store_jobs.hh"
#include "commit/engine/tidy_given_up.hh"

namespace xec {

extern const JobKind kTidyJob;

namespace {

// How often it is seen whether such servers are back. Costs nothing where nothing is left.
constexpr Duration kTidyInterval = std::chrono::milliseconds(250);

// A step is one round over those servers: a few requests to each, and none to one that is late.
class TidyJob final : public Job {
 public:
  explicit TidyJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kTidyJob.text; }
  Duration first_pause() const override { return kTidyInterval; }

  Task<StepEnd> Step(JobStep step) override {
    co_await TidyGivenUpFiles(site_.engine());
    step.show({.total = site_.engine().given_up_files().size()});
    StepEnd end{.kind = StepEnd::kRest, .pause = kTidyInterval};
    co_return end;
  }

 private:
  JobSite& site_;
};

}  // namespace

constinit const JobKind kTidyJob = {
    .text = {.name = "tidy",
             .summary = "removes what this gateway left on servers that were away",
             .unit = "files"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<TidyJob>(site); }};

}  // namespace xec
