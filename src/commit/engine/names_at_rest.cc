// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/names_at_rest.hh"

#include <algorithm>
#include <utility>

#include "base/log.hh"

namespace xec {
namespace {

using Millis = std::chrono::milliseconds;

// The time lies between half of kLookAgainAfter and all of it.
Duration LookAgainAfter(uint64_t shown) {
  constexpr uint64_t kSteps = 1024;
  return kLookAgainAfter / 2 + (kLookAgainAfter / 2) * (shown % kSteps) / kSteps;
}

}  // namespace

const NamesAtRest::Rest* NamesAtRest::View::Find(uint64_t shown) const {
  const auto found = std::lower_bound(rests_->begin(), rests_->end(), shown,
                                      [](const Rest& rest, uint64_t value) { return rest.shown < value; });
  return found != rests_->end() && found->shown == shown ? &*found : nullptr;
}

std::optional<RestingName> NamesAtRest::View::Lives(uint64_t shown) const {
  const Rest* const rest = Find(shown);
  if (rest == nullptr || rest->until <= now_ || rest->lives.kind == RestingName::kUnknown)
    return std::nullopt;
  return rest->lives;
}

NamesAtRest::View NamesAtRest::Now(TimePoint now) const {
  MutexLock lock(mutex_);
  return times_tell_ ? View(rests_, now) : View();
}

NamesAtRest::Pass::Pass(NamesAtRest& memory, Executor& executor)
    : memory_(memory), executor_(executor), before_([&] {
        MutexLock lock(memory.mutex_);
        return View(memory.rests_, executor.Now());
      }()) {}

NamesAtRest::Pass::~Pass() {
  if (given_up_) return;
  const auto by_shown = [](const Rest& a, const Rest& b) { return a.shown < b.shown; };
  std::sort(learnt_.begin(), learnt_.end(), by_shown);
  auto rests = std::make_shared<const Rests>(std::move(learnt_));
  MutexLock lock(memory_.mutex_);
  memory_.rests_.swap(rests);
}

void NamesAtRest::Pass::Keep(const Rest& rest) {
  MutexLock lock(mutex_);
  if (rest.shown > highest_) return;
  learnt_.push_back(rest);
  if (learnt_.size() <= kNamesAtRestMax) return;
  highest_ /= 2;
  std::erase_if(learnt_, [highest = highest_](const Rest& kept) { return kept.shown > highest; });
}

std::optional<ToClean> NamesAtRest::Pass::Known(uint64_t shown) {
  const Rest* const rest = before_.Find(shown);
  if (rest == nullptr || rest->until <= executor_.Now()) return std::nullopt;
  Keep(*rest);
  return rest->later ? ToClean::kLater : ToClean::kNothing;
}

void NamesAtRest::Pass::Learn(uint64_t shown, TimePoint began, const CleanVerdict& verdict) {
  if (verdict.what != ToClean::kLater && verdict.what != ToClean::kNothing) return;
  const Rest* const before = before_.Find(shown);
  Rest rest;
  rest.shown = shown;
  rest.since = before != nullptr ? before->since : began;
  rest.later = verdict.what == ToClean::kLater;
  rest.lives = verdict.lives;
  const bool both_known = before != nullptr && before->Believed() &&
                          rest.lives.kind != RestingName::kUnknown &&
                          before->lives.kind != RestingName::kUnknown;
  if (both_known && before->lives != rest.lives) DoNotBelieveTimes();
  if (began - rest.since >= kShownFor) {
    const int64_t wait_ms = std::max<int64_t>(0, verdict.due_ms - executor_.WallNow());
    const auto longest = std::chrono::duration_cast<Millis>(LookAgainAfter(shown));
    rest.until = began + std::min(longest, Millis(wait_ms));
  }
  Keep(rest);
}

void NamesAtRest::Pass::DoNotBelieveTimes() {
  {
    MutexLock lock(memory_.mutex_);
    if (!std::exchange(memory_.times_tell_, false)) return;
  }
  Log(LogLevel::kWarning, "cleaner",
      "a name has changed while the times of its directories on the data servers have not: a server's clock "
      "was set "
      "back, or its file system does not keep them. Listings look up every name from now on, and are slower");
}

}  // namespace xec
