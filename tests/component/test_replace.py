# SPDX-License-Identifier: LGPL-3.0-or-later
"""A dead disk is replaced in one command: an empty one gets its identity, learns the names again, and what it held is written
anew, while the store answers."""
# seconds: 1200
import os
import shutil

import everyday
import many_objects
import xectest
from many_objects import Reader

OBJECTS = 40


class Replace(many_objects.ObjectsTest):
    def empty(self, cluster, server):
        """The server's disk dies, and an empty one lies in its place."""
        server.kill()
        shutil.rmtree(server.data)
        cluster.user.give(server.data)
        cluster.start(server)

    def test_a_stock_server_gets_an_empty_disk(self):
        cluster = self.cluster(servers=9, geometry="4+2", gateways=1, chunk_size="64KiB")
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)
        files = self.put_objects(xec, OBJECTS)
        xec("rm", *list(files)[:4])
        for name in list(files)[:4]:
            del files[name]

        whole = self.archives([server.data for server in cluster.servers])
        self.assertIn(f"{cluster.servers[3].url} is s04, and its disk is not empty: nothing is replaced\n",
                      xec("server", "replace", "s04").out)
        self.assertEqual(self.archives([server.data for server in cluster.servers]), whole)
        self.assertIn("s77 is no member of the store (see xec server list)", xec("server", "replace", "s77", code=2).err)
        self.empty(cluster, cluster.servers[3])
        dry = xec("server", "replace", "s04", "--dry-run")
        self.assertEqual(dry.out, f"{cluster.servers[3].url} would take the place of s04\n")
        self.assertFalse(os.path.exists(os.path.join(cluster.servers[3].data, ".xec")))

        reader = Reader(self, cluster.gateways[0].http_url, files)
        reader.start()
        done = xec("server", "replace", "s04", seconds=300)
        reader.stop()
        self.assertEqual(reader.problems, [])
        self.assertGreater(reader.reads, len(files))
        self.assertIn(f"{len(files)} of {len(files)} objects have their full redundancy", done.out)
        self.assert_full(xec, len(files))

        # Two others die: it knows the names that it has to decide with.
        before = self.archives([cluster.servers[3].data])
        self.assertGreater(len(before), 0)
        for other in (cluster.servers[0], cluster.servers[6]):
            other.kill()
        self.check_objects(xec, files)
        self.assertEqual(xec("stat", "/data/000", code=None).code, 3, "what was removed stays removed")
        for other in (cluster.servers[0], cluster.servers[6]):
            cluster.start(other)
        self.assertIn(f"0 of {len(files)} objects needed repair", xec("server", "replace", "s04").out)
        self.assertEqual(self.archives([cluster.servers[3].data]), before)

    def test_a_directory_while_the_gateway_runs(self):
        store = self.serve(dirs=8, geometry="4+2", chunk_size="64KiB")
        files = self.put_objects(store.xec, OBJECTS)
        lost = store.dirs[2]
        owner = os.stat(lost)
        said = store.xec("server", "replace", "s03", "--with", store.dirs[4], code=8).err
        self.assertIn(f"s03 still answers, at {lost}: stop it first if it is to be replaced", said)
        self.assertIn("is not listed: add it to --data",
                      store.xec("server", "replace", "s03", "--with", self.path("other"), code=2).err)
        everyday.lose(lost)
        os.makedirs(lost)
        os.chown(lost, owner.st_uid, owner.st_gid)
        with open(os.path.join(lost, "stranger"), "w", encoding="utf-8") as file:
            file.write("mine\n")
        self.assertIn("is not empty", store.xec("server", "replace", "s03", "--with", lost, code=None).err)
        os.unlink(os.path.join(lost, "stranger"))
        reader = Reader(self, store.http, files)
        reader.start()
        done = store.xec("server", "replace", "s03", seconds=300)
        reader.stop()
        self.assertEqual(reader.problems, [])
        self.assertIn(f"{len(files)} of {len(files)} objects have their full redundancy", done.out)
        self.assert_full(store.xec, len(files))


if __name__ == "__main__":
    xectest.main()
