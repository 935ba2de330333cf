// SPDX-License-Identifier: LGPL-3.0-or-later
// health: how the data servers answer, and what redundancy every object has left, asked by this process now.
#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/terminal.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

// A server that needs longer than this for a small request is no use now; commands wait for less.
constexpr Duration kPatience = std::chrono::seconds(1);
// Enough for a median.
constexpr int kProbes = 9;
// A server that answers, but slowly, is asked fewer times.
constexpr Duration kProbing = std::chrono::seconds(2);

struct Checked {
  std::optional<Space> space;
  std::optional<Error> problem;
};

// Asks one server for small things, one after another.
Task<Checked> Check(Engine& engine, MemberIndex member) {
  const auto call = [&engine] {
    return CallContext{&engine.executor(), engine.executor().Now() + kPatience};
  };
  const TimePoint start = engine.executor().Now();
  Checked checked;
  for (int i = 0; i < kProbes && !checked.problem && engine.executor().Now() - start < kProbing; ++i) {
    const Result<std::vector<Entry>> listed = co_await List(call(), engine.server(member), "/.xec");
    if (!listed && EndOf(listed.code()) != RequestEnd::kAnswered) checked.problem = listed.error();
  }
  if (checked.problem) co_return std::move(checked);
  Result<Space> space = co_await GetSpace(call(), engine.server(member));
  if (space) checked.space = std::move(*space);
  co_return std::move(checked);
}

Task<std::vector<Checked>> CheckAll(Engine& engine) {
  std::vector<Checked> all(engine.server_count());
  Gather<Checked> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < all.size(); ++i) gather.Start(i, Check(engine, static_cast<MemberIndex>(i)));
  while (gather.pending() > 0) {
    auto event = co_await gather.Next();
    all[event.tag] = std::move(*event.value);
  }
  co_return std::move(all);
}

double Millis(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

struct Row {
  std::string id, address, host, state;
  double median_ms = 0, high_ms = 0;
  double since_s = 0;  // of states other than up
  std::optional<Space> space;
  std::string problem;
};

Row MakeRow(const Engine& engine, MemberIndex member, const Checked& checked) {
  const TimePoint now = engine.executor().Now();
  const ServerHealth::Report report = engine.health().ReportOf(member, now);
  const Member& described = engine.descriptor().members[member];
  Row row{described.id, engine.server(member)->name(), described.host, {}, 0, 0, 0, checked.space, {}};
  const bool up = report.standing.state == ServerState::kUp;
  row.state = up && report.slow ? "slow" : ServerStateName(report.standing.state);
  if (!up) row.since_s = Millis(now - report.standing.since) / 1000;
  const auto& latency = report.latencies[static_cast<size_t>(RequestKind::kMetadata)];
  row.median_ms = Millis(latency.median);
  row.high_ms = Millis(latency.high);
  if (checked.problem) row.problem = checked.problem->message;
  return row;
}

Json ToJson(const Row& row) {
  Json json = {{"server", row.id}, {"address", row.address}, {"host", row.host}, {"state", row.state}};
  if (row.state == "up" || row.state == "slow") {
    json["median_ms"] = row.median_ms;
    json["p95_ms"] = row.high_ms;
  } else {
    json["for_s"] = row.since_s;
  }
  if (row.space) {
    json["total_bytes"] = row.space->total_bytes;
    json["free_bytes"] = row.space->free_bytes;
  }
  if (!row.problem.empty()) json["problem"] = row.problem;
  return json;
}

void PrintTable(const std::vector<Row>& rows) {
  size_t id = 8, address = 8;
  for (const Row& row : rows) {
    id = std::max(id, row.id.size() + 2);
    address = std::max(address, row.address.size() + 2);
  }
  fmt::print("{:<{}}{:<{}}{:<9}{:>10}{:>10}{:>12}{:>12}  {}\n", "server", id, "address", address, "state",
             "median", "p95", "free", "of", "problem");
  for (const Row& row : rows) {
    const bool answers = row.state == "up" || row.state == "slow";
    const auto time = [&](double ms) { return answers ? fmt::format("{:.1f} ms", ms) : std::string("-"); };
    fmt::print("{:<{}}{:<{}}{:<9}{:>10}{:>10}{:>12}{:>12}  {}\n", row.id, id, row.address, address, row.state,
               time(row.median_ms), time(row.high_ms), row.space ? FormatSize(row.space->free_bytes) : "-",
               row.space ? FormatSize(row.space->total_bytes) : "-", row.problem);
  }
}

}  // namespace

Result<int> RunHealth(const CommandLine& line, OpenedStore& store) {
  Engine* engine = store.engine();
  if (engine == nullptr) return Fail(Code::kNoQuorum, "the store is not open yet");
  const std::vector<Checked> checked = SyncWait(CheckAll(*engine));
  std::vector<Row> rows;
  size_t bad = 0;
  for (size_t i = 0; i < checked.size(); ++i) {
    rows.push_back(MakeRow(*engine, static_cast<MemberIndex>(i), checked[i]));
    if (rows.back().state != "up" && rows.back().state != "slow") ++bad;
  }
  if (!line.json) {
    PrintTable(rows);
    if (bad > 0) {
      fmt::print("\n{} of {} data servers do not answer; any {} may be away without loss\n", bad, rows.size(),
                 engine->descriptor().tolerance);
    }
    std::fflush(stdout);
  }
  std::optional<Census> census;
  if (!line.servers_only) {
    Result<Census> counted = CountObjects(line, store, *engine);
    if (!counted && Interrupted()) return kExitInterrupted;
    if (!counted) return counted.error();
    census = std::move(*counted);
  }
  if (line.json) {
    Json servers = Json::array();
    for (const Row& row : rows) servers.push_back(ToJson(row));
    Json all = {{"servers", std::move(servers)}, {"not_answering", bad}};
    if (census) all["census"] = CensusJson(*census);
    PrintJson(all);
  } else if (census) {
    fmt::print("\n");
    PrintCensus(*census);
  }
  const int code = census ? CensusExitCode(*census) : kExitOk;
  return code == kExitOk && bad > 0 ? kExitRetry : code;
}

}  // namespace xec
