# SPDX-License-Identifier: LGPL-3.0-or-later
"""Whoever writes anew what a lost or leaving server held is killed at any moment, again and again, while two gateways work.

Every kill is one at a random moment of what is left to do (XEC_TEST_SEED takes others); XEC_TEST_LONG=1 kills more often.
"""
# seconds: 600
import collections
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import subprocess
import threading
import time

import many_objects
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
KILLS = 20 if LONG else 3
OBJECTS = 80
ARCHIVES = 6  # of an object, at most
NAMES = 7  # of each gateway's own objects
SECONDS = 300
TIDIED = 30  # seconds
OK = (200, 201, 204)
# So that what was interrupted is tidied at once, by a cleaner that runs alone.
AT_ONCE = ["--upload-grace", "1s", "--superseded-grace", "1s", "--operation-limit", "1s", "--tombstone-horizon", "2s"]


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

    def kill_soon(self, process, seconds):
        """At a moment within so many seconds. Was it at work?"""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.popen.wait(self.moments.uniform(0, seconds))
        at_work = process.popen.poll() is None
        process.kill()
        return at_work

    def kill_gateway(self, seconds):
        """One of them, at a moment within so many seconds; it is started again."""
        gateway = self.moments.choice(self.store.gateways)
        threading.Event().wait(self.moments.uniform(0, seconds))
        gateway.kill()
        self.store.start_gateway(gateway, time.monotonic() + xectest.READY_SECONDS)

    def held(self, server):
        """Its archives of the objects that have bytes."""
        return [path for path in self.files_below(server.data) if re.match(r"data/.*/p\.[^/]*\.[1-9]\d*$", path)]

    def lose(self, server):
        """Somebody deletes all of these; how many."""
        paths = self.held(server)
        for path in paths:
            os.unlink(os.path.join(server.data, path))
        return len(paths)

    def strays(self, servers):
        """What lies on these servers and is no archive, or witness, of the one version of an object that lives."""
        living = {entry["path"] for entry in json.loads(self.xec("ls", "-R", "--json", "/").out) if entry["type"] == "object"}
        entries = collections.defaultdict(set)
        for server in servers:
            for path in self.files_below(server.data):
                if not path.startswith(".xec/"):
                    name, _, entry = path.rpartition(".~xo/")
                    entries["/" + name].add((entry, server.url))

        def is_right(name, found):
            archives = [entry for entry, _ in found if entry.startswith("p.")]
            others = [entry for entry, _ in found if not entry.startswith(("p.", "w."))]
            return name in living and len(set(archives)) == 1 and len(archives) <= ARCHIVES and not others
        return {name: found for name, found in entries.items() if not is_right(name, found)}

    def check_end(self, servers, *gone):
        """All is there, once, and nothing else."""
        for work in self.works:
            work.stop()
            self.assertEqual(work.problems, [])
            self.assertGreater(work.done, 20)
        repair = ["repair", "--all", "--lost", *gone]
        self.assertRegex(self.xec(*repair, seconds=SECONDS).out, r"(\d+) of \1 objects have their full redundancy")
        # What a killed mover has left twice goes once nobody can be at work on it.
        self.eventually(lambda: json.loads(self.xec(*repair, *AT_ONCE, "--json", seconds=SECONDS).out)["left_twice"] == 0, TIDIED,
                        "each archive is there once")
        folders = [server.data for server in servers]
        before = self.archives(folders)
        self.assertRegex(self.xec(*repair, seconds=SECONDS).out, r"(?m)^0 of \d+ objects needed repair")
        self.assertEqual(self.archives(folders), before)
        self.check_objects(self.xec, self.objects)
        for store in self.store.gateways:
            store.http = store.http_url
            self.check_all_reads(store, self.objects)

        def left():
            self.xec("clean", *AT_ONCE, code=None)
            return self.strays(servers)
        with contextlib.suppress(AssertionError):
            self.eventually(lambda: not left(), TIDIED, "nothing is left over")
        self.assertEqual(left(), {})

    def test_the_repair_of_what_a_lost_server_held(self):
        self.up(9)
        lost, deleted = self.store.servers[3], self.store.servers[6]
        lost.kill()
        killed = 0
        while killed < KILLS:
            self.assertGreater(self.lose(deleted), 0)
            process = self.background(self.words("repair", "--all", "--lost", "--gone", "s04"))
            process.wait_line("/data/")
            killed += self.kill_soon(process, 0.3)
        self.check_end([server for server in self.store.servers if server is not lost], "--gone", "s04")

    def test_the_drain_of_a_server(self):
        """By the command and by gateways, of which all are killed, before archives leave it and while they do."""
        self.up(8, "--descriptor-interval", "1s", "--metadata-timeout", "2s")
        drained = self.store.servers[1]
        start = lambda: self.background(self.words("server", "drain", "s02"))
        process = start()
        for _ in range(KILLS // 3):
            self.kill_gateway(2)
            self.assertTrue(self.kill_soon(process, 2))
            process = start()
        for _ in range(KILLS // 3):
            before = len(self.held(drained))
            self.eventually(lambda: len(self.held(drained)) < before or before == 0, SECONDS, "archives leave it")
            self.kill_soon(process, 0.2)
            self.kill_gateway(0.2)
            process = start()
        self.assertEqual(process.wait(SECONDS), 0, process.output())
        self.assertIn("s02 is empty", process.output())
        self.assertIn("s02 is no member any more", self.xec("server", "remove", "s02").out)
        self.check_end([server for server in self.store.servers if server is not drained])


if __name__ == "__main__":
    xectest.main()
