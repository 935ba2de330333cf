# SPDX-License-Identifier: LGPL-3.0-or-later
"""The plan of faults, without faults and on a clock of its own: a run of fifteen minutes has what checker.py asks of a full
run, and never more bad servers at a time than the geometry can lose."""
import os
import sys
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "component"))
import checker  # noqa: E402
import faults  # noqa: E402
import history  # noqa: E402
import plan  # noqa: E402
import xectest  # noqa: E402

MINUTES, M, SERVERS = 15, 2, 12
BLOCKING_SECONDS = 1.0  # beginning and end of a fault that restarts a server, on a slow machine


class Named:
    def __init__(self, name):
        self.name = name


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds

    @staticmethod
    def is_set():
        return False


class Recorder:
    """Keeps the lines that a history would have."""

    def __init__(self, clock):
        self.clock, self.lines = clock, [{"t": "meta", "m": M}]

    def fault(self, kind, target):
        self.lines.append({"t": "fault", "fault": len(self.lines), "kind": kind, "target": target, "start": self.clock.now})
        return len(self.lines) - 1

    def healed(self, fault):
        self.lines.append({"t": "healed", "fault": fault, "end": self.clock.now})


def run(seed, minutes=MINUTES, kinds=faults.SETS["all"]):
    clock = Clock()
    servers = [Named(f"server.{number}") for number in range(1, SERVERS + 1)]
    cluster = Named("cluster")
    cluster.servers, cluster.gateways = servers, [Named(f"gateway.{number}") for number in (1, 2)]
    recorder = Recorder(clock)
    restarts = (faults.Kill, faults.Empty, faults.Stale, faults.ReadOnly)
    with without_faults(clock, restarts), unittest.mock.patch.object(plan, "time", clock):
        plan.Plan(cluster, recorder, kinds, M, seed, clock.now, clock.now + 60 * minutes, [None] * 12).run(clock)
    recorder.lines.append({"t": "begin", "op": "first", "kind": history.STAT, "name": "/a", "start": 1000.0})
    recorder.lines.append({"t": "begin", "op": "last", "kind": history.STAT, "name": "/a", "start": clock.now})
    return checker.report(history.from_lines(recorder.lines))


def without_faults(clock, restarts):
    """Every fault does nothing, some of them slowly."""
    patches = []
    for kind in (*faults.KINDS.values(), faults.GatewayKill, faults.ClientKill):
        takes = BLOCKING_SECONDS if kind in restarts else 0.0
        for method in ("begin", "end"):
            patches.append(unittest.mock.patch.object(kind, method, lambda _, takes=takes: clock.wait(takes)))
    patches.append(unittest.mock.patch.object(faults.Stale, "copy", lambda _: clock.wait(BLOCKING_SECONDS)))
    return Together(patches)


class Together:
    def __init__(self, patches):
        self.patches = patches

    def __enter__(self):
        for patch in self.patches:
            patch.start()

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()


class Plans(xectest.TestCase):
    def test_fifteen_minutes_are_enough(self):
        for seed in range(20):
            result = run(seed)
            lacks = [sentence for sentence in checker.short_of_full(result)
                     if not sentence.startswith(("operations", "mutations", "contended", "largest"))]
            self.assertEqual(lacks, [], f"seed {seed}")
            self.assertEqual(result["bad servers at most"], M)

    def test_only_the_kinds_asked_for(self):
        kinds = (faults.Stop, faults.Slow)
        result = run(1, minutes=1, kinds=kinds)
        self.assertEqual(set(result["faults"]) - {"gateway killed", "client killed"}, {"stop", "slow"})
        self.assertEqual(run(1, minutes=1, kinds=())["faults"], {})

    def test_one_server_only_goes_back_in_time(self):
        with unittest.mock.patch.object(Recorder, "fault", autospec=True, side_effect=Recorder.fault) as told:
            run(3)
        stale = {call.args[2] for call in told.call_args_list if call.args[1] == "stale"}
        self.assertEqual(len(stale), 1)


if __name__ == "__main__":
    xectest.main()
