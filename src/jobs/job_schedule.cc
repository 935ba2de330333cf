// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_schedule.hh"

#include <algorithm>

namespace xec {
namespace {

constexpr int kPauseForWork = 4;
constexpr Duration kPauseForWorkMax = std::chrono::minutes(10);

uint64_t UnitsOfStep(const JobPace& pace) {
  if (pace.units_per_second == 0) return UINT64_MAX;
  const auto units =
      static_cast<double>(pace.units_per_second) * std::chrono::duration<double>(kStepTime).count();
  return std::max<uint64_t>(1, static_cast<uint64_t>(units));
}

}  // namespace

Duration PauseAfter(Duration took, Duration interval) {
  return std::max(interval, std::min(kPauseForWork * took, kPauseForWorkMax));
}

Duration PauseForRate(uint64_t units, uint64_t units_per_second, Duration took) {
  if (units_per_second == 0) return {};
  const std::chrono::duration<double> needed(static_cast<double>(units) /
                                             static_cast<double>(units_per_second));
  return std::max(Duration(), std::chrono::duration_cast<Duration>(needed) - took);
}

Duration BackOff(int failures, Duration first, Duration most) {
  Duration pause = first;
  for (int i = 1; i < failures && pause < most; ++i) pause *= 2;
  return failures > 0 ? std::min(pause, most) : Duration();
}

TimePoint NextDue(const StepEnd& end, const JobPace& pace, int failures, TimePoint began, TimePoint now) {
  const Duration rate = PauseForRate(end.units, pace.units_per_second, now - began);
  const Duration retry = BackOff(failures, pace.retry_first, pace.retry_max);
  return now + std::max({end.pause, rate, retry});
}

JobStep LimitedStep(const JobPace& pace, TimePoint now) {
  JobStep step;
  step.until = now + kStepTime;
  step.units_max = UnitsOfStep(pace);
  return step;
}

NextMove DecideMove(const JobStanding& standing, TimePoint now) {
  if (standing.stopping || standing.done) return {NextMove::kEnd};
  if (standing.cancelled) return {NextMove::kCancel};
  const bool held = !standing.must_run && (standing.paused || !standing.told);
  if (held) return {NextMove::kWait};
  if (standing.due > now) return {NextMove::kWait, standing.due};
  return {NextMove::kStep};
}

}  // namespace xec
