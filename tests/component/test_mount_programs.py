#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount under programs of other people (tests/mount), and what these found."""
import errno
import multiprocessing
import os
import sys

import fuse_mounts
import xectest

sys.path.insert(0, os.path.join(xectest.REPO, "tests", "mount"))
import place  # noqa: E402
import programs  # noqa: E402
import tools  # noqa: E402


# Programs that are not content yet, and why.
NOT_YET = {}


def list_often(directory, times):
    for _ in range(times):
        os.listdir(directory)


class MountPrograms(fuse_mounts.TestCase):
    def setUp(self):
        super().setUp()
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

    def error_of(self, function, *arguments):
        with self.assertRaises(OSError) as raised:
            function(*arguments)
        return errno.errorcode[raised.exception.errno]

    def test_names_and_paths_that_are_too_long(self):
        """They were invalid arguments, which programs take for faults of their own."""
        mount = self.place().mount
        longest = os.path.join(mount, "a" * 255)
        os.close(os.open(longest, os.O_CREAT))
        os.rename(longest, os.path.join(mount, "b" * 255))
        for function in (os.stat, os.mkdir, os.unlink, lambda path: os.open(path, os.O_CREAT),
                         lambda path: os.rename(os.path.join(mount, "b" * 255), path)):
            self.assertEqual(self.error_of(function, longest + "a"), "ENAMETOOLONG")
        path = mount
        for _ in range(6):
            path = os.path.join(path, "d" * 250)
            os.mkdir(path)
        self.assertEqual(self.error_of(os.mkdir, os.path.join(path, "d" * 250)), "ENAMETOOLONG")

    def test_a_removed_file_has_no_name(self):
        """fstat told of a name, so that programs took the file for one that is still there."""
        path = os.path.join(self.place().mount, "f")
        with open(path, "w+", encoding="ascii") as file:
            self.assertEqual(os.fstat(file.fileno()).st_nlink, 1)
            os.unlink(path)
            self.assertEqual(os.fstat(file.fileno()).st_nlink, 0)
            file.write("text")
            file.flush()
            self.assertEqual(os.fstat(file.fileno()).st_size, 4)

    def test_more_attributes_than_an_object_has(self):
        """The one that did not fit was an invalid argument."""
        path = os.path.join(self.place().mount, "f")
        os.close(os.open(path, os.O_CREAT))
        os.setxattr(path, "user.a", b"x" * 10_000)
        self.assertEqual(self.error_of(os.setxattr, path, "user.b", b"x" * 10_000), "ENOSPC")
        self.assertEqual(os.listxattr(path), ["user.a"])

    def test_attributes_that_are_no_users(self):
        """ls -l asked two of them of each file: twice as many requests as names."""
        mount = self.place().mount
        for name in ("security.selinux", "security.capability", "system.posix_acl_access"):
            self.assertEqual(self.error_of(os.getxattr, mount, name), "ENOTSUP")
        self.assertEqual(self.error_of(os.getxattr, mount, "user.a"), "ENODATA")


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


class ThroughAGateway(fuse_mounts.TestCase):
    """What archivers do in the mount of a gateway."""

    def test_archivers(self):
        """Times could not be set and links not made there, of which they all complained."""
        kit = tools.Tools(self.path("tools"), fetch=False)
        gateway = self.serve(geometry="2+1")
        for name in ("cp", "tar", "rsync", "links"):
            with self.subTest(name):
                try:
                    with place.Place(self.path(name), self.program("xec"), kit, url=gateway.url) as here:
                        getattr(programs, f"case_{name}")(here, kit)
                        here.run(["rm", "-rf", *os.listdir(here.mount)])
                except place.Missing as missing:
                    print(f"{name} is not tried: {missing}")


for case, case_function in vars(programs).items():
    if case.startswith("case_"):
        setattr(MountPrograms, "test_" + case.removeprefix("case_"),
                program_test(case.removeprefix("case_"), case_function))

if __name__ == "__main__":
    xectest.main()
