// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/promote.hh"

#include <algorithm>
#include <set>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

enum class Vote {
  kAccepted,    // the home has really taken our version
  kSuperseded,  // it has something higher and not ours
  kRefused,     // it has not taken it and never will by this request
  kOpen,        // nobody knows
};

Task<Vote> PromoteOne(Engine& engine, ObjectPath path, MemberIndex home, State promoted, std::string from) {
  const Status renamed = co_await RenameState(engine, home, path, from, FormatState(promoted));
  XEC_FAILPOINT("promote.home");
  if (renamed) co_return Vote::kAccepted;
  Result<States> states = co_await ListStates(engine, home, path);
  if (!states) co_return Vote::kOpen;
  const Accepted goal = AcceptedFrom(promoted);
  if (HasAccepted(*states, goal)) co_return Vote::kAccepted;
  if (goal < HighestAccepted(*states)) co_return Vote::kSuperseded;
  // A request that may still be executed leaves the question open as long as its source is there.
  if (OutcomeUnknown(renamed)) co_return Vote::kOpen;
  co_return Vote::kRefused;
}

}  // namespace

Task<Result<bool>> PromoteHomes(Engine& engine, ObjectPath path, std::vector<MemberIndex> homes,
                                State promoted, std::string from) {
  const size_t quorum = Quorum(engine.Homes(path).size()) - MutantActive(Mutant::kCommitOneHomeEarly);
  std::map<MemberIndex, Vote> votes;
  for (int pass = 0; pass < 2; ++pass) {
    Gather<Vote> gather(engine.scope(), engine.executor());
    for (const MemberIndex home : homes) {
      const auto vote = votes.find(home);
      const bool settled =
          vote != votes.end() && (vote->second == Vote::kAccepted || vote->second == Vote::kSuperseded);
      if (!settled) gather.Start(home, PromoteOne(engine, path, home, promoted, from));
    }
    while (gather.pending() > 0) {
      const auto event = co_await gather.Next();
      votes[static_cast<MemberIndex>(event.tag)] = *event.value;
    }
    const auto count = [&](Vote wanted) {
      return static_cast<size_t>(
          std::count_if(votes.begin(), votes.end(), [&](const auto& v) { return v.second == wanted; }));
    };
    const size_t accepted = count(Vote::kAccepted);
    // A moved version that something higher hides must still be found by who finishes the move.
    const size_t superseded = count(Vote::kSuperseded);
    const size_t enough = promoted.IsMoved() ? accepted : accepted + superseded;
    if (accepted > 0 && enough >= quorum) co_return true;
    // A home with something higher may have accepted ours before: a reader rolled it on, and it was cleaned
    // up.
    if (accepted + superseded + count(Vote::kOpen) == 0) {
      co_return Fail(Code::kConflict,
                     "the change of {} was given up by the cleaner before it became visible; retry",
                     path.text());
    }
  }
  if (MutantActive(Mutant::kSayDoneWhenUnknown)) co_return true;
  co_return Fail(Code::kUnknown,
                 "too few homes of {} confirmed the new version: it may or may not become visible; retry",
                 path.text());
}

Task<Status> MarkQuorum(Engine& engine, ObjectPath path, State mark, std::vector<MemberIndex> preferred) {
  const std::vector<MemberIndex> homes = engine.Homes(path);
  const size_t quorum = Quorum(homes.size());
  std::vector<MemberIndex> order = std::move(preferred);
  for (const MemberIndex home : homes) {
    if (std::find(order.begin(), order.end(), home) == order.end()) order.push_back(home);
  }
  const std::string entry = FormatState(mark);
  XEC_FAILPOINT("mark.make");
  Gather<Status> gather(engine.scope(), engine.executor());
  size_t next = 0;
  for (; next < quorum; ++next) gather.Start(order[next], MakeMark(engine, order[next], path, entry));
  size_t made = 0;
  bool open = false;
  while (gather.pending() > 0) {
    const auto event = co_await gather.Next();
    XEC_FAILPOINT("mark.home");
    if (*event.value) {
      if (++made >= quorum) co_return OkStatus();
      continue;
    }
    open = open || OutcomeUnknown(*event.value);
    if (next < order.size()) {
      gather.Start(order[next], MakeMark(engine, order[next], path, entry));
      ++next;
    }
  }
  if (made > 0 || open) {
    co_return Fail(Code::kUnknown,
                   "too few homes of {} confirmed the change: it may or may not take effect; retry",
                   path.text());
  }
  co_return Fail(Code::kNoQuorum, "no home of {} takes changes now; retry", path.text());
}

}  // namespace xec
