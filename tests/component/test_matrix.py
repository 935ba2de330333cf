#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Sizes x geometries x chunk sizes x names x clients x layouts on one store for each layout, pairwise: every two values
of two dimensions meet in some object. The clients are xrdcp and curl through a gateway, and the program xec beside it: the only
one that can say a name with a question mark. Each object is listed under its very name, read whole, looked at in its archives
with tools that know nothing of XEC, and read with as many data servers away as it has parity.

`./dev test` takes the objects up to SHORT_MAX bytes; XEC_TEST_LONG=1 takes all.
"""
# seconds: 3600
import functools
import heapq
import itertools
import json
import os
import random
import sys
import urllib.parse
import zipfile

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
KIB, MIB = 1024, 1024 * 1024
SHORT_MAX = 24 * MIB
# The checksums of pages take Python half a second for each MiB.
PAGES_MAX = 300 * KIB
CHECK_ARCHIVE = os.path.join(xectest.REPO, "tools", "check_archive.py")
SERVERS = 20
MEMORY = 1024 * MIB

GEOMETRIES = ((1, 1), (1, 2), (2, 1), (4, 2), (8, 2), (8, 3), (10, 2), (16, 4))
CHUNKS = (4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
SIZES = {
    "nothing": lambda stripe, chunk: 0,
    "one byte": lambda stripe, chunk: 1,
    "27 KB": lambda stripe, chunk: 27_000,
    "chunk - 1": lambda stripe, chunk: chunk - 1,
    "chunk + 1": lambda stripe, chunk: chunk + 1,
    "stripe - 1": lambda stripe, chunk: stripe - 1,
    "stripe + 1": lambda stripe, chunk: stripe + 1,
    "3 stripes + 7": lambda stripe, chunk: 3 * stripe + 7,
    "300 MB": lambda stripe, chunk: 300_000_000,
}
NAMES = ("plain", "with two blanks", "ünïcode €", "x" * 255, "/".join(f"d{i}" for i in range(20)), "per%cent%41",
         "hash#mark", "question?mark")
CLIENTS = ("root", "http", "xec")
LAYOUTS = ("native", "xrdec")
DIMENSIONS = (tuple(SIZES), GEOMETRIES, CHUNKS, NAMES, CLIENTS, LAYOUTS)


def possible(size, geometry, chunk, name, client, layout):
    """A question mark ends a path for XRootD, also that of an archive of layout xrdec; a stripe that exceeds the budget is
    refused, and an object of more stripes than an archive has members, unless its chunks may be larger: in layout native,
    and where the size is told before, as it is not over http. (The refusals are tests of their own.)"""
    (k, _), stripes_max = geometry, 65_534
    larger_chunks = SIZES[size](k * chunk, chunk) > stripes_max * k * chunk
    return (("?" not in name or (client, layout) == ("xec", "native")) and sum(geometry) * chunk < MEMORY - 8 * MIB and
            (not larger_chunks or (layout == "native" and client != "http")))


def pairs_of(row):
    return {((i, row[i]), (j, row[j])) for i, j in itertools.combinations(range(len(row)), 2)}


@functools.cache
def covering_set():
    """Rows that cover all possible pairs: greedy, the same every time. What a row is worth only falls, so that the heap's
    first is the best as soon as its worth is up to date."""
    rows = [row for row in itertools.product(*DIMENSIONS) if possible(*row)]
    # Among rows of equal worth no value is preferred.
    random.Random(1).shuffle(rows)
    pairs = [pairs_of(row) for row in rows]
    open_pairs = set().union(*pairs)
    heap = [(-len(of_row), index) for index, of_row in enumerate(pairs)]
    heapq.heapify(heap)
    chosen = []
    while open_pairs:
        worth, index = heap[0]
        now = len(pairs[index] & open_pairs)
        if now == -worth:
            chosen.append(rows[index])
            open_pairs -= pairs[index]
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (-now, index))
    return chosen


def size_of(row):
    (k, _), chunk = row[1], row[2]
    return SIZES[row[0]](k * chunk, chunk)


class Matrix(xectest.TestCase):
    def folder_of(self, row):
        (k, m), chunk = row[1], row[2]
        return f"/{k}+{m}-{chunk}"

    def path_of(self, number, row):
        return f"{self.folder_of(row)}/{number}/{row[3]}"

    def content(self, size):
        """Files of one size are the same file; the sizes are few."""
        path = self.path(f"content-{size}")
        return path if os.path.exists(path) else self.random_file(f"content-{size}", size, size)

    def xec(self, store, command, *arguments):
        """As root, where the test is: it then works as the owner of the store, and may write into the test's directory."""
        return self.run_program([self.program("xec"), command, *store.store_options(), *arguments], seconds=600)

    def put(self, store, path, row):
        source, client = self.content(size_of(row)), row[4]
        if client == "root":
            self.xrdcp(source, f"{store.url}/{path}", seconds=600)
        elif client == "http":
            self.curl("-T", source, store.http + urllib.parse.quote(path), seconds=600)
        else:
            self.xec(store, "put", source, path)

    def get(self, store, path, row, swap):
        """By the client it was written with, or the next one."""
        target = self.path("got")
        if os.path.exists(target):
            os.unlink(target)
        client = "xec" if "?" in path else CLIENTS[(CLIENTS.index(row[4]) + swap) % len(CLIENTS)]
        if client == "root":
            self.xrdcp("-f", f"{store.url}/{path}", target, seconds=600)
        elif client == "http":
            self.curl("-o", target, store.http + urllib.parse.quote(path), seconds=600)
            if size_of(row) == 0 and not os.path.exists(target):
                open(target, "wb").close()
        else:
            self.xec(store, "get", path, target)
        self.assert_same(self.content(size_of(row)), target)

    def keeps_attributes(self):
        probe = self.path("probe")
        try:
            with open(probe, "wb"):
                os.setxattr(probe, "user.xec", b"1")
        except OSError:
            return False
        return True

    def test_pairs_native(self):
        self.check_layout("native")

    def test_pairs_xrdec(self):
        if not self.keeps_attributes():
            self.skipTest(f"{self.dir} keeps no attributes")
        self.check_layout("xrdec")

    def check_layout(self, layout):
        rows = [(number, row) for number, row in enumerate(covering_set()) if row[5] == layout]
        chosen = [(number, row) for number, row in rows if LONG or size_of(row) <= SHORT_MAX]
        rules = sorted({(row[1], row[2]) for _, row in chosen})
        options = [word for (k, m), chunk in rules
                   for word in ("--rule", f"/{k}+{m}-{chunk} {k}+{m} {chunk // KIB}KiB")]
        store = self.serve(dirs=SERVERS, geometry="16+4", layout=layout, options=("--sync", "none", *options))
        for number, row in chosen:
            with self.subTest(row=row):
                self.put(store, self.path_of(number, row), row)
                self.get(store, self.path_of(number, row), row, swap=False)
        self.check_names(store, chosen)
        self.check_every_archive(store, layout, chosen)
        if layout == "native":
            self.check_one_archive_of_each(store, chosen)
        for away in range(1, 5):
            folder = store.dirs[(away * 7) % SERVERS]
            os.rename(folder, folder + ".away")
            for number, row in chosen:
                if row[1][1] == away:
                    with self.subTest(row=row, away=away):
                        self.get(store, self.path_of(number, row), row, swap=True)
        print(f"layout {layout}: {len(chosen)} of {len(rows)} objects of the pairwise set, "
              f"{sum(size_of(row) for _, row in chosen) / MIB:.0f} MiB"
              + ("" if LONG else "; the larger ones with XEC_TEST_LONG=1"), flush=True)

    def check_names(self, store, rows):
        """What is there has the very names that were said, the sizes and the geometries of the rules, and nothing else is."""
        found = {entry["path"]: entry for entry in json.loads(self.xec(store, "ls", "-R", "--json", "/").out)
                 if entry["type"] != "directory"}
        self.assertEqual({path: entry["size"] for path, entry in found.items()},
                         {self.path_of(number, row): size_of(row) for number, row in rows})
        stats = json.loads(self.xec(store, "stat", "--json", *(self.path_of(number, row) for number, row in rows)).out)
        self.assertEqual([(stat["geometry"], stat["chunk_size"]) for stat in stats],
                         [(f"{row[1][0]}+{row[1][1]}", row[2]) for _, row in rows])

    def check_one_archive_of_each(self, store, rows):
        """One that has members, of a different lane for each object: all that the object has, for homes without a chunk have
        archives without members."""
        for number, row in rows:
            with self.subTest(row=row, archive=True):
                # Below it the names are quoted (docs/protocol.md).
                roots = [folder + f"{self.folder_of(row)}/{number}" for folder in store.dirs]
                members = {}
                for path in (os.path.join(root, file) for root in roots for file in self.files_below(root)):
                    if os.path.basename(path).startswith("p."):
                        with zipfile.ZipFile(path) as file:
                            self.assertTrue(file.comment.startswith(b"!xec 2\n"))
                            members[path] = len(file.namelist())
                filled = [path for path, count in sorted(members.items()) if count > 0]
                self.assertGreaterEqual(len(filled), 1 + row[1][1] if size_of(row) else 0)
                self.assertGreaterEqual(len(members), 1 + row[1][1])
                if filled:
                    archive = filled[number % len(filled)]
                    with zipfile.ZipFile(archive) as file:
                        self.assertIsNone(file.testzip())
                    self.run_program(["unzip", "-tqq", archive], seconds=600)

    def check_every_archive(self, store, layout, rows):
        """By the checker that shares no code with XEC: members, sizes, CRCs, every parity byte, attributes or manifests."""
        for (k, m), chunk in sorted({(row[1], row[2]) for _, row in rows}):
            of_rule = [row for _, row in rows if (row[1], row[2]) == ((k, m), chunk)]
            folders = [path for path in (folder + self.folder_of(of_rule[0]) for folder in store.dirs) if os.path.isdir(path)]
            options = [] if sum(size_of(row) for row in of_rule) <= PAGES_MAX else ["--no-pages"]
            if layout == "xrdec":
                options += ["--geometry", f"{k}+{m}", "--chunk-size", chunk, "--require-attributes"]
            with self.subTest(geometry=(k, m), chunk=chunk):
                result = self.run_program([sys.executable, CHECK_ARCHIVE, "--layout", layout, *options, *folders],
                                          seconds=1800)
                self.assertRegex(result.out, rf"(?m)^{len(of_rule)} objects, 0 bad$")

    def test_a_stripe_beyond_the_budget_is_refused(self):
        words = [word for i in range(SERVERS) for word in ("--data", self.path(f"d{i}"))]
        result = self.run_program([self.program("xec"), "put", *words, "--geometry", "16+4", "--chunk-size", "64MiB",
                                   self.content(1), "/a"], code=None)
        self.assertNotEqual(result.code, 0)
        self.assertRegex(result.err, r"16\+4.*64.*MiB.*1\.\d+ GiB.*1\.0 GiB")


if __name__ == "__main__":
    xectest.main()
