// SPDX-License-Identifier: LGPL-3.0-or-later
// Job: something that a process does in the background by itself, in bounded steps. A JobRunner calls
// everything of a job, one call at a time, on whichever thread of the executor; so a job needs no lock for
// what is its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

// What is always true of a job.
struct JobText {
  std::string_view name;       // lower-case letters: commands and records know it by this
  std::string_view summary;    // what it does: a clause that begins with a verb
  std::string_view unit = {};  // of its progress, plural; "" = it tells none
  // Why nobody may pause it: a clause. "" = it may be paused.
  std::string_view must_run = {};
  bool has_passes = false;  // its work is passes of many steps; one that is under way can be cancelled
};

// Where the pass under way is.
struct JobProgress {
  uint64_t done = 0;  // units
  std::optional<uint64_t> total = {};  // unless nobody knows
  std::string at = {};
  bool operator==(const JobProgress&) const = default;
};

// What one step may do. A step that has more to do than that ends with StepEnd::kMore.
struct JobStep {
  TimePoint until = TimePoint::max();
  uint64_t units_max = 0;         // at least 1
  std::function<bool()> stopped = {};  // the process ends, or the pass is to be cancelled: end the step soon
  std::function<void(JobProgress)> show = {};
};

struct StepEnd {
  enum Kind {
    kMore,  // a pass is under way, and the next step goes on with it
    kRest,  // nothing is under way until the next step
    kDone,  // there is nothing to do, ever again
  };
  Kind kind = kRest;
  Duration pause = {};  // before the next step, at least
  uint64_t units = 0;  // that this step has done: for the rate
  std::optional<Error> problem = {};  // what this step could not do
};

// How fast the runner lets a job go on.
struct JobPace {
  uint64_t units_per_second = 0;  // 0: as fast as it can
  // The next step after one with a problem, and the most when further ones double it. 0: its own pause.
  Duration retry_first = {};
  Duration retry_max = {};
};

class Job {
 public:
  virtual ~Job() = default;

  virtual const JobText& text() const = 0;
  virtual JobPace pace() const { return {}; }
  // Before the first step.
  virtual Duration first_pause() const { return {}; }

  // Does a part of the work. It takes little longer than until `step.until`, or than one piece of work that
  // cannot be cut; the job says which one that is.
  virtual Task<StepEnd> Step(JobStep step) = 0;

  // Gives up the pass under way, if there is one: the next step begins another one, as if none had been.
  // Never during a step. Also called when the process ends.
  virtual Task<void> Cancel() { co_return; }

  // Where the pass under way is, in words that the same job of a later process understands; "" = at the
  // beginning. Asked for after steps.
  virtual std::string cursor() const { return {}; }
  // What a process before this one told last; called before the first step, if at all. It may be anything.
  virtual void Restore(std::string cursor) { (void)cursor; }
};

}  // namespace xec
