# SPDX-License-Identifier: LGPL-3.0-or-later
"""Two servers are lost, and bits of a third have flipped: everything is mended, and reads are right throughout. With more servers
away than an object survives, it is named, holds nothing up, and is back when a server is."""
# seconds: 900
import json
import os
import random
import shutil

import many_objects
import xectest
from everyday import place_of_chunk
from many_objects import Reader

FLIPS = 100
OBJECTS = 120
SIZE = 300_000
EXIT_RETRY = 5


class RebuildDamage(many_objects.ObjectsTest):
    def start(self):
        self.up = self.cluster(servers=8, geometry="4+2", gateways=1, chunk_size="64KiB",
                               serve_options=["--rebuild-after", "0", "--inventory", "off"])
        os.makedirs(self.path("in"))
        sources = [self.random_file(f"in/{number:03d}", SIZE, number % 7) for number in range(OBJECTS)]
        self.xec("mkdir", "/data")
        self.xec("put", "-q", *sources, "/data/", seconds=300)
        self.files = {"/data/" + os.path.basename(source): source for source in sources}

    def xec(self, command, *arguments, **more):
        options = [word for server in self.up.servers for word in ("--server", server.server_option())]
        return self.run_program([self.up.xec(), command, *options, *arguments], **more)

    def holders(self, name):
        return {chunk["server"] for chunk in json.loads(self.xec("locate", "--json", name).out)[0]["chunks"]}

    def test_two_lost_and_flipped_bits_on_a_third(self):
        self.start()
        # Those that have nothing on the lost ones.
        spared = [name for name in self.files if not self.holders(name) & {"s01", "s02"}]
        self.assertGreater(len(spared), 0)
        chance = random.Random(47)
        data = self.up.servers[4].data
        flips = 0
        while flips < FLIPS:
            name = chance.choice(spared)
            chunks = [chunk for chunk in json.loads(self.xec("locate", "--json", name).out)[0]["chunks"] if chunk["server"] == "s05"]
            if not chunks:
                continue
            for _ in range(10):
                chunk = chance.choice(chunks)
                archive = data + chunk["archive"]
                offset, size = place_of_chunk(archive, chunk["stripe"], chunk["chunk"])
                if size == 0:
                    continue
                self.flip_byte(archive, offset + chance.randrange(size))
                flips += 1
        for server in self.up.servers[:2]:
            server.kill()
            shutil.rmtree(server.data)
            self.up.user.give(server.data)
            self.up.start(server)
        reader = Reader(self, self.up.gateways[0].http_url, self.files)
        reader.start()
        self.addCleanup(reader.stopping.set)
        for member in ("s01", "s02"):
            self.xec("server", "replace", member, seconds=600, code=None)
        self.xec("repair", "--all", seconds=600)
        reader.stop()
        self.assertEqual(reader.problems, [])
        self.assertGreater(reader.reads, len(self.files))
        self.assert_full(self.xec, len(self.files))
        self.assertIn(f"0 of {OBJECTS} objects needed repair", self.xec("repair", "--all", seconds=600).out)

    def test_more_are_away_than_objects_survive(self):
        self.start()
        away, lost = self.up.servers[:2], self.up.servers[3]
        hit = {name: self.holders(name) for name in self.files}
        beyond = {name for name, servers in hit.items() if {"s01", "s02", "s04"} <= servers}
        self.assertGreater(len(beyond), 0)
        for path in self.files_below(os.path.join(lost.data, "data")):
            if os.path.basename(path).startswith("p."):
                os.unlink(os.path.join(lost.data, "data", path))
        for server in away:
            server.kill()
        done = json.loads(self.xec("repair", "--all", "--lost", "--json", code=EXIT_RETRY, seconds=600).out)
        errors = {detail["path"]: detail["error"] for detail in done["details"] if "error" in detail}
        self.assertEqual(set(errors), beyond)
        for name, error in errors.items():
            self.assertRegex(error, rf"stripe 0 of {name} cannot be had now: 3 of the 4 chunks needed are good \(.*"
                                    rf"({away[0].url}|{away[1].url}).*\)")
        self.assertEqual(done["repaired"], sum(1 for name, servers in hit.items() if "s04" in servers) - len(beyond))
        for server in away:
            self.up.start(server)
        self.check_objects(self.xec, self.files)
        self.xec("repair", "--all", "--lost", seconds=600)
        self.assert_full(self.xec, len(self.files))


if __name__ == "__main__":
    xectest.main()
