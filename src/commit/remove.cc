// SPDX-License-Identifier: LGPL-3.0-or-later
// REMOVE of objects and directories.
#include <algorithm>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/names.hh"
#include "commit/promote.hh"

namespace xec {
namespace {

std::optional<Version> CeilingOf(const NameInfo& info) {
  std::optional<Version> ceiling;
  for (const auto& [home, states] : info.listings) ceiling = std::max(ceiling, Ceiling(states));
  return ceiling;
}

std::vector<MemberIndex> HomesHeard(const NameInfo& info) {
  std::vector<MemberIndex> heard;
  for (const auto& [home, states] : info.listings) heard.push_back(home);
  return heard;
}

// Puts a mark above everything seen on a quorum of homes; those that hold the old version first, so that a
// removal asks as few servers as the look did.
Task<Status> MarkAbove(Engine& engine, NameInfo info, State mark) {
  Result<Version> version = engine.NextVersion(CeilingOf(info));
  if (!version) co_return version.error();
  mark.version = *version;
  co_return co_await MarkQuorum(engine, info.path, std::move(mark), HomesHeard(info));
}

Task<Status> NeedDirectory(Engine& engine, ObjectPath path) {
  if (path.IsRoot()) co_return OkStatus();
  Result<NameInfo> info = co_await LookUpLive(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
  co_return OkStatus();
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
  if (path.IsRoot()) co_return Fail(Code::kIsDirectory, "/ is a directory");
  Result<NameInfo> info = co_await LookUpLive(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", path.text());
  XEC_FAILPOINT("remove.mark");
  Status marked = co_await MarkAbove(engine, std::move(*info), TombstoneState({}));
  XEC_FAILPOINT("remove.committed");
  co_return std::move(marked);
}

Task<Status> MakeDirectoryName(Engine& engine, ObjectPath path, bool parents) {
  if (path.IsRoot()) co_return Fail(Code::kAlreadyExists, "/ exists");
  Result<NameInfo> info = co_await LookUp(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.Live()) co_return Fail(Code::kAlreadyExists, "{} exists", path.text());
  Status parent = co_await NeedDirectory(engine, path.Parent());
  if (!parent && parent.code() == Code::kNotFound && parents) {
    parent = co_await MakeDirectoryName(engine, path.Parent(), true);
    // Somebody else making it at the same time is as good.
    if (!parent && parent.code() == Code::kAlreadyExists) parent = OkStatus();
  }
  if (!parent) co_return parent.error();
  XEC_FAILPOINT("mkdir.mark");
  Status marked = co_await MarkAbove(engine, std::move(*info), DirectoryState({}));
  XEC_FAILPOINT("mkdir.committed");
  co_return std::move(marked);
}

Task<Status> RemoveDirectoryName(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUpEmpty(engine, std::move(path));
  if (!info) co_return info.error();
  XEC_FAILPOINT("rmdir.mark");
  Status marked = co_await MarkAbove(engine, std::move(*info), TombstoneState({}));
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
  // Just above this version: below every directory that is made here later.
  Status marked = co_await MarkQuorum(engine, info->path, TombstoneState(directory.version.MoveDone()),
                                      HomesHeard(*info));
  XEC_FAILPOINT("rmdir.committed");
  co_return std::move(marked);
}

}  // namespace xec
