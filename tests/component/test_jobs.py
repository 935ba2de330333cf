# SPDX-License-Identifier: LGPL-3.0-or-later
"""`xec jobs`: what gateways do in the background is shown, paused, resumed and cancelled, and a pass of the cleaner goes on
where it was when its gateway was killed."""
# waits
# seconds: 900
import glob
import json
import os
import re
import shutil
import time

import everyday
import xectest

JOBS = ["members", "clean", "repair", "tidy", "clocks", "writes", "compare", "change", "rebuild",
        "inventory", "space", "count", "uploads", "crowded"]
TOLD = 40      # seconds: gateways read and tell every ten
SILENT = 90    # they count as silent after sixty


class Jobs(everyday.EverydayTest):
    def document(self, xec, code=0):
        return json.loads(xec("jobs", "--json", code=code).out)

    def running(self, xec):
        """The gateways that run, by name, each with its jobs by name."""
        found = {}
        for gateway in self.document(xec, code=None)["gateways"]:
            if gateway["runs"]:
                found[gateway["gateway"]] = {**gateway, "jobs": {job["job"]: job for job in gateway["jobs"]}}
        return found

    def wait_for(self, xec, condition, what, gateways=1, seconds=TOLD):
        """Until each of so many gateways fulfils the condition on its jobs; answers all of them."""
        def all_do():
            found = self.running(xec)
            return found if len(found) == gateways and all(condition(one["jobs"]) for one in found.values()) else None
        return self.eventually(all_do, seconds, what)

    def wait_told(self, xec, gateways=1):
        """Until each gateway has told what it knew at least ten seconds from now."""
        since = time.time() * 1000
        self.eventually(lambda: sum(one["told_ms"] > since + 10_000 for one in self.running(xec).values()) == gateways, TOLD,
                        "told again")

    def lose_archive(self, xec, folders, name):
        """Removes the archive that has the object's first bytes, so that readers miss it; answers its path."""
        chunk = next(chunk for chunk in self.chunks_of(xec, name) if (chunk["stripe"], chunk["chunk"]) == (0, 0))
        path = next(folder for address, folder in folders.items() if address in chunk["address"]) + chunk["archive"]
        os.unlink(path)
        return path

    def check_pause(self, xec, urls, folders, name, gateways):
        """No gateway repairs while repairs are paused."""
        self.assertIn("every gateway knows it within 10 s", xec("jobs", "pause", "repair").out)
        self.wait_for(xec, lambda jobs: jobs["repair"]["state"] == "paused", "all know it", gateways)
        document = self.document(xec)
        self.assertEqual([job["job"] for job in document["jobs"] if job["paused"]], ["repair"])
        lost = self.lose_archive(xec, folders, name)
        for url in urls:
            self.xrdcp("-f", f"{url}/{name}", self.path("read"))
        self.wait_told(xec, gateways)
        pattern = os.path.dirname(lost) + "/p.*"
        self.assertEqual(glob.glob(pattern), [], "nobody has repaired it")
        self.assertRegex(xec("jobs").out, r"(?m)^repair .*PAUSED since")
        xec("jobs", "resume", "repair")
        self.eventually(lambda: glob.glob(pattern), TOLD, "repaired after the pause")
        self.wait_for(xec, lambda jobs: jobs["repair"]["state"] != "paused", "all go on", gateways)

    def test_two_gateways_of_a_cluster(self):
        cluster = self.cluster(servers=6, geometry="4+2", gateways=2, chunk_size="64KiB",
                               serve_options=["--clean-interval", "2s"])
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        xec = lambda command, *arguments, **more: self.run_program([self.program("xec"), command, *options, *arguments],
                                                                   **more)
        found = self.wait_for(xec, lambda jobs: sorted(jobs) == sorted(JOBS), "both tell", gateways=2)
        self.assertEqual(sorted(name.rsplit(":")[-1] for name in found), sorted(str(one.port) for one in cluster.gateways))
        file = self.random_file("a", 600_000)
        self.xrdcp(file, f"{cluster.gateways[0].url}//a")
        self.check_pause(xec, [one.url for one in cluster.gateways], {server.url: server.data for server in cluster.servers},
                         "/a", 2)

        # One of them dies: the other one goes on, and the list says so.
        cluster.gateways[0].xrootd.kill()
        self.eventually(lambda: len(self.running(xec)) == 1, SILENT, "one is silent")
        self.assertRegex(xec("jobs").out, r"(?m)^gateway .*silent for \d+ s")
        # What one gateway, one folder and many rounds leave: the marks of the last verb, and a record on 3 servers each.
        entries = [name for server in cluster.servers for name in os.listdir(os.path.join(server.data, ".xec", "jobs"))]
        self.assertLessEqual(len(entries), 6 + 3 + 2 * 3, entries)
        self.assertEqual({name.split(".")[1] for name in entries if not name.startswith("at.")}, {"resume"}, entries)

    def test_a_store_on_directories(self):
        store = self.serve(geometry="4+2", chunk_size="64KiB", options=["--clean-interval", "2s"])
        self.put(store, "/data/a", 600_000)
        self.wait_for(store.xec, lambda jobs: sorted(jobs) == sorted(JOBS), "it tells")
        self.check_pause(store.xec, [store.url], {path: path for path in store.dirs}, "/data/a", 1)
        table = store.xec("jobs").out
        for job in JOBS:
            self.assertRegex(table, rf"(?m)^  {job} +(waiting|running) +\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d")

    def cursor(self, jobs, done=5):
        clean = jobs["clean"]
        return clean["state"] == "running" and clean["done"] >= done and clean.get("cursor", "").startswith("/d/")

    def test_a_pass_goes_on_where_it_was(self):
        """Each start of a gateway began a pass anew, at any name: one that is started often never met some."""
        names = [f"/d/{number:03d}" for number in range(150)]
        store = self.serve(geometry="1+1", chunk_size="4KiB", dirs=3,
                           options=["--clean-interval", "8s", "--clean-rate", "5", "--sync", "none"])
        os.makedirs(self.path("in"))
        files = [self.random_file(f"in/{os.path.basename(name)}", 10) for name in names]
        store.xec("mkdir", "/d")
        store.xec("put", "-q", *files, "/d/")
        self.wait_for(store.xec, self.cursor, "a pass is under way", seconds=120)
        store.kill()
        [gateway] = self.document(store.xec, code=None)["gateways"]
        cursor = next(job["cursor"] for job in gateway["jobs"] if job["job"] == "clean")
        self.assertIn(cursor, names)
        store.start()
        log = os.path.join(store.state, "xrootd.log")
        self.eventually(lambda: f"begins at {cursor}," in open(log, encoding="utf-8", errors="replace").read(), TOLD,
                        "it knows where it was")
        [found] = self.wait_for(store.xec, lambda jobs: self.cursor(jobs, 2), "it goes on", seconds=120).values()
        clean = found["jobs"]["clean"]
        # The directory itself was the first name, and the one where it was the second.
        self.assertEqual(names.index(clean["at"]), (names.index(cursor) + clean["done"] - 1) % len(names), (cursor, clean))
        self.assertEqual(len(self.document(store.xec)["gateways"]), 1, "the one before is forgotten")

        # A pause holds the pass, and it goes on where it was; the cursor is told meanwhile.
        store.xec("jobs", "pause", "clean")
        [paused] = self.wait_for(store.xec, lambda jobs: jobs["clean"]["state"] == "paused", "paused").values()
        held = paused["jobs"]["clean"]
        self.wait_told(store.xec)
        [still] = self.running(store.xec).values()
        self.assertEqual([still["jobs"]["clean"][key] for key in ("done", "at", "cursor")],
                         [held[key] for key in ("done", "at", "cursor")])
        store.xec("jobs", "resume", "clean")
        self.wait_for(store.xec, lambda jobs: jobs["clean"]["state"] == "running" and jobs["clean"]["done"] > held["done"],
                      "it goes on")

        # A pass that is cancelled is given up, and its cursor with it.
        store.xec("jobs", "cancel", "clean")
        self.wait_for(store.xec, lambda jobs: "cursor" not in jobs["clean"] or jobs["clean"]["done"] < held["done"],
                      "cancelled")
        store.kill()
        # SIGTERM ends a gateway in the middle of a pass.
        store.start()
        self.wait_for(store.xec, self.cursor, "a pass is under way", seconds=120)
        self.assertEqual(store.stop(), 0)

    def test_without_a_gateway(self):
        store = self.serve(geometry="4+2", chunk_size="64KiB")
        xec = store.xec
        self.put(store, "/a", 1000)
        store.kill()
        for path in store.dirs:
            shutil.rmtree(os.path.join(path, ".xec", "jobs"), ignore_errors=True)
        self.assertIn("nothing runs them now", xec("jobs", code=5).out)
        self.assertIn("there is no job 'sweep'; there are members, clean,", xec("jobs", "pause", "sweep", code=2).err)
        self.assertIn("say pause, resume or cancel", xec("jobs", "stop", "clean", code=2).err)
        self.assertIn("say which job to pause", xec("jobs", "pause", code=2).err)
        self.assertIn("members cannot be paused: without it", xec("jobs", "pause", "members", code=2).err)
        self.assertIn("has no passes", xec("jobs", "cancel", "writes", code=2).err)
        self.assertIn("nothing runs them now", xec("jobs", "cancel", "clean", code=5).err)
        told = xec("jobs", "pause", "tidy").out
        self.assertIn("for gateways that are started later", told)
        # Two directories of six are away: a majority knows it.
        for path in store.dirs[-2:]:
            os.rename(path, path + ".away")
        xec("jobs", "pause", "repair")
        for path in store.dirs[-2:]:
            os.rename(path + ".away", path)
        store.start()
        log = os.path.join(store.state, "xrootd.log")
        self.eventually(lambda: re.search(r"xec: info jobs: paused: repair, tidy", open(log, encoding="utf-8").read()), TOLD,
                        "it knows from the start")
        self.wait_for(store.xec, lambda jobs: jobs["tidy"]["state"] == "paused" and jobs["repair"]["state"] == "paused",
                      "paused")

    def test_servers_that_take_nothing_down(self):
        store = self.serve(geometry="4+2", chunk_size="64KiB")
        self.wait_for(store.xec, lambda jobs: len(jobs) == len(JOBS), "it tells")
        boards = [os.path.join(path, ".xec", "jobs") for path in store.dirs]
        for board in boards[:3]:
            os.makedirs(board, exist_ok=True)
            os.chown(board, 0, 0)
            os.chmod(board, 0o755)
        refused = store.xec("jobs", "pause", "clean", code=9).err
        self.assertRegex(refused, r"3 of 6 data servers have taken down that clean is to pause, and 4 have to: .*[Pp]ermission")
        owner = os.stat(store.dirs[0])
        for board in boards[:3]:
            os.chown(board, owner.st_uid, owner.st_gid)
        self.assertEqual(store.xec("jobs", "pause", "clean").err, "")
        store.kill()
        self.eventually(lambda: store.xec("jobs", code=None).code == 5, SILENT, "nobody runs them")


if __name__ == "__main__":
    xectest.main()
