# SPDX-License-Identifier: LGPL-3.0-or-later
"""What tests of changing members have in common: gateways with lists of their own on stock servers, and work that goes on through
them meanwhile."""
import http.client
import itertools
import json
import os
import re
import time

import xectest
import xrootd_cluster

INTERVAL = 1    # seconds between two readings of the descriptor
OPTIONS = ["--descriptor-interval", f"{INTERVAL}s"]
OK, NOT_FOUND, CANNOT_TELL = (200, 201, 204), (404,), (500, 503)  # XRootD 5 has no status 503 for this (docs/limits.md)


class Gateway(xrootd_cluster.Gateway):
    """A gateway with a list of its own."""

    def __init__(self, cluster, index, servers, *more):
        super().__init__(cluster, index)
        self.servers = list(servers)
        self.more = list(more)

    def command(self):
        argv = [self.cluster.xec(), "serve", *self.options(), *self.cluster.store_options, *self.more, "--port", str(self.port),
                "--http-port", str(self.http_port), "--state", os.path.join(self.base, "state")]
        if self.cluster.user.entry:
            argv += ["--user", self.cluster.user.entry.pw_name]
        return argv

    def options(self):
        return [*(word for server in self.servers for word in ("--server", server)), *OPTIONS]

    def said(self):
        with open(self.xrootd_log(), encoding="utf-8", errors="replace") as file:
            return file.read()

    def ask(self, method, name, body=None):
        connection = http.client.HTTPConnection(xectest.HOST, self.http_port, timeout=xectest.CLIENT_SECONDS)
        try:
            connection.request(method, name, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.IncompleteRead as error:
            return 500, error.partial  # XRootD asks for the size first, and answers by it
        finally:
            connection.close()


def content(name):
    return f"this is {name}\n".encode() * 700


class MembersTest(xectest.TestCase):
    STORE_OPTIONS = ["--geometry", "2+1", "--chunk-size", "4KiB"]

    def setUp(self):
        super().setUp()
        self.up = None
        self.count = 0

    def start(self, servers, members, **options):
        """A cluster; a store on its first servers, made by a gateway that lists them all."""
        self.up = self.cluster(servers=servers, **options)
        self.up.store_options = self.STORE_OPTIONS
        return self.gateway(self.urls(range(1, members + 1)))

    def urls(self, numbers):
        return [self.up.servers[number - 1].url for number in numbers]

    def gateway(self, servers, *more):
        self.count += 1
        gateway = Gateway(self.up, self.count, servers, *more)
        self.addCleanup(gateway.kill)
        self.up.start_gateway(gateway, time.monotonic() + xectest.READY_SECONDS)
        return gateway

    def xec(self, servers, command, *words, **options):
        """Directly, without a gateway."""
        listed = [word for server in servers for word in ("--server", server)]
        return self.run_program([self.up.xec(), command, *listed, *OPTIONS, *words], code=None, **options)

    # What the descriptor says, and how it is changed.

    def descriptor_path(self, number, epoch=1):
        return os.path.join(self.up.servers[number - 1].data, ".xec", "store" if epoch == 1 else f"store.{epoch}")

    def descriptor(self, number=1):
        with open(self.descriptor_path(number), encoding="utf-8") as file:
            return file.read()

    def write(self, path, text):
        """Whole or not at all, as the user of the data servers."""
        self.up.user.give(os.path.dirname(path))
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        if self.up.user.entry:
            os.chown(path + ".new", self.up.user.entry.pw_uid, self.up.user.entry.pw_gid)
        os.replace(path + ".new", path)

    def changed(self, epoch, members=None):
        """The descriptor with another epoch and members, by their numbers."""
        text = re.sub(r"(?m)^checksum .*\n", "", self.descriptor())
        text = re.sub(r"(?m)^epoch \d+$", f"epoch {epoch}", text)
        if members is not None:
            lines = "".join(f"member s{number:02d} {self.up.servers[number - 1].url} h{number}\n" for number in members)
            text = re.sub(r"(?m)^member .*\n", "", text).replace("end\n", lines + "end\n")
        return text

    def store_on(self, numbers, text):
        for number in numbers:
            self.write(self.descriptor_path(number), text)

    # What is asked and must be answered.

    def put(self, gateway, name, wanted=OK):
        status, text = gateway.ask("PUT", name, content(name))
        self.assertIn(status, wanted, f"put {name} through {gateway.name}: {text[:300]!r}")

    def get(self, gateway, name, wanted=OK):
        status, text = gateway.ask("GET", name)
        self.assertIn(status, wanted, f"get {name} through {gateway.name}: {text[:300]!r}")
        if wanted == OK:
            self.assertEqual(text, content(name), f"{name} through {gateway.name}")

    def exclusive(self, gateway, name):
        """None for success, else what xrdcp said."""
        path = self.path("exclusive")
        with open(path, "wb") as file:
            file.write(content(name))
        done = self.xrdcp(path, f"{gateway.url}/{name}", code=None, env=xectest.QUICK_CLIENT)
        return None if done.code == 0 else done.err

    def compare(self, one, other, prefix):
        """Both see what each of them does, and neither creates over the other."""
        for number in range(6):
            name = f"{prefix}/{number}"
            writer, reader = (one, other) if number % 2 else (other, one)
            self.get(reader, name, NOT_FOUND)
            self.put(writer, name)
            self.get(reader, name)
            self.get(writer, name)
            self.assertIn("exists", (self.exclusive(reader, name) or "it was created twice").lower())
            self.assertIn(reader.ask("DELETE", name)[0], OK)
            self.get(writer, name, NOT_FOUND)
        self.assertIsNone(self.exclusive(one, f"{prefix}/new"))
        self.assertIn("exists", (self.exclusive(other, f"{prefix}/new") or "it was created twice").lower())

    def silent(self, gateway, names):
        """It answers "cannot tell" to everything."""
        for name in names:
            self.get(gateway, name, CANNOT_TELL)
        self.put(gateway, names[0], CANNOT_TELL)
        self.assertIn(gateway.ask("DELETE", names[0])[0], CANNOT_TELL)
        self.assertIn("temporarily unavailable", (self.exclusive(gateway, "/silent") or "it was created").lower())

    def silent_soon(self, gateway, name, seconds=30):
        self.eventually(lambda: gateway.ask("GET", name)[0] in CANNOT_TELL, seconds, f"{gateway.name} says \"cannot tell\"")

    def spoken_soon(self, gateway, name, status):
        self.eventually(lambda: gateway.ask("GET", name)[0] in status, 30, f"{gateway.name} answers again")

    # How they change, and what goes on meanwhile.

    def change(self, servers, *words):
        """`xec server ...`, to its end."""
        done = self.xec(servers, "server", *words, seconds=300)
        self.assertEqual(done.code, 0, done)
        return done.out

    def roles(self, servers):
        listed = self.xec(servers, "server", "list", "--json")
        self.assertEqual(listed.code, 0, listed)
        return {member["server"]: member["role"] for member in json.loads(listed.out)["members"]}

    def work(self, gateway, prefix, stop, problems, told):
        """Puts, reads, replaces and removes through one gateway until it is told to stop. `told`: how many operations ended, and
        how many were to be done again: those that took longer than the lease while the list changed, which is 3 s here and 90 s
        otherwise."""
        for number in itertools.count():
            if stop.is_set():
                return
            name, other = f"/{prefix}/{number % 40}", f"/{prefix}/moved"
            body = f"{prefix} {number}\n".encode() * 500
            for method, path, sent, wanted in (("PUT", name, body, OK), ("GET", name, None, OK), ("DELETE", name, None, OK),
                                               ("GET", name, None, NOT_FOUND), ("PUT", other, body, OK), ("GET", other, None, OK)):
                told["ended"] += 1
                try:
                    status, got = gateway.ask(method, path, sent)
                except (ConnectionError, http.client.HTTPException):
                    status, got = CANNOT_TELL[0], b""  # XRootD hangs up where the close of an upload fails
                if status in CANNOT_TELL:
                    told["again"] += 1
                    break
                if status not in wanted:
                    problems.append((time.time(), gateway.name, method, path, status, got[:200]))
                elif method == "GET" and status == 200 and got != body:
                    problems.append((time.time(), gateway.name, method, path, "other bytes", len(got)))
