// SPDX-License-Identifier: LGPL-3.0-or-later
// xec health: how the data servers answer and whether they take writes, what is under way, what redundancy
// every object has left, and what the loss of one more server would mean. Asked by this process now, or, for
// the redundancy, from the gateway's inventory.
#include <poll.h>
#include <unistd.h>

#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/health_report.hh"
#include "cli/inventory_census.hh"
#include "cli/owner.hh"
#include "cli/serve_setup.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// From the end of a round of --watch to the next one.
constexpr auto kWatchInterval = std::chrono::seconds(3);
constexpr auto kInterruptsLookedFor = std::chrono::milliseconds(50);

Result<RedundancyTold> CountNow(const CommandLine& line, StoreMaintenance& store) {
  RedundancyTold told;
  told.began_ms = WallNow();
  XEC_ASSIGN_OR_RETURN(Census census, CountObjects(line, store));
  told.census = std::make_shared<const Census>(std::move(census));
  told.ended_ms = WallNow();
  return told;
}

Result<RedundancyTold> FromInventory(InventoryCensus& inventory, const HealthReport& report) {
  // Root's own rights: the inventory is no file of the data directories' owner.
  const AsCaller caller;
  XEC_ASSIGN_OR_RETURN(const InventoryCount counted,
                       inventory.Count(report.store, report.AsTheyAre().silent));
  return RedundancyTold{.census = counted.census,
                        .began_ms = counted.walk.began_ms,
                        .ended_ms = counted.walk.ended_ms,
                        .inventory = inventory.file(),
                        .unlooked = counted.walk.unlisted + counted.walk.uncounted};
}

// Looks once and tells, below `heading`. Error: nothing can be told, or the user has had enough of a count.
Result<int> Look(const CommandLine& line, OpenedStore& store, InventoryCensus& inventory,
                 const std::string& heading) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  XEC_ASSIGN_OR_RETURN(ServersReport servers, SyncWait(maintenance->CheckServers()));
  HealthReport report{.store = maintenance->descriptor(),
                      .servers = std::move(servers),
                      .jobs = SyncWait(maintenance->LookAtJobs()),
                      .redundancy_wanted = !line.servers_only,
                      .redundancy = RedundancyTold()};
  if (report.servers.writes_unknown && !line.quiet) {
    fmt::print(
        stderr,
        "xec: no data server lets this user write; whether a gateway may, only its own user can find out\n");
  }
  if (!line.json) {
    fmt::print("{}", heading);
    PrintServersAndWork(report);
    std::fflush(stdout);
  }
  if (report.redundancy_wanted && line.last) report.redundancy = FromInventory(inventory, report);
  if (report.redundancy_wanted && !line.last) {
    report.redundancy = CountNow(line, *maintenance);
    if (!report.redundancy) return report.redundancy.error();
  }
  const bool known = report.redundancy_wanted && report.redundancy;
  report.outlooks = LookAhead(report.store, line.configuration, report.AsTheyAre(),
                              known ? report.redundancy->census.get() : nullptr);
  report.now_ms = WallNow();
  if (line.json) {
    PrintJson(HealthJson(report), line.watch ? -1 : 2);
  } else {
    PrintRedundancy(report);
  }
  return HealthExitCode(report);
}

void WaitForNextRound() {
  const auto until = std::chrono::steady_clock::now() + kWatchInterval;
  while (!Interrupted() && std::chrono::steady_clock::now() < until)
    poll(nullptr, 0, static_cast<int>(kInterruptsLookedFor.count()));
}

// On a terminal each round takes the place of the one before.
int Watch(const CommandLine& line, OpenedStore& store, InventoryCensus& inventory) {
  const char* const clear = isatty(STDOUT_FILENO) == 1 ? "\033[H\033[2J" : "\n";
  while (!Interrupted()) {
    const std::string heading = fmt::format("{}{} UTC\n", clear, FormatTime(WallNow()));
    const Result<int> looked = Look(line, store, inventory, heading);
    if (!looked && line.json) PrintJson({{"time_ms", WallNow()}, {"problem", looked.error().message}}, -1);
    if (!looked && !line.json) fmt::print("{}{}\n", heading, looked.error().message);
    std::fflush(stdout);
    WaitForNextRound();
  }
  return kExitInterrupted;
}

}  // namespace

Result<int> RunHealth(const CommandLine& line, OpenedStore& store) {
  InventoryCensus inventory([&] {
    const AsCaller caller;
    return InventoryFile(line.configuration);
  }());
  if (line.watch) return Watch(line, store, inventory);
  Result<int> looked = Look(line, store, inventory, "");
  if (!looked && Interrupted()) return kExitInterrupted;
  return looked;
}

}  // namespace xec
