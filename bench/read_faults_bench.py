#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Reads through a gateway on a cluster while data servers are killed, stopped (SIGSTOP) or slow, against the same with
all of them well, in the same run. What is read is compared with what was written.

    python3 bench/read_faults_bench.py [--build-dir build/release] [--only paced,unpaced,slow] [--repetitions 20]

paced    a stream at 200 MiB/s; after a quarter of it one server is killed, after half of it another one stopped. "gap"
         is the longest time between the ends of two pieces of 1 MiB.
unpaced  xrdcp of the object, with all servers and with two of them killed: MiB/s, and CPU seconds of client, gateway and
         all servers.
slow     reads of 1 MiB, anywhere and from start to end; one server runs for one part in a hundred of the time. "at first" are
         the reads from the moment on when it became slow, "settled" those after it has been so for a while. "one killed" is
         what decoding costs by itself.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(REPO, "tools"))
import sandbox  # noqa: E402
from harness import meters  # noqa: E402
import tables  # noqa: E402
import xrootd_cluster  # noqa: E402

MIB = 1 << 20
SLOW_CYCLE = 0.5
PARTS = ("paced", "unpaced", "slow")


class Client:
    """One xec_reads."""

    def __init__(self, program, url, source):
        self.process = subprocess.Popen([program, url, source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["errors"]:
            raise RuntimeError(f"{answer['errors']} reads failed or were wrong: {words}")
        return answer["ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Slowly:
    """A server that runs for one part in a hundred of the time, while this is entered."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.cycle, daemon=True)
        self.thread.start()

    def cycle(self):
        while not self.over.wait(SLOW_CYCLE * 0.01):
            self.server.freeze()
            self.over.wait(SLOW_CYCLE * 0.99)
            self.server.thaw()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.server.thaw()


class Bench:
    def __init__(self, options, directory, cluster):
        self.options = options
        self.cluster = cluster
        self.gateway = cluster.gateways[0]
        self.xec = os.path.join(options.build_dir, "src/cli/xec")
        self.source = os.path.join(directory, "source")
        self.random = random.Random(options.seed)
        with open(self.source, "wb") as file:
            for number in range(options.size):
                file.write(random.Random(number).randbytes(MIB))
        subprocess.run(["xrdcp", "--silent", self.source, self.gateway.url + "//o"], check=True)
        self.client = Client(os.path.join(options.build_dir, "bench/xec_reads"), self.gateway.url, self.source)
        self.holders = self.find_holders()

    def find_holders(self):
        """Servers with data chunks of at least half of the stripes; with 8+2 that is every one that has any."""
        servers = [word for server in self.cluster.servers for word in ("--server", server.server_option())]
        told = subprocess.run([self.xec, "locate", "--json", *servers, "/o"], check=True, capture_output=True, text=True)
        chunks = [chunk for chunk in json.loads(told.stdout)[0]["chunks"] if chunk["chunk"] < 8]
        stripes = 1 + max(chunk["stripe"] for chunk in chunks)
        held = {server: sum(chunk["address"].rstrip("/") == server.url for chunk in chunks)
                for server in self.cluster.servers}
        return [server for server, count in held.items() if 2 * count >= stripes]

    def bad_ones(self):
        """Two of the holders, others than the last times."""
        chosen, self.holders = self.holders[:2], self.holders[2:] + self.holders[:2]
        return chosen

    def restore(self, killed=(), stopped=()):
        for server in stopped:
            server.thaw()
        for server in killed:
            self.cluster.start(server)
        self.settle()

    def settle(self):
        """Reads now and then, until the gateway knows its servers again."""
        end = time.monotonic() + self.options.settle
        while time.monotonic() < end:
            self.client.run("random", "/o", MIB, 20, self.random.randrange(1 << 30))
            time.sleep(0.5)

    def paced(self):
        rows = []
        length = self.options.size / self.options.rate
        healthy = [max(self.client.run("stream", "/o", MIB, self.options.rate)) for _ in range(3)]
        for _ in range(self.options.repetitions):
            killed, stopped = self.bad_ones()
            timers = [threading.Timer(length / 4, killed.kill), threading.Timer(length / 2, stopped.freeze)]
            for timer in timers:
                timer.start()
            try:
                rows.append(max(self.client.run("stream", "/o", MIB, self.options.rate)))
            finally:
                for timer in timers:
                    timer.join()
            self.restore([killed], [stopped])
        print(tables.render("longest gap, ms", ["best", "median", "worst"], [
            ("healthy", [tables.format_number(pick(healthy)) for pick in (min, statistics.median, max)]),
            ("one killed, one stopped", [tables.format_number(pick(rows)) for pick in (min, statistics.median, max)])],
            self.options.markdown))
        print(f"within 250 ms: {sum(gap <= 250 for gap in rows)} of {len(rows)}\n", flush=True)

    def copy(self):
        """MiB/s and CPU seconds of one xrdcp and all servers."""
        daemons = [daemon.pid for part in self.cluster.parts() for daemon in part.daemons()]
        before = sum(meters.cpu_seconds(pid) for pid in daemons)
        start = time.monotonic()
        process = subprocess.Popen(["xrdcp", "--silent", "--force", self.gateway.url + "//o", "/dev/null"])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"xrdcp ended with {process.returncode}")
        seconds = time.monotonic() - start
        servers = sum(meters.cpu_seconds(pid) for pid in daemons) - before
        return self.options.size / seconds, usage.ru_utime + usage.ru_stime + servers

    def unpaced(self):
        rounds = []
        self.copy()
        for _ in range(self.options.rounds):
            healthy = self.copy()
            killed = self.bad_ones()
            for server in killed:
                server.kill()
            time.sleep(1)
            rounds.append((healthy, self.copy()))
            self.restore(killed)
        columns = [("MiB/s", 0), ("CPU s", 1)]
        print(tables.render("unpaced", ["healthy", "two killed", "ratio"], [
            (name, [tables.format_number(statistics.median(healthy[i] for healthy, _ in rounds)),
                    tables.format_number(statistics.median(bad[i] for _, bad in rounds)),
                    f"{statistics.median(bad[i] / healthy[i] for healthy, bad in rounds):.2f}"])
            for name, i in columns], self.options.markdown), "\n", flush=True)

    def slow(self):
        """By turns: reads anywhere, of which some need a chunk of the bad server and so k others, and from start to end, where
        chunks of parity take the place of chunks of data."""
        kinds = {"anywhere": lambda: self.client.run("random", "/o", MIB, self.options.count, self.random.randrange(1 << 30)),
                 "from start to end": lambda: self.client.run("stream", "/o", MIB, 0)}
        for kind, read in kinds.items():
            slow, killed = self.bad_ones()
            times = {"healthy": read()}
            with Slowly(slow):
                times["one slow, at first"] = read()
                self.settle()
                times["one slow, settled"] = read()
            self.restore()
            killed.kill()
            self.settle()
            times["one killed"] = read()
            self.restore([killed])
            ranks = {name: sorted(values)[int(0.99 * len(values))] for name, values in times.items()}
            print(tables.render(f"reads of 1 MiB {kind}, ms", ["p50", "p99", "ratio of p99", "longest"], [
                (name, [tables.format_number(statistics.median(values)), tables.format_number(ranks[name]),
                        f"{ranks[name] / ranks['healthy']:.2f}", tables.format_number(max(values))])
                for name, values in times.items()], self.options.markdown), "\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(REPO, "build", "release"))
    parser.add_argument("--only", default=",".join(PARTS), help="of " + ",".join(PARTS))
    parser.add_argument("--size", type=int, default=1024, help="of the object, MiB")
    parser.add_argument("--chunk-size", default="1MiB", help="of the store")
    parser.add_argument("--rate", type=float, default=200, help="MiB/s of the paced stream")
    parser.add_argument("--repetitions", type=int, default=20, help="of the paced stream")
    parser.add_argument("--rounds", type=int, default=5, help="of the unpaced copies")
    parser.add_argument("--count", type=int, default=1000, help="reads of each kind with a slow server")
    parser.add_argument("--settle", type=float, default=20, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", help="where the data lies meanwhile")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    parts = options.only.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--only: of {','.join(PARTS)}")
    with tempfile.TemporaryDirectory(prefix="xec-reads-", dir=options.dir) as directory:
        os.chmod(directory, 0o755)
        cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=os.path.join(directory, "cluster"), servers=12, gateways=1, geometry="8+2", base_port=11000, xrootd="/usr",
            xec=os.path.join(options.build_dir, "src/cli/xec"), serve_options=["--sync", "none"],
            chunk_size=options.chunk_size))
        os.makedirs(os.path.join(directory, "cluster"))
        try:
            cluster.up()
            bench = Bench(options, directory, cluster)
            print(f"{options.size} MiB in 8+2 on 12 servers; load average {os.getloadavg()[0]:.1f}\n", flush=True)
            for part in PARTS:
                if part in parts:
                    getattr(bench, part)()
            bench.client.close()
        finally:
            cluster.down()
    return 0


if __name__ == "__main__":
    sys.exit(sandbox.run_alone("read_faults_bench", main))
