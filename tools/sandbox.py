# SPDX-License-Identifier: LGPL-3.0-or-later
"""A process with a network of its own that leaves nothing behind: for tests and benchmarks."""
import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys

import daemons

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_CHILD_SUBREAPER = 36
GET_INTERFACE_FLAGS, SET_INTERFACE_FLAGS, INTERFACE_UP = 0x8913, 0x8914, 1


def adopt_daemons():
    """Daemons that lose their starter become children of this process, so that kill_descendants finds them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def enter_network():
    """Gives this process a network namespace of its own with the loopback device up; returns why it can't be."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    flags = CLONE_NEWNET if uid == 0 else CLONE_NEWNET | CLONE_NEWUSER
    if libc.unshare(flags) != 0:
        return f"needs a network namespace of its own: {os.strerror(ctypes.get_errno())}"
    if uid != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = fcntl.ioctl(control, GET_INTERFACE_FLAGS, struct.pack("16sh14x", b"lo", 0))
        value = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(control, SET_INTERFACE_FLAGS, struct.pack("16sh14x", b"lo", value | INTERFACE_UP))
    return ""


def run_alone(program, main):
    """Runs `main` in a network of its own and leaves no daemon behind; answers its exit code, or 2."""
    adopt_daemons()
    reason = enter_network()
    if reason:
        print(f"{program}: {reason}", file=sys.stderr)
        return 2
    try:
        return main()
    finally:
        kill_descendants()


def kill_descendants():
    """Whatever was left behind; daemons come back to us after adopt_daemons."""
    while True:
        left = [pid for pid in daemons.descendants(os.getpid()) if pid != os.getpid()]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # All that have ended, not one for each search: thousands may have come back to us.
        with contextlib.suppress(ChildProcessError):
            ended, _ = os.waitpid(-1, 0)
            while ended:
                ended, _ = os.waitpid(-1, os.WNOHANG)
