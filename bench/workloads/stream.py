# SPDX-License-Identifier: LGPL-3.0-or-later
"""One stream of --size with xrdcp and its default settings, from the page cache and to nowhere."""
import filecmp
import os
import random

from harness.errors import BenchError

from .base import MIB, Workload, format_size

PIECE = 8 * MIB


def make_file(path, size):
    """Random bytes, the same every time."""
    generator = random.Random(1)
    with open(path, "wb") as file:
        left = size
        while left > 0:
            left -= file.write(generator.randbytes(min(left, PIECE)))
    return path


class Stream(Workload):
    name = "stream"
    about = "one upload and one download of --size with xrdcp (S3: curl)"
    every_policy = True
    needs_loads = False

    def __init__(self, bench):
        super().__init__(bench)
        self.file = os.path.join(bench.dir, "stream")
        make_file(self.file, self.options.size)

    def title(self):
        return f"stream of {format_size(self.options.size)}"

    def prepare(self, subject):
        """There and back is the same; also warms up programs and servers."""
        back = os.path.join(self.bench.dir, "back")
        subject.upload(self.file, "stream-check")
        subject.download("stream-check", back)
        same = filecmp.cmp(self.file, back, shallow=False)
        os.unlink(back)
        subject.remove("stream-check")
        if not same:
            raise BenchError(f"{subject.name} gives back other bytes than it got")

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        name = f"stream-{turn}"
        size = self.options.size
        for way in ("upload", "download"):
            with self.bench.meter(subject) as cost:
                seconds, cpu = subject.upload(self.file, name) if way == "upload" else subject.download(name)
            self.add(f"{way} MiB/s", subject, turn, size / MIB / seconds, ratio=True)
            self.add_cost(way, subject, turn, size, cpu, cost)
            self.add_bytes(way, subject, turn, cost)
            self.add_requests(f"{way}, requests to data servers for each MiB", subject, turn, size / MIB, cost)
        subject.remove(name)

    def add_bytes(self, way, subject, turn, cost):
        if way == "download":
            self.add_from_servers("download, bytes from data servers for each", subject, turn, self.options.size, cost)
        elif subject.server_ports() or subject.has_own_directories:
            known = cost.to_servers is not None
            self.add("upload, bytes to data servers for each", subject, turn,
                     cost.to_servers / self.options.size if known else None)

    def close(self):
        os.unlink(self.file)
