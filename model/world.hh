// SPDX-License-Identifier: LGPL-3.0-or-later
// The modelled world: servers that hold small files in object directories, clients, one clock-like floor.
// Every request to a server is one atomic step. See README.md for the protocol.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace model {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;

constexpr int kServers = 6, kNames = 3, kClients = 6, kFilesMax = 24, kLogMax = 60, kDelayedMax = 2;
constexpr int kHomes = 3, kQuorum = 2, kDataNeeded = 2;  // H = 2t+1, t+1, k

// ---- Versions: hlc, writer, sub. sub 0 = ordinary, 1 = "moved away", 2 = "the move is complete", 3 =
// "removed".
using Version = u8;
constexpr Version MakeVersion(int hlc, int writer) { return static_cast<Version>(hlc << 4 | writer << 2); }
constexpr int Writer(Version v) { return v >> 2 & 3; }
constexpr int Sub(Version v) { return v & 3; }
constexpr Version MovedAway(Version v) { return static_cast<Version>((v & ~3) | 1); }
constexpr Version MoveDone(Version v) { return static_cast<Version>((v & ~3) | 2); }
constexpr Version Removed(Version v) { return static_cast<Version>((v & ~3) | 3); }
constexpr Version Above(Version v, int writer) { return MakeVersion((v >> 4) + 1, writer); }

enum Kind : u8 {
  kNone,
  kPromoted,    // p: archive, accepted
  kWitness,     // w: accepted, no data; a moved-in one knows where its archives come from (peer, pver)
  kTombstone,   // t: accepted, "removed"
  kMoved,       // t...to: accepted at <v1, moved>, "the content went to peer as version pver"
  kSealed,      // s: archive of a put, version not chosen yet
  kMoveOut,     // r: seal of a rename at its source
  kMoveIn,      // q: seal of a rename at its target, becomes a witness
  kAborted,     // x: fenced seal of a put
  kAbortedOut,  // x: fenced seal of a rename at its source
  kMark,        // m: "a late create of this seal is void"
  kUnproved,    // y: witness whose creator has not looked again yet
};

struct File {
  u8 kind = 0, name = 0, ver = 0;
  u8 id = 0;     // of the operation that sealed it (= writer of the version it gets)
  u8 oid = 0;    // identity of the bytes; equals the id of the put that wrote them
  u8 peer = 0;   // moved: target name; move-out: target; move-in and moved-in witness: source
  u8 pver = 0;   // moved: version at the target; moved-in witness: version at the source
  u8 nonce = 0;  // unproved: of its creator; moved: mask of the target homes whose seal was proved
  u64 bits() const { return std::bit_cast<u64>(*this); }
  bool operator==(const File& other) const { return bits() == other.bits(); }
  bool accepted() const { return kind >= kPromoted && kind <= kMoved; }
  bool gone() const { return kind == kTombstone || kind == kMoved; }
  // The operation whose seal turns into this file.
  int sealId() const { return kind == kMoved ? id : Writer(ver); }
};

using Listing = std::vector<File>;

struct Server {
  u8 count = 0;
  std::array<File, kFilesMax> files{};
  void Add(File f);
  bool Remove(File f);
  bool Has(File f) const;
};

enum RequestType : u8 { kList, kCreate, kRename, kRemove };
struct Request {
  RequestType type = kList;
  u8 server = 0, name = 0;
  File file{}, to{};
};

// A reply as a number, so that a client's log is small: 0..3 or kListingBase + number of an interned listing.
enum : u32 { kSilent = 0, kOk = 1, kRefused = 2, kLost = 3, kListingBase = 4 };

enum Program : u8 { kIdle, kPut, kRemover, kRenamer, kReader, kCleaner };

// What a client keeps from phase to phase; within a phase it is replayed from its log of replies.
struct Vars {
  u8 phase, rounds, choice, sealed, ver, bver, done, oid, sealedIn;
  std::array<u8, kNames> floor;  // ghost: what was already visible when the operation began
  u8 movesBefore;  // ghost: renames committed when the operation began
};

struct Client {
  Program program = kIdle;
  u8 id = 0, name = 0, target = 0;
  Vars vars{};
  u8 logged = 0;
  std::array<u32, kLogMax> log{};
};

// Ghost record of a rename, filled when its first moved tombstone appears.
struct Move {
  u8 seen, committed, answered, src, dst, v1, b, oid;
};

struct World {
  std::array<Server, kServers> servers{};
  std::array<Client, kClients> clients{};
  std::array<Request, kDelayedMax> delayed{};
  u8 delayedCount = 0, delaysLeft = 0, down = 0 /* server + 1 */, downsLeft = 0;
  // Ghosts: highest version visible or answered; highest collected; version chosen by each operation;
  // removals.
  std::array<u8, kNames> floor{}, collected{};
  std::array<u8, 4> chosen{}, isRemoval{};
  std::array<Move, 4> moves{};
  const char* error = nullptr;

  void Fail(const char* why) {
    if (error == nullptr) error = why;
  }
  void Raise(int name, Version v) {
    if (v > floor[name]) floor[name] = v;
  }
};

// Names, homes, placements of one scenario, and the faults built in on purpose.
struct Setup {
  std::array<std::array<u8, kHomes>, kNames> homes{};
  int names = 2, servers = kServers;
  std::array<u8, 8>
      placement{};  // oid (4 + name: what the name held at first) -> name whose homes hold its archives
  int rounds = 1, reads = 2;
};
extern Setup setup;

struct Variants {
  bool earlyFinish, noSourceSeal, witnessFinish, retireEarly, noFinish, noHold, rivalBlind, rivalNoX, oneLook,
      readNoFinish, abortMajority, noVerify, noMark, noTargetSeal, collectEarly, noRoll, lookBeforeSeal,
      leaveSealed, noMask, noInbound, retireRemove, grace, dropSeal, sink, leaveSeals;
};
extern Variants variant;

int HomeIndex(int name, int server);  // -1 = not a home
const File* Find(const Listing& files, Kind kind, int id);
File Top(const Listing& files);  // highest accepted, kind kNone if none
Listing ListOf(const World& w, int server, int name);
u32 Intern(const Listing& files);
const Listing& Interned(u32 reply);

u32 Execute(World& w, const Request& q);
void CheckState(World& w);  // what must hold in every state
void CheckClean(World& w);  // what must hold after the cleaners had the world for themselves
u64 HashOf(const World& w);
std::string Describe(const File& f);
void Dump(const World& w);

}  // namespace model
