// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/witness.hh"

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/manifest_text.hh"
#include "commit/steps/move_record.hh"

namespace xec {
namespace {

// Writes a witness in two steps: unproved first, and then, only if another home still has the version as its
// highest, proved. `content` is WitnessContent, or empty for a directory.
Task<RollResult> WriteWitness(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                              std::string content, Duration least) {
  State unproved = DraftOf(engine, goal);
  std::string proved;
  const Status named = co_await KeepLongName(engine, home, path);
  if (!named) co_return RollResult::kFailed;
  XEC_FAILPOINT("roll.create");
  Status created;
  if (goal.kind == Accepted::kDirectory) {
    unproved.oid = kDirectoryOid;
    proved = FormatState(DirectoryState(goal.version));
    created = co_await MakeMark(engine, home, path, FormatState(unproved));
  } else {
    State witness = WitnessState(goal.version, goal.oid, goal.size, goal.given);
    witness.origin = goal.origin;
    proved = FormatState(witness);
    created = co_await CreateFile(engine.MetadataCall(), engine.server(home),
                                  StatePath(path, FormatState(unproved)), std::move(content),
                                  engine.SyncBeforeCommit());
  }
  if (goal.kind != Accepted::kDirectory) co_await DropRefusedDraft(engine, home, path, unproved, created);
  if (created) created = co_await KeepLongName(engine, home, path);
  if (!created) co_return RollResult::kFailed;
  XEC_FAILPOINT("roll.unproved");
  // This is asked after the creation, not before: a cleaner that collects this version's tombstone later must
  // then meet our file.
  if (!MutantActive(Mutant::kCopyWithoutLookingAgain)) {
    const RollResult standing = co_await StandingElsewhere(engine, path, home, goal, least);
    if (standing != RollResult::kAccepted) co_return standing;
  }
  XEC_FAILPOINT("roll.proved");
  Status renamed = co_await RenameState(engine, home, path, FormatState(unproved), proved);
  XEC_FAILPOINT("roll.witness");
  co_return co_await ProvedBy(engine, home, std::move(path), std::move(unproved), std::move(renamed));
}

Task<bool> TombstoneElsewhere(Engine& engine, ObjectPath from, MemberIndex except, Accepted moved,
                              Duration least) {
  std::vector<MemberIndex> others = engine.Homes(from);
  std::erase(others, except);
  co_return co_await AskInTurn<Result<States>>(
      engine, std::move(others), [&](MemberIndex home) { return ListStates(engine, home, from); },
      [&](MemberIndex, const Result<States>& states) { return states && HasAccepted(*states, moved); },
      UnlessTooMany(engine, Late::kPassedOver), least);
}

// Copies the moved tombstone. The copy counts only if another home still has the tombstone once the copy is
// there.
Task<RollResult> CopyMovedTombstone(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                                    Duration least) {
  Result<MoveRecord> record =
      co_await ReadRecordFrom(engine, path, goal, engine.Homes(path), Late::kPassedOver, least);
  if (!record) co_return RollResult::kFailed;
  const State draft = DraftOf(engine, goal);
  const Status named = co_await KeepLongName(engine, home, path);
  if (!named) co_return RollResult::kFailed;
  Status created =
      co_await CreateFile(engine.MetadataCall(), engine.server(home), StatePath(path, FormatState(draft)),
                          FormatMoveRecord(*record), engine.SyncBeforeCommit());
  co_await DropRefusedDraft(engine, home, path, draft, created);
  if (created) created = co_await KeepLongName(engine, home, path);
  if (!created) co_return RollResult::kFailed;
  XEC_FAILPOINT("roll.moved_draft");
  const bool stands = co_await TombstoneElsewhere(engine, path, home, goal, least);
  if (!stands) co_return RollResult::kFailed;
  Status renamed =
      co_await RenameState(engine, home, path, FormatState(draft), FormatState(MovedState(goal)));
  XEC_FAILPOINT("roll.moved");
  co_return co_await ProvedBy(engine, home, std::move(path), draft, std::move(renamed));
}

}  // namespace

Task<RollResult> MakeWitness(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             Duration least) {
  // A moved tombstone carries its target, so it is copied like a witness.
  if (goal.kind == Accepted::kMoved) co_return co_await CopyMovedTombstone(engine, path, home, goal, least);
  std::string content;
  if (goal.kind == Accepted::kObject) {
    if (goal.origin.empty()) {
      // The home that showed the version may have an archive that has followed; another home knows from
      // where.
      const Look all = co_await LookAt(engine, path, LookWidth::kAll, least);
      if (all.highest() == goal) goal.origin = all.highest().origin;
    }
    ManifestFound found = co_await FindManifest(engine, path, goal, least, Late::kPassedOver);
    const bool all_told = found.silent == 0;
    if (!found.text && !goal.origin.empty() &&
        (all_told || IsMoveComplete(engine, found.silent + found.damaged))) {
      goal.origin.clear();
      found = co_await FindManifest(engine, path, goal, least, Late::kPassedOver);
    }
    if (!found.text) co_return RollResult::kFailed;
    // A witness that is copied from one that knows the origin knows it, too. While the move is not complete a
    // quorum must know it.
    goal.origin = std::move(found.origin);
    Result<std::string> witness = WitnessContent(*found.text);
    if (!witness) co_return RollResult::kFailed;
    content = std::move(*witness);
  }
  co_return co_await WriteWitness(engine, path, home, goal, std::move(content), least);
}

}  // namespace xec
