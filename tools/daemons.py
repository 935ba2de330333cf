# SPDX-License-Identifier: LGPL-3.0-or-later
"""Processes that outlive their starter: found again, told apart, watched, stopped; and who they run as."""
import contextlib
import dataclasses
import os
import pwd
import select
import signal
import time

STOP_SECONDS = 10.0


class DaemonError(Exception):
    """One sentence for the user."""


class UsageError(DaemonError):
    """One sentence about an option that makes no sense."""


def start_time(pid):
    """Start of a process in clock ticks since boot, or None when there is none (a zombie counts as none, but not
    while other threads of it keep its sockets open)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    state, threads, start = fields[0], int(fields[17]), int(fields[19])
    return None if state in "ZX" and threads <= 1 else start


def wait_exit(pid, seconds):
    """Waits until the process is gone; False when it is still there after `seconds`."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@dataclasses.dataclass
class Daemon:
    """A process that was started earlier, perhaps by another program. The start time tells it from a process
    that got the same number later."""
    pid: int = 0
    started: int = 0

    def alive(self):
        return self.pid > 0 and start_time(self.pid) == self.started

    def signal(self, number):
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self):
        """kill -9, and waits until it is gone."""
        self.signal(signal.SIGKILL)
        if self.pid > 0 and not wait_exit_of(self, STOP_SECONDS):
            raise DaemonError(f"process {self.pid} does not go away after kill -9")


def wait_exit_of(daemon, seconds):
    return not daemon.alive() or wait_exit(daemon.pid, seconds) or not daemon.alive()


def stop_all(daemons):
    """SIGTERM to all, SIGKILL to those that are still there after STOP_SECONDS in all."""
    alive = [daemon for daemon in daemons if daemon.alive()]
    for daemon in alive:
        daemon.signal(signal.SIGCONT)
        daemon.signal(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for daemon in alive:
        if not wait_exit_of(daemon, max(0.0, deadline - time.monotonic())):
            daemon.kill()


def tail(path, lines=5):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:]).strip()
    except OSError:
        return "(no log)"


def wait_for_line(path, wanted, daemon, deadline, what):
    """Waits until a line of the log at `path` satisfies `wanted`, and returns that line."""
    position, rest = 0, ""
    while True:
        alive = daemon.alive()
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                file.seek(position)
                rest += file.read()
                position = file.tell()
        *lines, rest = rest.split("\n")
        for line in lines:
            if wanted(line):
                return line
        if not alive:
            raise DaemonError(f"{what} stopped while starting; the end of {path}:\n{tail(path)}")
        if time.monotonic() > deadline:
            raise DaemonError(f"{what} was not ready in time; the end of {path}:\n{tail(path)}")
        wait_exit_of(daemon, 0.05)


def descendants(pid):
    """The process and all its children and grandchildren."""
    found = [pid]
    for parent in found:
        for task in glob_children(parent):
            found.append(task)
    return found


def glob_children(pid):
    children = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                children += [int(child) for child in file.read().split()]
    return children


def find_xrootd(pid):
    """The xrootd below `xec serve` (or itself, if it replaced itself by xrootd)."""
    for candidate in descendants(pid):
        with contextlib.suppress(OSError), open(f"/proc/{candidate}/comm", encoding="ascii") as file:
            if file.read().strip() == "xrootd":
                return candidate
    return pid


class User:
    """Who the daemons run as: the caller, or `nobody` when the caller is root."""

    def __init__(self):
        self.entry = pwd.getpwnam("nobody") if os.geteuid() == 0 else None

    def give(self, path):
        """Makes the directory at `path` and gives it to the user."""
        os.makedirs(path, exist_ok=True)
        if self.entry:
            os.chown(path, self.entry.pw_uid, self.entry.pw_gid)

    def command(self, argv, below):
        """`argv` to be run as the user. When a directory above `below` is closed to the user (mktemp makes such
        ones), the daemon gets the one capability that lets it pass, rather than that we open the directory."""
        if not self.entry:
            return argv
        prefix = ["setpriv", f"--reuid={self.entry.pw_uid}", f"--regid={self.entry.pw_gid}", "--clear-groups"]
        if not self.can_pass(below):
            # Without no_setuid_fixup access(2) ignores the capability.
            prefix += ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        return prefix + argv

    def can_pass(self, path):
        path = os.path.realpath(path)
        while path != "/":
            path = os.path.dirname(path)
            status = os.stat(path)
            if status.st_uid == self.entry.pw_uid:
                bit = 0o100
            elif status.st_gid == self.entry.pw_gid:
                bit = 0o010
            else:
                bit = 0o001
            if not status.st_mode & bit:
                return False
        return True


def preload_environment():
    """What a test run with AddressSanitizer needs so that stock xrootd can load our instrumented plug-in."""
    library = os.environ.get("XEC_SERVER_PRELOAD")
    return {"LD_PRELOAD": library} if library else {}
