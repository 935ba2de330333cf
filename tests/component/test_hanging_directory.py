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

    def test_root_s_commands_find_the_owner_without_it(self):
        """Root's commands looked for the owner of the first directory, for ever."""
        self.assertEqual(self.store.stop(), 0)
        owner = os.stat(self.store.dirs[1]).st_uid
        go_on = self.hang(self.store.dirs[0])
        command = [self.program("xec"), "put", *self.store.store_options(), self.file, "/by-root"]
        self.run_program(command)
        command[1:] = ["get", *self.store.store_options(), "/by-root", self.path("copy")]
        self.run_program(command)
        self.assert_same(self.file, self.path("copy"))
        for directory in self.store.dirs[1:]:
            for name in self.files_below(directory):
                self.assertEqual(os.stat(os.path.join(directory, name)).st_uid, owner, name)
        go_on()

    def test_root_makes_nothing_where_only_silence_tells_the_owner(self):
        self.assertEqual(self.store.stop(), 0)
        for directory in self.store.dirs[:-1]:
            self.hang(directory)
        place = self.path("elsewhere")
        os.mkdir(place)
        silent = [word for path in (*self.store.dirs[:-1], place) for word in ("--data", path)]
        refused = self.run_program([self.program("xec"), "put", *silent, self.file, "/a"], code=None)
        self.assertNotEqual(refused.code, 0)
        self.assertIn("does not answer", refused.err)
        self.assertEqual(os.listdir(place), [])

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
