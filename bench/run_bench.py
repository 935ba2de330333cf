#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""./dev bench: plain stock xrootd, the embedded gateway, and a gateway on a cluster of stock servers, side by side.

All of them run at the same time and are measured in turn, round after round, so that what changes on the machine
meanwhile meets them all. bench/README.md tells how to read the tables.
"""
import argparse
import dataclasses
import datetime
import filecmp
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(REPO, "tools"))
import daemons  # noqa: E402
import sandbox  # noqa: E402
import setups  # noqa: E402
import tables  # noqa: E402

KINDS = ("plain", "embedded", "cluster")
WORKLOADS = ("stream", "small")
OPERATIONS = ("put", "get", "stat")
GIB, MIB = 1 << 30, 1 << 20
CLIENT_SECONDS = 1800
FIRST_PORT, PORTS_EACH = 11000, 300


class BenchError(Exception):
    """One sentence for the user."""


@dataclasses.dataclass
class Row:
    name: str
    ratio: bool                 # also show the ratio to plain xrootd
    values: dict = dataclasses.field(default_factory=dict)  # setup -> one value for each round


class Results:
    """Tables of rows in the order of their first value."""

    def __init__(self):
        self.tables = {}

    def add(self, table, row, setup, value, ratio=True):
        rows = self.tables.setdefault(table, {})
        rows.setdefault(row, Row(row, ratio)).values.setdefault(setup, []).append(value)

    @staticmethod
    def cell(row, setup):
        """The median, and behind it the median of the ratios to plain in the same round."""
        values = row.values.get(setup)
        if not values:
            return "?"
        text = tables.format_number(statistics.median(values))
        plain = row.values.get("plain")
        if not row.ratio or setup == "plain" or not plain:
            return text
        ratio = statistics.median(value / base for value, base in zip(values, plain) if base > 0)
        return f"{text} ({ratio:.2f})"

    def render(self, columns, markdown):
        return "\n\n".join(
            tables.render(title, columns, [(row.name, [self.cell(row, c) for c in columns]) for row in rows.values()],
                          markdown)
            for title, rows in self.tables.items())

    def as_dict(self):
        return {title: {row.name: row.values for row in rows.values()} for title, rows in self.tables.items()}


def run_client(argv, out=subprocess.PIPE):
    """Runs a client to its end; answers (wall seconds, CPU seconds, output)."""
    start = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True)
    text, errors = "", ""
    try:
        # wait4 tells the CPU time of just this child; pipes of a few lines do not fill up.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        text = process.stdout.read() if process.stdout else ""
        errors = process.stderr.read()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        raise BenchError(f"{' '.join(argv)} failed with {process.returncode}: {errors.strip()[-600:]}")
    return seconds, usage.ru_utime + usage.ru_stime, text


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.dir = directory
        self.results = Results()
        self.setups = self.make_setups()
        self.columns = [setup.name for setup in self.setups]
        self.file = os.path.join(directory, "source")

    def make_setups(self):
        options = self.options
        xec = find_program("xec")
        found, port = [], FIRST_PORT
        for kind in KINDS:
            if kind not in options.kinds:
                continue
            for sync in ["-"] if kind == "plain" else options.sync:
                directory = os.path.join(self.dir, f"{kind}-{sync}" if sync != "-" else kind)
                if kind == "plain":
                    found.append(setups.Plain(directory, port))
                else:
                    make = setups.Embedded if kind == "embedded" else setups.OnCluster
                    found.append(make(directory, port, xec, options.servers, options.geometry, sync))
                port += PORTS_EACH
        return found

    def start(self):
        for setup in self.setups:
            note(f"starting {setup.name}")
            setup.start()

    def stop(self):
        for setup in reversed(self.setups):
            setup.stop()

    # Streams.

    def make_source(self):
        generator = random.Random(1)
        with open(self.file, "wb") as file:
            left = self.options.size
            while left > 0:
                left -= file.write(generator.randbytes(min(left, 8 * MIB)))

    def check_stream(self, setup):
        """A stream there and back is the same; also warms up programs and servers."""
        target = os.path.join(self.dir, "back")
        run_client(["xrdcp", "--nopbar", self.file, f"{setup.url}//check"])
        run_client(["xrdcp", "--nopbar", "--force", f"{setup.url}//check", target])
        if not filecmp.cmp(self.file, target, shallow=False):
            raise BenchError(f"{setup.name} gives back other bytes than it got")
        os.unlink(target)
        self.remove(setup, "check")

    def remove(self, setup, name):
        run_client(["xrdfs", setup.url, "rm", "/" + name])
        setup.forget(name)

    def measure_stream(self, setup, turn):
        name = f"stream-{turn}"
        for direction, argv in (("upload", [self.file, f"{setup.url}//{name}"]),
                                ("download", [f"{setup.url}//{name}", "-"])):
            # What earlier measurements left to be written is not this one's.
            os.sync()
            before = setup.cpu_seconds()
            seconds, client, _ = run_client(["xrdcp", "--nopbar", *argv], out=subprocess.DEVNULL)
            servers = setup.cpu_seconds() - before
            table = f"stream of {format_size(self.options.size)}"
            gib = self.options.size / GIB
            self.results.add(table, f"{direction} MiB/s", setup.name, self.options.size / MIB / seconds)
            self.results.add(table, f"{direction} CPU s/GiB, client", setup.name, client / gib, ratio=False)
            self.results.add(table, f"{direction} CPU s/GiB, servers", setup.name, servers / gib, ratio=False)
        self.remove(setup, name)

    # Small objects.

    def measure_small(self, setup, clients, turn):
        folder = f"/small-{clients}-{turn}"
        run_client(["xrdfs", setup.url, "mkdir", folder])
        objects = 0
        for operation in OPERATIONS:
            os.sync()
            before = setup.cpu_seconds()
            _, _, out = run_client([find_program("xec_load"), "small", "--url", setup.url, "--folder", folder,
                                    "--operation", operation, "--clients", str(clients),
                                    "--seconds", str(self.options.seconds), "--size", str(self.options.small_size),
                                    "--objects", str(objects)])
            servers = setup.cpu_seconds() - before
            answer = json.loads(out)
            if operation == "put":
                objects = answer["objects_per_client"]
            label = f"{operation}, {clients} client{'s' if clients > 1 else ''}"
            size = format_size(self.options.small_size)
            self.results.add(f"operations/s on objects of {size}", label, setup.name, answer["operations_per_second"])
            self.results.add(f"median ms on objects of {size}", label, setup.name, answer["latency_ms"]["p50"], ratio=False)
            self.results.add(f"server CPU ms per operation on objects of {size}", label, setup.name,
                             1000 * servers / answer["operations"], ratio=False)

    def run(self):
        options = self.options
        if "stream" in options.workloads:
            self.make_source()
            for setup in self.setups:
                note(f"checking {setup.name}")
                self.check_stream(setup)
        for turn in range(1, options.repeat + 1):
            if "stream" in options.workloads:
                for setup in self.setups:
                    note(f"round {turn} of {options.repeat}: stream, {setup.name}")
                    self.measure_stream(setup, turn)
            if "small" in options.workloads:
                for clients in options.clients:
                    for setup in self.setups:
                        note(f"round {turn} of {options.repeat}: small objects, {clients} clients, {setup.name}")
                        self.measure_small(setup, clients, turn)


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def find_program(name):
    build = os.environ.get("XEC_BUILD", os.path.join(REPO, "build", "release"))
    for folder in ("bench", "src/cli"):
        path = os.path.join(build, folder, name)
        if os.access(path, os.X_OK):
            return path
    raise BenchError(f"no program {name} below {build}: build first (./dev build)")


def format_size(size):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1000, "KB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def parse_size(text):
    units = {"GiB": GIB, "MiB": MIB, "KiB": 1024, "KB": 1000}
    for unit, factor in units.items():
        if text.endswith(unit):
            text = text[:-len(unit)]
            return int(text) * factor
    return int(text)


def machine(directory):
    """One line: what the figures depend on."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    version = subprocess.run(["xrootd", "-v"], capture_output=True, text=True, check=False)
    kind = subprocess.run(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", directory], capture_output=True,
                          text=True, check=False).stdout.strip().rpartition("\n")[2]
    return (f"{os.cpu_count()} cores {model}, {memory:.0f} GiB, data on {kind or 'an unknown file system'}, "
            f"XRootD {(version.stdout + version.stderr).strip().lstrip('v')}")


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench", allow_abbrev=False,
                                     description="Measures plain xrootd, the embedded gateway and a gateway on a "
                                                 "cluster, side by side on this machine.")
    parser.add_argument("--size", type=parse_size, metavar="S", help="of the stream (default 1GiB)")
    parser.add_argument("--seconds", type=float, metavar="S", help="of each small-object measurement (default 3)")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds; medians are shown (default 3)")
    parser.add_argument("--clients", default="1,8,64", help="numbers of clients (default %(default)s)")
    parser.add_argument("--small-size", type=parse_size, default=27_000, metavar="S", help="default 27KB")
    parser.add_argument("--sync", default="none,commit", help="sync policies of the stores (default %(default)s)")
    parser.add_argument("--servers", type=int, default=12, metavar="N", help="directories, servers (default 12)")
    parser.add_argument("--geometry", default="8+2", metavar="K+M", help="default %(default)s")
    parser.add_argument("--only", default="", metavar="WORD,...",
                        help=f"only these of {', '.join(KINDS)} and of {', '.join(WORKLOADS)}")
    parser.add_argument("--dir", metavar="DIR", help="where the data goes for the time (default: the temp directory)")
    parser.add_argument("--quick", action="store_true", help="small and short: shows that it works, not how fast")
    parser.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    parser.add_argument("--json", metavar="FILE", help="also write every single value to FILE")
    options = parser.parse_args(argv)
    words = [word for word in options.only.split(",") if word]
    for word in words:
        if word not in KINDS + WORKLOADS:
            parser.error(f"--only: there is no {word}")
    options.kinds = [kind for kind in KINDS if kind in words] or list(KINDS)
    options.workloads = [work for work in WORKLOADS if work in words] or list(WORKLOADS)
    options.sync = options.sync.split(",")
    if not set(options.sync) <= {"none", "commit"}:
        parser.error("--sync: none, commit, or both with a comma between")
    try:
        options.clients = [int(number) for number in options.clients.split(",")]
    except ValueError:
        parser.error("--clients: numbers with commas between")
    for name, usual, quick in (("size", GIB, 16 * MIB), ("seconds", 3.0, 0.2), ("repeat", 3, 1)):
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else usual)
    return options


def measure(options, directory):
    bench = Bench(options, directory)
    print(machine(directory))
    print(f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, load average "
          f"{os.getloadavg()[0]:.1f} before; {options.geometry} on {options.servers} directories or servers; "
          f"medians of {options.repeat}; in brackets the ratio to plain", flush=True)
    try:
        bench.start()
        bench.run()
    finally:
        # After a failure too: what was measured until then took its time.
        print()
        print(bench.results.render(bench.columns, options.markdown))
        print(f"\nload average {os.getloadavg()[0]:.1f} after", flush=True)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(bench.results.as_dict(), file, indent=1)
        bench.stop()


def run(options):
    if options.dir:
        os.makedirs(options.dir, exist_ok=True)
    directory = tempfile.mkdtemp(prefix="xec-bench-", dir=options.dir)
    os.chmod(directory, 0o755)
    try:
        measure(options, directory)
    except (BenchError, daemons.DaemonError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        # Before the directory goes.
        sandbox.kill_descendants()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


def main(argv):
    options = parse(argv)
    return sandbox.run_alone("bench", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
