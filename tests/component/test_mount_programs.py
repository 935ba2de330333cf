#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount under programs of other people (tests/mount), and what these found."""
import multiprocessing
import os
import sys

import xectest

sys.path.insert(0, os.path.join(xectest.REPO, "tests", "mount"))
import place  # noqa: E402
import programs  # noqa: E402
import tools  # noqa: E402


MODES = "a file that is written loses its mode"
TIMES = "a mount sets no times"
ANYWHERE = "a file is written from its start to its end only"
# Programs that are not content yet, and why.
NOT_YET = {"bytes": MODES, "cp": TIMES, "tar": TIMES, "rsync": TIMES, "git": ANYWHERE, "build": ANYWHERE, "vim": ANYWHERE,
           "sqlite": ANYWHERE, "shutil": ANYWHERE}


def list_often(directory, times):
    for _ in range(times):
        os.listdir(directory)


class MountPrograms(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.enter_mounts()
        try:
            os.close(os.open("/dev/fuse", os.O_RDWR))
        except OSError as error:
            self.skipTest(f"needs /dev/fuse: {os.strerror(error.errno)}")
        self.kit = tools.Tools(self.path("tools"), fetch=False)

    def place(self):
        """A new store that is mounted until the test ends, which fails if the mount's process died before."""
        return self.enterContext(place.Place(self.path("p"), self.program("xec"), self.kit))

    def test_a_directory_that_is_closed_as_soon_as_it_is_read(self):
        """The kernel released a directory while the thread that had answered it still held its turn: what was freed
        was used, and the mount died."""
        directory = os.path.join(self.place().mount, "d")
        os.mkdir(directory)
        processes = [multiprocessing.Process(target=list_often, args=(directory, 400)) for _ in range(8)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        self.assertEqual([process.exitcode for process in processes], [0] * len(processes))


def program_test(name, function):
    def test(self):
        if name in NOT_YET:
            self.skipTest(NOT_YET[name])
        try:
            function(self.place(), self.kit)
        except place.Missing as missing:
            self.skipTest(str(missing))
    test.__doc__ = function.__doc__
    return test


for case, case_function in vars(programs).items():
    if case.startswith("case_"):
        setattr(MountPrograms, "test_" + case.removeprefix("case_"),
                program_test(case.removeprefix("case_"), case_function))

if __name__ == "__main__":
    xectest.main()
