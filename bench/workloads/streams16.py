# SPDX-License-Identifier: LGPL-3.0-or-later
"""Sixteen streams at once, each with a connection of its own, of 30 MB to 1.1 GB: the last one is alone at the end."""
from .base import MIB, Workload, sizes_text

# A fixed list; their mean is 466 MB.
SIZES_MB = (30, 1100, 61, 840, 95, 720, 130, 610, 190, 560, 250, 980, 310, 490, 370, 720)
KINDS = (("write", "upload"), ("read", "download"))


class Streams16(Workload):
    name = "streams16"
    about = "16 streams at once, 30 MB to 1.1 GB (times --scale): aggregate rates"

    def title(self):
        return f"16 streams of {self.mb(min(SIZES_MB))} to {self.mb(max(SIZES_MB))} MB"

    def mb(self, size):
        return f"{size * self.options.scale:.3g}"

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        folder = f"streams16-{turn}"
        sizes = [self.scaled(size * 10**6) for size in SIZES_MB]
        subject.make_folder(folder)
        for operation, way in KINDS:
            with self.bench.meter(subject) as cost:
                answer = self.bench.load(subject, "stream", "--operation", operation, "--clients", len(sizes),
                                         "--sizes", sizes_text(sizes), "--folder", "/" + folder, *subject.load_options)
            self.add(f"{way} MiB/s, all together", subject, turn, answer["bytes"] / MIB / answer["seconds"], ratio=True)
            self.add(f"{way}, longest file, s", subject, turn, answer["latency_ms"]["max"] / 1000)
            self.add_cost(way, subject, turn, answer["bytes"], answer["cpu_seconds"], cost)
            if way == "download":
                self.add_from_servers("download, bytes from data servers for each", subject, turn, answer["bytes"], cost)
        subject.forget(folder)
