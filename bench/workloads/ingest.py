# SPDX-License-Identifier: LGPL-3.0-or-later
"""Open loop, as paper 2 does it: a file is started at a fixed interval whether or not the ones before are done. The
intervals are 50, 70 and 90 % of the rate at which the subject itself saturates, found first in the same round."""
import statistics
import threading

import daemons
from harness.errors import BenchError

from .base import MIB, Workload

SHARES = (50, 70, 90)
SATURATING_CLIENTS = 4


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Ingest(Workload):
    name = "ingest"
    about = "files of 200 MB (times --scale) started at a fixed interval, 50, 70, 90 % of saturation"
    usual = {"file": 200 * 10**6, "files": 40, "saturating": 12}
    small = {"files": 6, "saturating": 4}

    def title(self):
        return f"ingest of files of {self.file_size() / 1e6:.3g} MB, open loop"

    def file_size(self):
        return self.scaled(self.sizes["file"])

    def prepare(self, subject):
        """Finds out which data servers can be killed without looking for one in the middle of a measurement."""
        if subject.kind == "cluster":
            self.write_files(subject, "ingest-probe", [self.file_size()], 1)

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        rate = self.saturation(subject, turn)
        for share in SHARES:
            self.run(subject, turn, f"{share} %", rate * share / 100)
        # Directories cannot be lost in the middle of an upload here as a server can be killed.
        if subject.kind == "cluster":
            self.run(subject, turn, f"{SHARES[-1]} %, server killed", rate * SHARES[-1] / 100, kills=True)

    def saturation(self, subject, turn):
        """Files a second with SATURATING_CLIENTS clients that never pause."""
        folder = f"ingest-saturation-{turn}"
        files = self.sizes["saturating"]
        moved = seconds = 0
        for part in range(0, files, SATURATING_CLIENTS):
            answer = self.write_files(subject, f"{folder}-{part}", [self.file_size()], min(SATURATING_CLIENTS, files - part))
            moved += answer["bytes"]
            seconds += answer["seconds"]
            subject.forget(f"{folder}-{part}")
        self.add("saturation MiB/s", subject, turn, moved / MIB / seconds, ratio=True)
        return moved / seconds / self.file_size()

    def run(self, subject, turn, what, files_a_second, kills=False):
        folder = f"ingest-{turn}-{what.split()[0]}{'-killed' if kills else ''}"
        subject.make_folder(folder)
        interval = 1 / files_a_second
        length = interval * self.sizes["files"]
        killer = Killer(subject, "ingest-probe/s0000", length / 2) if kills else None
        if killer:
            killer.start()
        try:
            with self.bench.meter(subject) as cost:
                answer = self.bench.load(subject, "ingest", "--size", self.file_size(), "--interval", f"{interval:.6f}",
                                         "--seconds", f"{length:.6f}", "--folder", "/" + folder, *subject.load_options,
                                         may_fail=True)
        finally:
            if killer:
                killer.end()
        durations = [seconds for seconds in answer["durations_s"] if seconds is not None]
        self.results.add_samples(self.name, what, subject.name, durations)
        if durations:
            median = statistics.median(durations)
            self.add(f"{what}: median s", subject, turn, median)
            self.add(f"{what}: p99 s", subject, turn, quantile(durations, 0.99))
            self.add(f"{what}: p99 as a multiple of the median", subject, turn, quantile(durations, 0.99) / median)
        self.add(f"{what}: failed", subject, turn, answer["failures"])
        self.add_peak(subject, turn, cost, f"ingest, {what}")
        if answer["failures"]:
            self.results.fail(f"ingest, {what}, {subject.name}: {answer['failures']} of {answer['operations']} transfers "
                              f"failed, the first one: {answer['first_failure']}")
        if kills:
            subject.restore()
            subject.settle("ingest-probe/s0000", self.options.settle)
        subject.forget(folder)

    def finish(self, subject):
        subject.forget("ingest-probe")


class Killer:
    """Kills a data server after a while, from a thread of its own."""

    def __init__(self, subject, name, seconds):
        self.holder = subject.holders(name)[0]
        self.subject = subject
        self.error = None
        self.killed = False
        self.timer = threading.Timer(seconds, self.kill)

    def start(self):
        self.timer.start()

    def kill(self):
        try:
            self.subject.lose_one(self.holder)
            self.subject.lost.append(self.holder)
            self.killed = True
        except (BenchError, daemons.DaemonError) as error:
            self.error = error

    def end(self):
        self.timer.cancel()
        self.timer.join()
        if not self.killed:
            raise BenchError(f"no data server was killed: {self.error or 'all files were there before its time came'}")
