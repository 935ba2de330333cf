// SPDX-License-Identifier: LGPL-3.0-or-later
// The world of directory renames: names that are linearizable registers (what the object model shows), and
// the log of a rename, a file on each server. Nothing here knows what processes believe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace model {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Three trees d, e, f, in each: the top itself, `a`, `s`, `s/x`.
constexpr int kTops = 3, kSlots = 4, kNames = kTops * kSlots;
constexpr int kServersMax = 4, kLogs = 6, kProcesses = 5, kOps = 2, kVersions = 32, kRepliesMax = 24;
enum : u8 { kTopSlot, kSlotA, kSlotS, kSlotX };
constexpr u8 NameOf(int top, int slot) { return static_cast<u8>(top * kSlots + slot); }

enum Kind : u8 { kNothing, kObject, kDirectory };

struct Name {
  u8 kind, version;
  u8 out, in;  // seals of renames away from here and to here, a bit for each process
};

// In ticks; the operation limit is one.
constexpr int kHorizon = 4;

enum Copy : u8 { kNone, kTorn, kWritten /* not on the disk yet */, kSynced };

struct Log {
  u8 used, from, to, version;
  u8 ops;  // ghost: whose renames it stands for
  std::array<u8, kServersMax> copy, written /* its mtime */, late /* a creation is under way */;
};

enum RequestKind : u8 {
  kLook,
  kLookSealed,
  kSeal,
  kUnseal,
  kCommit,
  kPut,
  kRemove,
  kRemoveName,
  kMkdir,
  kWriteLog,
  kDropLog,
  kListLogs,
  kClock
};
struct Request {
  RequestKind kind;
  u8 name = 0, to = 0, version = 0, seen = 0, server = 0, log = 0;
};

// What requests are answered. A look: kind + 4 * version, and how the seals stand.
constexpr u32 kFailed = 1u << 30, kLost = kFailed + 1, kLate = kFailed + 2, kOk = kFailed + 3,
              kRefused = kFailed + 4;
constexpr u32 kOwnSeal = 1u << 8, kRival = 1u << 9;
constexpr Kind KindOf(u32 look) { return static_cast<Kind>(look & 3); }
constexpr u8 VersionOf(u32 look) { return static_cast<u8>(look >> 2 & 63); }

enum Code : u8 {
  kFine,
  kNotFound,
  kNotEmpty,
  kNotDirectory,
  kExists,
  kIsDirectory,
  kConflict,
  kCannotTell,
  kUnknown
};

struct Frame {
  u8 names, directories, next, version;
};

// What a process keeps between two phases.
struct Vars {
  u8 phase, from, to, version, log, ops, result;
  u8 begun, logged, late, depth;
  u8 old, old_late, old_begun;  // of the log that is being renewed
  u8 kept, shared;  // was looked at before this name; others may have taken the rename up
  std::array<Frame, 2> frames;
  u8 open, voids, same, errors;  // a cleaner's: logs, by bits
};

enum Program : u8 { kIdle, kRenamer, kCleaner, kPutter, kRemover, kMaker, kUnmaker };
enum : u8 { kStart = 0, kDead = 254, kEnd = 255 };
struct Process {
  u8 program, id, name, to, op, rounds;
  Vars vars;
  u8 logged;
  std::array<u32, kRepliesMax> log;
};

// Ghosts of one rename of a directory.
struct Op {
  u8 version, from, to;
  std::array<u8, kSlots> below;  // versions of what was there when it began
  u8 moved, inTheWay, final;
};

struct World {
  std::array<Name, kNames> names;
  std::array<Log, kLogs> logs;
  std::array<Process, kProcesses> processes;
  u8 next, clock;
  u8 faults, crashes, fences, ticks, cuts;  // how many more there may be
  // Ghosts.
  std::array<Op, kOps> ops;
  std::array<u8, kVersions> content;  // version -> the version it was put with
  std::array<u8, kProcesses> sealed;  // the clock of versions at a process's last seal
  u32 removed, died;                  // contents that went legitimately; versions of directories removed
  std::array<u32, kVersions> bornAfter;  // content -> directories that had died when it was put
  const char* error;

  void Fail(const char* why) {
    if (error == nullptr) error = why;
  }
};

struct Setup {
  int servers = 3, few = 1, ahead = 0, liveLogs = 4;
  bool clients = false, renew = false;
};
extern Setup setup;

// Rules left out on purpose, and two that the code does not have.
struct Variants {
  bool noLog, unlogEarly, resumeBlind, moveBlind, checkFirst, forgetFirst, noAnew, fewCopies, takeYoung,
      byName, noTargetLook, voidInSilence, openCounts, notForgotten, noAlone, alwaysOver, dropFirst,
      keepAlone;
  bool clockFirst, voidLate, fromBegun, countLate, kindGoesOn;
};
extern Variants variant;

int Choices(const World& w, const Request& q);  // 0: no versions are left
// Carries the request out; nonzero choices are what may go wrong. False: not possible now.
bool Execute(World& w, int process, const Request& q, int choice, u32* reply);
u8 NewLog(World& w, u8 from, u8 to, u8 version, u8 ops);
void CheckState(World& w);
void CheckRest(World& w);
u64 HashOf(const World& w);
std::string Describe(const Request& q);
std::string Describe(const World& w);
std::string NameText(int name);

}  // namespace model
