// SPDX-License-Identifier: LGPL-3.0-or-later
// xec jobs: what the gateways do in the background, as they told it last, and what is asked of them.
#include <algorithm>

#include "assembly/maintenance/known_jobs.hh"
#include "cli/commands.hh"
#include "cli/jobs_report.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr const char* kNoGateway =
    "no gateway has told of its jobs in the last minute: nothing runs them now (or they cannot write to the "
    "data "
    "servers)";

const JobText* FindText(std::string_view name) {
  for (const JobText* const text : KnownJobs()) {
    if (text->name == name) return text;
  }
  return nullptr;
}

// That may be the gateways' where these are of a later version.
bool IsTold(const JobsTold& told, std::string_view name) {
  for (const ProcessRecord& record : told.records) {
    for (const JobReport& job : record.jobs) {
      if (job.name == name) return true;
    }
  }
  return false;
}

std::string KnownNames() {
  std::string names;
  for (const JobText* const text : KnownJobs())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", text->name);
  return names;
}

Result<JobVerb> ParseVerb(const std::string& word) {
  for (const JobVerb verb : {JobVerb::kPause, JobVerb::kResume, JobVerb::kCancel}) {
    if (word == JobVerbName(verb)) return verb;
  }
  return Fail(Code::kInvalidArgument,
              "'{}': say pause, resume or cancel, and which job; or nothing, for a list", word);
}

Status CheckJob(const JobsTold& told, const std::string& name, JobVerb verb) {
  const JobText* const text = FindText(name);
  if (text == nullptr) {
    if (IsTold(told, name)) return OkStatus();
    return Fail(Code::kInvalidArgument, "there is no job '{}'; there are {}", name, KnownNames());
  }
  if (verb == JobVerb::kPause && !text->must_run.empty())
    return Fail(Code::kInvalidArgument, "{} cannot be paused: {}", name, text->must_run);
  if (verb == JobVerb::kCancel && !text->has_passes) {
    return Fail(
        Code::kInvalidArgument, "{} has no passes that could be cancelled{}", name,
        text->must_run.empty() ? fmt::format(": `xec jobs pause {}` ends it after its step", name) : "");
  }
  return OkStatus();
}

Result<int> Ask(const CommandLine& line, StoreMaintenance& store) {
  XEC_ASSIGN_OR_RETURN(const JobVerb verb, ParseVerb(line.operands[0]));
  if (line.operands.size() != 2)
    return Fail(Code::kInvalidArgument, "say which job to {}: one of {}", line.operands[0], KnownNames());
  const std::string& name = line.operands[1];
  XEC_ASSIGN_OR_RETURN(const JobsTold told, SyncWait(store.LookAtJobs()));
  XEC_TRY(CheckJob(told, name, verb));
  if (verb == JobVerb::kCancel && !AnyRuns(told)) return Fail(Code::kUnavailable, "{}", kNoGateway);
  XEC_TRY(SyncWait(store.AskOfJob(name, verb)));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kJobBoardInterval).count();
  if (line.json) {
    PrintJson({{"job", name}, {"asked", JobVerbName(verb)}, {"gateways", told.records.size()}});
  } else if (AnyRuns(told)) {
    fmt::print("{} {}: every gateway knows it within {} s\n", JobVerbName(verb), name, seconds);
  } else {
    fmt::print("{} {}: for gateways that are started later; {}\n", JobVerbName(verb), name, kNoGateway);
  }
  return kExitOk;
}

std::string NextWords(const JobsTold& told, const ProcessRecord& record, const JobReport& job) {
  if (!job.next_ms || !Runs(told, record)) return "";
  return fmt::format("in {} s", std::max<int64_t>(0, *job.next_ms - told.now_ms) / 1000);
}

void PrintProcess(const JobsTold& told, const ProcessRecord& record) {
  const int64_t ago_s = std::max<int64_t>(0, told.now_ms - record.told_ms) / 1000;
  fmt::print("gateway {}, since {} UTC, {}\n", record.process, FormatTime(record.started_ms),
             Runs(told, record) ? fmt::format("told {} s ago", ago_s)
                                : fmt::format("silent for {} s: it does not run, or cannot write", ago_s));
  fmt::print("  {:<10}{:<9}{:<21}{:<10}{}\n", "job", "state", "since", "next", "progress");
  for (const JobReport& job : record.jobs) {
    fmt::print("  {:<10}{:<9}{:<21}{:<10}{}\n", job.name, JobStateName(job.state), FormatTime(job.since_ms),
               NextWords(told, record, job), ProgressWords(job));
    if (!job.problem.empty())
      fmt::print("  {:<10}problem at {}: {}\n", "", FormatTime(job.problem_ms), job.problem);
  }
}

void PrintAllJson(const JobsTold& told) {
  Json gateways = Json::array(), jobs = Json::array();
  for (const ProcessRecord& record : told.records) {
    Json of = Json::array();
    for (const JobReport& job : record.jobs) of.push_back(JobJson(job));
    gateways.push_back({{"gateway", record.process},
                        {"runs", Runs(told, record)},
                        {"started_ms", record.started_ms},
                        {"told_ms", record.told_ms},
                        {"jobs", std::move(of)}});
  }
  for (const JobText* const text : KnownJobs())
    jobs.push_back(
        {{"job", text->name}, {"does", text->summary}, {"paused", told.orders.Of(text->name).paused}});
  PrintJson({{"jobs", std::move(jobs)}, {"gateways", std::move(gateways)}});
}

void PrintAll(const JobsTold& told) {
  for (const JobText* const text : KnownJobs()) {
    const JobOrder order = told.orders.Of(text->name);
    fmt::print("{:<10}{}{}\n", text->name, text->summary,
               order.paused ? fmt::format(" (PAUSED since {} UTC)", FormatTime(order.since_ms)) : "");
  }
  for (const ProcessRecord& record : told.records) {
    fmt::print("\n");
    PrintProcess(told, record);
  }
  if (!AnyRuns(told)) fmt::print("\n{}\n", kNoGateway);
}

}  // namespace

Result<int> RunJobs(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  if (!line.operands.empty()) return Ask(line, *maintenance);
  XEC_ASSIGN_OR_RETURN(const JobsTold told, SyncWait(maintenance->LookAtJobs()));
  if (line.json) {
    PrintAllJson(told);
  } else {
    PrintAll(told);
  }
  return AnyRuns(told) ? kExitOk : kExitRetry;
}

}  // namespace xec
