# SPDX-License-Identifier: LGPL-3.0-or-later
"""Vector reads of 1,024 pieces of 1 byte to 256 KiB over 100 stripes, as analysis jobs make them (paper 3). What comes is
compared, with all data servers and with two of them gone."""
from .base import MIB, Workload

LEAST, MOST = 1, 256 << 10
STRIPES, STRIPE = 100, 8 * MIB
CLIENTS = 4
LOST_MAX = 2
PAGE = 4096


class Vector(Workload):
    name = "vector"
    about = "vector reads, 1,024 pieces of 1 B to 256 KiB over 100 stripes (times --scale), 4 clients"
    usual = {"count": 5, "pieces": 1024}
    small = {"count": 1, "pieces": 100}
    FOLDER = "vector"

    def title(self):
        return f"vector reads of {self.sizes['pieces']} pieces of {LEAST} to {self.most()} bytes over {self.span() / MIB:.3g} MiB, {CLIENTS} clients"

    def span(self):
        return max(MOST, self.scaled(STRIPES * STRIPE))

    def most(self):
        """Pieces do not overlap, so all of them must fit."""
        return min(MOST, self.span() // self.sizes["pieces"])

    def prepare(self, subject):
        self.write_files(subject, self.FOLDER, [self.span()])

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        self.read(subject, turn, "")
        lost = min(LOST_MAX, subject.may_lose)
        if lost:
            name = f"{self.FOLDER}/s0000"
            subject.lose(name, lost)
            try:
                self.read(subject, turn, f"{lost} gone: ")
            finally:
                subject.restore()
                subject.settle(name, self.options.settle)

    def read(self, subject, turn, prefix):
        with self.bench.meter(subject) as cost:
            answer = self.bench.load(subject, "vector", "--clients", CLIENTS, "--size", self.span(), "--pieces", self.sizes["pieces"],
                                     "--min", LEAST, "--max", self.most(), "--span", self.span(),
                                     "--count", self.sizes["count"], "--seed", turn, "--path", f"/{self.FOLDER}/s0000")
        self.add(f"{prefix}MiB/s", subject, turn, answer["bytes"] / MIB / answer["seconds"], ratio=not prefix)
        self.add(f"{prefix}median ms for a vector", subject, turn, answer["latency_ms"]["p50"])
        self.add_from_servers(f"{prefix}bytes from data servers for each", subject, turn, answer["bytes"], cost)
        # One page for each end of a piece is what a store may fetch besides.
        rounded = answer["bytes"] + 2 * PAGE * self.sizes["pieces"] * answer["operations"]
        self.add_from_servers(f"{prefix}the same with a page for each end of a piece", subject, turn, rounded, cost)
        self.add_peak(subject, turn, cost, f"vector{', some gone' if prefix else ''}")

    def finish(self, subject):
        subject.forget(self.FOLDER)
