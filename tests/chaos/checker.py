#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Verifies a recorded history: no wrong byte, nothing lost, nothing resurrected, every name linearizable, and every
error that a client saw had a cause.

    python3 tests/chaos/checker.py HISTORY [--json]

HISTORY is a folder of *.jsonl or one such file. Exit code 0: all is well; 1: a promise was broken; 2: wrong use or an
unreadable history; 3: errors without an allowed cause, too many conflicts, stalls, or redundancy that did not come back; 4: nothing
broken was found, but the search gave up on some names.
"""
import argparse
import bisect
import collections
import json
import sys

import history
import judge

# Why a client may have seen an error, best excuse first. Bad servers are none, as long as the geometry can lose them.
CAUSES = {
    "client": "it was killed itself",
    "gateway": "its gateway was killed meanwhile",
    "conflict": "another mutation of the same name was under way or never answered",
    "beyond": "more servers were bad than the geometry can lose",
    "unexplained": "no cause in the history",
}
CONFLICTS_MAX = 0.05  # of the operations
# What a full run has to show at least; shorter ones only say what they lack.
FULL_OPERATIONS, FULL_MUTATIONS, FULL_CONTENDED, FULL_TIME, FULL_BYTES, FULL_FAULTS = 20_000, 0.4, 2_000, 0.8, 256 << 20, 20
FULL_KINDS = ("kill", "stop", "slow", "empty", "stale", "full", "read-only", "flip", "gateway killed")
# Longer than any operation takes while at most m servers are bad. Also of one whose gateway was killed in the end: nothing
# else may have been wrong with a gateway that hung.
STALL_SECONDS = 40.0
SETTLE_SECONDS = 4.0  # So long after a fault is healed connections may still break and servers be given up as bad.


class Errors:
    """Finds the cause of errors."""

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

    def rivals(self, op):
        """Mutations of its names that overlap with it; those whose outcome nobody knows may last."""
        end = float("inf") if op.end is None else op.end
        for other in (other for name in op.names() for other in self.mutations[name]):
            lasts = other.end is None or judge.may_have_happened(other)
            if other is not op and other.start <= end and (lasts or other.end >= op.start):
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
        return "beyond" if self.bad_servers(begin, end) > self.m else "unexplained"


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


def stalls(recorded):
    """Operations that took too long, however they ended."""
    return [op for op in recorded.ops if not op.census and op.end is not None and op.end - op.start > STALL_SECONDS]


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
        "errors": dict(causes), "failures": failures, "stalls": stalls(recorded), "faults during": errors.faults_during, "violations": judge.violations(recorded),
    }


def shortcomings(result):
    """What is no broken promise of a single operation, and still not good, in sentences."""
    found, errors = [], result["errors"]
    if errors.get("unexplained"):
        found.append(f"{errors['unexplained']} errors have no allowed cause")
    if result["stalls"]:
        found.append(f"{len(result['stalls'])} operations took longer than {STALL_SECONDS:.0f} s")
    conflicts = errors.get("conflict", 0)
    if conflicts > CONFLICTS_MAX * result["operations"]:
        found.append(f"{conflicts} of {result['operations']} operations were conflicts; at most {CONFLICTS_MAX:.0%} are allowed")
    left = result["meta"].get("redundancy")
    if left and (left.get("problem") or left.get("thin") or left.get("away") or left.get("lost")):
        found.append(f"redundancy did not come back by itself: {left}")
    verify = result["meta"].get("verify", {})
    if any(value for key, value in verify.items() if key != "chunks"):
        found.append(f"bad chunks at the end: {verify}")
    return found


def short_of_full(result):
    """Where a run is shorter than one that counts as full, in sentences."""
    short = [f"{what} {number} of {wanted}" for what, number, wanted in (
        ("operations", result["operations"], FULL_OPERATIONS),
        ("mutations", result["mutations"], int(FULL_MUTATIONS * result["operations"])),
        ("contended", result["contended"], FULL_CONTENDED),
        ("largest", result["largest"], FULL_BYTES),
        ("share of time with a bad server", result["share of time with a bad server"], FULL_TIME),
        *((kind, result["faults"].get(kind, 0), FULL_FAULTS) for kind in FULL_KINDS)) if number < wanted]
    return short


def exit_code(result):
    kinds = {violation.kind for violation in result["violations"]}
    if kinds - {"undecided"}:
        return 1
    if shortcomings(result):
        return 3
    return 4 if kinds else 0


def print_text(result):
    for key, value in result.items():
        if key in ("failures", "stalls", "faults during", "violations", "meta"):
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {number}" for name, number in value.items()) or "none"
        print(f"{key}: {value}")
    shown = collections.Counter()
    for cause, op in result["failures"]:
        shown[cause] += 1
        if cause in ("unexplained", "beyond") and shown[cause] <= 10:
            print(f"  {cause}: {op}")
            for fault in result["faults during"](op):
                print(f"      {fault}")
    for op in result["stalls"][:10]:
        print(f"  too long: {op}")
    for violation in result["violations"]:
        names = " ".join(violation.names[:8])
        print(f"\nBROKEN: {violation.kind}: {judge.KINDS[violation.kind]}\n  {names}\n  {violation.text}")
        for op in violation.excerpt:
            print(f"    {op}" + (" <--" if op is violation.op else ""))
    short = short_of_full(result)
    print(f"short of a full run: {', '.join(short) or 'nowhere'}")
    for sentence in shortcomings(result):
        print(f"\nNOT GOOD: {sentence}")
    verdicts = {0: "all promises held", 1: "PROMISES BROKEN", 3: "no promise of an operation was broken, but not all is good",
                4: "nothing broken was found, but some names are undecided"}
    print(f"\nverdict: {verdicts[exit_code(result)]}")


def as_json(result):
    plain = dict(result)
    faults_during = plain.pop("faults during")
    plain["failures"] = [{"cause": cause, "op": str(op), "during": [str(fault) for fault in faults_during(op)]}
                         for cause, op in result["failures"]]
    plain["stalls"] = [str(op) for op in result["stalls"]]
    plain["violations"] = [violation.as_json() for violation in result["violations"]]
    return json.dumps(plain, indent=1)


def main(argv):
    parser = argparse.ArgumentParser(prog="checker.py", description="Verifies a recorded history.", allow_abbrev=False)
    parser.add_argument("history", help="a folder of *.jsonl, or one such file")
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
        print_text(result)
    return exit_code(result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
