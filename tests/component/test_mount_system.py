#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount as part of a machine: mount(8), fstab, ordinary users, owners and modes."""
import errno
import os
import pwd
import re
import shutil
import signal
import subprocess

import fuse_mounts
import xectest

EXIT_DENIED = 9
MOUNT_FAILED, MOUNT_USAGE = 32, 1  # exit codes of mount(8)
# Users of every Debian.
ONE, OTHER = "games", "nobody"


def as_user(name, *argv):
    return ["setpriv", f"--reuid={name}", f"--regid={pwd.getpwnam(name).pw_gid}", "--clear-groups", *argv]


class SystemTest(fuse_mounts.StoreTestCase):
    """A machine on which XEC is installed."""

    def setUp(self):
        super().setUp()
        subprocess.run(["cmake", "--install", xectest.build_dir(), "--prefix", self.path("usr")], check=True,
                       stdout=subprocess.DEVNULL)
        self.bind("/usr/sbin", self.path("host-sbin"))
        os.mkdir(self.path("sbin"))
        for name in os.listdir(self.path("host-sbin")):
            os.symlink(self.path("host-sbin", name), self.path("sbin", name))
        os.symlink(self.path("usr", "sbin", "mount.xec"), self.path("sbin", "mount.xec"))
        self.bind(self.path("sbin"), "/usr/sbin")
        self.conf = self.path("xec.conf")
        with open(self.conf, "w") as file:
            file.writelines(f"xec.data {directory}\n" for directory in self.dirs)
            file.write(f"xec.geometry 4+2\nxec.chunk-size 64KiB\nxec.state {self.path('state')}\n")

    def fstab(self, *lines):
        with open(self.path("fstab"), "w") as file:
            file.writelines(line + "\n" for line in lines)
        self.bind(self.path("fstab"), "/etc/fstab")

    def place(self, name="mnt", owner=None):
        """A directory to mount at, with all that is mounted there ended when the test is."""
        path = self.path(name)
        os.mkdir(path)
        if owner:
            os.chown(path, pwd.getpwnam(owner).pw_uid, -1)
        self.addCleanup(self.end, path)
        return path

    def mounts(self):
        """Directory and source of each mount."""
        with open("/proc/self/mountinfo") as file:
            lines = [line.split() for line in file]
        return sorted((words[4], words[words.index("-") + 2]) for words in lines if "fuse.xec" in words)


class MountCommand(SystemTest):
    def test_a_line_of_fstab(self):
        store = self.serve(geometry="2+1")
        one, two = self.place("one"), self.place("two")
        self.fstab(f"{self.conf} {one} xec defaults,_netdev,nofail,x-systemd.automount,allow_other,log={one}.log 0 0",
                   f"{store.url} {two} xec ro,noatime,_netdev,nofail,log={two}.log 0 0")
        for _ in range(2):
            # The second time all are mounted.
            self.run_program(["mount", "-a"])
            self.assertEqual(self.mounts(), [(one, self.conf), (two, store.url)])
        self.write(f"{one}/f", "content")
        with self.assertRaises(OSError) as caught:
            self.write(f"{two}/f", "content")
        self.assertEqual(caught.exception.errno, errno.EROFS)
        self.assertIn(self.conf, self.run_program(["df", one]).out)
        self.run_program(["umount", one])
        self.assertEqual(self.mounts(), [(two, store.url)])
        self.eventually(lambda: not self.processes(one), 60, "its process ends")
        self.run_program(["mount", one])
        self.assertEqual(self.read(f"{one}/f"), "content")
        self.run_program(["umount", "-a", "-t", "fuse.xec"])
        self.assertEqual(self.mounts(), [])

    def test_what_mount_says_when_it_fails(self):
        mnt = self.place()
        none = self.path("none")
        result = self.run_program(["mount", "-t", "xec", none, mnt], code=MOUNT_FAILED)
        self.assertIn(f"{none}", result.err)
        result = self.run_program(["mount", "-t", "xec", "-o", "what", self.conf, mnt], code=MOUNT_USAGE)
        self.assertIn("-o what: there is no such option", result.err)
        result = self.run_program(["mount", "-t", "xec", "root://localhost:1", mnt], code=MOUNT_FAILED)
        self.assertRegex(result.err, r"^xec: .*\n$")
        self.run_program(["mount", "-f", "-t", "xec", self.conf, mnt])
        self.assertEqual(self.mounts(), [])

    def test_mounted_again_after_its_process_was_killed(self):
        """It was refused until somebody had ended the dead mount."""
        mnt = self.place()
        argv = ["mount", "-t", "xec", "-o", f"log={mnt}.log", self.conf, mnt]
        self.run_program(argv)
        self.write(f"{mnt}/f", "content")
        for pid in self.processes(mnt):
            os.kill(pid, signal.SIGKILL)
        self.eventually(lambda: not self.processes(mnt), 60, "its process ends")
        self.assertRaises(OSError, os.listdir, mnt)
        self.run_program(argv)
        self.assertEqual(self.read(f"{mnt}/f"), "content")
        self.assertEqual(len(self.mounts()), 1)

    def test_autofs_mounts_on_demand(self):
        """By the map of docs/mount.md."""
        if shutil.which("automount") is None:
            self.skipTest("needs the package autofs")
        store = self.serve(geometry="2+1")
        lines = [line.replace("/etc/xec/xec.conf", self.conf).replace("root\\://gateway.example.org",
                                                                      store.url.replace(":", "\\:"))
                 for line in fuse_mounts.document_block("store -fstype=xec")]
        with open(self.path("map"), "w") as file:
            file.writelines(line + "\n" for line in lines)
        top = self.place("top")
        with open(self.path("master"), "w") as file:
            file.write(f"{top} {self.path('map')}\n")
        daemon = self.background(["automount", "-f", "--pid-file", self.path("pid"), self.path("master")])
        self.eventually(lambda: os.path.ismount(top) or daemon.popen.poll() is not None, 30, "autofs is ready")
        if daemon.popen.poll() is not None:
            daemon.wait()
            if "kernel protocol version" in daemon.output():
                self.skipTest("the kernel has no autofs")
            self.fail(daemon.output())
        self.write(f"{top}/store/f", "content")
        self.assertEqual(self.read(f"{top}/store/f"), "content")
        self.write(f"{top}/gateway/f", "other")
        self.assertEqual(self.mounts(), [(f"{top}/gateway", store.url), (f"{top}/store", self.conf)])
        for pid in self.processes(f"{top}/store"):
            self.addCleanup(self.end, f"{top}/store")
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        self.assertEqual(self.mounts(), [])

    def test_the_unit(self):
        """What `xec config mount-unit` starts, is started again after a crash and ends."""
        mnt = self.place()
        unit = self.run_program([self.path("usr", "bin", "xec"), "config", "mount-unit"]).out
        command = re.search("^ExecStart=(.*)$", unit, re.M).group(1)
        argv = (command.replace("/usr/local/", self.path("usr/")).replace("/etc/xec/xec.conf", self.conf)
                .replace("%f", mnt).split())
        for _ in range(2):
            self.run_program(argv)
            self.write(f"{mnt}/f", "content")
            self.assertEqual(len(self.processes(mnt)), 1)
            os.kill(self.processes(mnt)[0], signal.SIGKILL)
            self.eventually(lambda: not self.processes(mnt), 60, "its process ends")
        self.run_program(argv)
        self.end(mnt)
        self.assertEqual(self.mounts(), [])

    def test_a_key_for_servers(self):
        """A line of fstab could not name it."""
        key = self.path("xec.keytab")
        self.run_program(["xrdsssadmin", "-k", "xec", "-u", "xec", "-g", "xec", "add", key], stdin=b"y\n")
        os.chown(key, xectest.xrootd_cluster.User().entry.pw_uid, -1)
        server = self.cluster(1, redirector=False, server_lines=[
            "xrootd.seclib libXrdSec.so", f"sec.protocol sss -s {key}", "sec.protbind * only sss"]).servers[0]
        mnt = self.place()
        argv = ["mount", "-t", "xec", "-o", f"log={mnt}.log", server.url, mnt]
        self.assertIn("Auth failed", self.run_program(argv, code=MOUNT_FAILED).err)
        self.run_program([*argv[:-2], "-o", f"setenv=XrdSecSSSKT={key}", *argv[-2:]])
        self.write(f"{mnt}/f", "content")
        self.assertEqual(self.read(os.path.join(server.data, "f")), "content")


class Users(SystemTest):
    def setUp(self):
        super().setUp()
        # What `xec` makes as this user belongs to it.
        for directory in self.dirs:
            os.mkdir(directory)
            os.chown(directory, pwd.getpwnam(ONE).pw_uid, -1)
        os.mkdir(self.path("state"))
        os.chown(self.path("state"), pwd.getpwnam(ONE).pw_uid, -1)
        self.open_fuse_to_all()
        with open(self.path("fuse.conf"), "w") as file:
            file.write("# empty\n")
        self.bind(self.path("fuse.conf"), "/etc/fuse.conf")

    def mount_as(self, user, *options, code=0):
        return self.run_program(as_user(user, self.path("usr", "bin", "xec"), "mount", "-c", self.conf, *options,
                                        self.path("mnt")), code=code, env={"HOME": self.dir})

    def test_one_who_is_not_root_mounts_by_fstab(self):
        mnt = self.place(owner=ONE)
        self.fstab(f"{self.conf} {mnt} xec noauto,user 0 0")
        self.run_program(as_user(ONE, "mount", mnt))
        self.run_program(as_user(ONE, "sh", "-c", f"echo content > {mnt}/f; cat {mnt}/f"))
        # By default nobody else gets in, not even root.
        for argv in (as_user(OTHER, "ls", mnt), ["ls", mnt]):
            self.assertIn("Permission denied", self.run_program(argv, code=2).err)
        self.run_program(as_user(ONE, "umount", mnt))
        self.assertEqual(self.mounts(), [])

    def test_letting_others_in(self):
        mnt = self.place(owner=ONE)
        result = self.mount_as(ONE, "-o", "allow_other", code=EXIT_DENIED)
        self.assertIn("user_allow_other", result.err)
        self.assertEqual(self.mounts(), [])
        with open(self.path("fuse.conf"), "w") as file:
            file.write("user_allow_other\n")
        self.mount_as(ONE, "-o", "allow_other")
        self.run_program(as_user(ONE, "sh", "-c", f"echo content > {mnt}/f; echo mine > {mnt}/g; chmod 600 {mnt}/g"))
        self.assertEqual(self.run_program(as_user(OTHER, "cat", f"{mnt}/f")).out, "content\n")
        for word in (f"cat {mnt}/g", f"echo x > {mnt}/f", f"echo x > {mnt}/h", f"rm -f {mnt}/f", f"chmod 666 {mnt}/f"):
            result = self.run_program(as_user(OTHER, "sh", "-c", word), code=None)
            self.assertNotEqual(result.code, 0, word)
            self.assertRegex(result.err, "Permission denied|Operation not permitted", word)
        self.run_program(as_user(ONE, "fusermount3", "-u", mnt))

    def test_an_owner_by_option(self):
        mnt = self.place()
        user = pwd.getpwnam(OTHER)
        self.run_program(["mount", "-t", "xec", "-o", f"allow_other,uid={user.pw_uid},gid={user.pw_gid},file_mode=0640,"
                          f"dir_mode=0750,log={mnt}.log", self.conf, mnt])
        self.run_program(as_user(OTHER, "sh", "-c", f"umask 027; mkdir {mnt}/d; echo content > {mnt}/d/f"))
        status = os.stat(f"{mnt}/d/f")
        self.assertEqual((status.st_uid, status.st_gid, status.st_mode & 0o7777), (user.pw_uid, user.pw_gid, 0o640))
        self.assertEqual(os.stat(f"{mnt}/d").st_mode & 0o7777, 0o750)
        for word in (f"ls {mnt}", f"cat {mnt}/d/f", f"touch {mnt}/x"):
            self.assertNotEqual(self.run_program(as_user(ONE, "sh", "-c", word), code=None).code, 0, word)


if __name__ == "__main__":
    xectest.main()
