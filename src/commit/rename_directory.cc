// SPDX-License-Identifier: LGPL-3.0-or-later
// Renaming a directory: a logged list of renames of what is in it. Every object below is atomically under
// exactly one of the two names at any time; a crash leaves the log, and the next cleaner goes on.
#include <algorithm>
#include <map>
#include <vector>

#include "base/failpoint.hh"
#include "base/text.hh"
#include "commit/attributes.hh"
#include "commit/folder.hh"
#include "commit/move_log.hh"
#include "commit/pause.hh"
#include "commit/rename.hh"

namespace xec {
namespace {

// Two who carry one rename on and meet at a name both give way to each other. They try it again, each after
// pauses of its own, as long as this: what stands for longer was left by a rename that died.
constexpr int kMeetTriesMax = 8;
constexpr Duration kMeetPatience = std::chrono::seconds(5);
constexpr uint64_t kMeetPauseFirstMs = 200;
constexpr uint64_t kMeetPauseLongestMs = 1600;
constexpr int kSettleTriesMax = 8;

// The log of a rename at work. It is written anew long before cleaners take it for that of one who died.
struct KeptLog {
  MoveLog log;
  std::set<MemberIndex> late;  // of WriteMoveLog
  TimePoint begun;    // before the first copy was made: copies are as old as when they were made
  bool alone = true;  // nobody else can have taken the rename up
  bool answers = false;  // to a client that waits
};

void NoteAge(Engine& engine, KeptLog& kept) {
  const Duration age = engine.executor().Now() - kept.begun;
  kept.alone = kept.alone && age <= engine.options().operation_limit;
}

Task<void> KeepYoung(Engine& engine, KeptLog& kept) {
  NoteAge(engine, kept);
  const TimePoint now = engine.executor().Now();
  // One name may take as long again.
  const bool young = now - kept.begun < engine.options().operation_limit / 4;
  if (young || !kept.alone) co_return;
  MoveLog next = kept.log;
  next.id = engine.NewObjectId();
  Result<std::set<MemberIndex>> written = co_await WriteMoveLog(engine, next);
  NoteAge(engine, kept);
  if (!written) {
    kept.alone = false;  // of this one, too, copies may be found
    co_return;
  }
  const bool forgotten = co_await RemoveMoveLog(engine, kept.log.id, kept.late);
  kept = KeptLog{std::move(next), std::move(*written), now, kept.alone && forgotten, kept.answers};
}

Task<void> RandomPause(Engine& engine, uint64_t below_ms) {
  const uint64_t random = ParseHex(engine.NewNonce()).value_or(0);
  co_await Pause(engine, std::chrono::milliseconds(random % below_ms));
}

// Gives the new directory the user attributes of the old one. Done once more after a crash it changes
// nothing, nor does it undo what was set at the new place.
Task<Status> CopyDirectoryAttributes(Engine& engine, ObjectPath from, ObjectPath to) {
  Result<NameInfo> source = co_await LookUpLive(engine, from);
  if (!source) co_return source.error();
  DirectoryVersion here{from, source->accepted.version};
  Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(*source));
  if (!set) co_return set.error();
  if (!*set) co_return OkStatus();
  co_return co_await CopyAttributesToDirectory(engine, std::move(to), std::move(**set), std::move(here));
}

// Makes the directory unless it is there, whoever made it. An object that is there stays: kAlreadyExists if
// it is in the way of the rename as a whole, before anything moved, else kNotEmpty, as when what is below
// remains. `sources`: what it is made in place of, and the directory that is renamed as a whole.
Task<Status> MakeTarget(Engine& engine, ObjectPath path, std::vector<DirectoryVersion> sources, bool whole) {
  Status made = co_await MakeDirectoryName(engine, path, true, std::move(sources));
  if (made || made.code() != Code::kAlreadyExists) co_return std::move(made);
  const Result<NameInfo> info = co_await LookUp(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kDirectory) co_return OkStatus();
  const Code code = whole ? Code::kAlreadyExists : Code::kNotEmpty;
  if (info->accepted.Live()) co_return Fail(code, "the object {} is in the way", path.text());
  co_return Fail(Code::kConflict, "{} was removed meanwhile; retry", path.text());
}

// Once the source is gone nobody makes the target for it any more but those who have sealed it before, and
// may promote it at any time. None of them must come above what there is when the rename is answered: who
// removes that does not know of them.
Task<Status> SettleTarget(Engine& engine, ObjectPath path) {
  for (int tries = 1; tries <= kSettleTriesMax; ++tries) {
    Result<NameInfo> info = co_await LookUp(engine, path);
    if (!info) co_return info.error();
    // An object's writer has waited for them.
    const bool object = info->accepted.kind == Accepted::kObject;
    if (object || !DirectoryUnderWay(info->listings, info->accepted)) co_return OkStatus();
    const bool last = tries + 1 == kSettleTriesMax;
    const Status made = co_await MakeDirectoryAbove(engine, std::move(*info), last);
    const bool again = made || made.code() == Code::kConflict || made.code() == Code::kAlreadyExists ||
                       made.code() == Code::kNoQuorum;
    if (!again) co_return made.error();
    // Another renamer may be settling it.
    if (!made) co_await RandomPause(engine, kMeetPauseFirstMs);
  }
  co_return Fail(Code::kConflict, "{} is made by others; retry", path.text());
}

// Somebody else may be making a directory at the target that has nothing to do with this.
Task<Status> SettleIfGone(Engine& engine, ObjectPath from, ObjectPath to) {
  const Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (!DirectoryUnderWay(target->listings, target->accepted)) co_return OkStatus();
  const Result<NameInfo> source = co_await LookUp(engine, from);
  if (!source) co_return source.error();
  if (source->accepted.Live()) co_return OkStatus();
  co_return co_await SettleTarget(engine, std::move(to));
}

// Settles what is in the target but for `own`, the names that this renamer has moved: others may have moved
// and removed some before it saw them. Those have left their object directories at both names.
Task<Status> SettleMovedByOthers(Engine& engine, ObjectPath from, ObjectPath to, std::set<std::string> own) {
  FolderUnion left = co_await ListFolder(engine, from);
  std::erase_if(left.names, [&](const auto& name) { return own.contains(std::string(name.first.Last())); });
  if (left.names.empty()) co_return OkStatus();
  const FolderUnion there = co_await ListFolder(engine, to);
  const size_t heard = std::min(left.heard.size(), there.heard.size());
  if (engine.server_count() - heard > SilentServersMax(engine))
    co_return Fail(Code::kNoQuorum, "too few data servers list {} and {}; retry", from.text(), to.text());
  for (const auto& [source, members] : left.names) {
    const Result<ObjectPath> target = to.Child(source.Last());
    if (!target || !there.names.contains(*target)) continue;
    Status settled = co_await SettleIfGone(engine, source, *target);
    if (settled && TakeFolderOf(source, left))
      settled = co_await SettleMovedByOthers(engine, source, *target, {});
    if (!settled) co_return settled.error();
  }
  co_return OkStatus();
}

// kNotEmpty: something is in the way.
Task<Status> MoveObject(Engine& engine, ObjectPath from, ObjectPath to, DirectoryVersion top) {
  const TimePoint start = engine.executor().Now();
  uint64_t pause_ms = kMeetPauseFirstMs;
  for (int tries = 1;; ++tries) {
    Result<NameInfo> there = co_await LookUp(engine, to);
    if (!there) co_return there.error();
    if (there->accepted.Live()) co_return Fail(Code::kNotEmpty, "{} is in the way", to.text());
    Status moved = co_await RenameObject(engine, from, to, top);
    const bool met = !moved && moved.code() == Code::kConflict;
    if (!met || tries == kMeetTriesMax || engine.executor().Now() - start > kMeetPatience)
      co_return std::move(moved);
    co_await RandomPause(engine, pause_ms);
    pause_ms = std::min(2 * pause_ms, kMeetPauseLongestMs);
  }
}

// Renames everything in the directory; what somebody else has put at the target meanwhile is left in peace,
// and its namesake stays under the old name. `top` is the directory that is renamed as a whole: whoever is
// slow may find that another one has finished, and something else under the old name since.
Task<Status> MoveContents(Engine& engine, ObjectPath from, ObjectPath to, DirectoryVersion top,
                          KeptLog& kept) {
  Result<NameInfo> info = co_await LookUpLive(engine, from);
  if (!info) co_return info.error();
  const Status lives = co_await NeedDirectoryVersion(engine, top);
  if (!lives) co_return lives.error();
  const bool whole = from == top.path;
  const DirectoryVersion here{from, info->accepted.version};
  std::vector<DirectoryVersion> sources = {top};
  if (!whole) sources.push_back(here);
  const Status made = co_await MakeTarget(engine, to, std::move(sources), whole);
  if (!made) co_return made.error();
  const Status copied = co_await CopyDirectoryAttributes(engine, from, to);
  if (!copied) co_return copied.error();
  Result<std::vector<ListedName>> names = co_await ListDirectory(engine, from);
  if (!names) co_return names.error();
  std::set<std::string> own;
  for (const ListedName& name : *names) {
    Result<ObjectPath> source = from.Child(name.name);
    Result<ObjectPath> target = to.Child(name.name);
    if (!source) co_return source.error();
    if (!target) co_return target.error();
    co_await KeepYoung(engine, kept);
    Status moved;
    if (name.directory) {
      moved = co_await MoveContents(engine, *source, *target, top, kept);
    } else {
      moved = co_await MoveObject(engine, *source, *target, top);
    }
    XEC_FAILPOINT("rename_directory.step");
    // Gone, in the way, or of another kind by now: that is told when the rest has moved.
    const bool goes_on = moved || moved.code() == Code::kNotFound || moved.code() == Code::kNotEmpty ||
                         moved.code() == Code::kNotDirectory;
    if (!goes_on) co_return moved.error();
    if (moved) own.insert(name.name);
  }
  XEC_FAILPOINT("rename_directory.emptied");
  Status removed = co_await RemoveDirectoryVersion(engine, here);
  if (!removed || !kept.answers) co_return std::move(removed);
  const Status settled = co_await SettleTarget(engine, to);
  if (!settled) co_return settled.error();
  co_return co_await SettleMovedByOthers(engine, from, to, std::move(own));
}

// Is there nothing that whoever finds the log could go on with?
bool IsOver(const Status& moved) {
  if (moved) return true;
  switch (moved.code()) {
    case Code::kNotFound:
    case Code::kNotDirectory:
    case Code::kNotEmpty:
    case Code::kAlreadyExists: return true;
    default: return false;
  }
}

// Carries a logged rename through; OK or kNotFound when nothing of it is left to do, kNotEmpty when nobody
// goes on with it.
Task<Status> CarryThrough(Engine& engine, KeptLog& kept) {
  DirectoryVersion top{kept.log.from, kept.log.version};
  Status moved = co_await MoveContents(engine, kept.log.from, kept.log.to, std::move(top), kept);
  bool forgotten = true;
  if (IsOver(moved)) forgotten = co_await RemoveMoveLog(engine, kept.log.id, kept.late);
  XEC_FAILPOINT("rename_directory.done");
  // Whoever finds the log later moves what is no longer in the way by then.
  if (!moved && moved.code() == Code::kNotEmpty && !forgotten)
    co_return Fail(Code::kUnknown, "{}, and the log of its rename cannot be removed now",
                   moved.error().message);
  co_return std::move(moved);
}

// Goes on with what logs that were found say, all of one rename. Their copies may not be on the disks: so
// that a power cut does not end the rename half way, it is logged anew first.
Task<Status> Resume(Engine& engine, std::vector<MoveLog> logs) {
  KeptLog kept{logs.front(), {}, engine.executor().Now()};
  MoveLog& log = kept.log;
  Result<NameInfo> from = co_await LookUp(engine, log.from);
  if (!from) co_return from.error();
  const bool there = from->accepted.kind == Accepted::kDirectory && from->accepted.version == log.version;
  if (there) {
    log.id = engine.NewObjectId();
    kept.begun = engine.executor().Now();
    Result<std::set<MemberIndex>> logged = co_await WriteMoveLog(engine, log);
    if (!logged) co_return logged.error();
    kept.late = std::move(*logged);
  }
  const std::set<MemberIndex> settled;  // those who wrote these are gone
  for (const MoveLog& found : logs) co_await RemoveMoveLog(engine, found.id, settled);
  if (!there) co_return OkStatus();
  const Status carried = co_await CarryThrough(engine, kept);
  if (!carried && carried.code() != Code::kNotFound) co_return carried.error();
  co_return OkStatus();
}

}  // namespace

Task<Status> RenameDirectory(Engine& engine, ObjectPath from, ObjectPath to) {
  if (from.IsRoot() || to.IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be renamed");
  if (from == to) co_return OkStatus();
  if (to.IsBelow(from)) co_return Fail(Code::kInvalidArgument, "{} cannot be moved into itself", from.text());
  Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (target->accepted.Live()) co_return Fail(Code::kAlreadyExists, "{} exists", to.text());
  Result<NameInfo> source = co_await LookUpLive(engine, from);
  if (!source) co_return source.error();
  if (source->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", from.text());
  MoveLog log{engine.NewObjectId(), from, to, source->accepted.version};
  XEC_FAILPOINT("rename_directory.log");
  const TimePoint begun = engine.executor().Now();
  Result<std::set<MemberIndex>> written = co_await WriteMoveLog(engine, log);
  if (!written) co_return written.error();
  XEC_FAILPOINT("rename_directory.logged");
  KeptLog kept{std::move(log), std::move(*written), begun, true, true};
  Status carried = co_await CarryThrough(engine, kept);
  // A log that is no longer young is taken up by cleaners, and they may still be at it.
  NoteAge(engine, kept);
  // An object that has come to the target since is no final answer: a cleaner whose clock is ahead may have
  // the log already, and go on when the object is gone.
  if (carried || (kept.alone && carried.code() == Code::kNotEmpty)) co_return std::move(carried);
  co_return Fail(Code::kUnknown, "{} may be renamed to {} in part, and the rest later; retry: {}",
                 from.text(), to.text(), carried.error().message);
}

Task<Result<bool>> ResumeDirectoryRenames(Engine& engine) {
  MoveLogsFound logs = co_await FindMoveLogs(engine);
  const std::set<MemberIndex> settled;
  for (const std::string& id : logs.void_) co_await RemoveMoveLog(engine, id, settled);
  Status result;
  if (logs.undecided > 0) {
    result = Fail(Code::kNoQuorum, "{} renames of directories wait for data servers that do not answer",
                  logs.undecided);
  }
  std::map<std::string, std::vector<MoveLog>> renames;  // by what is renamed, and to what
  for (MoveLog& log : logs.open) {
    std::string rename = log.from.text() + '\n' + log.to.text() + '\n' + log.version.ToString();
    renames[std::move(rename)].push_back(std::move(log));
  }
  for (auto& [rename, same] : renames) {
    const Status resumed = co_await Resume(engine, std::move(same));
    if (!resumed) result = resumed.error();
  }
  if (!result) co_return result.error();
  co_return logs.silent + logs.young == 0;
}

}  // namespace xec
