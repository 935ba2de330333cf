// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/disk/disk_clock.hh"

#include <algorithm>

#include "base/mutant.hh"
#include "base/text.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

constexpr std::string_view kTableHeader = "clock 1";
constexpr size_t kTableBytesMax = 64 * 1024;
// So many of the newest readings are tried, since a process that was killed leaves its own half written.
constexpr size_t kTablesTriedMax = 2;
// Readings are kept for so long after they have settled, and drafts for so long after they were made.
constexpr Duration kReadingsKept = 2 * kClockInterval;
constexpr Duration kDraftsKept = std::chrono::hours(1);
constexpr std::string_view kDraftPrefix = "r.";
// Gateways that have just moved the clocks on have left out a note of now; they take it over with the next
// round.
constexpr Duration kNotePause = std::chrono::seconds(1);
constexpr Duration kNotePatience = 6 * kClockInterval;
// So often the clock of a disk that has lost a part is removed.
constexpr int kClockRemovals = 3;

DiskTime Millis(Duration time) {
  return static_cast<DiskTime>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::string ClockPath(std::string_view entry) { return fmt::format("{}/{}", kDiskClockFolder, entry); }

Task<Result<std::vector<Entry>>> ListClock(Engine& beneath, MemberIndex member) {
  Result<std::vector<Entry>> listed =
      co_await List(beneath.MetadataCall(), beneath.server(member), std::string(kDiskClockFolder));
  if (!listed && listed.code() == Code::kNotFound) co_return std::vector<Entry>();
  co_return std::move(listed);
}

struct ShownClock {
  ShownReadings readings;
  std::map<MemberIndex, DiskTime> table;
};

Task<Result<ShownClock>> ReadClock(Engine& beneath, MemberIndex member) {
  const Result<std::vector<Entry>> listed = co_await ListClock(beneath, member);
  if (!listed) co_return listed.error();
  ShownClock shown;
  shown.readings = ReadingsIn(*listed);
  std::vector<DiskTime> newest = shown.readings.times;
  std::sort(newest.rbegin(), newest.rend());
  newest.resize(std::min(newest.size(), kTablesTriedMax));
  for (const DiskTime reading : newest) {
    const Result<std::string> text = co_await ReadFile(beneath.MetadataCall(), beneath.server(member),
                                                       ClockPath(FormatDiskTime(reading)), kTableBytesMax);
    if (!text) continue;
    auto table = ParseClockTable(beneath.descriptor(), reading, *text);
    if (!table) continue;
    shown.table = std::move(*table);
    break;
  }
  co_return std::move(shown);
}

using ShownClocks = std::map<MemberIndex, ShownClock>;

// Reads the clocks of the servers that answer in time, and of a majority at least, if so many answer at all.
Task<ShownClocks> ReadClocks(Engine& beneath, Duration least) {
  ShownClocks shown;
  ServerGather<Result<ShownClock>> gather(beneath, RequestKind::kMetadata, least);
  for (const MemberIndex member : beneath.AllByHealth()) gather.Start(member, ReadClock(beneath, member));
  const size_t needed = Quorum(beneath.server_count());
  while (gather.pending() > 0 && (shown.size() < needed || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (event.value && *event.value) shown[event.member] = std::move(**event.value);
  }
  co_return std::move(shown);
}

// Removes readings that nobody needs any more, and drafts of processes that died.
Task<void> RemoveOld(Engine& beneath, MemberIndex member) {
  const Result<std::vector<Entry>> listed = co_await ListClock(beneath, member);
  if (!listed) co_return;
  const ShownReadings readings = ReadingsIn(*listed);
  const DiskTime settled = readings.Settled(SettledAfter(beneath.descriptor().sync));
  const int64_t drafts_from_s =
      (beneath.executor().WallNow() - static_cast<int64_t>(Millis(kDraftsKept))) / 1000;
  for (const Entry& entry : *listed) {
    const std::optional<DiskTime> time = ParseDiskTime(entry.name);
    const bool old = time ? *time + Millis(kReadingsKept) < settled : entry.mtime_s < drafts_from_s;
    if (old) (void)co_await Remove(beneath.MetadataCall(), beneath.server(member), ClockPath(entry.name));
  }
}

Task<Status> AdvanceOn(Engine& beneath, DiskClocksPtr clocks, MemberIndex member, DiskTime time,
                       std::string table) {
  const Result<std::vector<Entry>> listed = co_await ListClock(beneath, member);
  if (!listed) co_return listed.error();
  const DiskTime newest = ReadingsIn(*listed).Newest();
  const DiskTime now = DiskTimeNow(beneath);
  // Another gateway has just noted a reading.
  if (newest <= now && now - newest < Millis(kClockInterval) / 2) co_return OkStatus();
  const DataServerPtr server = beneath.server(member);
  const std::string draft = ClockDraft(beneath);
  Status told = co_await CreateFile(beneath.MetadataCall(), server, draft, std::move(table),
                                    beneath.SyncBeforeCommit());
  if (told) told = co_await TellTime(beneath, std::move(clocks), member, draft, time, false);
  if (!told) (void)co_await Remove(beneath.MetadataCall(), server, draft);
  co_await RemoveOld(beneath, member);
  co_return std::move(told);
}

}  // namespace

DiskClock ClockOf(const StoreDescriptor& descriptor, std::string member, DiskClocksPtr clocks) {
  return {.clocks = std::move(clocks),
          .member = std::move(member),
          .folder = std::string(kDiskClockFolder),
          .settled = SettledAfter(descriptor.sync)};
}

std::string FormatClockTable(const StoreDescriptor& descriptor, const DiskClocks& clocks) {
  std::string text = fmt::format("{}\n", kTableHeader);
  for (size_t i = 0; i < descriptor.members.size(); ++i) {
    const DiskTime latest = clocks.Latest(descriptor.members[i].id);
    if (latest > 0) text += fmt::format("{} {}\n", descriptor.members[i].id, latest);
  }
  return text;
}

std::optional<std::map<MemberIndex, DiskTime>> ParseClockTable(const StoreDescriptor& descriptor,
                                                               DiskTime reading, std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  // The last line is whole where it ends.
  if (lines.size() < 2 || lines.front() != kTableHeader || !lines.back().empty()) return std::nullopt;
  std::map<MemberIndex, DiskTime> table;
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::vector<std::string_view> words = Split(lines[i], ' ');
    if (words.size() != 2) return std::nullopt;
    const std::optional<DiskTime> time = ParseDiskTime(words[1]);
    if (!time || *time >= reading) return std::nullopt;
    const auto& members = descriptor.members;
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const Member& candidate) { return candidate.id == words[0]; });
    // A member that this process does not know of has no clock here.
    if (member != members.end()) table[static_cast<MemberIndex>(member - members.begin())] = *time;
  }
  return table;
}

Task<ClockRound> ReadDiskClocks(Engine& beneath, DiskClocksPtr clocks, Duration least) {
  ClockRound round;
  const std::chrono::milliseconds settled = SettledAfter(beneath.descriptor().sync);
  ShownClocks shown = co_await ReadClocks(beneath, least);
  for (const auto& [member, clock] : shown) {
    for (const auto& [noted, time] : clock.table) clocks->Raise(beneath.server_id(noted), time);
  }
  for (auto& [member, clock] : shown) {
    const DiskTime latest = clocks->Latest(beneath.server_id(member));
    if (clock.readings.Newest() < latest) {
      // The table may be newer than the listing, so only a listing that begins after it tells.
      const Result<std::vector<Entry>> again = co_await ListClock(beneath, member);
      if (!again) continue;
      clock.readings = ReadingsIn(*again);
    }
    clocks->Raise(beneath.server_id(member), clock.readings.Settled(settled));
    const bool back = clock.readings.Newest() < latest && !MutantActive(Mutant::kTrustOlderDisk);
    (back ? round.back : round.well).push_back(member);
  }
  co_return std::move(round);
}

Task<void> AdvanceDiskClocks(Engine& beneath, DiskClocksPtr clocks, ClockRound round) {
  if (round.heard() < Quorum(beneath.server_count())) co_return;
  const DiskTime time = std::max(DiskTimeNow(beneath), clocks->LatestOfAll() + 1);
  const std::string table = FormatClockTable(beneath.descriptor(), *clocks);
  ServerGather<Status> gather(beneath, RequestKind::kSync);
  for (const MemberIndex member : round.well)
    gather.Start(member, AdvanceOn(beneath, clocks, member, time, table));
  while (gather.timely() > 0) co_await gather.Next();
}

Task<Status> NoteDiskLost(Engine& beneath, DiskClocksPtr clocks, MemberIndex member) {
  const DiskTime lost = std::max(DiskTimeNow(beneath), clocks->LatestOfAll() + 1);
  clocks->Raise(beneath.server_id(member), lost);
  const size_t needed = Quorum(beneath.server_count());
  const TimePoint until = beneath.executor().Now() + kNotePatience;
  for (;;) {
    ClockRound round = co_await ReadDiskClocks(beneath, clocks);
    co_await AdvanceDiskClocks(beneath, clocks, std::move(round));
    const ShownClocks shown = co_await ReadClocks(beneath, {});
    const auto noted = static_cast<size_t>(std::count_if(shown.begin(), shown.end(), [&](const auto& clock) {
      const auto entry = clock.second.table.find(member);
      return clock.first != member && entry != clock.second.table.end() && entry->second >= lost;
    }));
    if (noted >= needed) co_return OkStatus();
    if (beneath.executor().Now() >= until) {
      co_return Fail(Code::kUnavailable,
                     "only {} data servers have noted that the disk of {} is lost, {} must; try again", noted,
                     beneath.server_id(member), needed);
    }
    co_await Pause(beneath, kNotePause);
  }
}

Task<Status> NotePartLost(Engine& beneath, DiskClocksPtr clocks, MemberIndex member) {
  Status noted = co_await NoteDiskLost(beneath, std::move(clocks), member);
  if (!noted) co_return std::move(noted);
  // A gateway that has not heard of the note may have moved the clock on, and may be about to.
  for (int rounds = 0; rounds < kClockRemovals; ++rounds) {
    if (rounds > 0) co_await Pause(beneath, kNotePause);
    const Result<std::vector<Entry>> listed = co_await ListClock(beneath, member);
    if (!listed) co_return listed.error();
    for (const Entry& entry : *listed) {
      const Status removed =
          co_await Remove(beneath.MetadataCall(), beneath.server(member), ClockPath(entry.name));
      if (!removed && removed.code() != Code::kNotFound) co_return removed;
    }
  }
  co_return OkStatus();
}

std::string ClockDraft(Engine& beneath) {
  return ClockPath(fmt::format("{}{}", kDraftPrefix, beneath.NewNonce()));
}

DiskTime DiskTimeNow(const Engine& beneath) {
  return static_cast<DiskTime>(std::max<int64_t>(1, beneath.executor().WallNow()));
}

Task<Status> TellTime(Engine& beneath, DiskClocksPtr clocks, MemberIndex member, std::string draft,
                      DiskTime least, bool is_back) {
  const DiskTime latest = clocks->Latest(beneath.server_id(member));
  const Result<std::vector<Entry>> listed = co_await ListClock(beneath, member);
  if (!listed) co_return listed.error();
  const bool there = std::any_of(listed->begin(), listed->end(),
                                 [&](const Entry& entry) { return ClockPath(entry.name) == draft; });
  const DiskTime newest = ReadingsIn(*listed).Newest();
  if (!there || (newest < latest && !is_back))
    co_return Fail(Code::kUnavailable, "the disk of {} went back in time meanwhile",
                   beneath.server_id(member));
  const DiskTime time = std::max({least, latest + 1, newest + 1});
  co_return co_await Rename(beneath.MetadataCall(), beneath.server(member), draft,
                            ClockPath(FormatDiskTime(time)));
}

}  // namespace xec
