// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads what was asked of the jobs of the store, tells how those of this process are, and goes on where the
// process before this one was.
#include <algorithm>

#include "assembly/jobs/store_jobs.hh"
#include "assembly/maintenance/job_board.hh"
#include "assembly/maintenance/space_board.hh"
#include "base/log.hh"

namespace xec {

extern const JobKind kBoardJob;

namespace {

// A step is one round: a listing of a majority of the members, and a few small files.
class BoardJob final : public Job {
 public:
  explicit BoardJob(JobSite& site)
      : site_(site), teller_(site.engine()), started_ms_(site.engine().executor().WallNow()) {}

  const JobText& text() const override { return kBoardJob.text; }

  Task<StepEnd> Step(JobStep) override {
    Engine& engine = site_.engine();
    teller_.GoBy(engine);
    const size_t quorum = Quorum(engine.server_count());
    const JobBoard board = co_await ReadJobBoard(engine, quorum);
    for (const auto& [member, entries] : board.entries) {
      for (const std::string& entry : entries) {
        const std::optional<JobMark> mark = ParseJobMark(entry);
        if (mark) orders_.Take(*mark);
      }
    }
    const bool first = !std::exchange(began_, true);
    if (first) co_await GoOnWhereTheLastOneWas(board);
    TellPauses();
    site_.runner.Tell(orders_);
    StepEnd end{.kind = StepEnd::kRest, .pause = kJobBoardInterval};
    // Nobody could be sure to find it.
    if (board.heard.size() < quorum) co_return end;
    ProcessRecord record{.process = site_.process,
                         .started_ms = started_ms_,
                         .told_ms = engine.executor().WallNow(),
                         .jobs = site_.runner.Reports()};
    std::erase_if(record.jobs, [](const JobReport& job) { return job.name == kJobBoardName; });
    if (site_.space != nullptr) {
      const bool heard = engine.executor().Now() - site_.space->heard_at() < kSpaceHeardInterval;
      if (first || !heard) (void)co_await HearOfSpace(engine, *site_.space, board);
      record.space = FormatSpace(site_.space->Told());
      TellCut(CutSpace(record.space, kSpaceBytesMax, SpaceLineBytes));
    }
    co_await teller_.Tell(board, std::move(record));
    co_return end;
  }

 private:
  Task<void> GoOnWhereTheLastOneWas(const JobBoard& board) {
    std::vector<ProcessRecord> before = co_await teller_.TakeOver(board, site_.process);
    // The latest one's word counts.
    std::sort(before.begin(), before.end(),
              [](const ProcessRecord& a, const ProcessRecord& b) { return a.told_ms < b.told_ms; });
    if (site_.space != nullptr && !before.empty()) {
      std::optional<SpaceTold> told = ParseSpace(before.back().space);
      if (told) site_.space->GoOnWith(std::move(*told));
    }
    for (ProcessRecord& record : before) {
      for (JobReport& job : record.jobs) {
        const bool cancelled = orders_.Of(job.name).cancelled_ms > record.told_ms;
        site_.runner.Restore(job.name, cancelled ? "" : std::move(job.cursor));
      }
    }
  }

  // In the log once for each.
  void TellPauses() {
    const std::vector<std::string> paused = orders_.Paused();
    if (paused == paused_) return;
    paused_ = paused;
    std::string names;
    for (const std::string& name : paused) names += (names.empty() ? "" : ", ") + name;
    Log(LogLevel::kInfo, "jobs", "{}", names.empty() ? "no job is paused any more" : "paused: " + names);
  }

  // In the log when it begins.
  void TellCut(size_t lines) {
    if (lines > 0 && !cut_)
      Log(LogLevel::kWarning, "jobs",
          "{} lines of what is known of the space of groups do not fit into what this process tells: what "
          "other gateways know of it may be wrong until they have counted it; use fewer groups",
          lines);
    cut_ = lines > 0;
  }

  JobSite& site_;
  JobTeller teller_;
  const int64_t started_ms_;
  bool began_ = false;
  // All that was ever seen: what fewer servers show now was asked all the same.
  JobOrders orders_;
  std::vector<std::string> paused_;
  bool cut_ = false;  // its space did not fit the last time
};

}  // namespace

constinit const JobKind kBoardJob = {
    .text = {.name = kJobBoardName,
             .summary = "reads what is asked of the jobs, and tells how they are",
             .must_run = "without it nobody could resume anything"},
    .make = [](JobSite& site) -> std::unique_ptr<Job> { return std::make_unique<BoardJob>(site); }};

}  // namespace xec
