# SPDX-License-Identifier: LGPL-3.0-or-later
"""Reads of a few KiB anywhere in a large object (paper 3)."""
from .base import MIB, Workload, format_size

PIECES = (64 << 10, 4 << 10)
CLIENTS = 8


class Sparse(Workload):
    name = "sparse"
    about = "reads of 64 KiB and 4 KiB anywhere in 1 GiB (times --scale), 8 clients"
    usual = {"object": 1 << 30}
    FOLDER = "sparse"

    def title(self):
        return f"reads anywhere in {self.object_size() / MIB:.3g} MiB, {CLIENTS} clients"

    def object_size(self):
        return self.scaled(self.sizes["object"])

    def prepare(self, subject):
        self.write_files(subject, self.FOLDER, [self.object_size()])

    def steps(self):
        return [(f"{format_size(piece)}, ", lambda subject, turn, piece=piece: self.measure(subject, turn, piece))
                for piece in PIECES]

    def measure(self, subject, turn, piece):
        with self.bench.meter(subject) as cost:
            answer = self.bench.load(subject, "sparse", "--clients", CLIENTS, "--size", self.object_size(),
                                     "--piece", piece, "--seconds", self.options.seconds, "--seed", turn,
                                     "--path", f"/{self.FOLDER}/s0000")
        what = format_size(piece)
        self.add(f"{what}: reads/s", subject, turn, answer["operations_per_second"], ratio=True)
        self.add(f"{what}: median ms", subject, turn, answer["latency_ms"]["p50"])
        self.add(f"{what}: p99 ms", subject, turn, answer["latency_ms"]["p99"])
        self.add(f"{what}: server CPU ms for each", subject, turn, 1000 * cost.cpu / max(1, answer["operations"]))
        self.add_from_servers(f"{what}: bytes from data servers for each", subject, turn, answer["bytes"], cost)
        self.add_peak(subject, turn, cost, f"sparse, {what}")

    def finish(self, subject):
        subject.forget(self.FOLDER)
