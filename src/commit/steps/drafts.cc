// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/drafts.hh"

#include "commit/engine/server_gather.hh"

namespace xec {

State DraftOf(Engine& engine, const Accepted& version) {
  State draft;
  draft.kind = StateKind::kUnproved;
  draft.version = version.version;
  draft.oid = version.oid;
  draft.nonce = engine.NewNonce();
  return draft;
}

Task<RollResult> StandingElsewhere(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                                   Duration least) {
  std::vector<MemberIndex> others = engine.Homes(path);
  std::erase(others, home);
  RollResult standing = RollResult::kFailed;
  co_await AskInTurn<Result<States>>(
      engine, std::move(others), [&](MemberIndex other) { return ListStates(engine, other, path); },
      [&](MemberIndex, const Result<States>& states) {
        if (states && HighestAccepted(*states) == goal) standing = RollResult::kAccepted;
        if (states && goal < HighestAccepted(*states)) standing = RollResult::kOvertaken;
        return standing != RollResult::kFailed;
      },
      UnlessTooMany(engine, Late::kPassedOver), least);
  co_return standing;
}

Task<void> DropRefusedDraft(Engine& engine, MemberIndex home, ObjectPath path, State draft, Status created) {
  if (created || OutcomeUnknown(created)) co_return;
  const Status dropped = co_await RemoveState(engine, home, std::move(path), FormatState(draft));
  (void)dropped;  // else the cleaner does it
}

Task<RollResult> ProvedBy(Engine& engine, MemberIndex home, ObjectPath path, State draft, Status renamed) {
  if (renamed) co_return RollResult::kAccepted;
  if (renamed.code() != Code::kAlreadyExists) co_return RollResult::kFailed;
  const std::string entry = FormatState(draft);
  Status removed;
  if (draft.IsMark()) {
    removed = co_await RemoveMark(engine, home, path, entry);
  } else {
    removed = co_await RemoveState(engine, home, path, entry);
  }
  (void)removed;  // else the cleaner does it
  co_return RollResult::kAccepted;
}

}  // namespace xec
