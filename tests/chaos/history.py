# SPDX-License-Identifier: LGPL-3.0-or-later
"""What clients of a store did and were told, and what was done to its servers, as lines of JSON.

A history is a folder of files `*.jsonl`; every process writes its own, so that a process that is killed loses nothing
but the end of its last operation. Lines, told apart by their key "t":

    meta   seed, servers, k, m and whatever else a reader of the report wants to know
    begin  an operation is about to be sent: op (unique), client, gateway, protocol, kind, name, start, and by kind:
           to (rename), content and size (puts), offset and length (range)
    end    its answer: op, end, outcome, and by kind: content (reads), size (stat), listed (list), text (errors)
    fault  something was done: fault (unique), kind, target ("server.3", "gateway.1"), start
    healed the same thing is over: fault, end

Times are seconds of CLOCK_MONOTONIC, one clock for all processes of a machine. An operation without an end was not
answered.
"""
import glob
import json
import os
import time

PUT, CREATE, GET, RANGE, STAT, LIST, REMOVE, RENAME = (
    "put", "exclusive put", "get", "range", "stat", "list", "remove", "rename")
MUTATIONS = frozenset((PUT, CREATE, REMOVE, RENAME))

OK, NOT_FOUND, EXISTS = "ok", "not found", "exists"
CONFLICT = "conflict"  # nothing of it is or will become visible
RETRY = "retry"        # conflict, cannot tell or unknown outcome: stock XRootD 5 gives one error for all three
ERROR = "error"        # any other
WRONG = "wrong"        # answered OK with bytes that are none of a version
NO_ANSWER = "no answer"

EMPTY = -1  # the content of every object without bytes: they can't be told apart


class Op:
    """One operation. `end` is None and `outcome` NO_ANSWER when the client never learned what became of it."""
    __slots__ = ("id", "client", "gateway", "protocol", "kind", "name", "to", "start", "end", "outcome", "content",
                 "size", "listed", "text", "census")

    def __init__(self, begin, end=None):
        self.id, self.kind, self.name, self.start = begin["op"], begin["kind"], begin["name"], begin["start"]
        self.client, self.gateway = begin.get("client", 0), begin.get("gateway", 1)
        self.protocol = begin.get("protocol", "root")
        self.to = begin.get("to")
        self.census = begin.get("census", False)
        end = end or {}
        self.end, self.outcome = end.get("end"), end.get("outcome", NO_ANSWER)
        written = self.kind in (PUT, CREATE)
        self.content = begin.get("content") if written else end.get("content")
        self.size = begin.get("size") if written else end.get("size")
        self.listed = frozenset(end.get("listed", ()))
        self.text = end.get("text", "")

    @property
    def mutates(self):
        return self.kind in MUTATIONS

    def names(self):
        return (self.name,) if self.to is None else (self.name, self.to)

    def __str__(self):
        what = f"{self.kind} {self.name}" + (f" to {self.to}" if self.to else "")
        if self.content is not None:
            what += f" content {self.content}"
        if self.size is not None:
            what += f" size {self.size}"
        end = "..." if self.end is None else f"{self.end:.3f}"
        text = f" ({self.text})" if self.text else ""
        return (f"{self.start:.3f}-{end} {self.id} {self.protocol} gateway.{self.gateway} {what}: "
                f"{self.outcome}{text}")


class Fault:
    """What was done to one server or gateway. `end` is None when it was never undone."""
    __slots__ = ("id", "kind", "target", "start", "end", "text")

    def __init__(self, line):
        self.id, self.kind, self.target, self.start = line["fault"], line["kind"], line["target"], line["start"]
        self.end, self.text = None, line.get("text", "")

    def overlaps(self, start, end):
        return (end is None or self.start <= end) and (self.end is None or self.end >= start)

    def __str__(self):
        end = "..." if self.end is None else f"{self.end:.3f}"
        return f"{self.start:.3f}-{end} {self.kind} {self.target} {self.text}".rstrip()


class History:
    """All of it, operations and faults in the order in which they began."""

    def __init__(self, meta, ops, faults):
        self.meta = meta
        self.ops = sorted(ops, key=lambda op: op.start)
        self.faults = sorted(faults, key=lambda fault: fault.start)


class Malformed(Exception):
    """A sentence that names file and line."""


def from_lines(lines):
    """A History from dictionaries. Raises KeyError or ValueError where they make no sense."""
    meta, begins, ends, faults = {}, {}, {}, {}
    for line in lines:
        kind = line["t"]
        if kind == "meta":
            meta.update((key, value) for key, value in line.items() if key != "t")
        elif kind == "begin":
            if line["op"] in begins:
                raise ValueError(f"operation {line['op']} begins twice")
            begins[line["op"]] = line
        elif kind == "end":
            if line["op"] not in begins or line["op"] in ends:
                raise ValueError(f"operation {line['op']} ends twice or without a beginning")
            ends[line["op"]] = line
        elif kind == "fault":
            faults[line["fault"]] = Fault(line)
        elif kind == "healed":
            faults[line["fault"]].end = line["end"]
        else:
            raise ValueError(f"unknown kind of line {kind!r}")
    return History(meta, [Op(begin, ends.get(op)) for op, begin in begins.items()], list(faults.values()))


def read_lines(path):
    """The dictionaries of one file. A last line that was cut short by the death of its writer is left out."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield json.loads(line)
        except ValueError as error:
            if number == len(lines):
                return
            raise Malformed(f"{path}:{number}: {error}") from None


def load(path):
    """The history in a folder, or in one file."""
    files = sorted(glob.glob(os.path.join(path, "*.jsonl"))) if os.path.isdir(path) else [path]
    if not files:
        raise Malformed(f"{path}: no file *.jsonl")
    try:
        return from_lines(line for file in files for line in read_lines(file))
    except OSError as error:
        raise Malformed(f"{path}: {error.strerror}") from None
    except (KeyError, ValueError, TypeError) as error:
        raise Malformed(f"{path}: {error}") from None


class Recorder:
    """Appends to one file of a history. Not for several threads. Every line is handed to the kernel before the
    operation it announces is sent, so that kill -9 of the client loses no operation."""

    def __init__(self, path, prefix):
        self._file = open(path, "a", encoding="utf-8", buffering=1)
        self._prefix = prefix
        self._count = 0

    def write(self, line):
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def meta(self, **fields):
        self.write({"t": "meta", **fields})

    def begin(self, kind, name, **fields):
        self._count += 1
        op = f"{self._prefix}-{self._count}"
        self.write({"t": "begin", "op": op, "kind": kind, "name": name, **fields, "start": time.monotonic()})
        return op

    def end(self, op, outcome, **fields):
        # The moment first: what comes later must not lengthen the operation.
        self.write({"t": "end", "op": op, "end": time.monotonic(), "outcome": outcome, **fields})

    def fault(self, kind, target, text=""):
        self._count += 1
        fault = f"{self._prefix}-{self._count}"
        self.write({"t": "fault", "fault": fault, "kind": kind, "target": target, "text": text,
                    "start": time.monotonic()})
        return fault

    def healed(self, fault):
        self.write({"t": "healed", "fault": fault, "end": time.monotonic()})

    def close(self):
        self._file.close()
