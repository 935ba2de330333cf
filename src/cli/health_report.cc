// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/health_report.hh"

#include <algorithm>

#include "assembly/maintenance/known_jobs.hh"
#include "base/units.hh"
#include "cli/census_report.hh"
#include "cli/exit_code.hh"
#include "cli/jobs_report.hh"
#include "cli/terminal.hh"
#include "placement/list_changes.hh"

namespace xec {
namespace {

double Millis(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

Json ServerJson(const ServerReport& server) {
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
  if (server.in_maintenance) json["maintenance"] = true;
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
               server.space ? FormatSize(server.space->total_bytes) : "-",
               server.in_maintenance ? "in maintenance" : server.problem);
  }
}

// What the members are for, of those that are not simply members; "" = there are none.
std::string MembersUnderWay(const StoreDescriptor& store) {
  std::string text;
  for (const Member& member : store.members) {
    if (member.role == MemberRole::kFull) continue;
    text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", member.id, MemberRoleName(member.role));
  }
  return text;
}

// One job of one gateway that is at work.
struct UnderWay {
  const ProcessRecord& process;
  const JobReport& job;
};
std::vector<UnderWay> JobsUnderWay(const JobsTold& told) {
  std::vector<UnderWay> jobs;
  for (const ProcessRecord& record : told.records) {
    if (!Runs(told, record)) continue;
    for (const JobReport& job : record.jobs) {
      if (job.state == JobState::kRunning) jobs.push_back({record, job});
    }
  }
  return jobs;
}

size_t CountRunning(const JobsTold& told) {
  return static_cast<size_t>(std::count_if(told.records.begin(), told.records.end(),
                                           [&](const ProcessRecord& record) { return Runs(told, record); }));
}

void PrintJobs(const HealthReport& report) {
  if (!report.jobs) {
    fmt::print("\nwhat the gateways do is not known: {}\n", report.jobs.error().message);
    return;
  }
  const JobsTold& told = *report.jobs;
  const size_t running = CountRunning(told);
  fmt::print("\n{} told of {} jobs in the last minute\n",
             running == 0 ? "no gateway" : fmt::format("{} gateway{}", running, running == 1 ? "" : "s"),
             running > 1 ? "their" : "its");
  for (const UnderWay& one : JobsUnderWay(told)) {
    const std::string progress = ProgressWords(one.job);
    fmt::print("  {} is at {}, since {} UTC{}{}\n", one.process.process, one.job.name,
               FormatTime(one.job.since_ms), progress.empty() ? "" : ": ", progress);
  }
  for (const std::string& job : told.orders.Paused())
    fmt::print("  {} is PAUSED, since {} UTC\n", job, FormatTime(told.orders.Of(job).since_ms));
}

void PrintMembers(const HealthReport& report) {
  const Status settled = NeedSettled(report.store);
  const std::string members = MembersUnderWay(report.store);
  if (settled && members.empty()) return;
  fmt::print("\n");
  if (!settled) fmt::print("the members change: {}\n", settled.error().message);
  if (!members.empty()) fmt::print("{}\n", members);
}

// Servers for which the same holds.
struct Alike {
  std::vector<std::string> servers;
  Outlook outlook;
};

// The worst first.
std::vector<Alike> Grouped(const HealthReport& report) {
  std::vector<Alike> groups;
  for (const Outlook& outlook : report.outlooks) {
    if (!outlook.server) continue;
    Outlook of_any = outlook;
    of_any.server.reset();
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Alike& known) { return known.outlook == of_any; });
    if (group == groups.end()) group = groups.insert(group, {{}, of_any});
    group->servers.push_back(report.store.members[*outlook.server].id);
  }
  const auto badness = [](const Outlook& outlook) {
    return std::tuple(outlook.unreadable.value_or(Census::Count()).objects, !outlook.decidable, outlook.puts);
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Alike& a, const Alike& b) { return badness(a.outlook) > badness(b.outlook); });
  return groups;
}

// Of many servers only how many they are.
constexpr size_t kServersNamed = 4;
constexpr size_t kGroupsShown = 20;

std::string GroupText(const Alike& group, bool all) {
  if (group.servers.size() > kServersNamed)
    return fmt::format("any of {}{}", group.servers.size(), all ? "" : " others");
  std::string text;
  for (const std::string& server : group.servers) text += (text.empty() ? "" : " ") + server;
  return text;
}

std::string UnreadableText(const Outlook& outlook) {
  if (!outlook.unreadable) return "not known";
  if (outlook.unreadable->objects == 0) return "none";
  return fmt::format("{} ({})", outlook.unreadable->objects, FormatSize(outlook.unreadable->bytes));
}

void PrintOutlooks(const HealthReport& report) {
  if (report.outlooks.empty()) return;
  const auto row = [](const std::string& what, const char* names, const char* puts, const std::string& lost) {
    fmt::print("{:<24}{:<17}{:<21}{}\n", what, names, puts, lost);
  };
  const auto names = [](const Outlook& outlook) { return outlook.decidable ? "all" : "not all"; };
  fmt::print("\n");
  row("if the next to die is", "names decided", "objects can be put", "objects unreadable by it");
  const Outlook& now = report.outlooks.front();
  row("(none, as it is now)", names(now), PutsWords(now.puts), "-");
  const std::vector<Alike> groups = Grouped(report);
  for (size_t i = 0; i < groups.size() && i < kGroupsShown; ++i) {
    const Outlook& outlook = groups[i].outlook;
    row(GroupText(groups[i], groups.size() == 1), names(outlook), PutsWords(outlook.puts),
        UnreadableText(outlook));
  }
  if (groups.size() > kGroupsShown)
    fmt::print("and {} less bad cases; --json has them all\n", groups.size() - kGroupsShown);
}

Json OutlookJson(const HealthReport& report, const Outlook& outlook) {
  Json json = Json::object();
  if (outlook.server) json["server"] = report.store.members[*outlook.server].id;
  json["names_decided"] = outlook.decidable;
  json["put"] = PutsWords(outlook.puts);
  if (outlook.server && outlook.unreadable) {
    json["unreadable_objects"] = outlook.unreadable->objects;
    json["unreadable_bytes"] = outlook.unreadable->bytes;
  }
  return json;
}

Json JobsJson(const JobsTold& told) {
  Json under_way = Json::array();
  for (const UnderWay& one : JobsUnderWay(told)) {
    Json json = {{"gateway", one.process.process}};
    json.update(JobJson(one.job));
    under_way.push_back(std::move(json));
  }
  return {{"gateways", CountRunning(told)},
          {"under_way", std::move(under_way)},
          {"paused", told.orders.Paused()}};
}

Json MembersJson(const StoreDescriptor& store) {
  Json roles = Json::object();
  for (const Member& member : store.members) {
    if (member.role != MemberRole::kFull) roles[member.id] = MemberRoleName(member.role);
  }
  const Status settled = NeedSettled(store);
  Json json = {{"epoch", store.epoch}, {"changing", !settled}, {"not_full", std::move(roles)}};
  if (!settled) json["what"] = settled.error().message;
  return json;
}

Json RedundancyJson(const HealthReport& report) {
  const RedundancyTold& told = *report.redundancy;
  Json json = {{"age_s", std::max<int64_t>(0, report.now_ms - told.began_ms) / 1000},
               {"began_ms", told.began_ms},
               {"ended_ms", told.ended_ms}};
  if (!told.inventory.empty()) {
    json["inventory"] = told.inventory;
    json["not_looked_at"] = told.unlooked;
  }
  json.update(CensusJson(*told.census));
  return json;
}

}  // namespace

ServersAsTheyAre HealthReport::AsTheyAre() const {
  ServersAsTheyAre as;
  for (size_t i = 0; i < servers.servers.size(); ++i) {
    const ServerReport& server = servers.servers[i];
    if (!server.Answers()) as.silent.insert(static_cast<MemberIndex>(i));
    if (server.state == ServerReport::State::kUnwritable) as.unwritable.insert(static_cast<MemberIndex>(i));
  }
  return as;
}

void PrintServersAndWork(const HealthReport& report) {
  const ServersAsTheyAre as = report.AsTheyAre();
  const size_t count = report.servers.servers.size();
  PrintTable(report.servers.servers);
  if (!as.silent.empty()) {
    fmt::print("\n{} of {} data servers do not answer; any {} may be away without loss\n", as.silent.size(),
               count, report.store.tolerance);
  }
  if (!as.unwritable.empty())
    fmt::print("\n{} of {} data servers take no writes\n", as.unwritable.size(), count);
  PrintMembers(report);
  PrintJobs(report);
}

void PrintRedundancy(const HealthReport& report) {
  if (report.redundancy_wanted && !report.redundancy) {
    fmt::print(
        "\nthe redundancy of the objects is not known: {}; without --last and --watch they are counted\n",
        report.redundancy.error().message);
  } else if (report.redundancy_wanted) {
    const RedundancyTold& told = *report.redundancy;
    fmt::print("\ncensus {}, {} old (from {} to {} UTC)\n",
               told.inventory.empty() ? "counted now" : "by the inventory " + told.inventory,
               FormatAge(report.now_ms - told.began_ms), FormatTime(told.began_ms),
               FormatTime(told.ended_ms));
    if (told.unlooked > 0)
      fmt::print("{} objects and directories could not be looked at for it\n", told.unlooked);
    PrintCensus(*told.census);
  }
  PrintOutlooks(report);
}

Json HealthJson(const HealthReport& report) {
  const ServersAsTheyAre as = report.AsTheyAre();
  Json servers = Json::array(), if_lost = Json::array();
  for (const ServerReport& server : report.servers.servers) servers.push_back(ServerJson(server));
  Json json = {{"servers", std::move(servers)},
               {"not_answering", as.silent.size()},
               {"unwritable", as.unwritable.size()}};
  if (report.servers.writes_unknown) json["writes_unknown"] = true;
  json["members"] = MembersJson(report.store);
  if (report.jobs) {
    json["jobs"] = JobsJson(*report.jobs);
  } else {
    json["jobs_unknown"] = report.jobs.error().message;
  }
  if (report.redundancy_wanted && report.redundancy) json["census"] = RedundancyJson(report);
  if (report.redundancy_wanted && !report.redundancy)
    json["census_unknown"] = report.redundancy.error().message;
  for (const Outlook& outlook : report.outlooks) {
    if (outlook.server) {
      if_lost.push_back(OutlookJson(report, outlook));
    } else {
      json["now"] = OutlookJson(report, outlook);
    }
  }
  json["if_lost"] = std::move(if_lost);
  json["time_ms"] = report.now_ms;
  return json;
}

int HealthExitCode(const HealthReport& report) {
  bool well = true;
  for (const ServerReport& server : report.servers.servers) {
    if (server.Answers() && server.state != ServerReport::State::kUnwritable) continue;
    well = well && server.in_maintenance;
  }
  int code = kExitOk;
  if (report.redundancy_wanted && report.redundancy) {
    const Census& census = *report.redundancy->census;
    code = CensusExitCode(census);
    // Nothing is wrong but that servers in maintenance do not answer.
    const bool expected =
        well && census.thin() == census.away() && census.unlisted().empty() && census.outside().empty();
    if (code == kExitRetry && expected) code = kExitOk;
    well = well && report.redundancy->unlooked == 0;
  }
  if (report.redundancy_wanted && !report.redundancy) code = kExitRetry;
  return code == kExitOk && !well ? kExitRetry : code;
}

}  // namespace xec
