# SPDX-License-Identifier: LGPL-3.0-or-later
"""Gateways killed at their fail points under a client, and clients killed while their gateway is held at one. What
must be true afterwards is in failpoints.py."""
import contextlib
import errno
import os
import select
import signal
import urllib.parse

import failpoints
import xectest
from failpoint_scenarios import Scenario

WAIT_SECONDS = 120.0
AFTER_ANSWER_SECONDS = 2.0
MIB = 1024 * 1024
# What `xec serve` ends with when its xrootd was ended by a signal.
KILLED, TERMINATED = 128 + signal.SIGKILL, 128 + signal.SIGTERM


def wait_any(pids, seconds=WAIT_SECONDS):
    """Waits until one of the processes has ended; False: none has."""
    with contextlib.ExitStack() as stack:
        descriptors = []
        for pid in pids:
            try:
                descriptors.append(os.pidfd_open(pid))
            except ProcessLookupError:
                return True
            stack.callback(os.close, descriptors[-1])
        return bool(select.select(descriptors, [], [], seconds)[0])


def root_command(gateway, words):
    """The command of the program xec as a client of root:// says it."""
    verb, paths = words[0], [word for word in words[1:] if not word.startswith("-")]
    if verb == "put":
        return ["xrdcp", "--nopbar", *([] if "--exclusive" in words else ["-f"]), paths[0], f"{gateway.url}/{paths[1]}"]
    if verb == "cat":
        return ["xrdcp", "--nopbar", f"{gateway.url}/{paths[0]}", "-"]
    if verb == "rm" and "-r" in words:
        return ["xrdfs", gateway.url, "rmdir", *paths]
    return ["xrdfs", gateway.url, *words]


def http_command(gateway, words):
    """The same over http; None where that has no such thing."""
    url = gateway.http + urllib.parse.quote(words[-1])
    options = {"put": ("-T", words[1]), "cat": (), "stat": ("--head",), "rm": ("-X", "DELETE")}.get(words[0])
    if options is None or words[1].startswith("-"):
        return None
    return ["curl", "--silent", "--show-error", "--fail", *options, url]


class GatewayCampaign(failpoints.Campaign):
    """Every case has a gateway of its own, which dies at the case's point. Of every two cases one asks over http, if
    that can."""

    def passages_of(self, case):
        log = self.store.log_file(case.scenario.name)
        gateway = self.store.serve(env={"XEC_FAILPOINT_LOG": log})
        at_start = failpoints.passed(log)
        self.test.run_program(self.command(gateway, case), code=None)
        self.test.assertEqual(gateway.stop(), 0, case.scenario.name)
        self.test.assertFalse(at_start, "a gateway passes fail points only when it is asked for something")
        return failpoints.passed(log)

    def command(self, gateway, case):
        words = self.store.words_of(case.scenario.words, case.place)
        http = http_command(gateway, words) if hash_of(case) % 2 else None
        return http or root_command(gateway, words)

    def kill(self, case):
        gateway = self.store.serve(env={"XEC_FAILPOINT": f"{case.point}:{case.passage}"})
        client = self.test.background(self.command(gateway, case))
        self.test.assertTrue(wait_any([client.pid, gateway.pid]), f"{case}: neither the client nor the gateway ends")
        if client.popen.poll() is not None:
            # What the gateway does after its answer may still pass the point: on its own, or as it ends.
            wait_any([gateway.pid], AFTER_ANSWER_SECONDS)
            gateway.xrootd.signal(signal.SIGTERM)
        code = gateway.process.wait()
        client.kill()
        self.test.assertIn(code, (KILLED, TERMINATED), f"{case}: {gateway.output()}")
        case.killed = code == KILLED
        self.killed[case.point] += case.killed


def hash_of(case):
    return sum(str(case).encode())


# Clients are killed while their gateway is held. The large object does not fit into the buffers in between, so its
# client has not sent all of it at any of these points: nothing of it may ever be seen.
SIZES = {**failpoints.SIZES, "large": 64 * MIB}
SENDING = (("put.start", 1), ("put.open", 1), ("put.opened_one", 3), ("put.opened", 1), ("put.chunk", 1),
           ("put.chunk", 50), ("put.chunk_written", 1), ("put.chunk_written", 50))
CLOSING = (("put.written", 1), ("put.seal", 1), ("put.sealed_one", 2), ("put.sealed", 1), ("put.look", 1),
           ("put.promote", 1), ("state.rename", 1), ("state.renamed", 2), ("promote.home", 2), ("put.committed", 1),
           ("put.promoted_other", 1), ("put.promoted", 1))


def client_scenarios():
    for protocol in ("root", "http"):
        for kind, options, before in (("new", ("--exclusive",), {}), ("replace", (), {"a": "old"})):
            # HTTP has no exclusive creation.
            options = () if protocol == "http" else options
            for points, label in ((SENDING, "large"), (CLOSING, "new")):
                results = (before,) if label == "large" else (before, {"a": "new"})
                name = f"{protocol}_{kind}_{'sending' if label == 'large' else 'closing'}"
                yield Scenario(name, ("put", *options, f"%{label}", "@/a"), before, results), points


class ClientCampaign(failpoints.Campaign):
    """Every case has a gateway of its own, which is held at the case's point until its client is dead."""

    def __init__(self, test, store):
        self.points = tuple(client_scenarios())
        super().__init__(test, store, [scenario for scenario, _ in self.points])

    def discover(self, choose):
        for scenario, points in self.points:
            for point, passage in points:
                self.discovered.add((scenario.name, point))
                for root in failpoints.ROOTS:
                    if choose(scenario, root, f"{point}:{passage}"):
                        self.cases.append(failpoints.Case(scenario, root, point, passage))

    def kill(self, case):
        fifo = self.test.path("fifo" + case.place.replace("/", "-"))
        os.mkfifo(fifo)
        os.chmod(fifo, 0o666)
        gateway = self.store.serve(env={"XEC_FAILPOINT": f"{case.point}:{case.passage}=wait:{fifo}"})
        words = self.store.words_of(case.scenario.words, case.place)
        command = http_command if case.scenario.name.startswith("http") else root_command
        client = self.test.background(command(gateway, words))
        held = self.test.eventually(lambda: open_held(fifo), WAIT_SECONDS,
                                    f"the gateway is held at {case.point}:{case.passage}; client: {client.output()}")
        client.kill()
        case.killed = client.popen.returncode == failpoints.KILLED
        os.close(held)
        self.killed[case.point] += case.killed
        if case.scenario.name.endswith("_sending"):
            # The gateway itself gives the upload up.
            self.test.eventually(lambda: not self.seals(case.place), WAIT_SECONDS, f"{case}: {self.seals(case.place)}")
        self.test.assertEqual(gateway.stop(), 0, str(case))

    def seals(self, place):
        return [(folder, entry) for folder in self.store.folders
                for entry in failpoints.list_directory(f"{folder}{place}/a.~xo") if entry[:2] in ("s.", "e.", "x.")]


def open_held(fifo):
    """The writing end of the FIFO, if somebody reads it."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None
