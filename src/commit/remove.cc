// SPDX-License-Identifier: LGPL-3.0-or-later
// REMOVE of objects and directories.
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/names.hh"
#include "commit/promote.hh"

namespace xec {
namespace {

// Removes what the look settled, and nothing else: the tombstone stands just above it, below whatever was put
// or made since. On homes that hold it first, so that a removal asks as few servers as the look did.
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

// A directory without live names in it.
Task<Result<NameInfo>> LookUpEmpty(Engine& engine, ObjectPath path) {
  if (path.IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be removed");
  Result<NameInfo> info = co_await LookUpLive(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
  Result<std::vector<ListedName>> names = co_await ListDirectory(engine, path);
  if (!names) co_return names.error();
  if (!names->empty() && !MutantActive(Mutant::kRemoveFullDirectory))
    co_return Fail(Code::kNotEmpty, "{} is not empty: it has {} names", path.text(), names->size());
  co_return std::move(info);
}

}  // namespace

Task<Status> RemoveObject(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUpObject(engine, std::move(path));
  if (!info) co_return info.error();
  XEC_FAILPOINT("remove.mark");
  Status marked = co_await MarkRemoved(engine, std::move(*info));
  XEC_FAILPOINT("remove.committed");
  co_return std::move(marked);
}

Task<Status> RemoveObjectUntilNow(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUpObject(engine, std::move(path));
  if (!info) co_return info.error();
  Result<Version> version = engine.NextVersion(info->HighestShown());
  if (!version) co_return version.error();
  XEC_FAILPOINT("remove.mark");
  Status marked = co_await MarkQuorum(engine, info->path, TombstoneState(*version), info->HomesHeard());
  XEC_FAILPOINT("remove.committed");
  co_return std::move(marked);
}

Task<Status> RemoveDirectoryName(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUpEmpty(engine, std::move(path));
  if (!info) co_return info.error();
  XEC_FAILPOINT("rmdir.mark");
  Status marked = co_await MarkRemoved(engine, std::move(*info));
  XEC_FAILPOINT("rmdir.committed");
  co_return std::move(marked);
}

Task<Status> NeedDirectoryVersion(Engine& engine, DirectoryVersion directory) {
  Result<NameInfo> info = co_await LookUpLive(engine, directory.path);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kDirectory && info->accepted.version == directory.version)
    co_return OkStatus();
  co_return Fail(Code::kNotFound, "the directory {} was replaced by another one", directory.path.text());
}

Task<Status> RemoveDirectoryVersion(Engine& engine, DirectoryVersion directory) {
  Result<NameInfo> info = co_await LookUpEmpty(engine, directory.path);
  if (!info) co_return info.error();
  if (info->accepted.version != directory.version)
    co_return Fail(Code::kNotFound, "the directory {} was replaced by another one", directory.path.text());
  XEC_FAILPOINT("rmdir.mark");
  Status marked = co_await MarkRemoved(engine, std::move(*info));
  XEC_FAILPOINT("rmdir.committed");
  co_return std::move(marked);
}

}  // namespace xec
