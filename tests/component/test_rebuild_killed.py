# SPDX-License-Identifier: LGPL-3.0-or-later
"""Whoever writes anew what a lost or leaving server held is killed at any moment, again and again, while two gateways work.

Every kill is one at a random moment of what is left to do (XEC_TEST_SEED takes others); XEC_TEST_LONG=1 kills more often.
"""
# seconds: 600
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import threading
import time

import many_objects
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
KILLS = 20 if LONG else 3
OBJECTS = 240 if LONG else 80
AT_ONCE_MAX = 8  # objects that one process repairs at a time (RebuildPace::kObjectsMax)
NAMES = 7  # of each gateway's own objects
SECONDS = 300
OK = (200, 201, 204)


class Work(threading.Thread):
    """Puts, reads, replaces and removes objects of its own through one gateway, which may be killed, until it is told to stop."""

    def __init__(self, test, gateway):
        super().__init__(daemon=True)
        self.test, self.gateway = test, gateway
        self.stopping = threading.Event()
        self.done, self.problems = 0, []

    def ask(self, method, name, body=None):
        """Status and body; 0: nobody answers."""
        connection = http.client.HTTPConnection(xectest.HOST, self.gateway.http_port, timeout=xectest.CLIENT_SECONDS)
        try:
            connection.request(method, name, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def run(self):
        for number in itertools.count():
            if self.stopping.is_set():
                return
            name = f"/work/{self.gateway.name}/{number % NAMES}"
            body = f"{name} {number}\n".encode() * 3000
            for method, wanted in (("PUT", OK), ("GET", OK), ("DELETE", OK), ("GET", (404,)), ("PUT", OK)):
                status, got = self.ask(method, name, body if method == "PUT" else None)
                if status == 0 or status >= 500:
                    break  # the gateway was killed, or cannot tell
                if status not in wanted or (method == "GET" and status == 200 and got != body):
                    self.problems.append((method, name, status, len(got)))
                self.done += 1

    def stop(self):
        self.stopping.set()
        self.join()


class RebuildKilled(many_objects.ObjectsTest):
    def setUp(self):
        super().setUp()
        self.moments = random.Random(int(os.environ.get("XEC_TEST_SEED", "1")))

    def up(self, servers, *options):
        """A store with objects and two gateways at work."""
        self.store = self.cluster(servers=servers, geometry="4+2", gateways=2, chunk_size="64KiB",
                                  serve_options=["--sync", "none", *options])
        self.options = [word for server in self.store.servers for word in ("--server", server.server_option())]
        self.options += options
        self.objects = self.put_objects(self.xec, OBJECTS)
        self.works = [Work(self, gateway) for gateway in self.store.gateways]
        for work in self.works:
            work.start()

    def words(self, command, *arguments):
        return [self.program("xec"), command, *self.options, *arguments]

    def xec(self, command, *arguments, **more):
        return self.run_program(self.words(command, *arguments), **more)

    def kill_gateway(self, seconds):
        """One of them, at a moment within so many seconds; it is started again."""
        gateway = self.moments.choice(self.store.gateways)
        threading.Event().wait(self.moments.uniform(0, seconds))
        gateway.kill()
        self.store.start_gateway(gateway, time.monotonic() + xectest.READY_SECONDS)

    def held(self, server):
        """Its archives of the objects that have bytes."""
        return [path for path in self.files_below(server.data) if re.match(r"data/.*/p\.[^/]*\.[1-9]\d*$", path)]

    def standing(self, kind):
        """Entries of objects of which nobody but the tested process takes care, each with its time: "p" archives, "y" drafts."""
        found = {}
        for server in self.store.servers:
            for path in self.files_below(server.data):
                if re.match(rf"data/.*\.~xo/{kind}\.", path):
                    path = os.path.join(server.data, path)
                    with contextlib.suppress(FileNotFoundError):  # a request of one that was killed, or a cleaner
                        found[path] = os.stat(path).st_mtime_ns
        return found

    def at_rest(self, kind):
        """As above, once the servers have done what one that was killed had sent."""
        looks = [self.standing(kind)]

        def same():
            looks.append(self.standing(kind))
            return looks[-1] == looks[-2]
        self.eventually(same, xectest.READY_SECONDS, "nothing comes any more")
        return looks[-1]

    def lose(self, server):
        """Somebody deletes all of these; how many."""
        paths = self.held(server)
        for path in paths:
            os.unlink(os.path.join(server.data, path))
        return len(paths)

    def check_end(self, servers, *gone):
        """All is there, once, and nothing else."""
        for work in self.works:
            work.stop()
            self.assertEqual(work.problems, [])
            self.assertGreater(work.done, 20)
        repair = ["repair", "--all", "--lost", *gone]
        told = json.loads(self.xec(*repair, "--json", seconds=SECONDS).out)
        self.assertEqual((told["census"]["full"], told["not_done"]), (told["census"]["objects"], 0), told["details"][:3])
        print(f"  {told['needed_repair']} objects needed repair at the end, {told['left_twice']} archives are left twice", flush=True)
        # What a killed mover has left twice goes once nobody can be at work on it.
        tidy = [*repair, *many_objects.AT_ONCE, "--json"]
        self.eventually(lambda: json.loads(self.xec(*tidy, seconds=SECONDS).out)["left_twice"] == 0, many_objects.TIDIED,
                        "each archive is there once")
        folders = [server.data for server in servers]
        before = self.archives(folders)
        self.assertRegex(self.xec(*repair, seconds=SECONDS).out, r"(?m)^0 of \d+ objects needed repair")
        self.assertEqual(self.archives(folders), before)
        self.check_objects(self.xec, self.objects)
        for store in self.store.gateways:
            store.http = store.http_url
            self.check_all_reads(store, self.objects)

        self.check_no_strays(self.xec, servers)

    def test_the_repair_of_what_a_lost_server_held(self):
        self.up(9)
        lost, deleted = self.store.servers[3], self.store.servers[6]
        lost.kill()
        killed = written = 0
        cut_off = []
        while killed < KILLS:
            self.assertGreater(self.lose(deleted), 0)
            stood, drafts = self.standing("p"), self.standing("y")
            process = self.background(self.words("repair", "--all", "--lost", "--gone", "s04"))
            process.wait_line("/data/")
            killed += self.kill_soon(self.moments, process, 0.3)
            now, left = self.standing("p"), self.at_rest("y")
            self.assertEqual({path: now.get(path) for path in stood}, stood, "what stood at a kill is not written again")
            written += len(now) - len(stood)
            cut_off.append(len({re.search(r"/data/(data/.*)\.~xo/", path)[1] for path in left.keys() - drafts.keys()}))
        print(f"\n  {killed} kills, {written} archives written, none of them twice; {sum(cut_off)} objects were cut off: "
              f"{' '.join(map(str, cut_off))}", flush=True)
        self.assertLessEqual(max(cut_off), AT_ONCE_MAX)
        self.check_end([server for server in self.store.servers if server is not lost], "--gone", "s04")

    def test_the_drain_of_a_server(self):
        """By the command and by gateways, of which all are killed, before archives leave it and while they do."""
        self.up(8, "--descriptor-interval", "1s", "--metadata-timeout", "2s")
        drained = self.store.servers[1]
        start = lambda: self.background(self.words("server", "drain", "s02"))
        process = start()
        before_they_leave = KILLS // 3
        for _ in range(before_they_leave):
            self.kill_gateway(2)
            self.assertTrue(self.kill_soon(self.moments, process, 2))
            process = start()
        killed = rounds = 0
        while killed < KILLS - before_they_leave and self.held(drained):
            before = len(self.held(drained))
            self.eventually(lambda: len(self.held(drained)) < before, SECONDS, "archives leave it")
            killed += self.kill_soon(self.moments, process, 0.2)
            rounds += 1
            self.kill_gateway(0.2)
            process = start()
        print(f"\n  {before_they_leave} kills of the command before archives leave, {killed} while they do, and of a gateway "
              f"{before_they_leave + rounds}; {len(self.held(drained))} archives are left to move", flush=True)
        # The gateways go on meanwhile, and may be done before.
        self.assertGreaterEqual(killed, (KILLS - before_they_leave) // 2)
        self.assertEqual(process.wait(SECONDS), 0, process.output())
        self.assertIn("s02 is empty", process.output())
        self.assertIn("s02 is no member any more", self.xec("server", "remove", "s02").out)
        self.check_end([server for server in self.store.servers if server is not drained])


if __name__ == "__main__":
    xectest.main()
