// SPDX-License-Identifier: LGPL-3.0-or-later
// The job board: a folder on the data servers by which commands and the processes that run the jobs of a
// store hear of each other (docs/protocol/jobs.md). What is asked stands on a majority of the members, so a
// process that hears a majority knows it; what a process tells stands on as many as may be away, and one
// more. Nothing depends on it but jobs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assembly/maintenance/known_jobs.hh"
#include "commit/engine/engine.hh"
#include "jobs/job_orders.hh"
#include "jobs/job_record.hh"

namespace xec {

inline constexpr std::string_view kJobBoardFolder = "/.xec/jobs";
// What it told last is removed then.
constexpr Duration kJobsForgottenAfter = std::chrono::hours(1);
// Of so many processes, those that told last, records are read.
constexpr size_t kJobProcessesMax = 64;

struct JobBoard {
  std::set<MemberIndex> heard;
  std::map<MemberIndex, std::vector<std::string>> entries;  // that are marks or records
  JobOrders orders;
};

// Asks so many members that answer in time, at least a majority if so many answer at all.
Task<JobBoard> ReadJobBoard(Engine& engine, size_t members);

// What the board's processes told last, of each one that is not forgotten; by what they are called.
Task<std::vector<ProcessRecord>> ReadJobRecords(Engine& engine, JobBoard board);

// Asks it of the job, in all processes. Error: kNoQuorum, or what a server said: fewer than a majority have
// taken it; it may be obeyed all the same.
Task<Status> AskOfJob(Engine& engine, std::string job, JobVerb verb);

// Where a process tells of its jobs. One coroutine uses it.
class JobTeller {
 public:
  explicit JobTeller(Engine& engine);
  // From now on; what is done with a board goes by the engine that read it.
  void GoBy(Engine& engine) { engine_ = &engine; }

  // What earlier processes of that name told last, those of the same HOST:PORT, say; they are removed by the
  // next Tell.
  Task<std::vector<ProcessRecord>> TakeOver(const JobBoard& board, std::string process);
  // Replaces what it told last. Removes from the board what is old. Whether it succeeds decides nothing.
  Task<void> Tell(const JobBoard& board, ProcessRecord record);

 private:
  // True: some server has it.
  Task<bool> TellOnSome(std::string entry, std::string text);
  bool IsOld(const std::string& entry) const;

  Engine* engine_;
  const std::string nonce_;
  int64_t told_ms_ = 0;
  std::set<std::string> taken_over_;  // nonces
};

}  // namespace xec
