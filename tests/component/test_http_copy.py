# SPDX-License-Identifier: LGPL-3.0-or-later
"""Third-party copy by https between two gateways of XEC, with tokens, as the grid's file transfer service asks for it:
pull and push, several streams, overwrite on and off; the source or the destination dies half-way."""
import os
import subprocess

import everyday
import grid_site
import xectest
from grid_site import ALL_OF_STORAGE

SMALL, LARGE = 30_000_001, 2 << 30 if os.environ.get("XEC_TEST_LONG") == "1" else 400_000_000


class HttpCopy(grid_site.GridTest):
    def setUp(self):
        super().setUp()
        self.other = self.start_gateway()
        self.far = f"https://localhost:{self.other.port}"
        token = self.site.token(ALL_OF_STORAGE)
        self.here = ("--cacert", self.site.authority, "-H", f"Authorization: Bearer {token}")
        self.there = ("-H", f"TransferHeaderAuthorization: Bearer {token}", "-H", "Credential: none")

    def put(self, url, file):
        self.curl(*self.here, "-T", file, url)

    def assert_holds(self, url, file):
        self.curl(*self.here, url, "-o", self.path("held"))
        self.assert_same(file, self.path("held"))

    def command(self, near, far, *words):
        return ["curl", "--silent", *self.here, *self.there, "-X", "COPY", "-H", far, *words, near]

    def copy(self, near, far, *words):
        """What the near gateway says at last, of a copy that it pulls ("Source: URL") or pushes ("Destination: URL")."""
        return (self.run_program(self.command(near, far, *words), seconds=120, code=None).out.strip().splitlines() or [""])[-1]

    def test_streams(self):
        file = self.random_file("large file", SMALL)
        self.put(self.far + "/tokens/file", file)
        for streams in (1, 4, 16):
            with self.subTest(streams=streams):
                name = f"/tokens/copied/{streams}"
                self.assertEqual(self.copy(self.https + name, f"Source: {self.far}/tokens/file", "-H",
                                           f"X-Number-Of-Streams: {streams}"), "success: Created")
                self.assert_holds(self.https + name, file)
        self.assertEqual(self.copy(self.https + "/tokens/copied/1", f"Destination: {self.far}/tokens/pushed"), "success: Created")
        self.assert_holds(self.far + "/tokens/pushed", file)

    def test_overwrite(self):
        old, new = self.random_file("old", SMALL), self.random_file("new", SMALL)
        self.put(self.far + "/tokens/new", new)
        self.put(self.https + "/tokens/there", old)
        source = f"Source: {self.far}/tokens/new"
        self.assertNotIn("success", self.copy(self.https + "/tokens/there", source, "-H", "Overwrite: F"))
        self.assert_holds(self.https + "/tokens/there", old)
        self.assertNotIn("success", self.copy(self.https + "/tokens/there", f"Source: {self.far}/tokens/missing"))
        self.assert_holds(self.https + "/tokens/there", old)
        self.assertEqual(self.copy(self.https + "/tokens/absent", source, "-H", "Overwrite: F"), "success: Created")
        self.assertEqual(self.copy(self.https + "/tokens/there", source), "success: Created")
        self.assert_holds(self.https + "/tokens/there", new)

    def break_off(self, kill):
        """A copy over an old object, of which a part has arrived when `kill` comes; then another one."""
        file, old = self.random_file("large file", LARGE), self.random_file("old", SMALL)
        self.put(self.far + "/tokens/large", file)
        self.put(self.https + "/tokens/there", old)
        before = everyday.bytes_on_disks(self.gateway)
        near, source = self.https + "/tokens/there", f"Source: {self.far}/tokens/large"
        running = subprocess.Popen(self.command(near, source), stdout=subprocess.PIPE, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        self.eventually(lambda: everyday.bytes_on_disks(self.gateway) > before + 20_000_000, 60, "bytes arrive")
        self.assertIsNone(running.poll(), "the copy ended too soon to break it")
        kill()
        self.assertNotIn("success", running.communicate(timeout=120)[0])
        for gateway in (self.gateway, self.other):
            if not gateway.xrootd.alive():
                gateway.start()
        self.assert_holds(near, old)
        self.assertEqual(self.copy(near, source), "success: Created")
        self.assert_holds(near, file)

    def test_the_source_dies(self):
        self.break_off(self.other.kill)

    def test_the_destination_dies(self):
        self.break_off(self.gateway.kill)


if __name__ == "__main__":
    xectest.main()
