#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Where formats end: archives of more than 4 GiB, more members than a ZIP directory counts."""
# seconds: 3600
import json
import os
import shutil

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
GIB = 1024 ** 3
MEMBERS_MAX = 65_534
CHUNK = 4096


class Limits(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.words = [word for i in (1, 2, 3) for word in ("--data", self.path(f"d{i}"))]

    def xec(self, command, *operands, **options):
        return self.run_program([self.program("xec"), command, *self.words, *operands], seconds=1800, **options)

    def sparse_file(self, size):
        """Zeros but for a mark every 64 MiB, so that a byte from the wrong place shows."""
        path = self.path("large")
        with open(path, "wb") as file:
            file.truncate(size)
            for at in range(0, size, 64 << 20):
                file.seek(at)
                file.write(b"%016d" % at)
        return path

    def biggest_archive(self):
        return max((os.path.join(folder, name) for root in ("d1", "d2", "d3")
                    for folder, _, names in os.walk(self.path(root)) for name in names), key=os.path.getsize)

    def test_an_archive_of_more_than_4_GiB(self):
        if not LONG:
            self.skipTest("10 GiB of disk; with XEC_TEST_LONG=1")
        if shutil.disk_usage(self.dir).free < 16 * GIB:
            self.skipTest("needs 16 GiB of free disk")
        source = self.sparse_file(5 * GIB + 12_345)
        self.xec("put", "-q", "--geometry", "1+1", "--sync", "none", source, "/large")
        self.assertGreater(os.path.getsize(self.biggest_archive()), 5 * GIB)
        self.run_program(["unzip", "-tqq", self.biggest_archive()], seconds=1800)
        self.read_with_each_server_away(source, "/large")

    def compare(self, source, path):
        self.run_program(["bash", "-o", "pipefail", "-c", '"$@" | cmp - "$0"', source, self.program("xec"), "cat",
                          *self.words, path], seconds=1800)

    def read_with_each_server_away(self, source, path):
        for away in ("d1", "d2", "d3"):
            os.rename(self.path(away), self.path("away"))
            self.compare(source, path)
            os.rename(self.path("away"), self.path(away))

    def test_more_members_than_an_archive_may_have(self):
        """With the size known larger chunks are taken; a stream of unknown size is refused where it gets too long,
        and leaves nothing."""
        size = MEMBERS_MAX * CHUNK + 1
        source = self.sparse_file(size)
        self.xec("put", "-q", "--geometry", "1+1", "--chunk-size", "4KiB", "--sync", "none", source, "/known")
        stat = self.xec("stat", "--json", "/known").out
        self.assertIn('"chunk_size": 8192', stat)
        self.compare(source, "/known")
        put = [self.program("xec"), "put", "-q", *self.words, "--chunk-size", "4KiB", "--sync", "none", "-", "/unknown"]
        result = self.run_program(["bash", "-c", 'cat "$0" | "$@"', source, *put], seconds=600, code=None)
        if result.code == 0:
            self.fail("an archive has more members than the format allows")
        self.assertIn("the most that a stream of unknown size can have with chunks of 4.0 KiB", result.err)
        self.xec("stat", "/unknown", code=3)
        self.assertEqual([file for root in ("d1", "d2", "d3") for file in self.files_below(self.path(root))
                          if file.startswith("unknown")], [])

    def test_more_members_through_a_gateway(self):
        """A size that the client tells has larger chunks; where it tells none the upload fails, and the name stays as it was.
        xrdcp tells the size of a file; XRootD 5.5.3 does not pass on what curl tells, unless it stands in the URL."""
        store = self.serve(dirs=3, geometry="1+1", chunk_size="4KiB", clean_interval="1h", options=("--sync", "none"))
        size = MEMBERS_MAX * CHUNK + 1
        source = self.sparse_file(size)
        told = {"/root": lambda: self.xrdcp(source, f"{store.url}//root")}
        if LONG:
            told["/http"] = lambda: self.curl("-T", source, f"{store.http}/http?oss.asize={size}")
        for name, upload in told.items():
            upload()
            self.assertEqual(json.loads(store.xec("stat", "--json", name).out)[0]["chunk_size"], 2 * CHUNK)
            if LONG:
                self.run_program(["bash", "-o", "pipefail", "-c", f"curl -sSf {store.http}{name} | cmp - {source}"])
        before = self.random_file("before", 10_000)
        self.xrdcp(before, f"{store.url}//old")
        for name in ("/old", "/new") if LONG else ("/old",):
            by_xrdcp = self.run_program(["bash", "-c", f"xrdcp --nopbar -f - {store.url}/{name} <{source}"], code=None)
            self.assertRegex(by_xrdcp.err, r"\[30\d\d\] Unable to (pg)?write")
            self.assertNotEqual(by_xrdcp.code, 0, by_xrdcp)
            if LONG:
                self.assertNotEqual(self.curl("-T", source, store.http + name, code=None).code, 0)
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/new", code=54).err)
        self.xrdcp(f"{store.url}//old", self.path("after"))
        self.assert_same(before, self.path("after"))
        self.eventually(lambda: not self.uploads(store), 30, "what the refused uploads had written is removed")
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as log:
            self.assertIn("the most that a stream of unknown size can have with chunks of 4.0 KiB", log.read())

    def uploads(self, store):
        """Archives that belong to no version (docs/protocol.md)."""
        return [file for folder in store.dirs for file in self.files_below(folder)
                if ".~xo/" in file and not os.path.basename(file).startswith(("p.", "w."))]

    def test_as_many_members_as_an_archive_may_have(self):
        source = self.sparse_file(MEMBERS_MAX * CHUNK)
        self.xec("put", "-q", "--geometry", "1+1", "--chunk-size", "4KiB", "--sync", "none", source, "/full")
        self.assertIn('"chunk_size": 4096', self.xec("stat", "--json", "/full").out)
        self.run_program(["unzip", "-tqq", self.biggest_archive()], seconds=600)
        self.read_with_each_server_away(source, "/full")


if __name__ == "__main__":
    xectest.main()
