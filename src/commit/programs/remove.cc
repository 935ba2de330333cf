// SPDX-License-Identifier: LGPL-3.0-or-later
// REMOVE of objects and directories.
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "commit/programs/removal_seal.hh"
#include "commit/steps/promote.hh"

namespace xec {
namespace {

// Removes what the look settled, and nothing else: the tombstone stands just above it, below whatever was put
// or made since. It goes to homes that hold the version first, so that a removal asks as few servers as the
// look did.
Task<Status> MarkRemoved(Engine& engine, NameInfo info) {
  Result<Version> version = info.accepted.version.Removed();
  if (MutantActive(Mutant::kRemoveAbove)) version = engine.NextVersion(info.HighestShown());
  if (!version) co_return version.error();
  co_return co_await MarkQuorum(engine, info.path, TombstoneState(*version), info.HomesHeard());
}

Task<Result<NameInfo>> LookUpObject(Engine& engine, ObjectPath path) {
  if (path.IsRoot()) co_return Fail(Code::kIsDirectory, "/ is a directory");
  Result<NameInfo> info = co_await LookUpLive(engine, path);
  if (info && info->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", path.text());
  co_return std::move(info);
}

Error NotEmpty(const ObjectPath& path, const DirectoryContents& contents) {
  if (!contents.names.empty())
    return Fail(Code::kNotEmpty, "{} is not empty: names in it: {}", path.text(), contents.names.size());
  return Fail(Code::kNotEmpty, "{} is not empty: {} is being written", path.text(),
              contents.under_way.front().path.text());
}

// The seals of makers that are not silent.
std::vector<Making> Alive(Engine& engine, std::vector<Making> under_way) {
  std::erase_if(under_way, [&](const Making& making) {
    // The rename may have committed at its source, and then it lives here as soon as somebody looks there.
    return making.seal.kind != StateKind::kMoveIn &&
           std::chrono::milliseconds(engine.executor().WallNow() - making.seal.mtime_s * 1000) >
               kSilentUpload;
  });
  return under_way;
}

Task<Status> NeedEmpty(Engine& engine, const RemovalSeal& removal) {
  for (bool settled = false;; settled = true) {
    Result<DirectoryContents> contents = co_await LookInto(engine, removal.path);
    if (!contents) co_return contents.error();
    if (MutantActive(Mutant::kRemoveBesideUploads)) contents->under_way.clear();
    std::vector<Making> all = contents->under_way;
    contents->under_way = Alive(engine, std::move(contents->under_way));
    const bool empty = contents->names.empty() && contents->under_way.empty();
    if (!empty && !MutantActive(Mutant::kRemoveFullDirectory)) co_return NotEmpty(removal.path, *contents);
    if (all.empty() || settled) co_return OkStatus();
    co_await EndMaking(engine, std::move(all));
    if (engine.executor().Now() < removal.settled_at())
      co_await Pause(engine, removal.settled_at() - engine.executor().Now());
  }
}

Task<Status> RemoveSealed(Engine& engine, NameInfo info, const RemovalSeal& removal) {
  const Status empty = co_await NeedEmpty(engine, removal);
  if (!empty) co_return empty.error();
  if (engine.executor().Now() - removal.sealed_at > engine.options().operation_limit)
    co_return Fail(Code::kConflict, "the removal of {} took too long; retry", info.path.text());
  XEC_FAILPOINT("rmdir.mark");
  Status marked = co_await MarkRemoved(engine, std::move(info));
  XEC_FAILPOINT("rmdir.committed");
  co_return std::move(marked);
}

}  // namespace

Error NotCurrent(const ObjectPath& path) {
  return Fail(Code::kNotCurrent, "another version of {} is current than the one that was asked for",
              path.text());
}

Task<Result<ObjectGone>> RemoveObject(Engine& engine, ObjectPath path, std::optional<Version> only) {
  Result<NameInfo> info = co_await LookUpObject(engine, path);
  if (!info) co_return info.error();
  if (only && info->accepted.version != *only) co_return NotCurrent(path);
  const ObjectGone gone{info->accepted.version, info->accepted.size};
  XEC_FAILPOINT("remove.mark");
  const Status marked = co_await MarkRemoved(engine, std::move(*info));
  XEC_FAILPOINT("remove.committed");
  if (!marked) co_return marked.error();
  co_return gone;
}

// It is RemoveObject by one that was slow between its look and its mark.
Task<Result<ObjectGone>> RemoveSeen(Engine& engine, ObjectPath path, ObjectGone seen) {
  XEC_FAILPOINT("remove.mark");
  NameInfo info{.path = std::move(path), .accepted = {}, .holders = {}, .listings = {}};
  info.accepted.kind = Accepted::kObject;
  info.accepted.version = seen.version;
  const Status marked = co_await MarkRemoved(engine, std::move(info));
  XEC_FAILPOINT("remove.committed");
  if (!marked) co_return marked.error();
  co_return seen;
}

Task<Result<ObjectGone>> RemoveObjectUntilNow(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUpObject(engine, std::move(path));
  if (!info) co_return info.error();
  const ObjectGone gone{info->accepted.version, info->accepted.size};
  Result<Version> version = engine.NextVersion(info->HighestShown());
  if (!version) co_return version.error();
  XEC_FAILPOINT("remove.mark");
  const Status marked = co_await MarkQuorum(engine, info->path, TombstoneState(*version), info->HomesHeard());
  XEC_FAILPOINT("remove.committed");
  if (!marked) co_return marked.error();
  co_return gone;
}

Task<Status> RemoveDirectoryName(Engine& engine, ObjectPath path) {
  if (path.IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be removed");
  Result<NameInfo> info = co_await LookUpLive(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
  Result<RemovalSeal> removal = co_await SealRemoval(engine, *info);
  if (!removal) co_return removal.error();
  Status removed = co_await RemoveSealed(engine, std::move(*info), *removal);
  if (!removed && removed.code() != Code::kUnknown) co_await WithdrawRemoval(engine, std::move(*removal));
  co_return std::move(removed);
}

Task<Status> NeedDirectoryVersion(Engine& engine, DirectoryVersion directory) {
  Result<NameInfo> info = co_await LookUpLive(engine, directory.path);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kDirectory && info->accepted.version == directory.version)
    co_return OkStatus();
  co_return Fail(Code::kNotFound, "the directory {} was replaced by another one", directory.path.text());
}

Task<Status> MarkRenamed(Engine& engine, NameInfo directory) {
  const Version gone = directory.accepted.version.MoveDone();
  XEC_FAILPOINT("rmdir.mark");
  Status marked = co_await MarkQuorum(engine, directory.path, TombstoneState(gone), directory.HomesHeard());
  XEC_FAILPOINT("rmdir.committed");
  co_return std::move(marked);
}

}  // namespace xec
