# SPDX-License-Identifier: LGPL-3.0-or-later
"""Where a program is tried: a new store that is mounted, and a folder beside it."""
import contextlib
import ctypes
import os
import signal
import subprocess
import time

SERVERS = 12
READY_SECONDS = 60.0
END_SECONDS = 60.0
REASON_LINES = 12


class Failed(Exception):
    """Why a program is not content, in a few lines."""


class Missing(Exception):
    """What a case needs and is not to be had."""


def enter_mounts():
    """From here on mounts belong to this process and its children alone, if it may say so: they go when it does."""
    clone_newns, recursive_private = 0x00020000, 0x4000 | 0x40000
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0 and libc.unshare(clone_newns) == 0:
        libc.mount(b"none", b"/", None, recursive_private, None)


def last_lines(text):
    return "\n".join(text.strip().splitlines()[-REASON_LINES:])


class Place:
    """`mount` is the directory under test, `local` a folder on a local disk. With `directory` that is tried in place of
    a mounted store, with `url` what `xec mount URL` shows. Used with `with`."""

    def __init__(self, folder, xec, kit=None, directory=None, url=None):
        self.local = os.path.join(folder, "local")
        # Short, as sockets have names of 108 bytes.
        self.mount = os.path.join(directory, os.path.basename(folder)) if directory else os.path.join(folder, "m")
        self._log = os.path.join(folder, "log")
        self._directory, self._url = directory, url
        self._data = [] if directory or url else [os.path.join(folder, "data", f"d{number:02}") for number in range(SERVERS)]
        self._xec, self._kit, self._process = xec, kit, None

    def __enter__(self):
        for path in (self.local, self.mount, *self._data):
            os.makedirs(path)
        self._begin()
        return self

    def __exit__(self, *_):
        self._end()

    def options(self):
        """Those that name the store, or what is mounted in its place."""
        if self._url:
            return [self._url]
        return [word for path in self._data for word in ("--data", path)]

    def remount(self):
        """Ends the mount and begins it anew: nothing is left of what the kernel or the process knew."""
        self._end()
        self._begin()

    def _begin(self):
        if self._directory:
            return
        outside = os.stat(self.mount).st_dev
        others = ["-o", "allow_other"] if os.geteuid() == 0 else []
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen([self._xec, "mount", "-f", *others, *self.options(), self.mount],
                                             stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + READY_SECONDS
        while os.stat(self.mount).st_dev == outside:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"the store cannot be mounted:\n{self.log()}")
            time.sleep(0.02)

    def _end(self):
        if self._process is None:
            return
        process, self._process = self._process, None
        died = process.poll()
        if died is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            died = "no end"
        subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)
        if died is not None:
            raise Failed(f"the process of the mount had ended: {died}\n{self.log()}")

    def log(self):
        with contextlib.suppress(OSError), open(self._log, encoding="utf-8", errors="replace") as file:
            return last_lines(file.read())
        return ""

    def run(self, argv, seconds=300, cwd=None, accepted=(0,), environment=None):
        """Runs a program to its end and answers what it printed; `accepted`: its exit codes, None for any."""
        tools_environment = self._kit.environment() if self._kit else {}
        with subprocess.Popen([str(word) for word in argv], cwd=cwd or self.mount, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True,
                              env={**os.environ, **tools_environment, **(environment or {})}) as process:
            try:
                out, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                self._release()
                out, _ = process.communicate()
                raise Failed(f"{argv[0]} still ran after {seconds} s:\n{last_lines(out)}") from None
        if accepted is not None and process.returncode not in accepted:
            raise Failed(f"{' '.join(str(word) for word in argv)[:200]}: exit code {process.returncode}\n"
                         f"{last_lines(out)}")
        return out

    def _release(self):
        """A program that hangs in the mount dies with it."""
        if self._process is not None:
            self._process.kill()
