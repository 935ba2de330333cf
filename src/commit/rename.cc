// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/rename.hh"

#include <algorithm>

#include "base/failpoint.hh"
#include "commit/move.hh"
#include "commit/promote.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Writes the intent on homes until a quorum has it; returns those that clearly have.
Task<std::vector<MemberIndex>> WriteIntents(Engine& engine, ObjectPath from, State intent, std::string content,
                                            std::vector<MemberIndex> preferred) {
  const std::vector<MemberIndex> homes = engine.Homes(from);
  std::vector<MemberIndex> order = std::move(preferred);
  for (const MemberIndex home : homes) {
    if (std::find(order.begin(), order.end(), home) == order.end()) order.push_back(home);
  }
  const std::string path = StatePath(from, FormatState(intent));
  std::vector<MemberIndex> written;
  Gather<Status> gather(engine.scope(), engine.executor());
  size_t next = 0;
  const auto start = [&] {
    gather.Start(order[next], CreateFile(engine.MetadataCall(), engine.server(order[next]), path, content, engine.SyncBeforeCommit()));
    ++next;
  };
  while (next < Quorum(homes.size())) start();
  while (gather.pending() > 0) {
    const auto event = co_await gather.Next();
    if (*event.value) {
      written.push_back(static_cast<MemberIndex>(event.tag));
    } else if (next < order.size()) {
      start();
    }
  }
  co_return std::move(written);
}

// After all intents are written: does anything stand in the way of moving exactly this version?
Task<Status> LookForRivals(Engine& engine, ObjectPath from, State intent, std::vector<MemberIndex> homes) {
  Gather<Result<States>> gather(engine.scope(), engine.executor());
  for (const MemberIndex home : homes) gather.Start(home, ListStates(engine, home, from));
  size_t heard = 0;
  Status verdict;
  while (gather.pending() > 0) {
    const auto event = co_await gather.Next();
    if (!*event.value) continue;
    ++heard;
    const States& states = **event.value;
    const Accepted highest = HighestAccepted(states);
    if (highest.kind != Accepted::kNothing && highest.version > intent.version->Unmoved()) {
      verdict = Fail(Code::kConflict, "{} was changed while it was renamed; retry", from.text());
    }
    for (const State& state : states) {
      const bool rival = state.kind == StateKind::kIntent && state.version == intent.version &&
                         FormatState(state) != FormatState(intent);
      if (rival) verdict = Fail(Code::kConflict, "{} is being renamed by somebody else; retry", from.text());
    }
  }
  if (heard < homes.size()) co_return Fail(Code::kNoQuorum, "a home of {} stopped answering while it was renamed; retry", from.text());
  co_return std::move(verdict);
}

Task<void> WithdrawIntents(Engine& engine, ObjectPath from, State intent, std::vector<MemberIndex> homes) {
  Gather<Status> gather(engine.scope(), engine.executor());
  for (const MemberIndex home : homes) gather.Start(home, RemoveState(engine, home, from, FormatState(intent)));
  while (gather.pending() > 0) co_await gather.Next();
}

}  // namespace

Task<Status> RenameObject(Engine& engine, ObjectPath from, ObjectPath to) {
  Result<NameInfo> source = co_await LookUpLive(engine, from);
  if (!source) co_return source.error();
  if (source->accepted.kind == Accepted::kDirectory) co_return Fail(Code::kIsDirectory, "{} is a directory", from.text());
  if (from == to) co_return OkStatus();
  Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (target->accepted.kind == Accepted::kDirectory) co_return Fail(Code::kIsDirectory, "{} is a directory", to.text());
  std::optional<Version> ceiling;
  for (const auto& [home, states] : target->listings) ceiling = std::max(ceiling, Ceiling(states));
  Result<Version> version = engine.NextVersion(ceiling);
  if (!version) co_return version.error();

  State intent = TombstoneState(source->accepted.version.Moved());
  intent.kind = StateKind::kIntent;
  intent.target = *version;
  intent.nonce = engine.NewNonce();
  const std::string content = FormatMoveRecord(MoveRecord{to, source->accepted.oid, source->accepted.size});
  XEC_FAILPOINT("rename.intent");
  std::vector<MemberIndex> written = co_await WriteIntents(engine, from, intent, content, source->holders);
  XEC_FAILPOINT("rename.intents_written");
  Status clear;
  if (written.size() < Quorum(engine.Homes(from).size())) {
    clear = Fail(Code::kNoQuorum, "too few homes of {} take changes now; retry", from.text());
  } else {
    clear = co_await LookForRivals(engine, from, intent, written);
  }
  if (!clear) {
    co_await WithdrawIntents(engine, from, intent, written);
    co_return clear.error();
  }
  State moved = TombstoneState(*intent.version);
  moved.target = intent.target;
  XEC_FAILPOINT("rename.commit");
  Result<bool> committed = co_await PromoteHomes(engine, from, written, moved, FormatState(intent));
  if (!committed) co_return committed.error();
  XEC_FAILPOINT("rename.committed");
  co_return co_await FinishMove(engine, from, AcceptedFrom(moved));
}

}  // namespace xec
