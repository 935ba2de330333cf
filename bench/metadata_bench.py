#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""stat, ls and open of existing and missing names through a gateway on a cluster: all servers well against some of
them stopped (SIGSTOP), in the same run.

    python3 bench/metadata_bench.py [--build-dir build/release] [--stopped 2] [--count 300] [--rounds 3]

"first" is the first request after the servers were stopped, when nobody knows it yet; it is measured once a round for
each operation, after which the servers go on and are trusted again. p50 and p99 are of the requests after it. The
ratio is p99 with servers stopped over p99 with all of them.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(REPO, "tools"))
import sandbox  # noqa: E402
import xrootd_cluster  # noqa: E402

OBJECTS = 40
# A returned server is trusted after a second, one that failed again soon later: up to half a minute.
TRUST_SECONDS = 45.0


class Client:
    """One xec_latency."""

    def __init__(self, program, url):
        self.process = subprocess.Popen([program, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, operation, count, paths):
        self.process.stdin.write(f"{operation} {count} {' '.join(paths)}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["ms"], answer["errors"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def fill(cluster, xec, directory):
    source = os.path.join(directory, "source")
    with open(source, "wb") as file:
        file.write(random.Random(1).randbytes(27_000))
    for number in range(OBJECTS):
        subprocess.run(["xrdcp", "--silent", source, f"{cluster.gateways[0].url}//load/{number}"], check=True)


def measure(cluster, client, options):
    existing = [f"/load/{number}" for number in range(OBJECTS)]
    missing = [f"/load/no{number}" for number in range(OBJECTS)]
    cases = (("stat", "existing", existing, 0), ("stat", "missing", missing, 1), ("ls", "directory", ["/load"], 0),
             ("open", "existing", existing, 0), ("open", "missing", missing, 1))
    results = {}
    for round_number in range(options.rounds):
        for operation, what, paths, fails in cases:
            count = options.count if operation != "ls" else max(20, options.count // 10)
            kept = results.setdefault((operation, what), {"healthy": [], "first": [], "stopped": [], "wrong": 0})
            healthy, errors = client.run(operation, count, paths)
            kept["healthy"] += healthy
            kept["wrong"] += errors != fails * count
            victims = random.Random(round_number).sample(cluster.servers, options.stopped)
            for server in victims:
                server.freeze()
            try:
                stopped, errors = client.run(operation, count + 1, paths)
            finally:
                for server in victims:
                    server.thaw()
            kept["wrong"] += errors != fails * (count + 1)
            kept["first"].append(stopped[0])
            kept["stopped"] += stopped[1:]
            settle(client, existing)
    return results


def settle(client, existing):
    """Until look-ups take their usual time and the servers had the time to be trusted again."""
    end = time.monotonic() + TRUST_SECONDS
    while time.monotonic() < end:
        client.run("stat", 5, existing)
        time.sleep(1)
    client.run("stat", 100, existing)


def report(results, stopped):
    print(f"{'':16}{'healthy':>18}{f'{stopped} stopped':>30}\n{'ms':16}{'p50':>9}{'p99':>9}{'first':>12}{'p50':>9}{'p99':>9}"
          f"{'ratio':>8}")
    good = True
    for (operation, what), kept in results.items():
        before, after = quantile(kept["healthy"], 0.99), quantile(kept["stopped"], 0.99)
        first = max(kept["first"])
        print(f"{operation + ' ' + what:16}{statistics.median(kept['healthy']):9.2f}{before:9.2f}{first:12.1f}"
              f"{statistics.median(kept['stopped']):9.2f}{after:9.2f}{after / before:8.2f}"
              + (f"  {kept['wrong']} WRONG ANSWERS" if kept["wrong"] else ""))
        good = good and not kept["wrong"]
    print("first: the longest of the rounds")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(REPO, "build", "release"))
    parser.add_argument("--stopped", type=int, default=2)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    programs = {name: path for name, path in
                (("xec", os.path.join(options.build_dir, "src/cli/xec")),
                 ("xec_latency", os.path.join(options.build_dir, "bench/xec_latency")))}
    with tempfile.TemporaryDirectory(prefix="xec-metadata-") as directory:
        os.chmod(directory, 0o755)
        cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=os.path.join(directory, "cluster"), servers=12, gateways=1, geometry="8+2", chunk_size="64KiB",
            base_port=11000, xrootd="/usr", xec=programs["xec"]))
        os.makedirs(os.path.join(directory, "cluster"))
        try:
            cluster.up()
            fill(cluster, programs["xec"], directory)
            client = Client(programs["xec_latency"], cluster.gateways[0].url)
            results = measure(cluster, client, options)
            client.close()
        finally:
            cluster.down()
    return 0 if report(results, options.stopped) else 1


if __name__ == "__main__":
    sys.exit(sandbox.run_alone("metadata_bench", main))
