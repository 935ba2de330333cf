# SPDX-License-Identifier: LGPL-3.0-or-later
"""What all workloads have in common."""
from harness.report import GIB, MEMORY, MIB, format_size

PEAK_TITLE = "peak memory of the gateway, MiB"


class Workload:
    """For each subject: prepare once, the steps of every round, finish. A step is (label, function of subject and round)."""
    name = ""
    about = ""            # one line for --help
    every_policy = False  # with each sync policy, or only the first of each kind
    with_cache = False    # also stores that keep in memory what was read
    many_names = False    # also subjects that differ only in what names cost
    over_web = False      # by http and https
    needs_loads = True    # only subjects that xec_load can be pointed at
    small = {}            # sizes, in place of those in `usual`, for --quick
    usual = {}

    def __init__(self, bench):
        self.bench = bench
        self.options = bench.options
        self.results = bench.results
        self.sizes = {**self.usual, **(self.small if self.options.quick else {})}

    def suits(self, subject):
        return ((subject.loads or not self.needs_loads) and (self.with_cache or not subject.cached)
                and (self.many_names or not subject.for_names))

    def subjects(self, subjects):
        found, kinds = [], set()
        for subject in subjects:
            seen = (subject.kind, subject.cached)
            if not self.suits(subject) or (seen in kinds and not self.every_policy):
                continue
            kinds.add(seen)
            found.append(subject)
        return found

    def prepare(self, subject):
        """Not measured. What is made here is removed in finish."""

    def steps(self):
        raise NotImplementedError

    def finish(self, subject):
        """Not measured."""

    def close(self):
        """After the last subject: what the workload made for itself is removed."""

    # For steps.

    def add(self, row, subject, turn, value, ratio=False, table=None, title=None):
        self.results.add(table or self.name, title or self.title(), row, subject.name, turn, value, ratio)

    def title(self):
        return self.name

    def scaled(self, size):
        """A size in bytes or a number of things, times --scale; at least one."""
        return max(1, int(size * self.options.scale))

    def add_peak(self, subject, turn, cost, what=None):
        self.results.add(MEMORY, PEAK_TITLE, what or self.name, subject.name, turn, cost.peak_mib or None)

    def add_cost(self, way, subject, turn, moved, client_cpu, cost):
        """CPU seconds for each GiB of `moved` bytes: client, gateway and data servers apart, and all."""
        gib = moved / GIB
        for who, seconds in (("client", client_cpu), ("gateway", cost.gateway_cpu), ("data servers", cost.servers_cpu)):
            self.add(f"{way} CPU s/GiB, {who}", subject, turn, seconds / gib)
        self.add(f"{way} CPU s/GiB, all", subject, turn, (client_cpu + cost.cpu) / gib, ratio=True)
        self.add_peak(subject, turn, cost, f"{self.name}, {way}")

    def add_from_servers(self, row, subject, turn, moved, cost):
        """Bytes from the data servers for each byte that was asked for."""
        if subject.server_ports() or subject.has_own_directories:
            self.add(row, subject, turn, None if cost.from_servers is None else cost.from_servers / moved)

    def add_requests(self, row, subject, turn, operations, cost, **where):
        if self.options.requests and subject.server_ports():
            self.add(row, subject, turn, None if cost.requests is None else cost.requests / operations, **where)

    def write_files(self, subject, folder, sizes, clients=None):
        """Makes FOLDER/s0000 and so on, whose sizes repeat those of the list, one for each of the clients."""
        subject.make_folder(folder)
        return self.bench.load(subject, "stream", "--operation", "write", "--clients", clients or len(sizes),
                               "--sizes", ",".join(str(size) for size in sizes), "--folder", "/" + folder,
                               *subject.load_options)


def sizes_text(sizes):
    """As options of xec_load."""
    return ",".join(str(size) for size in sizes)


__all__ = ["GIB", "MIB", "Workload", "format_size", "sizes_text"]
