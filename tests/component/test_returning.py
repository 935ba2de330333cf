# SPDX-License-Identifier: LGPL-3.0-or-later
"""Servers that were away while objects were removed, renamed and replaced bring nothing of it back (promise P5), nor do
disks in whose place an older copy was put.

`./dev test` takes a few objects of each kind; XEC_TEST_LONG=1 takes 1,000.
"""
# waits
import concurrent.futures
import http.client
import os
import threading
import time

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
COUNT = 1000 if LONG else 40
SIZE = 3000
CLIENTS = 8
HORIZON = 5  # seconds
CLOCK_MILLISECONDS = 10_000  # between two readings of the disks' clocks
# So that a minute is long enough for everything that waits for a time of grace.
SERVE_OPTIONS = ["--superseded-grace", "2s", "--upload-grace", "2s", "--operation-limit", "2s", "--tombstone-horizon", f"{HORIZON}s",
                 "--clean-interval", "2s"]
KINDS = ("removed", "renamed", "replaced", "kept")


class Client:
    """HTTP to the gateways; each thread has connections of its own."""

    def __init__(self):
        self.of_thread = threading.local()

    def connection(self, gateway):
        connections = self.of_thread.__dict__.setdefault("connections", {})
        if gateway not in connections:
            connections[gateway] = http.client.HTTPConnection(xectest.HOST, gateway.http_port, timeout=xectest.CLIENT_SECONDS)
        return connections[gateway]

    def ask(self, gateway, method, name, body=None, headers=None):
        connection = self.connection(gateway)
        connection.request(method, name, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()


def content(name, version):
    return (f"{name} version {version} " * SIZE)[:SIZE].encode()


class Returning(xectest.TestCase):
    def each(self, work, items):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for _ in pool.map(work, items):
                pass

    def ask(self, wanted, gateway, method, name, body=None, headers=None):
        status, got = self.client.ask(gateway, method, name, body, headers)
        self.assertIn(status, wanted, f"{method} {name} on {gateway.name}: {got[:300]!r}")
        return got

    def change(self, number):
        gateway = self.cluster_up.gateways[number % 2]
        self.ask((200, 204), gateway, "DELETE", f"/removed/{number}")
        self.ask((201, 204), gateway, "MOVE", f"/renamed/{number}", headers={"Destination": f"{gateway.http_url}/moved/{number}"})
        self.ask((200, 201), gateway, "PUT", f"/replaced/{number}", content(f"/replaced/{number}", 2))

    def check(self, number):
        for gateway in self.cluster_up.gateways:
            self.ask((404,), gateway, "GET", f"/removed/{number}")
            self.ask((404,), gateway, "GET", f"/renamed/{number}")
            for name, wanted in ((f"/moved/{number}", content(f"/renamed/{number}", 1)),
                                 (f"/replaced/{number}", content(f"/replaced/{number}", 2)),
                                 (f"/kept/{number}", content(f"/kept/{number}", 1))):
                self.assertEqual(self.ask((200,), gateway, "GET", name), wanted, f"{name} on {gateway.name}")

    def debris(self):
        """What the servers keep of names that are gone, and old versions."""
        left = []
        for server in self.cluster_up.servers:
            archives = {}
            for path in self.files_below(server.data):
                top, _, rest = path.partition("/")
                name = rest.partition(".~xo/")[0]
                if top in ("removed", "renamed"):
                    left.append(f"{server.name}/{path}")
                elif top in ("moved", "replaced", "kept"):
                    archives.setdefault((top, name), []).append(f"{server.name}/{path}")
            left += [path for paths in archives.values() if len(paths) > 1 for path in paths]
        return left

    def start_with_objects(self):
        self.client = Client()
        self.cluster_up = cluster = self.cluster(servers=12, geometry="8+2", gateways=2, chunk_size="64KiB",
                                                 serve_options=SERVE_OPTIONS)
        self.each(lambda number: [self.ask((200, 201), cluster.gateways[number % 2], "PUT", f"/{kind}/{number}",
                                           content(f"/{kind}/{number}", 1)) for kind in KINDS], range(COUNT))
        return cluster

    def test_nothing_comes_back(self):
        cluster = self.start_with_objects()
        away = cluster.servers[2], cluster.servers[7]
        for server in away:
            server.kill()
        self.each(self.change, range(COUNT))
        self.each(self.check, range(COUNT))
        # Longer than tombstones are needed for those who are there: who was away must not be the last to know.
        changed = time.monotonic()
        self.eventually(lambda: time.monotonic() > changed + HORIZON, 60, "the horizon has passed")
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        for _ in range(2):
            self.run_program([self.program("xec"), "clean", *options, "--tombstone-horizon", f"{HORIZON}s",
                              "--operation-limit", "2s"], code=None)
        for server in away:
            cluster.start(server)
        back = time.monotonic()
        self.each(self.check, range(COUNT))
        self.eventually(lambda: not self.debris(), 300, "the debris is gone")
        print(f"test_returning: {COUNT} of each kind; {time.monotonic() - back:.0f} s after the servers came back nothing was "
              "left over", flush=True)
        self.each(self.check, range(COUNT))

    def clock(self, server):
        """The time of its disk, in milliseconds."""
        readings = os.listdir(os.path.join(server.data, ".xec", "clock"))
        return max((int(reading) for reading in readings if reading.isdigit()), default=0)

    def let_clocks_go_on(self, servers, what):
        """Until all of them tell a time at which everybody had noted what each showed before: a reading settles when the
        next but one is written, is noted with the one after that, and a round may come late."""
        enough = max(self.clock(server) for server in servers) + 4 * CLOCK_MILLISECONDS
        self.eventually(lambda: all(self.clock(server) > enough for server in servers), 120, what)

    def replace_disk(self, server, copy):
        server.kill()
        os.rename(server.data, server.data + ".newer")
        self.run_program(["cp", "-a", copy, server.data])
        self.cluster_up.start(server)

    def test_disks_go_back_in_time(self):
        cluster = self.start_with_objects()
        self.eventually(lambda: all(self.clock(server) > 0 for server in cluster.servers), 60, "all disks have a clock")
        older = cluster.servers[2], cluster.servers[7]
        for server in older:
            server.kill()
            self.run_program(["cp", "-a", server.data, server.data + ".copy"])
            cluster.start(server)
        self.each(self.change, range(COUNT))
        # What was removed is forgotten then: nobody could tell that the older copies are wrong about it.
        self.eventually(lambda: not self.debris(), 300, "the debris is gone")
        self.let_clocks_go_on(cluster.servers, "the clocks go on")
        for server in older:
            self.replace_disk(server, server.data + ".copy")
        back = time.monotonic()
        rounds = 0
        while any(self.clock(server) < self.clock(cluster.servers[0]) - 3 * CLOCK_MILLISECONDS for server in older):
            self.each(self.check, range(COUNT))
            rounds += 1
            self.assertLess(time.monotonic(), back + 120, "the disks are not compared")
        compared = time.monotonic() - back
        self.eventually(lambda: not self.debris(), 300, "the debris is gone")
        self.each(self.check, range(COUNT))
        print(f"test_returning: two older disks were compared within {compared:.0f} s, everything was read {rounds} times meanwhile",
              flush=True)


if __name__ == "__main__":
    xectest.main()
