# SPDX-License-Identifier: LGPL-3.0-or-later
"""When which fault begins and ends. Seeded: the same seed makes the same choices in the same order, though not at the same
moments of what clients do."""
import time

import faults

# How long a fault lasts: so that 15 minutes have twenty of each kind.
SECONDS = {"stop": (2, 8), "slow": (2, 6.5), "stale": (0, 3)}
OTHER_SECONDS = (1.5, 6.5)
PAUSE = (0.0, 0.2)           # between the end of one and the next, for each of the m places
SETTLE_SECONDS = 4.0         # gateways use a server that is back within seconds, not at once; as in checker.py
GATEWAY_PAUSE = (15.0, 40.0)
CLIENT_PAUSE = (5.0, 15.0)
COPY_AT, STALE_AT = 0.3, 0.6  # share of the time at which a copy of one disk is made, and may be put in its place
STALE_PAUSE = (6.0, 20.0)     # then again and again


class Plan:
    """Runs faults of `kinds` on at most `m` servers at a time until `until`, gateways and clients besides."""

    def __init__(self, cluster, recorder, kinds, m, seed, start, until, client_processes):
        self.cluster, self.recorder, self.kinds, self.m = cluster, recorder, kinds, m
        self.random = faults.generator(seed)
        self.start, self.until, self.client_processes = start, until, client_processes
        self.running = []    # (end, fault, its number in the history)
        self.settling = {}    # server -> until when it counts as bad although it is back
        self.forever = set()  # servers that have lost something for good
        self.counts = dict.fromkeys((kind.kind for kind in kinds), 0)
        self.next_server = start + 2.0
        self.next_gateway = start + self.random.uniform(*GATEWAY_PAUSE)
        self.next_client = start + self.random.uniform(*CLIENT_PAUSE)
        self.copied, self.next_stale = None, start + STALE_AT * (until - start)

    def run(self, over):
        """In the calling thread, until the time is over or `over` (an Event) is set. Then everything is healed."""
        while time.monotonic() < self.until and not over.is_set():
            now = time.monotonic()
            for ending in [entry for entry in self.running if entry[0] <= now]:
                self._end(ending)
            if self.kinds:
                self._begin_what_is_due(now)
            over.wait(0.05)
        self.heal()

    def heal(self):
        for ending in list(self.running):
            self._end(ending)

    def _begin_what_is_due(self, now):
        if now >= self.next_server and self._bad() < self.m:
            self._on_server(now)
            self.next_server = now + self.random.uniform(*PAUSE)
        if now >= self.next_stale and self.copied in self.forever and self.copied not in self._running_on():
            self._again_stale(now)
        if now >= self.next_gateway:
            gateway = self.random.choice(self.cluster.gateways)
            self._begin(faults.GatewayKill(self.cluster, gateway), now)
            self.next_gateway = now + self.random.uniform(*GATEWAY_PAUSE)
        if now >= self.next_client:
            number = self.random.randrange(len(self.client_processes))
            self._begin(faults.ClientKill(number, self.client_processes[number]), now)
            self.next_client = now + self.random.uniform(*CLIENT_PAUSE)
        self._copy(now)

    def _copy(self, now):
        if faults.Stale in self.kinds and self.copied is None and now >= self.start + COPY_AT * (self.until - self.start):
            # A copy made while files change is what a backup of a running server is.
            self.copied = self.random.choice([server for server in self.cluster.servers if server not in self._bad_servers()])
            faults.Stale.copy(self.copied)

    def _again_stale(self, now):
        self.counts[faults.Stale.kind] += 1
        self._begin(faults.Stale(self.cluster, self.copied, self.random), now)
        self.next_stale = time.monotonic() + self.random.uniform(*STALE_PAUSE)

    def _running_on(self):
        return {fault.server for _, fault, _ in self.running if isinstance(fault, faults.Fault)}

    def _bad_servers(self):
        settling = {server for server, until in self.settling.items() if until > time.monotonic()}
        return settling | self.forever | self._running_on()

    def _bad(self):
        return len(self._bad_servers())

    def _on_server(self, now):
        good = [server for server in self.cluster.servers if server not in self._bad_servers()]
        kinds = [kind for kind in self.kinds if not kind.forever]
        if now >= self.next_stale and self.copied in good and faults.Stale in self.kinds and not self.forever:
            kind, server = faults.Stale, self.copied
            self.next_stale = now + self.random.uniform(*STALE_PAUSE)
        elif kinds:
            rarest = min(self.counts[kind.kind] for kind in kinds)
            kind = self.random.choice([kind for kind in kinds if self.counts[kind.kind] <= rarest + 1])
            server = self.random.choice(good)
        else:
            return
        self.counts[kind.kind] += 1
        self._begin(kind(self.cluster, server, self.random), now)

    def _begin(self, fault, now):
        number = self.recorder.fault(fault.kind, fault.target)
        fault.begin()
        length = self.random.uniform(*SECONDS.get(fault.kind, OTHER_SECONDS))
        if isinstance(fault, faults.GatewayKill):
            length = self.random.uniform(0, 2)
        if getattr(fault, "forever", False):
            self.forever.add(fault.server)
        self.running.append((now + length, fault, number))

    def _end(self, entry):
        _, fault, number = entry
        self.running.remove(entry)
        fault.end()
        if isinstance(fault, faults.Fault):
            self.settling[fault.server] = time.monotonic() + SETTLE_SECONDS
        if not getattr(fault, "forever", False):
            self.recorder.healed(number)
