#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""tar and cp in a mounted store while data servers are killed or stopped, and in a mounted gateway while that is restarted.

Beside them somebody looks at names and reads a file all the time: how long the longest of these took is printed."""
# waits
import contextlib
import filecmp
import os
import random
import tarfile
import threading
import time

import everyday
import fuse_mounts
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
FILES = 1000 if LONG else 150
LARGE_BYTES = (64 << 20) if LONG else (8 << 20)
# For tar and cp as a whole: a mount that hangs never gets there.
SECONDS = 600
# For what looks on: no request of a mount may take longer, whatever its servers do.
LOOK_SECONDS = 60


class Faults(fuse_mounts.TestCase, everyday.EverydayTest):
    def setUp(self):
        super().setUp()
        self.store = self.cluster(servers=12, gateways=1, geometry="8+2", chunk_size="64KiB")
        self.conf, self.xec = self.xec_beside(self.store)
        self.tree = self.path("tree")
        generator = random.Random(59)
        sizes = [int(10 ** generator.uniform(0, 5.5)) for _ in range(FILES)] + [0, LARGE_BYTES, LARGE_BYTES + 1]
        for number, size in enumerate(sizes):
            folder = os.path.join(self.tree, f"d{number % 7}", "sub" * (number % 3))
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"f{number}"), "wb") as file:
                file.write(generator.randbytes(size))
        self.archive = self.path("tree.tar")
        with tarfile.open(self.archive, "w") as tar:
            tar.add(self.tree, "tree")

    def mount(self, *what):
        _, path = self.mount_beside(*what)
        with open(os.path.join(path, "looked-at"), "wb") as file:
            file.write(b"here")
        return path

    @contextlib.contextmanager
    def looking(self, mount, may_fail=False):
        """Someone lists the mounted directory and reads a file in it all the time; no answer is wrong or missing."""
        stop, took, wrong = threading.Event(), [], []

        def look():
            while not stop.is_set():
                begun = time.monotonic()
                try:
                    with open(os.path.join(mount, "looked-at"), "rb") as file:
                        if file.read() != b"here":
                            wrong.append("other bytes")
                    if "looked-at" not in os.listdir(mount):
                        wrong.append("not listed")
                except OSError as error:
                    if not may_fail:
                        wrong.append(error)
                took.append(time.monotonic() - begun)
                stop.wait(0.02)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield took
        finally:
            stop.set()
            thread.join(LOOK_SECONDS)
            self.assertFalse(thread.is_alive(), "a look hangs")
        self.assertEqual(wrong, [])

    def meanwhile(self, argv, target, change, code=0):
        """Runs a program that fills `target`; when some of it is there, `change` happens."""
        process = self.background(argv)
        self.eventually(lambda: count_files(target) > FILES // 10 or process.popen.poll() is not None, SECONDS,
                        f"{argv} begins")
        begun = count_files(target)
        change()
        self.eventually(lambda: process.popen.poll() is not None, SECONDS, f"{argv} ends")
        if code is not None:
            self.assertEqual(process.popen.returncode, code, process.output())
        return begun, process

    def check_same(self, target):
        self.assertEqual(differences(self.tree, target), [])

    def test_servers_killed_and_stopped(self):
        mnt = self.mount("-c", self.conf)
        servers = self.store.servers
        with self.looking(mnt) as took:
            begun, _ = self.meanwhile(["tar", "-x", "-f", self.archive, "-C", mnt], mnt, lambda: [s.kill() for s in servers[:2]])
        print(f"tar x with two of twelve servers killed after {begun} files: the longest look took {max(took):.1f} s", flush=True)
        self.check_same(f"{mnt}/tree")
        for server in servers[:2]:
            self.store.start(server)
        copy = f"{mnt}/copy"
        with self.looking(mnt) as took:
            begun, _ = self.meanwhile(["cp", "-r", f"{mnt}/tree", copy], copy, lambda: [s.freeze() for s in servers[2:4]])
        print(f"cp -r with two of twelve servers stopped after {begun} files: the longest look took {max(took):.1f} s", flush=True)
        self.check_same(copy)
        for server in servers[2:4]:
            server.thaw()
        self.check_same(copy)

    def test_a_gateway_is_restarted(self):
        gateway = self.store.gateways[0]
        mnt = self.mount(gateway.url)
        target = f"{mnt}/tree"

        def restart():
            gateway.kill()
            self.store.start(gateway)

        with self.looking(mnt, may_fail=True) as took:
            begun, process = self.meanwhile(["cp", "-r", self.tree, mnt], target, restart, code=None)
        told = process.output().count("cp: ")
        print(f"cp -r to a gateway that is killed after {begun} files, and started again: {told} errors, the longest look took "
              f"{max(took):.1f} s", flush=True)
        different = differences(self.tree, target)
        # What cp was not told of is whole; what it was told of is old (not there, or made and empty) or new.
        self.assertLessEqual(len(different), told, f"{different}: {process.output()}")
        for name in different:
            path = os.path.join(target, name)
            self.assertTrue(not os.path.exists(path) or os.path.getsize(path) == 0, f"{name} is half written")
        # The creation that the gateway died over may take effect at any moment, so cp may be told that such a name is
        # there after it was told that it is not, or that somebody else makes it.
        again = self.run_program(["cp", "-r", self.tree, mnt], seconds=SECONDS, code=None)
        left = differences(self.tree, target)
        self.assertLessEqual(set(left), set(different), again)


def count_files(folder):
    return sum(len(files) for _, _, files in os.walk(folder))


def differences(left, right):
    """Names below `left` that are not the same files below `right`."""
    found = []
    for folder, _, files in os.walk(left):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), left)
            other = os.path.join(right, path)
            if not os.path.exists(other) or not filecmp.cmp(os.path.join(left, path), other, shallow=False):
                found.append(path)
    return found


if __name__ == "__main__":
    xectest.main()
