#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount root://...: a gateway, a plain server and the servers of a plain cluster as a directory."""
# waits
import contextlib
import errno
import os
import signal
import threading
import time

import fuse_mounts
import xectest

EXIT_UNREACHABLE = 5
# An operation that needs a server that is stopped: the limit of a request, and some patience.
LIMIT_SECONDS = 45


class MountTest(fuse_mounts.TestCase):
    def mount(self, url, *options):
        # The kernel is to ask each time.
        self.process, path = self.mount_beside("-o", "attr_timeout=0,entry_timeout=0", *options, url,
                                               name=f"mnt{len(os.listdir(self.dir))}")
        return path

    def assert_errno(self, numbers, body):
        with self.assertRaises(OSError) as caught:
            body()
        self.assertIn(caught.exception.errno, numbers, caught.exception)

    def assert_in_time(self, body):
        """It ends, with an error of a server that does not answer or none."""
        start = time.monotonic()
        with contextlib.suppress(TimeoutError):
            body()
        self.assertLess(time.monotonic() - start, LIMIT_SECONDS)

    def answers(self, body):
        with contextlib.suppress(OSError):
            return body()
        return False

    def check_everyday(self, mnt):
        file = self.random_file("r", 3_000_001)
        for argv in (["mkdir", "-p", f"{mnt}/a/b"], ["cp", file, f"{mnt}/a/b/r"], ["cmp", file, f"{mnt}/a/b/r"],
                     ["mv", f"{mnt}/a/b/r", f"{mnt}/a/s"], ["cmp", file, f"{mnt}/a/s"], ["mv", f"{mnt}/a", f"{mnt}/c"],
                     ["cmp", file, f"{mnt}/c/s"], ["rmdir", f"{mnt}/c/b"], ["chmod", "600", f"{mnt}/c/s"]):
            self.run_program(argv)
        self.assertEqual(self.run_program(["ls", f"{mnt}/c"]).out, "s\n")
        self.assertRegex(self.run_program(["ls", "-l", f"{mnt}/c"]).out, r"\n-rw------- .* 3000001 .* s\n")
        self.assertRegex(self.run_program(["df", mnt]).out, r"\n\S+ +[1-9]\d* ")
        # A second copy, over the first one.
        other = self.random_file("other", 1_000_000, 2)
        self.run_program(["cp", other, f"{mnt}/c/s"])
        self.run_program(["cmp", other, f"{mnt}/c/s"])
        self.run_program(["cp", file, f"{mnt}/c/t"])
        self.run_program(["mv", f"{mnt}/c/t", f"{mnt}/c/s"])
        self.run_program(["cmp", file, f"{mnt}/c/s"])
        self.assertEqual(os.listdir(f"{mnt}/c"), ["s"])
        self.check_errors(mnt)
        self.run_program(["rm", "-r", f"{mnt}/c"])
        self.assertNotIn("c", os.listdir(mnt))

    def check_errors(self, mnt):
        os.mkdir(f"{mnt}/d")
        self.write(f"{mnt}/d/f", "x")
        for number, body in ((errno.ENOENT, lambda: os.stat(f"{mnt}/x")), (errno.EEXIST, lambda: os.mkdir(f"{mnt}/d")),
                             (errno.ENOTEMPTY, lambda: os.rmdir(f"{mnt}/d")), (errno.EISDIR, lambda: os.remove(f"{mnt}/d")),
                             (errno.ENOENT, lambda: os.rmdir(f"{mnt}/y")), (errno.ENOENT, lambda: os.remove(f"{mnt}/y")),
                             (errno.ENOENT, lambda: open(f"{mnt}/x/y", "w").close()),
                             (errno.EEXIST, lambda: open(f"{mnt}/d/f", "x").close()),
                             (errno.EINVAL, lambda: open(f"{mnt}/d/a?b", "x").close())):
            with self.subTest(errno.errorcode[number]):
                self.assert_errno([number], body)
        self.run_program(["rm", "-r", f"{mnt}/d"])

    def check_in_place(self, mnt):
        path = f"{mnt}/in-place"
        self.write(path, "0123456789")
        with open(path, "r+b") as file:
            file.seek(3)
            file.write(b"abc")
            file.flush()
            self.assertEqual(os.fstat(file.fileno()).st_size, 10)
            file.seek(0)
            self.assertEqual(file.read(), b"012abc6789")
            os.fsync(file.fileno())
            file.truncate(4)
            file.seek(0, os.SEEK_END)
            file.write(b"end")
        self.assertEqual(self.read(path), "012aend")
        self.write(path, "+", "a")
        self.assertEqual(self.read(path), "012aend+")
        os.truncate(path, 2)
        self.assertEqual(self.read(path), "01")
        os.remove(path)


class OneServer(MountTest):
    def test_a_gateway(self):
        store = self.serve(geometry="2+1")
        mnt = self.mount(store.url)
        self.check_everyday(mnt)
        self.check_in_place(mnt)
        self.write(f"{mnt}/f", "content")
        self.assertEqual(self.xrdfs(store.url, "cat", "/f").out, "content")
        os.setxattr(f"{mnt}/f", "user.k", b"v")
        self.assertEqual((os.listxattr(f"{mnt}/f"), os.getxattr(f"{mnt}/f", "user.k")), (["user.k"], b"v"))
        os.removexattr(f"{mnt}/f", "user.k")
        self.assertEqual(os.listxattr(f"{mnt}/f"), [])
        self.check_removed_while_open(mnt)
        # The gateway is gone for a while.
        with open(f"{mnt}/f") as file:
            store.kill()
            self.assert_errno([errno.ETIMEDOUT], lambda: os.stat(f"{mnt}/f"))
            store.start()
            self.assertEqual(file.read(), "content")
        self.write(f"{mnt}/f", "again")
        self.assertEqual(self.read(f"{mnt}/f"), "again")

    def check_removed_while_open(self, mnt):
        """The close of an upload makes a gateway's file, but not one that was removed meanwhile."""
        with open(f"{mnt}/gone", "w") as file:
            file.write("x" * 100_000)
            file.flush()
            os.remove(f"{mnt}/gone")
        self.assertNotIn("gone", os.listdir(mnt))

    def test_a_part_of_a_plain_server(self):
        cluster = self.cluster(1, redirector=False)
        server = cluster.servers[0]
        os.makedirs(os.path.join(server.data, "part"))
        cluster.user.give(os.path.join(server.data, "part"))
        mnt = self.mount(f"{server.url}//part")
        self.check_everyday(mnt)
        self.check_in_place(mnt)
        self.check_removed_while_open(mnt)
        self.write(f"{mnt}/f", "content")
        self.assertEqual(self.read(os.path.join(server.data, "part", "f")), "content")
        self.check_a_stopped_server(mnt, server)
        self.check_a_killed_server(mnt, cluster, server)

    def check_a_stopped_server(self, mnt, server):
        server.freeze()
        self.assert_in_time(lambda: os.stat(f"{mnt}/f"))
        self.assert_in_time(lambda: os.listdir(mnt))
        self.assertTrue(os.path.ismount(mnt))
        server.thaw()
        self.eventually(lambda: self.answers(lambda: self.read(f"{mnt}/f") == "content"), 30, "the server answers again")

    def check_a_killed_server(self, mnt, cluster, server):
        """Changes that were under way are told as lost, and nothing else is."""
        with open(f"{mnt}/g", "w") as file, open(f"{mnt}/f") as reader:
            file.write("a" * 100_000)
            file.flush()
            server.kill()
            self.assert_errno([errno.ETIMEDOUT], lambda: os.stat(f"{mnt}/f"))
            cluster.start(server)
            self.assertEqual(reader.read(), "content")
            self.assert_errno([errno.ETIMEDOUT], lambda: os.fsync(file.fileno()))
            with contextlib.suppress(OSError):
                file.close()
        self.write(f"{mnt}/g", "anew")
        self.assertEqual(self.read(f"{mnt}/g"), "anew")

    def test_what_cannot_be_mounted(self):
        os.mkdir(self.path("mnt"))
        for url, code, words in ((f"root://127.0.0.1:{self.free_port()}", EXIT_UNREACHABLE, "refused|failed"),
                                 ("http://127.0.0.1", 2, "root://HOST")):
            result = self.run_program([self.program("xec"), "mount", url, self.path("mnt")], code=code)
            self.assertRegex(result.err, words)


class Cluster(MountTest):
    """Plain servers behind a redirector."""

    def setUp(self):
        super().setUp()
        # A server that is gone counts as one for 10 minutes else.
        self.servers = self.cluster(4, redirector_lines=["cms.delay drop 5"])
        self.mnt = self.mount(self.servers.redirector.url)

    def put_on(self, server, name, text):
        """As the server's own administrator would."""
        path = os.path.join(server.data, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.write(path, text)
        for each in (os.path.dirname(path), path):
            self.servers.user.give(each) if os.path.isdir(each) else os.chmod(each, 0o666)
        return path

    def own(self, name, value=None):
        if value is None:
            return os.getxattr(self.mnt, name).decode()
        return os.setxattr(self.mnt, name, value.encode())

    def known(self):
        return set(self.own("xrootdfs.fs.dataserverlist").splitlines())

    def urls(self, servers=None):
        return {server.url for server in servers or self.servers.servers}

    def test_a_cluster(self):
        """One cluster for all of it: its daemons take as long to start as the rest does."""
        for part in (self.check_shared_names, self.check_control, self.check_missing_names_are_fast, self.check_killed,
                     self.check_stopped):
            with self.subTest(part.__name__):
                part()
        self.check_everyday(self.mnt)
        self.check_in_place(self.mnt)
        self.check_the_end()

    def check_shared_names(self):
        for number, server in enumerate(self.servers.servers):
            self.put_on(server, f"shared/f{number}", f"of {number}")
            self.put_on(server, "shared/everywhere", "same")
        shared = f"{self.mnt}/shared"
        self.assertEqual(os.listdir(shared), ["everywhere", "f0", "f1", "f2", "f3"])
        for number in range(4):
            self.assertEqual(self.read(f"{shared}/f{number}"), f"of {number}")
        # What is on several servers is renamed and removed on all of them.
        os.rename(f"{shared}/everywhere", f"{shared}/renamed")
        os.rename(shared, f"{self.mnt}/moved")
        for number, server in enumerate(self.servers.servers):
            self.assertEqual(sorted(os.listdir(os.path.join(server.data, "moved"))), [f"f{number}", "renamed"])
        self.assertEqual(os.listdir(self.mnt), ["moved"])
        # A file that is replaced by one of another server is gone.
        os.rename(f"{self.mnt}/moved/f0", f"{self.mnt}/moved/f1")
        self.assertEqual(self.read(f"{self.mnt}/moved/f1"), "of 0")
        self.assertFalse(os.path.exists(os.path.join(self.servers.servers[1].data, "moved/f1")))
        self.assert_errno([errno.ENOTEMPTY], lambda: os.rmdir(f"{self.mnt}/moved"))
        os.remove(f"{self.mnt}/moved/renamed")
        self.assertEqual(os.listdir(f"{self.mnt}/moved"), ["f1", "f2", "f3"])
        self.run_program(["rm", "-r", f"{self.mnt}/moved"])
        self.assertEqual([os.listdir(server.data) for server in self.servers.servers], [[]] * 4)

    def check_missing_names_are_fast(self):
        """A redirector takes seconds to say that there is no such file."""
        start = time.monotonic()
        for number in range(20):
            self.assertFalse(os.path.exists(f"{self.mnt}/missing{number}"))
        self.assertLess(time.monotonic() - start, 2)

    def check_control(self):
        self.assertEqual(self.known(), self.urls())
        self.assertEqual(self.run_program(["getfattr", "--only-values", "--absolute-names", "-n", "xrootdfs.fs.workers",
                                           self.mnt]).out, "16")
        self.put_on(self.servers.servers[2], "f", "content")
        self.assertEqual(os.getxattr(f"{self.mnt}/f", "xrootdfs.file.permission"), b"rw-")
        # Without workers names wait until there are some. The kernel lets nobody change a directory that is being
        # listed, so that is not the mount's own.
        os.mkdir(f"{self.mnt}/sub")
        folder = os.open(f"{self.mnt}/sub", os.O_RDONLY)
        self.own("xrootdfs.fs.workers", "0")
        looked = []
        looks = threading.Thread(target=lambda: looked.append(os.listdir(folder)))
        looks.start()
        looks.join(1)
        self.assertEqual(looked, [])
        self.own("xrootdfs.fs.workers", "3")
        looks.join(10)
        self.assertEqual(looked, [[]])
        os.close(folder)
        os.rmdir(f"{self.mnt}/sub")
        self.assertEqual(self.own("xrootdfs.fs.workers"), "3")
        for value in ("257", "x", ""):
            self.assert_errno([errno.EINVAL], lambda: self.own("xrootdfs.fs.workers", value))
        self.assert_errno([errno.ENODATA], lambda: self.own("xrootdfs.fs.other"))
        # Others look, and change nothing.
        as_nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
        self.run_program([*as_nobody, "setfattr", "-n", "xrootdfs.fs.workers", "-v", "9", self.mnt], code=1)
        self.own("xrootdfs.fs.workers", "16")
        os.remove(f"{self.mnt}/f")

    def check_killed(self):
        """A server dies: what it has is an error in bounded time until the redirector has noticed, then it is not there."""
        servers = self.servers.servers
        for number, server in enumerate(servers):
            self.put_on(server, f"kept/f{number}", f"of {number}")
        kept = f"{self.mnt}/kept"
        self.assertEqual(len(os.listdir(kept)), 4)
        with open(f"{kept}/f0") as lost, open(f"{kept}/f1") as file:
            servers[0].kill()
            self.assert_errno([errno.ETIMEDOUT], lost.read)
            self.assertEqual(file.read(), "of 1")
        self.eventually(lambda: self.known() == self.urls(servers[1:]), 60, "the server is no more in the list")
        self.assertEqual(os.listdir(kept), ["f1", "f2", "f3"])
        self.write(f"{kept}/new", "new")
        self.assertEqual(self.read(f"{kept}/new"), "new")
        os.remove(f"{kept}/new")
        self.servers.start(servers[0])
        os.kill(self.process.pid, signal.SIGUSR2)
        self.eventually(lambda: self.known() == self.urls(), 30, "the server is in the list again")
        self.assertEqual(self.read(f"{kept}/f0"), "of 0")
        self.own("xrootdfs.fs.dataserverlist", "refresh")
        self.assertEqual(self.known(), self.urls())

    def check_stopped(self):
        """A server that hangs keeps nobody from what others have, and nobody for long."""
        servers = self.servers.servers
        kept = f"{self.mnt}/kept"
        servers[1].freeze()
        self.assert_in_time(lambda: os.listdir(kept))
        self.assert_in_time(lambda: self.read(f"{kept}/f1"))
        start = time.monotonic()
        for number in (0, 2, 3):
            self.assertEqual(self.read(f"{kept}/f{number}"), f"of {number}")
        self.assertLess(time.monotonic() - start, 5)
        self.assertTrue(os.path.ismount(self.mnt))
        servers[1].thaw()
        self.eventually(lambda: self.answers(lambda: len(os.listdir(kept)) == 4), 60, "the server answers again")
        self.run_program(["rm", "-r", kept])


    def check_the_end(self):
        """The process ends though a server owes answers, and files on it are open."""
        server = self.servers.servers[3]
        self.put_on(server, "f", "content")
        file = os.open(f"{self.mnt}/f", os.O_RDONLY)
        self.assertEqual(os.read(file, 100), b"content")
        server.freeze()
        self.assert_in_time(lambda: os.stat(f"{self.mnt}/f"))
        self.process.signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(LIMIT_SECONDS), 0)
        self.assert_errno([errno.ENOTCONN], lambda: os.close(file))
        self.assertFalse(os.path.ismount(self.mnt))


class Federation(MountTest):
    """Clusters below a redirector of redirectors."""

    def test_servers_below_two_levels(self):
        port, manager = self.free_port(), self.free_port()
        meta = f"all.manager meta {xectest.HOST}:{manager}"
        clusters = [self.cluster(2, redirector_lines=[meta]) for _ in range(2)]
        top = xectest.xrootd_cluster.Node(clusters[0], "meta", port)
        for folder in (top.base, os.path.join(top.base, "admin")):
            clusters[0].user.give(folder)
        admin = clusters[0].short_path(top.base) + "/admin"
        self.write(os.path.join(top.base, "xrootd.cfg"), f"""\
all.role meta manager
{meta}
all.export /
all.adminpath {admin}
all.pidpath {admin}
xrd.port {port}
if exec cmsd
  xrd.port {manager}
fi
cms.delay startup 2 servers 1 lookup 2 full 2
""")
        for program in ("cmsd", "xrootd"):
            top.start(program)
            self.addCleanup(getattr(top, program).kill)
        for program in ("cmsd", "xrootd"):
            top.ready(program, time.monotonic() + xectest.READY_SECONDS)
        servers = [server for cluster in clusters for server in cluster.servers]
        for number, server in enumerate(servers):
            self.write(os.path.join(server.data, f"f{number}"), f"of {number}")
        self.eventually(lambda: len(self.located(top)) == 4, 60, "the redirector knows the servers of both clusters")
        mnt = self.mount(top.url)
        self.assertEqual(len(os.getxattr(mnt, "xrootdfs.fs.dataserverlist").decode().splitlines()), 4)
        self.assertEqual(os.listdir(mnt), ["f0", "f1", "f2", "f3"])
        for number in range(4):
            self.assertEqual(self.read(f"{mnt}/f{number}"), f"of {number}")
        self.write(f"{mnt}/new", "new")
        self.assertEqual(self.read(f"{mnt}/new"), "new")
        os.remove(f"{mnt}/new")
        self.assertNotIn("new", os.listdir(mnt))

    def located(self, top):
        out = self.xrdfs(f"{xectest.HOST}:{top.port}", "locate", "-d", "-m", "*", code=None, env=xectest.QUICK_CLIENT).out
        return [line for line in out.splitlines() if " Server " in line]


if __name__ == "__main__":
    xectest.main()
