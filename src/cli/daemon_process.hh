// SPDX-License-Identifier: LGPL-3.0-or-later
// A stock daemon of XRootD as a child of this process.
#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>

#include "base/result.hh"

namespace xec {

struct DaemonCommand {
  std::string program;             // absolute
  std::string configuration_file;
  std::string pid_file;            // written by the daemon
  std::string log_file;            // its output is appended
};

// Starts it in a process group of its own, so that ctrl-C reaches this process only, which stops the daemon
// in its own way. `blocked` are signals that this process blocks and the daemon is to get; SIGTERM is sent to
// it when the calling thread ends. Errors of the system.
Result<pid_t> StartDaemon(const DaemonCommand& command, const sigset_t& blocked);

}  // namespace xec
