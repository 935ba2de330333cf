// SPDX-License-Identifier: LGPL-3.0-or-later
// What requests do, and what must hold.
#include "world.hh"

#include <cstddef>
#include <cstring>

namespace model {

Setup setup;
Variants variant;

namespace {

u8 NextVersion(World& w) { return ++w.next; }

// Whatever is at the name goes, and somebody wanted it to.
void Forget(World& w, Name& at) {
  if (at.kind == kObject) w.removed |= 1u << w.content[at.version];
  if (at.kind == kDirectory) w.died |= 1u << at.version;
  at.kind = kNothing;
  at.version = 0;
}

void Commit(World& w, int process, const Request& q, bool later_stays) {
  const Process& me = w.processes[process];
  const u8 bit = static_cast<u8>(1 << process);
  Name& from = w.names[q.name];
  Name& to = w.names[q.to];
  from.out &= static_cast<u8>(~bit);
  to.in &= static_cast<u8>(~bit);
  const u8 content = w.content[q.version];
  // What was put or removed at the source after the look does not stop the rename.
  if (from.version == q.version) from.kind = kNothing, from.version = 0;
  u8 over = 0;  // renames told to be over
  for (int op = 0; op < kOps; ++op) {
    if ((me.vars.ops >> op & 1) == 0) continue;
    w.ops[op].moved = 1;
    if (w.ops[op].final) over |= static_cast<u8>(1 << op);
  }
  if (over == me.vars.ops) w.Fail("somebody goes on with a rename that was told to be over");
  if (w.bornAfter[content] >> me.vars.version & 1)
    w.Fail("an object of a later directory was moved by the rename of an earlier one");
  if (later_stays) {
    w.removed |= 1u << content;
    return;
  }
  if (to.kind == kDirectory) w.Fail("an object took the place of a directory");
  if (to.kind == kObject && to.version <= w.sealed[process])
    w.Fail("replaced what was at the target before the rename had sealed it");
  Forget(w, to);
  to.kind = kObject;
  to.version = NextVersion(w);
  w.content[to.version] = content;
}

u32 LookAt(const World& w, int process, const Request& q) {
  const Name& at = w.names[q.name];
  u32 reply = at.kind + 4u * at.version;
  if (q.kind == kLook) return reply;
  const u8 bit = static_cast<u8>(1 << process);
  if ((at.out | at.in) & bit) reply |= kOwnSeal;
  if (at.out & ~bit) reply |= kRival;
  return reply;
}

u32 Change(World& w, const Process& me, const Request& q) {
  Name& at = w.names[q.name];
  if (q.kind == kPut) {
    if (at.kind == kDirectory) return kRefused;
    Forget(w, at);
    at.kind = kObject;
    at.version = NextVersion(w);
    w.content[at.version] = at.version;
    w.bornAfter[at.version] = w.died;
  } else if (q.kind == kMkdir) {
    if (at.kind != kNothing || at.in != 0) return kRefused;
    at.kind = kDirectory;
    at.version = NextVersion(w);
  } else {
    const bool same = at.version == q.version;
    const bool carries = me.program == kRenamer || me.program == kCleaner;
    const bool top = carries && q.name == NameOf(me.vars.from, kTopSlot);
    if (same && top && q.version != me.vars.version) w.Fail("a directory made later was removed");
    if (!same && q.kind == kRemove) return kOk;
    if (!same && at.kind != kNothing) w.Fail("a directory made later was removed");
    Forget(w, at);
  }
  return kOk;
}

u32 ListLogs(const World& w, const Request& q, bool unreadable) {
  const int now = (variant.clockFirst ? q.seen : w.clock) + setup.ahead;
  u32 reply = 0;
  for (int i = 0; i < kLogs; ++i) {
    const Log& log = w.logs[i];
    if (log.copy[q.server] == kNone) continue;
    u32 shown = unreadable ? 3 : log.copy[q.server] == kTorn ? 1 : 2;
    if (now - log.written[q.server] <= 1) shown |= 4;
    if (now - log.written[q.server] <= kHorizon) shown |= 8;
    reply |= shown << 4 * i;
  }
  return reply;
}

// 1: refused; 2: late, but may come; 3: cut short; 4: written, but not synced, and nobody is told.
u32 WriteLog(World& w, const Request& q, int choice) {
  Log& log = w.logs[q.log];
  if (choice == 1) return kRefused;
  if (choice == 2) {
    log.late[q.server] = 1;
    return kLate;
  }
  log.copy[q.server] = choice == 0 ? kSynced : choice == 3 ? kTorn : kWritten;
  log.written[q.server] = w.clock;
  return choice == 0 ? kOk : kLost;
}

}  // namespace

u8 NewLog(World& w, u8 from, u8 to, u8 version, u8 ops) {
  for (int i = 0; i < setup.liveLogs; ++i) {
    if (w.logs[i].used) continue;
    w.logs[i] = Log{.used = 1, .from = from, .to = to, .version = version, .ops = ops};
    return static_cast<u8>(i);
  }
  return kLogs;
}

int Choices(const World& w, const Request& q) {
  if (w.next >= kVersions - 10) return 0;  // the rest is for the cleaning at the end
  const bool faults = w.faults > 0;
  switch (q.kind) {
    case kSeal:
    case kUnseal:
    case kClock: return 1;
    case kCommit: return 3;
    case kWriteLog: return faults ? 5 : 1;
    case kListLogs: return faults ? 3 : 1;
    default: return faults ? 2 : 1;
  }
}

bool Execute(World& w, int process, const Request& q, int choice, u32* reply) {
  const u8 bit = static_cast<u8>(1 << process);
  Name& at = w.names[q.name];
  if (q.kind == kCommit) {
    Name& to = w.names[q.to];
    if (choice == 1 && to.version == q.seen) return false;
    if (choice == 2 && w.faults == 0) return false;
    if (choice == 2) --w.faults;
    const bool stands = (at.out & bit) && (to.in & bit);
    if (stands) Commit(w, process, q, choice == 1);
    *reply = choice == 2 ? kLost : stands ? kOk : kRefused;
    return stands || choice == 0;
  }
  if (choice > 0) --w.faults;
  switch (q.kind) {
    case kLook:
    case kLookSealed: *reply = choice ? kFailed : LookAt(w, process, q); break;
    case kSeal:
      at.out |= bit;
      w.names[q.to].in |= bit;
      w.sealed[process] = w.next;
      *reply = kOk;
      break;
    case kUnseal:
      at.out &= static_cast<u8>(~bit);
      w.names[q.to].in &= static_cast<u8>(~bit);
      *reply = kOk;
      break;
    case kWriteLog: *reply = WriteLog(w, q, choice); break;
    case kDropLog:
      if (choice == 0) w.logs[q.log].copy[q.server] = kNone;
      *reply = choice ? kLost : kOk;
      break;
    case kListLogs: *reply = choice == 1 ? kFailed : ListLogs(w, q, choice == 2); break;
    case kClock: *reply = w.clock; break;
    default:
      *reply = Change(w, w.processes[process], q);
      if (choice) *reply = kLost;
  }
  return true;
}

void CheckState(World& w) {
  std::array<u8, kVersions> places{};
  for (const Name& name : w.names)
    if (name.kind == kObject) ++places[w.content[name.version]];
  for (int content = 1; content < kVersions; ++content) {
    if (w.content[content] != content) continue;
    if (places[content] > 1) w.Fail("an object is at both names");
    if (places[content] == 0 && (w.removed >> content & 1) == 0) w.Fail("an object is lost");
  }
}

void CheckRest(World& w) {
  CheckState(w);
  for (const Log& log : w.logs)
    for (const u8 copy : log.copy)
      if (copy != kNone) w.Fail("at rest: a log is left");
  for (const Name& name : w.names)
    if (name.out || name.in) w.Fail("at rest: a seal is left");
  for (const Op& op : w.ops) {
    if (op.version == 0 || !op.moved) continue;
    const Name& from = w.names[op.from * kSlots];
    const bool lives = from.kind == kDirectory && from.version == op.version;
    if (lives && !(op.inTheWay && setup.clients))
      w.Fail("at rest: half of a directory was renamed, and nobody goes on");
  }
}

u64 HashOf(const World& w) {
  u64 h = 0x9E3779B97F4A7C15ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&w);
  size_t i = 0;
  for (; i + 8 <= offsetof(World, error); i += 8) {
    u64 x;
    std::memcpy(&x, bytes + i, 8);
    h = (h ^ x) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  return h;
}

std::string NameText(int name) {
  static const char* slots[] = {"", "/a", "/s", "/s/x"};
  return std::string(1, static_cast<char>('d' + name / kSlots)) + slots[name % kSlots];
}

std::string Describe(const Request& q) {
  static const char* verbs[] = {"look",     "look past seals", "seal",           "withdraw", "commit",
                                "put",      "remove version",  "remove by name", "mkdir",    "write log",
                                "drop log", "list logs",       "clock"};
  std::string text = verbs[q.kind];
  if (q.kind >= kClock) return text;
  if (q.kind >= kWriteLog)
    return text + " " + (q.kind == kListLogs ? "" : std::to_string(q.log)) + " on server " +
           std::to_string(q.server);
  text += " " + NameText(q.name);
  if (q.kind == kSeal || q.kind == kUnseal || q.kind == kCommit) text += " -> " + NameText(q.to);
  return text;
}

std::string Describe(const World& w) {
  std::string text;
  for (int i = 0; i < kNames; ++i) {
    const Name& name = w.names[i];
    if (name.kind == kNothing) continue;
    text += " " + NameText(i) + (name.kind == kDirectory ? "=dir" : "=") + std::to_string(name.version);
    if (name.kind == kObject) text += "(" + std::to_string(w.content[name.version]) + ")";
  }
  for (int i = 0; i < kLogs; ++i) {
    if (!w.logs[i].used) continue;
    text += " log" + std::to_string(i) + "=";
    for (int s = 0; s < setup.servers; ++s) text += "-twS"[w.logs[i].copy[s]];
  }
  return text;
}

}  // namespace model
