# SPDX-License-Identifier: LGPL-3.0-or-later
"""What gateways do by themselves when a data server stays away, and what they leave alone while it is in maintenance."""
# waits
# seconds: 900
import json
import os
import re
import subprocess
import time

import many_objects
import xectest

OBJECTS = 40
ARCHIVES = 6  # of an object
REBUILD_AFTER = "4s"
HORIZON = 5  # seconds: archives that are there twice stay so until both are older
EXIT_CONFLICT = 8


class GatewaysRebuild(many_objects.ObjectsTest):
    def start(self, gateways=2, **options):
        self.up = self.cluster(servers=9, geometry="4+2", gateways=gateways, chunk_size="64KiB", serve_options=[
            "--rebuild-after", REBUILD_AFTER, "--descriptor-interval", "1s", "--inventory", "off", "--tombstone-horizon",
            f"{HORIZON}s", "--operation-limit", "2s"], **options)
        self.files = self.put_objects(self.xec, OBJECTS)

    def xec(self, command, *arguments, **more):
        return self.run_program([self.up.xec(), command, *self.options(), *arguments], **more)

    def options(self):
        return [*(word for server in self.up.servers for word in ("--server", server.server_option())),
                "--descriptor-interval", "1s"]

    def said(self, text):
        """How often gateways have said it."""
        logs = []
        for gateway in self.up.gateways:
            with open(gateway.xrootd_log(), encoding="utf-8", errors="replace") as file:
                logs.append(file.read())
        return sum(len(re.findall(text, log)) for log in logs)

    def all_archives(self):
        """Which there are; some may go meanwhile."""
        return {os.path.join(server.data, path) for server in self.up.servers for path in self.files_below(server.data)
                if re.search(r"/p\.[^/]*$", path)}

    def full(self):
        census = self.census(self.xec)
        return (census["objects"], census["full"]) == (len(self.files), len(self.files))

    def check_through_gateways(self):
        for gateway in self.up.gateways:
            for name, file in self.files.items():
                self.assertEqual(self.curl("-f", gateway.http_url + name, binary=True).out, self.content(file), name)

    def test_a_server_stays_away_and_comes_back(self):
        self.start()
        whole = len(self.all_archives())
        away = self.up.servers[3]
        away.kill()
        self.assertFalse(self.full())
        self.eventually(self.full, 120, "what it held is on others")
        self.eventually(lambda: self.said(r"\d+ of \d+ objects needed it"), 30, "a gateway says so")
        jobs = json.loads(self.xec("jobs", "--json").out)
        self.assertIn("rebuild", json.dumps(jobs))
        # Nothing is done over and over again.
        before, said = self.all_archives(), self.said("archives are written anew")
        self.assertLessEqual(said, 2)
        newest = max(os.stat(path).st_mtime for path in before)
        self.eventually(lambda: time.time() > newest + HORIZON + 1, 30, "nobody can be at work on them")
        self.up.start(away)
        self.eventually(lambda: len(self.all_archives()) == whole, 120, "what was there twice is there once")
        self.assertTrue(self.full())
        self.assertNotEqual(before, self.all_archives())
        self.check_through_gateways()
        self.assert_full(self.xec, len(self.files))
        self.assertEqual(self.said("cannot be"), 0)

    def test_a_replaced_disk_is_filled(self):
        """The command that began it has died."""
        self.start(gateways=1)
        lost = self.up.servers[2]
        lost.kill()
        subprocess.run(["rm", "-rf", lost.data], check=True)
        self.up.user.give(lost.data)
        self.up.start(lost)
        held = len(self.all_archives())
        replace = self.background([self.up.xec(), "server", "replace", *self.options(), "s03"])
        self.eventually(lambda: os.path.exists(os.path.join(lost.data, ".xec", "server")), 60, "it has its identity")
        replace.kill()
        self.eventually(self.full, 120, "the gateway has filled it")
        self.assertGreater(len(self.all_archives()), held)
        self.check_through_gateways()

    def test_a_server_is_emptied(self):
        """The command that began it has died."""
        self.start(gateways=1)
        drained = self.up.servers[6].data
        drain = self.background([self.up.xec(), "server", "drain", *self.options(), "--tombstone-horizon", "10s",
                                 "--operation-limit", "5s", "s07"])
        self.eventually(lambda: "leaving" in self.xec("server", "list").out, 60, "it leaves")
        drain.kill()
        self.eventually(lambda: "emptied" in self.xec("server", "list").out, 240, "the gateway has emptied it")
        # Nobody needs those of objects without bytes.
        self.assertEqual([path for _, path in self.archives([drained]) if path.startswith("data/") and not path.endswith(".0")],
                         [])
        self.xec("server", "remove", "s07")
        self.up.servers[6].kill()
        self.assert_full(self.xec, len(self.files))
        self.check_through_gateways()

    def test_maintenance(self):
        self.start(gateways=1)
        server = self.up.servers[3]
        self.assertIn("s04 is in maintenance until", self.xec("server", "maintenance", "s04", "--for", "30m").out)
        self.assertIn("s05 is in maintenance until", self.xec("server", "maintenance", "s05").out)
        refused = self.xec("server", "maintenance", "s06", code=EXIT_CONFLICT).err
        self.assertIn("any 2 data servers may be away, and without s06 it would be 3: s04 is in maintenance, s05 is in "
                      "maintenance; --force does it", refused)
        self.xec("server", "maintenance", "s06", "--force", "--dry-run")
        self.xec("server", "resume", "s05")
        self.assertIn("in maintenance until", self.xec("server", "list").out)
        gateway = self.up.gateways[0]
        self.eventually(lambda: self.said("epoch 4 follows"), 60, "the gateway knows it")
        before = self.archives([server.data])
        for number in range(20):
            self.curl("-f", "-T", self.files["/data/003"], f"{gateway.http_url}/new/{number}")
            self.files[f"/new/{number}"] = self.files["/data/003"]
        self.assertEqual(self.archives([server.data]), before, "it gets nothing new")
        self.assertEqual(self.xec("health", "--json").code, 0)
        server.kill()
        self.check_through_gateways()
        self.assertEqual(self.xec("health", "--json").code, 0, "that it is away is no alarm")
        self.eventually(lambda: self.said("s04 .*in maintenance.* is down"), 60, "the log says so")
        self.assertEqual(self.said("archives are written anew"), 0)
        self.up.start(server)
        self.assertIn("s04 is used as any other", self.xec("server", "resume", "s04").out)
        self.assert_full(self.xec, len(self.files))


if __name__ == "__main__":
    xectest.main()
