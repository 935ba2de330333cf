# SPDX-License-Identifier: LGPL-3.0-or-later
"""Redundancy comes back: a server's folder deleted for good under all objects, repairs killed on the way, and damage
that only reading shows. XEC_TEST_LONG=1 takes 500 objects, else fewer."""
# seconds: 1800
import contextlib
import json
import json
import os
import shutil
import subprocess

import everyday
import many_objects
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
OBJECTS = 500 if LONG else 300
KILLS = 10 if LONG else 5


class RepairTest(many_objects.ObjectsTest):
    def kill_repairs(self, start):
        """Starts one repair after another and kills each with signal 9 soon after it has repaired an object, a bit later
        each time. Answers how many were killed at work."""
        killed = 0
        for number in range(KILLS):
            process = start()
            process.wait_line("/data/")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.popen.wait(0.001 * number)
            if process.popen.poll() is None:
                process.kill()
                killed += 1
        return killed

    def check_repair(self, xec, start, objects, folders, gone_words):
        thin = self.census(xec)
        self.assertGreater(thin["thin"], len(objects) // 6)
        self.assertEqual(thin["lost"], 0)
        self.assertEqual(self.kill_repairs(start), KILLS)
        self.assertGreater(self.census(xec)["thin"], 0, "the last repair has something left to do")
        done = xec("repair", "--all", *gone_words)
        self.assertRegex(done.out, r"(?m)^[1-9]\d* of %d objects needed repair" % len(objects))
        self.assertIn(f"{len(objects)} of {len(objects)} objects have their full redundancy", done.out)
        before = self.archives(folders)
        again = xec("repair", "--all", *gone_words)
        self.assertIn(f"0 of {len(objects)} objects needed repair", again.out)
        self.assertEqual(self.archives(folders), before)
        self.assert_full(xec, len(objects))
        self.check_objects(xec, objects)

    def test_a_folder_deleted_for_good(self):
        dirs = [self.path("store", f"d{number}") for number in range(9)]
        options = [word for path in dirs for word in ("--data", path)]
        options += ["--geometry", "4+2", "--chunk-size", "64KiB", "--sync", "none"]
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)
        objects = self.put_objects(xec, OBJECTS)
        shutil.rmtree(dirs[3])
        left = [path for path in dirs if path != dirs[3]]
        start = lambda: self.background([self.program("xec"), "repair", *options, "--all"])
        self.check_repair(xec, start, objects, left, [])
        self.assertFalse(os.path.exists(dirs[3]), "nobody makes it anew")
        # Another one. (Not a third: names need a majority of their homes, until members can be replaced.)
        shutil.rmtree(dirs[0])
        self.check_objects(xec, objects)
        self.assertEqual(self.census(xec)["lost"], 0)
        plan = json.loads(xec("repair", "--all", "--lost", "--dry-run", "--json").out)
        self.assertEqual((plan["repaired"], plan["bytes_read"], plan["bytes_written"]), (0, 0, 0))
        done = json.loads(xec("repair", "--all", "--lost", "--json").out)
        self.assertEqual(done["needed_repair"], plan["needed_repair"])
        self.assertEqual(done["written"], plan["written"])
        self.assertEqual(done["bytes_lost"], plan["bytes_lost"])
        self.assertLessEqual(done["bytes_written"], 1.1 * done["bytes_lost"])
        self.assertLessEqual(done["bytes_read"], (4 + 1) * done["bytes_lost"])
        self.assert_full(xec, len(objects))

    def up(self, servers):
        cluster = self.cluster(servers=servers, geometry="4+2", gateways=1, chunk_size="64KiB",
                               serve_options=["--sync", "none"])
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        options += ["--geometry", "4+2", "--chunk-size", "64KiB"]
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)
        return cluster, options, xec

    def test_a_stock_server_whose_folder_was_deleted(self):
        cluster, options, xec = self.up(9)
        objects = self.put_objects(xec, OBJECTS if LONG else OBJECTS // 2)
        everyday.lose(cluster.servers[3].data)
        left = [server.data for server in cluster.servers if server is not cluster.servers[3]]
        start = lambda: self.background([self.program("xec"), "repair", *options, "--all"])
        self.check_repair(xec, start, objects, left, [])

    def test_a_stock_server_that_is_said_to_be_gone(self):
        cluster, _, xec = self.up(8)
        objects = self.put_objects(xec, 24)
        cluster.servers[5].kill()
        waits = xec("repair", "--all", code=5)
        self.assertIn("0 of 24 objects needed repair", waits.out)
        self.assertIn("If it is lost for good: --gone s06", waits.out)
        self.assertIn("no member", xec("repair", "--all", "--gone", "s77", code=2).err)
        self.assertIn("24 of 24 objects have their full redundancy", xec("repair", "--all", "--gone", "s06").out)
        # It comes back after all: what it has is there twice, and nothing is wrong.
        cluster.start(cluster.servers[5])
        self.assert_full(xec, 24)
        self.assertIn("0 of 24 objects needed repair", xec("repair", "--all").out)
        self.check_objects(xec, objects)

    def test_the_gateway_repairs_what_readers_meet(self):
        store = self.serve(dirs=8, geometry="4+2", chunk_size="64KiB")
        file = self.put(store, "/data/a", 900_000)
        self.put(store, "/data/b", 900_000, seed=2)
        of = lambda name: {chunk["chunk"]: chunk for chunk in self.chunks_of(store.xec, name) if chunk["stripe"] == 0}
        path_of = lambda chunk: chunk["address"] + chunk["archive"]

        def damaged():
            chunk = of("/data/a")[1]
            offset, size = everyday.place_of_chunk(path_of(chunk), 0, 1)
            self.flip_byte(path_of(chunk), offset + size // 2)
            return "checksum|CRC|corrupt"

        def cut_short():
            archive = path_of(of("/data/a")[0])
            os.truncate(archive, os.path.getsize(archive) // 2)
            return "ends early|end|ZIP"

        def foreign():
            chunk = of("/data/a")[2]
            other = next(path for path in (path_of(other) for other in of("/data/b").values()))
            owner = os.stat(path_of(chunk))
            shutil.copyfile(other, path_of(chunk))
            os.chown(path_of(chunk), owner.st_uid, owner.st_gid)
            return "belongs to another object"

        def missing():
            os.unlink(path_of(of("/data/a")[3]))
            return "has no archive"
        log = os.path.join(store.state, "xrootd.log")
        lines = lambda: [line for line in open(log, encoding="utf-8", errors="replace")
                         if "xec: repair" in line or "repair: /data/a" in line]
        for number, harm in enumerate((damaged, cut_short, foreign, missing), 1):
            words = harm()
            self.assertEqual(store.xec("verify", "-q", "/data/a", code=None).code, 6, harm.__name__)
            self.check_reads(store, "/data/a", file)
            self.eventually(lambda: store.xec("verify", "-q", "/data/a", code=None).code == 0, 90,
                            f"repaired after {harm.__name__}: {lines()}")
            self.assertEqual(len(lines()), number, lines())
            self.assertRegex(lines()[-1], f"1 of 1 archives written anew: archive .* now .*({words})")
            self.check_reads(store, "/data/a", file)


if __name__ == "__main__":
    xectest.main()
