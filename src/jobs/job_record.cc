// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_record.hh"

#include <array>

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::string_view kFirstLine = "jobs 1";
constexpr std::string_view kLastLine = "end";

constexpr std::array<const char*, 4> kStateNames = {"waiting", "running", "paused", "done"};

std::string Encode(std::string_view text) {
  return PercentEncode(text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '%'; });
}

void Line(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) out += fmt::format("{} {}\n", key, Encode(value));
}

void Line(std::string& out, std::string_view key, int64_t value) {
  out += fmt::format("{} {}\n", key, value);
}

std::string_view Cut(std::string_view text) { return text.substr(0, kJobWordsMax); }

void FormatReport(std::string& out, const JobReport& job) {
  Line(out, "job", job.name);
  Line(out, "state", JobStateName(job.state));
  Line(out, "since", job.since_ms);
  if (job.next_ms) Line(out, "next", *job.next_ms);
  Line(out, "unit", job.unit);
  Line(out, "done", static_cast<int64_t>(job.progress.done));
  if (job.progress.total) Line(out, "total", static_cast<int64_t>(*job.progress.total));
  Line(out, "at", Cut(job.progress.at));
  if (job.cursor.size() <= kCursorBytesMax) Line(out, "cursor", job.cursor);
  if (job.problem.empty()) return;
  Line(out, "problem", Cut(job.problem));
  Line(out, "problem-at", job.problem_ms);
}

// Takes one line. False: the record cannot be trusted.
bool TakeLine(ProcessRecord& record, std::string_view key, const std::string& value) {
  const std::optional<uint64_t> parsed = ParseUint(value);
  const auto number = static_cast<int64_t>(parsed.value_or(0));
  if (key == "process") record.process = value;
  if (key == "started") record.started_ms = number;
  if (key == "told") record.told_ms = number;
  if (key == "space") record.space.push_back(value);
  if (key == "job") {
    if (record.jobs.size() >= kJobsOfRecordMax) return false;
    record.jobs.emplace_back().name = value;
  }
  if (record.jobs.empty()) return true;
  JobReport& job = record.jobs.back();
  if (key == "state") {
    for (size_t i = 0; i < kStateNames.size(); ++i) {
      if (value == kStateNames[i]) job.state = static_cast<JobState>(i);
    }
  }
  if (key == "since") job.since_ms = number;
  if (key == "next") job.next_ms = number;
  if (key == "unit") job.unit = value;
  if (key == "done") job.progress.done = parsed.value_or(0);
  if (key == "total") job.progress.total = parsed;
  if (key == "at") job.progress.at = value;
  if (key == "cursor") job.cursor = value;
  if (key == "problem") job.problem = value;
  if (key == "problem-at") job.problem_ms = number;
  return true;
}

}  // namespace

const char* JobStateName(JobState state) { return kStateNames[static_cast<size_t>(state)]; }

size_t SpaceLineBytes(std::string_view line) {
  std::string text;
  Line(text, "space", line);
  return text.size();
}

std::string FormatRecord(const ProcessRecord& record) {
  std::string out = fmt::format("{}\n", kFirstLine);
  Line(out, "process", Cut(record.process));
  Line(out, "started", record.started_ms);
  Line(out, "told", record.told_ms);
  std::string space;
  for (const std::string& line : record.space) Line(space, "space", line);
  if (space.size() <= kSpaceBytesMax) out += space;
  for (const JobReport& job : record.jobs) FormatReport(out, job);
  return out + fmt::format("{}\n", kLastLine);
}

std::optional<ProcessRecord> ParseRecord(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  // The last line is whole where it ends.
  const bool whole = lines.size() >= 3 && lines.front() == kFirstLine && lines.back().empty() &&
                     lines[lines.size() - 2] == kLastLine;
  if (!whole) return std::nullopt;
  ProcessRecord record;
  for (size_t i = 1; i + 2 < lines.size(); ++i) {
    const size_t blank = lines[i].find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    const std::optional<std::string> value = PercentDecode(lines[i].substr(blank + 1));
    if (!value || !TakeLine(record, lines[i].substr(0, blank), *value)) return std::nullopt;
  }
  return record;
}

}  // namespace xec
