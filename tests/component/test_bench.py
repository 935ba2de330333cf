# SPDX-License-Identifier: LGPL-3.0-or-later
"""./dev bench fills every cell of its tables, goes on when something fails and says so. No test here asserts how fast
anything is."""
import contextlib
import http.server
import io
import json
import os
import re
import shutil
import ssl
import sys
import threading
import xml.etree.ElementTree

import xectest

sys.path.insert(0, os.path.join(xectest.REPO, "bench"))
import workloads  # noqa: E402
from harness import goals, meters, options as command_line, requests, results, web_site  # noqa: E402

BENCH = os.path.join(xectest.REPO, "bench", "run_bench.py")
BOTH = ["embedded none", "cluster none"]
ALL = ["plain", *BOTH]
WITH_CACHES = ["embedded none", "embedded cache", "cluster none", "cluster cache"]
# Tables of which not all subjects are part.
COLUMNS = {"degraded": BOTH, "small requests": ["cluster none"], "web names requests": ["cluster none"]}
# Rows of which not all subjects of their table are part.
BEHIND = re.compile(r"data servers? for each|a page for each end|gone: ")
ON_CLUSTERS = re.compile(r"server killed|requests to data servers")
MAY_BE_ZERO = re.compile(r"CPU|failed|first entry|requests")
CELL = re.compile(r"-|\d+(\.\d+)?( x\d+\.\d+)?")


class Bench(xectest.TestCase):
    def bench(self, *options, code=0, env=None):
        return self.run_program(
            [sys.executable, BENCH, "--quick", "--servers", "4", "--geometry", "2+1", "--size", "4MiB", "--seconds", "0.05",
             "--scale", "0.005", "--settle", "0.1", "--dir", self.path("data"), *options], code=code, seconds=600, env=env)

    def values(self, name="values.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def columns(self, key, row):
        if key == "memory":
            if "reread" in row:
                return ["plain", *WITH_CACHES]
            return BOTH if "gone" in row or "degraded" in row else ["cluster none"] if "killed" in row else ALL
        if key == "reread":
            return WITH_CACHES if BEHIND.search(row) else ["plain", *WITH_CACHES]
        if ON_CLUSTERS.search(row):
            return ["cluster none"]
        return BOTH if BEHIND.search(row) else COLUMNS.get(key, ALL)

    def test_every_workload_fills_every_cell(self):
        # What failed is told before the exit code.
        result = self.bench("--only", "plain,embedded,cluster", "--sync", "none", "--clients", "3", "--goals", "--json",
                            self.path("values.json"), code=None)
        values = self.values()
        self.assertEqual(values["failures"], [])
        self.assertEqual(result.code, 0, result)
        measured = {work.name for work in workloads.ALL if work.name != "links" or os.geteuid() == 0}
        self.assertLessEqual(measured | {"memory"}, set(values["tables"]))
        for key, table in values["tables"].items():
            for row, cells in table["rows"].items():
                self.assertEqual(list(cells), self.columns(key, row), f"{key}: {row}")
                for column, measured in cells.items():
                    self.assertEqual(len(measured), 1, f"{key}: {row}, {column}")
                    self.assertIsNotNone(measured[0], f"{key}: {row}, {column}")
                    if not MAY_BE_ZERO.search(key + row):
                        self.assertGreater(measured[0], 0, f"{key}: {row}, {column}")
            self.check_printed(result.out, table)
        self.check_what_must_be(values["tables"])
        self.assertEqual([goal["what"] for goal in values["goals"] if not goal["goal"]], [])
        self.assertIn("goal (* must hold)", result.out)
        self.assertRegex(result.out.splitlines()[0], r"^\d+ cores .*XRootD \d")
        self.assertEqual(os.listdir(self.path("data")), [])

    def check_printed(self, out, table):
        lines = [re.split(r"\s{2,}", line) for line in out.splitlines()]
        start = next(number for number, cells in enumerate(lines) if cells[0] == table["title"])
        self.assertEqual(sorted(lines[start][1:]), sorted({name for row in table["rows"].values() for name in row}))
        for cells, row in zip(lines[start + 1:], table["rows"]):
            self.assertEqual(cells[0], row)
            self.assertEqual(len(cells), len(lines[start]), row)
            for cell in cells[1:]:
                self.assertRegex(cell, f"^({CELL.pattern})$", row)

    def check_what_must_be(self, tables):
        """What follows from the geometry and has nothing to do with speed."""
        stream = tables["stream"]["rows"]
        for column in BOTH:
            # 2+1, and the ends of archives.
            self.assertAlmostEqual(stream["upload, bytes to data servers for each"][column][0], 1.5, delta=0.15)
            self.assertGreaterEqual(stream["download, bytes from data servers for each"][column][0], 1.0)
        self.assertEqual(tables["listing"]["title"], "listing of 500 entries")

    def test_requests_are_counted(self):
        self.bench("--only", "cluster,small", "--sync", "none", "--clients", "2", "--requests", "--json",
                   self.path("values.json"))
        counted = self.values()["tables"]["small requests"]["rows"]
        # Three archives to be made, and three to be moved to their names.
        self.assertGreaterEqual(counted["put, 2 clients"]["cluster none"][0], 6)
        # Of the archives that 2+1 makes of so small an object one is enough.
        self.assertGreaterEqual(counted["get, 2 clients"]["cluster none"][0], 1)

    def test_policies_rounds_output_and_markdown(self):
        result = self.bench("--only", "stream,plain,proxy,embedded", "--repeat", "2", "--markdown", "--output",
                            self.path("out"))
        columns = ["plain", "plain commit", "proxy", "embedded none", "embedded commit"]
        rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in result.out.splitlines()]
        self.assertIn(["stream of 4 MiB", *columns], rows)
        upload = next(row for row in rows if row[0] == "upload MiB/s")
        self.assertRegex(upload[1], r"^\S+ \[\S+-\S+\]$")
        for cell in upload[2:]:
            self.assertRegex(cell, r"^\S+ \[\S+-\S+\] x\d+\.\d\d$")
        values = self.values("out/values.json")
        self.assertEqual(values["options"]["repeat"], 2)
        self.assertEqual(values["machine"]["versions"]["xec"], self.run_program([self.program("xec"), "version"]).out.strip())
        for cells in values["tables"]["stream"]["rows"].values():
            for measured in cells.values():
                self.assertEqual(len(measured), 2)
        self.assertIn("stream of 4 MiB", open(self.path("out", "tables.md"), encoding="utf-8").read())
        if "no plots are drawn" not in result.err:
            self.assertEqual(xml.etree.ElementTree.parse(self.path("out", "stream.svg")).getroot().tag,
                             "{http://www.w3.org/2000/svg}svg")

    def test_bad_options_are_told(self):
        os.environ.pop("AWS_ACCESS_KEY_ID", None)
        for options, words in ((["--only", "tape"], "no subject and no workload \"tape\""),
                               (["--sync", "often"], "--sync: none, commit"),
                               (["--clients", "many"], "--clients"), (["--clients", "1001"], "--clients"),
                               (["--repeat", "0"], "--repeat"), (["--size", "big"], "\"big\" is no size"),
                               (["--geometry", "8"], "is no geometry"), (["--servers", "9"], "needs 10 data servers"),
                               (["--only", "xrdec"], "needs --xrdec-prefix"),
                               (["--xrdec-prefix", self.path("none")], "there is no bin/xrootd in"),
                               (["--xrdec-prefix", "/usr"], "was built without XrdEc"),
                               (["--s3-peer", "localhost"], "is no URL"),
                               (["--s3-peer", "http://localhost:1"], "AWS_ACCESS_KEY_ID")):
            with contextlib.redirect_stderr(io.StringIO()) as error, self.assertRaises(SystemExit) as ended:
                command_line.parse(options)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(words, error.getvalue())
            self.assertEqual(len(error.getvalue().splitlines()), 1, error.getvalue())
        self.assertIn("no workload \"tape\"", self.bench("--only", "tape", code=2).err)
        self.assertIn("bench: cannot write /proc/none: ", self.bench("--output", "/proc/none", code=2).err)

    def test_an_xrootd_that_does_not_code(self):
        """Of what is measured as XrdEc every file must be on all its data servers."""
        prefix = self.path("prefix")
        for folder in ("bin", "lib"):
            os.makedirs(os.path.join(prefix, folder))
        for name in ("xrootd", "cmsd", "xrdfs", "xrdcp"):
            os.symlink(shutil.which(name), os.path.join(prefix, "bin", name))
        open(os.path.join(prefix, "lib", "libXrdEc.so"), "wb").close()
        error = self.bench("--only", "xrdec,stream", "--xrdec-prefix", prefix, code=1).err
        self.assertIn("XrdEc is not at work: a file is on 1 data servers, not on 3", error)

    def test_micro_benchmarks_beside_raw_isal(self):
        self.program("codec_bench")
        self.program("engine_bench")
        self.run_program([sys.executable, BENCH, "--micro", "--quick", "--json", self.path("values.json")])
        rows = self.values()["tables"]["micro"]["rows"]
        self.assertEqual(list(rows["Encode 8+2, 1 MiB: GB/s"]), ["xec", "raw ISA-L"])
        self.assertEqual(list(rows["WriteObject 256 MiB: GB/s"]), ["xec"])

    def test_a_peer_that_speaks_s3_and_one_that_fails(self):
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "se\"cret"}
        with FakeS3() as peer:
            self.bench("--only", "s3,stream", "--s3-peer", peer.url, "--json", self.path("values.json"), env=keys)
            self.assertEqual(list(self.values()["tables"]["stream"]["rows"]["upload MiB/s"]), ["s3"])
            self.assertEqual(peer.objects, {"/xec-bench": b""})
            peer.wrong = True
            result = self.bench("--only", "s3,plain,stream", "--s3-peer", peer.url, "--sync", "none", code=1, env=keys)
        self.assertIn("stream, preparing, s3: s3 gives back other bytes than it got", result.out)
        self.assertRegex(result.out, r"download MiB/s\s+\d")

    def test_only_good_answers_count_over_https(self):
        site = web_site.WebSite(self.path("site"))
        load = os.path.join(xectest.REPO, "bench", "load", "https_load.py")
        with FakeS3(site) as peer:
            words = [sys.executable, load, "--host", xectest.HOST, "--port", str(peer.server.server_port), "--ca",
                     site.certificate, "--header", "Authorization: AWS4-HMAC-SHA256 Credential=key/"]
            peer.objects = {"/a": b"1" * 100_000, "/b": b"2"}
            answer = json.loads(self.run_program([*words, "--method", "GET"], stdin=b"/a /b /a\n/b\n").out)
            self.assertEqual(len(answer["took"]), 4)
            missing = self.run_program([*words, "--method", "GET"], stdin=b"/a /none\n", code=1)
            self.assertIn("https_load: answered with 'HTTP/1.1 404", missing.err)
            bare = self.run_program([*words, "--method", "GET", "--wanted", "digest:"], stdin=b"/a\n", code=1)
            self.assertIn("https_load: answered with 'HTTP/1.1 200", bare.err)

    def test_bytes_of_connections(self):
        before = {(1, "a"): (100, 10, 0.0), (1, "b"): (7, 7, 299.0), (2, "c"): (5, 5, 0.0)}
        after = {(1, "a"): (150, 11, 0.0), (1, "d"): (3, 1, 0.0)}
        # b was closed by its client, who leaves none open that was idle for 300 s; c was that of a server that died.
        self.assertEqual(meters.moved_between(before, after, {1}, 2.0), (53, 2))
        self.assertIsNone(meters.moved_between(before, after, {1, 2}, 2.0))
        self.assertIsNone(meters.moved_between(before, after, {1}, 0.5))
        self.assertIsNone(meters.moved_between(before, after, {1}, 301.0))

    def test_numbers(self):
        found = results.Results()
        for turn, (plain, other) in enumerate(((10, 5), (20, 20), (None, 9), (40, 30)), 1):
            found.add("t", "title", "row", "plain", turn, plain, True)
            found.add("t", "title", "row", "other", turn, other, True)
        self.assertEqual(found.median("t", "row", "plain"), 20)
        self.assertEqual(found.ratio("t", "row", "other", "plain"), 0.75)
        self.assertIsNone(found.ratio("t", "row", "nobody", "plain"))
        self.assertEqual(found.as_dict()["t"]["rows"]["row"]["plain"], [10, 20, None, 40])
        self.assertEqual(requests.parse('<statistics src="vm:11011"><ops><open>9</open><rd>5</rd></ops>'), (11011, 14))
        self.assertEqual(requests.parse('<statistics src="vm:0">'), (0, 0))
        self.assertEqual([(row[1][1], row[1][2]) for row in goals.rows([
            goals.Goal("a", ">= 1", 0.5, False, True), goals.Goal("b", "<= 1", 0.5, True, False)])],
            [("0.50", "NOT MET"), ("0.50", "met")])


class FakeS3:
    """Keeps what it gets in memory; looks at no signature, but wants one. With a WebSite it speaks https."""

    def __init__(self, site=None):
        self.site = site

    def __enter__(self):
        self.objects = {}
        self.wrong = False
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, code, body=b""):
                signed = self.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 Credential=key/")
                self.send_response(code if signed else 403)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_PUT(self):
                peer.objects[self.path] = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(200)

            def do_GET(self):
                body = peer.objects.get(self.path)
                self.answer(404 if body is None else 200, (body or b"")[1 if peer.wrong else 0:])

            def do_DELETE(self):
                self.answer(204 if peer.objects.pop(self.path, None) is not None else 404)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((xectest.HOST, 0), Handler)
        self.server.daemon_threads = True
        if self.site:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.site.certificate, self.site.key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http://{xectest.HOST}:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


if __name__ == "__main__":
    xectest.main()
