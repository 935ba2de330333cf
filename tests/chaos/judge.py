# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a history says of the promises: bytes and names. Pure; checker.py is the program.

A store that is wrong does so in few ways, and each has a name here (KINDS); the name says what an operation showed
that no order of the operations explains, not why.
"""
import collections
import os

import history
import linearize
from history import CREATE, GET, LIST, PUT, RANGE, REMOVE, RENAME, STAT

KINDS = {
    "wrong bytes": "an answer had bytes that are no version of the object",
    "from nowhere": "a content was read that nobody ever put there",
    "resurrected": "something was there that had been removed or renamed away",
    "stale": "an older version was read after a newer one was acknowledged or read",
    "two names": "what was renamed is still at its old name",
    "lost": "an acknowledged object is not there, then or later",
    "false not found": "an object was said not to exist, and is there later",
    "two winners": "two exclusive creations of one name succeeded without a removal in between",
    "overwritten": "an exclusive creation succeeded over an existing object",
    "renamed nothing": "a rename succeeded where nothing was",
    "wrong size": "stat told a size that fits no version that can be there",
    "false exists": "something was said to exist where nothing can be",
    "unreadable": "at the end, with everything healed, an object could not be read",
    "undecided": "the search for an order gave up; nothing is known of these names",
}
EXCERPT = 14


class Violation:
    def __init__(self, kind, names, op, text, excerpt):
        self.kind, self.names, self.op, self.text, self.excerpt = kind, names, op, text, excerpt

    def as_json(self):
        return {"kind": self.kind, "names": self.names, "op": self.op.id if self.op else None, "text": self.text,
                "excerpt": [str(op) for op in self.excerpt]}


def maybe_sent_twice(op, gateway_faults):
    """XrdCl sends requests again, silently, when its connection breaks: the second answer of a removal that was done is
    "not found". So where the gateway died meanwhile such an answer means nothing."""
    told = (op.kind in (REMOVE, RENAME) and op.outcome == history.NOT_FOUND) or (
        op.kind in (PUT, CREATE) and op.outcome == history.EXISTS)
    return told and op.protocol == "root" and any(
        fault.overlaps(op.start, op.end) for fault in gateway_faults[f"gateway.{op.gateway}"])


def faults_of(recorded, prefix):
    found = collections.defaultdict(list)
    for fault in recorded.faults:
        if fault.target.startswith(prefix):
            found[fault.target].append(fault)
    return found


def may_have_happened(op):
    """Whether the client can't know that a mutation had no effect."""
    return op.outcome in (history.RETRY, history.ERROR, history.NO_ANSWER, history.WRONG)


def seen(op):
    """What an answer shows of one name, as (kind of step, value), or None."""
    if op.outcome == history.OK:
        if op.kind in (GET, RANGE):
            # A range beyond the end of an object that has become shorter shows nothing.
            return None if op.content is None else (linearize.SEE_CONTENT, op.content)
        if op.kind == STAT:
            return linearize.SEE_SIZE, op.size
    elif op.outcome == history.NOT_FOUND and op.kind not in (PUT, CREATE, LIST):
        return linearize.SEE_NOTHING, None
    elif op.outcome == history.EXISTS and op.kind == CREATE:
        return linearize.SEE_SOMETHING, None
    return None


def mutation(op):
    """The kind of step and its value."""
    if op.kind in (PUT, CREATE):
        content = op.content if op.size else history.EMPTY
        return (linearize.WRITE if op.kind == PUT else linearize.CREATE), content
    return (linearize.ERASE if op.kind == REMOVE else linearize.MOVE), None


class Names:
    """The names of a history in groups connected by renames, and what the operations mean to them."""

    def __init__(self, recorded):
        self.gateway_faults = faults_of(recorded, "gateway.")
        self._parent = {}
        self.by_folder = collections.defaultdict(set)
        for op in recorded.ops:
            for name in op.names() if op.kind != LIST else ():
                self.by_folder[os.path.dirname(name)].add(name)
                self._parent.setdefault(name, name)
            if op.kind == RENAME and (op.outcome == history.OK or may_have_happened(op) or
                                      maybe_sent_twice(op, self.gateway_faults)):
                self._parent[self._root(op.name)] = self._root(op.to)
        self.steps = collections.defaultdict(list)
        for op in recorded.ops:
            self._add(op)

    def _root(self, name):
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def groups(self):
        members = collections.defaultdict(list)
        for name in self._parent:
            members[self._root(name)].append(name)
        return [(sorted(names), self.steps[root]) for root, names in sorted(members.items())]

    def _step(self, kind, name, op, must=True, value=None, to=None):
        steps = self.steps[self._root(name)]
        steps.append(linearize.Step(len(steps), kind, name, op, must, value, to))

    def _add(self, op):
        if op.kind == LIST:
            for name in self.by_folder[op.name] if op.outcome == history.OK else ():
                listed = os.path.basename(name) in op.listed
                self._step(linearize.SEE_SOMETHING if listed else linearize.SEE_NOTHING, name, op)
            return
        open_end = op.mutates and (may_have_happened(op) or maybe_sent_twice(op, self.gateway_faults))
        if op.mutates and (open_end or op.outcome == history.OK):
            kind, value = mutation(op)
            self._step(kind, op.name, op, not open_end, value, op.to)
        elif seen(op):
            self._step(seen(op)[0], op.name, op, value=seen(op)[1])


def sizes(recorded):
    known = {history.EMPTY: 0}
    for op in recorded.ops:
        if op.kind in (PUT, CREATE) and op.size:
            known[op.content] = op.size
    return known


def wrong_bytes(recorded, size_of):
    """What can be judged of each read alone."""
    for op in recorded.ops:
        text = ""
        if op.outcome == history.WRONG:
            text = op.text
        elif op.outcome != history.OK or op.content is None:
            continue
        elif op.kind in (GET, RANGE) and op.content not in size_of:
            text = f"content {op.content} was never put anywhere"
        elif op.kind == GET and op.size != size_of[op.content]:
            text = f"content {op.content} has {size_of[op.content]} bytes, {op.size} came"
        if text:
            yield Violation("wrong bytes", [op.name], op, text, [op])


class Diagnosis:
    """Gives what a search got stuck at one of KINDS."""

    def __init__(self, search):
        self.search, self.step, self.op = search, search.stuck, search.stuck.op
        slot = search.slot[self.step.name]
        self.there = {at[slot] for at in search.before}
        self.elsewhere = {at[index] for at in search.before for index in range(len(at)) if index != slot}
        self.written = {step.value for step in search.steps if step.kind in (linearize.WRITE, linearize.CREATE)}

    def kind(self):
        kind, nothing = self.step.kind, self.there <= {linearize.NOTHING}
        if kind == linearize.SEE_CONTENT:
            return self._of_read(nothing)
        if kind == linearize.SEE_SIZE:
            return "resurrected" if nothing and self._was_there() else "wrong size"
        if kind == linearize.SEE_SOMETHING:
            return "resurrected" if self._was_there() else "false exists"
        if kind == linearize.SEE_NOTHING:
            return "false not found" if self._is_there_later() else "lost"
        if kind == linearize.CREATE:
            creators = {step.value for step in self.search.steps if step.kind == linearize.CREATE and step is not self.step}
            return "two winners" if self.there & creators else "overwritten"
        return "renamed nothing"

    def _of_read(self, nothing):
        content = self.step.value
        if content not in self.written:
            return "from nowhere"
        if content in self.elsewhere and self._renamed_away():
            return "two names"
        if nothing:
            return "resurrected"
        return "stale"

    def _renamed_away(self):
        return any(step.kind == linearize.MOVE and step.name == self.step.name and step.start < self.step.end
                   for step in self.search.steps)

    def _was_there(self):
        return any(step.kind in (linearize.WRITE, linearize.CREATE, linearize.MOVE) and step.start < self.step.end and
                   self.step.name in (step.to or step.name,) for step in self.search.steps)

    def _is_there_later(self):
        """Somebody sees the object afterwards although nobody wrote there in between."""
        steps = [step for step in self.search.steps if self.step.name in (step.name, step.to)]
        sights = [step.start for step in steps if step.start > self.step.end and linearize.FIRST_SEEING <= step.kind <
                  linearize.SEE_NOTHING and (step.kind != linearize.SEE_CONTENT or step.value in self.there)]
        return bool(sights) and not any(step.kind in (linearize.WRITE, linearize.CREATE, linearize.MOVE) and
                                        self.step.start < step.start < min(sights) for step in steps)

    def violation(self):
        # The answers of who began after the stuck step was over explain nothing.
        about = [step.op for step in self.search.steps
                 if self.step.name in (step.name, step.to) and step.start <= self.step.end]
        can_be = ", ".join("nothing" if content == linearize.NOTHING else "an empty object" if content == history.EMPTY
                           else f"content {content}" for content in sorted(self.there)[:6])
        name = self.step.name
        text = f"{self.op.kind} {self.op.id} cannot be explained: at {name} there can be {can_be} (of {len(self.there)})"
        ordered = list(dict.fromkeys(sorted(about, key=lambda op: op.start)))
        return Violation(self.kind(), sorted(self.search.slot), self.op, text, ordered[-EXCERPT:])


def violations(recorded):
    """All wrong reads; the first broken answer of every group of names; what is unreadable at the end."""
    size_of = sizes(recorded)
    found = list(wrong_bytes(recorded, size_of))
    bad = {violation.op.id for violation in found}
    for op in recorded.ops:
        if op.census and op.outcome not in (history.OK, history.NOT_FOUND, history.WRONG):
            found.append(Violation("unreadable", [op.name], op, f"at the end: {op.outcome} {op.text}", [op]))
    for names, steps in Names(recorded).groups():
        steps = [step for step in steps if step.op.id not in bad]
        for number, step in enumerate(steps):
            step.number = number
        try:
            stuck = linearize.explain(names, steps, size_of)
        except linearize.GaveUp as gave_up:
            hint = Diagnosis(gave_up.stuck).violation()
            text = f"of {len(steps)} operations; perhaps {hint.kind}: {hint.text}"
            found.append(Violation("undecided", names, hint.op, text, hint.excerpt))
            continue
        if stuck:
            found.append(Diagnosis(stuck).violation())
    return found
