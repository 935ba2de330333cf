# SPDX-License-Identifier: LGPL-3.0-or-later
"""`xec health` tells what redundancy is left, what is under way and what the next loss would mean, before, while and after
servers are dead; `xec plan` says beforehand what a store survives."""
# seconds: 900
import json
import os
import signal

import everyday
import xectest

SERVERS = 8
GEOMETRY = "4+2"
OBJECTS = 25
DEGRADED = 5      # exit code
INTERRUPTED = 130
WALKED = 60       # seconds: a walk through this store, on a busy machine
TOLD = 40         # seconds: gateways read and tell of jobs every ten


class Outlook(everyday.EverydayTest):
    maxDiff = None

    def up(self):
        cluster = self.cluster(servers=SERVERS, gateways=1, geometry=GEOMETRY, chunk_size="64KiB",
                               serve_options=["--inventory-interval", "2s", "--inventory-rate", "0"])
        conf, xec = self.xec_beside(cluster)
        file = self.random_file("f", 600_000)
        for number in range(OBJECTS):
            xec("put", "-q", file, f"/d/o{number}")
        return cluster, conf, xec

    def health(self, xec, *options, code=0):
        return json.loads(xec("health", "--json", *options, code=code).out)

    def wait_for_walk(self, xec):
        """Until the inventory has all objects and is of now."""
        def walked():
            census = self.health(xec, "--last", code=None).get("census")
            return census and census["objects"] == OBJECTS
        self.eventually(walked, WALKED, "a walk of the inventory")

    def check_next_losses(self, xec, health, dead):
        """What health says of each server is what `xec lost` says of it together with those that are dead."""
        said = {row["server"]: row["unreadable_objects"] for row in health["if_lost"]}
        words = [word for server in dead for word in ("--server", server)]
        lost = {}
        for server in said:
            document = json.loads(xec("lost", "--json", *words, "--server", server, code=None).out)
            lost[server] = document["totals"]["beyond_repair"]
        self.assertEqual(said, lost)
        self.assertEqual(len(said), SERVERS - len(dead))
        return said

    def check_well(self, xec):
        health = self.health(xec)
        self.assertEqual((health["not_answering"], health["census"]["full"], health["census"]["thin"]), (0, OBJECTS, 0))
        self.assertLess(health["census"]["age_s"], 60)
        self.assertEqual(health["now"], {"names_decided": True, "put": "in full"})
        self.assertEqual({(row["names_decided"], row["put"], row["unreadable_objects"]) for row in health["if_lost"]},
                         {(True, "in full", 0)})
        self.assertEqual(len(health["if_lost"]), SERVERS)
        self.assertEqual((health["members"]["changing"], health["members"]["not_full"]), (False, {}))
        text = xec("health").out
        self.assertRegex(text, r"(?m)^census counted now, \d+ s old")
        self.assertRegex(text, rf"(?m)^any of {SERVERS} +all +in full +none$")
        self.wait_for_walk(xec)
        last = self.health(xec, "--last")
        self.assertTrue(last["census"]["inventory"].endswith("inventory.sqlite"))
        self.assertEqual(last["if_lost"], health["if_lost"])

    def check_one_dead(self, xec):
        health = self.health(xec, code=DEGRADED)
        self.assertEqual((health["not_answering"], health["census"]["lost"]), (1, 0))
        self.assertEqual(health["now"], {"names_decided": True, "put": "in full"})
        self.assertEqual({(row["names_decided"], row["put"], row["unreadable_objects"]) for row in health["if_lost"]},
                         {(True, "in full", 0)}, "a second one may die")

    def check_two_dead(self, xec):
        health = self.health(xec, code=DEGRADED)
        self.assertEqual((health["not_answering"], health["census"]["lost"]), (2, 0), "all can be read")
        self.assertEqual(health["now"], {"names_decided": True, "put": "in full"})
        self.assertEqual({(row["names_decided"], row["put"]) for row in health["if_lost"]}, {(False, "not all")})
        said = self.check_next_losses(xec, health, ["s02", "s05"])
        self.assertGreater(max(said.values()), 0, "some objects had chunks on both")
        # The inventory says the same, without having been told of the two.
        last = self.health(xec, "--last", code=DEGRADED)
        self.assertEqual(last["if_lost"], health["if_lost"])
        for row in (health, last):
            self.assertEqual(row["census"]["geometries"][0]["levels"], health["census"]["geometries"][0]["levels"])
        text = xec("health", "--last", code=DEGRADED).out
        self.assertRegex(text, r"(?m)^census by the inventory .*, \d+ s old \(from .* to .* UTC\)$")
        self.assertRegex(text, r"(?m)^.+ not all +not all +\d+ \(\d.* KiB\)$|^.+ not all +not all +\d+ \(\d.* MiB\)$")

    def check_jobs(self, xec):
        self.eventually(lambda: self.health(xec, "--servers", code=None)["jobs"]["gateways"] == 1, TOLD, "a gateway tells")
        xec("jobs", "pause", "clean")
        self.assertEqual(self.health(xec, "--servers")["jobs"]["paused"], ["clean"])
        self.assertRegex(xec("health", "--servers").out, r"(?m)^  clean is PAUSED, since ")
        xec("jobs", "resume", "clean")

    def test_before_while_and_after_servers_are_dead(self):
        cluster, conf, xec = self.up()
        self.check_well(xec)
        self.check_jobs(xec)
        self.check_plan(xec)
        watch = self.background([self.program("xec"), "health", "-c", conf, "--watch", "--json"])
        rounds = lambda: [json.loads(line) for line in watch.output().splitlines() if line.endswith("}")]
        self.eventually(lambda: len(rounds()) >= 2, 30, "rounds of the watch")

        cluster.servers[1].kill()
        self.check_one_dead(xec)
        cluster.servers[4].kill()
        self.check_two_dead(xec)
        self.eventually(lambda: rounds()[-1].get("not_answering") == 2, 30, "the watch sees it")
        self.assertEqual(rounds()[0]["not_answering"], 0)
        self.assertIn("age_s", rounds()[-1]["census"])

        for number in (1, 4):
            cluster.start(cluster.servers[number])
        self.eventually(lambda: xec("health", "--servers", code=None).code == 0, 60, "all servers answer")
        self.check_well(xec)
        self.eventually(lambda: rounds()[-1].get("not_answering") == 0, 30, "the watch sees it")
        watch.signal(signal.SIGINT)
        self.assertEqual(watch.wait(), INTERRUPTED)

    def check_plan(self, xec):
        """The same is said of the store and of one that is described as it is."""
        plan = json.loads(xec("plan", "--json").out)
        self.assertGreater(plan.pop("gross_bytes"), 0)
        described = self.run_program([self.program("xec"), "plan", "--json", "--servers", SERVERS, "--geometry", GEOMETRY,
                                      "--chunk-size", "64KiB"])
        self.assertEqual(plan, json.loads(described.out))
        self.assertEqual(plan["objects"][0]["servers_lost"], {"read": 2, "names": 2, "write": 2, "write_full": 2})

    def test_plans(self):
        run = lambda *words, code=0: self.run_program([self.program("xec"), "plan", *words], code=code)
        text = run("--servers", "12", "--hosts", "6", "--geometry", "8+2", "--capacity", "10TiB").out
        self.assertRegex(text, r"(?m)^everything can be read without +any 2 servers, or any 1 host$")
        self.assertRegex(text, r"(?m)^any 1 host and 1 server +3 of 10 +all but 5\d\.\d % ")
        self.assertIn("96.0 TiB of 120.0 TiB", text)
        self.assertRegex(run("--servers", "12", "--hosts", "3").out, r"(?m)^host 1, with 4 servers, may get 4 chunks")
        self.assertIn("needs 10 data servers", run("--servers", "9", code=2).err)
        self.assertIn("say which store", run(code=2).err)

    def test_without_an_inventory_and_while_a_member_joins(self):
        store = self.serve(dirs=7, geometry=GEOMETRY, chunk_size="64KiB", inventory="off")
        store.xec("put", "-q", self.random_file("f", 600_000), "/o")
        unknown = json.loads(store.xec("health", "--last", "--inventory", "off", "--json", code=DEGRADED).out)
        self.assertIn("keeps no inventory", unknown["census_unknown"])
        self.assertNotIn("unreadable_objects", unknown["if_lost"][0])
        self.assertIn("is not known", store.xec("health", "--last", "--inventory", "off", code=DEGRADED).out)
        self.assertIn("--deep counts", store.xec("health", "--deep", "--watch", code=2).err)

        new = self.path("new")
        os.mkdir(new)
        owner = os.stat(store.dirs[0])
        os.chown(new, owner.st_uid, owner.st_gid)
        self.background([self.program("xec"), "server", "add", *store.store_options(), new])
        changing = lambda: json.loads(store.xec("health", "--servers", "--json", code=None).out)["members"]
        self.eventually(lambda: changing()["changing"], 60, "health tells of the change")
        self.assertEqual(changing()["not_full"], {"s08": "joining"})
        self.assertRegex(store.xec("health", "--servers", code=None).out, r"(?m)^the members change: s08 is joining the store")


if __name__ == "__main__":
    xectest.main()
