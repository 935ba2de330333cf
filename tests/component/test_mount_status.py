#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount status and flush: what mounts tell of themselves, also those that tell nothing."""
import json
import os
import pwd
import signal
import sys
import time

import fuse_mounts
import xectest

EXIT_NOT_FOUND, EXIT_RETRY, EXIT_CONFLICT, EXIT_DENIED = 3, 5, 8, 9
# A mount that does not answer is given up after 5 s.
SILENT_SECONDS = 20


class Status(fuse_mounts.StoreTestCase):
    def ask(self, *arguments, code=0):
        result = self.run_program([self.program("xec"), "mount", "status", "--json", *arguments], code=code)
        return json.loads(result.out)

    def flush(self, mnt, code=0):
        return self.run_program([self.program("xec"), "mount", "flush", mnt], code=code)

    def writer(self, *paths):
        """A process that has written to files and has them open. (A program that starts another one closes them there,
        which commits.)"""
        script = ("import sys, time\n"
                  "files = [open(path, 'wb', buffering=0) for path in sys.argv[1:]]\n"
                  "for file in files:\n"
                  "    file.write(bytes(100_000)), file.seek(10), file.write(b'x')\n"
                  "print('written', flush=True)\n"
                  "time.sleep(1000)\n")
        process = self.background([sys.executable, "-c", script, *paths])
        process.wait_line("written")
        return process

    def test_what_a_mount_is_at(self):
        mnt = self.mount()
        process = self.writer(f"{mnt}/f")
        with open(f"{mnt}/f", "rb"):
            status, = self.ask(mnt)
        self.assertEqual((status["state"], status["directory"], status["source"]), ("answers", mnt, "xec"))
        self.assertEqual((status["open_files"], status["changed_files"]), (1, 1))
        self.assertEqual(status["changed"], [{"path": "/f", "size": 100_000}])
        self.assertGreater(status["scratch_bytes"], 0)
        self.assertEqual((status["requests"], status["threads"], status["silent_servers"]), (0, 256, []))
        self.assertEqual(status["pid"], self.processes(mnt)[0])
        self.assertLess(abs(time.time() - status["since_ms"] / 1000), 100)
        text = self.run_program([self.program("xec"), "mount", "status"]).out
        self.assertIn(f"{mnt}  xec\n  since 20", text)
        self.assertIn("open files: 1; with changes that are not committed: 1; scratch: ", text)
        self.assertIn("    /f  97.7 KiB\n", text)
        process.kill()
        self.eventually(lambda: self.ask(mnt)[0]["open_files"] == 0, 60, "the file is closed")

    def test_all_mounts_of_the_machine(self):
        self.assertEqual(self.ask(), [])
        store = self.serve(geometry="2+1")
        one, two = self.mount(name="one"), self.path("two")
        os.mkdir(two)
        self.run_program([self.program("xec"), "mount", store.url, two])
        self.addCleanup(self.end, two)
        self.assertEqual([(status["directory"], status["source"]) for status in self.ask()], [(one, "xec"), (two, store.url)])
        self.assertEqual(self.ask(two)[0]["workers"], 16)
        store.kill()
        self.assertRaises(OSError, os.stat, f"{two}/f")
        self.assertEqual(self.ask(two)[0]["silent_servers"], [f"root://{xectest.HOST}:{store.port}"])
        result = self.run_program([self.program("xec"), "mount", "status", self.dir], code=EXIT_NOT_FOUND)
        self.assertIn("no store is mounted at", result.err)

    def test_a_mount_that_does_not_answer(self):
        """ls, df and the like hang at it."""
        one, two = self.mount(name="one"), self.mount(name="two")
        pid = self.processes(one)[0]
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        start = time.monotonic()
        silent, well = self.ask(code=EXIT_RETRY)
        self.assertLess(time.monotonic() - start, SILENT_SECONDS)
        self.assertEqual((silent["state"], well["state"]), ("silent", "answers"))
        self.assertIn("does not answer", self.flush(one, code=EXIT_RETRY).err)
        os.kill(self.processes(two)[0], signal.SIGKILL)
        self.eventually(lambda: not self.processes(two), 60, "its process ends")
        self.assertEqual(self.ask(two, code=EXIT_RETRY)[0]["state"], "dead")
        self.run_program(["umount", "-l", two])

    def test_whom_it_is_for(self):
        mnt = self.mount("-o", "allow_other")
        user = pwd.getpwnam("nobody")
        for command in ("status", "flush"):
            self.run_program(["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                              self.program("xec"), "mount", command, mnt], code=EXIT_DENIED)
        self.assertEqual(os.listxattr(mnt), [])

    def test_flushing(self):
        one, two = self.mount(name="one"), self.mount("-o", "entry_timeout=1h,attr_timeout=1h", name="two")
        self.write(f"{two}/old", "old")
        self.assertEqual(sorted(os.listdir(two)), ["old"])
        self.assertEqual(os.stat(f"{two}/old").st_size, 3)
        process = self.writer(f"{one}/f", f"{one}/lost")
        self.write(f"{two}/lost", "theirs")
        # What is not committed is told; the rest is.
        result = self.flush(one, code=EXIT_CONFLICT)
        self.assertRegex(result.err, r"^xec: /lost is not committed: .*\n$")
        self.assertEqual(len(self.read(f"{two}/f")), 100_000)
        self.assertEqual(self.ask(one)[0]["changed"], [{"path": "/lost", "size": 100_000}])
        process.kill()
        self.eventually(lambda: self.ask(one)[0]["open_files"] == 0, 60, "the files are closed")
        self.assertEqual(self.read(f"{two}/lost"), "theirs")
        # What another machine does is seen without waiting for an hour.
        self.write(f"{one}/old", "longer")
        os.remove(f"{one}/f")
        self.assertEqual(os.stat(f"{two}/old").st_size, 3)
        self.flush(two)
        self.assertEqual(os.stat(f"{two}/old").st_size, 6)
        self.assertFalse(os.path.exists(f"{two}/f"))

    def test_flushing_with_one_thread(self):
        """It answers no request while names are dropped, which waits for the kernel."""
        mnt = self.mount("-o", "threads=1")
        for name in "abc":
            self.write(f"{mnt}/{name}", name)
        for _ in range(5):
            os.listdir(mnt)
            self.flush(mnt)
        self.assertEqual(self.ask(mnt)[0]["threads"], 1)


if __name__ == "__main__":
    xectest.main()
