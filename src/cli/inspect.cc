// SPDX-License-Identifier: LGPL-3.0-or-later
// locate, verify and clean.
#include <cstdio>
#include <unistd.h>

#include "cli/commands.hh"
#include "cli/json_output.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

const char* HealthName(ChunkHealth health) {
  switch (health) {
    case ChunkHealth::kGood: return "good";
    case ChunkHealth::kMissing: return "missing";
    case ChunkHealth::kCorrupt: return "corrupt";
    case ChunkHealth::kUnavailable: return "unavailable";
  }
  return "";
}

std::string ServerId(const StoreMaintenance& store, const ChunkReport& report) {
  const std::vector<Member>& members = store.descriptor().members;
  return report.server < members.size() ? members[report.server].id : "-";
}

std::string ServerName(const StoreMaintenance& store, const ChunkReport& report) {
  return report.server < store.descriptor().members.size() ? store.AddressOf(report.server) : "";
}

Json ToJson(const StoreMaintenance& store, const ChunkReport& report) {
  Json json = {{"stripe", report.stripe},
               {"chunk", report.chunk},
               {"bytes", report.bytes},
               {"server", ServerId(store, report)},
               {"address", ServerName(store, report)},
               {"archive", report.archive_path},
               {"health", HealthName(report.health)}};
  if (!report.problem.empty()) json["problem"] = report.problem;
  return json;
}

std::string ChunkLabel(const Geometry& geometry, uint32_t chunk) {
  return chunk < geometry.data_chunks ? fmt::format("data {}", chunk)
                                      : fmt::format("parity {}", chunk - geometry.data_chunks);
}

// A row for each stripe, a column for each chunk; then the servers.
void PrintTable(const StoreMaintenance& store, const Geometry& geometry,
                const std::vector<ChunkReport>& reports) {
  constexpr int kWidth = 9;
  std::map<uint64_t, std::vector<std::string>> rows;
  std::map<std::string, std::string> archives;
  for (const ChunkReport& report : reports) {
    auto& row = rows[report.stripe];
    row.resize(geometry.Total(), "");
    if (report.chunk >= row.size()) continue;
    const std::string id = ServerId(store, report);
    row[report.chunk] = report.health == ChunkHealth::kGood ? id : fmt::format("{}!", id);
    if (report.health == ChunkHealth::kGood)
      archives[id] = ServerName(store, report) + "  " + report.archive_path;
    if (report.health != ChunkHealth::kGood)
      archives.emplace(id, fmt::format("{}: {}", HealthName(report.health), report.problem));
  }
  fmt::print("{:<{}}", "stripe", kWidth);
  for (uint32_t chunk = 0; chunk < geometry.Total(); ++chunk)
    fmt::print("{:<{}} ", ChunkLabel(geometry, chunk), kWidth);
  fmt::print("\n");
  for (const auto& [stripe, row] : rows) {
    fmt::print("{:<{}}", stripe, kWidth);
    for (const std::string& server : row) fmt::print("{:<{}} ", server, kWidth);
    fmt::print("\n");
  }
  fmt::print("\n");
  for (const auto& [id, archive] : archives) fmt::print("{:<{}}{}\n", id, kWidth, archive);
}

}  // namespace

Result<int> RunLocate(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  Json all = Json::array();
  for (const std::string& path : line.operands) {
    XEC_ASSIGN_OR_RETURN(const ObjectDescription described, SyncWait(store.store().Describe(path)));
    if (described.info.directory) return Fail(Code::kIsDirectory, "{} is a directory", path);
    const Geometry& geometry = described.geometry;
    std::vector<ChunkReport> reports;
    XEC_TRY(
        SyncWait(maintenance->Locate(path, [&](const ChunkReport& report) { reports.push_back(report); })));
    if (line.json) {
      Json chunks = Json::array();
      for (const ChunkReport& report : reports) chunks.push_back(ToJson(*maintenance, report));
      all.push_back({{"path", path},
                     {"size", described.info.size},
                     {"geometry", geometry.ToString()},
                     {"chunk_size", geometry.chunk_size_bytes},
                     {"chunks", std::move(chunks)}});
      continue;
    }
    fmt::print("{}  {} in {}, chunks of {}\n", path, FormatSize(described.info.size), geometry.ToString(),
               FormatSize(geometry.chunk_size_bytes));
    PrintTable(*maintenance, geometry, reports);
  }
  if (line.json) PrintJson(all);
  return kExitOk;
}

Result<int> RunVerify(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  Json all = Json::array();
  bool damaged = false, silent = false;
  for (const std::string& path : line.operands) {
    uint64_t chunks = 0, bad = 0;
    Json found = Json::array();
    Progress progress("verify " + path, 0, line.quiet || line.json);
    const Status verified = SyncWait(maintenance->Verify(path, [&](const ChunkReport& report) {
      ++chunks;
      progress.Add(report.bytes);
      if (report.health == ChunkHealth::kGood) return;
      ++bad;
      (report.health == ChunkHealth::kUnavailable ? silent : damaged) = true;
      if (line.json) {
        found.push_back(ToJson(*maintenance, report));
      } else {
        progress.Wipe();
        fmt::print("{}  stripe {} chunk {}  {}  {} on {} ({}): {}\n", path, report.stripe, report.chunk,
                   HealthName(report.health), report.archive_path, ServerId(*maintenance, report),
                   ServerName(*maintenance, report), report.problem);
      }
    }));
    progress.Wipe();
    if (!verified && verified.code() != Code::kDataLoss && verified.code() != Code::kCorruption)
      return verified.error();
    if (!verified) damaged = true;
    if (line.json) {
      Json json = {{"path", path}, {"chunks", chunks}, {"bad", std::move(found)}};
      if (!verified) json["error"] = verified.error().message;
      all.push_back(std::move(json));
    } else {
      if (!verified) fmt::print("{}  {}\n", path, verified.error().message);
      if (!line.quiet) fmt::print("{}  {} chunks read, {} bad\n", path, chunks, bad);
    }
  }
  if (line.json) PrintJson(all);
  return damaged ? kExitDamage : silent ? kExitRetry : kExitOk;
}

Result<int> RunClean(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  StatusLine status(line.quiet || line.json);
  const Result<CleanReport> cleaned = SyncWait(maintenance->Clean([&](uint64_t names) {
    status.Show([&] { return fmt::format("clean: {} names visited", names); });
    return !Interrupted();
  }));
  status.Wipe();
  if (!cleaned && Interrupted()) return kExitInterrupted;
  if (!cleaned) return cleaned.error();
  const CleanReport& report = *cleaned;
  if (line.json) {
    PrintJson({{"names", report.names}, {"removed", report.removed}, {"left", report.left}});
  } else {
    fmt::print("{} names visited, {} files removed, {} left for later\n", report.names, report.removed,
               report.left);
  }
  return kExitOk;
}

}  // namespace xec
