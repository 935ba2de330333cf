// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/promote.hh"

#include <algorithm>
#include <set>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/names.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/move.hh"

namespace xec {
namespace {

// Homes may stop answering one after another, each of them after it was looked at.
constexpr int kSettleTriesMax = 3;

struct Vote {
  enum Kind {
    kAccepted,    // the home has really taken our version
    kSuperseded,  // it has something higher and not ours
    kRefused,     // it has not taken it and never will by this request
    kOpen,        // nobody knows
  } kind = kOpen;
  // A reply was missing: the home may have taken our version and lost it again, or may take it later.
  bool unclear = false;
};

using Votes = std::map<MemberIndex, Vote::Kind>;

Vote::Kind VoteOf(const Votes& votes, MemberIndex home) {
  const auto vote = votes.find(home);
  return vote == votes.end() ? Vote::kOpen : vote->second;
}

Task<Vote> PromoteOne(Engine& engine, ObjectPath path, MemberIndex home, State promoted, std::string from) {
  const Status renamed = co_await RenameState(engine, home, path, from, FormatState(promoted));
  XEC_FAILPOINT("promote.home");
  if (renamed) co_return Vote{Vote::kAccepted, false};
  Vote vote{Vote::kRefused, OutcomeUnknown(renamed)};
  Result<States> states = co_await ListStates(engine, home, path);
  const Accepted goal = AcceptedFrom(promoted);
  if (!states) {
    vote.kind = Vote::kOpen;
  } else if (HasAccepted(*states, goal)) {
    const Status synced = co_await SyncStates(engine, home, path);
    vote.kind = synced ? Vote::kAccepted : Vote::kOpen;
  } else if (goal < HighestAccepted(*states)) {
    vote.kind = Vote::kSuperseded;
  } else if (vote.unclear) {
    // A request that may still be executed leaves the question open as long as its source is there.
    vote.kind = Vote::kOpen;
  }
  co_return vote;
}

// A quorum of homes has it. The homes must be the same as before, since the answer is final.
Status StillTheHomes(const Engine& engine, const ObjectPath& path) {
  const Status in_force = engine.MembersInForce();
  if (in_force) return OkStatus();
  return Fail(Code::kUnknown, "the change of {} may or may not take effect: {}", path.text(),
              in_force.error().message);
}

// Too few of the homes that had a seal have answered. A look-up makes a quorum of all homes of the name
// accept what any of them shows, and so did or will every reader.
Task<bool> SettledByLook(Engine& engine, ObjectPath path, Accepted goal, bool accepted_somewhere,
                         Late late_ones) {
  for (int tries = 0; tries < kSettleTriesMax; ++tries) {
    Result<NameInfo> info = co_await LookUp(engine, path);
    if (!info) co_return false;
    // A move that something higher hides must still be found by the process that finishes it. This look has
    // finished those that it was shown.
    const bool finished = std::any_of(info->listings.begin(), info->listings.end(),
                                      [&](const auto& listing) { return HasAccepted(listing.second, goal); });
    const bool kept = goal.kind != Accepted::kMoved || finished;
    const bool hidden = accepted_somewhere && kept && goal < info->accepted;
    if (info->accepted != goal && !hidden) co_return false;
    bool durable = false;
    if (goal.kind == Accepted::kMoved) durable = co_await KeepMoved(engine, path, goal, late_ones);
    if (goal.kind != Accepted::kMoved) durable = co_await DurableOnQuorum(engine, path, goal, late_ones);
    if (durable) co_return true;
  }
  co_return false;
}

}  // namespace

void PromoteWhenBack(Engine& engine, const ObjectPath& path, MemberIndex home, const State& promoted,
                     const std::string& from) {
  if (promoted.kind != StateKind::kPromoted) return;
  engine.given_up_files().Add(home, StatePath(path, from), StatePath(path, FormatState(promoted)));
}

Task<Result<bool>> PromoteHomes(Engine& engine, ObjectPath path, std::vector<MemberIndex> homes,
                                State promoted, std::string from) {
  const Accepted goal = AcceptedFrom(promoted);
  const size_t quorum = engine.HomeQuorum(path) - MutantActive(Mutant::kCommitOneHomeEarly);
  Votes votes;
  bool unclear = false;
  const TimePoint begun = engine.executor().Now();
  const auto promote_others = [&] {
    for (const MemberIndex home : homes) {
      if (VoteOf(votes, home) != Vote::kAccepted) PromoteWhenBack(engine, path, home, promoted, from);
    }
  };
  const auto count = [&](Vote::Kind wanted) {
    return static_cast<size_t>(
        std::count_if(votes.begin(), votes.end(), [&](const auto& v) { return v.second == wanted; }));
  };
  for (int pass = 0; pass < 2; ++pass) {
    ServerGather<Vote> gather(engine);
    for (const MemberIndex home : homes) {
      const Vote::Kind vote = VoteOf(votes, home);
      const bool settled = vote == Vote::kAccepted || vote == Vote::kSuperseded;
      if (!settled) gather.Start(home, PromoteOne(engine, path, home, promoted, from));
    }
    const auto committed = [&] {
      const size_t accepted = count(Vote::kAccepted);
      // A move that something higher hides must still be found by the process that finishes it.
      const size_t superseded = promoted.IsMoved() ? 0 : count(Vote::kSuperseded);
      const bool taken = accepted > 0 || MutantActive(Mutant::kDoneSinceSuperseded);
      return taken && accepted + superseded >= quorum && !TookTooLong(engine, begun);
    };
    bool looked = false;  // since the last answer
    bool shown = false;  // by a look: it is committed
    while (gather.pending() > 0 && !shown) {
      const bool all_late = gather.timely() == 0;
      if (all_late && committed()) break;
      if (all_late && !looked && count(Vote::kAccepted) > 0) {
        // What one home has taken can be brought to others, so nobody waits for as many as may be bad.
        looked = true;
        shown = co_await SettledByLook(engine, path, goal, true, Late::kPassedOver);
        continue;
      }
      const auto event = co_await gather.Next();
      if (!event.value) continue;
      looked = false;
      votes[event.member] = event.value->kind;
      unclear = unclear || event.value->unclear;
    }
    if (shown || committed()) {
      const Status still = StillTheHomes(engine, path);
      if (!still) co_return still.error();
      promote_others();
      co_return true;
    }
    // Nobody but us can be the first to promote: if all homes refused clearly, nothing became visible.
    if (count(Vote::kAccepted) == 0 && !unclear && count(Vote::kOpen) == 0) {
      co_return Fail(Code::kConflict, "the change of {} was overtaken before it became visible; retry",
                     path.text());
    }
  }
  if (MutantActive(Mutant::kSayDoneWhenUnknown)) co_return true;
  const bool accepted = count(Vote::kAccepted) > 0;
  const bool settled = co_await SettledByLook(engine, path, goal, accepted, Late::kWaitedFor);
  if (settled && StillTheHomes(engine, path)) {
    promote_others();
    co_return true;
  }
  co_return Fail(Code::kUnknown,
                 "too few homes of {} confirmed the new version: it may or may not become visible; retry",
                 path.text());
}

Task<Status> MarkQuorum(Engine& engine, ObjectPath path, State mark, std::vector<MemberIndex> preferred) {
  const std::vector<MemberIndex> order = HomesFrom(engine, path, std::move(preferred));
  const size_t quorum = engine.HomeQuorum(path);
  const std::string entry = FormatState(mark);
  XEC_FAILPOINT("mark.make");
  ServerGather<Status> gather(engine);
  size_t next = 0;
  size_t made = 0;
  bool open = false;
  const TimePoint begun = engine.executor().Now();
  while (made < quorum) {
    for (; next < order.size() && made + gather.timely() < quorum; ++next)
      gather.Start(order[next], MakeNamedMark(engine, order[next], path, entry));
    if (gather.pending() == 0) break;
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    XEC_FAILPOINT("mark.home");
    if (!*event.value) {
      open = open || OutcomeUnknown(*event.value);
    } else {
      ++made;
    }
  }
  bool stands = made >= quorum && !TookTooLong(engine, begun);
  if (made >= quorum && !stands)
    stands = co_await SettledByLook(engine, path, AcceptedFrom(mark), true, Late::kWaitedFor);
  if (stands) co_return StillTheHomes(engine, path);
  if (made > 0 || open) {
    co_return Fail(Code::kUnknown,
                   "too few homes of {} confirmed the change: it may or may not take effect; retry",
                   path.text());
  }
  co_return Fail(Code::kNoQuorum, "no home of {} takes changes now; retry", path.text());
}

}  // namespace xec
