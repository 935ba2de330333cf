// SPDX-License-Identifier: LGPL-3.0-or-later
// The log of a rename, as src/commit/steps/move_log.cc, and Resume of rename_directory.cc.
#include "programs.hh"

namespace model {

namespace {

// Some go through the servers from the one end, some from the other.
u8 ServerAt(const Context& c, int i) { return static_cast<u8>(c.me.id % 2 == 0 ? i : setup.servers - 1 - i); }

bool SameRename(const Log& a, const Log& b) {
  return a.from == b.from && a.to == b.to && a.version == b.version;
}

// What all servers that answered show of one log.
struct Copies {
  int whole = 0, unknown = 0;
  bool shown = false, young = false, recent = false;
};

}  // namespace

Task<u8> WriteLog(Context& c) {
  Vars& v = c.me.vars;
  int written = 0, open = 0, late = 0;
  for (int i = 0; i < setup.servers; ++i) {
    const u32 r = co_await c.Ask({.kind = kWriteLog, .server = ServerAt(c, i), .log = v.log});
    written += r == kOk;
    open += r == kLost;
    late += r == kLate;
  }
  // It waits for those that are late as long as too few have answered.
  const bool waits = written <= setup.few || late > setup.few;
  if (waits) open += late;
  v.late = static_cast<u8>(waits ? 0 : late);
  const u32 now = co_await c.Ask({.kind = kClock});
  const bool young = static_cast<int>(now) - v.begun <= 1;
  const int counted = variant.openCounts ? written + open : written;
  const int needed = variant.fewCopies ? 0 : setup.few;
  v.logged = static_cast<u8>(now);
  if (counted > needed && young) co_return kFine;
  (void)co_await DropLog(c, v.log);
  co_return written + open > setup.few ? kUnknown : kCannotTell;
}

Task<bool> DropLog(Context& c, u8 log) {
  int left = 0;
  for (int i = 0; i < setup.servers && log < kLogs; ++i) {
    const u32 r = co_await c.Ask({.kind = kDropLog, .server = ServerAt(c, i), .log = log});
    left += r != kOk;
  }
  if (variant.countLate) left += c.me.vars.late;
  co_return left <= setup.few;
}

Task<u8> FindLogs(Context& c) {
  Vars& v = c.me.vars;
  std::array<Copies, kLogs> logs;
  int silent = 0;
  u8 now = 0;
  if (variant.clockFirst) now = static_cast<u8>(co_await c.Ask({.kind = kClock}));
  for (int i = 0; i < setup.servers; ++i) {
    const u32 listed = co_await c.Ask({.kind = kListLogs, .seen = now, .server = ServerAt(c, i)});
    if (listed == kFailed) ++silent;
    for (int log = 0; log < kLogs && listed != kFailed; ++log) {
      const u32 shown = listed >> 4 * log & 15;
      logs[log].whole += (shown & 3) == 2;
      logs[log].unknown += (shown & 3) == 3;
      logs[log].shown |= shown != 0;
      logs[log].young |= (shown & 4) != 0;
      logs[log].recent |= (shown & 8) != 0;
    }
  }
  v = Vars{};
  for (int log = 0; log < kLogs; ++log) {
    const Copies& copies = logs[log];
    const u8 bit = static_cast<u8>(1 << log);
    if (!copies.shown || (copies.young && !variant.takeYoung)) continue;
    if (copies.whole > setup.few) {
      v.open |= bit;
      continue;
    }
    const bool waits = variant.voidLate && copies.recent;
    const bool few = copies.whole + copies.unknown + silent <= setup.few || variant.voidInSilence;
    if (few && !waits) v.voids |= bit;
  }
  co_return kVoid;
}

Task<u8> DropVoidLogs(Context& c) {
  for (u8 log = 0; log < kLogs; ++log)
    if (c.me.vars.voids >> log & 1) (void)co_await DropLog(c, log);
  co_return kResume;
}

// The next rename of which logs were found.
Task<u8> Resume(Context& c) {
  Vars& v = c.me.vars;
  if (v.open == 0) {
    if (c.me.rounds == 0) co_return kEnd;
    --c.me.rounds;
    co_return kStart;
  }
  v = Vars{.open = v.open};
  int first = 0;
  while ((v.open >> first & 1) == 0) ++first;
  const Log found = c.world.logs[first];
  for (int log = first; log < kLogs; ++log) {
    if ((v.open >> log & 1) == 0 || !SameRename(found, c.world.logs[log])) continue;
    v.same |= static_cast<u8>(1 << log);
    v.ops |= c.world.logs[log].ops;
  }
  v.open &= static_cast<u8>(~v.same);
  v.from = found.from, v.to = found.to, v.version = found.version;
  const u32 from = co_await c.Look(NameOf(v.from, kTopSlot));
  if (from == kFailed) co_return kResume;
  const bool there = KindOf(from) == kDirectory && (VersionOf(from) == v.version || variant.resumeBlind);
  v.log = kLogs;
  if (!there) co_return kForget;
  if (variant.noAnew) {
    v.log = static_cast<u8>(first);
    v.same &= static_cast<u8>(~(1 << first));
    co_return kForget;
  }
  v.log = NewLog(c.world, v.from, v.to, v.version, v.ops);
  if (v.log == kLogs) co_return kEnd;  // the bound of the model
  co_return variant.forgetFirst ? kForget : kAnew;
}

Task<u8> LogAnew(Context& c) {
  Vars& v = c.me.vars;
  v.begun = static_cast<u8>(co_await c.Ask({.kind = kClock}));
  const u8 written = co_await WriteLog(c);
  if (written != kFine) co_return kResume;
  co_return variant.forgetFirst ? kEnter : kForget;
}

// Before each name, as KeepYoung.
Task<u8> KeepYoung(Context& c) {
  Vars& v = c.me.vars;
  v.kept = 1;
  if (v.log == kLogs) co_return kItem;
  const u8 now = static_cast<u8>(co_await c.Ask({.kind = kClock}));
  if (now - v.begun > 1 && !variant.keepAlone) v.shared = 1;
  if (now == v.begun || v.shared) co_return kItem;
  const u8 next = NewLog(c.world, v.from, v.to, v.version, v.ops);
  if (next == kLogs) co_return kItem;  // the bound of the model
  v.old = v.log, v.old_late = v.late, v.old_begun = v.begun;
  v.log = next, v.begun = now;
  co_return variant.dropFirst ? kDropOld : kRenew;
}

Task<u8> RenewLog(Context& c) {
  Vars& v = c.me.vars;
  const u8 written = co_await WriteLog(c);
  if (written != kFine) {
    v.log = v.old, v.late = v.old_late, v.begun = v.old_begun;
    v.shared = !variant.keepAlone;
    co_return kItem;
  }
  const u32 now = co_await c.Ask({.kind = kClock});
  if (static_cast<int>(now) - v.old_begun > 1 && !variant.keepAlone) v.shared = 1;
  co_return variant.dropFirst ? kItem : kDropOld;
}

Task<u8> DropOldLog(Context& c) {
  Vars& v = c.me.vars;
  const u8 late = v.late;
  v.late = v.old_late;
  const bool forgotten = co_await DropLog(c, v.old);
  v.late = late;
  if (!forgotten && !variant.keepAlone) v.shared = 1;
  co_return variant.dropFirst ? kRenew : kItem;
}

Task<u8> ForgetFound(Context& c) {
  const Vars& v = c.me.vars;
  for (u8 log = 0; log < kLogs; ++log)
    if (v.same >> log & 1) (void)co_await DropLog(c, log);
  if (v.log == kLogs) co_return kResume;
  co_return variant.forgetFirst ? kAnew : kEnter;
}

}  // namespace model
