// SPDX-License-Identifier: LGPL-3.0-or-later
// xec space: what the store has, what its groups use, and that as a Storage Resource Reporting document.
#include "cli/commands.hh"
#include "cli/space_report.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

Result<SiteWords> SiteOf(const CommandLine& line, const std::string& store_id) {
  SiteWords site{.name = store_id, .id = store_id, .endpoints = line.endpoints, .vos = {}};
  if (line.names.size() > 1) return Fail(Code::kInvalidArgument, "--name: only one can be given");
  if (!line.names.empty()) site.name = line.names.front();
  for (const std::string& word : line.vos) {
    const size_t sign = word.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == word.size())
      return Fail(Code::kInvalidArgument, "--vo: '{}' is not GROUP=VO", word);
    site.vos[word.substr(0, sign)] = word.substr(sign + 1);
  }
  for (const std::string& url : line.endpoints) {
    if (url.find("://") == std::string::npos)
      return Fail(Code::kInvalidArgument, "--endpoint: '{}' is no URL", url);
  }
  if (line.endpoints.empty())
    return Fail(Code::kInvalidArgument, "--srr: say where clients find the store, with --endpoint URL");
  return site;
}

}  // namespace

Result<int> RunSpace(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  SpaceReport report;
  XEC_ASSIGN_OR_RETURN(report.store, SyncWait(store.store().Space()));
  XEC_ASSIGN_OR_RETURN(report.groups, SyncWait(maintenance->AskGroups()));
  report.now_ms = store.executor().WallNow();
  const bool counted = !report.groups.empty() && report.groups.front().used;
  if (line.srr) {
    XEC_ASSIGN_OR_RETURN(const SiteWords site, SiteOf(line, maintenance->descriptor().store_id));
    XEC_TRY(NeedGroups(site.vos, report.groups));
    if (!counted) return Fail(Code::kUnavailable, "no gateway has counted the groups yet; try again");
    PrintJson(SrrJson(report, site, XEC_VERSION));
  } else if (line.json) {
    PrintJson(SpaceJson(report));
  } else {
    PrintSpace(report);
  }
  return counted ? kExitOk : kExitRetry;
}

}  // namespace xec
