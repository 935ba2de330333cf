# SPDX-License-Identifier: LGPL-3.0-or-later
"""One stream of --size with xrdcp and its default settings, from the page cache and to nowhere."""
import filecmp
import os
import random

from harness.errors import BenchError

from .base import MIB, Workload, format_size

PIECE = 8 * MIB
UPLOAD, PLAIN_UPLOAD, DOWNLOAD = "upload", "upload without page checksums", "download"


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
        for way in self.ways(subject):
            with self.bench.meter(subject) as cost:
                seconds, cpu = subject.download(name) if way == DOWNLOAD else \
                    subject.upload(self.file, name, pages=way == UPLOAD)
            self.add(f"{way} MiB/s", subject, turn, size / MIB / seconds, ratio=True)
            self.add_cost(way, subject, turn, size, cpu, cost)
            self.add_bytes(way, subject, turn, cost)
            self.add_requests(f"{way}, requests to data servers for each MiB", subject, turn, size / MIB, cost)
            if way == PLAIN_UPLOAD and subject.page_writes:
                subject.remove(name)
        subject.remove(name)

    def ways(self, subject):
        """Where a peer cannot be written to with page checksums everybody does without them too, in rows apart."""
        if self.options.no_pages or all(other.page_writes for other in self.bench.subjects):
            return [UPLOAD, DOWNLOAD]
        if not subject.page_writes:
            return [PLAIN_UPLOAD, DOWNLOAD]
        return [PLAIN_UPLOAD, UPLOAD, DOWNLOAD] if subject.speaks_xrootd else [UPLOAD, DOWNLOAD]

    def add_bytes(self, way, subject, turn, cost):
        if way == DOWNLOAD:
            self.add_from_servers("download, bytes from data servers for each", subject, turn, self.options.size, cost)
        elif subject.server_ports() or subject.has_own_directories:
            known = cost.to_servers is not None
            self.add(f"{way}, bytes to data servers for each", subject, turn,
                     cost.to_servers / self.options.size if known else None)

    def close(self):
        os.unlink(self.file)
