// SPDX-License-Identifier: LGPL-3.0-or-later
// xec server: the data servers of the store, changes of their list, and the replacement of one that is lost.
#include "assembly/configuration/options.hh"
#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/terminal.hh"
#include "placement/list_changes.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

Result<int> ListServers(const CommandLine& line, StoreMaintenance& store) {
  const std::vector<Member>& members = store.descriptor().members;
  Json json = Json::array();
  for (size_t i = 0; i < members.size(); ++i) {
    const std::string address = store.AddressOf(static_cast<MemberIndex>(i));
    const char* const role = MemberRoleName(members[i].role);
    if (line.json) {
      json.push_back(
          {{"server", members[i].id}, {"address", address}, {"host", members[i].host}, {"role", role}});
    } else {
      fmt::print("{:<8}{:<10}{:<40}{}\n", members[i].id, role, address, members[i].host);
    }
  }
  if (line.json) {
    PrintJson({{"epoch", store.descriptor().epoch}, {"members", std::move(json)}});
  } else {
    const Status settled = NeedSettled(store.descriptor());
    fmt::print("list {}{}\n", store.descriptor().epoch, settled ? "" : ": " + settled.error().message);
  }
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

// Until every gateway goes by the new list and nothing is left of the old one.
Status CarryOut(const CommandLine& line, OpenedStore& opened) {
  StatusLine status(line.quiet || line.json);
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const store, opened.maintenance());
  return SyncWait(store->CarryOutChange([&](uint64_t names, const std::string& at) {
    status.Show([&] { return names > 0 ? fmt::format("{} names; {}", names, at) : at; });
    return !Interrupted();
  }));
}

void Say(const CommandLine& line, const std::string& text) {
  if (line.json || line.quiet) return;
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

// kExitInterrupted where the user ended the wait; gateways go on.
Result<int> Change(const CommandLine& line, OpenedStore& opened, ChangeOptions options, std::string done) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const store, opened.maintenance());
  const bool follows = options.kind != ChangeOptions::kEmpty && options.kind != ChangeOptions::kRemove;
  options.dry_run = line.dry_run;
  XEC_ASSIGN_OR_RETURN(const std::string id, SyncWait(store->ChangeServers(std::move(options))));
  if (line.dry_run) {
    Say(line, fmt::format("nothing stands in the way{}", id.empty() ? "" : ": " + id));
    return kExitOk;
  }
  if (follows) {
    const Status carried = CarryOut(line, opened);
    if (!carried && Interrupted()) return kExitInterrupted;
    if (!carried) return carried.error();
  }
  if (line.json) PrintJson({{"server", id}});
  Say(line, fmt::format("{}{}{}", id, id.empty() ? "" : " ", done));
  return kExitOk;
}

ChangeOptions Options(ChangeOptions::Kind kind, std::string server) {
  ChangeOptions options;
  options.kind = kind;
  options.server = std::move(server);
  return options;
}

Result<int> Add(const CommandLine& line, OpenedStore& opened) {
  XEC_ASSIGN_OR_RETURN(Site site, ParseSite(line.operands[1]));
  ChangeOptions options;
  options.place = std::move(site.address);
  options.host = std::move(site.host);
  return Change(line, opened, std::move(options), "is a member, and home of names");
}

// Names first, then archives.
Result<int> Drain(const CommandLine& line, OpenedStore& opened) {
  const std::string& server = line.operands[1];
  XEC_ASSIGN_OR_RETURN(const int left, Change(line, opened, Options(ChangeOptions::kDrain, server),
                                              "is home of no name any more"));
  if (left != kExitOk || line.dry_run) return left;
  CommandLine repair = line;
  repair.all = repair.lost = true;
  repair.operands.clear();
  XEC_ASSIGN_OR_RETURN(const int moved, RunRepair(repair, opened));
  if (moved != kExitOk) return moved;
  return Change(line, opened, Options(ChangeOptions::kEmpty, server),
                "is empty: xec server remove takes it off");
}

Result<int> Replace(const CommandLine& line, OpenedStore& opened, StoreMaintenance& store) {
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
  repair.all = repair.lost = true;
  repair.operands.clear();
  return RunRepair(repair, opened);
}

}  // namespace

Result<int> RunServer(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  const std::string verb = line.operands.empty() ? "list" : line.operands[0];
  if (verb == "list") return ListServers(line, *maintenance);
  if (verb == "undo") return Change(line, store, Options(ChangeOptions::kUndo, ""), "the change is undone");
  constexpr std::string_view kVerbs = "list, add, drain, remove, replace or undo";
  for (const std::string_view known : {"add", "drain", "remove", "replace"}) {
    if (verb != known) continue;
    if (line.operands.size() != 2) {
      return Fail(Code::kInvalidArgument, "say which one: xec server {} {}", verb,
                  verb == "add" ? "DIR, or root://HOST:PORT" : "SERVER (see xec server list)");
    }
    const std::string& server = line.operands[1];
    if (verb == "add") return Add(line, store);
    if (verb == "drain") return Drain(line, store);
    if (verb == "replace") return Replace(line, store, *maintenance);
    return Change(line, store, Options(ChangeOptions::kRemove, server), "is no member any more");
  }
  return Fail(Code::kInvalidArgument, "'{}': say {}", verb, kVerbs);
}

}  // namespace xec
