// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/daemon_process.hh"

#include <cerrno>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/exit_code.hh"
#include "server/kinds/local_root.hh"

namespace xec {

Result<pid_t> StartDaemon(const DaemonCommand& command, const sigset_t& blocked) {
  const UniqueFd log(open(command.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log) return Fail(CodeOfErrno(errno), "cannot write {}: {}", command.log_file, ErrnoWords(errno));
  const pid_t parent = getpid();
  // Not fork(): the handlers of libraries that it runs are of no use to a child that only execs.
  const pid_t child = _Fork();
  if (child < 0) return Fail(Code::kUnavailable, "cannot start a process: {}", ErrnoWords(errno));
  if (child > 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kExitError);
  sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(log.get(), STDOUT_FILENO);
  dup2(log.get(), STDERR_FILENO);
  // Without -s a daemon writes a file like /tmp/xrootd.anon.env, one for all users of the machine.
  execl(command.program.c_str(), command.program.c_str(), "-c", command.configuration_file.c_str(), "-s",
        command.pid_file.c_str(), nullptr);
  _exit(127);
}

}  // namespace xec
