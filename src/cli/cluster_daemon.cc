// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/cluster_daemon.hh"

#include <algorithm>
#include <array>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "assembly/configuration/options.hh"
#include "base/text.hh"

namespace xec {
namespace {

// For the store to be opened; without its store a cmsd ends by itself.
constexpr auto kSocketWait = std::chrono::seconds(5);
constexpr auto kSocketPause = std::chrono::milliseconds(20);
constexpr auto kRestartPause = std::chrono::seconds(5);
constexpr auto kStopWait = std::chrono::seconds(5);

// Beginnings of the directives that are for cmsd, too.
constexpr std::array<std::string_view, 3> kShared = {"all.", "cms.", "xrd.network"};

}  // namespace

bool NamesManager(std::string_view users_lines) {
  for (const std::string_view line : Split(users_lines, '\n')) {
    const std::string_view rest = Trim(line);
    if (rest.starts_with("all.manager") && rest != "all.manager") return true;
  }
  return false;
}

std::string CmsdConfiguration(const Configuration& configuration, const std::string& short_state,
                              const std::string& plug_in, std::string_view users_lines) {
  std::string text = fmt::format(
      "# Written by `xec serve`; what is changed here is lost.\n"
      "all.role server\n"
      "all.export {0}\n"
      "all.adminpath {1}/admin\n"
      "all.pidpath {1}/admin\n"
      // All gateways show the same names, so that any of them can say which there are.
      "cms.dfs lookup distrib redirect immed\n"
      // All of them fill the same disks: the store refuses what has no room.
      "cms.space min 0 0\n"
      "ofs.osslib {2}\n"
      // For the plug-in, which looks whether it is there.
      "ofs.persist auto hold 0\n",
      configuration.export_path, short_state, plug_in);
  text += "# From the user's file:\n";
  for (const std::string_view line : Split(users_lines, '\n')) {
    const std::string_view directive = Trim(line);
    if (std::any_of(kShared.begin(), kShared.end(),
                    [&](std::string_view start) { return directive.starts_with(start); }))
      text += fmt::format("{}\n", directive);
  }
  return text + "# The store:\n" + FormatDirectives(configuration);
}

ClusterDaemon::ClusterDaemon(DaemonCommand command, std::string admin, const sigset_t& blocked)
    : command_(std::move(command)), socket_(std::move(admin) + "/.olb/olbd.admin"), blocked_(blocked) {}

Status ClusterDaemon::Start() {
  if (command_.program.empty()) return OkStatus();
  unlink(socket_.c_str());
  XEC_ASSIGN_OR_RETURN(child_, StartDaemon(command_, blocked_));
  struct stat status;
  for (auto waited = kSocketPause * 0; waited < kSocketWait; waited += kSocketPause) {
    if (stat(socket_.c_str(), &status) == 0) break;
    if (Ended()) {
      restart_at_ = Clock::now() + kRestartPause;
      break;
    }
    poll(nullptr, 0, static_cast<int>(kSocketPause.count()));
  }
  return OkStatus();
}

bool ClusterDaemon::Ended() {
  if (child_ == 0 || waitpid(child_, nullptr, WNOHANG) != child_) return child_ == 0;
  child_ = 0;
  return true;
}

void ClusterDaemon::Attend() {
  if (command_.program.empty()) return;
  if (child_ != 0 && Ended()) restart_at_ = Clock::now() + kRestartPause;
  if (Clock::now() < restart_at_) return;
  restart_at_ = kNever;
  if (const Result<pid_t> child = StartDaemon(command_, blocked_)) {
    child_ = *child;
  } else {
    restart_at_ = Clock::now() + kRestartPause;
  }
}

void ClusterDaemon::Stop() {
  restart_at_ = kNever;
  if (child_ == 0) return;
  kill(child_, SIGTERM);
  for (auto waited = kSocketPause * 0; waited < kStopWait && !Ended(); waited += kSocketPause)
    poll(nullptr, 0, static_cast<int>(kSocketPause.count()));
  if (child_ == 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = 0;
}

}  // namespace xec
