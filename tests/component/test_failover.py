# SPDX-License-Identifier: LGPL-3.0-or-later
"""Data servers of a real cluster die, hang, fill up in the middle of an upload: the client notices nothing.

`./dev test` uploads 82 MiB; XEC_TEST_LONG=1 takes 1 GiB."""
import collections
import concurrent.futures
import itertools
import os
import re
import shutil
import subprocess
import threading

import everyday
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
KIB = 1024
GEOMETRY = "8+2"
STRIPES = 513 if LONG else 41
SIZE = (STRIPES - 1) * 8 * 256 * KIB + 12_345
DISK_MIB = 400 if LONG else 48


class FailoverTest(everyday.EverydayTest):
    def up(self, servers, **options):
        cluster = self.cluster(servers=servers, geometry=GEOMETRY, gateways=1, chunk_size="256KiB", **options)
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        cluster.gateways[0].http = cluster.gateways[0].http_url
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)
        return cluster, cluster.gateways[0], xec

    def holders(self, cluster):
        """The servers that have an archive of the upload under way."""
        return [server for server in cluster.servers
                if any(re.search(r"/s\.[0-9a-f]+$", path) for path in self.files_below(server.data))]

    def upload(self, gateway, name, size, *steps):
        """Streams a file through stock xrdcp; the steps are taken in between, each after an equal part. Answers the file."""
        file = self.random_file("source" + name.replace("/", "-"), size)
        client = subprocess.Popen(["xrdcp", "--nopbar", "-f", "-", f"{gateway.url}/{name}"], stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env={**os.environ, "XRD_WRITERECOVERY": "0"})
        self.addCleanup(client.kill)
        part = size // (len(steps) + 1)
        with open(file, "rb") as source:
            try:
                for step in steps:
                    client.stdin.write(source.read(part))
                    step()
                shutil.copyfileobj(source, client.stdin)
            except BaseException:
                client.kill()  # others wait for its place
                raise
        client.stdin.close()
        code = client.wait(timeout=xectest.CLIENT_SECONDS)
        said = client.stderr.read().decode()
        client.stderr.close()
        self.assertEqual(code, 0, f"{said}\n{self.log_of(gateway)}")
        return file

    def log_of(self, gateway):
        with open(gateway.xrootd_log(), encoding="utf-8", errors="replace") as log:
            return "".join(line for line in log if "xec:" in line)[-8000:]

    def assert_whole(self, xec, name, bad):
        """Every stripe has all its chunks, on servers other than the bad ones."""
        chunks = collections.Counter()
        for chunk in self.chunks_of(xec, name):
            self.assertEqual(chunk["health"], "good", chunk)
            self.assertNotIn(chunk["address"], [server.url for server in bad])
            chunks[chunk["stripe"]] += 1
        self.assertEqual(set(list(chunks.values())[:-1]), {10})

    def test_two_of_fourteen_killed_one_after_the_other(self):
        cluster, gateway, xec = self.up(14)
        bad = []

        def kill_one():
            self.eventually(lambda: len(self.holders(cluster)) >= 10, 60, "the upload has archives")
            bad.append(next(server for server in self.holders(cluster) if server not in bad))
            bad[-1].kill()
        file = self.upload(gateway, "/a", SIZE, kill_one, kill_one)
        self.check_reads(gateway, "/a", file)
        self.assert_whole(xec, "/a", bad)

    def test_one_stopped_and_one_full(self):
        self.enter_mounts()
        cluster, gateway, xec = self.up(14)
        self.give_disks(cluster, DISK_MIB)
        bad = []

        def stop_one():
            self.eventually(lambda: len(self.holders(cluster)) >= 10, 60, "the upload has archives")
            bad.append(self.holders(cluster)[0])
            bad[0].freeze()
            self.addCleanup(bad[0].thaw)

        def fill_one():
            bad.append(next(server for server in self.holders(cluster) if server not in bad))
            self.fill_disk(bad[1].data)
        file = self.upload(gateway, "/a", SIZE, stop_one, fill_one)
        self.check_reads(gateway, "/a", file)
        self.assert_whole(xec, "/a", bad)

    def test_a_stopped_server_does_not_keep_the_memory_of_all_uploads(self):
        """Half-way through as many uploads as fill the budget a server stops: its requests kept whole stripes, and uploads
        that waited for memory did not give it up. Two more uploads wait in their open meanwhile: they get their turn."""
        cluster, gateway, xec = self.up(14, serve_options=["--memory", "16MiB"])
        fill, uploads = 4, 6  # uploads share three quarters of the memory; a stripe of 8+2 takes 2.5 MiB
        stopped = []

        def stop_one():
            self.eventually(lambda: len(self.holders(cluster)) >= 10, 60, "the uploads have archives")
            stopped.append(max(self.holders(cluster), key=lambda server: len(self.files_below(server.data))))
            stopped[0].freeze()
            self.addCleanup(stopped[0].thaw)
        half_way = threading.Barrier(fill, stop_one, timeout=xectest.CLIENT_SECONDS)
        in_turn = itertools.count(1)

        def wait_at_half_way():
            if next(in_turn) <= fill:
                half_way.wait()
        with concurrent.futures.ThreadPoolExecutor(uploads) as pool:
            files = list(pool.map(lambda i: self.upload(gateway, f"/a{i}", SIZE // 2, wait_at_half_way), range(uploads)))
        for i, file in enumerate(files):
            self.check_reads(gateway, f"/a{i}", file)
            self.assert_whole(xec, f"/a{i}", stopped)

    def test_without_a_spare_the_object_has_a_debt(self):
        cluster, gateway, xec = self.up(10, serve_options=["--clean-interval", "1s", "--operation-limit", "2s"])
        bad = []

        def kill_one():
            self.eventually(lambda: len(self.holders(cluster)) >= 10, 60, "the upload has archives")
            bad.append(self.holders(cluster)[3])
            bad[0].kill()
        file = self.upload(gateway, "/a", SIZE, kill_one)
        self.check_reads(gateway, "/a", file)
        missing = [chunk for chunk in self.chunks_of(xec, "/a") if chunk["health"] != "good"]
        self.assertGreaterEqual(len(missing), STRIPES - 1, missing[:3])
        whole = lambda: all(chunk["health"] == "good" for chunk in self.chunks_of(xec, "/a"))
        cluster.start(bad[0])
        self.eventually(whole, 180, "the gateway has repaired the object")
        self.check_reads(gateway, "/a", file)
        self.assertEqual(xec("verify", "/a").code, 0)
        # A lost file is noticed in the same way, a damaged one by who reads all.
        archive = next(path for path in self.files_below(bad[0].data) if re.search(r"/p\.[^/]*$", path))
        with open(os.path.join(bad[0].data, archive), "r+b") as damaged:
            damaged.seek(100_000)
            damaged.write(b"not what was here")
        self.assertEqual(xec("verify", "-q", "/a", code=None).code, 6)
        self.assertIn("1 of 1 archives written anew", xec("repair", "/a").out)
        self.assertEqual(xec("verify", "/a").code, 0)
        os.unlink(os.path.join(bad[0].data, archive))
        self.eventually(whole, 180, "the gateway has repaired the object again")
        self.assertRegex(self.log_of(gateway), r"/a is stored with a debt: 1 of its 10 archives found no server \(.*" +
                         re.escape(f"{xectest.HOST}:{bad[0].port}"))


if __name__ == "__main__":
    xectest.main()
