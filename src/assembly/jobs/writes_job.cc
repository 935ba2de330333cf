// SPDX-License-Identifier: LGPL-3.0-or-later
// Tells which disks take no writes any more.
#include "assembly/jobs/store_jobs.hh"
#include "assembly/servers/server_kinds.hh"
#include "assembly/servers/write_probe.hh"
#include "base/log.hh"
#include "commit/engine/server_gather.hh"

namespace xec {

extern const JobKind kWritesJob;

namespace {

// A step is one round: a few small requests to each server.
class WritesJob final : public Job {
 public:
  explicit WritesJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kWritesJob.text; }

  Task<StepEnd> Step(JobStep) override {
    Engine& engine = site_.beneath();
    // Of another list of members.
    if (std::exchange(watched_, &engine) != &engine) watch_ = WriteWatch(engine.server_count());
    ServerGather<Result<TriedWrites>> gather(engine, RequestKind::kSync);
    for (size_t i = 0; i < engine.server_count(); ++i) {
      const auto member = static_cast<MemberIndex>(i);
      // A server that does not answer is told as that.
      if (engine.health().At(i, engine.executor().Now()).state != ServerState::kUp) continue;
      const bool directory = KindOf(engine.server(member)->name()).local;
      const bool root = watch_.AsksRoot(member, directory, round_);
      gather.Start(member, TryWrites(engine.executor(), engine.server(member), root,
                                     engine.options().metadata_timeout));
    }
    ++round_;
    StepEnd end{.kind = StepEnd::kRest, .pause = kClockInterval};
    while (gather.timely() > 0) {
      auto event = co_await gather.Next();
      if (event.value && *event.value) Tell(engine, event.member, **event.value, end);
    }
    co_return end;
  }

 private:
  // `engine`: the one that was asked; another list of members may be in force by now.
  void Tell(Engine& engine, MemberIndex member, const TriedWrites& tried, StepEnd& end) {
    const TimePoint now = engine.executor().Now();
    const std::string name = fmt::format("{} ({})", engine.server_id(member), engine.server(member)->name());
    if (tried.refusal)
      end.problem = Fail(Code::kUnavailable, "data server {} takes no writes: {}", name, tried.why);
    switch (watch_.Note(member, tried.refusal, now)) {
      case WriteWatch::News::kNone: break;
      case WriteWatch::News::kRefuses:
        Log(LogLevel::kWarning, "disks",
            "data server {} takes no writes: {}. What it holds is still read, and uploads go to the others",
            name, tried.why);
        break;
      case WriteWatch::News::kTakes:
        Log(LogLevel::kInfo, "disks", "data server {} takes writes again after {} s", name,
            std::chrono::duration_cast<std::chrono::seconds>(now - watch_.RefusedSince(member)).count());
        break;
    }
  }

  JobSite& site_;
  const Engine* watched_ = nullptr;
  WriteWatch watch_{0};
  uint64_t round_ = 0;
};

}  // namespace

constinit const JobKind kWritesJob = {
    .text = {.name = "writes", .summary = "tells which disks take no writes"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<WritesJob>(site); }};

}  // namespace xec
