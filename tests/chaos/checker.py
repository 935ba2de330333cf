#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Verifies a recorded history: no wrong byte, nothing lost, nothing resurrected, every name linearizable, and every
error that a client saw had a cause.

    python3 tests/chaos/checker.py HISTORY [--strict] [--json]

HISTORY is a folder of *.jsonl or one such file. Exit code 0: all is well; 1: a promise was broken; 2: wrong use or an
unreadable history; 3: errors without an allowed cause; 4: nothing broken was found, but the search gave up on some names.
"""
import argparse
import bisect
import collections
import json
import sys

import history
import judge

# Why a client may have seen an error, best excuse first.
CAUSES = {
    "client": "it was killed itself",
    "gateway": "its gateway was killed meanwhile",
    "conflict": "another mutation of the same name was under way or never answered",
    "beyond": "more servers were bad than the geometry can lose",
    "leftover": "another mutation of the same name had just ended, and what it left behind was in the way",
    "faulted": "a server was bad, though no more than the geometry can lose",
    "unexplained": "no cause in the history",
}
LEFTOVER_SECONDS = 10.0  # the pause between two cleanings of chaos's gateways
SETTLE_SECONDS = 5.0  # So long after a fault is healed connections may still break and servers be given up as bad.


class Errors:
    """Finds the cause of errors. --strict leaves no excuse to one bad server, which failover
    must hide, nor to leftovers of what is over."""

    def __init__(self, recorded):
        self.m = recorded.meta.get("m", 2)
        self.gateways = judge.faults_of(recorded, "gateway.")
        self.servers = judge.faults_of(recorded, "server.")
        self.clients = judge.faults_of(recorded, "client.")
        self.mutations = collections.defaultdict(list)
        for op in recorded.ops:
            for name in op.names() if op.mutates else ():
                self.mutations[name].append(op)

    def bad_servers(self, start, end):
        """How many servers were bad at the same moment, at most, from `start` to `end`; those that are back count until they
        have settled."""
        faults = [fault for faults in self.servers.values() for fault in faults if fault.overlaps(start, end)]
        bad = [{fault.target for fault in faults if fault.overlaps(moment - SETTLE_SECONDS, moment)}
               for moment in (max(start, fault.start) for fault in faults)]
        return max(map(len, bad), default=0)

    def faults_during(self, op):
        """On servers, and on its gateway: those that can have something to do with its error."""
        faults = [fault for faults in self.servers.values() for fault in faults] + self.gateways[f"gateway.{op.gateway}"]
        end = float("inf") if op.end is None else op.end
        return sorted((fault for fault in faults if fault.overlaps(op.start - SETTLE_SECONDS, end)),
                      key=lambda fault: fault.start)

    def rivals(self, op, before=0.0):
        """Mutations of its names that overlap with it, or ended less than `before` seconds earlier."""
        end = float("inf") if op.end is None else op.end
        for other in (other for name in op.names() for other in self.mutations[name]):
            lasts = other.end is None or judge.may_have_happened(other)
            if other is not op and other.start <= end and (lasts or other.end >= op.start - before):
                yield other

    def cause(self, op):
        end = float("inf") if op.end is None else op.end
        begin = op.start - SETTLE_SECONDS
        if op.end is None and any(fault.start >= op.start for fault in self.clients[f"client.{op.client}"]):
            return "client"
        if any(fault.overlaps(begin, end) for fault in self.gateways[f"gateway.{op.gateway}"]):
            return "gateway"
        if op.outcome in (history.RETRY, history.CONFLICT) and next(self.rivals(op), None):
            return "conflict"
        bad = self.bad_servers(begin, end)
        if bad > self.m:
            return "beyond"
        if op.outcome == history.RETRY and op.mutates and next(self.rivals(op, LEFTOVER_SECONDS), None):
            return "leftover"
        return "faulted" if bad else "unexplained"


def failed(op):
    return op.outcome in (history.RETRY, history.CONFLICT, history.ERROR, history.NO_ANSWER)


def contended(recorded):
    """Operations that overlap with one of another client on the same name, where at least one of the two mutates."""
    by_name, found = collections.defaultdict(list), set()
    for op in recorded.ops:
        for name in op.names() if op.kind != history.LIST else ():
            by_name[name].append(op)
    for ops in by_name.values():
        running = []
        for op in ops:
            running = [other for other in running if other.end is None or other.end >= op.start]
            for other in running:
                if other.client != op.client and (op.mutates or other.mutates):
                    found.update((op.id, other.id))
            running.append(op)
    return len(found)


def time_with_faults(recorded):
    """Share of the time in which clients were at work and at least one server was bad; most bad ones at one moment."""
    work = [op for op in recorded.ops if not op.census]
    if not work:
        return 0.0, 0
    start, end = work[0].start, max(op.end or op.start for op in work)
    edges = []
    for fault in recorded.faults:
        if fault.target.startswith("server."):
            first, last = max(start, fault.start), min(end, end if fault.end is None else fault.end)
            edges += [(first, 1, fault.target), (last, -1, fault.target)] if first < last else []
    bad, worst, total, since = collections.Counter(), 0, 0.0, start
    for moment, change, target in sorted(edges):
        total += moment - since if any(bad.values()) else 0.0
        since = moment
        bad[target] += change
        worst = max(worst, sum(1 for count in bad.values() if count > 0))
    return total / max(end - start, 1e-9), worst


def latencies(recorded):
    """Of answered operations: for each kind (median, 99 of 100, longest) in seconds."""
    by_kind = collections.defaultdict(list)
    for op in recorded.ops:
        if op.end is not None and not op.census:
            bisect.insort(by_kind[op.kind], op.end - op.start)
    return {kind: [round(times[int(share * (len(times) - 1))], 3) for share in (0.5, 0.99, 1.0)]
            for kind, times in sorted(by_kind.items())}


def report(recorded):
    """Everything as a dictionary for --json; violations and errors as objects."""
    errors, causes, failures = Errors(recorded), collections.Counter(), []
    for op in recorded.ops:
        if failed(op) and not op.census:
            cause = errors.cause(op)
            causes[cause] += 1
            failures.append((cause, op))
    work = [op for op in recorded.ops if not op.census]
    mutations = sum(op.mutates for op in work)
    share, worst = time_with_faults(recorded)
    return {
        "meta": recorded.meta,
        "operations": len(work), "mutations": mutations, "contended": contended(recorded),
        "kinds": dict(sorted(collections.Counter(op.kind for op in work).items())),
        "outcomes": dict(collections.Counter(op.outcome for op in work).most_common()),
        "protocols": dict(collections.Counter(op.protocol for op in work).most_common()),
        "bytes written": sum(op.size or 0 for op in work if op.kind in (history.PUT, history.CREATE)),
        "largest": max((op.size or 0 for op in work if op.kind in (history.PUT, history.CREATE)), default=0),
        "census": dict(collections.Counter(op.outcome for op in recorded.ops if op.census)),
        "faults": dict(sorted(collections.Counter(fault.kind for fault in recorded.faults).items())),
        "share of time with a bad server": round(share, 3), "bad servers at most": worst,
        "seconds (median, p99, max)": latencies(recorded),
        "errors": dict(causes), "failures": failures, "faults during": errors.faults_during, "violations": judge.violations(recorded),
    }


def exit_code(result, strict):
    kinds = {violation.kind for violation in result["violations"]}
    if kinds - {"undecided"}:
        return 1
    not_allowed = ("unexplained", "faulted", "leftover") if strict else ("unexplained",)
    if any(result["errors"].get(cause) for cause in not_allowed):
        return 3
    return 4 if kinds else 0


def print_text(result, strict):
    for key, value in result.items():
        if key in ("failures", "faults during", "violations", "meta"):
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {number}" for name, number in value.items()) or "none"
        print(f"{key}: {value}")
    shown = collections.Counter()
    for cause, op in result["failures"]:
        shown[cause] += 1
        if cause in ("unexplained", "faulted", "leftover", "beyond") and shown[cause] <= 10:
            print(f"  {cause}: {op}")
            for fault in result["faults during"](op):
                print(f"      {fault}")
    for violation in result["violations"]:
        names = " ".join(violation.names[:8])
        print(f"\nBROKEN: {violation.kind}: {judge.KINDS[violation.kind]}\n  {names}\n  {violation.text}")
        for op in violation.excerpt:
            print(f"    {op}" + (" <--" if op is violation.op else ""))
    verdicts = {0: "all promises held", 1: "PROMISES BROKEN", 3: "errors without an allowed cause",
                4: "nothing broken was found, but some names are undecided"}
    print(f"\nverdict: {verdicts[exit_code(result, strict)]}")


def as_json(result):
    plain = dict(result)
    faults_during = plain.pop("faults during")
    plain["failures"] = [{"cause": cause, "op": str(op), "during": [str(fault) for fault in faults_during(op)]}
                         for cause, op in result["failures"]]
    plain["violations"] = [violation.as_json() for violation in result["violations"]]
    return json.dumps(plain, indent=1)


def main(argv):
    parser = argparse.ArgumentParser(prog="checker.py", description="Verifies a recorded history.", allow_abbrev=False)
    parser.add_argument("history", help="a folder of *.jsonl, or one such file")
    parser.add_argument("--strict", action="store_true", help="a bad server, or what an ended operation left behind, is no excuse for an error")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    try:
        recorded = history.load(arguments.history)
    except history.Malformed as error:
        print(f"checker: {error}", file=sys.stderr)
        return 2
    result = report(recorded)
    if arguments.json:
        print(as_json(result))
    else:
        print_text(result, arguments.strict)
    return exit_code(result, arguments.strict)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
