// SPDX-License-Identifier: LGPL-3.0-or-later
// Asks how much space the members' disks have, for the placement of new archives (KnownSpace).
#include "assembly/jobs/store_jobs.hh"
#include "base/log.hh"
#include "commit/engine/look_at_space.hh"

namespace xec {

extern const JobKind kSpaceJob;

namespace {

constexpr Duration kSpaceInterval = std::chrono::minutes(1);
// While some disk has little room.
constexpr Duration kSpaceIntervalTight = std::chrono::seconds(5);

// A step is one request to each server.
class SpaceJob final : public Job {
 public:
  explicit SpaceJob(JobSite& site) : site_(site) {}

  const JobText& text() const override { return kSpaceJob.text; }

  Task<StepEnd> Step(JobStep) override {
    Engine& engine = site_.engine();
    co_await LookAtSpace(engine);
    Tell(engine);
    co_return StepEnd{.kind = StepEnd::kRest,
                      .pause = engine.space().IsTight() ? kSpaceIntervalTight : kSpaceInterval};
  }

 private:
  // One line for each member that has become full, or has room again.
  void Tell(Engine& engine) {
    const KnownSpace::Room room = engine.Room();
    std::set<std::string> full;
    for (size_t i = 0; i < engine.server_count(); ++i) {
      if (room.IsFull(static_cast<MemberIndex>(i)))
        full.insert(engine.server_id(static_cast<MemberIndex>(i)));
    }
    for (const std::string& id : full) {
      if (full_.contains(id)) continue;
      Log(LogLevel::kWarning, "space", "data server {} gets no new archives: {}", id,
          engine.space().WhyFull(id));
    }
    for (const std::string& id : full_) {
      if (!full.contains(id)) Log(LogLevel::kInfo, "space", "data server {} gets new archives again", id);
    }
    full_ = std::move(full);
  }

  JobSite& site_;
  std::set<std::string> full_;  // as told last
};

}  // namespace

constinit const JobKind kSpaceJob = {
    .text = {.name = "space",
             .summary = "asks how full the disks are, by which new archives are placed",
             .must_run = "without it disks would be filled to the last byte, and nothing could be removed"},
    .in_commands = true,
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<SpaceJob>(site); }};

}  // namespace xec
