// SPDX-License-Identifier: LGPL-3.0-or-later
// How a running process learns that its list of members is still the one in force, or is not any more.
#include <algorithm>

#include "assembly/jobs/store_jobs.hh"
#include "assembly/sites/sites.hh"
#include "base/log.hh"
#include "commit/engine/server_gather.hh"

namespace xec {

extern const JobKind kMembersJob;

namespace {

// What the members show that answer in time, or more slowly as long as fewer than needed did.
Task<std::vector<Result<StoreDescriptor>>> ReadDescriptors(Engine& engine, size_t confirmations) {
  ServerGather<Result<std::string>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth()) {
    gather.Start(member, ReadFile(engine.MetadataCall(), engine.server(member), std::string(kDescriptorPath),
                                  kDescriptorBytesMax));
  }
  std::vector<Result<StoreDescriptor>> shown;
  while (gather.pending() > 0 && (shown.size() < confirmations || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    Result<StoreDescriptor> read = ParseDescriptor(**event.value);
    if (engine.member_list().Says(read) != DescriptorSays::kNothing) shown.push_back(std::move(read));
  }
  co_return std::move(shown);
}

// A step is one round of questions: a request's deadline.
class MembersJob final : public Job {
 public:
  explicit MembersJob(JobSite& site)
      : site_(site), interval_(site.configuration.engine.descriptor_interval) {}

  const JobText& text() const override { return kMembersJob.text; }
  Duration first_pause() const override { return interval_; }

  Task<StepEnd> Step(JobStep) override {
    Engine& engine = site_.engine;
    MemberList& list = engine.member_list();
    const TimePoint asked = engine.executor().Now();
    const std::vector<Result<StoreDescriptor>> shown = co_await ReadDescriptors(engine, site_.confirmations);
    const MemberList::Round round = list.Heard(asked, shown);
    StepEnd end;
    // Servers that come back are to be used within seconds.
    end.pause = round == MemberList::Round::kTooFew ? std::min(interval_, kRetryInterval) : interval_;
    const Status in_force = list.InForce(engine.executor().Now());
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
