# SPDX-License-Identifier: LGPL-3.0-or-later
"""What tests of whole stores do with many objects: put them, read them all, count them, and see which archives there are."""
import collections
import contextlib
import json
import os
import re
import subprocess
import threading
import zipfile

import everyday

ARCHIVES = 6  # of an object of 4+2, at most
TIDIED = 30   # seconds
# So that what was interrupted is tidied at once, by a cleaner that runs alone.
AT_ONCE = ["--upload-grace", "1s", "--superseded-grace", "1s", "--operation-limit", "1s", "--tombstone-horizon", "2s"]


class Reader(threading.Thread):
    """Reads one object after another through a gateway until it is told to stop; remembers what went wrong."""

    def __init__(self, test, url, objects):
        super().__init__(daemon=True)
        self.test, self.url, self.objects = test, url, objects
        self.stopping = threading.Event()
        self.reads, self.problems = 0, []

    def run(self):
        while not self.stopping.is_set():
            for name, file in self.objects.items():
                got = self.test.curl("-f", self.url + name, code=None, binary=True)
                if got.code != 0 or got.out != self.test.content(file):
                    self.problems.append((name, got.code, got.err))
                self.reads += 1

    def stop(self):
        self.stopping.set()
        self.join()


class ObjectsTest(everyday.EverydayTest):
    def put_objects(self, xec, count):
        """Objects of all kinds of sizes; answers name -> file."""
        os.makedirs(self.path("in"))
        sizes = [0, 1, 5000, 300_000, 400_000, 700_123]
        files = [self.random_file(f"in/{number:03d}", sizes[number % len(sizes)], number) for number in range(count)]
        xec("mkdir", "-p", "/data/more")
        half = count // 2
        xec("put", "-q", *files[:half], "/data/")
        xec("put", "-q", *files[half:], "/data/more/")
        return {("/data/" if number < half else "/data/more/") + os.path.basename(file): file
                for number, file in enumerate(files)}

    def check_objects(self, xec, objects):
        for name, file in objects.items():
            self.assertEqual(xec("cat", name, binary=True).out, self.content(file), name)

    def census(self, xec, *options):
        return json.loads(xec("health", "--json", *options, code=None).out)["census"]

    def assert_full(self, xec, count):
        census = self.census(xec, "--deep")
        self.assertEqual((census["objects"], census["full"], census["thin"]), (count, count, 0), census["names"][:3])
        self.assertEqual({(of["geometry"], level["survives"]) for of in census["geometries"] for level in of["levels"]},
                         {("4+2", 2)})

    def archives(self, folders):
        """Every promoted archive with its size and time."""
        return {(folder, path): (os.stat(os.path.join(folder, path)).st_size,
                                 os.stat(os.path.join(folder, path)).st_mtime_ns)
                for folder in folders for path in self.files_below(folder) if re.search(r"/p\.[^/]*$", path)}

    def kill_soon(self, moments, process, seconds):
        """At a moment within so many seconds. Was it at work?"""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.popen.wait(moments.uniform(0, seconds))
        at_work = process.popen.poll() is None
        process.kill()
        return at_work

    def strays(self, xec, servers):
        """What lies on these servers and is no archive, or witness, of the one version of an object that lives."""
        living = {entry["path"] for entry in json.loads(xec("ls", "-R", "--json", "/").out) if entry["type"] == "object"}
        entries = collections.defaultdict(set)
        for server in servers:
            for path in self.files_below(server.data):
                if not path.startswith(".xec/"):
                    name, _, entry = path.rpartition(".~xo/")
                    entries["/" + name].add((entry, os.path.join(server.data, path)))

        def has_chunks(path):
            """A home without room got a witness from the upload instead."""
            with zipfile.ZipFile(path) as archive:
                return len(archive.namelist()) > 0

        def is_right(name, found):
            archives = [path for entry, path in found if entry.startswith("p.")]
            versions = {entry for entry, _ in found if entry.startswith("p.")}
            others = [entry for entry, _ in found if not entry.startswith(("p.", "w."))]
            once = len(archives) <= ARCHIVES or len(list(filter(has_chunks, archives))) <= ARCHIVES
            return name in living and len(versions) == 1 and once and not others
        return {name: found for name, found in entries.items() if not is_right(name, found)}

    def check_no_strays(self, xec, servers):
        """Nor after a cleaner that need not wait."""
        def left():
            xec("clean", *AT_ONCE, code=None)
            return self.strays(xec, servers)
        with contextlib.suppress(AssertionError):
            self.eventually(lambda: not left(), TIDIED, "nothing is left over")
        self.assertEqual(left(), {})
