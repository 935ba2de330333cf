#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
# seconds: 4800
"""Many programs work in one mount, each of which checks what it reads: descriptors, threads and memory of its process stay what
they were. `./dev test` has 14 for half a minute; XEC_SOAK_MINUTES=60 has 50 for an hour."""
import contextlib
import filecmp
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import threading

import fuse_mounts
import soak
import xectest

KINDS = "unpack", "append", "replace", "keep_records", "look", "kill_a_writer", "work_in_scratch"
PROGRAMS = 50 if soak.MINUTES > 1 else 14
# Of one name on one server: what was replaced piled up to more than that in half an hour when only passes of the cleaner removed it.
ENTRIES_MAX = 400


class MountSoak(fuse_mounts.TestCase, soak.SoakTest):
    def setUp(self):
        super().setUp()
        with open(self.path("conf"), "w", encoding="ascii") as file:
            file.write("".join(f"xec.data {self.path(f'd{i}')}\n" for i in range(1, 7)) + "xec.geometry 4+2\nxec.chunk-size 64KiB\n"
                       "xec.clean-interval 2s\nxec.upload-grace 5s\nxec.superseded-grace 2s\nxec.tombstone-horizon 30s\nxec.operation-limit 10s\n")
        self.process, self.mnt = self.mount_beside("-c", self.path("conf"))
        self.tree = self.path("tree")
        for number in range(12):
            os.makedirs(f"{self.tree}/{number % 3}", exist_ok=True)
            shutil.copy(self.random_file(f"r{number}", 1 + number ** 4, number), f"{self.tree}/{number % 3}/f{number}")
        self.run_program(["tar", "-c", "-f", self.path("tar"), "-C", self.tree, "."])
        self.large = self.random_file("large", 3 * soak.MIB)
        self.mine = threading.local()

    def folder(self):
        """Of this thread alone."""
        if not hasattr(self.mine, "folder"):
            self.mine.folder = f"{self.mnt}/{threading.get_ident()}"
            os.mkdir(self.mine.folder)
        return self.mine.folder

    def unpack(self, _):
        self.run_program(["tar", "-x", "-f", self.path("tar"), "-C", self.folder()])
        compared = self.run_program(["diff", "-r", self.tree, self.folder()])
        self.assertEqual(compared.out, "")
        for name in os.listdir(self.folder()):
            shutil.rmtree(f"{self.folder()}/{name}")

    def append(self, generator):
        path, content = f"{self.folder()}/log", b""
        for _ in range(20):
            line = generator.randbytes(generator.randrange(1, 20_000))
            content += line
            with open(path, "ab") as file:
                file.write(line)
                if generator.random() < 0.3:
                    os.fsync(file.fileno())
        with open(path, "rb") as file:
            self.assertTrue(file.read() == content, "what was appended is other bytes")
        os.remove(path)

    def replace(self, generator):
        path = f"{self.folder()}/large"
        self.run_program(["cp", self.large, path + ".new"])
        os.rename(path + ".new", path)
        self.assertTrue(filecmp.cmp(self.large, path, shallow=False), "what was copied is other bytes")
        with open(path, "rb") as file:
            for _ in range(50):
                offset = generator.randrange(soak.MIB)
                file.seek(offset)
                self.assertEqual(len(file.read(5000)), 5000)

    def keep_records(self, generator):
        path = f"{self.folder()}/db"
        with contextlib.closing(sqlite3.connect(path)) as database:
            with database:
                database.execute("create table if not exists t (k integer primary key, v text)")
                database.execute("insert into t (v) values (?)", ("x" * generator.randrange(1000),))
            count, last = database.execute("select count(*), max(k) from t").fetchone()
            self.assertEqual(count, last)
        if count > 30:
            os.remove(path)

    def look(self, _):
        for argv in (["ls", "-lR", self.folder()], ["find", self.folder(), "-newer", self.tree], ["df", self.mnt]):
            self.run_program(argv)

    def kill_a_writer(self, generator):
        path = f"{self.folder()}/killed"
        writer = subprocess.Popen(["cp", self.large, path], stderr=subprocess.DEVNULL)
        self.over.wait(generator.uniform(0, 0.2))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        if os.path.exists(path):
            os.remove(path)

    def work_in_scratch(self, generator):
        path = f"{self.folder()}/changed"
        shutil.copy(self.large, path)
        with open(self.large, "rb") as source:
            content = bytearray(source.read())
        with open(path, "r+b") as file:
            for _ in range(20):
                offset = generator.randrange(len(content) - 1000)
                content[offset:offset + 1000] = piece = generator.randbytes(1000)
                file.seek(offset)
                file.write(piece)
        with open(path, "rb") as file:
            self.assertTrue(file.read() == content, "what was changed is other bytes")

    def test_nothing_grows(self):
        for number in range(PROGRAMS):
            self.until_over(getattr(self, KINDS[number % len(KINDS)]), str(number))
        self.check_flat(self.process.popen.pid)
        most = max((len(os.listdir(path)), path) for path in glob.glob(self.path("d1") + "/*/*.~xo"))
        print("entries of a name: at most", most[0], flush=True)
        self.assertLess(most[0], ENTRIES_MAX, most)
        self.run_program(["fusermount3", "-u", self.mnt])
        self.eventually(lambda: self.process.popen.poll() is not None, 60, "the process of the mount ends")
        self.assertEqual(self.process.popen.returncode, 0, self.process.output())


if __name__ == "__main__":
    xectest.main()
