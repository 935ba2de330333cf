// SPDX-License-Identifier: LGPL-3.0-or-later
// xec plan: which losses of servers and hosts a store survives, one that exists or one that is described.
#include "assembly/sites/sites.hh"
#include "base/units.hh"
#include "cli/commands.hh"
#include "cli/json_output.hh"
#include "placement/survival.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// So many further servers are looked at.
constexpr size_t kMoreServers[] = {1, 2, 4};

// Servers and hosts that are lost at once, and what is left then, in the worst case.
struct Row {
  Loss loss;
  StoreRemains left;
  double unreadable = 0, undecidable = 0;  // shares of the objects and names

  bool Readable() const { return left.readable && left.decidable; }
};

// Objects of one geometry.
struct Plan {
  std::string below;  // the directory of a rule, or "/"
  PlannedObjects objects;
  Survival survival;
  std::vector<Row> rows;
  std::vector<CrowdedHost> crowded;
};

// Bytes of all data servers, where that is known.
using Capacity = std::optional<uint64_t>;

size_t CountInUse(const StoreDescriptor& store) {
  return static_cast<size_t>(std::count_if(store.members.begin(), store.members.end(),
                                           [](const Member& one) { return !IsBeingEmptied(one.role); }));
}

bool HostsMatter(const StoreDescriptor& store) { return CountHosts(store) < CountInUse(store); }

class Planner {
 public:
  Planner(const StoreDescriptor& store, PlannedObjects objects)
      : store_(store), objects_(objects), sample_(store, objects.geometry) {}

  // Ever more servers, then ever more hosts with ever more servers, until nothing holds any more.
  std::vector<Row> Rows() const {
    std::vector<Row> rows;
    AddServers(rows, 0, 1);
    if (!HostsMatter(store_)) return rows;
    for (size_t hosts = 1; hosts <= CountHosts(store_); ++hosts) {
      if (!AddServers(rows, hosts, 0)) break;
    }
    return rows;
  }

 private:
  // False: not even the first of them leaves anything.
  bool AddServers(std::vector<Row>& rows, size_t hosts, size_t servers) const {
    const size_t first = rows.size();
    for (; WorstLoss(store_, {hosts, servers}).size() < CountInUse(store_); ++servers) {
      rows.push_back(RowOf({hosts, servers}));
      if (!rows.back().Readable() && !rows.back().left.writable) break;
    }
    return rows.size() > first + 1;
  }

  Row RowOf(Loss loss) const {
    const std::vector<MemberIndex> lost = WorstLoss(store_, loss);
    Row row{loss, WhatIsLeft(store_, objects_, lost), sample_.Unreadable(lost), sample_.Undecidable(lost)};
    // Without most members no list is in force, whatever homes are there.
    if (store_.members.size() - lost.size() < Quorum(store_.members.size())) row.undecidable = 1;
    return row;
  }

  const StoreDescriptor& store_;
  const PlannedObjects objects_;
  const PlacedSample sample_;
};

Plan PlanOf(const StoreDescriptor& store, const Configuration& configuration, std::string below,
            const Geometry& geometry) {
  const PlannedObjects objects{geometry, configuration.ArchivesMin(geometry)};
  return {std::move(below), objects, SurvivalOf(store, objects), Planner(store, objects).Rows(),
          CrowdedHosts(store, geometry)};
}

std::vector<Plan> Plans(const StoreDescriptor& store, const Configuration& configuration) {
  std::vector<Plan> plans = {PlanOf(store, configuration, "/", store.geometry)};
  for (const PathRule& rule : store.rules)
    plans.push_back(PlanOf(store, configuration, rule.prefix, rule.geometry));
  return plans;
}

std::string Counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string LossText(Loss loss) {
  if (loss.hosts == 0) return "any " + Counted(loss.servers, "server");
  const std::string hosts = "any " + Counted(loss.hosts, "host");
  return loss.servers == 0 ? hosts : fmt::format("{} and {}", hosts, Counted(loss.servers, "server"));
}

// A share that is not nothing is never told as 0 %.
std::string ShareText(double share) {
  return share > 0 && share < 0.001 ? "< 0.1 %" : fmt::format("{:.1f} %", 100 * share);
}

std::string AllBut(bool all, double share) { return all ? "all" : "all but " + ShareText(share); }

std::string PutText(const Plan& plan, const Row& row) {
  const StoreRemains& left = row.left;
  const size_t total = plan.objects.geometry.Total();
  if (left.archives < plan.objects.archives_min)
    return fmt::format("none: {} of {} archives", left.archives, total);
  const std::string which = AllBut(left.decidable, row.undecidable);
  return left.archives == total ? which
                                : fmt::format("{}, with {} of {} archives", which, left.archives, total);
}

std::string ToleratedText(size_t servers, size_t hosts, bool hosts_matter) {
  const std::string text = servers == 0 ? "no server" : "any " + Counted(servers, "server");
  if (!hosts_matter) return text;
  return text + (hosts == 0 ? ", and no whole host" : ", or any " + Counted(hosts, "host"));
}

// The first row of servers at which something is lost, in a sentence.
std::string FirstLost(const Plan& plan) {
  for (const Row& row : plan.rows) {
    if (row.left.full && row.Readable()) continue;
    std::vector<std::string> lost;
    if (!row.left.readable)
      lost.push_back(fmt::format("{} of the objects have too few chunks left", ShareText(row.unreadable)));
    if (!row.left.decidable)
      lost.push_back(fmt::format("{} of the names cannot be decided", ShareText(row.undecidable)));
    if (lost.empty()) {
      lost.push_back(row.left.writable ? "new objects lack redundancy, which is made up for later"
                                       : "nothing can be put");
    }
    std::string text = fmt::format("first lost: with {} away ", LossText(row.loss));
    for (size_t i = 0; i < lost.size(); ++i) text += (i > 0 ? ", and " : "") + lost[i];
    return text;
  }
  return "first lost: everything at once, with the last server";
}

void PrintCapacity(const Plan& plan, const Capacity& capacity) {
  const Geometry& geometry = plan.objects.geometry;
  fmt::print("space: {:.1f} % of it is for data, {:.2f} bytes for each",
             100.0 * geometry.data_chunks / geometry.Total(),
             static_cast<double>(geometry.Total()) / geometry.data_chunks);
  if (capacity) {
    fmt::print("; {} of {}", FormatSize(*capacity / geometry.Total() * geometry.data_chunks),
               FormatSize(*capacity));
  }
  fmt::print("\n");
}

void PrintLosses(const Plan& plan) {
  fmt::print("\n{:<28}{:<13}{:<18}{:<18}{}\n", "lost at once", "chunks lost", "readable", "names decided",
             "can be put");
  for (const Row& row : plan.rows) {
    fmt::print("{:<28}{:<13}{:<18}{:<18}{}\n", LossText(row.loss),
               fmt::format("{} of {}", row.left.chunks_lost, plan.objects.geometry.Total()),
               AllBut(row.left.readable, row.unreadable), AllBut(row.left.decidable, row.undecidable),
               PutText(plan, row));
  }
}

// Each on a host of its own.
void PrintMore(const StoreDescriptor& store, const Plan& plan) {
  fmt::print("\n{:<29}{}\n", "", "servers that may be lost      hosts that may be lost");
  fmt::print("{:<29}{:<6}{:<7}{:<5}{:<12}{:<6}{:<7}{:<5}{}\n", "with more servers", "read", "names", "put",
             "in full", "read", "names", "put", "in full");
  for (const size_t more : kMoreServers) {
    const StoreDescriptor larger = WithMore(store, more);
    const auto [servers, hosts] = SurvivalOf(larger, plan.objects);
    fmt::print("{:<29}{:<6}{:<7}{:<5}{:<12}{:<6}{:<7}{:<5}{}\n",
               fmt::format("+{}: {} on {}", more, Counted(CountInUse(larger), "server"),
                           Counted(CountHosts(larger), "host")),
               servers.read, servers.names, servers.write, servers.full, hosts.read, hosts.names, hosts.write,
               hosts.full);
  }
}

void PrintPlan(const StoreDescriptor& store, const Plan& plan, const Capacity& capacity) {
  const auto& [servers, hosts] = plan.survival;
  const bool hosts_matter = HostsMatter(store);
  const Geometry& geometry = plan.objects.geometry;
  fmt::print("\nobjects below {}: {}, chunks of {}\n", plan.below, geometry.ToString(),
             FormatSize(geometry.chunk_size_bytes));
  PrintCapacity(plan, capacity);
  const auto print = [&](const char* what, size_t of_servers, size_t of_hosts) {
    fmt::print("{:<40}{}\n", what, ToleratedText(of_servers, of_hosts, hosts_matter));
  };
  print("everything can be read without", servers.read, hosts.read);
  print("every name can be decided without", servers.names, hosts.names);
  print("everything can be put without", servers.write, hosts.write);
  print("... with its full redundancy without", servers.full, hosts.full);
  fmt::print("{}\n", FirstLost(plan));
  for (const CrowdedHost& host : plan.crowded) {
    fmt::print("{}, with {}, may get {} chunks of an object, and this one survives the loss of {}\n",
               host.host, Counted(host.servers, "server"), host.chunks, geometry.parity_chunks);
  }
  if (hosts.read == 0 && hosts_matter) {
    fmt::print(
        "a host could be lost if none had more than {} (names), and enough hosts were there (chunks)\n",
        Counted(HomeFinder(store).late_max(), "server"));
  }
  PrintLosses(plan);
  PrintMore(store, plan);
}

Json ToJson(const Tolerated& tolerated) {
  return {{"read", tolerated.read},
          {"names", tolerated.names},
          {"write", tolerated.write},
          {"write_full", tolerated.full}};
}

Json ToJson(const Row& row) {
  return {{"servers", row.loss.servers},          {"hosts", row.loss.hosts},
          {"chunks_lost", row.left.chunks_lost},  {"readable", row.left.readable},
          {"unreadable_share", row.unreadable},   {"decidable", row.left.decidable},
          {"undecidable_share", row.undecidable}, {"archives_of_new", row.left.archives},
          {"writable", row.left.writable},        {"write_full", row.left.full}};
}

Json ToJson(const StoreDescriptor& store, const Plan& plan) {
  Json losses = Json::array(), crowded = Json::array(), more = Json::array();
  for (const Row& row : plan.rows) losses.push_back(ToJson(row));
  for (const CrowdedHost& host : plan.crowded)
    crowded.push_back({{"host", host.host}, {"servers", host.servers}, {"chunks", host.chunks}});
  for (const size_t count : kMoreServers) {
    const StoreDescriptor larger = WithMore(store, count);
    const Survival survival = SurvivalOf(larger, plan.objects);
    more.push_back({{"more", count},
                    {"servers", CountInUse(larger)},
                    {"hosts", CountHosts(larger)},
                    {"servers_lost", ToJson(survival.servers)},
                    {"hosts_lost", ToJson(survival.hosts)}});
  }
  const Geometry& geometry = plan.objects.geometry;
  return {{"below", plan.below},
          {"geometry", geometry.ToString()},
          {"chunk_bytes", geometry.chunk_size_bytes},
          {"net_share", static_cast<double>(geometry.data_chunks) / geometry.Total()},
          {"servers_lost", ToJson(plan.survival.servers)},
          {"hosts_lost", ToJson(plan.survival.hosts)},
          {"first_lost", FirstLost(plan)},
          {"crowded_hosts", std::move(crowded)},
          {"losses", std::move(losses)},
          {"more_servers", std::move(more)}};
}

int Tell(const CommandLine& line, const StoreDescriptor& store, const Capacity& capacity) {
  const std::vector<Plan> plans = Plans(store, line.configuration);
  const size_t homes = HomeFinder(store).AfterChange("").size();
  if (line.json) {
    Json objects = Json::array();
    for (const Plan& plan : plans) objects.push_back(ToJson(store, plan));
    Json json = {{"servers", CountInUse(store)},
                 {"hosts", CountHosts(store)},
                 {"tolerance", store.tolerance},
                 {"homes", homes},
                 {"quorum", Quorum(homes)}};
    if (capacity) json["gross_bytes"] = *capacity;
    json["objects"] = std::move(objects);
    PrintJson(json);
    return kExitOk;
  }
  fmt::print("{} on {}; {} of the {} of a name decide it\n", Counted(CountInUse(store), "data server"),
             Counted(CountHosts(store), "host"), Quorum(homes), Counted(homes, "home"));
  for (const Plan& plan : plans) PrintPlan(store, plan, capacity);
  return kExitOk;
}

}  // namespace

Result<int> RunPlan(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  Capacity capacity;
  if (const Result<StoreSpace> space = SyncWait(store.store().Space())) capacity = space->raw_total_bytes;
  return Tell(line, maintenance->descriptor(), capacity);
}

Result<int> RunPlanDescribed(const CommandLine& line) {
  const Configuration& configuration = line.configuration;
  const size_t servers = *line.planned_servers, hosts = line.planned_hosts.value_or(servers);
  if (hosts > servers)
    return Fail(Code::kInvalidArgument, "--hosts: {} servers cannot be on {} hosts", servers, hosts);
  std::vector<SiteView> views(servers);
  for (size_t i = 0; i < servers; ++i)
    views[i].site = {fmt::format("server {}", i + 1), fmt::format("host {}", i % hosts + 1)};
  XEC_ASSIGN_OR_RETURN(const StoreDescriptor store,
                       NewDescriptor(views, configuration, std::string(32, '0')));
  Capacity capacity;
  if (line.capacity_bytes) capacity = *line.capacity_bytes * servers;
  return Tell(line, store, capacity);
}

}  // namespace xec
