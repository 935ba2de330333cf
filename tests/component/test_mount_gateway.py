#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount root://GATEWAY: what a name has beside its bytes, and what a plain server does not have."""
import errno
import json
import os
import stat

import fuse_mounts
import xectest

TIME = 1_500_000_000


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class GatewayTest(fuse_mounts.TestCase):
    def mount(self, url, options="attr_timeout=0,entry_timeout=0"):
        _, path = self.mount_beside("-o", options, url, name=f"mnt{len(os.listdir(self.dir))}")
        return path

    def assert_errno(self, number, function, *arguments):
        with self.assertRaises(OSError) as caught:
            function(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[number])


class Gateway(GatewayTest):
    def setUp(self):
        super().setUp()
        self.store = self.serve(geometry="2+1")
        self.mnt = self.mount(self.store.url)

    def test_times(self):
        file, folder = f"{self.mnt}/f", f"{self.mnt}/d"
        self.write(file, "content")
        os.mkdir(folder)
        for path in (file, folder):
            before = os.stat(path)
            os.utime(path, ns=(0, TIME * 10**9 + 123_456_789))
            after = os.stat(path)
            self.assertEqual(int(after.st_mtime), TIME)
            self.assertEqual(after.st_ctime, before.st_ctime, "nobody sets that one")
        os.chmod(file, 0o640)
        self.assertEqual((int(os.stat(file).st_mtime), mode_of(file)), (TIME, 0o640))
        os.rename(file, f"{folder}/g")
        self.assertEqual(int(os.stat(f"{folder}/g").st_mtime), TIME)
        self.write(f"{folder}/g", "+", "a")
        self.assertGreater(os.stat(f"{folder}/g").st_mtime, TIME + 1000)
        self.assertEqual(mode_of(f"{folder}/g"), 0o640)
        os.utime(f"{folder}/g", (-5, -5))
        self.assertEqual(int(os.stat(f"{folder}/g").st_mtime), -5)

    def test_settings_before_the_close_are_of_what_is_closed(self):
        """They were set at the name, so that the changes had to be committed before, and again what came after."""
        path = f"{self.mnt}/f"
        with open(path, "wb", buffering=0) as file:
            file.write(b"content")
            os.fchmod(file.fileno(), 0o604)
            os.utime(file.fileno(), (TIME, TIME))
            self.assertEqual(int(os.stat(path).st_mtime), TIME)
        with open(os.path.join(self.store.state, "audit.log"), encoding="utf-8") as log:
            self.assertEqual([json.loads(line)["event"] for line in log], ["create", "replace"])
        self.assertEqual((int(os.stat(path).st_mtime), mode_of(path)), (TIME, 0o604))
        self.assertEqual(self.xrdfs(self.store.url, "cat", "/f").out, "content")
        # Listings tell what a version was made with.
        self.assertRegex(self.xrdfs(self.store.url, "ls", "-l", "/").out, r"-rw----r-- .* 2017-07-14 02:40:00 /f")

    def test_modes(self):
        """XRootD carries nine bits of one, and takes a bit away from some."""
        for mode in (0o600, 0o664, 0o666, 0o777, 0o4755, 0o000):
            with self.subTest(oct(mode)):
                path = f"{self.mnt}/f{mode:o}"
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
                os.chmod(path, mode)
                self.assertEqual(mode_of(path), mode)
                for flags in (os.O_RDONLY, os.O_RDWR):
                    file = os.open(path, flags)
                    self.assertEqual(stat.S_IMODE(os.fstat(file).st_mode), mode, "of a file that is open")
                    os.close(file)
        old = os.umask(0)
        os.close(os.open(f"{self.mnt}/new", os.O_CREAT | os.O_WRONLY, 0o606))
        os.mkdir(f"{self.mnt}/d", 0o1777)
        os.umask(old)
        self.assertEqual((mode_of(f"{self.mnt}/new"), mode_of(f"{self.mnt}/d")), (0o606, 0o1777))

    def test_a_file_that_is_emptied_keeps_what_it_has(self):
        """Its mode and attributes went, as it was replaced."""
        path = f"{self.mnt}/f"
        self.write(path, "content")
        os.chmod(path, 0o600)
        os.setxattr(path, "user.k", b"v")
        self.write(path, "other")
        self.assertEqual((self.read(path), mode_of(path), os.getxattr(path, "user.k")), ("other", 0o600, b"v"))
        open(path, "w").close()
        self.assertEqual((self.read(path), mode_of(path)), ("", 0o600))

    def test_listings_do_not_tell_what_was(self):
        """One told the mode that a file was written with, which the kernel believed."""
        mnt = self.mount(self.store.url, "attr_timeout=60,entry_timeout=60,dir_timeout=0")
        for name in ("f", "g"):
            self.write(f"{self.mnt}/{name}", "content")
        os.mkdir(f"{self.mnt}/d")
        os.chmod(f"{self.mnt}/f", 0o600)
        os.utime(f"{self.mnt}/f", (TIME, TIME))
        os.chmod(f"{self.mnt}/d", 0o700)
        # Each listing is read with what it tells of the names, and then these are looked at.
        self.assertRegex(self.run_program(["ls", "-l", "--time-style=+%s", mnt]).out,
                         rf"(?s)drwx------ .* d\n-rw------- .* {TIME} f\n-rw-r--r-- .* g\n")

    def test_links(self):
        self.write(f"{self.mnt}/f", "content")
        os.mkdir(f"{self.mnt}/d")
        os.symlink("../f", f"{self.mnt}/d/link")
        self.assertEqual((os.readlink(f"{self.mnt}/d/link"), self.read(f"{self.mnt}/d/link")), ("../f", "content"))
        with os.scandir(f"{self.mnt}/d") as entries:
            self.assertEqual([(entry.name, entry.is_symlink()) for entry in entries], [("link", True)])
        self.assertEqual(mode_of(f"{self.mnt}/d/link"), 0o777)
        os.utime(f"{self.mnt}/d/link", (TIME, TIME), follow_symlinks=False)
        self.assertEqual(int(os.lstat(f"{self.mnt}/d/link").st_mtime), TIME)
        self.assert_errno(errno.EEXIST, os.symlink, "x", f"{self.mnt}/d/link")
        # Other clients see a file with these bytes.
        self.assertEqual(self.xrdfs(self.store.url, "cat", "/d/link").out, "../f")
        self.assertNotIn("Other", self.xrdfs(self.store.url, "stat", "/d/link").out)
        os.rename(f"{self.mnt}/d/link", f"{self.mnt}/moved")
        self.assertEqual(os.readlink(f"{self.mnt}/moved"), "../f")
        os.remove(f"{self.mnt}/moved")
        self.assertEqual(sorted(os.listdir(self.mnt)), ["d", "f"])

    def test_attributes_that_are_the_stores(self):
        """They were taken, and then shown by nobody."""
        self.write(f"{self.mnt}/f", "content")
        for name in ("xec.mode", "xec.mtime", "xec.settings", "xec.other"):
            self.assert_errno(errno.EOPNOTSUPP, os.setxattr, f"{self.mnt}/f", f"user.{name}", b"0600")
            self.assert_errno(errno.ENODATA, os.getxattr, f"{self.mnt}/f", f"user.{name}")

    def test_by_other_clients(self):
        """Who knows of the attribute sets a time with stock tools."""
        self.write(f"{self.mnt}/f", "content")
        self.xrdfs(self.store.url, "xattr", "/f", "set", f"xec.settings=m0640_t{TIME}000000000")
        self.assertEqual((int(os.stat(f"{self.mnt}/f").st_mtime), mode_of(f"{self.mnt}/f")), (TIME, 0o640))
        self.assertIn(f"m0640_t{TIME}000000000", self.xrdfs(self.store.url, "xattr", "/f", "get", "xec.settings").out)
        self.assertNotIn("xec.settings", self.xrdfs(self.store.url, "xattr", "/f", "list").out)
        # What stock clients send by themselves is no wish for a mode.
        self.xrdfs(self.store.url, "mkdir", "/as-any")
        self.xrdfs(self.store.url, "mkdir", "-mrwx--x--x", "/wanted")
        self.xrdcp(self.random_file("source", 1000), f"{self.store.url}//copied")
        self.assertEqual([mode_of(f"{self.mnt}/{name}") for name in ("as-any", "wanted", "copied")], [0o755, 0o711, 0o644])

    def test_what_was_seen_is_what_is_changed(self):
        """What another mount had written since the open was changed in its place."""
        other = self.mount(self.store.url)
        self.write(f"{self.mnt}/f", "1111111111")
        with open(f"{self.mnt}/f", "r+") as file:
            self.write(f"{other}/f", "2222222222")
            self.assert_errno(errno.ESTALE, os.write, file.fileno(), b"one")
        self.assertEqual(self.read(f"{other}/f"), "2222222222")
        # Settings, whoever sets them, are no other version.
        with open(f"{self.mnt}/f", "r+") as file:
            os.utime(f"{other}/f", (TIME, TIME))
            os.write(file.fileno(), b"one")
        self.assertEqual(self.read(f"{other}/f"), "one2222222")


class PlainServer(GatewayTest):
    def test_what_it_does_not_have(self):
        """It would keep the settings as an attribute that means nothing there."""
        server = self.cluster(1, redirector=False).servers[0]
        mnt = self.mount(server.url)
        self.write(f"{mnt}/f", "content")
        self.assert_errno(errno.EOPNOTSUPP, os.utime, f"{mnt}/f", (TIME, TIME))
        self.assert_errno(errno.EPERM, os.symlink, "f", f"{mnt}/link")
        os.chmod(f"{mnt}/f", 0o600)
        self.assertEqual(mode_of(f"{mnt}/f"), 0o600)
        self.assertEqual(os.listxattr(os.path.join(server.data, "f")), [])
        os.mkfifo(os.path.join(server.data, "fifo"))
        self.assertFalse(os.path.islink(f"{mnt}/fifo"))


if __name__ == "__main__":
    xectest.main()
