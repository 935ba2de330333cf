# SPDX-License-Identifier: LGPL-3.0-or-later
"""Everything that operators do with data servers, one after the other, under two gateways at work; only with XEC_TEST_LONG=1.
test_members and test_gateways_rebuild have shorter ones of each kind."""
# waits
# seconds: 900
import collections
import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import threading
import time

import xectest
from members import CANNOT_TELL, NOT_FOUND, OK, MembersTest

MEMBERS, ADDED, GEOMETRY = 12, 4, "8+2"
# Operations that took longer than the lease while the list changed are told to be tried again: it is 3 s here, and 90 s otherwise.
AGAIN_PERCENT = 1
NAMES = 12    # of each worker
PAUSE = 0.2   # seconds: a client that is told to try again waits


class AllChanges(MembersTest):
    STORE_OPTIONS = ["--geometry", GEOMETRY, "--chunk-size", "16KiB"]

    def operate(self, gateway, method, path, body, told):
        """Status and answer; those that are to be tried again, are."""
        told["ended"] += 1
        until = time.monotonic() + xectest.CLIENT_SECONDS
        for tries in itertools.count():
            try:
                status, got = self.ask(gateway, method, path, body)
            except (ConnectionError, http.client.HTTPException):
                status, got = CANNOT_TELL[0], b""  # XRootD hangs up where the close of an upload fails
            if status not in CANNOT_TELL or time.monotonic() > until:
                return status, got
            if tries == 0:
                told["again"] += 1
                told[f"again {method}"] += 1
            time.sleep(PAUSE)

    def ask(self, gateway, method, path, body):
        if method == "MOVE":
            connection = http.client.HTTPConnection(xectest.HOST, gateway.http_port, timeout=xectest.CLIENT_SECONDS)
            with contextlib.closing(connection):
                connection.request(method, path, headers={"Destination": f"http://{xectest.HOST}:{gateway.http_port}{body}"})
                answer = connection.getresponse()
                return answer.status, answer.read()
        return gateway.ask(method, path, body)

    def everything(self, gateway, prefix, stop, problems, told):
        """Puts, reads, replaces, lists, renames and removes until it is told to stop. Nobody else uses its names."""
        known = {}
        for number in itertools.count():
            if stop.is_set():
                break
            path, other = f"/{prefix}/{number % NAMES}", f"/{prefix}/{(number * 5) % NAMES}"
            body = f"{prefix} {number}\n".encode() * (10, 900, 20_000)[number % 3]
            steps = [("PUT", path, body), ("GET", path, None)]
            if path != other:
                steps += [("MOVE", path, other), ("GET", other, None), ("GET", path, None)]
            if number % 4 == 0:
                steps += [("DELETE", other, None), ("GET", other, None)]
            if number % 10 == 0:
                steps.append(("LIST", f"/{prefix}", None))
            for method, name, what in steps:
                problem = self.step(gateway, method, name, what, known, told)
                if problem:
                    problems.append((gateway.name, number, method, name, what if method == "MOVE" else None, problem))
        return known

    def step(self, gateway, method, name, what, known, told):
        if method == "LIST":
            told["ended"] += 1
            listed = self.xrdfs(gateway.url, "ls", name, code=None)
            want = sorted(known) if any(path.startswith(name + "/") for path in known) else None
            if listed.code != 0 and want is not None:
                return f"exit code {listed.code}: {listed.err[:200]}"
            return None if want is None or sorted(listed.out.split()) == want else f"lists {listed.out.split()}, not {want}"
        before = told["again"]
        status, got = self.operate(gateway, method, name, what, told)
        repeated = told["again"] > before
        exists = name in known
        if method == "PUT":
            known[name] = what
        elif method == "DELETE":
            known.pop(name, None)
        elif method == "MOVE" and exists:
            known[what] = known.pop(name)
        # The first try may have done it, and only its answer was lost.
        done_before = repeated and method in ("DELETE", "MOVE") and status in NOT_FOUND
        if status in CANNOT_TELL or (method != "GET" and status not in OK and not done_before):
            return f"status {status}: {got[:200]!r}"
        if method == "GET" and (status in NOT_FOUND) == exists:
            return f"status {status}, though it {'exists' if exists else 'does not exist'}"
        if method == "GET" and exists and got != known[name]:
            return f"other bytes: {got[:60]!r}"
        return None

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
        stop, problems, told = threading.Event(), [], collections.Counter()
        knowns = {}

        def work(gateway, prefix):
            knowns[prefix] = self.everything(gateway, prefix, stop, problems, told)
        workers = [threading.Thread(target=work, args=(gateway, f"w{number}"), daemon=True)
                   for number, gateway in enumerate((first, second, first, second))]
        for worker in workers:
            worker.start()
        self.addCleanup(stop.set)

        def change(*words):
            began, before = time.monotonic(), dict(told)
            out = self.change(servers, *words)
            print(f"  {' '.join(words)}: {time.monotonic() - began:.0f} s, {told['ended'] - before.get('ended', 0)} operations, "
                  f"{told['again'] - before.get('again', 0)} again, {len(problems)} problems", flush=True)
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
        print(f"  {told['ended']} operations, {told['again']} again", flush=True)
        stop.set()
        for worker in workers:
            worker.join()
        self.assertEqual(problems, [])
        self.assertGreater(told["ended"], 500)
        os.kill(asleep.pid, signal.SIGCONT)
        for prefix, known in knowns.items():
            for gateway in (first, second, asleep):
                for number in range(NAMES):
                    name = f"/{prefix}/{number}"
                    status, got = self.operate(gateway, "GET", name, None, collections.Counter())
                    if gateway is asleep and status in CANNOT_TELL:
                        continue
                    self.assertEqual((status in OK, got if status in OK else None), (name in known, known.get(name)), name)
        census = json.loads(self.xec(servers, "health", "--json").out)["census"]
        self.assertEqual((census["full"], census["thin"]), (census["objects"], 0), census["names"][:3])
        self.assertLessEqual(told["again"], max(8, told["ended"] * AGAIN_PERCENT // 100), told)


if __name__ == "__main__":
    xectest.main()
