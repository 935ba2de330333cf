// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/check_servers.hh"

#include <algorithm>

#include "assembly/servers/write_probe.hh"
#include "commit/engine/server_gather.hh"

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

ServerReport ReportOf(const Engine& engine, MemberIndex member, const Checked& checked) {
  const TimePoint now = engine.executor().Now();
  const ServerHealth::Report health = engine.health().ReportOf(member, now);
  const Member& described = engine.descriptor().members[member];
  ServerReport report;
  report.id = described.id;
  report.address = engine.server(member)->name();
  report.host = described.host;
  report.space = checked.space;
  report.in_maintenance = engine.InMaintenance(member);
  using State = ServerReport::State;
  switch (health.standing.state) {
    case ServerState::kUp: report.state = health.slow ? State::kSlow : State::kUp; break;
    case ServerState::kSuspect: report.state = State::kSuspect; break;
    case ServerState::kDown: report.state = State::kDown; break;
  }
  const bool up = health.standing.state == ServerState::kUp;
  if (!up) report.since = now - health.standing.since;
  const auto& latency = health.latencies[static_cast<size_t>(RequestKind::kMetadata)];
  report.median = latency.median;
  report.high = latency.high;
  if (checked.problem) report.problem = checked.problem->message;
  if (up && checked.writes && checked.writes->refusal) {
    report.state = State::kUnwritable;
    report.problem = checked.writes->why;
  }
  return report;
}

}  // namespace

const char* ServerReportStateName(ServerReport::State state) {
  switch (state) {
    case ServerReport::State::kUp: return "up";
    case ServerReport::State::kSlow: return "slow";
    case ServerReport::State::kUnwritable: return "unwritable";
    case ServerReport::State::kSuspect: return "suspect";
    case ServerReport::State::kDown: return "down";
  }
  return "";
}

Task<Result<ServersReport>> CheckServers(Engine& engine) {
  std::vector<Checked> checked = co_await CheckAll(engine);
  ServersReport report;
  report.writes_unknown = ForgetWhatTellsOfTheUser(checked);
  for (size_t i = 0; i < checked.size(); ++i)
    report.servers.push_back(ReportOf(engine, static_cast<MemberIndex>(i), checked[i]));
  co_return std::move(report);
}

}  // namespace xec
