#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Sizes x geometries x chunk sizes x names x protocols x layouts through one gateway for each layout, pairwise: every two
values of two dimensions meet in some object. Each is read whole, then with as many data servers away as it has parity.

`./dev test` takes the objects up to SHORT_MAX bytes; XEC_TEST_LONG=1 takes all.
"""
# seconds: 3600
import functools
import itertools
import os
import random
import urllib.parse

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
KIB, MIB = 1024, 1024 * 1024
SHORT_MAX = 24 * MIB
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
PROTOCOLS = ("root", "http")
LAYOUTS = ("native", "xrdec")
DIMENSIONS = (tuple(SIZES), GEOMETRIES, CHUNKS, NAMES, PROTOCOLS, LAYOUTS)


def possible(size, geometry, chunk, name, protocol, layout):
    """A question mark ends a path of root://; a stripe that exceeds the budget is refused (another test)."""
    return not (protocol == "root" and "?" in name) and sum(geometry) * chunk < MEMORY - 8 * MIB


def pairs_of(row):
    return {((i, row[i]), (j, row[j])) for i, j in itertools.combinations(range(len(row)), 2)}


@functools.cache
def covering_set():
    """Rows that cover all possible pairs: greedy, the same every time."""
    open_rows = [(row, pairs_of(row)) for row in itertools.product(*DIMENSIONS) if possible(*row)]
    # Among rows of equal worth no value is preferred.
    random.Random(1).shuffle(open_rows)
    open_pairs = set().union(*(pairs for _, pairs in open_rows))
    chosen = []
    while open_pairs:
        best, covered = max(open_rows, key=lambda entry: len(entry[1] & open_pairs))
        chosen.append(best)
        open_pairs -= covered
        open_rows = [(row, pairs) for row, pairs in open_rows if pairs & open_pairs]
    return chosen


def size_of(row):
    (k, _), chunk = row[1], row[2]
    return SIZES[row[0]](k * chunk, chunk)


class Matrix(xectest.TestCase):
    def path_of(self, number, row):
        (k, m), chunk = row[1], row[2]
        return f"/{k}+{m}-{chunk}/{number}/{row[3]}"

    def content(self, size):
        """Files of one size are the same file; the sizes are few."""
        path = self.path(f"content-{size}")
        return path if os.path.exists(path) else self.random_file(f"content-{size}", size, size)

    def put(self, store, path, row):
        source = self.content(size_of(row))
        if row[4] == "root":
            self.xrdcp(source, f"{store.url}/{path}", seconds=600)
        else:
            self.curl("-T", source, store.http + urllib.parse.quote(path), seconds=600)

    def get(self, store, path, row, swap):
        """By the protocol it was written with, or the other one."""
        target = self.path("got")
        if os.path.exists(target):
            os.unlink(target)
        if (row[4] == "root") != swap and "?" not in path:
            self.xrdcp("-f", f"{store.url}/{path}", target, seconds=600)
        else:
            self.curl("-o", target, store.http + urllib.parse.quote(path), seconds=600)
            if size_of(row) == 0 and not os.path.exists(target):
                open(target, "wb").close()
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

    def test_a_stripe_beyond_the_budget_is_refused(self):
        words = [word for i in range(SERVERS) for word in ("--data", self.path(f"d{i}"))]
        result = self.run_program([self.program("xec"), "put", *words, "--geometry", "16+4", "--chunk-size", "64MiB",
                                   self.content(1), "/a"], code=None)
        self.assertNotEqual(result.code, 0)
        self.assertRegex(result.err, r"16\+4.*64.*MiB.*1\.\d+ GiB.*1\.0 GiB")


if __name__ == "__main__":
    xectest.main()
