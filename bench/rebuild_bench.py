#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Rebuilds what one of 12 stock servers has lost (8+2, its folder deleted), against writing new data in the same run.

    python3 bench/rebuild_bench.py [--build-dir build/release] [--small 400] [--medium 60] [--large 6]

put        `xec put` of all objects, several commands at once.
rebuild    `xec repair --all --lost` without its census, once idle.
"moved" is what all servers read and write for it, as XEC counts it (an upload writes (k+m)/k of its bytes); "objects" counts an
object that had lost an archive with all its bytes. "read" and "written" are multiples of the bytes that were lost, and "wire" is
what the loopback device carried meanwhile.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(REPO, "tools"))
import sandbox  # noqa: E402
import tables  # noqa: E402
import xrootd_cluster  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
DATA, PARITY = 8, 2


def wire_bytes():
    with open("/proc/net/dev", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.strip().startswith("lo:"))


class Bench:
    def __init__(self, options, directory, cluster):
        self.options = options
        self.cluster = cluster
        self.xec = os.path.join(options.build_dir, "src/cli/xec")
        self.store = [word for server in cluster.servers for word in ("--server", server.server_option())]
        self.store += ["--geometry", f"{DATA}+{PARITY}", "--chunk-size", options.chunk_size, "--sync", options.sync]
        self.folder = os.path.join(directory, "in")
        os.makedirs(self.folder)
        kinds = [(options.small, 27 * KIB), (options.medium, 4 * MIB), (options.large, 128 * MIB)]
        self.sizes = {}
        for number, size in enumerate(size for count, size in kinds for _ in range(count)):
            self.sizes[f"o{number:05d}"] = size
            with open(os.path.join(self.folder, f"o{number:05d}"), "wb") as file:
                file.write(random.Random(number).randbytes(size))

    def command(self, *words):
        return [self.xec, words[0], *self.store, *words[1:]]

    def put(self, target):
        """Seconds."""
        subprocess.run(self.command("mkdir", target), check=True, timeout=120)
        files = [os.path.join(self.folder, name) for name in sorted(self.sizes)]
        start = time.monotonic()
        commands = [subprocess.Popen(self.command("put", "-q", *files[first::self.options.writers], target + "/"))
                    for first in range(self.options.writers)]
        if any(command.wait() != 0 for command in commands):
            raise RuntimeError("a put failed")
        return time.monotonic() - start

    def repair(self, *words, codes=(0,)):
        done = subprocess.run(self.command("repair", "--all", "--lost", "--json", *words), capture_output=True, text=True)
        if done.returncode not in codes:
            raise RuntimeError(f"repair ended with {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def run(self):
        put = self.put("/d")
        server = self.cluster.servers[0]
        shutil.rmtree(server.data)
        self.cluster.user.give(server.data)
        before = wire_bytes()
        told = self.repair()
        wire = wire_bytes() - before
        again = self.repair()
        if again["needed_repair"] or told["census"]["thin"]:
            raise RuntimeError(f"something is left: {again['needed_repair']} {told['census']['thin']}")
        hit = {detail["path"] for detail in told["details"] if detail.get("made")}
        of_hit = sum(self.sizes[os.path.basename(path)] for path in hit)
        written = sum(self.sizes.values()) * (DATA + PARITY) / DATA
        return {"put": put, "seconds": told["seconds"], "objects": told["objects"], "hit": len(hit),
                "moved": (told["bytes_read"] + told["bytes_written"]) / told["seconds"] / (written / put),
                "of_hit": of_hit / told["seconds"] / (sum(self.sizes.values()) / put),
                "read": told["bytes_read"] / told["bytes_lost"], "written": told["bytes_written"] / told["bytes_lost"],
                "wire": wire / told["bytes_lost"], "lost": told["bytes_lost"]}


def measure(options):
    """On a store of its own: a server that lost everything is never used again."""
    with tempfile.TemporaryDirectory(prefix="xec-rebuild-", dir=options.dir) as directory:
        os.chmod(directory, 0o755)
        cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=os.path.join(directory, "cluster"), servers=12, gateways=0, geometry=f"{DATA}+{PARITY}", base_port=11000,
            xrootd="/usr", xec=os.path.join(options.build_dir, "src/cli/xec"), chunk_size=options.chunk_size,
            redirector=False))
        os.makedirs(os.path.join(directory, "cluster"))
        try:
            cluster.up()
            bench = Bench(options, directory, cluster)
            print(f"{len(bench.sizes)} objects of {sum(bench.sizes.values()) // MIB} MiB in {DATA}+{PARITY} on 12 servers; "
                  f"load average {os.getloadavg()[0]:.1f}", flush=True)
            return bench.run()
        finally:
            cluster.down()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(REPO, "build", "release"))
    parser.add_argument("--small", type=int, default=400, help="objects of 27 KiB")
    parser.add_argument("--medium", type=int, default=60, help="objects of 4 MiB")
    parser.add_argument("--large", type=int, default=6, help="objects of 128 MiB")
    parser.add_argument("--writers", type=int, default=4, help="commands that put at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chunk-size", default="1MiB", help="of the store")
    parser.add_argument("--sync", default="none", choices=["none", "commit"])
    parser.add_argument("--dir", help="where the data lies meanwhile")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    rows = [measure(options) for _ in range(options.rounds)]
    columns = {"put, s": "put", "rebuild, s": "seconds", "looked at": "objects", "had lost": "hit",
               "moved": "moved", "objects": "of_hit", "read": "read", "written": "written", "wire": "wire"}
    print(tables.render("round", list(columns), [
        (str(number), [f"{row[name]:.2f}" for name in columns.values()]) for number, row in enumerate(rows)],
        options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(sandbox.run_alone("rebuild_bench", main))
