// SPDX-License-Identifier: LGPL-3.0-or-later
// health: how the data servers answer, whether they take writes, and what redundancy every object has left,
// asked by this process now.
#include "assembly/write_probe.hh"
#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/terminal.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

// A server that needs longer than this for a small request is no use now; commands wait for less.
constexpr Duration kPatience = std::chrono::seconds(1);
// Of what makes a file: a connection for data may have to be made first, and disks to be waited for.
constexpr Duration kWritePatience = std::chrono::seconds(5);
// Enough for a median.
constexpr int kProbes = 9;
// A server that answers, but slowly, is asked fewer times.
constexpr Duration kProbing = std::chrono::seconds(2);

struct Checked {
  std::optional<Space> space;
  std::optional<Error> problem;
  std::optional<TriedWrites> writes;  // nullopt: not known
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
  Result<TriedWrites> tried =
      co_await TryWrites(engine.executor(), engine.server(member), true, kWritePatience);
  if (tried) checked.writes = std::move(*tried);
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

// A server that denies this user to write may let a gateway, which runs as somebody else. Only where another
// server lets this user it says something about the server. True: it says nothing.
bool ForgetWhatTellsOfTheUser(std::vector<Checked>& all) {
  const auto denies = [](const Checked& one) {
    return one.writes && one.writes->refusal == WriteRefusal::kDenied;
  };
  const auto lets = [](const Checked& one) {
    return one.writes && (!one.writes->refusal || one.writes->refusal == WriteRefusal::kFull);
  };
  if (std::none_of(all.begin(), all.end(), denies) || std::any_of(all.begin(), all.end(), lets)) return false;
  for (Checked& one : all) {
    if (denies(one)) one.writes.reset();
  }
  return true;
}

double Millis(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// It answers, but takes no writes.
constexpr const char* kUnwritable = "unwritable";

struct Row {
  std::string id, address, host, state;
  double median_ms = 0, high_ms = 0;
  double since_s = 0;  // of states other than up
  std::optional<Space> space;
  std::string problem;

  bool Answers() const { return state == "up" || state == "slow" || state == kUnwritable; }
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
  if (up && checked.writes && checked.writes->refusal) {
    row.state = kUnwritable;
    row.problem = checked.writes->why;
  }
  return row;
}

Json ToJson(const Row& row) {
  Json json = {{"server", row.id}, {"address", row.address}, {"host", row.host}, {"state", row.state}};
  if (row.Answers()) {
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
  fmt::print("{:<{}}{:<{}}{:<11}{:>10}{:>10}{:>12}{:>12}  {}\n", "server", id, "address", address, "state",
             "median", "p95", "free", "of", "problem");
  for (const Row& row : rows) {
    const auto time = [&](double ms) {
      return row.Answers() ? fmt::format("{:.1f} ms", ms) : std::string("-");
    };
    fmt::print("{:<{}}{:<{}}{:<11}{:>10}{:>10}{:>12}{:>12}  {}\n", row.id, id, row.address, address,
               row.state, time(row.median_ms), time(row.high_ms),
               row.space ? FormatSize(row.space->free_bytes) : "-",
               row.space ? FormatSize(row.space->total_bytes) : "-", row.problem);
  }
}

}  // namespace

Result<int> RunHealth(const CommandLine& line, OpenedStore& store) {
  Engine* engine = store.engine();
  if (engine == nullptr) return Fail(Code::kNoQuorum, "the store is not open yet");
  std::vector<Checked> checked = SyncWait(CheckAll(*engine));
  const bool of_the_user = ForgetWhatTellsOfTheUser(checked);
  if (of_the_user && !line.quiet)
    fmt::print(
        stderr,
        "xec: no data server lets this user write; whether a gateway may, only its own user can find out\n");
  std::vector<Row> rows;
  size_t bad = 0, unwritable = 0;
  for (size_t i = 0; i < checked.size(); ++i) {
    rows.push_back(MakeRow(*engine, static_cast<MemberIndex>(i), checked[i]));
    if (!rows.back().Answers()) ++bad;
    if (rows.back().state == kUnwritable) ++unwritable;
  }
  if (!line.json) {
    PrintTable(rows);
    if (bad > 0) {
      fmt::print("\n{} of {} data servers do not answer; any {} may be away without loss\n", bad, rows.size(),
                 engine->descriptor().tolerance);
    }
    if (unwritable > 0) fmt::print("\n{} of {} data servers take no writes\n", unwritable, rows.size());
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
    Json all = {{"servers", std::move(servers)}, {"not_answering", bad}, {"unwritable", unwritable}};
    if (of_the_user) all["writes_unknown"] = true;
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
