# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tests that mount by FUSE."""
import os
import re
import signal
import stat

import xectest


def document_block(first_line):
    """The lines of docs/mount.md of the indented block that has a line which begins like this."""
    with open(os.path.join(xectest.REPO, "docs", "mount.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^\n((?:    .*\n)+)", file.read(), re.MULTILINE)
    found = next(block for block in blocks if f"    {first_line}" in block)
    return [line[4:] for line in found.splitlines()]


class TestCase(xectest.TestCase):
    """In a mount namespace of its own; skipped where there is no /dev/fuse."""

    def setUp(self):
        super().setUp()
        self.enter_mounts()
        try:
            os.close(os.open("/dev/fuse", os.O_RDWR))
        except OSError as error:
            self.skipTest(f"needs /dev/fuse: {os.strerror(error.errno)}")

    def bind(self, what, where):
        """What lies at `where` is `what`, for this test."""
        if not os.path.exists(where):
            os.mkdir(where)
        self.run_program(["mount", "--bind", what, where])
        self.addCleanup(self.run_program, ["umount", "-l", where])

    def open_fuse_to_all(self):
        """As on every Debian with udev."""
        os.mknod(self.path("fuse"), stat.S_IFCHR | 0o666, os.makedev(10, 229))
        os.chmod(self.path("fuse"), 0o666)
        self.bind(self.path("fuse"), "/dev/fuse")

    def mount_beside(self, *words, name="mnt"):
        """A process of `xec mount WORDS` in the foreground, and the directory in which it shows its names."""
        path = self.path(name)
        os.mkdir(path)
        process = self.background([self.program("xec"), "mount", "-f", "--log", path + ".log", *words, path])
        self.addCleanup(self.run_program, ["umount", "-l", path], code=None)
        self.eventually(lambda: os.path.ismount(path) or process.popen.poll() is not None, 60, f"{words} is mounted")
        self.assertTrue(os.path.ismount(path), process.output() + self.read(path + ".log"))
        return process, path

    def write(self, path, content, mode="w"):
        with open(path, mode) as file:
            file.write(content)

    def read(self, path):
        with open(path) as file:
            return file.read()


class StoreTestCase(TestCase):
    """Mounts a store of six directories."""

    def setUp(self):
        super().setUp()
        self.dirs = [self.path(f"d{i}") for i in range(1, 7)]

    def options(self):
        return [*(f"--data={directory}" for directory in self.dirs), "--geometry=4+2", "--chunk-size=64KiB"]

    def xec(self, command, *arguments, **options):
        return self.run_program([self.program("xec"), command, *self.options(), *arguments], **options)

    def log(self, name="mnt"):
        with open(self.path(name + ".log")) as file:
            return file.read()

    def mount(self, *options, name="mnt"):
        """Mounts the store at a directory, and returns that."""
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        self.xec("mount", "--log", self.path(name + ".log"), *options, path)
        self.addCleanup(self.end, path)
        self.assertTrue(os.path.ismount(path))
        return path

    def processes(self, path):
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if path in words and ("mount" in words or words[0].endswith("mount.xec")):
                found.append(int(entry))
        return found

    def end(self, path, number=signal.SIGTERM):
        """Ends the process of the mount, and the mount."""
        for pid in self.processes(path):
            os.kill(pid, number)
        self.eventually(lambda: not self.processes(path), 60, f"the process of {path} ends")
        if number == signal.SIGKILL:
            self.run_program(["umount", "-l", path], code=None)

    def unmount(self, path):
        self.run_program(["fusermount3", "-u", path])
        self.eventually(lambda: not self.processes(path), 60, f"the process of {path} ends")
