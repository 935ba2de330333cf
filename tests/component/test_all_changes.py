# SPDX-License-Identifier: LGPL-3.0-or-later
"""Everything that operators do with data servers, one after the other, under two gateways at work, with clients of http and of
root; only with XEC_TEST_LONG=1.
test_members and test_gateways_rebuild have shorter ones of each kind."""
# waits
# seconds: 900
import collections
import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import tempfile
import threading
import time

import xectest
from members import CANNOT_TELL, NOT_FOUND, OK, MembersTest

MEMBERS, ADDED, GEOMETRY = 12, 4, "8+2"
# Operations that took longer than the lease while the list changed are told to be tried again: it is 3 s here, and 90 s otherwise.
AGAIN_PERCENT = 1
NAMES = 12    # of each worker
PAUSE = 0.2   # seconds: a client that is told to try again waits


class HttpClient:
    def __init__(self, gateway):
        self.gateway, self.name = gateway, f"{gateway.name} http"

    def ask(self, method, path, what):
        """Status and answer."""
        try:
            return self.move(path, what) if method == "MOVE" else self.gateway.ask(method, path, what)
        except (ConnectionError, http.client.HTTPException):
            return CANNOT_TELL[0], b""  # XRootD hangs up where the close of an upload fails

    def move(self, path, to):
        connection = http.client.HTTPConnection(xectest.HOST, self.gateway.http_port, timeout=xectest.CLIENT_SECONDS)
        with contextlib.closing(connection):
            connection.request("MOVE", path, headers={"Destination": f"{self.gateway.http_url}{to}"})
            answer = connection.getresponse()
            return answer.status, answer.read()


class RootClient:
    """xrdcp and xrdfs; what they say is told as the status that http has for it."""

    def __init__(self, test, gateway):
        self.test, self.gateway, self.name = test, gateway, f"{gateway.name} root"
        self.folder = tempfile.mkdtemp(dir=test.dir)

    def ask(self, method, path, what):
        file, url = os.path.join(self.folder, "file"), f"{self.gateway.url}/{path}"
        got = b""
        if method == "PUT":
            with open(file, "wb") as out:
                out.write(what)
            done = self.test.xrdcp("-f", file, url, code=None)
        elif method == "GET":
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)
            done = self.test.xrdcp(url, file, code=None)
            if done.code == 0:
                with open(file, "rb") as back:
                    got = back.read()
        else:
            words = {"MOVE": ["mv", path, what], "DELETE": ["rm", path], "LIST": ["ls", path]}[method]
            done = self.test.xrdfs(self.gateway.url, *words, code=None)
            got = done.out.encode()
        return (OK[0], got) if done.code == 0 else (self.status(done.err), str(done).encode())

    @staticmethod
    def status(said):
        """0 for what is neither "retry" nor "not found", and so right for nothing."""
        if re.search(r"\[3011\]", said):
            return NOT_FOUND[0]
        return CANNOT_TELL[0] if re.search(r"\[3005\].*temporarily unavailable|\[3024\]", said) else 0


class Worker(threading.Thread):
    """Puts, reads, replaces, lists, renames and removes until it is told to stop. Nobody else uses its names."""

    def __init__(self, test, number, client, stop):
        super().__init__(daemon=True)
        self.client, self.lister, self.stopping = client, RootClient(test, client.gateway), stop
        self.folder = f"/w{number}"
        self.known = {}  # path -> bytes
        self.told, self.problems = collections.Counter(), []

    def run(self):
        try:
            for number in itertools.count():
                if self.stopping.is_set():
                    break
                self.turn(number)
        except BaseException as error:
            self.problems.append((self.client.name, repr(error)))
            raise

    def turn(self, number):
        path, other = f"{self.folder}/{number % NAMES}", f"{self.folder}/{(number * 5) % NAMES}"
        body = f"{self.folder} {number}\n".encode() * (10, 900, 20_000)[number % 3]
        steps = [("PUT", path, body), ("GET", path, None)]
        if path != other:
            steps += [("MOVE", path, other), ("GET", other, None), ("GET", path, None)]
        if number % 4 == 0:
            steps += [("DELETE", other, None), ("GET", other, None)]
        if number % 10 == 0:
            steps.append(("LIST", self.folder, None))
        for method, name, what in steps:
            problem = self.step(method, name, what)
            if problem:
                self.problems.append((self.client.name, number, method, name, what if method == "MOVE" else None, problem))

    def step(self, method, name, what):
        """What is wrong with the answer, or None."""
        again, exists = self.told["again"], name in self.known
        status, got = operate(self.lister if method == "LIST" else self.client, method, name, what, self.told)
        if method == "PUT":
            self.known[name] = what
        elif method == "DELETE":
            self.known.pop(name, None)
        elif method == "MOVE" and exists:
            self.known[what] = self.known.pop(name)
        wanted = OK
        if method == "GET" and not exists:
            wanted = NOT_FOUND
        elif (method == "LIST" and not self.known) or (method in ("DELETE", "MOVE") and self.told["again"] > again):
            wanted = OK + NOT_FOUND  # the first try may have done it, and only its answer was lost
        if status not in wanted:
            return f"status {status}, not of {wanted}: {got[:300]!r}"
        if method == "GET" and exists and got != self.known[name]:
            return f"other bytes: {got[:60]!r}"
        if method == "LIST" and status in OK and sorted(got.decode().split()) != sorted(self.known):
            return f"lists {got.decode().split()}, not {sorted(self.known)}"
        return None


def operate(client, method, path, what, told):
    """Status and answer; those that are to be tried again, are."""
    told["ended"] += 1
    told[method] += 1
    until = time.monotonic() + xectest.CLIENT_SECONDS
    for tries in itertools.count():
        status, got = client.ask(method, path, what)
        if status not in CANNOT_TELL or time.monotonic() > until:
            return status, got
        if tries == 0:
            told["again"] += 1
            told[f"again {client.name} {method}"] += 1
        time.sleep(PAUSE)


class AllChanges(MembersTest):
    STORE_OPTIONS = ["--geometry", GEOMETRY, "--chunk-size", "16KiB"]

    def wait_up(self, servers):
        def up():
            told = json.loads(self.xec(servers, "health", "--servers", "--json").out)["servers"]
            return all(server["state"] in ("up", "slow") for server in told)
        self.eventually(up, 60, "all servers are up")

    def test_every_change_under_load(self):
        if os.environ.get("XEC_TEST_LONG") != "1":
            self.skipTest("takes ten minutes: XEC_TEST_LONG=1")
        first = self.start(MEMBERS + ADDED, MEMBERS)
        servers = self.urls(range(1, MEMBERS + 1))
        short = ["--tombstone-horizon", "10s", "--operation-limit", "5s"]
        second, asleep = self.gateway(servers), self.gateway(servers)
        stop = threading.Event()
        clients = [kind for gateway in (first, second) for kind in (HttpClient(gateway), RootClient(self, gateway))]
        workers = [Worker(self, number, client, stop) for number, client in enumerate(clients)]
        for worker in workers:
            worker.start()
        self.addCleanup(stop.set)

        def told(what, of=workers):
            return sum(worker.told[what] for worker in of)

        def problems():
            return [problem for worker in workers for problem in worker.problems]

        def change(*words):
            began, ended, again = time.monotonic(), told("ended"), told("again")
            out = self.change(servers, *words)
            print(f"  {' '.join(words)}: {time.monotonic() - began:.0f} s, {told('ended') - ended} operations, "
                  f"{told('again') - again} again, {len(problems())} problems", flush=True)
            return out
        print(flush=True)
        os.kill(asleep.pid, signal.SIGSTOP)
        for number in range(MEMBERS + 1, MEMBERS + ADDED + 1):
            change("add", self.up.servers[number - 1].url)
        drain = ("drain", "s02", *short)
        self.eventually(lambda: self.xec(servers, "server", *drain, "--dry-run").code == 0, 60, "a member may leave")
        change(*drain)
        change("remove", "s02")
        self.up.servers[1].kill()
        lost = self.up.servers[2]
        lost.kill()
        shutil.rmtree(lost.data)
        self.up.user.give(lost.data)
        self.up.start(lost)
        change("replace", "s03")
        for server in self.up.servers:
            if server is self.up.servers[1]:
                continue
            member = f"s{self.up.servers.index(server) + 1:02d}"
            if member in ("s04", "s05"):
                change("maintenance", member)
            server.kill()
            self.up.start(server)
            self.wait_up(servers[:1] + servers[2:])
            if member in ("s04", "s05"):
                change("resume", member)
        stop.set()
        for worker in workers:
            worker.join()
        for worker in workers:
            print(f"  {worker.client.name}: {dict(worker.told)}", flush=True)
        print(f"  {told('ended')} operations, {told('again')} again, {len(problems())} wrong", flush=True)
        self.assertEqual(problems(), [])
        for kind in (HttpClient, RootClient):
            self.assertGreater(told("ended", [worker for worker in workers if isinstance(worker.client, kind)]), 250, kind)
        os.kill(asleep.pid, signal.SIGCONT)
        for worker, gateway in itertools.product(workers, (first, second, asleep)):
            for client in (HttpClient(gateway), RootClient(self, gateway)):
                self.check_at_the_end(client, worker, gateway is asleep)
        census = json.loads(self.xec(servers, "health", "--json").out)["census"]
        self.assertEqual((census["full"], census["thin"]), (census["objects"], 0), census["names"][:3])
        again = max(8, told("ended") * AGAIN_PERCENT // 100)
        self.assertLessEqual(told("again"), again, [worker.told for worker in workers])

    def check_at_the_end(self, client, worker, may_not_tell):
        for number in range(NAMES):
            name = f"{worker.folder}/{number}"
            status, got = operate(client, "GET", name, None, collections.Counter())
            if may_not_tell and status in CANNOT_TELL:
                continue
            self.assertIn(status, OK + NOT_FOUND, (client.name, name, got))
            self.assertEqual((status in OK, got if status in OK else None), (name in worker.known, worker.known.get(name)), name)


if __name__ == "__main__":
    xectest.main()
