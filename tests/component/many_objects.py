# SPDX-License-Identifier: LGPL-3.0-or-later
"""What tests of whole stores do with many objects: put them, read them all, count them, and see which archives there are."""
import json
import os
import re
import threading

import everyday


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
