# SPDX-License-Identifier: LGPL-3.0-or-later
"""Is there an order of the operations on some names that explains all answers, and in which each operation has its place
between its beginning and its end? Pure.

The names of one search are those that renames connect; linearizability is local to such groups (Herlihy and Wing). The
search is that of Wing and Gong in the just-in-time form of Lowe: it goes through beginnings and ends in time, with the set of
all *positions* that can be reached: what is at each name, and which operations have happened although their end is still to
come. At an end every position must be one where that operation has happened, or be led there by operations that have begun.

Two things keep the set small. A position from which another one differs only in having used up more operations that need
not happen at all is dropped. And those operations (their client got no answer, or "unknown") are only tried where
something that is waiting for its answer could see them: nobody ever has to wait for them, so earlier is never needed.

A rename looks at its source and later commits. What others put at the source or remove from it in between hides that the old content
is gone; the target gets that content all the same (docs/protocol/rename.md). Everybody else sees it as one step.
"""
import bisect
import contextlib
import heapq
import itertools

import history

NOTHING = 0
ANY = -2  # what a rename brought, to a search of one name alone
WRITE, CREATE, ERASE, MOVE, SEE_CONTENT, SEE_SIZE, SEE_SOMETHING, SEE_NOTHING = range(8)
FIRST_SEEING = SEE_CONTENT
TRIED_MAX = 40_000     # ways that one search tries, over all its steps
# Of a search that is not thorough:
TRIED_AT_ONCE = 20_000  # ways at one end of an operation
TRIED_ENOUGH = 500      # the same, once it has found any
BEAM = 100              # positions it goes on with


class Step:
    """What one operation means to one name (MOVE: to two). `must` is False when it may also never happen."""
    __slots__ = ("number", "kind", "name", "to", "value", "start", "end", "must", "op")

    def __init__(self, number, kind, name, op, must, value=None, to=None):
        self.number, self.kind, self.name, self.to, self.value, self.op, self.must = (
            number, kind, name, to, value, op, must)
        self.start = op.start
        self.end = op.end if must else None


class GaveUp(Exception):
    """More ways than TRIED_MAX. `stuck` is the Search that was not thorough, as a hint where to look."""

    def __init__(self, stuck=None):
        super().__init__()
        self.stuck = stuck


class Position:
    """What is at the names (a tuple of contents), which steps that must happen have happened already, which that need
    not, and what renames have looked at without having committed: pairs (step number, content)."""
    __slots__ = ("at", "done", "spent", "held")

    def __init__(self, at, done, spent, held):
        self.at, self.done, self.spent, self.held = at, done, spent, held

    def weight(self):
        """How much it supposes."""
        return 2 * len(self.spent) + len(self.held)

    def key(self):
        return self.at, self.done, self.held


class Positions:
    """A set in which nothing is kept that is another one with more spent."""

    def __init__(self):
        self._spent = {}
        self.count = 0

    def add(self, position):
        """False when it, or a better one, was there."""
        spents = self._spent.setdefault(position.key(), [])
        if any(spent <= position.spent for spent in spents):
            return False
        spents[:] = [spent for spent in spents if not position.spent <= spent]
        spents.append(position.spent)
        self.count += 1
        return True

    def likeliest(self, count):
        """Those that suppose least: fewest answers that did not come have taken effect."""
        if self.count <= count:
            return self
        few = Positions()
        for position in sorted(self, key=Position.weight)[:count]:
            few.add(position)
        return few

    def __iter__(self):
        for (at, done, held), spents in self._spent.items():
            for spent in spents:
                yield Position(at, done, spent, held)

    def __bool__(self):
        return bool(self._spent)


class Search:
    """One group of names. `size_of` maps contents to sizes. `width`: how many times the constants above a search that
    is not thorough may use; None: thorough. `curious`: it also supposes that a rename without an answer has happened, and was
    hidden since, because something is seen at its target; what, nobody says."""

    def __init__(self, names, steps, size_of, width, curious=False):
        self.slot = {name: index for index, name in enumerate(names)}
        self.steps = steps
        self.size_of = size_of
        self.pending = {}  # steps that have begun: number -> Step, without those known to have happened everywhere
        self.thorough = width is None
        self.width = width or 1
        self.curious = curious
        self._seen_until = None if self.thorough else self._last_seen(steps)
        self._sights, self._certain = {}, {}
        for step in steps:
            if step.kind in (SEE_CONTENT, SEE_SIZE, SEE_SOMETHING):
                self._sights.setdefault(step.name, []).append(step.end)
            elif step.kind < FIRST_SEEING and step.must:
                for name in filter(None, (step.name, step.to)):
                    self._certain.setdefault(name, []).append((step.start, step.end))
        for times in itertools.chain(self._sights.values(), self._certain.values()):
            times.sort()
        self._now = 0.0
        self.stuck = None  # the step that no order explains
        self.before = []   # the positions it was met in
        self._tried = 0

    @staticmethod
    def _last_seen(steps):
        """Until when each content, and each size, is seen."""
        last = {}
        for step in steps:
            if step.kind in (SEE_CONTENT, SEE_SIZE):
                key = (step.kind, step.value)
                last[key] = max(last.get(key, 0.0), step.end)
        return last

    def explains(self):
        """Raises GaveUp."""
        events = [(step.start, 0, step.number, step) for step in self.steps]
        events += [(step.end, 1, step.number, step) for step in self.steps if step.must]
        positions = Positions()
        positions.add(Position((NOTHING,) * len(self.slot), frozenset(), frozenset(), frozenset()))
        for self._now, is_end, _, step in sorted(events, key=lambda event: event[:3]):
            if is_end:
                after = self._ended(positions, step)
                if not after:
                    self.stuck, self.before = step, [position.at for position in positions]
                    return False
                positions = after if self.thorough else after.likeliest(BEAM * self.width)
                del self.pending[step.number]
            else:
                self.pending[step.number] = step
                if step.kind >= FIRST_SEEING:
                    positions = self._begun(positions, step)
        return True

    def _begun(self, positions, step):
        after = Positions()
        for position in positions:
            if self._fits(step, position.at):
                position = Position(position.at, position.done | {step.number}, position.spent, position.held)
            after.add(position)
        return after

    def _ended(self, positions, target):
        """The positions in which `target` has happened, likeliest first found: fewest steps that need not happen."""
        after, seen, queue, order = Positions(), Positions(), [], itertools.count()

        def reached(position):
            if target.number in position.done:
                after.add(Position(position.at, position.done - {target.number}, position.spent, position.held))
            elif seen.add(position):
                heapq.heappush(queue, (position.weight(), next(order), position))
        for position in positions:
            reached(position)
        near, tried = self._near(target), 0
        while queue:
            if not self.thorough and tried > self.width * (TRIED_ENOUGH if after else TRIED_AT_ONCE):
                break
            position, before = heapq.heappop(queue)[2], tried
            for step in near:
                if step.number not in position.done and step.number not in position.spent:
                    for follower in self._take(position, step):
                        tried += 1
                        reached(follower)
            self._tried += self.thorough and tried - before
            if self._tried > TRIED_MAX:
                raise GaveUp()
        return after

    def _near(self, target):
        """The mutations that have begun and whose order with `target` can matter: those that names connect with it. All
        others can as well come later. Unless thorough, those that need not happen connect nothing: what they bring along
        or make room for is taken as it is."""
        names, near = {name for name in (target.name, target.to) if name}, {}
        mutations = [step for step in self.pending.values() if step.kind < FIRST_SEEING]
        while True:
            more = [step for step in mutations if step.number not in near and (step.name in names or step.to in names)]
            if not more:
                return list(near.values())
            for step in more:
                near[step.number] = step
                if step.must or self.thorough:
                    names.update(name for name in (step.name, step.to) if name)

    def _fits(self, step, at):
        there = at[self.slot[step.name]]
        if there == ANY:
            return step.kind != SEE_NOTHING
        if step.kind == SEE_CONTENT:
            return there == step.value
        if step.kind == SEE_SIZE:
            return there != NOTHING and self.size_of.get(there) == step.value
        return (there != NOTHING) == (step.kind == SEE_SOMETHING)

    def _take(self, position, step):
        """The positions after `step`; several when it can hide renames of its name."""
        held = dict(position.held)
        if step.number in held:
            yield from self._commit(position, step, held.pop(step.number), frozenset(held.items()), None)
            return
        there = position.at[self.slot[step.name]]
        if step.kind == MOVE:
            if there != NOTHING:
                yield from self._commit(position, step, there, position.held, self.slot[step.name])
                yield from self._overwritten(position, step)
        elif step.kind != CREATE or there == NOTHING:
            value = NOTHING if step.kind == ERASE else step.value
            yield from self._changed(position, step, {self.slot[step.name]: value}, position.held)
            if step.kind != CREATE and there != NOTHING:
                yield from self._hiding(position, step, there, {self.slot[step.name]: value}, step.name)

    def _commit(self, position, step, content, held, source):
        changes = {} if source is None else {source: NOTHING}
        changes[self.slot[step.to]] = content
        yield from self._changed(position, step, changes, held)
        over = position.at[self.slot[step.to]]
        if over != NOTHING and step.to != step.name:
            yield from self._hiding(Position(position.at, position.done, position.spent, held), step, over, changes, step.to)

    def _hiding(self, position, step, content, changes, name):
        """`step` replaces `content` at `name` after a rename from there has looked and before it commits."""
        held = dict(position.held)
        for rename in self.pending.values():
            if rename.kind == MOVE and rename.name == name and rename is not step and rename.number not in held and (
                    rename.number not in position.done and rename.number not in position.spent) and (
                    rename.must or self._may_be_seen(content) or self._something_is_seen(rename.to)):
                yield from self._changed(position, step, changes, position.held | {(rename.number, content)})

    def _may_be_seen(self, content):
        if self._seen_until is None:
            return True
        keys = (SEE_CONTENT, content), (SEE_SIZE, self.size_of.get(content))
        return any(self._seen_until.get(key, 0.0) >= self._now for key in keys)

    def _something_is_seen(self, name):
        """Whether somebody sees that something is at the name before the next mutation that has surely changed it is over."""
        if not self.curious:
            return False
        sights, certain = self._sights.get(name, ()), self._certain.get(name, ())
        following = bisect.bisect_left(certain, (self._now, 0.0))
        until = certain[following][1] if following < len(certain) else float("inf")
        seen = bisect.bisect_left(sights, self._now)
        return seen < len(sights) and sights[seen] <= until

    def _changed(self, position, step, changes, held):
        at = list(position.at)
        for slot, value in changes.items():
            at[slot] = value
        at = tuple(at)
        happened = {step.number} if step.must else set()
        for other in self.pending.values():
            if other.kind >= FIRST_SEEING and other.number not in position.done and self._fits(other, at):
                happened.add(other.number)
        if not step.must and not happened and not self._matters(position, step, changes, held):
            return
        spent = position.spent if step.must else position.spent | {step.number}
        yield Position(at, position.done | happened, spent, held)

    def _matters(self, position, step, changes, held):
        """Whether a mutation that has begun could need that `step`, which need not happen, has happened."""
        if held != position.held:
            return True
        for other in self.pending.values():
            if other is step or other.number in position.done or other.number in position.spent:
                continue
            changed = changes.get(self.slot[other.name])
            if other.kind == MOVE and changed not in (None, NOTHING) and (other.must or self._may_be_seen(changed)):
                return True
            if other.kind == CREATE and changed == NOTHING:
                return True
        return False

    def _overwritten(self, position, step):
        """A rename without an answer whose source is seen gone, while its target has been replaced since it began: nobody
        saw the target before that, so the rename may have been earlier than its place in this search. (Also taken
        when it can't have been in time: to say nothing is better here than to accuse falsely.)"""
        if step.must:
            return
        for other in self.steps:
            if other is not step and other.kind < FIRST_SEEING and step.to in (other.name, other.to) and (
                    other.start <= self._now and (other.end is None or other.end >= step.start)):
                yield from self._changed(position, step, {self.slot[step.name]: NOTHING}, position.held)
                return


def alone(name, steps):
    """What the steps mean to one name when nothing is known of the others: less than they say, so what this can't explain is
    wrong."""
    found = []
    for step in steps:
        kind, value, must = step.kind, step.value, step.must
        if step.kind == MOVE and step.to == name:
            kind, value = WRITE, ANY
        elif step.name != name:
            continue
        elif step.kind == MOVE:
            kind, must = ERASE, False  # may be hidden
        found.append(Step(len(found), kind, name, step.op, must, value))
    return found


def explain(names, steps, size_of):
    """None when there is an order, else the Search that got stuck. Raises GaveUp.

    The first tries follow only the likeliest positions; what they find is an order all the same. Only if they find none, others
    try all: first for each name alone, which is quicker and enough to prove most wrong answers."""
    for width, curious in ((1, False), (1, True), (8, False), (8, True)):
        quick = Search(names, steps, size_of, width, curious)
        if quick.explains():
            return None
    for name in names if len(names) > 1 else ():
        search = Search([name], alone(name, steps), size_of, None)
        with contextlib.suppress(GaveUp):
            if not search.explains():
                return search
    thorough = Search(names, steps, size_of, None)
    try:
        return None if thorough.explains() else thorough
    except GaveUp:
        raise GaveUp(quick) from None
