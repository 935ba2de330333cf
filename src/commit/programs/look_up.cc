// SPDX-License-Identifier: LGPL-3.0-or-later
// READ and STAT: the decided state of a name.
#include <algorithm>

#include "base/mutant.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "commit/steps/move.hh"
#include "commit/steps/roll_forward.hh"
#include "commit/steps/seals.hh"

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

namespace {

// A look-up that changes have overtaken begins anew for so long, with pauses.
constexpr Duration kOvertakenPatience = std::chrono::seconds(5);
constexpr Duration kOvertakenPauseMax = std::chrono::milliseconds(200);

// Why another look may tell what this one does not.
enum class Again {
  kNo,
  kOvertaken,  // the name has changed since, or it took so long that it may have
  kTooFew,     // homes have died since, or accept nothing
};

struct LookedUp {
  Result<NameInfo> info;
  Again again = Again::kNo;
};

Result<NameInfo> WithTooFew(const Engine& engine, const ObjectPath& path, const Look& look) {
  if (MutantActive(Mutant::kNotFoundWithTooFewHomes) && look.highest().kind == Accepted::kNothing)
    return NameInfo{.path = path, .accepted = look.highest(), .holders = {}, .listings = look.listings()};
  return CannotTell(engine, path, look);
}

// One look, and what it takes to be sure of it.
Task<LookedUp> LookUpOnce(Engine& engine, ObjectPath path, LookWidth width, int tries) {
  const auto look_again = [&](Again why) {
    return LookedUp{Fail(Code::kNoQuorum,
                         "cannot tell what {} is: it changes faster than it can be read, or too few of its "
                         "homes accept writes; retry",
                         path.text()),
                    why};
  };
  TimePoint begun = engine.executor().Now();  // of what it is decided by
  Look look = co_await LookAt(engine, path, width);
  if (!look.HasQuorum()) co_return LookedUp{WithTooFew(engine, path, look)};
  // A home that is asked in addition takes part in rolling forward only in place of others, since it may be
  // behind.
  std::vector<MemberIndex> to_roll;
  if (!look.Decided()) {
    const Look narrow = std::move(look);
    look = co_await AskPassedOver(engine, path, narrow);
    to_roll = look.LackingHighest();
    std::erase_if(to_roll, [&](MemberIndex home) { return !narrow.listings().contains(home); });
  }
  const Accepted highest = look.highest();
  // Homes that alone showed something may have died since, one after the other.
  const bool enough = static_cast<size_t>(tries) >= look.homes().size() - look.quorum();
  const bool last = enough || tries >= engine.options().retries_max;
  const Late late_ones = last ? Late::kWaitedFor : Late::kPassedOver;
  std::vector<MemberIndex> holders = look.WithHighest();
  TimePoint enough_at = engine.executor().Now();
  if (!look.Decided() && !MutantActive(Mutant::kAnswerWithoutRolling)) {
    RollOutcome rolled = co_await RollForwardAll(engine, path, look, std::move(to_roll), late_ones);
    // A reader never counts "superseded": it might have heard one home before and another after a removal.
    if (rolled.superseded) co_return look_again(Again::kOvertaken);
    holders.insert(holders.end(), rolled.accepted.begin(), rolled.accepted.end());
    enough_at = rolled.enough_at;
    if (holders.size() < look.quorum()) {
      // Homes that were not heard may have it, or take it.
      begun = engine.executor().Now();
      Look wide = co_await LookAt(engine, path, LookWidth::kAll);
      if (!(wide.highest() == highest)) co_return look_again(Again::kOvertaken);
      if (!wide.Decided()) co_return look_again(Again::kTooFew);
      look = std::move(wide);
      holders = look.WithHighest();
      enough_at = engine.executor().Now();
    }
  }
  if (TookTooLong(engine, begun, enough_at)) co_return look_again(Again::kOvertaken);
  // A client that sees a name gone must find the object at its new place; a move that a newer version hides
  // counts as well.
  Status finished;
  if (!MutantActive(Mutant::kGoneBeforeItArrives))
    finished = co_await FinishMovesShown(engine, path, look.listings(), highest, holders, late_ones);
  // Not found means that the move was completed since the look, or that the home that showed it has just
  // died, as the next one may. If the move is not completed other homes show it.
  if (!finished && finished.code() == Code::kNotFound) co_return look_again(Again::kOvertaken);
  if (!finished && finished.code() == Code::kNoQuorum && !last) co_return look_again(Again::kTooFew);
  if (!finished) co_return LookedUp{finished.error()};
  // "Gone" is told only of a moment at which the move was through. Otherwise what was put here, and then at
  // the new name, meanwhile would have come after the rename here, and before it there if its version is
  // lower.
  if (highest.kind == Accepted::kMoved) {
    const Look later = co_await LookAt(engine, path, LookWidth::kQuorum);
    if (!later.HasQuorum()) co_return LookedUp{CannotTell(engine, path, later)};
    if (!(later.highest() == highest)) co_return look_again(Again::kOvertaken);
  }
  co_return LookedUp{NameInfo{
      .path = path, .accepted = highest, .holders = std::move(holders), .listings = look.listings()}};
}

}  // namespace

Task<Result<NameInfo>> LookUp(Engine& engine, ObjectPath path) {
  XEC_CHECK(!path.IsRoot(), "the root is not looked up");
  const TimePoint patient_until = engine.executor().Now() + kOvertakenPatience;
  LookWidth width = LookWidth::kQuorum;
  Duration pause{0};
  int tries = 0;
  while (true) {
    LookedUp looked = co_await LookUpOnce(engine, path, width, tries);
    const bool overtaken = looked.again == Again::kOvertaken;
    // Other operations got on meanwhile.
    const bool counts = !overtaken || engine.executor().Now() >= patient_until;
    if (looked.again == Again::kNo || (counts && ++tries > engine.options().retries_max))
      co_return std::move(looked.info);
    // A change that has overtaken a look may be on homes that the next quorum does not hear either, so that
    // look is wide. Only every second look is wide, since every wide look would be overtaken where a home is
    // slow.
    width = overtaken && width == LookWidth::kQuorum ? LookWidth::kAll : LookWidth::kQuorum;
    if (!overtaken) continue;
    if (pause > Duration::zero()) co_await Pause(engine, pause);
    pause = std::clamp(2 * pause, kLookPauseMin, kOvertakenPauseMax);
  }
}

Task<Result<NameInfo>> LookUpLive(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUp(engine, path);
  if (info && !info->accepted.Live()) co_return Fail(Code::kNotFound, "{} does not exist", path.text());
  co_return std::move(info);
}

}  // namespace xec
