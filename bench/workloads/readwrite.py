# SPDX-License-Identifier: LGPL-3.0-or-later
"""Many clients read files of one set and write them back under other names while they read (paper 1, section 3.3,
scaled)."""
from .base import MIB, Workload, sizes_text


class ReadWrite(Workload):
    name = "readwrite"
    about = "200 clients read files (10 MB times --scale) and write them back meanwhile"
    usual = {"clients": 200, "files": 40, "each": 1, "file": 10 * 10**6}
    small = {"clients": 10, "files": 4}
    FOLDER = "readwrite"

    def title(self):
        return f"{self.sizes['clients']} clients read and write back"

    def file_size(self):
        return self.scaled(self.sizes["file"])

    def prepare(self, subject):
        self.write_files(subject, self.FOLDER, [self.file_size()], self.sizes["files"])

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        out = f"readwrite-out-{turn}"
        subject.make_folder(out)
        sizes = self.sizes
        with self.bench.meter(subject) as cost:
            answer = self.bench.load(subject, "copy", "--clients", sizes["clients"], "--files", sizes["files"],
                                     "--each", sizes["each"], "--seed", turn, "--sizes", sizes_text([self.file_size()]),
                                     "--folder", "/" + self.FOLDER, "--out", "/" + out, *subject.load_options)
        copied = answer["operations"] * self.file_size()
        self.add("MiB/s read and written back", subject, turn, copied / MIB / answer["seconds"], ratio=True)
        self.add("median s for a file", subject, turn, answer["latency_ms"]["p50"] / 1000)
        self.add("longest s for a file", subject, turn, answer["latency_ms"]["max"] / 1000)
        self.add_cost("copy", subject, turn, copied, answer["cpu_seconds"], cost)
        subject.forget(out)

    def finish(self, subject):
        subject.forget(self.FOLDER)
