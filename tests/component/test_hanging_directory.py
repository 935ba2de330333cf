# SPDX-License-Identifier: LGPL-3.0-or-later
"""A data directory whose disk hangs: system calls on it never return."""
import ctypes
import json
import os

import everyday
import xectest


class HangingDirectory(everyday.EverydayTest):
    def hang(self, path):
        """Nobody who looks at `path` gets an answer, until the function returned is called: a FUSE whose program does
        nothing."""
        libc = ctypes.CDLL(None, use_errno=True)
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"hangs", path.encode(), b"fuse", 0, options.encode()) != 0:
            self.skipTest(f"needs FUSE: {os.strerror(ctypes.get_errno())}")
        state = {"device": device}

        def go_on():
            if "device" in state:
                os.close(state.pop("device"))
                self.run_program(["umount", "-l", path])
        self.addCleanup(go_on)
        return go_on

    def setUp(self):
        super().setUp()
        self.enter_mounts()
        self.store = self.serve(dirs=6, geometry="3+1", chunk_size="64KiB")
        self.file = self.put(self.store, "/before", 600_000)

    def test_a_gateway_starts_and_uses_it_when_it_answers(self):
        """xrootd waited for it in its start, for ever."""
        self.assertEqual(self.store.stop(), 0)
        go_on = self.hang(self.store.dirs[2])
        self.store.start()
        self.check_reads(self.store, "/before", self.file)
        during = self.put(self.store, "/during", 600_000, seed=2)
        self.check_reads(self.store, "/during", during)
        go_on()

        def all_up():
            servers = json.loads(self.store.xec("health", "--servers", "--json", code=None).out)["servers"]
            return all(server["state"] == "up" for server in servers)
        self.eventually(all_up, 30, "the directory is used again")
        self.check_reads(self.store, "/before", self.file)
        self.assertEqual(self.store.stop(), 0)

    def test_commands_go_on_without_it(self):
        """They waited for it, for ever."""
        self.assertEqual(self.store.stop(), 0)
        self.hang(self.store.dirs[2])
        self.assertIn("before", self.store.xec("ls", "/").out)
        self.assertEqual(self.store.xec("get", "/before", "-", binary=True).out, self.content(self.file))
        self.store.xec("put", self.file, "/put")
        # Silence is no loss: nothing is made anew for what lies there.
        repaired = self.store.xec("repair", "/before", code=None)
        self.assertIn("what it holds was left alone", repaired.out)
        self.assertNotIn("written anew elsewhere", repaired.err)

    def test_no_store_is_made_beside_it(self):
        """What lies there may belong to a store."""
        self.assertEqual(self.store.stop(), 0)
        place = self.path("hanging")
        os.mkdir(place)
        self.hang(place)
        new = self.path("new")
        argv = [self.program("xec"), "put", "--data", place, "--data", new, "--geometry", "1+1", self.file, "/a"]
        result = self.run_as_owner(self.store.dirs[0], argv, code=None)
        self.assertNotEqual(result.code, 0)
        self.assertRegex(result.err, r"hanging .*(does not answer|has not answered)")
        self.assertFalse(os.path.exists(os.path.join(new, ".xec")))


if __name__ == "__main__":
    xectest.main()
