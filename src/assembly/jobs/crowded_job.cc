// SPDX-License-Identifier: LGPL-3.0-or-later
// Cleans names that are written again and again before the cleaner comes by.
#include "assembly/jobs/store_jobs.hh"
#include "commit/clean/clean_crowded.hh"

namespace xec {

extern const JobKind kCrowdedJob;

namespace {

// How often it is seen whether such a name is due. Costs nothing where none is.
constexpr Duration kCrowdedInterval = std::chrono::seconds(1);

// A step is the cleaning of a few names, which cannot be cut.
class CrowdedJob final : public Job {
 public:
  explicit CrowdedJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kCrowdedJob.text; }
  JobPace pace() const override { return {.units_per_second = site_.configuration.clean_rate}; }

  Task<StepEnd> Step(JobStep step) override {
    const size_t names = co_await CleanCrowded(site_.engine());
    StepEnd end{.kind = StepEnd::kRest, .units = names};
    if (names == 0) end.pause = kCrowdedInterval;
    done_ += names;
    step.show({.done = done_});
    co_return end;
  }

 private:
  JobSite& site_;
  uint64_t done_ = 0;
};

}  // namespace

constinit const JobKind kCrowdedJob = {
    .text = {.name = "crowded",
             .summary = "cleans names that are written again and again before the next pass of the cleaner",
             .unit = "names"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<CrowdedJob>(site); }};

}  // namespace xec
