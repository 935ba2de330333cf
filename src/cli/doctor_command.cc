// SPDX-License-Identifier: LGPL-3.0-or-later
// xec doctor: looks at everything that a gateway of this configuration needs, and says what to do about it.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <netdb.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/commands.hh"
#include "cli/doctor.hh"
#include "cli/json_output.hh"
#include "cli/owner.hh"
#include "cli/serve_setup.hh"
#include "runtime/sync_wait.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

constexpr Duration kStoreWait = std::chrono::seconds(5);

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof(name) - 1);
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_CANONNAME;
  std::string full = name;
  if (getaddrinfo(name, nullptr, &hints, &found) != 0) return full;
  if (found->ai_canonname && std::string(found->ai_canonname).find('.') != std::string::npos)
    full = found->ai_canonname;
  freeaddrinfo(found);
  return full;
}

DoctorView ViewOf(const Configuration& configuration) {
  DoctorView view;
  view.host = HostName();
  view.now_s = std::time(nullptr);
  const char* const key = std::getenv("XrdSecSSSKT");
  view.key_file = key ? key : "";
  view.gateway_uid = geteuid();
  if (geteuid() == 0) {
    if (const Result<const passwd*> user = GatewayUser(configuration.user))
      view.gateway_uid = (*user)->pw_uid;
  }
  const passwd* const user = getpwuid(view.gateway_uid);
  view.gateway_user = user ? user->pw_name : fmt::format("{}", view.gateway_uid);
  return view;
}

// It holds a lock on its state directory.
bool GatewayRuns(const Configuration& configuration) {
  const UniqueFd lock(open((StateDirectory(configuration) + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  return lock && flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

Finding FindingOf(const ServerReport& server) {
  const std::string what = fmt::format("data server {}", server.id);
  const std::string found = fmt::format("{} is {}{}{}", server.address, ServerReportStateName(server.state),
                                        server.problem.empty() ? "" : ": ", server.problem);
  if (server.state == ServerReport::State::kUp) return {FindingLevel::kOk, what, found};
  const char* const todo = "docs/scenarios.md has what to do about a data server.";
  return {server.Answers() ? FindingLevel::kWarn : FindingLevel::kFail, what, found, todo};
}

Findings CheckStore(const Configuration& configuration) {
  OpenOptions options;
  options.wait = kStoreWait;
  const Status owner = WorkAsOwner(configuration);
  if (!owner)
    return {{FindingLevel::kFail, "store", owner.error().message, "See the owner of the data directories."}};
  Result<std::unique_ptr<OpenedStore>> store = OpenStore(configuration, options);
  if (!store && store.code() == Code::kNotFound)
    return {{FindingLevel::kOk, "store", "there is none yet: the first gateway makes it"}};
  if (!store) return {{FindingLevel::kFail, "store", store.error().message, "Bring the data servers up."}};
  Findings findings;
  const Result<StoreMaintenance*> maintenance = (*store)->maintenance();
  const Result<ServersReport> servers =
      maintenance ? SyncWait((*maintenance)->CheckServers()) : Result<ServersReport>(maintenance.error());
  if (!servers) {
    findings.push_back({FindingLevel::kFail, "store", servers.error().message, "Bring the data servers up."});
  } else {
    for (const ServerReport& server : servers->servers) findings.push_back(FindingOf(server));
  }
  // A server that hangs keeps the destructor waiting; this process has no other use for the store.
  if (!(*store)->Settle(kStoreWait)) (void)store->release();
  return findings;
}

void Print(const Findings& findings, bool json) {
  if (!json) {
    for (const Finding& one : findings) {
      fmt::print("{:<5}{}: {}{}{}\n", FindingLevelName(one.level), one.what, one.found,
                 one.todo.empty() ? "" : ". ", one.todo);
    }
    return;
  }
  Json checks = Json::array();
  for (const Finding& one : findings) {
    checks.push_back({{"level", FindingLevelName(one.level)},
                      {"what", one.what},
                      {"found", one.found},
                      {"todo", one.todo}});
  }
  PrintJson({{"checks", std::move(checks)}});
}

}  // namespace

Result<int> RunDoctor(const CommandLine& line) {
  const Configuration& configuration = line.configuration;
  if (configuration.data.empty() && configuration.servers.empty() && configuration.origin.empty())
    return Fail(Code::kInvalidArgument, "say which gateway: -c FILE (or --data, --server, --origin)");
  std::ifstream file(line.configuration_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const SiteLines lines = WordsOfLines(text);
  const DoctorView view = ViewOf(configuration);
  const Result<std::string> xrootd = FindXrootd(configuration.xrootd);
  Findings findings =
      CheckHost(lines, configuration, view, xrootd ? *xrootd : "", GatewayRuns(configuration));
  for (Finding& one : CheckSite(lines, configuration, view)) findings.push_back(std::move(one));
  for (Finding& one : CheckStore(configuration)) findings.push_back(std::move(one));
  Print(findings, line.json);
  const auto worst = std::max_element(findings.begin(), findings.end(),
                                      [](const Finding& a, const Finding& b) { return a.level < b.level; });
  switch (worst->level) {
    case FindingLevel::kOk: return kExitOk;
    case FindingLevel::kWarn: return kExitRetry;
    case FindingLevel::kFail: return kExitError;
  }
  return kExitError;
}

}  // namespace xec
