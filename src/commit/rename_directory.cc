// SPDX-License-Identifier: LGPL-3.0-or-later
// Renaming a directory: a logged list of renames of what is in it. Every object below is atomically under exactly one
// of the two names at any time; a crash leaves the log, and the next cleaner goes on.
#include "base/failpoint.hh"
#include "base/text.hh"
#include "commit/folder.hh"
#include "commit/rename.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

inline constexpr std::string_view kMoveLogDirectory = "/.xec/moves";
constexpr size_t kMoveLogBytesMax = 32 * 1024;

bool KeepInLog(unsigned char c) { return c > 0x20 && c < 0x7f; }

struct MoveLog {
  std::string id;
  ObjectPath from;
  ObjectPath to;
};

std::string FormatMoveLog(const MoveLog& log) {
  return fmt::format("xec-directory-move 1\nfrom {}\nto {}\nend\n", PercentEncode(log.from.text(), KeepInLog),
                     PercentEncode(log.to.text(), KeepInLog));
}

Result<MoveLog> ParseMoveLog(std::string id, std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  const Error damaged = Fail(Code::kCorruption, "the log of directory rename {} is damaged", id);
  if (lines.size() != 5 || lines[0] != "xec-directory-move 1" || !lines[1].starts_with("from ") ||
      !lines[2].starts_with("to ") || lines[3] != "end") {
    return damaged;
  }
  const auto from = PercentDecode(lines[1].substr(5));
  const auto to = PercentDecode(lines[2].substr(3));
  if (!from || !to) return damaged;
  XEC_ASSIGN_OR_RETURN(ObjectPath from_path, ObjectPath::Parse(*from));
  XEC_ASSIGN_OR_RETURN(ObjectPath to_path, ObjectPath::Parse(*to));
  return MoveLog{std::move(id), std::move(from_path), std::move(to_path)};
}

std::string LogPath(const std::string& id) { return std::string(kMoveLogDirectory) + "/" + id; }

// On all servers that take it: as many as a listing needs to be sure to meet one.
Task<Status> WriteLog(Engine& engine, MoveLog log) {
  Gather<Status> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < engine.server_count(); ++i) {
    gather.Start(i, CreateFile(engine.MetadataCall(), engine.server(static_cast<MemberIndex>(i)), LogPath(log.id), FormatMoveLog(log),
                               engine.SyncBeforeCommit()));
  }
  size_t written = 0;
  while (gather.pending() > 0) {
    const auto event = co_await gather.Next();
    XEC_FAILPOINT("rename_directory.logged_one");
    if (*event.value) ++written;
  }
  if (written > SilentServersMax(engine)) co_return OkStatus();
  co_return Fail(Code::kNoQuorum, "the rename of {} could not be logged on enough data servers; retry", log.from.text());
}

Task<void> RemoveLog(Engine& engine, std::string id) {
  Gather<Status> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < engine.server_count(); ++i) {
    gather.Start(i, Remove(engine.MetadataCall(), engine.server(static_cast<MemberIndex>(i)), LogPath(id)));
  }
  while (gather.pending() > 0) {
    co_await gather.Next();
    XEC_FAILPOINT("rename_directory.unlogged_one");
  }
}

// Renames everything in the directory; what somebody else has put at the target meanwhile is left in peace, and its
// namesake stays under the old name.
Task<Status> MoveContents(Engine& engine, ObjectPath from, ObjectPath to) {
  Status made = co_await MakeDirectoryName(engine, to, true);
  if (!made && made.code() != Code::kAlreadyExists) co_return made.error();
  Result<std::vector<ListedName>> names = co_await ListDirectory(engine, from);
  if (!names) co_return names.error();
  for (const ListedName& name : *names) {
    Result<ObjectPath> source = from.Child(name.name);
    Result<ObjectPath> target = to.Child(name.name);
    if (!source) co_return source.error();
    if (!target) co_return target.error();
    Status moved;
    if (name.directory) {
      moved = co_await MoveContents(engine, *source, *target);
    } else {
      Result<NameInfo> there = co_await LookUp(engine, *target);
      if (!there) co_return there.error();
      if (there->accepted.Live()) continue;
      moved = co_await RenameObject(engine, *source, *target);
    }
    XEC_FAILPOINT("rename_directory.step");
    if (!moved && moved.code() != Code::kNotFound) co_return moved.error();
  }
  XEC_FAILPOINT("rename_directory.emptied");
  co_return co_await RemoveDirectoryName(engine, from);
}

// Carries a logged rename through; OK or kNotFound when nothing of it is left to do.
Task<Status> CarryThrough(Engine& engine, MoveLog log) {
  Status moved = co_await MoveContents(engine, log.from, log.to);
  const bool over = moved || moved.code() == Code::kNotFound || moved.code() == Code::kNotEmpty ||
                    moved.code() == Code::kNotDirectory;
  if (over) co_await RemoveLog(engine, log.id);
  XEC_FAILPOINT("rename_directory.done");
  co_return std::move(moved);
}

}  // namespace

Task<Status> RenameDirectory(Engine& engine, ObjectPath from, ObjectPath to) {
  if (from.IsRoot() || to.IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be renamed");
  if (from == to) co_return OkStatus();
  if (to.IsBelow(from)) co_return Fail(Code::kInvalidArgument, "{} cannot be moved into itself", from.text());
  Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (target->accepted.Live()) co_return Fail(Code::kAlreadyExists, "{} exists", to.text());
  MoveLog log{engine.NewObjectId(), from, to};
  XEC_FAILPOINT("rename_directory.log");
  const Status written = co_await WriteLog(engine, log);
  if (!written) co_return written.error();
  XEC_FAILPOINT("rename_directory.logged");
  co_return co_await CarryThrough(engine, std::move(log));
}

Task<Status> ResumeDirectoryRenames(Engine& engine) {
  std::map<std::string, MemberIndex> logs;
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    Result<std::vector<Entry>> listed = co_await List(engine.MetadataCall(), engine.server(member), std::string(kMoveLogDirectory));
    if (!listed) continue;
    const int64_t now_s = engine.executor().WallNow() / 1000;
    const int64_t limit_s = std::chrono::duration_cast<std::chrono::seconds>(engine.options().operation_limit).count();
    for (const Entry& entry : *listed) {
      // A young log belongs to a rename that is under way.
      if (IsObjectId(entry.name) && now_s - entry.mtime_s > limit_s) logs.emplace(entry.name, member);
    }
  }
  Status result;
  for (const auto& [id, member] : logs) {
    Result<std::string> text = co_await ReadFile(engine.MetadataCall(), engine.server(member), LogPath(id), kMoveLogBytesMax);
    if (!text) continue;
    Result<MoveLog> log = ParseMoveLog(id, *text);
    if (!log) {
      result = log.error();
      continue;
    }
    const Status carried = co_await CarryThrough(engine, std::move(*log));
    if (!carried && carried.code() != Code::kNotFound) result = carried.error();
  }
  co_return std::move(result);
}

}  // namespace xec
