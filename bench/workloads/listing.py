# SPDX-License-Identifier: LGPL-3.0-or-later
"""Listing a directory of many entries: names alone, and with sizes."""
from harness.errors import BenchError

from .base import Workload

ENTRY_BYTES = 100
CLIENTS = 50


class Listing(Workload):
    name = "listing"
    about = "a directory of 100,000 entries (times --scale): names, and with sizes"
    usual = {"entries": 100_000}
    FOLDER = "listing"

    def suits(self, subject):
        return super().suits(subject) and subject.lists

    def title(self):
        return f"listing of {self.entries():,} entries"

    def entries(self):
        return CLIENTS * self.each()

    def each(self):
        return max(1, self.scaled(self.sizes["entries"]) // CLIENTS)

    def prepare(self, subject):
        subject.make_folder(self.FOLDER)
        self.bench.load(subject, "small", "--operation", "put", "--clients", CLIENTS, "--count", self.each(),
                        "--size", ENTRY_BYTES, "--folder", "/" + self.FOLDER)

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        for what, words in (("names", []), ("with sizes", ["--stat"])):
            with self.bench.meter(subject) as cost:
                answer = self.bench.load(subject, "list", "--path", "/" + self.FOLDER, *words, "--count", 1)
            if answer["entries"] != self.entries():
                raise BenchError(f"{subject.name} lists {answer['entries']} of {self.entries()} entries")
            self.add(f"{what}: first entry, s", subject, turn, answer["first_entry_s"])
            self.add(f"{what}: all, s", subject, turn, answer["all_s"], ratio=True)
            self.add(f"{what}: server CPU s", subject, turn, cost.cpu)
            self.add_peak(subject, turn, cost, f"listing, {what}")

    def finish(self, subject):
        subject.forget(self.FOLDER)
