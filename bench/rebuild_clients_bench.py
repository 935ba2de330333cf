#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What clients of a gateway and its rebuild take from each other: 12 stock servers, 8+2, two of them killed one after the other.

    python3 bench/rebuild_clients_bench.py [--build-dir build/release] [--objects 100] [--readers 2]

alone      the first server stays away: MiB of archives that the rebuild writes in a second, nobody reads.
before     the second one is away, the rebuild is paused: MiB that xrdcp reads through the gateway in a second.
beside     the rebuild goes on: both of these, for --seconds at most or until it is complete.
after      only the readers, as before.
"clients" is beside to the mean of before and after, "rebuild" is beside to alone: 0.8 and 0.2 are wanted.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(REPO, "tools"))
import sandbox  # noqa: E402
import tables  # noqa: E402
import xrootd_cluster  # noqa: E402

MIB = 1 << 20
SIZE = 64 * MIB
DATA, PARITY = 8, 2
READ_SECONDS = 15
WAIT_SECONDS = 300


class Readers:
    """xrdcp of one object after the other, until told to stop."""

    def __init__(self, url, names, count):
        self.url, self.names = url, names
        self.bytes = 0
        self.error = None
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.read, args=(random.Random(number),)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def read(self, chance):
        while not self.over.is_set():
            name = chance.choice(self.names)
            done = subprocess.run(["xrdcp", "-f", "-s", f"{self.url}//{name}", "/dev/null"], capture_output=True, text=True)
            if done.returncode != 0:
                self.error = done.stderr
                return
            with self.lock:
                self.bytes += SIZE

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        if self.error:
            raise RuntimeError(f"a client failed: {self.error}")


def rate_of(value, seconds, ended=lambda: False):
    """MiB a second by which it grows in that time, or until it has ended."""
    first, began = value(), time.monotonic()
    while time.monotonic() < began + seconds and not ended():
        time.sleep(0.2)
    return (value() - first) / MIB / (time.monotonic() - began)


class Bench:
    def __init__(self, options, directory, cluster):
        self.options, self.cluster = options, cluster
        self.gateway = cluster.gateways[0]
        self.store = [word for server in cluster.servers for word in ("--server", server.server_option())]
        self.names = [f"o{number:03d}" for number in range(options.objects)]
        for number, name in enumerate(self.names):
            file = os.path.join(directory, "in")
            with open(file, "wb") as out:
                out.write(random.Random(number).randbytes(SIZE))
            self.command("put", "-q", file, "/" + name)

    def command(self, *words):
        xec = os.path.join(self.options.build_dir, "src/cli/xec")
        return subprocess.run([xec, words[0], *self.store, *words[1:]], check=True, timeout=600, capture_output=True, text=True).stdout

    def said(self, text):
        with open(self.gateway.xrootd_log(), encoding="utf-8", errors="replace") as file:
            return file.read().count(text)

    def wait(self, what, condition):
        until = time.monotonic() + WAIT_SECONDS
        while not condition():
            if time.monotonic() > until:
                raise RuntimeError(f"in vain: {what}")
            time.sleep(0.2)

    def begins(self, number):
        self.wait("a rebuild begins", lambda: self.said("archives are written anew") >= number)

    def over(self, number):
        return self.said("objects needed it") >= number

    def written(self):
        """Bytes of all archives, drafts included."""
        total = 0
        for server in self.cluster.servers:
            for folder, _, files in os.walk(server.data):
                if "/.xec" in folder:
                    continue
                for name in files:
                    try:
                        total += os.stat(os.path.join(folder, name)).st_size
                    except FileNotFoundError:
                        pass  # a draft that has become an archive
        return total

    def paused(self):
        jobs = json.loads(self.command("jobs", "--json"))["gateways"]
        return all(job["state"] == "paused" for gateway in jobs for job in gateway["jobs"] if job["job"] == "rebuild")

    def run(self):
        self.cluster.servers[0].kill()
        self.begins(1)
        alone = rate_of(self.written, WAIT_SECONDS, lambda: self.over(1))
        self.command("jobs", "pause", "rebuild")
        self.wait("the job is paused", self.paused)
        self.cluster.servers[1].kill()
        readers = Readers(self.gateway.url, self.names, self.options.readers)
        try:
            time.sleep(2)
            before = rate_of(lambda: readers.bytes, READ_SECONDS)
            self.command("jobs", "resume", "rebuild")
            self.begins(2)
            first, began = self.written(), time.monotonic()
            clients = rate_of(lambda: readers.bytes, self.options.seconds, lambda: self.over(2))
            rebuild = (self.written() - first) / MIB / (time.monotonic() - began)
            if not self.over(2):
                self.command("jobs", "pause", "rebuild")
                self.wait("the job is paused", self.paused)
            after = rate_of(lambda: readers.bytes, READ_SECONDS)
        finally:
            readers.stop()
        return {"alone": alone, "before": before, "clients beside": clients, "rebuild beside": rebuild, "after": after,
                "clients": 2 * clients / (before + after), "rebuild": rebuild / alone}


def measure(options):
    with tempfile.TemporaryDirectory(prefix="xec-rebuild-", dir=options.dir) as directory:
        os.chmod(directory, 0o755)
        cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=os.path.join(directory, "cluster"), servers=12, gateways=1, geometry=f"{DATA}+{PARITY}", base_port=11000,
            xrootd="/usr", xec=os.path.join(options.build_dir, "src/cli/xec"), chunk_size="1MiB", redirector=False,
            serve_options=["--rebuild-after", "2s", "--sync", "none", "--inventory", "off"]))
        os.makedirs(os.path.join(directory, "cluster"))
        try:
            cluster.up()
            return Bench(options, directory, cluster).run()
        finally:
            cluster.down()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(REPO, "build", "release"))
    parser.add_argument("--objects", type=int, default=100, help="of 64 MiB")
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=45, help="of rebuild and clients together, at most")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--dir", help="where the data lies meanwhile")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    rows = [measure(options) for _ in range(options.rounds)]
    print(tables.render("round", list(rows[0]), [
        (str(number), [f"{value:.2f}" for value in row.values()]) for number, row in enumerate(rows)], options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(sandbox.run_alone("rebuild_clients_bench", main))
