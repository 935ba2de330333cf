# SPDX-License-Identifier: LGPL-3.0-or-later
"""The load generator of ./dev bench does what it counts, finds what is wrong, and names it. No test here asserts how fast
anything is."""
import json
import os
import sys

import xectest

sys.path.insert(0, os.path.join(xectest.REPO, "bench"))
from harness import subjects  # noqa: E402

MIB = 1 << 20
# More than one request, less than one page, nothing, and no multiple of anything.
SIZES = [3 * MIB, 1000, 0, 1_234_567]
SIZES_TEXT = "3MiB,1KB,0,1234567"
TRANSFER = ["--request", "256KiB"]


class LoadCase(xectest.TestCase):
    def load(self, url, scenario, *options, code=0, **named):
        """Runs xec_load and answers what it printed; after a failure also what it said."""
        result = self.run_program([self.program("xec_load"), scenario, "--url", url, *options], code=code, **named)
        answer = json.loads(result.out)
        self.assertEqual(answer["failures"] > 0, code != 0, result)
        if code:
            self.assertIn(answer["first_failure"], result.err)
        else:
            self.assertIsNone(answer["first_failure"])
        return answer

    def plain(self):
        plain = subjects.Plain(self.path("plain"), self.free_port())
        plain.start()
        self.addCleanup(plain.stop)
        return plain

    def make_folders(self, url, *names):
        for name in names:
            self.xrdfs(url, "mkdir", "/" + name)

    def make_files(self, url, clients=5):
        self.make_folders(url, "f")
        return self.load(url, "stream", "--operation", "write", "--folder", "/f", "--clients", str(clients), "--sizes",
                         SIZES_TEXT, *TRANSFER)


class Scenarios(LoadCase):
    """Each scenario on a plain server and on a store."""

    def check_fields(self, answer, operations, size):
        self.assertEqual((answer["operations"], answer["bytes"]), (operations, size), answer)
        for field in ("seconds", "operations_per_second", "cpu_seconds", "peak_rss_mib"):
            self.assertGreater(answer[field], 0, field)
        self.assertEqual(answer["mib_per_second"] > 0, size > 0)
        latency = answer["latency_ms"]
        self.assertTrue(0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["max"], latency)
        self.assertTrue(0 < latency["mean"] <= latency["max"], latency)

    def small(self, url):
        self.make_folders(url, "s")
        common = ["--folder", "/s", "--size", "27KB"]
        put = self.load(url, "small", "--operation", "put", *common, "--clients", "7", "--count", "3")
        self.check_fields(put, 21, 21 * 27_000)
        self.assertEqual(put["objects_per_client"], 3)
        names = sorted(line.rpartition("/")[2] for line in self.xrdfs(url, "ls", "/s").out.split())
        self.assertEqual(names, [f"c{client:03}-{number:06}" for client in range(7) for number in range(3)])
        clients = [*common, "--clients", "7", "--objects", "3"]
        self.check_fields(self.load(url, "small", "--operation", "get", *clients, "--count", "4"), 28, 28 * 27_000)
        self.check_fields(self.load(url, "small", "--operation", "stat", *clients, "--count", "4"), 28, 0)
        # The time is over at once: each client still does one.
        self.check_fields(self.load(url, "small", "--operation", "stat", *clients, "--seconds", "0"), 7, 0)
        self.check_fields(self.load(url, "small", "--operation", "delete", *clients), 21, 0)
        self.assertEqual(self.xrdfs(url, "ls", "/s").out.split(), [])

    def files(self, url):
        total = sum(SIZES) + SIZES[0]
        self.check_fields(self.make_files(url), 5, total)
        for number in range(5):
            size = os.path.getsize(self.fetch(url, f"/f/s{number:04}"))
            self.assertEqual(size, SIZES[number % len(SIZES)])
        read = ["--operation", "read", "--folder", "/f", "--clients", "5", "--sizes", SIZES_TEXT, *TRANSFER]
        for extra in ([], ["--no-page-reads"], ["--window", "1"], ["--rate", "1000"], ["--no-compare"]):
            self.check_fields(self.load(url, "stream", *read, *extra), 5, total)
        files = ["--folder", "/f", "--files", "5", "--sizes", SIZES_TEXT, *TRANSFER]
        self.check_fields(self.load(url, "reread", *files, "--clients", "2", "--rounds", "3"), 30, 6 * total)
        self.make_folders(url, "g")
        self.check_fields(self.load(url, "copy", *files, "--out", "/g", "--clients", "2", "--each", "5",
                                    "--no-page-writes"), 10, 2 * total)
        for client in range(2):
            copies = sorted(self.sha256(self.fetch(url, f"/g/c{client:03}-{number:03}")) for number in range(5))
            self.assertEqual(copies, sorted(self.sha256(self.fetch(url, f"/f/s{number:04}")) for number in range(5)))

    def fetch(self, url, name):
        self.xrdcp("--force", f"{url}/{name}", self.path("fetched" + name.replace("/", "-")))
        return self.path("fetched" + name.replace("/", "-"))

    def reads(self, url):
        self.make_files(url, 1)
        where = ["--path", "/f/s0000", "--size", "3MiB", "--clients", "4"]
        sparse = self.load(url, "sparse", *where, "--piece", "10000", "--seconds", "0")
        self.check_fields(sparse, 4, 40_000)
        vector = ["vector", *where, "--pieces", "1024", "--max", "3000", "--span", "3MiB", "--count", "2"]
        first, again = self.load(url, *vector), self.load(url, *vector)
        self.check_fields(first, 8, first["bytes"])
        self.assertEqual(first["bytes"], again["bytes"])
        self.assertTrue(8 * 1024 < first["bytes"] < 8 * 1024 * 3000, first)
        self.assertNotEqual(first["bytes"], self.load(url, *vector, "--seed", "2")["bytes"])

    def ingest_and_list(self, url):
        self.make_folders(url, "i")
        ingest = self.load(url, "ingest", "--folder", "/i", "--size", "300000", "--interval", "0.01", "--seconds", "0.1",
                           *TRANSFER)
        self.check_fields(ingest, 10, 3_000_000)
        self.assertEqual(len(ingest["durations_s"]), 10)
        self.assertGreater(min(ingest["durations_s"]), 0)
        for options in ([], ["--stat"]):
            listing = self.load(url, "list", "--path", "/i", "--count", "2", *options)
            self.check_fields(listing, 2, 0)
            self.assertEqual(listing["entries"], 10)
            self.assertTrue(0 < listing["first_entry_s"] <= listing["all_s"], listing)

    def check_all(self, url):
        self.small(url)
        self.files(url)
        self.xrdfs(url, "mv", "/f", "/f-of-files")
        self.reads(url)
        self.ingest_and_list(url)

    def test_a_listing_in_many_parts(self):
        plain = self.plain()
        self.make_folders(plain.url, "l")
        # xrootd sends about 8 KiB of names in a part.
        for number in range(500):
            with open(os.path.join(plain.dir, "data", "l", f"{number:0200}"), "wb"):
                pass
        for options in ([], ["--stat"]):
            listing = self.load(plain.url, "list", "--path", "/l", *options)
            self.assertEqual(listing["entries"], 500)
            self.assertLess(listing["first_entry_s"], listing["all_s"])

    def test_on_a_plain_server(self):
        self.check_all(self.plain().url)

    def test_on_a_store(self):
        self.check_all(self.serve(geometry="2+1", chunk_size="64KiB").url)


class ManyClients(LoadCase):
    def test_three_hundred_on_a_plain_server(self):
        url = self.plain().url
        self.make_folders(url, "s")
        common = ["--folder", "/s", "--size", "1000", "--clients", "300"]
        self.assertEqual(self.load(url, "small", "--operation", "put", *common, "--count", "2")["operations"], 600)
        self.assertEqual(self.load(url, "small", "--operation", "get", *common, "--count", "2", "--objects",
                                   "2")["operations"], 600)

    def test_three_hundred_on_a_store(self):
        url = self.serve(geometry="2+1").url
        common = ["--folder", "/s", "--size", "1000", "--clients", "300"]
        self.assertEqual(self.load(url, "small", "--operation", "put", *common, "--count", "1")["operations"], 300)
        for operation in ("get", "stat"):
            self.assertEqual(self.load(url, "small", "--operation", operation, *common, "--count", "1", "--objects",
                                       "1")["operations"], 300)

    def test_a_limit_of_open_files_is_raised_or_told(self):
        url = self.plain().url
        self.make_folders(url, "s")
        argv = [self.program("xec_load"), "small", "--url", url, "--operation", "stat", "--folder", "/s", "--count", "1",
                "--objects", "1"]

        def limited(soft, hard, clients, code):
            return self.run_program(["prlimit", f"--nofile={soft}:{hard}", *argv, "--clients", str(clients)], code=code)
        # The objects do not exist: it came as far as asking for them.
        self.assertIn("stat /s/c", limited(64, 1024, 100, 1).err)
        refused = limited(64, 300, 100, 1)
        self.assertEqual(refused.out, "")
        self.assertRegex(refused.err, "^xec_load: so many clients need 400 open files and the limit is 300: ")


class Failures(LoadCase):
    def test_wrong_bytes_are_found(self):
        plain = self.plain()
        url = plain.url
        self.make_files(url, 1)
        self.flip_byte(os.path.join(plain.dir, "data", "f", "s0000"), 2 * MIB + 5)
        self.make_folders(url, "g", "s")
        files = ["--folder", "/f", "--sizes", "3MiB", *TRANSFER]
        where = ["--path", "/f/s0000", "--size", "3MiB"]
        runs = [["stream", "--operation", "read", *files], ["reread", *files], ["copy", *files, "--out", "/g"],
                ["sparse", *where, "--piece", "3MiB", "--seconds", "0"],
                ["vector", *where, "--pieces", "2", "--min", "1572864", "--max", "1572864", "--span", "3MiB"]]
        for scenario, *options in runs:
            answer = self.load(url, scenario, *options, code=1)
            self.assertRegex(answer["first_failure"], r"^/f/s0000: wrong bytes between \d+ and \d+$")
            self.assertEqual((answer["operations"], answer["failures"]), (0, 1))
            self.xrdfs(url, "rm", "/g/c000-000", code=None)
            self.load(url, scenario, *options, "--no-compare")
        small = ["--folder", "/s", "--clients", "3"]
        self.load(url, "small", "--operation", "put", *small, "--count", "2")
        self.flip_byte(os.path.join(plain.dir, "data", "s", "c001-000001"), 26_999)
        answer = self.load(url, "small", "--operation", "get", *small, "--count", "2", "--objects", "2", code=1)
        self.assertEqual(answer["first_failure"], "/s/c001-000001: wrong bytes")
        self.assertEqual((answer["operations"], answer["failures"]), (5, 1))

    def test_an_object_of_another_name_is_found(self):
        url = self.serve(geometry="2+1").url
        self.load(url, "small", "--operation", "put", "--folder", "/s", "--clients", "2", "--count", "1")
        self.xrdfs(url, "mv", "/s/c001-000000", "/s/c000-000001")
        answer = self.load(url, "small", "--operation", "get", "--folder", "/s", "--count", "2", "--objects", "2", code=1)
        self.assertEqual(answer["first_failure"], "/s/c000-000001: wrong bytes")

    def test_a_missing_object_is_named(self):
        url = self.serve(geometry="2+1").url
        where = ["--path", "/f/s0000", "--size", "3MiB"]
        files = ["--folder", "/f", "--sizes", "3MiB"]
        small = ["--folder", "/f", "--objects", "1"]
        for verb, name, options in (
                ("open", "/f/c000-000000", ["small", "--operation", "get", *small]),
                ("stat", "/f/c000-000000", ["small", "--operation", "stat", *small]),
                ("delete", "/f/c000-000000", ["small", "--operation", "delete", *small]),
                ("open", "/f/s0000", ["stream", "--operation", "read", *files]),
                ("open", "/f/s0000", ["reread", *files]),
                ("open", "/f/s0000", ["copy", *files, "--out", "/g"]),
                ("open", "/f/s0000", ["sparse", *where, "--piece", "5"]),
                ("open", "/f/s0000", ["vector", *where, "--span", "3MiB", "--max", "5"]),
                ("list", "/f", ["list", "--path", "/f"])):
            answer = self.load(url, *options, code=1)
            self.assertRegex(answer["first_failure"], f"^{verb} {name} failed: .*no such file or directory( \\(.* does not exist\\))?$")
            self.assertEqual((answer["operations"], answer["failures"]), (0, 1))

    def test_an_existing_object_is_not_replaced(self):
        url = self.plain().url
        self.make_files(url)
        answer = self.load(url, "stream", "--operation", "write", "--folder", "/f", "--clients", "5", "--sizes", "7", code=1)
        self.assertRegex(answer["first_failure"], "^create /f/s000. failed: ")
        self.assertEqual((answer["operations"], answer["failures"]), (0, 5))

    def test_an_object_of_another_size_is_told(self):
        url = self.plain().url
        self.make_files(url, 1)
        for options in (["stream", "--operation", "read", "--folder", "/f", "--sizes", "3MB"],
                        ["sparse", "--path", "/f/s0000", "--size", "3MB", "--piece", "5"]):
            self.assertEqual(self.load(url, *options, code=1)["first_failure"],
                             "/f/s0000 has 3145728 bytes instead of 3000000")

    def test_a_server_that_is_not_there(self):
        url = f"root://{xectest.HOST}:{self.free_port()}"
        answer = self.load(url, "list", "--path", "/", code=1, env=xectest.QUICK_CLIENT)
        self.assertRegex(answer["first_failure"], "^connect to root://c000@127.0.0.1:.* failed: ")
        ingest = self.load(url, "ingest", "--folder", "/", "--size", "5", "--interval", "0.1", "--seconds", "0.2", code=1,
                           env=xectest.QUICK_CLIENT)
        self.assertEqual((ingest["failures"], ingest["durations_s"]), (2, [None, None]))

    def test_a_server_that_dies(self):
        for scenario, *options in (["stream", "--operation", "write", "--rate", "1", "--clients", "3", "--sizes", "1GiB"],
                                   ["ingest", "--rate", "1", "--size", "1GiB", "--interval", "0.01", "--seconds", "0.03"]):
            server = subjects.Plain(self.path(scenario), self.free_port())
            server.start()
            self.addCleanup(server.stop)
            self.make_folders(server.url, "f")
            load = self.background([self.program("xec_load"), scenario, "--url", server.url, "--folder", "/f", *options,
                                    *TRANSFER])
            data = os.path.join(server.dir, "data", "f")
            self.eventually(lambda: len(os.listdir(data)) == 3 and all(os.path.getsize(os.path.join(data, name)) > 0
                                                                       for name in os.listdir(data)), 60, "three are written")
            server.daemon.kill()
            self.assertEqual(load.wait(), 1)
            first, second = load.output().splitlines()
            printed, said = (first, second) if first.startswith("{") else (second, first)
            self.assertEqual(json.loads(printed)["failures"], 3)
            self.assertRegex(said, "^xec_load: (write|close) /f/[si]000[012] failed: ")

    def test_what_makes_no_sense_is_a_usage_error(self):
        load = self.program("xec_load")
        url = ["--url", "root://localhost:1"]
        for words, said in (([], "say one of small, stream"), (["juggle"], "there is no scenario juggle"),
                            (["list", "--path", "/"], "--url"),
                            (["small", *url, "--operation", "get", "--folder", "/f"], "--objects"),
                            (["small", *url, "--operation", "put", "--folder", "/f", "--clients", "1001"], "--clients"),
                            (["sparse", *url, "--path", "/f", "--size", "5", "--piece", "6"], "--piece 6")):
            result = self.run_program([load, *words], code=2)
            self.assertIn(said, result.err)
            self.assertEqual(result.out, "")
        self.assertIn("--pieces", self.run_program([load, "vector", "--help"]).out)


if __name__ == "__main__":
    xectest.main()
