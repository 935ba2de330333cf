// SPDX-License-Identifier: LGPL-3.0-or-later
// xec server: the data servers of the store, and the replacement of one that is lost.
#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

Result<int> ListServers(const CommandLine& line, StoreMaintenance& store) {
  const std::vector<Member>& members = store.descriptor().members;
  Json json = Json::array();
  for (size_t i = 0; i < members.size(); ++i) {
    const std::string address = store.AddressOf(static_cast<MemberIndex>(i));
    if (line.json) {
      json.push_back({{"server", members[i].id}, {"address", address}, {"host", members[i].host}});
    } else {
      fmt::print("{:<8}{:<40}{}\n", members[i].id, address, members[i].host);
    }
  }
  if (line.json) PrintJson(json);
  return kExitOk;
}

// Until the names that the member had to know are known to its new disk.
Status Compare(const CommandLine& line, StoreMaintenance& store, MemberIndex member) {
  StatusLine status(line.quiet || line.json);
  return SyncWait(store.CompareDisk(member, [&](uint64_t names, const std::string& at) {
    status.Show([&] { return fmt::format("names: {} compared; {}", names, at); });
    return !Interrupted();
  }));
}

Result<int> Replace(const CommandLine& line, OpenedStore& opened, StoreMaintenance& store) {
  if (line.operands.size() != 2)
    return Fail(Code::kInvalidArgument, "say which one: xec server replace SERVER (see xec server list)");
  ReplaceOptions options{.server = line.operands[1], .with = line.with, .dry_run = line.dry_run};
  XEC_ASSIGN_OR_RETURN(const ReplacedServer replaced, SyncWait(store.ReplaceServer(std::move(options))));
  const std::string& id = store.descriptor().members[replaced.member].id;
  if (!line.json) {
    if (replaced.was_there) {
      fmt::print("{} is {}, and its disk is not empty: nothing is replaced\n", replaced.address, id);
    } else {
      fmt::print("{} {} the place of {}\n", replaced.address, line.dry_run ? "would take" : "takes", id);
    }
    std::fflush(stdout);
  }
  if (line.dry_run) return kExitOk;
  const Status compared = Compare(line, store, replaced.member);
  if (!compared && Interrupted()) return kExitInterrupted;
  if (!compared) return compared.error();
  if (!line.json) fmt::print("{} knows all names; what it lacks is written anew\n", id);
  CommandLine repair = line;
  repair.all = true;
  repair.operands.clear();
  return RunRepair(repair, opened);
}

}  // namespace

Result<int> RunServer(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  const std::string verb = line.operands.empty() ? "list" : line.operands[0];
  if (verb == "list") return ListServers(line, *maintenance);
  if (verb == "replace") return Replace(line, store, *maintenance);
  return Fail(Code::kInvalidArgument, "'{}': say list, or replace and which server", verb);
}

}  // namespace xec
