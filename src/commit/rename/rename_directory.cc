// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/rename/rename_directory.hh"

#include <algorithm>
#include <map>
#include <vector>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/pause.hh"
#include "commit/programs/attributes.hh"
#include "commit/programs/removal_seal.hh"
#include "commit/rename/rename.hh"
#include "commit/rename/settle_target.hh"
#include "commit/steps/move_log.hh"

namespace xec {
namespace {

// Two processes that carry on one rename and meet at a name both give way. They try it again for so long,
// each after pauses of its own. A seal that stands for longer was left by a rename that died.
constexpr int kMeetTriesMax = 8;
constexpr Duration kMeetPatience = std::chrono::seconds(5);
constexpr Duration kMeetPauseFirst = std::chrono::milliseconds(200);
constexpr Duration kMeetPauseLongest = std::chrono::milliseconds(1600);

// The log of a rename at work. It is written anew long before cleaners take it for that of a rename that
// died.
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
  // One name may take as long once more.
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
  kept = KeptLog{.log = std::move(next),
                 .late = std::move(*written),
                 .begun = now,
                 .alone = kept.alone && forgotten,
                 .answers = kept.answers};
}

// Gives the new directory the user attributes of the old one. If it is done once more after a crash, it
// changes nothing, and does not undo what was set at the new place.
Task<Status> CopyDirectoryAttributes(Engine& engine, ObjectPath from, ObjectPath to) {
  Result<NameInfo> source = co_await LookUpLive(engine, from);
  if (!source) co_return source.error();
  DirectoryVersion here{from, source->accepted.version};
  Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(*source));
  if (!set) co_return set.error();
  if (!*set) co_return OkStatus();
  co_return co_await CopyAttributesToDirectory(engine, std::move(to), std::move(**set), std::move(here));
}

// Makes the directory unless somebody has made it. An object that is there stays: kAlreadyExists if it is in
// the way of the rename as a whole, before anything moved, else kNotEmpty, as when what is below remains.
// `sources`: what it is made in place of, and the directory that is renamed as a whole.
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

// kNotEmpty: something is in the way.
Task<Status> MoveObject(Engine& engine, ObjectPath from, ObjectPath to, DirectoryVersion top) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kMeetPauseFirst;
  for (int tries = 1;; ++tries) {
    Result<NameInfo> there = co_await LookUp(engine, to);
    if (!there) co_return there.error();
    if (there->accepted.Live()) co_return Fail(Code::kNotEmpty, "{} is in the way", to.text());
    RenameTerms terms;
    terms.parent = ParentNeed{.make = true, .begun = engine.executor().Now(), .wanted_by = {top}};
    terms.below = top;
    Status moved = co_await RenameObject(engine, from, to, std::move(terms));
    const bool met = !moved && moved.code() == Code::kConflict;
    if (!met || tries == kMeetTriesMax || engine.executor().Now() - start > kMeetPatience)
      co_return std::move(moved);
    co_await RandomPause(engine, pause);
    pause = std::min(2 * pause, kMeetPauseLongest);
  }
}

// One directory of the rename, once nobody puts anything in it any more. `top` is the directory that is
// renamed as a whole: a process that is slow may find that another one has finished, and that something else
// is under the old name by now.
struct Level {
  ObjectPath from;
  ObjectPath to;
  DirectoryVersion top;
  TimePoint settled_at;  // RemovalSeal
  std::set<std::string> moved = {};  // by this process
  std::set<std::string> gone = {};   // were listed, and not there any more
  std::set<std::string> stay = {};   // in the way at the target, or of another kind by now
};

Task<Status> MoveContents(Engine& engine, ObjectPath from, ObjectPath to, DirectoryVersion top,
                          KeptLog& kept);

// Renames what lives there. What somebody else has put at the target meanwhile is left in peace, and its
// namesake stays under the old name.
Task<Status> MoveNames(Engine& engine, std::vector<ListedName> names, Level& level, KeptLog& kept) {
  for (const ListedName& name : names) {
    if (level.stay.contains(name.name)) continue;
    Result<ObjectPath> source = level.from.Child(name.name);
    Result<ObjectPath> target = level.to.Child(name.name);
    if (!source) co_return source.error();
    if (!target) co_return target.error();
    co_await KeepYoung(engine, kept);
    Status moved;
    if (name.directory) {
      moved = co_await MoveContents(engine, *source, *target, level.top, kept);
    } else {
      moved = co_await MoveObject(engine, *source, *target, level.top);
    }
    XEC_FAILPOINT("rename_directory.step");
    // Gone, in the way, or of another kind by now: that is told when the rest has moved.
    const bool goes_on = moved || moved.code() == Code::kNotFound || moved.code() == Code::kNotEmpty ||
                         moved.code() == Code::kNotDirectory;
    if (!goes_on) co_return moved.error();
    if (moved) {
      level.moved.insert(name.name);
    } else if (moved.code() != Code::kNotFound || !level.gone.insert(name.name).second) {
      level.stay.insert(name.name);
    }
  }
  co_return OkStatus();
}

// Moves names until nothing is left but what stays. It waits for clients that still make something there.
// They are answered meanwhile, and what they made moves as well; or they see that the directory is renamed,
// and are told to retry.
Task<Status> EmptyIt(Engine& engine, Level& level, KeptLog& kept) {
  // A client that renames something into it gives up, or has committed, sooner or later.
  const TimePoint patient_until = level.settled_at + kMeetPatience;
  for (bool settled = false;;) {
    Result<DirectoryContents> contents = co_await LookInto(engine, level.from);
    if (!contents) co_return contents.error();
    const size_t before = level.moved.size() + level.gone.size();
    const Status moved = co_await MoveNames(engine, contents->names, level, kept);
    if (!moved) co_return moved.error();
    if (level.moved.size() + level.gone.size() > before) continue;
    if (MutantActive(Mutant::kRenameLeavesUploads)) contents->under_way.clear();
    const bool moving_in = std::any_of(contents->under_way.begin(), contents->under_way.end(),
                                       [](const Making& m) { return m.seal.kind == StateKind::kMoveIn; });
    if (moving_in && engine.executor().Now() >= patient_until)
      co_return Fail(Code::kConflict, "something is being renamed into {}, or its renamer has died; retry",
                     level.from.text());
    if (contents->under_way.empty() || (std::exchange(settled, true) && !moving_in)) {
      if (contents->names.empty()) co_return OkStatus();
      co_return Fail(Code::kNotEmpty, "{} is not empty: names in it: {}", level.from.text(),
                     contents->names.size());
    }
    const TimePoint next = std::max(level.settled_at, engine.executor().Now() + kLookPauseMin);
    co_await Pause(engine, next - engine.executor().Now());
    co_await EndMaking(engine, std::move(contents->under_way));
  }
}

// Renames everything in the directory, and then removes it.
Task<Status> MoveContents(Engine& engine, ObjectPath from, ObjectPath to, DirectoryVersion top,
                          KeptLog& kept) {
  Result<NameInfo> info = co_await LookUpLive(engine, from);
  if (!info) co_return info.error();
  if (info->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", from.text());
  const Status lives = co_await NeedDirectoryVersion(engine, top);
  if (!lives) co_return lives.error();
  const bool whole = from == top.path;
  std::vector<DirectoryVersion> sources = {top};
  if (!whole) sources.push_back(DirectoryVersion{from, info->accepted.version});
  const Status made = co_await MakeTarget(engine, to, std::move(sources), whole);
  if (!made) co_return made.error();
  const Status copied = co_await CopyDirectoryAttributes(engine, from, to);
  if (!copied) co_return copied.error();
  Result<RemovalSeal> removal = co_await SealRemoval(engine, *info);
  if (!removal) co_return removal.error();
  Level level{.from = from, .to = to, .top = std::move(top), .settled_at = removal->settled_at()};
  Status done = co_await EmptyIt(engine, level, kept);
  XEC_FAILPOINT("rename_directory.emptied");
  if (done) {
    const bool stands = co_await RemovalStands(engine, *removal);
    if (!stands) done = Fail(Code::kConflict, "the rename of {} was silent too long; retry", from.text());
  }
  if (done) done = co_await MarkRenamed(engine, std::move(*info));
  if (!done && done.code() != Code::kUnknown) co_await WithdrawRemoval(engine, std::move(*removal));
  if (!done || !kept.answers) co_return std::move(done);
  co_return co_await SettleTarget(engine, from, to, std::move(level.moved));
}

// Is there nothing with which a process that finds the log could go on?
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
  // A process that finds the log later moves what is not in the way by then.
  if (!moved && moved.code() == Code::kNotEmpty && !forgotten)
    co_return Fail(Code::kUnknown, "{}, and the log of its rename cannot be removed now",
                   moved.error().message);
  co_return std::move(moved);
}

// Goes on with what the logs of one rename say. Their copies may not be on the disks yet, so the rename is
// logged anew first: a power cut must not end it half way. `yielded` gets the log of a rename that has met
// another operation.
Task<Status> Resume(Engine& engine, std::vector<MoveLog> logs, std::vector<KeptLog>& yielded) {
  KeptLog kept{.log = logs.front(), .late = {}, .begun = engine.executor().Now()};
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
  const std::set<MemberIndex> settled;  // their writers are gone
  for (const MoveLog& found : logs) co_await RemoveMoveLog(engine, found.id, settled);
  if (!there) co_return OkStatus();
  const Status carried = co_await CarryThrough(engine, kept);
  if (!carried && carried.code() == Code::kConflict) yielded.push_back(std::move(kept));
  if (!carried && carried.code() != Code::kNotFound) co_return carried.error();
  co_return OkStatus();
}

// Renames that wait for each other would do so for ever, and let nobody put anything into their directories.
// So one after the other is given up until none of them waits for itself. What such a rename has not moved
// stays where it is: its client was told "unknown".
Task<void> EndWaiting(Engine& engine, std::vector<KeptLog> yielded) {
  for (KeptLog& kept : yielded) {
    const bool for_itself = co_await WaitsForItself(engine, kept.log);
    if (for_itself) co_await RemoveMoveLog(engine, kept.log.id, kept.late);
  }
}

// An empty directory at the target is not in the way, as with rename(2). It stays and takes what is moved, so
// a rename that fails leaves it as it was.
Task<Status> NeedRoom(Engine& engine, ObjectPath to) {
  Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (!target->accepted.Live()) co_return OkStatus();
  if (target->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kAlreadyExists, "{} exists", to.text());
  Result<std::vector<ListedName>> names = co_await ListDirectory(engine, to);
  if (!names && names.code() == Code::kNotFound) co_return OkStatus();
  if (!names && names.code() == Code::kNotDirectory)  // it was replaced since
    co_return Fail(Code::kAlreadyExists, "{} exists", to.text());
  if (!names) co_return names.error();
  if (names->empty()) co_return OkStatus();
  co_return Fail(Code::kNotEmpty, "{} is not empty: names in it: {}", to.text(), names->size());
}

}  // namespace

Task<Status> RenameDirectory(Engine& engine, ObjectPath from, ObjectPath to) {
  if (from.IsRoot() || to.IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be renamed");
  if (from == to) co_return OkStatus();
  engine.known_directories().Clear();
  if (to.IsBelow(from)) co_return Fail(Code::kInvalidArgument, "{} cannot be moved into itself", from.text());
  const Status room = co_await NeedRoom(engine, to);
  if (!room) co_return room.error();
  Result<NameInfo> source = co_await LookUpLive(engine, from);
  if (!source) co_return source.error();
  if (source->accepted.kind != Accepted::kDirectory)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", from.text());
  MoveLog log{.id = engine.NewObjectId(), .from = from, .to = to, .version = source->accepted.version};
  XEC_FAILPOINT("rename_directory.log");
  const TimePoint begun = engine.executor().Now();
  Result<std::set<MemberIndex>> written = co_await WriteMoveLog(engine, log);
  if (!written) co_return written.error();
  XEC_FAILPOINT("rename_directory.logged");
  KeptLog kept{
      .log = std::move(log), .late = std::move(*written), .begun = begun, .alone = true, .answers = true};
  Status carried = co_await CarryThrough(engine, kept);
  // A log that is not young is taken up by cleaners, and they may still be at it.
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
  std::vector<KeptLog> yielded;
  for (auto& [rename, same] : renames) {
    const Status resumed = co_await Resume(engine, std::move(same), yielded);
    if (!resumed) result = resumed.error();
  }
  co_await EndWaiting(engine, std::move(yielded));
  if (!result) co_return result.error();
  co_return logs.silent + logs.young == 0;
}

}  // namespace xec
