// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/census_report.hh"

#include "cli/exit_code.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Objects named in the table; --json names all.
constexpr size_t kNamesShown = 20;

std::string LevelText(int survives, const Geometry& geometry) {
  if (survives == -2) return "lost";
  if (survives == -1) return "unreadable until servers answer";
  if (survives == static_cast<int>(geometry.parity_chunks))
    return fmt::format("survive {} losses (full)", survives);
  if (survives == 0) return "survive no further loss";
  return fmt::format("survive {} {}", survives, survives == 1 ? "loss" : "losses");
}

const char* LevelName(int survives) { return survives == -2 ? "lost" : "unreadable"; }

std::string LeftText(const Redundancy& left) {
  const std::string level = LevelText(left.Lost() ? -2 : left.survives, left.geometry);
  return left.away && left.survives >= 0 ? level + ", not counting servers that do not answer" : level;
}

}  // namespace

Result<Census> CountObjects(const CommandLine& line, StoreMaintenance& maintenance) {
  StatusLine status(line.quiet || line.json);
  CensusOptions options;
  options.deep = line.deep;
  options.progress = [&](const Census& census) {
    const Census::Count total = census.total();
    status.Show([&] {
      return fmt::format("census: {} objects of {} counted, {} lack redundancy", total.objects,
                         FormatSize(total.bytes), census.thin());
    });
    return !Interrupted();
  };
  return SyncWait(maintenance.TakeCensus(std::move(options)));
}

void PrintCensus(const Census& census) {
  fmt::print("{:<10}{:<10}{:<34}{:>10}{:>14}\n", "geometry", "chunks", "objects that", "objects", "bytes");
  for (const Census::OfGeometry& of : census.geometries()) {
    for (auto level = of.survive.rbegin(); level != of.survive.rend(); ++level) {
      fmt::print("{:<10}{:<10}{:<34}{:>10}{:>14}\n", of.geometry.ToString(),
                 FormatSize(of.geometry.chunk_size_bytes), LevelText(level->first, of.geometry),
                 level->second.objects, FormatSize(level->second.bytes));
    }
  }
  size_t shown = 0;
  for (const Census::Thin& thin : census.names()) {
    if (shown++ == 0) fmt::print("\n");
    if (shown > kNamesShown) break;
    fmt::print("{}  {}: {}\n", thin.path, LeftText(thin.left), thin.left.problem);
  }
  if (census.names().size() > kNamesShown)
    fmt::print("and {} more; --json names them all\n", census.names().size() - kNamesShown);
  const uint64_t all = census.full() + census.thin();
  fmt::print("\n{} of {} objects have their full redundancy", census.full(), all);
  if (census.lost() > 0) fmt::print(", {} are lost", census.lost());
  if (census.away() > 0) fmt::print(", {} have archives on servers that do not answer", census.away());
  fmt::print("\n");
  if (!census.outside().empty())
    fmt::print("{} objects stand on the servers and in no listing; xec repair brings them back:\n",
               census.outside().size());
  for (size_t i = 0; i < census.outside().size() && i < kNamesShown; ++i)
    fmt::print("{}\n", census.outside()[i]);
  if (census.unlisted().empty()) return;
  fmt::print("{} directories cannot be listed now; what is below them was not counted:\n",
             census.unlisted().size());
  for (size_t i = 0; i < census.unlisted().size() && i < kNamesShown; ++i)
    fmt::print("{}  {}\n", census.unlisted()[i].directory, census.unlisted()[i].problem);
}

Json CensusJson(const Census& census) {
  Json geometries = Json::array();
  for (const Census::OfGeometry& of : census.geometries()) {
    Json levels = Json::array();
    for (auto level = of.survive.rbegin(); level != of.survive.rend(); ++level) {
      Json json = {{"objects", level->second.objects}, {"bytes", level->second.bytes}};
      if (level->first >= 0) {
        json["survives"] = level->first;
      } else {
        json["state"] = LevelName(level->first);
      }
      levels.push_back(std::move(json));
    }
    geometries.push_back({{"geometry", of.geometry.ToString()},
                          {"chunk_bytes", of.geometry.chunk_size_bytes},
                          {"full", of.geometry.parity_chunks},
                          {"levels", std::move(levels)}});
  }
  Json names = Json::array();
  for (const Census::Thin& thin : census.names()) {
    Json json = {{"path", thin.path},      {"bytes", thin.left.bytes}, {"survives", thin.left.survives},
                 {"away", thin.left.away}, {"lost", thin.left.Lost()}, {"problem", thin.left.problem}};
    names.push_back(std::move(json));
  }
  Json unlisted = Json::array();
  for (const Census::Unlisted& one : census.unlisted())
    unlisted.push_back({{"path", one.directory}, {"problem", one.problem}});
  return {{"objects", census.full() + census.thin()},
          {"bytes", census.total().bytes},
          {"full", census.full()},
          {"thin", census.thin()},
          {"away", census.away()},
          {"lost", census.lost()},
          {"geometries", std::move(geometries)},
          {"names", std::move(names)},
          {"outside", census.outside()},
          {"unlisted", std::move(unlisted)}};
}

int CensusExitCode(const Census& census) {
  if (census.lost() > 0) return kExitDamage;
  const bool whole = census.thin() == 0 && census.unlisted().empty() && census.outside().empty();
  return whole ? kExitOk : kExitRetry;
}

}  // namespace xec
