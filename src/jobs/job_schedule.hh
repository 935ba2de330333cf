// SPDX-License-Identifier: LGPL-3.0-or-later
// When a job has its next step, and what it may do then. Pure.
#pragma once

#include "jobs/job.hh"

namespace xec {

// A step that can be cut ends after so long, so that a pause or a cancellation is soon obeyed.
constexpr Duration kStepTime = std::chrono::seconds(1);

// How long a job with a pass each `interval` rests after one that took so long: it works no more than a fifth
// of the time, unless its passes take minutes.
Duration PauseAfter(Duration took, Duration interval);

// What is left of the time that so many units have to take.
Duration PauseForRate(uint64_t units, uint64_t units_per_second, Duration took);

// After so many failed steps, one after the other: `first`, doubled with each, `most` at most.
Duration BackOff(int failures, Duration first, Duration most);

// Until when the next step waits. `failures`: steps with a problem, one after the other, this one included.
TimePoint NextDue(const StepEnd& end, const JobPace& pace, int failures, TimePoint began, TimePoint now);

// `until` and `units_max` of a step that begins now.
JobStep LimitedStep(const JobPace& pace, TimePoint now);

// What is known of a job between its steps.
struct JobStanding {
  bool told = false;  // what was asked of jobs is known; it makes no difference to those that must run
  bool must_run = false;
  bool stopping = false;
  bool paused = false;
  bool cancelled = false;  // and its pass is not given up yet
  bool done = false;
  TimePoint due = {};
};
struct NextMove {
  enum Kind { kEnd, kCancel, kStep, kWait } kind = kWait;
  TimePoint until = TimePoint::max();  // of kWait; a change comes before that
};
NextMove DecideMove(const JobStanding& standing, TimePoint now);

}  // namespace xec
