// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/move.hh"

#include "base/failpoint.hh"
#include "base/text.hh"
#include "commit/attributes.hh"
#include "commit/rename.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

bool KeepInRecord(unsigned char c) { return c > 0x20 && c < 0x7f; }

State MovedState(const Accepted& moved) {
  State state = TombstoneState(moved.version);
  state.target = moved.target;
  return state;
}

Task<bool> TombstoneElsewhere(Engine& engine, ObjectPath from, std::optional<MemberIndex> except, Accepted moved) {
  const std::vector<MemberIndex> homes = engine.Homes(from);
  for (const MemberIndex home : homes) {
    if (home == except) continue;
    Result<States> states = co_await ListStates(engine, home, from);
    if (states && HasAccepted(*states, moved)) co_return true;
  }
  co_return false;
}

// The version at the new name as a goal to roll to.
Accepted GoalOf(const MoveRecord& record, const Accepted& moved) {
  return AcceptedFrom(PromotedState(*moved.target, record.oid, record.size));
}

// F1 on one home of the new name.
Task<RollResult> AcceptAtTarget(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record, MemberIndex home,
                                std::string witness, std::optional<AttributeRevision> attributes) {
  Result<States> states = co_await ListStates(engine, home, record.to);
  if (!states) co_return RollResult::kFailed;
  const Accepted goal = GoalOf(record, moved);
  const RollStep step = NextRollStep(*states, goal);
  if (step.kind == RollStep::kAccepted) co_return RollResult::kAccepted;
  if (step.kind == RollStep::kSuperseded) co_return RollResult::kSuperseded;
  if (witness.empty()) co_return RollResult::kFailed;
  const ObjectPath to = record.to;
  if (attributes) {
    const Status copied = co_await CopyAttributes(engine, home, to, *moved.target, *attributes);
    if (!copied) co_return RollResult::kFailed;
  }
  co_return co_await WriteWitness(engine, to, home, goal, std::move(witness),
                                  [&] { return TombstoneElsewhere(engine, from, std::nullopt, moved); });
}

// F1: the new name is accepted on a quorum of its homes (or something newer is there already).
Task<Status> AcceptTarget(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record) {
  Accepted old = GoalOf(record, moved);
  old.version = moved.version.Unmoved();
  std::string witness;
  Result<std::string> manifest = co_await CopyManifest(engine, from, old);
  if (manifest) {
    Result<std::string> content =
        WitnessContent(*manifest, ManifestFrom{from.text(), old.version.ToString()});
    if (!content) co_return content.error();
    witness = std::move(*content);
  }
  Look look = co_await LookAt(engine, from, LookWidth::kQuorum);
  NameInfo source{from, old, {}, look.listings()};
  Result<std::optional<AttributeRevision>> attributes = co_await ReadAttributes(engine, std::move(source));
  if (!attributes) co_return attributes.error();
  Gather<RollResult> gather(engine.scope(), engine.executor());
  const std::vector<MemberIndex> homes = engine.Homes(record.to);
  for (const MemberIndex home : homes) {
    gather.Start(home, AcceptAtTarget(engine, from, moved, record, home, witness, *attributes));
  }
  size_t done = 0;
  while (gather.pending() > 0) {
    const auto event = co_await gather.Next();
    if (*event.value != RollResult::kFailed) ++done;
  }
  if (done >= Quorum(homes.size())) co_return OkStatus();
  co_return Fail(Code::kUnknown, "{} was renamed to {}, but too few homes of the new name answer; retry", from.text(),
                 record.to.text());
}

// F2 on one server: its archive, under whatever state it has, goes to the new name.
Task<Status> MoveArchive(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record, MemberIndex member) {
  Result<States> states = co_await ListStates(engine, member, from);
  if (!states) co_return states.error();
  for (const State& state : *states) {
    const bool archive = state.kind == StateKind::kPromoted || state.kind == StateKind::kSealed || state.kind == StateKind::kAborted;
    if (!archive || state.oid != record.oid) continue;
    const Status named = co_await KeepLongName(engine, member, record.to);
    if (!named) co_return named.error();
    const std::string target = FormatState(PromotedState(*moved.target, record.oid, record.size));
    const Status renamed = co_await Rename(engine.MetadataCall(), engine.server(member), StatePath(from, FormatState(state)),
                                           StatePath(record.to, target));
    XEC_FAILPOINT("rename.archive");
    if (!renamed && renamed.code() != Code::kNotFound) co_return renamed.error();
  }
  co_return OkStatus();
}

}  // namespace

std::string FormatMoveRecord(const MoveRecord& record) {
  return fmt::format("xec-move 1\nto {}\noid {}\nsize {}\nend\n", PercentEncode(record.to.text(), KeepInRecord), record.oid,
                     record.size);
}

Result<MoveRecord> ParseMoveRecord(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  const Error damaged = Fail(Code::kCorruption, "a move record is damaged");
  if (lines.size() != 6 || lines[0] != "xec-move 1" || !lines[1].starts_with("to ") || !lines[2].starts_with("oid ") ||
      !lines[3].starts_with("size ") || lines[4] != "end") {
    return damaged;
  }
  const auto path = PercentDecode(lines[1].substr(3));
  const auto size = ParseUint(lines[3].substr(5));
  if (!path || !size || !IsObjectId(lines[2].substr(4))) return damaged;
  XEC_ASSIGN_OR_RETURN(ObjectPath to, ObjectPath::Parse(*path));
  return MoveRecord{std::move(to), std::string(lines[2].substr(4)), *size};
}

Task<Result<MoveRecord>> ReadMoveRecord(Engine& engine, ObjectPath from, Accepted moved) {
  Error last = Fail(Code::kUnavailable, "no home of {} shows where it was moved", from.text());
  const std::vector<MemberIndex> homes = engine.Homes(from);
  const std::string entry = StatePath(from, FormatState(MovedState(moved)));
  for (const MemberIndex home : homes) {
    Result<std::string> text = co_await ReadFile(engine.MetadataCall(), engine.server(home), entry, kMoveRecordBytesMax);
    if (!text) {
      if (text.code() != Code::kNotFound) last = text.error();
      continue;
    }
    Result<MoveRecord> record = ParseMoveRecord(*text);
    if (record) co_return std::move(record);
    last = record.error();
  }
  co_return last;
}

Task<RollResult> CopyMovedTombstone(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal) {
  Result<MoveRecord> record = co_await ReadMoveRecord(engine, path, goal);
  if (!record) co_return RollResult::kFailed;
  State intent = MovedState(goal);
  intent.kind = StateKind::kIntent;
  intent.nonce = engine.NewNonce();
  const Status created = co_await CreateFile(engine.MetadataCall(), engine.server(home), StatePath(path, FormatState(intent)),
                                             FormatMoveRecord(*record), engine.SyncBeforeCommit());
  if (!created) co_return RollResult::kFailed;
  const bool stands = co_await TombstoneElsewhere(engine, path, home, goal);
  if (!stands) co_return RollResult::kFailed;
  const Status renamed = co_await RenameState(engine, home, path, FormatState(intent), FormatState(MovedState(goal)));
  co_return renamed ? RollResult::kAccepted : RollResult::kFailed;
}

Task<Status> FinishMove(Engine& engine, ObjectPath from, Accepted moved) {
  Result<MoveRecord> record = co_await ReadMoveRecord(engine, from, moved);
  if (!record) co_return record.error();
  const Status accepted = co_await AcceptTarget(engine, from, moved, *record);
  if (!accepted) co_return accepted.error();
  XEC_FAILPOINT("rename.target");
  Gather<Status> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < engine.server_count(); ++i) {
    gather.Start(i, MoveArchive(engine, from, moved, *record, static_cast<MemberIndex>(i)));
  }
  // A server that does not answer keeps its archive under the old name until a cleaner meets it there.
  while (gather.pending() > 0) co_await gather.Next();
  co_return OkStatus();
}

}  // namespace xec
