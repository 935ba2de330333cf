// SPDX-License-Identifier: LGPL-3.0-or-later
// READ and STAT: the decided state of a name.
#include <algorithm>

#include "base/mutant.hh"
#include "commit/move.hh"
#include "commit/names.hh"
#include "commit/roll_forward.hh"

namespace xec {

std::optional<Version> NameInfo::HighestShown() const {
  std::optional<Version> highest;
  for (const auto& [home, states] : listings) highest = std::max(highest, Ceiling(states));
  return highest;
}

std::vector<MemberIndex> NameInfo::HomesHeard() const {
  std::vector<MemberIndex> heard;
  for (const auto& [home, states] : listings) heard.push_back(home);
  return heard;
}

Task<Result<NameInfo>> LookUp(Engine& engine, ObjectPath path) {
  XEC_CHECK(!path.IsRoot(), "the root is not looked up");
  // Whoever is overtaken begins anew while there is time, as others got on meanwhile; all else is tried so
  // often.
  const TimePoint patient_until = engine.executor().Now() + engine.options().metadata_timeout;
  const auto in_time = [&] { return engine.executor().Now() < patient_until; };
  bool overtaken = false;
  for (int tries = 0; tries <= engine.options().retries_max; tries += overtaken && in_time() ? 0 : 1) {
    // What has overtaken it may be on homes that the next quorum does not hear either.
    Look look = co_await LookAt(engine, path, overtaken ? LookWidth::kAll : LookWidth::kQuorum);
    overtaken = true;
    const Accepted highest = look.highest();
    const bool guess = MutantActive(Mutant::kNotFoundWithTooFewHomes) && highest.kind == Accepted::kNothing;
    if (!look.HasQuorum() && guess) co_return NameInfo{path, highest, {}, look.listings()};
    if (!look.HasQuorum()) co_return CannotTell(engine, path, look);
    // Those that alone showed something may have died since, one after the other.
    const bool enough = static_cast<size_t>(tries) >= look.homes().size() - look.quorum();
    const bool last = enough || tries == engine.options().retries_max;
    const Late late_ones = last ? Late::kWaitedFor : Late::kPassedOver;
    std::vector<MemberIndex> holders = look.WithHighest();
    if (!look.Decided() && !MutantActive(Mutant::kAnswerWithoutRolling)) {
      RollOutcome rolled = co_await RollForwardAll(engine, path, look, look.LackingHighest(), late_ones);
      // A reader never counts "superseded": it might have heard one home before and another after a removal.
      if (rolled.superseded) continue;
      holders.insert(holders.end(), rolled.accepted.begin(), rolled.accepted.end());
      if (holders.size() < look.quorum()) {
        // Homes that were not heard may have it, or take it.
        Look wide = co_await LookAt(engine, path, LookWidth::kAll);
        overtaken = !(wide.highest() == highest);
        if (overtaken || !wide.Decided()) continue;
        look = std::move(wide);
        holders = look.WithHighest();
      }
    }
    // Whoever sees a name gone must find it at its new place; a move hidden by a newer version counts as
    // well.
    Status finished;
    if (!MutantActive(Mutant::kGoneBeforeItArrives))
      finished = co_await FinishMovesShown(engine, path, look.listings(), highest, holders, late_ones);
    overtaken = !finished && finished.code() == Code::kNotFound;  // completed since the look
    if (overtaken) continue;
    // The home that showed the move may be one that has just died, as may be the next. If the move is not
    // completed others show it.
    if (!finished && finished.code() == Code::kNoQuorum && !last) continue;
    if (!finished) co_return finished.error();
    // Gone is told only of a moment at which the move was through. Else what was put here and then at the new
    // name meanwhile would have come after the rename here, and before it there if its version is lower.
    if (highest.kind == Accepted::kMoved) {
      const Look again = co_await LookAt(engine, path, LookWidth::kQuorum);
      if (!again.HasQuorum()) co_return CannotTell(engine, path, again);
      overtaken = !(again.highest() == highest);
      if (overtaken) continue;
    }
    co_return NameInfo{path, highest, std::move(holders), look.listings()};
  }
  co_return Fail(Code::kNoQuorum,
                 "cannot tell what {} is: it changes faster than it can be read, or too few of its homes "
                 "accept writes; retry",
                 path.text());
}

Task<Result<NameInfo>> LookUpLive(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUp(engine, path);
  if (info && !info->accepted.Live()) co_return Fail(Code::kNotFound, "{} does not exist", path.text());
  co_return std::move(info);
}

}  // namespace xec
