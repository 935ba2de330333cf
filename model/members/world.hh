// SPDX-License-Identifier: LGPL-3.0-or-later
// The world of a change of members: servers that hold small files of ONE name, and lists of members that
// follow each other, of which two may be in use at the same time. Every request is one atomic step.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace model {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr int kServers = 5, kFiles = 12, kProcesses = 5, kReplies = 48, kWriters = 4, kLateMax = 2;

// Versions: clock, writer, and whether it is the removal of that version.
using Version = u8;
constexpr Version MakeVersion(int clock, int writer) {
  return static_cast<Version>(clock << 3 | writer << 1);
}
constexpr int Writer(Version v) { return v >> 1 & 3; }
constexpr bool Gone(Version v) { return v == 0 || (v & 1) != 0; }
constexpr Version Removed(Version v) { return static_cast<Version>(v | 1); }
constexpr Version Above(Version v, int writer) { return MakeVersion((v >> 3) + 1, writer); }

enum Kind : u8 {
  kNone,
  kPromoted,   // p: archive, accepted
  kWitness,    // w: accepted, no archive
  kTombstone,  // t: accepted, "removed"
  kSealed,     // s: archive of a put whose version is not chosen yet
  kExclusive,  // e: archive of an exclusive put, the version is fixed
  kAborted,    // x: fenced s or e, still a promise to rivals
  kMark,       // m: a seal that is made later is void
  kDraft,      // y: of a witness
};

struct File {
  u8 kind = 0, ver = 0;
  u8 id = 0;     // of the upload, of seals and marks
  u8 nonce = 0;  // of drafts: their maker
  bool operator==(const File&) const = default;
  u32 bits() const { return std::bit_cast<u32>(*this); }
  bool accepted() const { return kind >= kPromoted && kind <= kTombstone; }
  bool seal() const { return kind >= kSealed && kind <= kAborted; }
};
using Listing = std::vector<File>;

struct Server {
  u8 count = 0;
  std::array<File, kFiles> files{};
  bool Has(File f) const;
  void Add(File f);
  bool Remove(File f);
};

enum RequestType : u8 { kList, kCreate, kRename, kRemove };
// One request to each server of `mask`, all at the same time; it is over when `need` have answered a listing,
// and of the other types when all have, or `need` said OK and the process does not wait for the others.
struct Batch {
  RequestType type = kList;
  u8 mask = 0, need = 0;
  File file{}, to{};
};
// Replies; listings are numbered.
enum : u32 { kPending = 0, kSilent = 1, kOk = 2, kRefused = 3, kLost = 4, kListingBase = 5 };

struct Late {
  RequestType type = kList;
  u8 server = 0;
  File file{}, to{};
};

enum Program : u8 { kIdle, kPutter, kCreator, kRemover, kReader, kLister, kCleaner, kMover };
enum : u8 { kStart = 0, kDead = 98, kEnd = 99 };

// What a process keeps from phase to phase; within a phase it is replayed from its replies.
struct Vars {
  u8 phase, list, lapsed, rounds, sealed, ver, base, seal;
  u8 floor;  // ghost: what was visible when the operation began
};
struct Process {
  Program program = kIdle;
  u8 id = 0;
  Vars vars{};
  u8 logged = 0;
  std::array<u32, kReplies> log{};
};

struct World {
  std::array<Server, kServers> servers{};
  std::array<Process, kProcesses> processes{};
  std::array<Late, kLateMax> late{};
  u8 lateCount = 0;
  u8 low = 0, high = 0;  // a process may go by the lists low .. high
  u8 down = 0 /* server + 1 */, wiped = 0 /* server + 1: replaced, not compared yet */;
  u8 crashes = 0, delays = 0, downs = 0, wipes = 0;
  // Ghosts: the highest version that was visible or answered; the highest that was collected; of each upload
  // its version and its base; uploads that were visible, and those whose removal was.
  u8 floor = 0, collected = 0, shown = 0, removed = 0;
  std::array<u8, kWriters> chosen{}, base{}, by{} /* the list that its writer goes by */;
  std::array<u8, kServers> made{};  // which list was the highest when the server's last tombstone was made
  const char* error = nullptr;

  void Fail(const char* why) {
    if (error == nullptr) error = why;
  }
  void Raise(Version v);
};

// What a list says.
enum ListKind : u8 { kSettled, kJoint, kSwept };
struct List {
  ListKind kind = kSettled;
  u8 homes = 0;  // of the name, bits
  u8 members = 0;  // whom a cleaner or a lister asks
  u8 next = 0;  // of a joint list: the homes after it
  u8 quorum() const { return static_cast<u8>(std::popcount(homes) / 2 + 1); }
};
struct Setup {
  std::vector<List> lists;
  std::array<bool, kWriters> exclusive{};
  u8 placement = 0;  // servers that get an archive and are no homes
  int rounds = 1;
};
extern Setup setup;

// Rules left out on purpose, and rules that the first design does not have (README.md).
struct Variants {
  bool noWaitWalk, noWaitSweep, noWalk, noQuorum, noSweep, blindSweep, collectJoint, fenceJoint, oldCleaner,
      missMore, noLease, tellLate, noFence, noSecondWalk, noCompare, leaveStray, noVerify;
};
extern Variants variant;

File Top(const Listing& files);  // highest accepted; kind kNone if none
const File* SealOf(const Listing& files, int id);
bool HasMark(const Listing& files, int id);
Listing ListOf(const Server& s);
u32 Intern(const Server& s);
const Listing& Interned(u32 reply);

u32 Execute(World& w, const Batch& q, int server);
void CheckClean(World& w);  // what must hold after mover and cleaner had the world for themselves
u64 HashOf(const World& w);
std::string Describe(const File& f);
std::string Describe(const World& w);

}  // namespace model
