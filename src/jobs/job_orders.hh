// SPDX-License-Identifier: LGPL-3.0-or-later
// What was asked of jobs, and the names by which that, and what processes tell, lies in a folder of the
// store:
//
//   NAME.pause.TIME, NAME.resume.TIME, NAME.cancel.TIME   directories: somebody asked for that
//   at.NONCE.TIME                                         files: what a process told (job_record.hh)
//
// NAME is a job's, TIME milliseconds since 1970, NONCE 16 hex digits of one process. Of each job the latest
// pause or resume counts; a later name never has an earlier TIME, whatever clocks say. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xec {

enum class JobVerb { kPause, kResume, kCancel };
const char* JobVerbName(JobVerb verb);

struct JobMark {
  std::string job;
  JobVerb verb = JobVerb::kPause;
  int64_t time_ms = 0;
  bool operator==(const JobMark&) const = default;
};
std::string FormatJobMark(const JobMark& mark);
std::optional<JobMark> ParseJobMark(std::string_view entry);

struct RecordName {
  std::string nonce;
  int64_t time_ms = 0;
  bool operator==(const RecordName&) const = default;
};
std::string FormatRecordName(const RecordName& name);
std::optional<RecordName> ParseRecordName(std::string_view entry);

// Of one job.
struct JobOrder {
  bool paused = false;
  int64_t since_ms = 0;      // of that; 0: nobody ever paused it
  int64_t cancelled_ms = 0;  // when somebody asked for it last; 0: never
};

class JobOrders {
 public:
  void Take(const JobMark& mark);
  JobOrder Of(std::string_view job) const;
  std::vector<std::string> Paused() const;
  // The TIME of something that is asked of the job now.
  int64_t NextTime(std::string_view job, int64_t now_ms) const;
  // Does something later stand in the mark's place?
  bool Outdated(const JobMark& mark) const;

 private:
  std::map<std::string, JobOrder, std::less<>> orders_;
};

}  // namespace xec
