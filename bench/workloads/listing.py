# SPDX-License-Identifier: LGPL-3.0-or-later
"""Listing a directory of many entries, names alone and with sizes: as soon as they are written, and when they are at rest."""
import time

from harness.errors import BenchError

from .base import Workload

ENTRY_BYTES = 100
CLIENTS = 50
# By then a gateway's cleaner should have passed two or three times and know what is there: 100,000 entries take it most of
# a minute, and the pause after that is four times as long.
AT_REST_SECONDS, AT_REST_LEAST_SECONDS = 600, 150


class Listing(Workload):
    name = "listing"
    about = "a directory of 100,000 entries (times --scale): names, and with sizes"
    usual = {"entries": 100_000}
    FOLDER = "listing"

    def __init__(self, bench):
        super().__init__(bench)
        self.written = 0  # the last of them

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

    def steps(self):
        return [("just written, ", self.write), ("at rest, ", self.wait)]

    def write(self, subject, turn):
        if turn > 1:
            return
        self.bench.load(subject, "small", "--operation", "put", "--clients", CLIENTS, "--count", self.each(),
                        "--size", ENTRY_BYTES, "--folder", "/" + self.FOLDER)
        self.written = time.monotonic()
        self.list(subject, turn, "just written, ")

    def wait(self, subject, turn):
        at_rest = self.written + max(AT_REST_LEAST_SECONDS, AT_REST_SECONDS * self.options.scale)
        if not self.options.quick:
            time.sleep(max(0.0, at_rest - time.monotonic()))
        self.list(subject, turn, "")

    def list(self, subject, turn, when):
        for what, words in ((f"{when}names", []), (f"{when}with sizes", ["--stat"])):
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
