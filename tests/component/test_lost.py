# SPDX-License-Identifier: LGPL-3.0-or-later
"""`xec lost`: what a server or one of its disks holds is told from the inventory of a gateway in a moment, and agrees exactly
with a walk through the store."""
# seconds: 900
import json
import os
import time

import everyday
import xectest

SIZES = [0, 10, 5_000, 27_000, 70_000, 200_000, 1_000_000]
NAMES = ["plain", "it's 5% \"quoted\"", "naïve 名", "semi;colon--"]
WALKED = 60        # seconds: a walk through these stores, on a busy machine
OBJECTS_MANY = 20_000
LOST_SECONDS = 5   # the promise, for 20,000 objects


class Lost(everyday.EverydayTest):
    maxDiff = None
    def up(self, **options):
        cluster = self.cluster(gateways=1, chunk_size="64KiB",
                               serve_options=["--inventory-interval", "2s", "--inventory-rate", "0"], **options)
        gateway = cluster.gateways[0]
        gateway.http = gateway.http_url
        _, xec = self.xec_beside(cluster)
        xec("mkdir", "-p", "/d/deep")
        for number, name in enumerate(NAMES):
            for size in SIZES:
                place = "/d/deep" if number % 2 else "/d"
                xec("put", "-q", self.random_file(f"f{size}", size), f"{place}/{name}.{size}")
        return cluster, xec

    def lost(self, xec, *arguments, **more):
        return json.loads(xec("lost", "--json", *arguments, **more).out)

    def told(self, document):
        """What must be the same, by object."""
        return {row["path"]: {key: value for key, value in row.items() if key != "path"} for row in document["objects"]}

    def wait_for_walk(self, xec, server="s01", seconds=WALKED):
        """Until a walk has ended that began from now on."""
        now = time.time() * 1000

        def ended():
            try:
                walk = self.lost(xec, "--server", server, code=None)["totals"]["source"].get("last_walk")
            except json.JSONDecodeError:  # there is no inventory yet
                return False
            return walk and walk["began_ms"] > now
        self.eventually(ended, seconds, "a walk of the inventory")

    def check_agrees(self, xec, *arguments, code=0):
        """The inventory's answer, in time, and a walk's are the same; answers the first."""
        began = time.monotonic()
        document = self.lost(xec, *arguments, code=code)
        self.assertLess(time.monotonic() - began, LOST_SECONDS)
        walked = self.lost(xec, *arguments, "--walk", code=code)
        self.assertEqual(self.told(document), self.told(walked))
        self.assertGreater(len(document["objects"]), 0)
        ignored = ("source",)
        totals = [{key: value for key, value in one["totals"].items() if key not in ignored} for one in (document, walked)]
        for one in totals:
            if one.get("name_space"):
                # Gateways make and remove small files of their own meanwhile.
                one["name_space"] = {key: value for key, value in one["name_space"].items() if key != "links"}
        self.assertEqual(*totals)
        return document

    def test_a_servers_folder_is_deleted(self):
        cluster, xec = self.up(servers=6, geometry="3+2")
        self.wait_for_walk(xec)
        before = self.check_agrees(xec, "--server", "s03")
        self.assertEqual({row["survives"] for row in before["objects"]}, {1})
        self.assertNotIn("/d/plain.0", self.told(before), "an object without bytes has nothing to lose")
        by_address = self.lost(xec, "--server", cluster.servers[2].url)
        self.assertEqual(self.told(by_address), self.told(before))

        everyday.lose(cluster.servers[2].data)
        os.makedirs(cluster.servers[2].data)
        cluster.user.give(cluster.servers[2].data)
        self.assertEqual(self.told(self.check_agrees(xec, "--server", "s03")), self.told(before), "right after the loss")
        self.wait_for_walk(xec)
        self.assertEqual(self.told(self.check_agrees(xec, "--server", "s03")), self.told(before), "after another walk")
        # What the next one would mean: objects that are on both survive nothing more.
        next_one = self.check_agrees(xec, "--server", "s03", "--server", "s05")
        self.assertEqual({row["survives"] for row in next_one["objects"]}, {0, 1})

        text = xec("lost", "--server", "s03").out
        self.assertRegex(text, r"(?m)^inventory .* old \(a walk from .* to .* UTC\)")
        last = text.splitlines()[-1]
        self.assertRegex(last, rf"^{len(before['objects'])} objects lost chunks in \d+ stripes: .* to rebuild; 0 objects "
                         "are beyond repair$")
        names = xec("lost", "--server", "s03", "--names-only").out.splitlines()
        self.assertEqual(sorted(names), sorted(self.told(before)))
        # No server is asked.
        for server in cluster.servers:
            server.kill()
        self.assertEqual(self.told(self.lost(xec, "--server", "s03")), self.told(before))

    def test_beyond_repair(self):
        cluster, xec = self.up(servers=4, geometry="2+1")
        self.wait_for_walk(xec)
        cluster.servers[0].kill()
        self.wait_for_walk(xec)
        document = self.check_agrees(xec, "--server", "s01", "--server", "s02", code=6)
        self.assertGreater(document["totals"]["beyond_repair"], 0)
        self.assertRegex(xec("lost", "--server", "s01", "--server", "s02", code=6).out, r"(?m)  beyond repair +/d/")

    def test_a_disk_of_a_server_with_spaces(self):
        cluster, xec = self.up(servers=5, geometry="2+1", spaces=3)
        self.wait_for_walk(xec)
        xec("jobs", "pause", "repair")
        self.eventually(lambda: {"repair"} <= {job["job"] for gateway in json.loads(xec("jobs", "--json").out)["gateways"]
                                               for job in gateway["jobs"] if job["state"] == "paused"}, 40, "paused")
        server = cluster.servers[3]
        identity = os.readlink(os.path.join(server.data, ".xec", "server"))
        spaces = [os.path.join(server.base, f"space.{number}") for number in (1, 2, 3)]
        space = next(path for path in spaces if not identity.startswith(path + "/"))
        arguments = ["--disk", space, "--namespace", server.data]
        whole = self.lost(xec, *arguments)
        self.assertEqual(whole["objects"], [], "the disk is there")
        self.assertGreater(whole["totals"]["name_space"]["into_disk"], 0)

        for entry in list(os.scandir(space)):
            everyday.lose(entry.path)
        dangling = set()
        for folder, _, files in os.walk(server.data):
            dangling.update(os.path.join(folder, name) for name in files if not os.path.exists(os.path.join(folder, name)))
        promoted = [path for path in dangling if os.path.basename(path).startswith("p.") and not path.endswith(".0")]
        self.assertGreater(len(promoted), 0)
        document = self.check_agrees(xec, *arguments)
        self.assertEqual(len(document["objects"]), len(promoted))
        self.assertEqual(document["totals"]["name_space"]["dangling"], len(dangling))
        self.assertLess(len(document["objects"]), len(self.lost(xec, "--server", "s04")["objects"]), "the other disks are well")
        self.assertEqual(self.told(self.lost(xec, "--namespace", server.data)), self.told(document), "wherever links lead")

        # Without any inventory the names say what they can.
        alone = json.loads(xec("lost", "--json", *arguments, "--inventory", self.path("none"), code=5).out)
        self.assertEqual({row["path"] for row in alone["objects"]} - set(self.told(document)), set())
        self.assertEqual(alone["totals"]["unknown"], len(promoted))

    def test_the_inventory_of_directories_and_its_end(self):
        store = self.serve(geometry="2+1", chunk_size="64KiB", dirs=4,
                           options=["--inventory-interval", "2s", "--inventory-rate", "0"])
        inventory = os.path.join(store.state, "inventory.sqlite")
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *store.store_options(), *arguments,
             *(["--inventory", inventory] if command == "lost" else [])], **more)
        for number in range(20):
            store.xec("put", "-q", self.random_file("f", 100_000), f"/o{number:02d}")
        self.wait_for_walk(xec)
        document = self.check_agrees(xec, "--server", "s02")
        store.xec("rm", "/o07")
        self.wait_for_walk(xec)
        self.assertEqual(set(self.told(document)) - set(self.told(self.check_agrees(xec, "--server", "s02"))), {"/o07"}
                         if "/o07" in self.told(document) else set())
        # It is damaged while nobody looks, then removed while the gateway runs: each time it is made anew.
        store.stop()
        # The log of what was written last may hold these pages too: SQLite would put them back from there.
        for beside in ("-wal", "-shm"):
            if os.path.exists(inventory + beside):
                os.unlink(inventory + beside)
        with open(inventory, "r+b") as file:
            file.write(b"nothing good" * 1000)
        store.start()
        self.wait_for_walk(xec)
        self.check_agrees(xec, "--server", "s02")
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as file:
            warnings = [line for line in file if "xec: warning inventory" in line]
        self.assertEqual(len(warnings), 1, warnings)
        self.assertTrue(os.path.exists(inventory + ".damaged"))
        os.unlink(inventory)
        self.wait_for_walk(xec)
        self.check_agrees(xec, "--server", "s02")

        self.assertIn("s99 is no member", xec("lost", "--server", "s99", code=2).err)
        self.assertIn("say what is lost", xec("lost", code=2).err)
        self.assertIn("--namespace", xec("lost", "--disk", "/x", code=2).err)
        store.stop()
        os.unlink(inventory)
        self.assertIn("--walk", xec("lost", "--server", "s02", code=3).err)
        self.assertEqual(self.told(self.lost(xec, "--server", "s02", "--walk")).keys(),
                         self.told(document).keys() - {"/o07"})

    def test_a_full_disk_ends_the_inventory_and_nothing_else(self):
        self.enter_mounts()
        disk = self.disk(self.path("small"), 8)
        os.chmod(disk, 0o777)
        self.fill_disk(disk)
        store = self.serve(geometry="2+1", chunk_size="64KiB",
                           options=["--inventory", os.path.join(disk, "inventory.sqlite"), "--inventory-interval", "1s"])
        log = os.path.join(store.state, "xrootd.log")

        def warnings():
            with open(log, encoding="utf-8", errors="replace") as file:
                return [line for line in file if "xec: warning inventory" in line]
        self.eventually(warnings, WALKED, "a warning")
        self.assertIn("is not kept any more until the gateway is started again", warnings()[0])
        file = self.put(store, "/a", 300_000)
        self.check_reads(store, "/a", file)

        def ended():
            jobs = json.loads(store.xec("jobs", "--json", code=None).out)["gateways"]
            return [job for one in jobs for job in one["jobs"] if job["job"] == "inventory" and job["state"] == "done"]
        self.eventually(ended, WALKED, "the job has ended")
        self.assertIn("SQLite says", ended()[0]["problem"]["text"])
        self.assertEqual(len(warnings()), 1, warnings())

    def test_many_objects(self):
        if os.environ.get("XEC_TEST_LONG") != "1":
            self.skipTest(f"takes minutes; XEC_TEST_LONG=1 puts {OBJECTS_MANY:,} objects")
        os.makedirs(self.path("in"))
        store = self.serve(geometry="8+2", chunk_size="64KiB", dirs=12,
                           options=["--inventory-interval", "2s", "--inventory-rate", "0", "--sync", "none"])
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *store.store_options(), *arguments,
             *(["--inventory", os.path.join(store.state, "inventory.sqlite")] if command == "lost" else [])], **more)
        files = [self.random_file(f"in/{number:03d}", 27_000 + 700 * number, number) for number in range(200)]
        for number in range(OBJECTS_MANY // len(files)):
            store.xec("mkdir", "-p", f"/run{number:03d}")
            store.xec("put", "-q", *files, f"/run{number:03d}/", seconds=600)
        self.wait_for_walk(xec, seconds=900)
        everyday.lose(store.dirs[2])
        began = time.monotonic()
        document = self.lost(xec, "--server", "s03")
        took = time.monotonic() - began
        began = time.monotonic()
        walked = self.lost(xec, "--server", "s03", "--walk", seconds=900)
        print(f"  {len(document['objects'])} of {OBJECTS_MANY} objects: {took:.1f} s, a walk {time.monotonic() - began:.0f} s")
        self.assertEqual(self.told(document), self.told(walked))
        self.assertLess(took, LOST_SECONDS)


if __name__ == "__main__":
    xectest.main()
