// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/programs/attributes.hh"

#include <algorithm>

#include "archive/manifest.hh"
#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/attribute_files.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/roll_forward.hh"

namespace xec {
namespace {

// A process that tells attributes waits for a rename: 5 s in all, which is longer than one takes that meets
// servers that have just stopped.
constexpr Duration kRenamePauseFirst = std::chrono::milliseconds(20);
constexpr Duration kRenamePauseLongest = std::chrono::milliseconds(2560);
// Giving up a rename that has died is tried so often, since a home may come back, or may have been slow once.
constexpr int kGiveUpTriesMax = 3;

// Are the homes that were heard and accept the version enough for a look without these?
bool IsLookWithout(const Engine& engine, const NameInfo& info, const std::set<MemberIndex>& left_out) {
  const auto others = std::count_if(info.listings.begin(), info.listings.end(), [&](const auto& listing) {
    return !left_out.contains(listing.first) && !(HighestAccepted(listing.second) < info.accepted);
  });
  return static_cast<size_t>(others) >= engine.HomeQuorum(info.path);
}

// All revisions shown as one.
struct MergedRevisions {
  std::optional<ShownRevision> top;  // the highest; nullopt: there is none
  std::string content;  // of the top
  AttributeSet set;  // of all
  bool beyond_top = false;  // it has something in it that the top has not
  std::set<Version> merged;  // all but those that cannot be read, and need not
  std::vector<State> files;  // of these
};

// A revision that a higher one has in it need not be read. One that cannot be read need not be read either,
// if enough homes show none of them: a process that asks only these homes is told no more.
Task<Result<MergedRevisions>> ReadRevisions(Engine& engine, const NameInfo& info, Late late_ones) {
  MergedRevisions all;
  std::set<MemberIndex> showing_unread;
  const std::vector<ShownRevision> revisions = RevisionsShown(info.listings, info.accepted.version);
  for (const ShownRevision& shown : revisions) {
    const Version revision = *shown.file.target;
    const bool forget = all.top && MutantActive(Mutant::kForgetAttributesSetAtOnce);
    if (!all.set.over.contains(revision) && !forget) {
      Result<AttributeSet> set = co_await ReadRevision(engine, info.path, shown, late_ones);
      if (!set) {
        showing_unread.insert(shown.homes.begin(), shown.homes.end());
        if (IsLookWithout(engine, info, showing_unread)) continue;
        co_return set.error();
      }
      const bool more = all.set.Merge(*set);
      if (all.top) all.beyond_top = all.beyond_top || more;
      // A revision is the same on every home.
      if (!all.top) {
        all.top = shown;
        all.content = set->Format();
      }
    }
    all.merged.insert(revision);
    all.files.push_back(shown.file);
  }
  co_return std::move(all);
}

Task<Result<std::optional<AttributeRevision>>> MergeShown(Engine& engine, NameInfo info, Late late_ones) {
  Result<MergedRevisions> all = co_await ReadRevisions(engine, info, late_ones);
  if (!all) co_return all.error();
  if (!all->top) co_return std::optional<AttributeRevision>();
  const Version version = info.accepted.version;
  State file = all->top->file;
  AttributeRevision merged{*file.target, std::move(all->set), std::move(all->files)};
  merged.set.over = std::move(all->merged);
  merged.set.CutOver();
  std::vector<MemberIndex> having = std::move(all->top->homes);
  if (!all->beyond_top && having.size() >= engine.HomeQuorum(info.path)) co_return std::move(merged);
  // A revision on fewer homes than a quorum is rolled forward before it is told, as a version is. A
  // combination that nobody has written yet gets a revision of its own.
  std::string content = std::move(all->content);
  if (all->beyond_top) {
    having.clear();
    Result<Version> above = engine.NextVersion(merged.revision);
    if (!above) co_return above.error();
    merged.revision = *above;
    file = RevisionFile(version, *above, merged.set);
    merged.files.push_back(file);
    content = merged.set.Format();
    // The new revision takes the place of those that can be read.
    if (!AttributeSet::Parse(content))
      co_return Fail(Code::kUnsupported,
                     "the attributes of {} that were set at once are too many together: replace it",
                     info.path.text());
  }
  const Result<std::vector<MemberIndex>> rolled =
      co_await WriteOnQuorum(engine, info.path, std::move(file), std::move(content), std::move(having));
  if (!rolled) co_return rolled.error();
  co_return std::move(merged);
}

// Writes one revision for one version of a directory on the homes that do not show it yet.
Task<Status> WriteCopy(Engine& engine, ObjectPath path, Look look, Version version, Version revision,
                       AttributeSet set) {
  const size_t quorum = engine.HomeQuorum(path);
  std::vector<MemberIndex> having;
  std::vector<State> old;
  for (ShownRevision& shown : RevisionsShown(look.listings(), version)) {
    if (shown.file.target == revision) having = std::move(shown.homes);
    if (set.over.contains(*shown.file.target)) old.push_back(std::move(shown.file));
  }
  if (having.size() >= quorum) co_return OkStatus();
  std::string content = set.Format();
  Result<std::vector<MemberIndex>> written = co_await WriteOnQuorum(
      engine, path, RevisionFile(version, revision, set), std::move(content), std::move(having));
  if (!written)
    co_return Fail(Code::kNoQuorum, "too few homes of {} take attributes now; retry", path.text());
  engine.scope().Spawn(RemoveRevisions(engine, path, std::move(old), std::move(*written)));
  co_return OkStatus();
}

// The directories above the one that lives, whether any home has accepted them or not.
std::set<Version> DirectoriesAbove(const Look& look, const Accepted& live) {
  std::set<Version> versions = DirectoriesUnderWay(look.listings(), live);
  for (const auto& [home, states] : look.listings()) {
    for (const State& state : states) {
      if (state.kind == StateKind::kDirectory && live.version < *state.version)
        versions.insert(*state.version);
    }
  }
  return versions;
}

bool IsDirectoryOf(const Look& look, const std::set<Version>& versions) {
  const Accepted highest = look.highest();
  return look.HasQuorum() && highest.kind == Accepted::kDirectory && versions.contains(highest.version);
}

// Other processes may be making the directory that lives as `look` shows: a later version, which must not
// lack this revision. Such a process looked before the revision was there, and so had sealed the name before.
// Its version may be the base of further ones, so this looks again until there is nothing new: a process that
// this look does not show looks after it. Errors: kConflict (a version that was not under way lives by now,
// or nothing does), kNoQuorum.
Task<Status> WriteForThoseUnderWay(Engine& engine, NameInfo live, Look look, Version revision,
                                   AttributeSet set) {
  if (live.accepted.kind != Accepted::kDirectory) co_return OkStatus();
  set.over.erase(revision);  // of one that was read
  if (!AttributeSet::Parse(set.Format())) set.over.clear();
  std::set<Version> having = {live.accepted.version};
  for (int tries = 0;; ++tries) {
    if (!look.HasQuorum()) co_return CannotTell(engine, live.path, look);
    const bool known = IsDirectoryOf(look, having);
    std::set<Version> wanted = DirectoriesAbove(look, live.accepted);
    std::erase_if(wanted, [&](const Version& version) { return having.contains(version); });
    if (known && wanted.empty()) co_return OkStatus();
    if (!known || tries > engine.options().retries_max) break;
    // Homes are not heard at one moment: a directory begun after a removal may show, and the removal only
    // now.
    const Look again = co_await LookAt(engine, live.path, LookWidth::kQuorum);
    if (!IsDirectoryOf(again, having)) break;
    for (const Version& version : wanted) {
      const Status written = co_await WriteCopy(engine, live.path, look, version, revision, set);
      if (!written) co_return written.error();
      having.insert(version);
    }
    look = co_await LookAt(engine, live.path, LookWidth::kQuorum);
  }
  co_return Fail(Code::kConflict, "{} is being made by others, or was changed; retry", live.path.text());
}

// A rename seals the name before it reads the attributes that it takes along. So a process that wrote a
// revision and then sees no seal can be sure that no rename, begun or over, has missed it.
Task<Status> KeepWritten(Engine& engine, NameInfo info, Version revision, AttributeSet set) {
  Look look = co_await LookAt(engine, info.path, LookWidth::kQuorum);
  const bool alone = !AnyRenameRival(look.listings(), {}) || MutantActive(Mutant::kSetBesideRename);
  const bool unchanged = look.HasQuorum() && look.highest() == info.accepted && alone;
  if (unchanged) {
    const Status given =
        co_await WriteForThoseUnderWay(engine, info, std::move(look), revision, std::move(set));
    if (given) co_return OkStatus();
  }
  co_return Fail(
      Code::kUnknown,
      "{} is being renamed, or was changed, while its attributes were set: they may not be kept; retry",
      info.path.text());
}

// A rename brings attributes to a quorum of homes before any of them accepts the version. So a listing that
// does not show the version may be older than both.
bool ShownByQuorum(const Engine& engine, const NameInfo& info) {
  const auto showing = std::count_if(info.listings.begin(), info.listings.end(), [&](const auto& listing) {
    return !(HighestAccepted(listing.second) < info.accepted);
  });
  return static_cast<size_t>(showing) >= engine.HomeQuorum(info.path);
}

// Do as many homes show the revision, and no seal of a rename beside it, that every rename will find it? Nor
// may a directory be under way that would be without it.
bool GoesAlong(const NameInfo& info, const Version& revision, size_t quorum) {
  const bool directory = info.accepted.kind == Accepted::kDirectory;
  if (directory && DirectoryUnderWay(info.listings, info.accepted)) return false;
  const std::set<std::string> committed = RenamesCommitted(info.listings);
  const auto shows = [&](const auto& listing) {
    const States& states = listing.second;
    const bool has = std::any_of(states.begin(), states.end(), [&](const State& state) {
      return state.kind == StateKind::kAttributes && state.version == info.accepted.version &&
             state.target == revision;
    });
    return has && !RenameRival(states, committed);
  };
  const auto showing = std::count_if(info.listings.begin(), info.listings.end(), shows);
  return static_cast<size_t>(showing) >= quorum;
}

// What is left of the renames whose seals are listed: none can commit any more; some are at work; or one has
// died and could not be given up now, as the cleaner would do it.
enum class OpenRenames { kNone, kAtWork, kDead };

Task<OpenRenames> LookAtRenames(Engine& engine, ObjectPath path, std::map<MemberIndex, States> listings) {
  const std::set<std::string> committed = RenamesCommitted(listings);
  std::map<std::string, int64_t> seals;  // by id: the last sign of life
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (RenameRival({state}, committed))
        seals[state.oid] = std::max(seals[state.oid], state.mtime_s * 1000);
    }
  }
  const Duration limit = engine.options().operation_limit;
  for (const auto& [rid, last] : seals) {
    const auto silent = std::chrono::milliseconds(engine.executor().WallNow() - last);
    if (silent <= limit) co_return OpenRenames::kAtWork;
    const bool given_up = co_await FenceAllHomes(engine, path, MoveOutState(rid));
    if (!given_up) co_return OpenRenames::kDead;
  }
  co_return OpenRenames::kNone;
}

// Removed attributes count as well, since a file could grow without bound otherwise.
Status CheckFits(const AttributeSet& set) {
  UserAttributes all;
  for (const auto& [name, entry] : set.entries) all.emplace(name, entry.value.value_or(""));
  const Status fits = CheckUserAttributes(all);
  if (!fits && CheckUserAttributes(set.Values())) {
    return Fail(
        Code::kInvalidArgument,
        "an object has at most {} user attributes of {} bytes together, those removed since it was written "
        "included",
        kUserAttributesMax, kUserAttributesSizeMax);
  }
  return fits;
}

}  // namespace

Task<Result<std::optional<AttributeRevision>>> ReadAttributes(Engine& engine, NameInfo info) {
  for (int tries = 0;; ++tries) {
    Result<std::optional<AttributeRevision>> merged =
        Fail(Code::kNoQuorum, "cannot tell the attributes of {}: too few of its homes show it; retry",
             info.path.text());
    const bool shown = ShownByQuorum(engine, info);
    const bool last = tries >= engine.options().retries_max;
    if (shown) merged = co_await MergeShown(engine, info, last ? Late::kWaitedFor : Late::kPassedOver);
    const bool read =
        shown && (merged || merged.code() == Code::kNoQuorum || merged.code() == Code::kUnknown);
    if (read || last) co_return std::move(merged);
    // There are several reasons for this: the revision was removed since the look because a later one has it
    // in it; no home that was heard can read it, or the only home that showed it has stopped; homes were
    // listed before they accepted the version; or some of those that accepted it have died since.
    const Look look = co_await LookAt(engine, info.path, LookWidth::kAll);
    if (!look.HasQuorum()) co_return CannotTell(engine, info.path, look);
    if (!(look.highest() == info.accepted))
      co_return Fail(Code::kConflict, "{} was changed while its attributes were read; retry",
                     info.path.text());
    if (!look.Decided())
      co_await RollForwardAll(engine, info.path, look, look.LackingHighest(), Late::kPassedOver);
    info.listings = look.listings();
  }
}

Task<Result<std::optional<AttributeRevision>>> ReadAttributesToTell(Engine& engine, NameInfo info) {
  const size_t quorum = engine.HomeQuorum(info.path);
  int dead = 0;
  for (Duration wait = kRenamePauseFirst;; wait *= 2) {
    Result<std::optional<AttributeRevision>> read = co_await ReadAttributes(engine, info);
    if (!read || !*read || GoesAlong(info, (**read).revision, quorum)) co_return std::move(read);
    // The revision is on a quorum now, so a rename that seals the name from here on finds it.
    Look look = co_await LookAt(engine, info.path, LookWidth::kQuorum);
    if (!look.HasQuorum()) co_return CannotTell(engine, info.path, look);
    if (!(look.highest() == info.accepted))
      co_return Fail(Code::kConflict, "{} was changed while its attributes were read; retry",
                     info.path.text());
    const Status given = co_await WriteForThoseUnderWay(engine, info, look, (**read).revision, (**read).set);
    if (!given) co_return given.error();
    const OpenRenames left = co_await LookAtRenames(engine, info.path, look.listings());
    if (left == OpenRenames::kNone) co_return std::move(read);
    if (left == OpenRenames::kDead && ++dead >= kGiveUpTriesMax) break;
    if (wait > kRenamePauseLongest) break;
    co_await Pause(engine, wait);
    info.listings = look.listings();
  }
  co_return Fail(Code::kNoQuorum, "{} is being renamed: cannot tell which attributes it takes along; retry",
                 info.path.text());
}

Task<Result<NameAttributes>> LookUpAttributes(Engine& engine, ObjectPath path) {
  for (int tries = 0;; ++tries) {
    Result<NameInfo> info = co_await LookUpLive(engine, path);
    if (!info) co_return info.error();
    Result<std::optional<AttributeRevision>> set = co_await ReadAttributesToTell(engine, *info);
    if (set) {
      NameAttributes found{std::move(*info), std::move(*set)};
      co_return std::move(found);
    }
    const bool again = set.code() == Code::kConflict && tries < engine.options().retries_max;
    if (!again) co_return set.error();
  }
}

Task<Status> ChangeAttribute(Engine& engine, NameInfo info, AttributeChange change) {
  AttributeSet set = change.current ? std::move(change.current->set)
                                    : AttributeSet::WrittenWith(change.written, info.accepted.version);
  for (const auto& [name, value] : change.changes) {
    const auto found = set.entries.find(name);
    if (!value && (found == set.entries.end() || !found->second.value))
      co_return Fail(Code::kNotFound, "{} has no attribute '{}'", info.path.text(), name);
  }
  // The new revision is above everything that it changes. Attributes that were written with the version count
  // as set at that version.
  Version newest = info.accepted.version;
  for (const auto& [name, entry] : set.entries) newest = std::max(newest, entry.revision);
  if (change.current) {
    // A revision that was made by merging is not among those that were seen.
    newest = std::max(newest, change.current->revision);
    set.over.insert(change.current->revision);
    set.CutOver();
  }
  Result<Version> revision = engine.NextVersion(newest);
  if (!revision) co_return revision.error();
  for (auto& [name, value] : change.changes) set.Set(name, std::move(value), *revision);
  const Status fits = CheckFits(set);
  if (!fits) co_return fits.error();
  std::vector<State> old = change.current ? std::move(change.current->files) : std::vector<State>();
  std::erase_if(old, [&](const State& file) { return !set.over.contains(*file.target); });
  std::vector<MemberIndex> nowhere;
  Result<std::vector<MemberIndex>> written =
      co_await WriteOnQuorum(engine, info.path, RevisionFile(info.accepted.version, *revision, set),
                             set.Format(), std::move(nowhere));
  if (!written) co_return written.error();
  engine.scope().Spawn(RemoveRevisions(engine, info.path, std::move(old), std::move(*written)));
  co_return co_await KeepWritten(engine, std::move(info), *revision, std::move(set));
}

Task<Status> CopyAttributes(Engine& engine, ObjectPath to, Version to_version, AttributeRevision revision) {
  std::vector<MemberIndex> nowhere;
  revision.set.over.clear();
  const Result<std::vector<MemberIndex>> written =
      co_await WriteOnQuorum(engine, to, RevisionFile(to_version, revision.revision, revision.set),
                             revision.set.Format(), std::move(nowhere));
  co_return written ? OkStatus() : Status(written.error());
}

Task<Status> CopyAttributesToDirectory(Engine& engine, ObjectPath to, AttributeRevision revision,
                                       DirectoryVersion from) {
  revision.set.over.clear();
  for (int tries = 0; tries <= engine.options().retries_max; ++tries) {
    Result<NameInfo> live = co_await LookUpLive(engine, to);
    if (!live && live.code() == Code::kNotFound)
      co_return Fail(Code::kConflict, "{} was removed meanwhile; retry", to.text());
    if (!live) co_return live.error();
    if (live->accepted.kind != Accepted::kDirectory) co_return OkStatus();
    // Once that is over, another directory, made since, may live here.
    const Status wanted = co_await NeedDirectoryVersion(engine, from);
    if (!wanted) co_return wanted.error();
    const Status copied = co_await CopyAttributes(engine, to, live->accepted.version, revision);
    if (!copied) co_return copied.error();
    // The look comes after the directory lived on a quorum.
    Look look = co_await LookAt(engine, to, LookWidth::kQuorum);
    if (!look.HasQuorum()) co_return CannotTell(engine, to, look);
    if (!(look.highest() == live->accepted)) continue;
    Status given = co_await WriteForThoseUnderWay(engine, std::move(*live), std::move(look),
                                                  revision.revision, revision.set);
    if (given || given.code() != Code::kConflict) co_return std::move(given);
  }
  co_return Fail(Code::kConflict, "{} is made by others; retry", to.text());
}

}  // namespace xec
