# SPDX-License-Identifier: LGPL-3.0-or-later
"""Many clients read the same set of files again and again, in the same order (paper 1, section 3.3, scaled)."""
from .base import MIB, Workload, sizes_text


class Reread(Workload):
    name = "reread"
    about = "150 clients read the same 20 files (10 MB times --scale) twice; stores also with a cache"
    with_cache = True
    usual = {"clients": 150, "files": 20, "rounds": 2, "file": 10**7}
    small = {"clients": 10, "files": 4}

    def title(self):
        return f"{self.sizes['clients']} clients read the same {self.sizes['files']} files {self.sizes['rounds']} times"

    def file_size(self):
        return self.scaled(self.sizes["file"])

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        sizes = self.sizes
        # Files that nobody has read yet: what a cache keeps of an earlier round must not count.
        folder = f"{self.name}-{turn}"
        self.write_files(subject, folder, [self.file_size()], sizes["files"])
        with self.bench.meter(subject) as cost:
            answer = self.bench.load(subject, "reread", "--clients", sizes["clients"], "--files", sizes["files"],
                                     "--rounds", sizes["rounds"], "--sizes", sizes_text([self.file_size()]),
                                     "--folder", "/" + folder, *subject.load_options)
        self.add("MiB/s, all together", subject, turn, answer["bytes"] / MIB / answer["seconds"], ratio=True)
        self.add("median s for a file", subject, turn, answer["latency_ms"]["p50"] / 1000)
        self.add_cost("reread", subject, turn, answer["bytes"], answer["cpu_seconds"], cost)
        unique = sizes["files"] * self.file_size()
        self.add_from_servers("bytes from data servers for each unique one", subject, turn, unique, cost)
        subject.forget(folder)
