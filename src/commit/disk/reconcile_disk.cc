// SPDX-License-Identifier: LGPL-3.0-or-later
// ReconcileDisk: what has to be compared before a disk that went back in time may be believed again.
#include <algorithm>

#include "base/contains.hh"
#include "commit/disk/disk_clock.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "commit/programs/name_walk.hh"
#include "commit/rename/carry_renames.hh"
#include "commit/steps/seals.hh"

namespace xec {
namespace {

struct Reconciliation {
  Engine& engine;   // leaves the member out
  Engine& beneath;  // does not
  MemberIndex member;
};

// By all who see that its clock has moved on: another gateway was faster.
Error IsUsedAgain(const Reconciliation& work) {
  return Fail(Code::kConflict, "{} is used again", work.beneath.server_id(work.member));
}

bool ShowsId(const Look& look, const std::string& id) {
  return std::any_of(look.listings().begin(), look.listings().end(), [&](const auto& home) {
    return std::any_of(home.second.begin(), home.second.end(),
                       [&](const State& state) { return state.oid == id || state.origin == id; });
  });
}

// Would this entry of the disk tell of something that is over? Accepted states above what the homes have
// decided without it: what accepted them besides was removed, and that is forgotten. Moves that none of them
// knows: they were retired, and what is at the new name since is none of theirs. Seals that none of them
// knows.
bool IsVoid(const State& state, const Look& others) {
  if (state.IsMoved() && !ShowsId(others, state.oid)) return true;
  if (state.Accepted()) return others.highest() < AcceptedFrom(state);
  return IsSealOfAnyKind(state) && !ShowsId(others, state.oid);
}

Task<Status> RemoveVoid(Reconciliation& work, ObjectPath path) {
  const Result<States> on_disk = co_await ListStates(work.beneath, work.member, path);
  if (!on_disk) co_return on_disk.error();
  if (on_disk->empty()) co_return OkStatus();
  // After the listing: what came to the disk since is no matter of its past.
  const Look others = co_await LookAt(work.engine, path, LookWidth::kAll, kCleanerPatience);
  if (others.listings().contains(work.member)) co_return IsUsedAgain(work);
  if (!others.HasQuorum()) co_return CannotTell(work.engine, path, others);
  for (const State& state : *on_disk) {
    if (!IsVoid(state, others)) continue;
    Status removed;
    const std::string entry = FormatState(state);
    if (state.IsMark()) removed = co_await RemoveMark(work.beneath, work.member, path, entry);
    if (!state.IsMark()) removed = co_await RemoveState(work.beneath, work.member, path, entry);
    if (!removed && removed.code() != Code::kNotFound) co_return removed;
  }
  co_return OkStatus();
}

// Without the disk: decided on a quorum of the other homes, its user attributes too.
Task<Status> ReconcileName(Reconciliation& work, ObjectPath name, bool on_disk) {
  // Whoever changes the name meanwhile does so without the disk.
  const Result<NameInfo> info = co_await LookUpWithAttributes(work.engine, name);
  if (!info) co_return info.error();
  // The disk may have been one of a quorum that knew of a rename.
  const Status carried = co_await CarryRenames(work.engine, name, info->listings);
  if (!carried) co_return carried;
  if (!on_disk) co_return OkStatus();
  co_return co_await RemoveVoid(work, std::move(name));
}

// What the others have in the folder, and the disk.
Task<Result<FolderUnion>> ListBoth(Reconciliation& work, ObjectPath directory) {
  FolderUnion found = co_await ListFolder(work.engine, directory, kCleanerPatience);
  if (found.heard.contains(work.member)) co_return IsUsedAgain(work);
  // Each name stands on a quorum, of which the disk may have been one.
  const size_t silent = work.engine.server_count() - 1 - found.heard.size();
  if (silent + 1 > work.engine.SilentServersMax())
    co_return Fail(Code::kNoQuorum, "{} of {} other data servers do not list {}", silent,
                   work.engine.server_count() - 1, directory.text());
  Result<FolderUnion> on_disk = co_await ListFolderOn(work.beneath, work.member, directory);
  if (!on_disk) co_return on_disk.error();
  for (const auto& [name, shown] : on_disk->names) found.names[name].members.push_back(work.member);
  found.folders.merge(on_disk->folders);
  co_return std::move(found);
}

}  // namespace

Task<Status> ReconcileDisk(Engine& engine, Engine& beneath, DiskClocksPtr clocks, MemberIndex member,
                           Turn turn) {
  // If the disk goes back once more meanwhile this is not there at the end.
  const DataServerPtr disk = beneath.server(member);
  const std::string draft = ClockDraft(beneath);
  Status status = co_await CreateFile(beneath.MetadataCall(), disk, draft, "", beneath.SyncBeforeCommit());
  if (!status) co_return status;
  // Who has not noticed yet does so with the next listing; what was sent before that ends until then.
  const TimePoint until = engine.executor().Now() + LongestRound(engine);
  Reconciliation work{.engine = engine, .beneath = beneath, .member = member};
  bool go_on = true;
  while (go_on && engine.executor().Now() < until) {
    co_await Pause(engine, kCleanerPatience);
    if (!turn) continue;
    WalkPoint begin{"/", 0};
    go_on = co_await turn(std::move(begin));
  }
  status = Fail(Code::kCancelled, "this process ends");
  if (go_on) {
    NameWalk walk{.engine = engine,
                  .list = [&work](ObjectPath directory) { return ListBoth(work, std::move(directory)); },
                  .visit =
                      [&work](ObjectPath name, std::vector<MemberIndex> members) {
                        return ReconcileName(work, std::move(name), Contains(members, work.member));
                      },
                  .turn = std::move(turn)};
    status = co_await VisitAllNames(std::move(walk));
  }
  const DiskTime now = DiskTimeNow(beneath);
  if (status) status = co_await TellTime(beneath, std::move(clocks), member, draft, now, true);
  if (status) co_return OkStatus();
  (void)co_await Remove(beneath.MetadataCall(), disk, draft);
  const auto used =
      co_await List(engine.MetadataCall(), engine.server(member), std::string(kDiskClockFolder));
  co_return used ? OkStatus() : status;
}

}  // namespace xec
