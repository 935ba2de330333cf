// SPDX-License-Identifier: LGPL-3.0-or-later
// The cmsd beside a gateway that a redirector sends clients to: which gateways have one, what its file says,
// and its life.
#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "assembly/configuration/configuration.hh"
#include "cli/daemon_process.hh"

namespace xec {

// Whether lines of a gateway's file name a redirector (`all.manager`).
bool NamesManager(std::string_view users_lines);

// Text of the file for cmsd. `short_state` is the gateway's state directory, `users_lines` what is xrootd's
// in the user's file, of which cmsd gets what is for it.
std::string CmsdConfiguration(const Configuration& configuration, const std::string& short_state,
                              const std::string& plug_in, std::string_view users_lines);

// One cmsd, which is started again when it ends. Not thread-safe.
class ClusterDaemon {
 public:
  // With an empty program there is none, and nothing is done. `admin` is the directory where xrootd looks for
  // it; `blocked` as of StartDaemon.
  ClusterDaemon(DaemonCommand command, std::string admin, const sigset_t& blocked);

  // Waits some seconds until xrootd could find it: xrootd would look again after ten seconds only. Errors as
  // of StartDaemon.
  Status Start();
  // To be called when a child has ended, and while Waits().
  void Attend();
  // It has ended, and time has to pass before it is started again.
  bool Waits() const { return restart_at_ != kNever; }
  // Ends it, for good.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  bool Ended();

  const DaemonCommand command_;
  const std::string socket_;
  const sigset_t blocked_;
  pid_t child_ = 0;
  Clock::time_point restart_at_ = kNever;
};

}  // namespace xec
