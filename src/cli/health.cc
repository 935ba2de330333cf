// SPDX-License-Identifier: LGPL-3.0-or-later
// health: how the data servers answer, whether they take writes, and what redundancy every object has left,
// asked by this process now.
#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

double Millis(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

Json ToJson(const ServerReport& server) {
  Json json = {{"server", server.id},
               {"address", server.address},
               {"host", server.host},
               {"state", ServerReportStateName(server.state)}};
  if (server.Answers()) {
    json["median_ms"] = Millis(server.median);
    json["p95_ms"] = Millis(server.high);
  } else {
    json["for_s"] = Millis(server.since) / 1000;
  }
  if (server.space) {
    json["total_bytes"] = server.space->total_bytes;
    json["free_bytes"] = server.space->free_bytes;
  }
  if (!server.problem.empty()) json["problem"] = server.problem;
  return json;
}

void PrintTable(const std::vector<ServerReport>& servers) {
  size_t id = 8, address = 8;
  for (const ServerReport& server : servers) {
    id = std::max(id, server.id.size() + 2);
    address = std::max(address, server.address.size() + 2);
  }
  fmt::print("{:<{}}{:<{}}{:<11}{:>10}{:>10}{:>12}{:>12}  {}\n", "server", id, "address", address, "state",
             "median", "p95", "free", "of", "problem");
  for (const ServerReport& server : servers) {
    const auto time = [&](Duration latency) {
      return server.Answers() ? fmt::format("{:.1f} ms", Millis(latency)) : std::string("-");
    };
    fmt::print("{:<{}}{:<{}}{:<11}{:>10}{:>10}{:>12}{:>12}  {}\n", server.id, id, server.address, address,
               ServerReportStateName(server.state), time(server.median), time(server.high),
               server.space ? FormatSize(server.space->free_bytes) : "-",
               server.space ? FormatSize(server.space->total_bytes) : "-", server.problem);
  }
}

}  // namespace

Result<int> RunHealth(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  XEC_ASSIGN_OR_RETURN(const ServersReport report, SyncWait(maintenance->CheckServers()));
  if (report.writes_unknown && !line.quiet)
    fmt::print(
        stderr,
        "xec: no data server lets this user write; whether a gateway may, only its own user can find out\n");
  size_t bad = 0, unwritable = 0;
  for (const ServerReport& server : report.servers) {
    if (!server.Answers()) ++bad;
    if (server.state == ServerReport::State::kUnwritable) ++unwritable;
  }
  if (!line.json) {
    PrintTable(report.servers);
    if (bad > 0) {
      fmt::print("\n{} of {} data servers do not answer; any {} may be away without loss\n", bad,
                 report.servers.size(), maintenance->descriptor().tolerance);
    }
    if (unwritable > 0)
      fmt::print("\n{} of {} data servers take no writes\n", unwritable, report.servers.size());
    std::fflush(stdout);
  }
  std::optional<Census> census;
  if (!line.servers_only) {
    Result<Census> counted = CountObjects(line, *maintenance);
    if (!counted && Interrupted()) return kExitInterrupted;
    if (!counted) return counted.error();
    census = std::move(*counted);
  }
  if (line.json) {
    Json servers = Json::array();
    for (const ServerReport& server : report.servers) servers.push_back(ToJson(server));
    Json all = {{"servers", std::move(servers)}, {"not_answering", bad}, {"unwritable", unwritable}};
    if (report.writes_unknown) all["writes_unknown"] = true;
    if (census) all["census"] = CensusJson(*census);
    PrintJson(all);
  } else if (census) {
    fmt::print("\n");
    PrintCensus(*census);
  }
  const int code = census ? CensusExitCode(*census) : kExitOk;
  return code == kExitOk && bad + unwritable > 0 ? kExitRetry : code;
}

}  // namespace xec
