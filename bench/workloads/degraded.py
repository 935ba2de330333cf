# SPDX-License-Identifier: LGPL-3.0-or-later
"""Reads of one large object with all data servers, and with two gone that have data chunks of it."""
import os

from .base import GIB, MIB, Workload, format_size
from .stream import make_file

LOST_MAX = 2


class Degraded(Workload):
    name = "degraded"
    about = "downloads of --size with two data servers gone, against all of them"
    OBJECT = "degraded"

    def suits(self, subject):
        return super().suits(subject) and subject.may_lose > 0

    def title(self):
        return f"download of {format_size(self.options.size)} with data servers gone"

    def prepare(self, subject):
        file = make_file(os.path.join(self.bench.dir, "degraded"), self.options.size)
        subject.upload(file, self.OBJECT)
        os.unlink(file)
        subject.download(self.OBJECT)

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        healthy = self.read(subject, turn, "all there")
        lost = min(LOST_MAX, subject.may_lose)
        subject.lose(self.OBJECT, lost)
        try:
            gone = self.read(subject, turn, f"{lost} gone")
        finally:
            subject.restore()
            subject.settle(self.OBJECT, self.options.settle)
        self.add("MiB/s, ratio to all there", subject, turn, gone[0] / healthy[0])
        self.add("CPU s/GiB, ratio to all there", subject, turn, gone[1] / healthy[1])

    def read(self, subject, turn, what):
        """(MiB/s, CPU seconds of client and all servers for each GiB)"""
        size = self.options.size
        with self.bench.meter(subject) as cost:
            seconds, client = subject.download(self.OBJECT)
        rate, cpu = size / MIB / seconds, (client + cost.cpu) / (size / GIB)
        self.add(f"{what}: MiB/s", subject, turn, rate)
        self.add(f"{what}: CPU s/GiB, all", subject, turn, cpu)
        self.add_from_servers(f"{what}: bytes from data servers for each", subject, turn, size, cost)
        self.add_peak(subject, turn, cost, f"degraded, {what}")
        return rate, cpu

    def finish(self, subject):
        subject.remove(self.OBJECT)
