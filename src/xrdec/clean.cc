// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/clean.hh"

#include <algorithm>
#include <map>
#include <set>

#include "archive/manifest.hh"
#include "base/log.hh"
#include "base/text.hh"
#include "commit/clean/clean_name.hh"
#include "commit/clean/nameless.hh"
#include "commit/engine/folder.hh"
#include "commit/steps/manifest_text.hh"
#include "xrdec/entry.hh"
#include "xrdec/look.hh"
#include "xrdec/publish.hh"

namespace xec {
namespace {

// A rename that began so many times the operation limit ago is dead.
constexpr int kMovingPatience = 10;

// An archive that a remover took aside and did not judge itself.
struct Aside {
  StagedArchive archive;
  std::string oid;       // of its object; empty: it has no manifest, as those of stock clients
  std::string path;      // the name it was taken from; empty: nobody can tell
  bool settled = false;  // nothing more is done about it in this pass
};

struct Pass {
  Engine& engine;
  Turn turn;
  // By object id, listed before the register is walked; without those taken aside.
  std::map<std::string, std::vector<StagedArchive>> staged;
  std::vector<Aside> aside;
  size_t silent = 0;  // servers that did not list theirs
  CleanOutcome outcome = {};
  std::optional<Error> problem = {};
  bool unwalked = false;  // the register has names that cannot be met
  // Ids among those of `staged` that the register shows: of objects, and of uploads that may still become
  // one.
  std::set<std::string> known = {};
  uint64_t visited = 0;
  bool stopped = false;
};

// False: the pass is to end.
Task<bool> MayClean(Pass& pass, const ObjectPath& name) {
  if (!pass.turn || pass.stopped) co_return !pass.stopped;
  WalkPoint point{name.text(), pass.visited++};
  const bool go_on = co_await pass.turn(std::move(point));
  pass.stopped = !go_on;
  co_return go_on;
}

int64_t Seconds(Duration time) { return std::chrono::duration_cast<std::chrono::seconds>(time).count(); }

bool RenameIsDead(const Engine& engine, const StagedName& name) {
  const int64_t now_s = engine.executor().WallNow() / 1000;
  return now_s - *name.moving_since_s > kMovingPatience * Seconds(engine.options().operation_limit);
}

Task<std::vector<Aside>> LookAtAside(Engine& engine, std::vector<StagedArchive> archives) {
  std::vector<Aside> found;
  for (const StagedArchive& archive : archives) {
    if (!archive.name.aside) continue;
    Aside aside{.archive = archive, .oid = {}, .path = archive.name.aside->path};
    const Result<std::string> text = co_await ReadManifestText(engine, archive.member, archive.name.Path());
    // Gone: its remover lives.
    if (!text && text.code() == Code::kNotFound) continue;
    // The server does not answer.
    aside.settled = !text && text.code() != Code::kCorruption;
    const Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
    if (manifest) {
      aside.oid = manifest->object_id;
      if (aside.path.empty()) aside.path = manifest->path;
    }
    found.push_back(std::move(aside));
  }
  co_return std::move(found);
}

// Archives of a live name that are not there yet. Those of a rename under way are left alone.
Task<void> BringArchives(Pass& pass, ObjectPath path, Accepted accepted) {
  if (const auto staged = pass.staged.find(accepted.oid); staged != pass.staged.end()) {
    for (const StagedArchive& archive : staged->second) {
      if (archive.name.moving_since_s && !RenameIsDead(pass.engine, archive.name)) {
        ++pass.outcome.left;
        continue;
      }
      const Status published = co_await PublishOn(pass.engine, archive.member, archive.name, path,
                                                  XrdecVersionOf(accepted.version));
      if (!published && published.code() != Code::kNotFound) ++pass.outcome.left;
    }
  }
  for (Aside& aside : pass.aside) {
    if (aside.settled || aside.oid.empty() || aside.oid != accepted.oid) continue;
    const StagedArchive& archive = aside.archive;
    const Status published =
        co_await PublishOn(pass.engine, archive.member, archive.name, path, XrdecVersionOf(accepted.version));
    aside.settled = true;
    if (!published && published.code() != Code::kNotFound) ++pass.outcome.left;
  }
}

// True when no server has an archive of the removed name any more, so that its tombstone may be forgotten.
Task<bool> RemoveLeftOver(Pass& pass, ObjectPath path, Accepted accepted) {
  Result<XrdecName> name = co_await LookUpXrdec(pass.engine, path, XrdecWidth::kArchives);
  if (!name) co_return false;
  // It lives again: nothing of it is left over now.
  if (!(name->registered.accepted == accepted)) co_return false;
  const std::vector<MemberIndex> left_over = LeftOver(name->found, accepted);
  const size_t gone = co_await RemoveArchives(pass.engine, left_over, path, RemovedUpTo(accepted));
  pass.outcome.removed += gone;
  pass.outcome.left += left_over.size() - gone;
  const bool silent = std::any_of(name->found.begin(), name->found.end(),
                                  [](const Found& found) { return found.kind == Found::kSilent; });
  // What was taken aside could be put back once nothing tells that it was removed.
  const bool aside =
      pass.silent > 0 || std::any_of(pass.aside.begin(), pass.aside.end(),
                                     [&](const Aside& one) { return one.path == path.text(); });
  co_return gone == left_over.size() && !silent && !aside;
}

// True: nothing of the entry is left.
Task<bool> CleanEntry(Pass& pass, ObjectPath path) {
  Result<NameInfo> info = co_await LookUp(pass.engine, path.Registered());
  if (!info) {
    pass.problem = InUserWords(info.error());
    ++pass.outcome.left;
    co_return false;
  }
  const Accepted accepted = info->accepted;
  for (const auto& [home, states] : info->listings) {
    for (const State& state : states) {
      if (pass.staged.contains(state.oid)) pass.known.insert(state.oid);
    }
  }
  if (accepted.kind == Accepted::kObject) {
    co_await BringArchives(pass, path, accepted);
  } else if (accepted.kind != Accepted::kNothing) {
    const bool gone = co_await RemoveLeftOver(pass, path, accepted);
    if (!gone) {
      ++pass.outcome.names;
      ++pass.outcome.left;
      co_return false;
    }
  }
  Result<CleanOutcome> cleaned = co_await CleanName(pass.engine, path.Registered());
  if (!cleaned) {
    pass.problem = InUserWords(cleaned.error());
    ++pass.outcome.left;
    co_return false;
  }
  pass.outcome.Add(*cleaned);
  if (accepted.kind == Accepted::kObject) co_return false;
  // An upload that had come to fewer homes than were asked above may have been decided since.
  info = co_await LookUp(pass.engine, path.Registered());
  const bool lives = info && info->accepted.kind == Accepted::kObject;
  if (lives) co_await BringArchives(pass, path, info->accepted);
  co_return info && !lives && cleaned->left == 0;
}

// The names of the register in this directory and below, then its folder if that is empty now. True: it is.
Task<bool> WalkRegister(Pass& pass, ObjectPath directory) {
  const FolderUnion found = co_await ListFolder(pass.engine, directory.Registered());
  const size_t silent = pass.engine.server_count() - found.heard.size();
  if (silent > pass.engine.SilentServersMax()) {
    pass.problem =
        Fail(Code::kNoQuorum, "the names below {} cannot be cleaned now: {} data servers do not answer",
             directory.text(), silent);
  }
  bool empty = silent == 0;
  for (const auto& [entry, shown] : found.names) {
    Result<ObjectPath> path = directory.Child(entry.Last());
    if (path) {
      const bool go_on = co_await MayClean(pass, *path);
      if (!go_on) co_return false;
    }
    bool gone = false;
    if (path) gone = co_await CleanEntry(pass, std::move(*path));
    empty = empty && gone;
  }
  for (const std::string& entry : found.nameless) {
    const CleanOutcome cleaned = co_await CleanNameless(pass.engine, entry);
    pass.outcome.Add(cleaned);
    empty = empty && cleaned.left == 0;
  }
  for (const std::string& folder : found.folders) {
    // A folder of a shortened name does not tell it: what is below is not cleaned.
    const std::optional<std::string> component =
        folder.ends_with(kLongFolderSuffix) ? std::nullopt : PercentDecode(folder);
    Result<ObjectPath> below = component ? directory.Child(*component) : Result<ObjectPath>(Error{});
    if (!below) {
      Log(LogLevel::kWarning, "xrdec", "the names below {}/{} are too long to be cleaned",
          directory.IsRoot() ? "" : directory.text(), folder);
      pass.unwalked = true;
      ++pass.outcome.left;
      empty = false;
      continue;
    }
    const bool gone = co_await WalkRegister(pass, std::move(*below));
    if (pass.stopped) co_return false;
    empty = empty && gone;
  }
  if (empty && !directory.IsRoot()) co_await RemoveEmptyFolder(pass.engine, directory.Registered());
  co_return empty;
}

// Is it not an archive of the object that has its name now, and old enough to be removed?
bool IsLeftOver(const Aside& aside, const Found& found, const Accepted& accepted) {
  if (found.kind != Found::kArchive) return false;
  const bool object = accepted.kind == Accepted::kObject;
  // One of a stock client that XEC has taken over says no more than its size.
  const bool may_be_its =
      aside.oid.empty() ? found.attributes.file_size == accepted.size : aside.oid == accepted.oid;
  if (object && may_be_its) return false;
  // It may have been renamed since, as an object that was taken over.
  if (aside.oid.empty() && accepted.kind == Accepted::kMoved) return false;
  int64_t up_to_s = std::max(aside.archive.name.aside->up_to_s, RemovedUpTo(accepted));
  if (object) up_to_s = std::max(up_to_s, XrdecVersionOf(accepted.version) - 1);
  return found.attributes.version <= static_cast<uint64_t>(up_to_s);
}

// To the name it was taken from, unless something is there now.
Task<Status> PutBack(Engine& engine, StagedArchive archive, ObjectPath path) {
  const Found there = co_await FindOn(engine, archive.member, path.PlainPath());
  if (there.kind == Found::kSilent) co_return Fail(Code::kUnavailable, "the server does not answer");
  if (there.kind != Found::kAbsent) co_return Fail(Code::kAlreadyExists, "something else is at its name");
  co_return co_await Rename(engine.MetadataCall(), engine.server(archive.member), archive.name.Path(),
                            path.PlainPath());
}

// Removes or puts back what was taken aside and is of no object that the walk met, as its remover would have
// done.
Task<Status> Settle(Pass& pass, Aside aside) {
  const Result<ObjectPath> path = ObjectPath::Parse(aside.path);
  if (!path) co_return Fail(Code::kUnsupported, "its name is not known");
  const Result<NameInfo> info = co_await LookUp(pass.engine, path->Registered());
  if (!info) co_return InUserWords(info.error());
  const StagedArchive& archive = aside.archive;
  const Found found = co_await FindOn(pass.engine, archive.member, archive.name.Path());
  if (found.kind == Found::kAbsent) co_return OkStatus();
  if (found.kind == Found::kSilent) co_return Fail(Code::kUnavailable, "the server does not answer");
  if (IsLeftOver(aside, found, info->accepted)) {
    std::vector<MemberIndex> one(1, archive.member);
    const size_t gone = co_await RemoveStagedOn(pass.engine, std::move(one), archive.name);
    pass.outcome.removed += gone;
    if (gone == 0) co_return Fail(Code::kUnavailable, "it cannot be removed");
    co_return OkStatus();
  }
  if (aside.oid.empty() && info->accepted.kind == Accepted::kMoved)
    co_return Fail(Code::kConflict,
                   "the object was renamed, and the archive does not tell whether it is of it");
  co_return co_await PutBack(pass.engine, archive, *path);
}

Task<void> SettleAside(Pass& pass) {
  for (const Aside& aside : pass.aside) {
    if (aside.settled) continue;
    // What lives under a name that the walk did not meet is known by the next pass.
    Status settled = Fail(Code::kUnavailable, "not all names could be cleaned");
    const bool met = !pass.problem && (aside.oid.empty() || !pass.unwalked);
    if (met) settled = co_await Settle(pass, aside);
    if (settled || settled.code() == Code::kNotFound) continue;
    ++pass.outcome.left;
    Log(LogLevel::kWarning, "xrdec", "the archive of {} on {} stays in {}: {}",
        aside.path.empty() ? "an unknown name" : aside.path, pass.engine.server_id(aside.archive.member),
        aside.archive.name.Path(), settled.error().message);
  }
}

// Does the name that the archive was written for, if it says one, still belong to it, or may the object have
// been renamed to a name that no walk meets? The walk may have missed it.
Task<bool> MayBeLive(Engine& engine, StagedArchive archive, bool unwalked) {
  Result<std::string> text = co_await ReadManifestText(engine, archive.member, archive.name.Path());
  // An upload that died has no manifest; a server that does not answer says nothing.
  if (!text) co_return text.code() != Code::kNotFound&& text.code() != Code::kCorruption;
  const Result<Manifest> manifest = Manifest::Parse(*text);
  if (!manifest) co_return false;
  if (unwalked) co_return true;
  Result<ObjectPath> path = ObjectPath::Parse(manifest->path);
  if (!path) co_return false;
  Result<NameInfo> info = co_await LookUp(engine, path->Registered());
  co_return !info || info->accepted.oid == manifest->object_id;
}

// An archive that belongs to no name: of an upload that died. Only after a walk that met every name; and
// never one of a rename, which the walk may have met under neither name.
Task<void> RemoveDeadUpload(Pass& pass, StagedArchive archive) {
  const int64_t now_s = pass.engine.executor().WallNow() / 1000;
  const bool silent_long = now_s - archive.mtime_s > Seconds(pass.engine.options().upload_grace);
  bool live = pass.problem || archive.name.moving_since_s || !silent_long;
  if (!live) live = co_await MayBeLive(pass.engine, archive, pass.unwalked);
  if (live) {
    ++pass.outcome.left;
    co_return;
  }
  std::vector<MemberIndex> one(1, archive.member);
  pass.outcome.removed += co_await RemoveStagedOn(pass.engine, std::move(one), archive.name);
}

}  // namespace

Task<Result<CleanOutcome>> CleanXrdec(Engine& engine, Turn turn) {
  StagedArchives listed = co_await ListStaged(engine);
  std::vector<Aside> aside = co_await LookAtAside(engine, listed.archives);
  std::map<std::string, std::vector<StagedArchive>> staged;
  for (StagedArchive& archive : listed.archives) {
    const std::string oid = archive.name.oid;
    if (!archive.name.aside) staged[oid].push_back(std::move(archive));
  }
  Pass pass{.engine = engine,
            .turn = std::move(turn),
            .staged = std::move(staged),
            .aside = std::move(aside),
            .silent = listed.silent};
  Result<ObjectPath> root = ObjectPath::Parse("/");
  co_await WalkRegister(pass, *root);
  // What was not met is not known to be dead.
  if (pass.stopped) co_return Fail(Code::kCancelled, "the cleaning was cancelled");
  co_await SettleAside(pass);
  for (const auto& [oid, archives] : pass.staged) {
    if (pass.known.contains(oid)) continue;
    for (const StagedArchive& archive : archives) co_await RemoveDeadUpload(pass, archive);
  }
  if (pass.problem) co_return *pass.problem;
  co_return pass.outcome;
}

}  // namespace xec
