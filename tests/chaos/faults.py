# SPDX-License-Identifier: LGPL-3.0-or-later
"""What chaos does to servers, gateways and clients, and how it is undone. Each fault is an object with begin() and end();
the plan (plan.py) decides when, so that never more servers are bad than the geometry can lose.

`cluster` is a running xrootd_cluster.Cluster. All calls come from one thread.
"""
import os
import random
import shutil
import subprocess
import threading
import time

BALLAST = "ballast"
READY_SECONDS = 60.0
REMOUNT_SECONDS = 10.0


def start_server(cluster, server):
    """Without waiting until the redirector sees it: gateways have addresses of their own."""
    cluster.start_nodes([server], time.monotonic() + READY_SECONDS)


class Fault:
    """On one data server."""
    kind = ""
    forever = False  # what it destroys does not come back by itself: no more than m such servers in a run

    def __init__(self, cluster, server, generator):
        self.cluster, self.server, self.random = cluster, server, generator

    @property
    def target(self):
        return self.server.name

    def begin(self):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError


class Kill(Fault):
    """The machine dies and comes back with its disk."""
    kind = "kill"

    def begin(self):
        self.server.kill()

    def end(self):
        start_server(self.cluster, self.server)


class Stop(Fault):
    """It hangs: the kernel takes connections, nobody answers."""
    kind = "stop"

    def begin(self):
        self.server.freeze()

    def end(self):
        self.server.thaw()


class Slow(Fault):
    """It runs for one part in a hundred of the time."""
    kind = "slow"
    CYCLE = 0.5

    def begin(self):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._cycle, daemon=True)
        self._thread.start()

    def _cycle(self):
        while not self._over.wait(self.CYCLE * 0.01):
            self.server.freeze()
            self._over.wait(self.CYCLE * 0.99)
            self.server.thaw()

    def end(self):
        self._over.set()
        self._thread.join()
        self.server.thaw()


class Empty(Fault):
    """It comes back with an empty disk, and later with its own again."""
    kind = "empty"

    def begin(self):
        self.server.kill()
        os.rename(self.server.data, self.server.data + ".aside")
        self.cluster.user.give(self.server.data)
        start_server(self.cluster, self.server)

    def end(self):
        self.server.kill()
        shutil.rmtree(self.server.data)
        os.rename(self.server.data + ".aside", self.server.data)
        start_server(self.cluster, self.server)


class Stale(Fault):
    """It comes back with a copy of its disk that was made earlier; what it got since is gone for good. The next time it may go
    back to the same copy, or to one of now."""
    kind = "stale"
    forever = True

    @staticmethod
    def copy(server):
        copy = server.data + ".copy"
        shutil.rmtree(copy, ignore_errors=True)
        # Of a running server: a file that goes while it is copied is not in the copy.
        subprocess.run(["cp", "-a", server.data, copy], stderr=subprocess.DEVNULL, check=False)

    def begin(self):
        self.server.kill()
        shutil.rmtree(self.server.data)
        subprocess.run(["cp", "-a", self.server.data + ".copy", self.server.data], check=True)
        start_server(self.cluster, self.server)

    def end(self):
        """Nothing can be undone."""
        if self.random.random() < 0.5:
            self.copy(self.server)


class Full(Fault):
    """Its disk has no byte left."""
    kind = "full"

    def _ballast(self):
        return os.path.join(os.path.dirname(self.server.data), BALLAST)

    def begin(self):
        with open(self._ballast(), "wb", buffering=0) as file:
            for step in (1 << 26, 1 << 20, 1 << 12):
                size = os.fstat(file.fileno()).st_size
                try:
                    while True:
                        os.posix_fallocate(file.fileno(), size, step)
                        size += step
                except OSError:
                    pass

    def end(self):
        os.unlink(self._ballast())


class ReadOnly(Fault):
    """It comes back with its disk mounted read-only, and later as it was."""
    kind = "read-only"

    def _remount(self, how):
        self.server.kill()
        command = ["mount", "-o", f"remount,{how}", os.path.dirname(self.server.data)]
        # Its files may be open for a moment after a killed process is gone: "busy".
        give_up = time.monotonic() + REMOUNT_SECONDS
        while subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if time.monotonic() > give_up:
                subprocess.run(command, check=True)
            time.sleep(0.05)
        start_server(self.cluster, self.server)

    def begin(self):
        self._remount("ro")

    def end(self):
        self._remount("rw")


class Flip(Fault):
    """Bytes of its archives change, or their ends are missing, and later all is as it was: also if the archive was renamed
    meanwhile."""
    kind = "flip"
    ARCHIVES, BYTES, CUT_SHARE = 60, 3, 0.25

    def begin(self):
        self._flipped = []
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.server.data) for name in names
                 if name.startswith(("p.", "s.", "e."))]
        for path in self.random.sample(sorted(paths), min(self.ARCHIVES, len(paths))):
            try:
                file = open(path, "r+b", buffering=0)
            except OSError:
                continue  # superseded meanwhile
            cut = os.path.basename(path).startswith("p.") and self.random.random() < self.CUT_SHARE
            self._flipped.append((file, self._cut(file) if cut else self._flip(file)))

    def _cut(self, file):
        """Of archives that nobody writes any more."""
        size = os.fstat(file.fileno()).st_size
        at = self.random.randrange(size) if size else 0
        end = os.pread(file.fileno(), size - at, at)
        os.truncate(file.fileno(), at)
        return [(at, end)]

    def _flip(self, file):
        size, old = os.fstat(file.fileno()).st_size, []
        for offset in {self.random.randrange(size) for _ in range(self.BYTES)} if size else ():
            byte = os.pread(file.fileno(), 1, offset)
            if byte:
                old.append((offset, byte))
                os.pwrite(file.fileno(), bytes([byte[0] ^ self.random.randrange(1, 256)]), offset)
        return old

    def end(self):
        for file, old in self._flipped:
            for offset, byte in old:
                os.pwrite(file.fileno(), byte, offset)
            file.close()


class GatewayKill:
    """kill -9 of a gateway, which is started again at once."""
    kind = "gateway killed"

    def __init__(self, cluster, gateway):
        self.cluster, self.gateway, self.target = cluster, gateway, gateway.name

    def begin(self):
        self.gateway.kill()

    def end(self):
        self.cluster.start_gateway(self.gateway, time.monotonic() + READY_SECONDS)


class ClientKill:
    """kill -9 of a client, which is started again at once by whoever watches it."""
    kind = "client killed"

    def __init__(self, number, process):
        self.target, self.process = f"client.{number}", process

    def begin(self):
        self.process.kill()

    def end(self):
        """Others start it."""


KINDS = {fault.kind: fault for fault in (Kill, Stop, Slow, Empty, Stale, Full, ReadOnly, Flip)}
NEED_DISKS = (Full, ReadOnly)  # a file system for each server
SETS = {"none": (), "kill": (Kill,), "all": tuple(KINDS.values())}


def choose(text):
    """The kinds of `none`, `kill`, `all`, or a list of kinds with commas. KeyError: no such kind."""
    return SETS[text] if text in SETS else tuple(KINDS[kind] for kind in text.split(","))


def generator(seed):
    return random.Random(f"{seed} faults")
