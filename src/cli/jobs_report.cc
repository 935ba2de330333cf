// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/jobs_report.hh"

#include <algorithm>

#include "assembly/maintenance/known_jobs.hh"

namespace xec {

bool Runs(const JobsTold& told, const ProcessRecord& record) {
  const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(kJobsSilentAfter);
  return told.now_ms - record.told_ms <= silent.count();
}

bool AnyRuns(const JobsTold& told) {
  return std::any_of(told.records.begin(), told.records.end(),
                     [&](const ProcessRecord& record) { return Runs(told, record); });
}

std::string ProgressWords(const JobReport& job) {
  const JobProgress& progress = job.progress;
  if (job.unit.empty() || (progress.done == 0 && progress.total.value_or(0) == 0 && progress.at.empty()))
    return "";
  std::string words = progress.total ? fmt::format("{} of {} {}", progress.done, *progress.total, job.unit)
                                     : fmt::format("{} {}", progress.done, job.unit);
  if (!progress.at.empty()) words += ", at " + progress.at;
  return words;
}

Json JobJson(const JobReport& job) {
  Json json = {{"job", job.name}, {"state", JobStateName(job.state)}, {"since_ms", job.since_ms}};
  if (job.next_ms) json["next_ms"] = *job.next_ms;
  if (!job.unit.empty()) {
    json["unit"] = job.unit;
    json["done"] = job.progress.done;
    if (job.progress.total) json["total"] = *job.progress.total;
    if (!job.progress.at.empty()) json["at"] = job.progress.at;
  }
  if (!job.cursor.empty()) json["cursor"] = job.cursor;
  if (!job.problem.empty()) json["problem"] = {{"text", job.problem}, {"at_ms", job.problem_ms}};
  return json;
}

}  // namespace xec
