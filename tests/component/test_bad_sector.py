# SPDX-License-Identifier: LGPL-3.0-or-later
"""Disks that are well but for a few sectors: what they hold is read from elsewhere, and written anew. The disk is the
library bad_sector (bad_sector.cc), which gives EIO."""
import os
import re
import stat
import unittest.mock

import everyday
import xectest

SIZE = 900_000


class BadSectorTest(everyday.EverydayTest):
    def bad_sectors(self):
        library = self.program("libbad_sector.so")
        loaded = os.environ.get("XEC_SERVER_PRELOAD")
        return {"LD_PRELOAD": f"{loaded}:{library}" if loaded else library}

    def spoil(self, archive):
        os.chmod(archive, os.stat(archive).st_mode | stat.S_IWOTH)

    def archive_of(self, xec, name, chunk, folder_of=lambda address: address):
        of = next(of for of in self.chunks_of(xec, name) if (of["stripe"], of["chunk"]) == (0, chunk))
        return folder_of(of["address"]) + of["archive"]

    def test_a_directory(self):
        store = self.serve(dirs=8, geometry="4+2", chunk_size="64KiB", env=self.bad_sectors())
        file = self.put(store, "/data/a", SIZE)
        archive = self.archive_of(store.xec, "/data/a", 1)
        verify = lambda: store.xec("verify", "-q", "/data/a", code=None, env={**os.environ, **self.bad_sectors()}).code
        self.assertEqual(verify(), 0)
        self.spoil(archive)
        self.assertEqual(verify(), 6)
        self.check_reads(store, "/data/a", file)
        self.eventually(lambda: verify() == 0, 90, "the gateway has repaired it")
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as log:
            text = log.read()
        self.assertRegex(text, "1 of 1 archives written anew: archive .* now .*Input/output error")
        self.assertNotRegex(text, "is down")

    def test_a_stock_server(self):
        with unittest.mock.patch.dict(os.environ, self.bad_sectors()):
            cluster = self.cluster(servers=8, geometry="4+2", gateways=1, chunk_size="64KiB",
                                   serve_options=["--sync", "none"])
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        options += ["--geometry", "4+2", "--chunk-size", "64KiB"]
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)
        file = self.random_file("a", SIZE)
        xec("put", "-q", file, "/a")
        data = {server.url: server.data for server in cluster.servers}
        self.spoil(self.archive_of(xec, "/a", 1, lambda address: data[re.sub("/*$", "", address)]))
        self.assertEqual(xec("cat", "/a", binary=True).out, self.content(file))
        done = xec("repair", "/a")
        self.assertRegex(done.out, "^/a  1 of 1 archives written anew; .*\n$")
        self.assertRegex(xec("repair", "--all").out, "(?m)^0 of 1 objects needed repair")
        self.assertEqual(xec("verify", "-q", "/a").code, 0)
        self.assertEqual(xec("cat", "/a", binary=True).out, self.content(file))


if __name__ == "__main__":
    xectest.main()
