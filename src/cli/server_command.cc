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

constexpr std::string_view kCompareVerb = "compare";

Result<int> ListServers(const CommandLine& line, StoreMaintenance& store) {
  const std::vector<Member>& members = store.descriptor().members;
  Json json = Json::array();
  for (size_t i = 0; i < members.size(); ++i) {
    const std::string address = store.AddressOf(static_cast<MemberIndex>(i));
    const char* const role = MemberRoleName(members[i].role);
    const auto until_ms = static_cast<int64_t>(members[i].maintenance_until_s) * 1000;
    const bool maintained = until_ms > WallNow();
    if (line.json) {
      Json member = {
          {"server", members[i].id}, {"address", address}, {"host", members[i].host}, {"role", role}};
      if (maintained) member["maintenance_until_ms"] = until_ms;
      json.push_back(std::move(member));
    } else {
      fmt::print("{:<8}{:<10}{:<40}{}{}\n", members[i].id, role, address, members[i].host,
                 maintained ? fmt::format("  in maintenance until {} UTC", FormatTime(until_ms)) : "");
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
  const bool follows = options.kind == ChangeOptions::kAdd || options.kind == ChangeOptions::kDrain ||
                       options.kind == ChangeOptions::kUndo;
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
  options.host = line.host.empty() ? std::move(site.host) : line.host;
  return Change(line, opened, std::move(options), "is a member, and home of names");
}

// Of archives that lie on members which are to be emptied, or are missing.
Result<uint64_t> BytesToMove(const CommandLine& line, StoreMaintenance& store) {
  StatusLine status(line.quiet || line.json);
  RebuildOptions options;
  options.dry_run = true;
  options.progress = [&](const RebuildProgress& progress) {
    status.Show([&] { return fmt::format("counting what is to be moved: {} objects", progress.objects); });
    return !Interrupted();
  };
  XEC_ASSIGN_OR_RETURN(const RebuildReport report, SyncWait(store.Rebuild(std::move(options))));
  return report.total.bytes_lost;
}

// Names first, then archives.
Result<int> Drain(const CommandLine& line, OpenedStore& opened) {
  const std::string& server = line.operands[1];
  const auto began = std::chrono::steady_clock::now();
  XEC_ASSIGN_OR_RETURN(const int left, Change(line, opened, Options(ChangeOptions::kDrain, server),
                                              "is home of no name any more"));
  if (left != kExitOk || line.dry_run) return left;
  CommandLine repair = line;
  repair.all = repair.lost = true;
  repair.operands.clear();
  if (line.by) {
    XEC_ASSIGN_OR_RETURN(StoreMaintenance* const store, opened.maintenance());
    XEC_ASSIGN_OR_RETURN(repair.bytes_due, BytesToMove(line, *store));
    const auto spent =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
    repair.by = std::max(*line.by - spent, std::chrono::seconds(1));
    const auto seconds = static_cast<uint64_t>(repair.by->count());
    Say(line, fmt::format("{} to move in {} s: {}/s", FormatSize(repair.bytes_due), seconds,
                          FormatSize(repair.bytes_due / seconds)));
  }
  XEC_ASSIGN_OR_RETURN(const int moved, RunRepair(repair, opened));
  if (moved != kExitOk) return moved;
  return Change(line, opened, Options(ChangeOptions::kEmpty, server),
                "is empty: xec server remove takes it off");
}

Result<ReplacedServer> GivePlace(const CommandLine& line, StoreMaintenance& store) {
  StatusLine status(line.quiet || line.json);
  ReplaceOptions options{.server = line.operands[1], .with = line.with, .dry_run = line.dry_run};
  options.lost_a_part = line.operands[0] == kCompareVerb;
  options.waiting = [&](std::chrono::seconds left) {
    status.Show([&] {
      return fmt::format("waiting until nobody asks the place before any more: {} s", left.count());
    });
    return !Interrupted();
  };
  return SyncWait(store.ReplaceServer(std::move(options)));
}

Result<int> Replace(const CommandLine& line, OpenedStore& opened, StoreMaintenance& before) {
  const Result<ReplacedServer> given = GivePlace(line, before);
  if (!given && Interrupted()) return kExitInterrupted;
  if (!given) return given.error();
  const ReplacedServer& replaced = *given;
  const std::string& id = before.descriptor().members[replaced.member].id;
  const bool only_moved = replaced.was_there && replaced.moved;
  if (line.operands[0] == kCompareVerb) {
    Say(line, fmt::format("{} {} its names with the other data servers", id,
                          line.dry_run ? "would compare" : "compares"));
  } else if (only_moved) {
    Say(line, fmt::format("{} {} found at {}", id, line.dry_run ? "would be" : "is", replaced.address));
  } else if (replaced.was_there) {
    Say(line, fmt::format("{} is {}, and its disk is not empty: nothing is replaced", replaced.address, id));
  } else {
    Say(line,
        fmt::format("{} {} the place of {}", replaced.address, line.dry_run ? "would take" : "takes", id));
  }
  if (line.dry_run) return kExitOk;
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, opened.maintenance());
  StoreMaintenance& store = *maintenance;
  const Status compared = Compare(line, store, replaced.member);
  if (!compared && Interrupted()) return kExitInterrupted;
  if (!compared) return compared.error();
  if (!line.json) fmt::print("{} knows all names; what it lacks is written anew\n", id);
  CommandLine repair = line;
  repair.all = repair.lost = true;
  repair.operands.clear();
  return RunRepair(repair, opened);
}

// Changes what is written beside a member on the list.
Result<int> Mark(const CommandLine& line, OpenedStore& opened, const std::string& verb) {
  if (line.operands.size() != 2)
    return Fail(Code::kInvalidArgument, "say which one: xec server {} SERVER (see xec server list)", verb);
  const std::string& server = line.operands[1];
  if (verb == "label") {
    if (line.host.empty())
      return Fail(Code::kInvalidArgument, "say with which servers {} fails together: --host NAME", server);
    ChangeOptions options = Options(ChangeOptions::kLabel, server);
    options.host = line.host;
    return Change(line, opened, std::move(options), "is of host " + line.host);
  }
  ChangeOptions options = Options(ChangeOptions::kMaintain, server);
  options.forced = line.force;
  if (verb == "resume") return Change(line, opened, std::move(options), "is used as any other");
  options.time = line.maintenance_time;
  const int64_t until_ms = WallNow() + std::chrono::milliseconds(options.time).count();
  return Change(
      line, opened, std::move(options),
      fmt::format("is in maintenance until {} UTC (gateways know it within 30 s); xec server resume "
                  "ends that",
                  FormatTime(until_ms)));
}

}  // namespace

Result<int> RunServer(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  const std::string verb = line.operands.empty() ? "list" : line.operands[0];
  if (verb == "list") return ListServers(line, *maintenance);
  if (verb == "maintenance" || verb == "resume" || verb == "label") return Mark(line, store, verb);
  if (verb == "undo") return Change(line, store, Options(ChangeOptions::kUndo, ""), "the change is undone");
  constexpr std::string_view kVerbs =
      "list, add, drain, remove, replace, compare, maintenance, resume, label or undo";
  for (const std::string_view known : {"add", "drain", "remove", "replace", "compare"}) {
    if (verb != known) continue;
    if (line.operands.size() != 2) {
      return Fail(Code::kInvalidArgument, "say which one: xec server {} {}", verb,
                  verb == "add" ? "DIR, or root://HOST:PORT" : "SERVER (see xec server list)");
    }
    const std::string& server = line.operands[1];
    if (verb == "add") return Add(line, store);
    if (verb == "drain") return Drain(line, store);
    if (verb == "replace" || verb == kCompareVerb) return Replace(line, store, *maintenance);
    return Change(line, store, Options(ChangeOptions::kRemove, server), "is no member any more");
  }
  return Fail(Code::kInvalidArgument, "'{}': say {}", verb, kVerbs);
}

}  // namespace xec
