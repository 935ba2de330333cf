# SPDX-License-Identifier: LGPL-3.0-or-later
"""The power fails for all data servers at once, in the middle of uploads, replacements and removals: what clients were told
is there, and nothing is half there (promises P1 and P2, sync = commit).

A power cut is what the block devices of the servers hold at one instant: while all servers are stopped their disks' images are
copied, and what a server had not brought to its disk yet is not in them. `./dev test` looks at a few instants; XEC_TEST_LONG=1
at 50.
"""
# seconds: 1800
import http.client
import os
import random
import shutil
import threading
import time

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
INSTANTS = 50 if LONG else 3
WRITERS = 6
NAMES_EACH = 5
SIZES = (0, 500, 27_000, 262_144, 700_001)
DISK_MIB = 64
COPIES_MAX = 20  # until two in a row are the same: file systems write in the background, too
SERVE_OPTIONS = ["--superseded-grace", "1s", "--upload-grace", "1s", "--operation-limit", "2s", "--tombstone-horizon", "5s",
                 "--clean-interval", "1s"]


def content(name, version):
    line = f"{name} version {version}\n"
    size = SIZES[version % len(SIZES)]
    return (line * (size // len(line) + 1))[:size].encode() + line.encode()


class Change:
    """One change of a name: to a version, or None when it is removed."""

    def __init__(self, version):
        self.version, self.begun, self.ended, self.told = version, time.monotonic(), None, False


class Writer(threading.Thread):
    """Changes names of its own, one after the other, until it is stopped."""

    def __init__(self, number, gateway):
        super().__init__(daemon=True)
        self.random = random.Random(number)
        self.connection = http.client.HTTPConnection(xectest.HOST, gateway.http_port, timeout=xectest.CLIENT_SECONDS)
        self.changes = {f"/w{number}/{each}": [] for each in range(NAMES_EACH)}
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            name = self.random.choice(sorted(self.changes))
            history = self.changes[name]
            there = bool(history) and history[-1].version is not None
            version = None if there and self.random.random() < 0.3 else len(history) + 1
            history.append(Change(version))
            history[-1].told = self.ask(name, version)
            history[-1].ended = time.monotonic()

    def ask(self, name, version):
        """True: the gateway says that it is done. While no server answers it says what it likes."""
        try:
            if version is None:
                self.connection.request("DELETE", name)
            else:
                self.connection.request("PUT", name, content(name, version))
            answer = self.connection.getresponse()
            answer.read()
            return answer.status in (200, 201, 204)
        except (OSError, http.client.HTTPException):
            self.connection.close()  # the next request opens it again
            return False

    def may_show(self, name, before, after):
        """What the name may be after a power cut between these two moments."""
        allowed = [None]
        for change in list(self.changes[name]):
            if change.begun > after:
                break
            if change.told and change.ended < before:
                allowed = []
            allowed.append(change.version)
        return allowed


class PowerLoss(xectest.TestCase):
    def copy_images(self, cluster, number):
        """What is on the disks at one instant; answers moments before and after it, and the images."""
        copies = [self.path(f"cut{number}-{server.index}.img") for server in cluster.servers]
        before = time.monotonic()
        for server in cluster.servers:
            server.freeze()
        try:
            after = time.monotonic()
            for server, copy in zip(cluster.servers, copies):
                self.copy_stable(server.data + ".img", copy)
        finally:
            for server in cluster.servers:
                server.thaw()
        return before, after, copies

    def copy_stable(self, image, copy):
        """A copy that shows the image as it was at one moment: nothing was written between this reading and the next."""
        for _ in range(COPIES_MAX):
            shutil.copyfile(image, copy)
            if self.run_program(["cmp", "-s", image, copy], code=None).code == 0:
                return
        self.fail(f"{image} does not come to rest")

    def look_at(self, copies, number):
        """A gateway on the disks as they were."""
        places = []
        for index, copy in enumerate(copies):
            places.append(self.path(f"disk{number}-{index}"))
            os.makedirs(places[-1])
            self.run_program(["mount", "-o", "loop", copy, places[-1]])
        return places, self.serve(dirs=places, geometry="4+2", user="nobody")

    def leave(self, places, copies, gateway):
        gateway.kill()
        for place, copy in zip(places, copies):
            self.run_program(["umount", "-l", place])
            os.unlink(copy)

    def check(self, gateway, writers, before, after):
        shown = 0
        connection = http.client.HTTPConnection(xectest.HOST, gateway.port, timeout=xectest.CLIENT_SECONDS)
        for writer in writers:
            for name in writer.changes:
                allowed = writer.may_show(name, before, after)
                connection.request("GET", name)
                answer = connection.getresponse()
                got = answer.read()
                self.assertIn(answer.status, (200, 404), f"{name}: {got[:300]!r}")
                if answer.status == 404:
                    self.assertIn(None, allowed, f"{name} is gone")
                    continue
                versions = [version for version in allowed if version is not None and content(name, version) == got]
                self.assertTrue(versions, f"{name} shows {len(got)} bytes that end in {got[-40:]!r}, not one of {allowed}")
                shown += 1
        return shown

    def test_what_was_told_is_there(self):
        self.enter_mounts()
        cluster = self.cluster(servers=6, geometry="4+2", gateways=1, chunk_size="64KiB", serve_options=SERVE_OPTIONS)
        self.give_disks(cluster, DISK_MIB)
        writers = [Writer(number, cluster.gateways[0]) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        instants = random.Random(int(os.environ.get("XEC_TEST_SEED", "1")))
        shown = 0
        for number in range(INSTANTS):
            changed = sum(len(history) for writer in writers for history in writer.changes.values())
            wanted = changed + 10 + instants.randrange(60)
            self.eventually(lambda: sum(len(history) for writer in writers for history in writer.changes.values()) >= wanted,
                            120, "the clients get on")
            before, after, copies = self.copy_images(cluster, number)
            places, gateway = self.look_at(copies, number)
            shown += self.check(gateway, writers, before, after)
            self.leave(places, copies, gateway)
        for writer in writers:
            writer.over.set()
        for writer in writers:
            writer.join()
        self.assertGreater(shown, 0)
        changes = [change for writer in writers for history in writer.changes.values() for change in history]
        told = sum(change.told for change in changes)
        self.assertGreater(told, len(changes) / 2)
        print(f"test_power_loss: {INSTANTS} power cuts in {len(changes)} changes ({told} answered well), {shown} objects whole "
              "after them", flush=True)


if __name__ == "__main__":
    xectest.main()
