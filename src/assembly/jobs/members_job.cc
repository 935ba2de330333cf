// SPDX-License-Identifier: LGPL-3.0-or-later
// How a running process learns that its list of members is still the one in force, or is not any more.
#include <algorithm>

#include "assembly/jobs/store_jobs.hh"
#include "assembly/sites/sites.hh"
#include "base/log.hh"
#include "commit/members/ask_for_descriptors.hh"

namespace xec {

extern const JobKind kMembersJob;

namespace {

// A step is one round of questions: a request's deadline.
class MembersJob final : public Job {
 public:
  explicit MembersJob(JobSite& site)
      : site_(site),
        interval_(std::min<Duration>(
            site.configuration.engine.descriptor_interval,
            Duration(std::chrono::seconds(site.now().stored.lease_s)) / kDescriptorIntervalsMax)) {}

  const JobText& text() const override { return kMembersJob.text; }
  Duration first_pause() const override { return interval_; }

  Task<StepEnd> Step(JobStep) override {
    Executor& executor = site_.engine().executor();
    const TimePoint asked = executor.Now();
    MemberList::Round round = co_await HearOfList(site_.engine(), site_.confirmations(), asked);
    StepEnd end;
    if (round.kind == MemberList::Round::kFollowed) {
      const Status followed = co_await site_.follow(std::move(*round.next), asked);
      if (!followed) Log(LogLevel::kError, "store", "{}", followed.error().message);
    }
    // Servers that come back are to be used within seconds, and those of a new list.
    const bool soon = round.kind == MemberList::Round::kTooFew || round.kind == MemberList::Round::kChanged;
    end.pause = soon ? std::min(interval_, kRetryInterval) : interval_;
    const Status in_force = site_.engine().MembersInForce();
    // Said once: the sentence for too few tells how long that has been so.
    if (!in_force && told_.empty()) Log(LogLevel::kError, "store", "{}", in_force.error().message);
    if (in_force && !told_.empty())
      Log(LogLevel::kInfo, "store", "the members of the store are confirmed again");
    told_ = in_force ? "" : in_force.error().message;
    if (!in_force) end.problem = in_force.error();
    co_return end;
  }

 private:
  JobSite& site_;
  const Duration interval_;
  std::string told_;
};

}  // namespace

constinit const JobKind kMembersJob = {
    .text = {.name = "members",
             .summary = "confirms that the list of members is the one in force",
             .must_run = "without it the store would answer nothing after three of its rounds"},
    .in_commands = true,
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<MembersJob>(site); }};

}  // namespace xec
