# SPDX-License-Identifier: LGPL-3.0-or-later
"""Data servers that stop answering: everything goes on, the gateway says who it is, and they are used again."""
import contextlib
import json
import os
import queue
import re
import socket
import threading
import time

import everyday
import xectest

KIB = 1024


class SlowLine:
    """Forwards connections to a port; what the server says is passed on `delay` seconds later."""

    def __init__(self, test, port, to):
        self.delay = 0.0
        self._to = to
        self._listener = socket.create_server((xectest.HOST, port))
        self._ended = threading.Event()
        test.addCleanup(self._close)
        threading.Thread(target=self._accept, daemon=True).start()

    def _close(self):
        self._ended.set()
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((xectest.HOST, self._to))
                late = queue.SimpleQueue()
                for work in ((self._pass_on, client, server), (self._receive, server, late), (self._tell, late, client)):
                    threading.Thread(target=work[0], args=work[1:], daemon=True).start()

    def _pass_on(self, source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def _receive(self, source, late):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                late.put((time.monotonic() + self.delay, piece))
        late.put((0, b""))

    def _tell(self, late, target):
        with contextlib.suppress(OSError):
            while True:
                when, piece = late.get()
                self._ended.wait(max(0, when - time.monotonic()))
                if not piece:
                    break
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)


class Health(everyday.EverydayTest):
    def up(self):
        cluster = self.cluster(geometry="8+2", gateways=1, chunk_size="64KiB")
        gateway = cluster.gateways[0]
        gateway.http = gateway.http_url
        return cluster, gateway

    def xec_on(self, cluster):
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        return lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)

    def health(self, xec, code):
        answer = json.loads(xec("health", "--servers", "--json", code=code).out)
        return {row["address"].rstrip("/"): row for row in answer["servers"]}

    def gateway_tells(self, gateway, servers, words):
        """Waits for a line about each of them that matches."""
        for server in servers:
            self.eventually(lambda server=server: self.log_lines(gateway, server, words), 60,
                            f"the gateway tells of {server.name}: {words}")

    def states(self, xec, code, state):
        """Addresses of the servers in this state; `code`: of xec health."""
        return {address for address, row in self.health(xec, code).items() if row["state"] == state}

    def log_lines(self, gateway, server, words):
        with open(gateway.xrootd_log(), encoding="utf-8", errors="replace") as file:
            return [line for line in file if f":{server.port}" in line and re.search(words, line)]

    def check_everything(self, gateway, xec, kept, size):
        for name, file in kept.items():
            self.check_reads(gateway, name, file)
        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", "/kept/none", code=54).err)
        self.assertEqual(len(self.xrdfs(gateway.url, "ls", "/kept").out.split()), len(kept))
        self.check_everyday_commands(gateway, size)
        self.xrdfs(gateway.url, "mkdir", "/tree")
        self.xrdfs(gateway.url, "mkdir", "/tree/a")
        self.xrdfs(gateway.url, "mv", "/tree", "/moved")
        self.assertEqual(self.xrdfs(gateway.url, "ls", "/moved").out.split(), ["/moved/a"])
        self.xrdfs(gateway.url, "rmdir", "/moved/a")
        self.xrdfs(gateway.url, "rmdir", "/moved")
        self.assertEqual(sorted(xec("ls", "/kept").out.split()), sorted(name.split("/")[-1] for name in kept))

    def test_a_server_that_answers_slowly_answers(self):
        """One second was all it had for ten requests."""
        cluster = self.cluster(servers=3)
        port = self.free_port()
        line = SlowLine(self, port, cluster.servers[0].port)
        servers = [f"root://{xectest.HOST}:{port}", *(server.server_option() for server in cluster.servers[1:])]
        options = [word for server in servers for word in ("--server", server)]
        run = [self.program("xec")]
        self.run_program([*run, "put", *options, "--geometry", "2+1", self.random_file("f", 100_000), "/f"])
        line.delay = 0.12
        answer = json.loads(self.run_program([*run, "health", "--servers", "--json", *options]).out)
        self.assertEqual([row.get("problem") for row in answer["servers"]], [None] * 3)
        line.delay = 5.0
        answer = json.loads(self.run_program([*run, "health", "--servers", "--json", *options], code=5).out)
        self.assertEqual([bool(row.get("problem")) for row in answer["servers"]], [True, False, False])

    def test_two_servers_stopped_then_back_then_killed(self):
        cluster, gateway = self.up()
        xec = self.xec_on(cluster)
        kept = {f"/kept/{size}": self.put(gateway, f"/kept/{size}", size) for size in (0, 27_000, 3_000_000)}
        self.assertEqual({row["state"] for row in self.health(xec, 0).values()} - {"slow"}, {"up"})

        bad = cluster.servers[2:4]
        for server in bad:
            server.freeze()
        self.check_everything(gateway, xec, kept, 700_000)
        self.gateway_tells(gateway, bad, "(has not answered for|does not answer)")
        self.assertEqual(self.states(xec, 5, "suspect"), {server.url for server in bad})
        table = xec("health", "--servers", code=5).out
        self.assertIn("2 of 12 data servers do not answer", table)

        for server in bad:
            server.thaw()
        self.gateway_tells(gateway, bad, "answers again")
        self.eventually(lambda: xec("health", "--servers", code=None).code == 0, 60, "all servers answer")

        def used_again():
            self.xrdcp("-f", self.random_file("again", 8 * 64 * KIB), f"{gateway.url}//again")
            holders = {chunk["address"].rstrip("/") for chunk in self.chunks_of(xec, "/again")}
            return any(server.url in holders for server in bad)
        self.eventually(used_again, 60, "new objects lie on a server that was stopped")
        # What they were sent while they were stopped they have done now: seals of uploads that are long over, which
        # exclusive creations of the same names respect until the cleaner has been there.
        xec("clean")
        self.check_everything(gateway, xec, kept, 700_001)

        for server in bad:
            server.kill()
        self.check_everything(gateway, xec, kept, 700_002)
        self.gateway_tells(gateway, bad, "(has been|is) down")
        self.assertEqual(self.states(xec, 5, "down"), {server.url for server in bad})
        for server in bad:
            cluster.start(server)
        self.eventually(lambda: xec("health", "--servers", code=None).code == 0, 60, "all servers answer")
        self.check_everything(gateway, xec, kept, 700_003)


if __name__ == "__main__":
    xectest.main()
