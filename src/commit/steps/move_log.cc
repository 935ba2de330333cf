// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/move_log.hh"

#include <algorithm>
#include <map>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "base/text.hh"
#include "commit/engine/access.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

inline constexpr std::string_view kMoveLogDirectory = "/.xec/moves";
constexpr size_t kMoveLogBytesMax = 32 * 1024;
// Each server is asked for a listing and then for one log after the other.
constexpr Duration kLogsPatience = 5 * kCleanerPatience;

bool KeepInLog(unsigned char c) { return c > 0x20 && c < 0x7f; }

std::string LogPath(const std::string& id) { return std::string(kMoveLogDirectory) + "/" + id; }

std::string FormatMoveLog(const MoveLog& log) {
  return fmt::format("xec-directory-move 1\nfrom {}\nto {}\nversion {}\nend\n",
                     PercentEncode(log.from.text(), KeepInLog), PercentEncode(log.to.text(), KeepInLog),
                     log.version.ToString());
}

Result<MoveLog> ParseMoveLog(std::string id, std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  const Error damaged = Fail(Code::kCorruption, "the log of directory rename {} is damaged", id);
  if (lines.size() != 6 || lines[0] != "xec-directory-move 1" || !lines[1].starts_with("from ") ||
      !lines[2].starts_with("to ") || !lines[3].starts_with("version ") || lines[4] != "end") {
    return damaged;
  }
  const auto from = PercentDecode(lines[1].substr(5));
  const auto to = PercentDecode(lines[2].substr(3));
  const auto version = Version::Parse(lines[3].substr(8));
  if (!from || !to || !version) return damaged;
  XEC_ASSIGN_OR_RETURN(ObjectPath from_path, ObjectPath::ParseStored(*from));
  XEC_ASSIGN_OR_RETURN(ObjectPath to_path, ObjectPath::ParseStored(*to));
  return MoveLog{
      .id = std::move(id), .from = std::move(from_path), .to = std::move(to_path), .version = *version};
}

// What the servers show of one log.
struct Copies {
  std::optional<MoveLog> log;
  size_t whole = 0;
  size_t unknown = 0;  // listed, but not read
  int64_t written_s = 0;  // the youngest
};

// What one server shows, by the log's id; nullopt: it does not answer.
Task<std::optional<std::map<std::string, Copies>>> CopiesOn(Engine& engine, MemberIndex member) {
  std::map<std::string, Copies> logs;
  const DataServerPtr& server = engine.server(member);
  Result<std::vector<Entry>> listed =
      co_await List(engine.MetadataCall(), server, std::string(kMoveLogDirectory));
  if (!listed && listed.code() == Code::kNotFound) co_return std::move(logs);
  if (!listed) co_return std::nullopt;
  for (const Entry& entry : *listed) {
    if (!IsObjectId(entry.name)) continue;
    Copies& copies = logs[entry.name];
    copies.written_s = std::max(copies.written_s, entry.mtime_s);
    Result<std::string> text =
        co_await ReadFile(engine.MetadataCall(), server, LogPath(entry.name), kMoveLogBytesMax);
    if (!text) {
      if (text.code() != Code::kNotFound) ++copies.unknown;
      continue;
    }
    // A copy whose writer died over it says nothing.
    Result<MoveLog> log = ParseMoveLog(entry.name, *text);
    if (!log) continue;
    ++copies.whole;
    copies.log = std::move(*log);
  }
  co_return std::move(logs);
}

struct AllLogs {
  std::map<std::string, Copies> logs;  // by id
  size_t silent = 0;                   // servers
};

Task<AllLogs> AllCopies(Engine& engine) {
  AllLogs all;
  all.silent = engine.server_count();
  ServerGather<std::optional<std::map<std::string, Copies>>> gather(engine, RequestKind::kSync,
                                                                    kLogsPatience);
  for (const MemberIndex member : engine.AllByHealth()) gather.Start(member, CopiesOn(engine, member));
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    --all.silent;
    for (auto& [id, here] : **event.value) {
      Copies& copies = all.logs[id];
      copies.whole += here.whole;
      copies.unknown += here.unknown;
      copies.written_s = std::max(copies.written_s, here.written_s);
      if (here.log) copies.log = std::move(here.log);
    }
  }
  co_return std::move(all);
}

// Does one rename make something in a directory that the other one renames? It waits for the other one then.
bool WaitsFor(const MoveLog& log, const MoveLog& other) {
  return log.to == other.from || log.to.IsBelow(other.from) || other.from.IsBelow(log.to);
}

}  // namespace

Task<Result<std::set<MemberIndex>>> WriteMoveLog(Engine& engine, MoveLog log) {
  std::set<MemberIndex> late;
  if (MutantActive(Mutant::kForgetDirectoryRename)) co_return late;
  const TimePoint begun = engine.executor().Now();
  ServerGather<Status> gather(engine, RequestKind::kSync);
  for (const MemberIndex member : engine.AllByHealth()) {
    gather.Start(member, CreateFile(engine.MetadataCall(), engine.server(member), LogPath(log.id),
                                    FormatMoveLog(log), engine.SyncBeforeCommit()));
    late.insert(member);
  }
  const size_t few = engine.SilentServersMax();
  size_t written = 0;
  size_t open = 0;
  // Copies that turn up late, after the log was removed, must be too few to count.
  while (gather.pending() > 0 && (written <= few || gather.pending() > few || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    XEC_FAILPOINT("rename_directory.logged_one");
    late.erase(event.member);
    if (*event.value) ++written;
    if (OutcomeUnknown(*event.value)) ++open;
  }
  // A log that is not young is taken up by cleaners, or removed if they do not find enough of it.
  const bool young = engine.executor().Now() - begun <= engine.options().operation_limit;
  if (written > few && young) co_return late;
  co_await RemoveMoveLog(engine, log.id, late);
  if (written + open > few) {
    co_return Fail(Code::kUnknown, "{} may be renamed to {} later: its log took too long to write; retry",
                   log.from.text(), log.to.text());
  }
  co_return Fail(Code::kNoQuorum, "the rename of {} could not be logged on enough data servers; retry",
                 log.from.text());
}

Task<bool> RemoveMoveLog(Engine& engine, std::string id, std::set<MemberIndex> late) {
  ServerGather<Status> gather(engine);
  std::set<MemberIndex> left = late;
  for (const MemberIndex member : engine.AllByHealth()) {
    gather.Start(member, Remove(engine.MetadataCall(), engine.server(member), LogPath(id)));
    left.insert(member);
  }
  const size_t few = engine.SilentServersMax();
  // Copies that stay on a few servers are removed by cleaners.
  while (gather.timely() > 0 || (gather.pending() > 0 && left.size() > few)) {
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    XEC_FAILPOINT("rename_directory.unlogged_one");
    const bool gone = *event.value || event.value->code() == Code::kNotFound;
    if (gone && !late.contains(event.member)) left.erase(event.member);
  }
  co_return left.size() <= few;
}

Task<MoveLogsFound> FindMoveLogs(Engine& engine) {
  // The time is taken before any server is asked: a log that comes while we sleep between two answers is
  // young.
  const int64_t now_s = engine.executor().WallNow() / 1000;
  auto [logs, silent] = co_await AllCopies(engine);
  MoveLogsFound found;
  found.silent = silent;
  for (auto& [id, copies] : logs) {
    const Duration age = std::chrono::seconds(now_s - copies.written_s);
    // A rename begins only when more copies than this are whole.
    const size_t few = engine.SilentServersMax();
    const bool is_void = copies.whole + copies.unknown + silent <= few;
    // Servers are listed one after the other, and the writer of a log may be at it while our clock is ahead.
    if (age <= (is_void ? engine.options().tombstone_horizon : engine.options().operation_limit)) {
      ++found.young;
    } else if (copies.whole > few) {
      found.open.push_back(std::move(*copies.log));
    } else if (is_void) {
      found.void_.push_back(id);
    } else {
      ++found.undecided;
    }
  }
  co_return std::move(found);
}

Task<bool> MayBeRenamed(Engine& engine, ObjectPath directory) {
  const AllLogs all = co_await AllCopies(engine);
  const size_t few = engine.SilentServersMax();
  if (all.silent > few) co_return true;
  for (const auto& [id, copies] : all.logs) {
    const bool counts = copies.whole + copies.unknown + all.silent > few;
    const bool of_this = !copies.log || copies.log->from == directory || directory.IsBelow(copies.log->from);
    if (counts && of_this) co_return true;
  }
  co_return false;
}

Task<bool> WaitsForItself(Engine& engine, MoveLog log) {
  const AllLogs all = co_await AllCopies(engine);
  const size_t few = engine.SilentServersMax();
  if (all.silent > few) co_return false;
  std::vector<MoveLog> others;
  for (const auto& [id, copies] : all.logs) {
    if (copies.log && copies.whole + copies.unknown + all.silent > few) others.push_back(*copies.log);
  }
  std::vector<MoveLog> reached = {log};
  for (size_t i = 0; i < reached.size(); ++i) {
    const MoveLog waiting = reached[i];
    if (i > 0 && WaitsFor(waiting, log)) co_return true;
    const auto next = std::stable_partition(others.begin(), others.end(), [&](const MoveLog& other) {
      return other.id == log.id || !WaitsFor(waiting, other);
    });
    reached.insert(reached.end(), next, others.end());
    others.erase(next, others.end());
  }
  co_return false;
}

}  // namespace xec
