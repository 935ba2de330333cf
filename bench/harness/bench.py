# SPDX-License-Identifier: LGPL-3.0-or-later
"""One run: starts the subjects, measures them in turn, round after round, and goes on when one of them fails."""
import os
import sys

import daemons

from . import clients, meters
from .errors import BenchError
from .options import KINDS
from .peers import S3Peer, XrdecCluster, XrdecDirect, XrdecGateway
from .requests import RequestCounter
from .results import Results
from .subjects import PORTS_EACH
from .web_site import WebSite

FIRST_PORT = 11000


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Bench:
    """What workloads work with: options, results, subjects, and a place for files."""

    def __init__(self, options, directory, outside=None):
        self.options = options
        self.dir = directory
        self.results = Results()
        self.subjects = self.make_subjects(outside)
        # Without the workload nobody has lines for it, so it changes nothing of what others measure.
        self.web_site = self.make_web_site() if any(workload.over_web for workload in options.workloads) else None
        self.counter = RequestCounter() if options.requests else None
        self.running = []
        if options.no_pages:
            for subject in self.subjects:
                subject.page_reads = subject.page_writes = False

    def make_subjects(self, outside):
        options, found = self.options, []

        def place():
            """Directory and first port of the next subject; short names, as there are sockets below."""
            return os.path.join(self.dir, f"s{len(found):02d}"), FIRST_PORT + len(found) * PORTS_EACH
        for kind, make in KINDS.items():
            if kind not in options.kinds:
                continue
            if make.for_names and not any(workload.many_names for workload in options.workloads):
                continue
            if kind == "proxy":
                found.append(make(*place()))
            elif kind == "plain":
                # Without sync it is what all others are compared with.
                found += [make(*place())]
                if "commit" in options.sync:
                    found.append(make(*place(), "commit"))
            else:
                for policy in options.sync:
                    found.append(make(*place(), policy, options))
                if not make.for_names and any(workload.with_cache for workload in options.workloads):
                    found.append(make(*place(), options.sync[0], options, cached=True))
        if options.xrdec_prefix and "xrdec" in options.kinds:
            directory, port = place()
            shared = XrdecCluster(directory, port, options.xrdec_prefix, options)
            found.append(XrdecGateway(os.path.join(directory, "gateway"), port + PORTS_EACH - 1, shared))
            found.append(XrdecDirect(directory, port, shared))
        if options.s3_peer and "s3" in options.kinds:
            found.append(S3Peer(options.s3_peer, outside))
        return found

    def make_web_site(self):
        site = WebSite(os.path.join(self.dir, "web-site"))
        for subject in self.subjects:
            subject.open_web(site)
        return site

    def free_port(self):
        """The first of those that a server besides the subjects may have."""
        return FIRST_PORT + (len(self.subjects) + 1) * PORTS_EACH

    def start(self):
        for subject in self.subjects:
            if not subject.cached:
                self.start_one(subject)

    def start_one(self, subject):
        note(f"starting {subject.name}")
        self.running.append(subject)
        subject.start()

    def stop(self):
        for subject in reversed(self.running):
            try:
                subject.stop()
            except (BenchError, daemons.DaemonError) as error:
                note(f"stopping {subject.name}: {error}")

    def stop_one(self, subject):
        self.running.remove(subject)
        subject.stop()

    def load(self, subject, scenario, *options, may_fail=False):
        return clients.load(subject, scenario, *options, may_fail=may_fail)

    def meter(self, subject):
        if not self.options.quick:
            # What earlier measurements left to be written is not this one's.
            os.sync()
        return meters.Meter(subject, self.counter)

    def attempt(self, what, subject, step, *arguments):
        """False when it failed, which is told at the end and is no reason not to measure the others."""
        try:
            step(subject, *arguments)
            return True
        except (BenchError, daemons.DaemonError, OSError) as error:
            note(f"failed: {what}, {subject.name}: {error}")
            self.results.fail(f"{what}, {subject.name}: {error}")
            return False

    def run(self):
        for make in self.options.workloads:
            workload = make(self)
            subjects = [subject for subject in workload.subjects(self.subjects)
                        if self.prepare(workload, subject)]
            for turn in range(1, self.options.repeat + 1):
                # Nobody is always the one after the same other.
                shift = (turn - 1) % max(1, len(subjects))
                for label, step in workload.steps():
                    for subject in subjects[shift:] + subjects[:shift]:
                        note(f"{workload.name}, round {turn} of {self.options.repeat}: {label}{subject.name}")
                        self.attempt(f"{workload.name}, {label}round {turn}", subject, step, turn)
            for subject in subjects:
                self.attempt(f"{workload.name}, cleaning up", subject, workload.finish)
                if subject.cached:
                    self.attempt(f"{workload.name}, stopping", subject, self.stop_one)
            workload.close()

    def prepare(self, workload, subject):
        note(f"{workload.name}: preparing {subject.name}")
        # Only as long as they are measured: they would take time and memory from all others.
        if subject.cached and not self.attempt(f"{workload.name}, starting", subject, self.start_one):
            return False
        return self.attempt(f"{workload.name}, preparing", subject, workload.prepare)
