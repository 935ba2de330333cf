// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/move_record.hh"

#include <set>

#include "base/contains.hh"
#include "base/text.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

constexpr size_t kMoveRecordBytesMax = 32 * 1024;

// Lines that not every record has.
constexpr std::string_view kEtag = "etag ", kSettings = "set ";

std::string Line(std::string_view key, std::string_view text) {
  return text.empty() ? "" : fmt::format("{}{}\n", key, text);
}

bool KeepInRecord(unsigned char c) { return c > 0x20 && c < 0x7f; }

// The first homes that showed it, since they have just answered.
std::vector<MemberIndex> HomesFirst(const Engine& engine, const ObjectPath& path,
                                    std::vector<MemberIndex> first) {
  for (const MemberIndex home : engine.Homes(path)) {
    if (!Contains(first, home)) first.push_back(home);
  }
  return first;
}

}  // namespace

Task<Result<MoveRecord>> ReadRecordFrom(Engine& engine, ObjectPath from, Accepted moved,
                                        std::vector<MemberIndex> first, Late late_ones, Duration least) {
  std::vector<MemberIndex> homes = HomesFirst(engine, from, first);
  std::set<MemberIndex> needed(first.begin(), first.end());
  Error problem = Fail(Code::kNotFound, "no home of {} shows where it was moved", from.text());
  const std::string entry = StatePath(from, FormatState(MovedState(moved)));
  // This counts for a home that is not waited for as well.
  Error silence = Fail(Code::kUnavailable, "a home of {} does not answer", from.text());
  std::optional<MoveRecord> found;
  size_t without = 0;
  const bool told = co_await AskInTurn<Result<std::string>>(
      engine, std::move(homes),
      [&](MemberIndex home) {
        return ReadFile(engine.MetadataCall(), engine.server(home), entry, kMoveRecordBytesMax);
      },
      [&](MemberIndex home, const Result<std::string>& text) {
        Result<MoveRecord> record = text ? ParseMoveRecord(*text) : Result<MoveRecord>(text.error());
        if (record) {
          found = std::move(*record);
          return true;
        }
        const bool damaged = record.code() == Code::kCorruption;
        if (damaged) problem = record.error();
        if (!damaged && record.code() != Code::kNotFound) {
          silence = Fail(Code::kUnavailable, "{}", record.error().message);
          return false;
        }
        needed.erase(home);
        return ++without >= engine.HomeQuorum(from) && needed.empty();
      },
      UnlessTooMany(engine, late_ones), least);
  if (found) co_return std::move(*found);
  co_return told ? problem : silence;
}

std::string FormatMoveRecord(const MoveRecord& record) {
  std::string servers;
  for (const std::string& server : record.servers) {
    servers += (servers.empty() ? "" : ",") + server;
  }
  const std::string settings = FormatSettings(record.given.settings);
  const std::string given = Line(kEtag, record.given.etag) + Line(kSettings, settings);
  return fmt::format("xec-move 1\nto {}\noid {}\nsize {}\nservers {}\n{}end\n",
                     PercentEncode(record.to.text(), KeepInRecord), record.oid, record.size, servers, given);
}

Result<MoveRecord> ParseMoveRecord(std::string_view text) {
  std::vector<std::string_view> lines = Split(text, '\n');
  const Error damaged = Fail(Code::kCorruption, "a move record is damaged");
  Given given;
  if (lines.size() > 7 && lines[5].starts_with(kEtag)) {
    given.etag = lines[5].substr(kEtag.size());
    if (!IsEtag(given.etag)) return damaged;
    lines.erase(lines.begin() + 5);
  }
  if (lines.size() > 7 && lines[5].starts_with(kSettings)) {
    const std::optional<Settings> settings = ParseSettings(lines[5].substr(kSettings.size()));
    if (!settings) return damaged;
    given.settings = *settings;
    lines.erase(lines.begin() + 5);
  }
  if (lines.size() != 7 || lines[0] != "xec-move 1" || !lines[1].starts_with("to ") ||
      !lines[2].starts_with("oid ") || !lines[3].starts_with("size ") || !lines[4].starts_with("servers ") ||
      lines[5] != "end") {
    return damaged;
  }
  const auto path = PercentDecode(lines[1].substr(3));
  const auto size = ParseUint(lines[3].substr(5));
  if (!path || !size || !IsObjectId(lines[2].substr(4))) return damaged;
  XEC_ASSIGN_OR_RETURN(ObjectPath to, ObjectPath::ParseStored(*path));
  MoveRecord record{.to = std::move(to),
                    .oid = std::string(lines[2].substr(4)),
                    .size = *size,
                    .servers = {},
                    .given = std::move(given)};
  for (const std::string_view server : Split(lines[4].substr(8), ',')) {
    if (!server.empty()) record.servers.emplace_back(server);
  }
  return record;
}

Task<Result<MoveRecord>> ReadMoveRecord(Engine& engine, ObjectPath from, Accepted moved) {
  co_return co_await ReadRecordFrom(engine, from, moved, engine.Homes(from), Late::kWaitedFor);
}

}  // namespace xec
