#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Chaos: a stock cluster, two gateways and many clients, whose servers are killed, stopped, slowed, emptied, filled and
falsified meanwhile; all is recorded, and in the end the checker judges it.

    ./dev chaos --minutes 15 --seed 7 [--faults none|kill|all|KIND,KIND...] [--keep DIR]

Exit codes are those of checker.py; 5: chaos itself failed (a daemon did not start, for example).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPO, "tools"))
import checker  # noqa: E402
import daemons  # noqa: E402
import disks  # noqa: E402
import faults  # noqa: E402
import history  # noqa: E402
import names  # noqa: E402
import plan as plans  # noqa: E402
import sandbox  # noqa: E402
import xrootd_cluster  # noqa: E402

GATEWAYS = 2
# So that what clients and gateways leave behind when they die goes within a run, and disk space comes back.
SERVE_OPTIONS = ["--superseded-grace", "60s", "--upload-grace", "60s", "--clean-interval", "10s"]
PYTHON = "/usr/bin/python3"  # the one for which Debian's python3-xrootd is
STOP_SECONDS = 150.0         # longer than any timeout of a client
CENSUS_TRIES = 10
CENSUS_PAUSE = 3.0
WHOLE_SECONDS = 300.0        # so long the gateways may need to bring redundancy back
PRINT_SECONDS = 15.0
BASE_PORT = 21000


class Client:
    """Keeps one client running: starts its next life when it dies."""

    def __init__(self, plan_path, number, until, log):
        self.plan_path, self.number, self.until, self.log = plan_path, number, until, log
        self.process, self.lives = None, 0
        self.watch()

    def watch(self):
        """True while it is at work."""
        if self.process is not None and self.process.poll() is None:
            return True
        if time.monotonic() >= self.until:
            return False
        command = [PYTHON, os.path.join(HERE, "worker.py"), self.plan_path, str(self.number), str(self.lives)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.lives += 1
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()


class Run:
    def __init__(self, arguments):
        self.arguments = arguments
        self.kinds = faults.choose(arguments.faults)
        self.m = int(arguments.geometry.partition("+")[2])
        self.dir = os.path.abspath(arguments.keep) if arguments.keep else tempfile.mkdtemp(prefix="xec-chaos-")
        os.makedirs(self.dir, exist_ok=True)
        os.chmod(self.dir, 0o755)
        self.history = os.path.join(self.dir, "history")
        os.makedirs(self.history)
        self.recorder = history.Recorder(os.path.join(self.history, "chaos.jsonl"), "f")
        self.cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=os.path.join(self.dir, "cluster"), servers=arguments.servers, base_port=BASE_PORT, gateways=GATEWAYS,
            geometry=arguments.geometry, chunk_size=arguments.chunk_size, serve_options=SERVE_OPTIONS,
            xrootd=arguments.xrootd, xec=arguments.xec))
        self.clients, self.over = [], threading.Event()

    def up(self):
        os.makedirs(self.cluster.options.dir, exist_ok=True)
        if any(kind in faults.NEED_DISKS for kind in self.kinds):
            disks.give(self.cluster, self.arguments.disk_mib)
        self.cluster.up()

    def plan(self):
        """What the clients have to know, as a file."""
        start = time.monotonic()
        plan = {"seed": self.arguments.seed, "history": self.history, "clients": self.arguments.clients,
                "until": start + 60 * self.arguments.minutes, "size_max": self.arguments.size_max_mib << 20,
                "gateways": [{"root": gateway.url, "host": xrootd_cluster.HOST, "http": gateway.http_port}
                             for gateway in self.cluster.gateways]}
        path = os.path.join(self.dir, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file, indent=1)
        self.recorder.meta(m=self.m, begin=start, **{key: value for key, value in vars(self.arguments).items()})
        return path, start, plan["until"]

    def work(self):
        path, start, until = self.plan()
        with open(os.path.join(self.dir, "clients.log"), "ab") as log:
            self.clients = [Client(path, number, until, log) for number in range(self.arguments.clients)]
            watcher = threading.Thread(target=self._watch)
            watcher.start()
            try:
                plans.Plan(self.cluster, self.recorder, self.kinds, self.m, self.arguments.seed, start, until,
                           self.clients).run(self.over)
            except BaseException:
                self.over.set()
                for client in self.clients:
                    client.until = 0.0
                    client.kill()
                raise
            finally:
                watcher.join()

    def _watch(self):
        """Restarts clients; those that do not end by themselves are killed, and so did not get their answer."""
        printed = began = time.monotonic()
        limit = self.clients[0].until + STOP_SECONDS
        while any([client.watch() for client in self.clients]):
            now = time.monotonic()
            if now > limit:
                for client in self.clients:
                    client.kill()
            if now - printed > PRINT_SECONDS:
                printed = now
                print(f"chaos: {now - began:.0f} s, {self._count()} operations", flush=True)
            time.sleep(0.1)

    def _count(self):
        total = 0
        for name in os.listdir(self.history):
            with open(os.path.join(self.history, name), "rb") as file:
                total += file.read().count(b'{"t":"end"')
        return total

    def xec(self, command, *words):
        options = [word for server in self.cluster.servers for word in ("--server", server.server_option())]
        argv = [self.cluster.xec(), command, *options, *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=900, check=False)

    def census(self):
        """Waits until the gateways have brought all redundancy back by themselves; then reads every name on both of them,
        over root and http, and has every chunk checked."""
        self.recorder.meta(redundancy=self._redundancy())
        path = os.path.join(self.dir, "census.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"names": names.all_names(self.arguments.clients), "plan": os.path.join(self.dir, "plan.json"), "tries": CENSUS_TRIES,
                       "pause": CENSUS_PAUSE}, file)
        with open(os.path.join(self.dir, "clients.log"), "ab") as log:
            subprocess.run([PYTHON, os.path.join(HERE, "census.py"), path], stdout=log, stderr=log, check=True)
        recorded = history.load(self.history)
        there = sorted({op.name for op in recorded.ops if op.census and op.outcome == history.OK})
        self.recorder.meta(objects=len(there), **({"verify": self._verify(there)} if there else {}))

    def _redundancy(self):
        """What the last census of the engine counted, and after how many seconds."""
        begin = time.monotonic()
        while True:
            result = self.xec("health", "--json")
            seconds = round(time.monotonic() - begin)
            try:
                counted = json.loads(result.stdout)["census"]
                left = {"seconds": seconds, **{key: counted[key] for key in ("objects", "full", "thin", "away", "lost")}}
                if counted["names"]:
                    left["examples"] = counted["names"][:5]
                if counted["unlisted"]:
                    left["problem"] = f"directories that cannot be listed: {counted['unlisted'][:5]}"
            except (ValueError, KeyError):
                left = {"seconds": seconds, "problem": f"exit code {result.returncode}: {result.stderr[-500:]}"}
            if result.returncode == 0 or seconds > WHOLE_SECONDS:
                return left
            print(f"chaos: {seconds} s after all was healed: {left}", flush=True)
            time.sleep(CENSUS_PAUSE)

    def _verify(self, objects):
        found, bad, chunks = {}, [], 0
        for start in range(0, len(objects), 100):
            result = self.xec("verify", "--json", *objects[start:start + 100])
            try:
                reports = json.loads(result.stdout)
            except ValueError:
                return {"error": f"exit code {result.returncode}: {result.stderr[-500:]}"}
            for one in reports:
                chunks += one.get("chunks", 0)
                for chunk in one.get("bad", ()):
                    found[chunk["health"]] = found.get(chunk["health"], 0) + 1
                    bad.append({"object": one.get("name", one.get("object", "")), **chunk})
        with open(os.path.join(self.dir, "verify.json"), "w", encoding="utf-8") as file:
            json.dump(bad, file, indent=1)
        return {"chunks": chunks, **found}

    def down(self):
        for client in self.clients:
            client.kill()
        self.cluster.down()


def own_namespaces():
    """A network and mounts of its own for this process and its children; returns why it can't be."""
    sandbox.adopt_daemons()
    problem = sandbox.enter_network()
    if problem:
        return problem
    return disks.enter_mounts() if os.geteuid() == 0 else ""


def run(arguments):
    try:
        chaos = Run(arguments)
        print(f"chaos: seed {arguments.seed}, everything is in {chaos.dir}", flush=True)
        try:
            chaos.up()
            chaos.work()
            print("chaos: all is healed; census", flush=True)
            chaos.census()
        finally:
            chaos.down()
    except (daemons.DaemonError, OSError, subprocess.SubprocessError) as error:
        traceback.print_exc()
        print(f"chaos: failed: {error}", file=sys.stderr)
        return 5
    result = checker.report(history.load(chaos.history))
    checker.print_text(result)
    with open(os.path.join(chaos.dir, "report.json"), "w", encoding="utf-8") as file:
        file.write(checker.as_json(result))
    code = checker.exit_code(result)
    if not arguments.keep and code == 0:
        shutil.rmtree(chaos.dir, ignore_errors=True)
    elif not arguments.keep:
        shutil.rmtree(os.path.join(chaos.dir, "cluster"), ignore_errors=True)
        print(f"chaos: history and report stay in {chaos.dir}; --keep DIR also keeps the servers' files")
    return code


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev chaos", description=__doc__.split("\n\n", maxsplit=1)[0],
                                     allow_abbrev=False)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True, help="the same seed makes the same choices")
    parser.add_argument("--servers", type=int, default=12)
    parser.add_argument("--geometry", default="8+2")
    parser.add_argument("--chunk-size", default="", help="default: that of xec")
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--faults", default="all", metavar="KINDS",
                        help=f"none, kill, all (default), or of: {', '.join(faults.KINDS)}")
    parser.add_argument("--size-max-mib", type=int, default=256, help="largest object (default %(default)s)")
    parser.add_argument("--disk-mib", type=int, default=6144,
                        help="size of each server's disk where disks are filled (default %(default)s)")
    parser.add_argument("--keep", default="", metavar="DIR", help="put everything into this new folder and leave it there")
    parser.add_argument("--xrootd", default="/usr", metavar="PREFIX")
    parser.add_argument("--xec", default="", metavar="PROGRAM", help="default: that of build/release")
    arguments = parser.parse_args(argv)
    try:
        faults.choose(arguments.faults)
    except KeyError as error:
        parser.error(f"no fault is called {error}")
    return arguments


def main(argv):
    arguments = parse(argv)
    problem = own_namespaces()
    if problem:
        print(f"chaos: {problem}", file=sys.stderr)
        return 5
    try:
        return run(arguments)
    finally:
        sandbox.kill_descendants()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
