// SPDX-License-Identifier: LGPL-3.0-or-later
// What a gateway repairs and tidies by itself.
#include "assembly/store_process.hh"
#include "base/log.hh"

namespace xec {
namespace {

// How often the queue is looked at. Damage is repaired at this process's pace, not at that of whoever finds
// it.
constexpr Duration kRepairInterval = std::chrono::seconds(1);
// How often it is seen whether servers are back on which something of this process is left. Costs nothing
// where nothing is.
constexpr Duration kTidyInterval = std::chrono::milliseconds(250);

std::string Joined(const std::vector<std::string>& clauses) {
  std::string text;
  for (const std::string& clause : clauses) text += (text.empty() ? "" : "; ") + clause;
  return text;
}

}  // namespace

// One line for each object in which something was wrong.
Task<RepairQueue::End> StoreProcess::RepairDamaged(const DamagedObject& object) {
  using End = RepairQueue::End;
  const std::string path = object.path.text();
  RepairOptions options;
  options.version = object.version;
  const Result<RepairReport> report = co_await maintenance_->Repair(path, std::move(options), {});
  if (!report && report.code() == Code::kNotFound) co_return End::kRepaired;
  if (!report) {
    Log(LogLevel::kWarning, "repair", "{} cannot be repaired now ({}): {}", path, object.problem,
        report.error().message);
    co_return End::kFailed;
  }
  if (report->archives_bad == 0 && report->problems.empty()) co_return End::kWhole;
  const bool done = report->problems.empty();
  Log(done ? LogLevel::kInfo : LogLevel::kWarning, "repair", "{}: {} of {} archives written anew: {}{}{}",
      path, report->archives_made, report->archives_bad, Joined(report->made),
      report->made.empty() || done ? "" : "; ", Joined(report->problems));
  co_return done ? End::kRepaired : End::kFailed;
}

Task<void> StoreProcess::RepairLoop() {
  RepairQueue& queue = layout_->damage();
  uint64_t dropped = 0;
  while (co_await background_.Pause(kRepairInterval)) {
    while (!background_.stopped()) {
      const std::optional<DamagedObject> object = queue.Take(executor_.Now());
      if (!object) break;
      const RepairQueue::End end = co_await RepairDamaged(*object);
      if (queue.Finish(*object, end, executor_.Now())) continue;
      Log(LogLevel::kWarning, "repair", "{} is given up until somebody meets the damage again",
          object->path.text());
    }
    const RepairQueue::Counts counts = queue.counts();
    if (counts.dropped > dropped) {
      Log(LogLevel::kWarning, "repair", "{} reports of damage did not fit the queue of {}; {} objects wait",
          counts.dropped - dropped, RepairQueue::kObjectsMax, counts.waiting);
    }
    dropped = counts.dropped;
  }
}

Task<void> StoreProcess::TidyLoop() {
  while (true) {
    // Not in one line: g++ 12 lays out the frame of a loop that awaits in its condition and is one more await
    // wrongly.
    const bool go_on = co_await background_.Pause(kTidyInterval);
    if (!go_on) co_return;
    co_await TidyGivenUpFiles(*engine_);
  }
}

}  // namespace xec
