// SPDX-License-Identifier: LGPL-3.0-or-later
// The decisions of the commit protocol as pure functions of listings: no I/O, no clock, no lock. The programs
// of src/commit ask these and do what they say. docs/protocol.md has the rules and why each is needed.
#pragma once

#include <map>
#include <set>
#include <span>

#include "placement/homes.hh"
#include "protocol/state_name.hh"

namespace xec {

using States = std::vector<State>;

// What a home has accepted: the highest p, w, d or t of its listing; kNothing if none.
struct Accepted {
  enum Kind { kNothing, kObject, kDirectory, kRemoved, kMoved } kind = kNothing;
  Version version;  // not of kNothing
  std::optional<Version> target;  // of kMoved
  std::string oid;  // of kObject; of kMoved the rename's id
  uint64_t size = 0;  // of kObject
  Given given;  // of kObject
  std::string proved;  // of kMoved: the marks of homes
  std::string origin;  // of kObject: the rename that moved it in, as far as the listings show

  bool Live() const { return kind == kObject || kind == kDirectory; }
  // Rank among accepted states: version, then target (moves of one version never differ in it). What is known
  // about the origin does not count.
  bool operator<(const Accepted& other) const;
  bool operator==(const Accepted& other) const;
};

// The highest; of archive and witness of one version a moved-in witness, which says where archives may still
// be.
Accepted HighestAccepted(const States& states);
// The one state as an accepted one; it must be accepted (CHECKed).
Accepted AcceptedFrom(const State& state);
// The moved tombstone as a state (CHECKs kMoved).
State MovedState(const Accepted& moved);

// The moved tombstones that listings show, also below the highest version, each once.
std::vector<Accepted> MovesIn(const std::map<MemberIndex, States>& listings);

// The highest version that appears in any state, which a new version must exceed.
std::optional<Version> Ceiling(const States& states);

// True when the states hold this accepted version, as archive, witness, directory or tombstone.
bool HasAccepted(const States& states, const Accepted& accepted);
bool HasAccepted(const States& states, const Version& version);

// Of the last change of what lives there, as far as states tell it, in milliseconds since 1970.
int64_t MtimeMs(const Accepted& accepted);

// What the listings heard so far say about a name.
class Look {
 public:
  explicit Look(Homes homes) : homes_(std::move(homes)) {}

  void Heard(MemberIndex home, States states);
  void Failed(MemberIndex home);

  const Homes& homes() const { return homes_; }
  size_t quorum() const { return homes_.quorum(); }
  bool HasQuorum() const { return listings_.size() >= quorum(); }
  // Of the first homes, a quorum, which get what is put first: those neither heard nor failed.
  std::vector<MemberIndex> FirstHomesNotHeard() const;

  const std::map<MemberIndex, States>& listings() const { return listings_; }
  const Accepted& highest() const { return highest_; }
  std::optional<Version> ceiling() const { return ceiling_; }
  // Heard homes that have accepted highest(), and those that lack it.
  std::vector<MemberIndex> WithHighest() const;
  std::vector<MemberIndex> LackingHighest() const;
  // The rule of every read: decided when nothing is accepted anywhere heard, or highest() is on a quorum.
  bool Decided() const;

 private:
  Homes homes_;
  std::map<MemberIndex, States> listings_;
  std::set<MemberIndex> failed_;
  Accepted highest_;
  std::optional<Version> ceiling_;
};

// One step of making a home accept `goal` (ROLL), decided on a listing of that home made in this operation.
struct RollStep {
  enum Kind {
    kAccepted,  // it has it
    kSuperseded,  // it has something higher
    kRename,  // rename `from` to `to`: a seal of this upload, rename or directory waits here
    kMark,  // make the directory entry `to` (a plain tombstone carries everything in its name)
    kWitness,  // nothing here: write a witness, or copy the moved tombstone
  } kind = kAccepted;
  std::string from = {};
  std::string to = {};
};
RollStep NextRollStep(const States& states, const Accepted& goal);

// F1 of a rename: how the new name comes to accept `target` (or something higher), decided on a look at its
// homes.
struct FinishPlan {
  enum Kind {
    kDone,  // a quorum has it, or it was finished and collected long ago
    kCannotTell,  // too few homes were heard
    kRoll,  // make `first`, then (once some home has it) `then` accept `goal`; `have` homes do already
  } kind = kDone;
  Accepted goal;
  size_t have = 0;
  std::vector<MemberIndex> first;
  std::vector<MemberIndex> then;
  // Proved homes that show the seal of the rename although a quorum has something higher than `target`,
  // or will have it once this is done: nobody makes the target of these seals any more.
  std::vector<MemberIndex> overtaken;
};
// Only the homes `proved` may begin: a delayed creation can put a seal elsewhere after all is over.
FinishPlan PlanFinish(const Look& look, const Accepted& target, const std::vector<MemberIndex>& proved);

// Is the own seal (s, e, f, r or q) on this home valid: present, and not marked void?
bool SealStands(const States& states, const State& seal);

// A directory seal, valid or aborted?
bool IsMakingDirectory(const State& state);
// A rename's seal at its source, valid or aborted?
bool IsMovingOut(const State& state);

// Is a directory being made that may come to stand above `highest`, the highest version accepted? A client
// that is to make an object there has to wait for the outcome. What is below `highest` can only become
// history.
bool DirectoryUnderWay(const std::map<MemberIndex, States>& listings, const Accepted& highest);
// Their versions.
std::set<Version> DirectoriesUnderWay(const std::map<MemberIndex, States>& listings, const Accepted& highest);

// Is the directory of this version, or a later one, to be removed or renamed? The remover or renamer seals
// first and looks then what is in it. A client that puts something in it seals that first and looks here
// then. So one of the two sees the other.
bool RemovalUnderWay(const std::map<MemberIndex, States>& listings, const Version& directory);

// What may yet make something live under a name where `highest`, which does not live, is all that is
// accepted: seals of uploads, renames and directories, aborted ones included, but for what is history. Each
// once, with the time of its last sign of life.
std::vector<State> MakingUnderWay(const std::map<MemberIndex, States>& listings, const Accepted& highest);

// At the source of a rename: does it show a seal, valid or aborted, of a rename that is not in `own`? Of two
// renames that seal before they look at least one sees the other, and yields.
bool RenameRival(const States& states, const std::set<std::string>& own);
// Renames that have committed, by id: of what lives at their source now they can take nothing along, wherever
// their seals are left.
std::set<std::string> RenamesCommitted(const std::map<MemberIndex, States>& listings);
// Does any home show a rival that may still commit?
bool AnyRenameRival(const std::map<MemberIndex, States>& listings, std::set<std::string> own);

// At the barrier of an exclusive creation, or of the making of a directory: does any other upload or version
// stand in the way? `base` is what lived last, settled (nothing, which also stands for not known; a
// tombstone; or an object, if just that is to be replaced), `listings` what one look after sealing shows. Of
// several that make one directory none stands in the way of another.
enum class Rivalry {
  kNone,
  // Exclusive uploads or directories only, all of them later in the order of (version, id): each yields to
  // `own_seal` when it comes to its own barrier, unless it passed that already. So looking again will tell;
  // nothing else does.
  kLaterOnly,
  // Plain uploads, renames, or idle or aborted exclusive ones besides: looking again will tell mostly.
  kSealed,
  kBusy,
};
struct Rival {
  Rivalry rivalry = Rivalry::kNone;
  MemberIndex home = 0;  // that shows it; only if there is one, as `state`
  State state;
};
// The rival that is the hardest to wait for.
Rival RivalAtBarrier(const std::map<MemberIndex, States>& listings, const State& own_seal,
                     const Accepted& base);

// One action of the cleaner on one server.
struct SweepAction {
  enum Kind { kRemoveFile, kRemoveMark, kRename } kind = kRemoveFile;
  std::string from = {};
  std::string to = {};  // of kRename
};
struct SweepInput {
  Accepted current;  // decided, and accepted on this server's quorum
  // Uploads seen promoted below current, on any server, and as which version last.
  std::map<std::string, Version> promoted_below;
  std::set<std::string> held;  // renames that are not complete at their source: their witnesses stay
  // Below current: from this version on the grace time of readers is not over.
  Version keep_from;
};
// What may go from a server that has accepted `current` or more (homes), or from a non-home server. Only for
// names without open renames (no r, q, x.r or moved tombstone).
std::vector<SweepAction> PlanSweep(const States& states, const SweepInput& input);

// Abort of an upload (`seal` is s or e), of the making of a directory (f) or of a rename (r): what to do on
// one home, decided on a fresh listing.
struct FenceStep {
  enum Kind { kFenced, kPromotedHere, kRename, kMark } kind = kFenced;
  std::string from = {};
  std::string to = {};
};
FenceStep NextFenceStep(const States& states, const State& seal);

// May the tombstone `current` be forgotten on this home: it is there, and nothing else but abort marks?
bool OnlyTombstone(const States& states, const Accepted& current);

}  // namespace xec
