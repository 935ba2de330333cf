// SPDX-License-Identifier: LGPL-3.0-or-later
// What a process tells about its jobs, and its text: lines "KEY VALUE", the values percent-encoded. Unknown
// keys are passed over, so that processes of different versions understand each other. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job.hh"

namespace xec {

enum class JobState {
  kWaiting,  // for its next step
  kRunning,  // in a step, or between two of one pass
  kPaused,
  kDone,
};
const char* JobStateName(JobState state);

// Times are milliseconds since 1970, by the clock of the process that tells.
struct JobReport {
  std::string name;
  JobState state = JobState::kWaiting;
  int64_t since_ms = 0;  // in this state
  std::optional<int64_t> next_ms = {};  // the next step, of kWaiting
  std::string unit = {};
  JobProgress progress = {};
  std::string cursor = {};
  std::string problem = {};  // of the last step that had one
  int64_t problem_ms = 0;
  bool operator==(const JobReport&) const = default;
};

struct ProcessRecord {
  std::string process;  // as its operator knows it: HOST:PORT
  int64_t started_ms = 0;
  int64_t told_ms = 0;
  std::vector<JobReport> jobs;
  // What it tells of the space that it has filled and freed, in lines of other words (space/space_told.hh).
  std::vector<std::string> space = {};
};

// Longer texts are cut, but for cursors, which fit or are left out.
constexpr size_t kJobWordsMax = 300;
constexpr size_t kCursorBytesMax = 5000;
constexpr size_t kJobsOfRecordMax = 100;
constexpr size_t kSpaceBytesMax = 128 * 1024;  // of the lines; if there are more, all are left out
constexpr size_t kRecordBytesMax = 256 * 1024;

// What one of the lines of the space takes of kSpaceBytesMax.
size_t SpaceLineBytes(std::string_view line);
std::string FormatRecord(const ProcessRecord& record);
// nullopt: it is not whole, or of a later kind.
std::optional<ProcessRecord> ParseRecord(std::string_view text);

}  // namespace xec
