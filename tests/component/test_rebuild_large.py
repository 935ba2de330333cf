# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a server of a large store has lost comes back at the price of what was lost: one of its disks, or everything.
XEC_TEST_LONG=1 has 20,000 objects of 20 GiB."""
# seconds: 900
import json
import os
import shutil
import time

import everyday
import xectest
from many_objects import Reader

KIB, MIB = 1 << 10, 1 << 20
LONG = os.environ.get("XEC_TEST_LONG") == "1"
KINDS = [(19_000, 27 * KIB), (900, 4 * MIB), (96, 128 * MIB), (4, 1024 * MIB)] if LONG else [(300, 27 * KIB), (12, 2 * MIB)]
OBJECTS = sum(count for count, _ in KINDS)
DATA = 8
AT_ONCE = 400  # files of one put
READ = 40      # objects that are read all along


class RebuildLarge(everyday.EverydayTest):
    def fill(self):
        os.makedirs(self.path("in"))
        number = 0
        for count, size in KINDS:
            source = self.random_file(f"source{size}", size)
            self.xec("mkdir", f"/{size}")
            for first in range(0, count, AT_ONCE):
                names = []
                for _ in range(first, min(count, first + AT_ONCE)):
                    names.append(self.path("in", f"{number:05d}"))
                    os.link(source, names[-1])
                    number += 1
                self.xec("put", "-q", *names, f"/{size}/", seconds=1800)
                for name in names:
                    os.unlink(name)
            if size < MIB:
                self.small = source
        self.read_all_along = {f"/{KINDS[0][1]}/{number:05d}": self.small for number in range(0, KINDS[0][0], KINDS[0][0] // READ)}

    def walked(self):
        """A walk of the inventory that began from now on."""
        now = time.time() * 1000

        def ended():
            try:
                told = json.loads(self.xec("lost", "--json", "--server", "s01", code=None).out)
            except json.JSONDecodeError:  # there is no inventory yet
                return False
            walk = told["totals"]["source"].get("last_walk")
            return walk and walk["began_ms"] > now
        self.eventually(ended, 1800 if LONG else 120, "a walk of the inventory")

    def repair_is_paused(self):
        gateways = [one for one in json.loads(self.xec("jobs", "--json", code=None).out)["gateways"] if one["runs"]]
        states = [job["state"] for one in gateways for job in one["jobs"] if job["job"] == "repair"]
        return bool(states) and all(state == "paused" for state in states)

    def check_lost(self, *arguments):
        """The inventory says the same as a walk; answers how many objects and bytes."""
        began = time.monotonic()
        told = json.loads(self.xec("lost", "--json", *arguments, code=None).out)
        took = time.monotonic() - began
        walked = json.loads(self.xec("lost", "--json", "--walk", *arguments, code=None, seconds=1800).out)
        by_path = lambda document: {row["path"]: row for row in document["objects"]}
        self.assertEqual(by_path(told), by_path(walked))
        print(f"  xec lost {' '.join(arguments)}: {len(told['objects'])} objects in {took:.2f} s", flush=True)
        return len(told["objects"])

    def check_rebuilt(self, what, done, least):
        """By what the command told: all of it, at no more than its price."""
        told = json.loads(done.out)
        print(f"  {what}: {told['needed_repair']} of {told['objects']} objects, {told['bytes_lost'] / MIB:.1f} MiB lost, written "
              f"{told['bytes_written'] / told['bytes_lost']:.2f}, read {told['bytes_read'] / told['bytes_lost']:.2f} times that, "
              f"{told['seconds']:.1f} s", flush=True)
        self.assertEqual(told["objects"], OBJECTS)
        self.assertGreaterEqual(told["needed_repair"], least)
        self.assertEqual((told["needed_repair"], told["not_done"], told["unlisted"]), (told["repaired"], 0, 0))
        self.assertLessEqual(told["bytes_written"], 1.1 * told["bytes_lost"])
        self.assertLessEqual(told["bytes_read"], (DATA + 1) * told["bytes_lost"])
        self.assertEqual((told["census"]["full"], told["census"]["thin"]), (OBJECTS, 0), told["census"]["names"][:3])

    def nothing_more(self, *command):
        told = json.loads(self.xec(*command, "--json", seconds=1800).out)
        self.assertEqual((told["needed_repair"], told["bytes_written"]), (0, 0), told["details"][:3])

    def test_it_comes_back(self):
        cluster = self.cluster(servers=12, geometry=f"{DATA}+2", chunk_size="1MiB", spaces=2, gateways=1, serve_options=[
            "--inventory-interval", "1s", "--inventory-rate", "0", "--rebuild-after", "0"])
        _, self.xec = self.xec_beside(cluster)
        began = time.monotonic()
        self.fill()
        print(f"\n  {OBJECTS} objects put in {time.monotonic() - began:.0f} s", flush=True)
        self.walked()
        self.xec("jobs", "pause", "repair")
        # The gateway hears of it within ten seconds; until then it repairs what readers find.
        self.eventually(self.repair_is_paused, 40, "the gateway knows that repairs are paused")
        reader = Reader(self, cluster.gateways[0].http_url, self.read_all_along)
        reader.start()
        self.addCleanup(reader.stopping.set)

        with self.subTest("a disk of a server"):
            server = cluster.servers[2]
            identity = os.readlink(os.path.join(server.data, ".xec", "server"))
            spaces = [os.path.join(server.base, f"space.{number}") for number in (1, 2)]
            space = next(path for path in spaces if not identity.startswith(path + "/"))
            for file in self.files_below(space):
                os.unlink(os.path.join(space, file))
            hit = self.check_lost("--disk", space, "--namespace", server.data)
            self.check_rebuilt("disk", self.xec("repair", "--all", "--lost", "--json", seconds=3600), hit)
            self.nothing_more("repair", "--all", "--lost")
            server.kill()
            self.run_program(["find", server.data, "-xtype", "l", "-delete"])
            cluster.start(server)
            self.assertIn("s03 compares its names", self.xec("server", "compare", "s03", seconds=3600).out)
            self.nothing_more("server", "compare", "s03")

        with self.subTest("everything of a server"):
            server = cluster.servers[5]
            hit = self.check_lost("--server", "s06")
            server.kill()
            shutil.rmtree(server.data)
            for number in (1, 2):
                shutil.rmtree(os.path.join(server.base, f"space.{number}"))
                cluster.user.give(os.path.join(server.base, f"space.{number}"))
            cluster.user.give(server.data)
            cluster.start(server)
            self.check_rebuilt("server", self.xec("server", "replace", "s06", "--json", seconds=3600), hit)
            self.nothing_more("server", "replace", "s06")

        reader.stop()
        self.assertEqual(reader.problems, [])
        self.assertGreater(reader.reads, READ)


if __name__ == "__main__":
    xectest.main()
