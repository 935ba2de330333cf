# SPDX-License-Identifier: LGPL-3.0-or-later
"""`xec balance` on stock data servers is killed at any moment, again and again, while a client reads all along.

Every kill is one at a random moment of the work (XEC_TEST_SEED takes others); XEC_TEST_LONG=1 adds servers to larger disks, and
kills more often.
"""
# seconds: 600
import contextlib
import json
import os
import random
import time

import many_objects
import members
import xectest

KIB, MIB = 1 << 10, 1 << 20
LONG = os.environ.get("XEC_TEST_LONG") == "1"
KILLS = 20 if LONG else 3
SIZES = [40, 72] * 6 if LONG else [32] * 4 + [48] * 4  # MiB of each disk
ADDED = [56, 40, 72, 56] if LONG else []
ALL = SIZES + ADDED
OBJECT = 500 * KIB
FULL = 0.7      # of all disks together, before servers are added
WITHIN = 0.05
MOST_OFF = 0.005  # of a disk: an archive, and what lies beside archives
SECONDS = 300
READ = 20       # objects that are read all along
WITNESS = KIB   # bytes, at most: what an upload gives a home without room


class BalanceKilled(many_objects.ObjectsTest):
    def setUp(self):
        super().setUp()
        self.enter_mounts()
        self.moments = random.Random(int(os.environ.get("XEC_TEST_SEED", "1")))

    def start(self):
        """Stock data servers, each on a disk of its own; a gateway on all but the added ones makes the store."""
        self.up = self.cluster(servers=len(ALL), redirector=False)
        for server, mebibytes in zip(self.up.servers, ALL):
            server.kill()
            owner = os.stat(server.data)
            options = f"size={mebibytes}m,mode=755,uid={owner.st_uid},gid={owner.st_gid}"
            self.run_program(["mount", "-t", "tmpfs", "-o", options, "none", server.data])
            self.addCleanup(self.run_program, ["umount", "-l", server.data])
        deadline = time.monotonic() + xectest.READY_SECONDS
        self.up.start_nodes(self.up.servers, deadline)
        self.up.store_options = ["--geometry", "4+2", "--chunk-size", "64KiB"]
        gateway = members.Gateway(self.up, 1, [server.url for server in self.up.servers[:len(SIZES)]])
        self.addCleanup(gateway.kill)
        self.up.start_gateway(gateway, deadline)
        self.options = gateway.options()
        return gateway

    def words(self, command, *arguments):
        return [self.program("xec"), command, *self.options, *arguments]

    def xec(self, command, *arguments, **more):
        return self.run_program(self.words(command, *arguments), **{"seconds": SECONDS, **more})

    def fills(self):
        """The part of each disk that is used."""
        told = [os.statvfs(server.data) for server in self.up.servers]
        return [(now.f_blocks - now.f_bavail) / now.f_blocks for now in told]

    def mean(self):
        """Of all disks together."""
        return sum(part * size for part, size in zip(self.fills(), ALL)) / sum(ALL)

    def fill(self):
        """Puts objects until so much of the disks is used; answers name -> file."""
        os.makedirs(self.path("in"))
        self.xec("mkdir", "/data")
        objects = {}
        full = FULL * sum(SIZES) / sum(ALL)
        while self.mean() < full:
            files = [self.random_file(f"in/{number:04d}", OBJECT, number) for number in range(len(objects), len(objects) + 10)]
            self.xec("put", "-q", *files, "/data/")
            objects.update((f"/data/{os.path.basename(file)}", file) for file in files)
        return objects

    def standing(self):
        """Paths of all archives of objects; some may go meanwhile."""
        found = set()
        for server in self.up.servers:
            for path in (os.path.join(server.data, path) for path in self.files_below(server.data) if path.startswith("data/")):
                with contextlib.suppress(FileNotFoundError):
                    if "/p." in path and os.path.getsize(path) > WITNESS:
                        found.add(path)
        return found

    def kill_at_work(self):
        """Begins to balance, and kills that soon after some archives have been written, or none. Was it at work?"""
        before, some = self.standing(), self.moments.randrange(6)
        process = self.background(self.words("balance"))
        self.eventually(lambda: process.popen.poll() is not None or len(self.standing() - before) >= some, SECONDS,
                        "archives are written")
        return self.kill_soon(self.moments, process, 0.5 if some == 0 else 0.1)

    def balance(self):
        said = self.xec("balance", "--json", code=None)
        told = json.loads(said.out)
        self.assertEqual((said.code, told["balanced"], told["not_done"], told["skipped"]), (0, True, [], 0), said)
        return told

    def assert_balanced(self):
        fills, mean = self.fills(), self.mean()
        for server, part in zip(self.up.servers, fills):
            self.assertAlmostEqual(part, mean, delta=WITHIN + MOST_OFF, msg=f"{server.name}: {fills}")
        return f"{min(fills):.3f}..{max(fills):.3f}, mean {mean:.3f}"

    def test_it_is_killed_and_begun_again(self):
        gateway = self.start()
        objects = self.fill()
        for server in self.up.servers[len(SIZES):]:
            self.xec("server", "add", server.url)
        before = self.fills()
        self.assertGreater(max(before) - min(before), 3 * WITHIN)
        reader = many_objects.Reader(self, gateway.http_url, dict(list(objects.items())[:READ]))
        reader.start()
        self.addCleanup(reader.stopping.set)

        least = json.loads(self.xec("balance", "--dry-run", "--json").out)["least_bytes"]
        moved = 0
        for killed in range(KILLS):
            stood = self.standing()
            self.assertTrue(self.kill_at_work(), f"it was done after {killed} kills: {before} became {self.fills()}")
            moved += len(self.standing() - stood)
            census = self.census(self.xec)
            self.assertEqual((census["full"], census["thin"]), (len(objects), 0), "no object has less redundancy meanwhile")
        self.assertGreater(moved, 0)
        twice = len(self.standing()) - many_objects.ARCHIVES * len(objects)
        told = self.balance()
        reader.stop()
        self.assertEqual(reader.problems, [])
        self.assertGreater(reader.reads, READ)
        print(f"\n  {len(objects)} objects; {min(before):.3f}..{max(before):.3f}; {KILLS} kills, {moved} archives written and {twice} "
              f"left twice by then; {told['moved_archives']} moved after; {self.assert_balanced()}", flush=True)

        repair = ["repair", "--all", "--lost", "--json"]
        self.eventually(lambda: json.loads(self.xec(*repair, *many_objects.AT_ONCE).out)["left_twice"] == 0, many_objects.TIDIED,
                        "each archive is there once")
        self.check_no_strays(self.xec, self.up.servers)
        self.assertEqual(len(self.standing()), many_objects.ARCHIVES * len(objects))
        repaired = json.loads(self.xec(*repair).out)
        self.assertEqual((repaired["needed_repair"], repaired["left_twice"]), (0, 0), repaired["details"][:3])
        tidied = self.fills()
        told = self.balance()
        print(f"  tidied: {min(tidied):.3f}..{max(tidied):.3f}, {told['moved_archives']} moved after; "
              f"{self.assert_balanced()}; least was {least / MIB:.1f} MiB", flush=True)
        self.assert_full(self.xec, len(objects))
        gateway.http = gateway.http_url
        self.check_all_reads(gateway, objects)


if __name__ == "__main__":
    xectest.main()
