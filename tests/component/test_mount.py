#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount: a store as a directory, used by programs that know files and nothing else."""
import errno
import mmap
import os
import random
import shutil
import signal
import stat
import subprocess
import threading

import fuse_mounts
import xectest

EXIT_USAGE, EXIT_NOT_FOUND, EXIT_KIND = 2, 3, 10
MIB = 1 << 20
TIME_NS = 1_234_567_890_123_456_789


class Files(fuse_mounts.StoreTestCase):
    def test_everyday_commands(self):
        mnt = self.mount()
        file = self.random_file("r", 3_000_001)
        for argv in (["mkdir", "-p", f"{mnt}/a/b"], ["cp", file, f"{mnt}/a/b/r"], ["cmp", file, f"{mnt}/a/b/r"],
                     ["mv", f"{mnt}/a/b/r", f"{mnt}/a/s"], ["mv", f"{mnt}/a", f"{mnt}/c"], ["cmp", file, f"{mnt}/c/s"],
                     ["rmdir", f"{mnt}/c/b"], ["chmod", "600", f"{mnt}/c/s"],
                     ["setfattr", "-n", "user.k", "-v", "v", f"{mnt}/c/s"]):
            self.run_program(argv)
        self.assertEqual(self.run_program(["ls", f"{mnt}/c"]).out, "s\n")
        self.assertRegex(self.run_program(["ls", "-l", f"{mnt}/c"]).out, r"\n-rw------- .* 3000001 .* s\n")
        self.assertIn('user.k="v"', self.run_program(["getfattr", "-d", "--absolute-names", f"{mnt}/c/s"]).out)
        self.assertRegex(self.run_program(["df", mnt]).out, r"\nxec +[1-9]\d* ")
        # What it is for everybody else.
        self.xec("get", "/c/s", self.path("back"))
        self.assert_same(file, self.path("back"))
        self.run_program(["rm", "-r", f"{mnt}/c"])
        self.assertEqual(self.xec("ls").out, "")
        self.unmount(mnt)
        self.assertFalse(os.path.ismount(mnt))

    def test_errors_are_those_of_files(self):
        mnt = self.mount()
        os.mkdir(f"{mnt}/d")
        self.write(f"{mnt}/d/f", "x")
        for number, body in ((errno.ENOENT, lambda: os.stat(f"{mnt}/x")), (errno.EEXIST, lambda: os.mkdir(f"{mnt}/d")),
                             (errno.ENOTEMPTY, lambda: os.rmdir(f"{mnt}/d")), (errno.EISDIR, lambda: os.remove(f"{mnt}/d")),
                             (errno.ENOTDIR, lambda: os.stat(f"{mnt}/d/f/x")),
                             (errno.ENOENT, lambda: open(f"{mnt}/x/y", "w").close()),
                             (errno.EEXIST, lambda: open(f"{mnt}/d/f", "x").close()),
                             (errno.ENOTDIR, lambda: os.rename(f"{mnt}/d", f"{mnt}/d/f")),
                             (errno.EPERM, lambda: os.chown(f"{mnt}/d/f", 12, 34)),
                             (errno.ENODATA, lambda: os.getxattr(f"{mnt}/d/f", "user.none")),
                             (errno.EOPNOTSUPP, lambda: os.setxattr(f"{mnt}/d/f", "user.xec.note", b"hidden"))):
            with self.subTest(errno.errorcode[number]), self.assertRaises(OSError) as caught:
                body()
            self.assertIn(caught.exception.errno, (number, errno.EINVAL if number == errno.ENOTDIR else number))

    def test_trees_there_and_back(self):
        mnt = self.mount()
        source = self.path("source")
        shutil.copytree(os.path.join(xectest.REPO, "src", "cli"), source)
        os.chmod(f"{source}/main.cc", 0o751)
        os.utime(f"{source}/main.cc", (1_000_000_000, 1_000_000_000))
        self.run_program(["sh", "-c", f"tar cf - -C {self.dir} source | tar xf - -C {mnt}"])
        self.run_program(["sh", "-c", f"mkdir {self.dir}/back && tar cf - -C {mnt} source | tar xf - -C {self.dir}/back"])
        self.run_program(["diff", "-r", source, self.path("back", "source")])
        for path in (f"{mnt}/source/main.cc", self.path("back", "source", "main.cc")):
            self.assertEqual((stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_mtime), (0o751, 1_000_000_000))
        shutil.copytree(f"{mnt}/source", f"{mnt}/copy")
        self.run_program(["diff", "-r", source, f"{mnt}/copy"])
        self.assertEqual(os.stat(f"{mnt}/copy/main.cc").st_mtime, 1_000_000_000)
        shutil.rmtree(f"{mnt}/source")
        self.assertEqual(os.listdir(mnt), ["copy"])

    def test_git_clones_into_it(self):
        mnt = self.mount()
        repo = self.path("repo")
        git = ["git", "-c", "user.name=a", "-c", "user.email=b"]
        self.run_program(["git", "init", "-q", repo])
        shutil.copytree(os.path.join(xectest.REPO, "docs"), f"{repo}/docs")
        self.run_program([*git, "-C", repo, "add", "."])
        self.run_program([*git, "-C", repo, "commit", "-q", "-m", "one"])
        self.run_program(["git", "clone", "-q", repo, f"{mnt}/clone"])
        self.run_program(["diff", "-r", f"{repo}/docs", f"{mnt}/clone/docs"])
        self.write(f"{mnt}/clone/new", "new\n")
        self.run_program([*git, "-C", f"{mnt}/clone", "add", "new"])
        self.run_program([*git, "-C", f"{mnt}/clone", "commit", "-q", "-m", "two"])
        self.assertEqual(self.run_program(["git", "-C", f"{mnt}/clone", "status", "--short"]).out, "")
        self.run_program(["git", "-C", f"{mnt}/clone", "fsck", "--strict"])

    def test_many_names(self):
        mnt = self.mount()
        os.mkdir(f"{mnt}/many")
        names = {f"name-{i}" for i in range(2500)}

        def make(part):
            for name in part:
                os.close(os.open(f"{mnt}/many/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        threads = [threading.Thread(target=make, args=(sorted(names)[i::8],)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(os.listdir(f"{mnt}/many")), names)
        with os.scandir(f"{mnt}/many") as entries:
            self.assertEqual({entry.name for entry in entries if entry.is_file()}, names)
        # Removing on the way hides nothing.
        self.run_program(["rm", "-r", f"{mnt}/many"])
        self.assertEqual(os.listdir(mnt), [])


class Handles(fuse_mounts.StoreTestCase):
    def test_a_removed_file_lives_until_it_is_closed(self):
        mnt = self.mount()
        self.write(f"{mnt}/f", "content")
        with open(f"{mnt}/f") as file:
            os.remove(f"{mnt}/f")
            self.assertEqual(os.listdir(mnt), [])
            self.assertEqual(file.read(), "content")
            self.assertEqual(os.fstat(file.fileno()).st_size, 7)
        with open(f"{mnt}/g", "w+") as file:
            os.remove(f"{mnt}/g")
            file.write("nowhere")
            file.seek(2)
            self.assertEqual(file.read(), "where")
        self.assertEqual(os.listdir(mnt), [])

    def test_a_removed_file_is_given_a_mode_a_time_and_attributes(self):
        """ENOENT and ESTALE were the answers, and the mode and time that it had had were not told."""
        mnt = self.mount("-o", "attr_timeout=0")
        self.write(f"{mnt}/f", "content")
        os.chmod(f"{mnt}/f", 0o600)
        os.utime(f"{mnt}/f", ns=(0, TIME_NS))
        os.setxattr(f"{mnt}/f", "user.k", b"v")
        for mode in ("rb", "r+b"):
            shutil.copy2(f"{mnt}/f", f"{mnt}/g")
            with open(f"{mnt}/g", mode) as file:
                os.remove(f"{mnt}/g")
                status = os.fstat(file.fileno())
                self.assertEqual((stat.S_IMODE(status.st_mode), status.st_mtime_ns, status.st_nlink), (0o600, TIME_NS, 0))
                os.fchmod(file.fileno(), 0o640)
                os.utime(file.fileno(), ns=(0, TIME_NS + 1))
                os.setxattr(file.fileno(), "user.l", b"w")
                status = os.fstat(file.fileno())
                self.assertEqual((stat.S_IMODE(status.st_mode), status.st_mtime_ns), (0o640, TIME_NS + 1))
                self.assertEqual({name: os.getxattr(file.fileno(), name) for name in os.listxattr(file.fileno())},
                                 {"user.k": b"v", "user.l": b"w"})

    def test_a_file_that_is_replaced_lives_until_it_is_closed(self):
        """After a sync it could be neither read nor written any more, and no more from its start."""
        mnt = self.mount()
        with open(f"{mnt}/f", "w+b", buffering=0) as file, open(f"{mnt}/f", "rb", buffering=0) as reader:
            file.write(b"old bytes")
            os.fsync(file.fileno())
            self.write(f"{mnt}/new", "new")
            os.rename(f"{mnt}/new", f"{mnt}/f")
            self.assertEqual(os.pread(file.fileno(), 100, 0), b"old bytes")
            file.write(b"!")
            self.assertEqual(os.pread(reader.fileno(), 100, 0), b"old bytes!")
            os.ftruncate(file.fileno(), 0)
            os.pwrite(file.fileno(), b"anew", 0)
            os.fsync(file.fileno())
            file.close()
            self.assertEqual(os.pread(reader.fileno(), 100, 0), b"anew")
        self.assertEqual(self.read(f"{mnt}/f"), "new")

    def test_a_file_is_renamed_while_it_is_open(self):
        mnt = self.mount()
        os.mkdir(f"{mnt}/d")
        with open(f"{mnt}/d/f", "w") as file:
            file.write("first ")
            file.flush()
            os.rename(f"{mnt}/d", f"{mnt}/e")
            self.assertEqual(self.read(f"{mnt}/e/f"), "first ")
        self.write(f"{mnt}/g", "old")
        with open(f"{mnt}/g") as old:
            os.rename(f"{mnt}/e/f", f"{mnt}/g")
            self.assertEqual(old.read(), "old")
        self.assertEqual(self.read(f"{mnt}/g"), "first ")

    def test_times(self):
        mnt = self.mount()
        self.write(f"{mnt}/f", "x")
        os.utime(f"{mnt}/f", ns=(0, 1_234_567_890_123_000_000))
        os.mkdir(f"{mnt}/d")
        os.utime(f"{mnt}/d", (0, 1000))
        for path, time in ((f"{mnt}/f", 1_234_567_890_123_000_000), (f"{mnt}/d", 1000 * 10**9)):
            self.assertEqual(os.stat(path).st_mtime_ns, time)
        # A listing that is told with its names' status too.
        self.assertRegex(self.run_program(["ls", "-l", "--time-style=+%s", mnt]).out, " 1234567890 f\n")
        os.rename(f"{mnt}/f", f"{mnt}/g")
        self.assertEqual(os.stat(f"{mnt}/g").st_mtime_ns, 1_234_567_890_123_000_000)
        self.run_program(["touch", f"{mnt}/g"])
        touched = os.stat(f"{mnt}/g").st_mtime
        self.assertGreater(touched, 1_700_000_000)
        self.run_program(["touch", "-d", "1969-12-31 23:59:58.5 UTC", f"{mnt}/g"])
        self.assertEqual(os.stat(f"{mnt}/g").st_mtime, -1.5)
        # Of other bytes it is not the time.
        self.write(f"{mnt}/g", "other")
        self.assertGreaterEqual(os.stat(f"{mnt}/g").st_mtime, touched)


    def test_times_of_changes(self):
        """A directory had the time at which it was made, and ctime was what touch had set."""
        mnt = self.mount("-o", "attr_timeout=0")
        os.mkdir(f"{mnt}/d")
        for change in (lambda: self.write(f"{mnt}/d/f", "x"), lambda: os.rename(f"{mnt}/d/f", f"{mnt}/d/g"),
                       lambda: os.mkdir(f"{mnt}/d/e"), lambda: os.rmdir(f"{mnt}/d/e"), lambda: os.remove(f"{mnt}/d/g")):
            os.utime(f"{mnt}/d", (1000, 1000))
            self.assertEqual(os.stat(f"{mnt}/d").st_mtime, 1000)
            change()
            self.assertGreater(os.stat(f"{mnt}/d").st_mtime, 1_700_000_000)
        self.write(f"{mnt}/f", "x")
        written = os.stat(f"{mnt}/f").st_ctime
        os.utime(f"{mnt}/f", (1000, 1000))
        self.assertEqual((os.stat(f"{mnt}/f").st_mtime, os.stat(f"{mnt}/f").st_ctime), (1000, written))

    def test_listings_are_known_for_a_while(self):
        mnt = self.mount("-o", "dir_timeout=1h,entry_timeout=0")
        os.mkdir(f"{mnt}/d")
        self.write(f"{mnt}/d/f", "x")
        self.assertEqual(os.listdir(f"{mnt}/d"), ["f"])
        # What is done elsewhere is found by its name.
        self.xec("put", self.random_file("r", 10), "/d/g")
        self.assertEqual(os.listdir(f"{mnt}/d"), ["f"])
        self.assertEqual(os.stat(f"{mnt}/d/g").st_size, 10)
        self.write(f"{mnt}/d/f", "longer")
        self.assertIn(" 6 ", self.run_program(["ls", "-l", f"{mnt}/d"]).out)
        self.assertEqual(sorted(os.listdir(f"{mnt}/d")), ["f", "g"])


class Changes(fuse_mounts.StoreTestCase):
    def test_writes_anywhere(self):
        mnt = self.mount()
        chances = random.Random(1)
        local, there = self.path("local"), f"{mnt}/there"
        content = chances.randbytes(2 * MIB)
        for path in (local, there):
            self.write(path, content, "wb")
        with open(local, "r+b", buffering=0) as one, open(there, "r+b", buffering=0) as other:
            for _ in range(300):
                place, size = chances.randrange(3 * MIB), chances.randrange(1, 70_000)
                what = chances.randrange(20)
                piece = chances.randbytes(size)
                for file in (one, other):
                    if what == 0:
                        os.ftruncate(file.fileno(), place)
                    elif what == 1:
                        os.fsync(file.fileno())
                    else:
                        os.pwrite(file.fileno(), piece, place)
                self.assertEqual(os.pread(other.fileno(), 100_000, place), os.pread(one.fileno(), 100_000, place))
        self.assert_same(local, there)
        self.xec("get", "/there", self.path("back"))
        self.assert_same(local, self.path("back"))

    def test_appending(self):
        mnt = self.mount()
        self.run_program(["sh", "-c", f"(echo a; ls /; echo b) > {mnt}/f; echo c >> {mnt}/f; (echo d; echo e) >> {mnt}/f"])
        lines = self.read(f"{mnt}/f").splitlines()
        self.assertEqual((lines[0], lines[-4:]), ("a", ["b", "c", "d", "e"]))
        # Two that append see each other's end.
        with open(f"{mnt}/g", "a") as one, open(f"{mnt}/g", "a") as other:
            for i in range(10):
                print(i, file=one if i % 2 else other, flush=True)
        self.assertEqual(self.read(f"{mnt}/g"), "".join(f"{i}\n" for i in range(10)))

    def test_mode_and_attributes_stay_with_a_changed_file(self):
        mnt = self.mount()
        self.write(f"{mnt}/f", "#!/bin/sh\n")
        os.chmod(f"{mnt}/f", 0o755)
        os.setxattr(f"{mnt}/f", "user.k", b"v")
        for mode in ("a", "w"):
            self.write(f"{mnt}/f", "echo it runs\n", mode)
            self.assertEqual(stat.S_IMODE(os.stat(f"{mnt}/f").st_mode), 0o755)
            self.assertEqual(os.getxattr(f"{mnt}/f", "user.k"), b"v")
        # As cp -p and install do.
        with open(f"{mnt}/f", "a") as file:
            file.write("echo more\n")
            file.flush()
            os.fchmod(file.fileno(), 0o700)
            os.setxattr(file.fileno(), "user.k", b"w")
            os.utime(file.fileno(), (1000, 1000))
        status = os.stat(f"{mnt}/f")
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_mtime), (0o700, 1000))
        self.assertEqual(os.getxattr(f"{mnt}/f", "user.k"), b"w")

    def test_what_is_set_before_the_close_is_in_the_version(self):
        """Mode and time were attributes of their own, which cost requests for each file."""
        mnt = self.mount()
        self.write(self.path("f"), "bytes")
        os.chmod(self.path("f"), 0o751)
        os.utime(self.path("f"), ns=(1, TIME_NS))
        self.run_program(["cp", "-p", self.path("f"), f"{mnt}/copied"])
        self.run_program(["sh", "-c", f"tar -c -C {self.dir} --format=posix f | tar -x -C {mnt}"])
        for _ in range(2):
            for name in ("copied", "f"):
                status = os.stat(f"{mnt}/{name}")
                self.assertEqual((oct(status.st_mode), status.st_mtime_ns), (oct(stat.S_IFREG | 0o751), TIME_NS))
            self.unmount(mnt)
            self.mount()
        states = [os.path.basename(file) for directory in self.dirs for file in self.files_below(directory) if ".~xo/" in file]
        self.assertTrue(any(f".set-m0751_t{TIME_NS}" in state for state in states), states)
        self.assertFalse([state for state in states if state.startswith("a.")])

    def test_links(self):
        mnt = self.mount()
        os.mkdir(f"{mnt}/d")
        self.write(f"{mnt}/d/file", "content")
        for target, name in (("d/file", "to_file"), ("d", "to_directory"), ("none", "dangling"), ("x" * 4095, "long"),
                             ("loop", "loop"), (f"{mnt}/d/file", "absolute")):
            os.symlink(target, f"{mnt}/{name}")
            self.assertEqual(os.readlink(f"{mnt}/{name}"), target)
            status = os.lstat(f"{mnt}/{name}")
            self.assertTrue(stat.S_ISLNK(status.st_mode))
            self.assertEqual(status.st_size, len(target))
        self.assertEqual(self.read(f"{mnt}/to_file"), "content")
        self.assertEqual(os.listdir(f"{mnt}/to_directory"), ["file"])
        for name, problem in (("dangling", errno.ENOENT), ("loop", errno.ELOOP), ("long", errno.ENAMETOOLONG)):
            with self.assertRaises(OSError) as raised:
                os.stat(f"{mnt}/{name}")
            self.assertEqual(raised.exception.errno, problem)
        with self.assertRaises(OSError) as raised:
            os.open(f"{mnt}/to_file", os.O_RDONLY | os.O_NOFOLLOW)
        self.assertEqual(raised.exception.errno, errno.ELOOP)
        with self.assertRaises(FileExistsError):
            os.symlink("again", f"{mnt}/to_file")
        links = {entry.name for entry in os.scandir(mnt) if entry.is_symlink()}
        self.assertEqual(links, {"to_file", "to_directory", "dangling", "long", "loop", "absolute"})
        # The link itself is renamed, given a time and removed, and what it leads to stays.
        os.rename(f"{mnt}/to_file", f"{mnt}/moved")
        os.utime(f"{mnt}/moved", (1000, 1000), follow_symlinks=False)
        self.assertEqual((os.readlink(f"{mnt}/moved"), os.lstat(f"{mnt}/moved").st_mtime), ("d/file", 1000))
        self.unmount(mnt)
        self.mount()
        self.assertEqual((os.readlink(f"{mnt}/moved"), os.lstat(f"{mnt}/moved").st_mtime), ("d/file", 1000))
        self.assertEqual(self.xec("cat", "/moved").out, "d/file")
        self.assertIn("moved@", self.xec("ls", "/").out)
        self.assertEqual(self.xec("stat", "/moved").out.split()[:4], ["path", "/moved", "type", "link"])
        os.remove(f"{mnt}/moved")
        self.assertEqual(self.read(f"{mnt}/d/file"), "content")
        # A name that becomes another kind of thing.
        os.symlink("d/file", f"{mnt}/other")
        self.write(f"{mnt}/plain", "plain")
        os.rename(f"{mnt}/plain", f"{mnt}/other")
        self.assertEqual(self.read(f"{mnt}/other"), "plain")
        self.assertTrue(stat.S_ISREG(os.lstat(f"{mnt}/other").st_mode))

    def test_mapped_memory(self):
        mnt = self.mount()
        self.write(f"{mnt}/f", b"x" * 100_000, "wb")
        with open(f"{mnt}/f", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[50_000:50_005] = b"hello"
        content = bytearray(b"x" * 100_000)
        content[50_000:50_005] = b"hello"
        # Of a handle that appends pages have their places, too.
        with open(f"{mnt}/f", "a+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[70_000:70_005] = content[70_000:70_005] = b"again"
        self.unmount(mnt)
        self.assertEqual(self.xec("cat", "/f", binary=True).out, bytes(content))

    def test_a_database(self):
        mnt = self.mount()
        base = f"{mnt}/base.db"
        sqlite = ["sqlite3", "-bail", base]
        self.run_program([*sqlite, "create table t(a integer primary key, b text); insert into t(b) values ('one');"])
        for i in range(5):
            self.run_program([*sqlite, f"begin; insert into t(b) select b || {i} from t; commit;"])
        self.assertEqual(self.run_program([*sqlite, "pragma integrity_check; select count(*) from t"]).out, "ok\n32\n")
        self.unmount(mnt)
        self.mount()
        self.assertEqual(self.run_program([*sqlite, "select count(*) from t"]).out, "32\n")


class TwoMounts(fuse_mounts.StoreTestCase):
    def test_an_open_sees_what_was_closed_elsewhere(self):
        one, two = self.mount(name="one"), self.mount("-o", "attr_timeout=1h,entry_timeout=1h", name="two")
        self.write(f"{one}/f", "first")
        self.assertEqual(self.read(f"{two}/f"), "first")
        self.write(f"{one}/f", "a second one")
        self.assertEqual(self.read(f"{two}/f"), "a second one")
        self.write(f"{two}/f", "third")
        self.assertEqual(self.read(f"{one}/f"), "third")

    def test_of_two_that_make_a_file_one_wins(self):
        """The other one could hear EBUSY."""
        mounts = [self.mount(name=name) for name in ("one", "two")]
        for i in range(30):
            made, failed = [], []

            def make(mnt, name=f"lock-{i}", made=made, failed=failed):
                try:
                    os.close(os.open(f"{mnt}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                    made.append(mnt)
                except OSError as error:
                    failed.append(error.errno)
            threads = [threading.Thread(target=make, args=(mnt,)) for mnt in mounts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((len(made), failed), (1, [errno.EEXIST]))

    def test_a_change_does_not_overwrite_anothers(self):
        one, two = self.mount(name="one"), self.mount(name="two")
        with open(f"{one}/f", "w") as file:
            file.write("mine")
            file.flush()
            self.write(f"{two}/f", "theirs")
            with self.assertRaises(OSError) as caught:
                file.close()
            self.assertEqual(caught.exception.errno, errno.ESTALE)
        self.assertEqual(self.read(f"{one}/f"), "theirs")
        self.assertIn("not_current", self.log("one"))


class Ends(fuse_mounts.StoreTestCase):
    def test_killed_and_mounted_again(self):
        mnt = self.mount()
        self.write(f"{mnt}/closed", "closed")
        file = open(f"{mnt}/open", "wb", buffering=0)
        file.write(bytes(5 * MIB))
        self.end(mnt, signal.SIGKILL)
        with self.assertRaises(OSError):
            file.close()
        self.mount()
        self.assertEqual(self.read(f"{mnt}/closed"), "closed")
        self.assertEqual(os.stat(f"{mnt}/open").st_size, 0)
        self.unmount(mnt)

    def test_sigterm_stores_what_is_open(self):
        mnt = self.mount()
        file = open(f"{mnt}/open", "wb", buffering=0)
        file.write(b"half of it")
        self.end(mnt)
        with self.assertRaises(OSError):
            file.write(b"the rest")
        self.assertFalse(os.path.ismount(mnt))
        self.assertIn("/open was open for writing: the 10 bytes that it had are stored", self.log())
        self.assertEqual(self.xec("cat", "/open").out, "half of it")
        with self.assertRaises(OSError):
            file.close()

    def test_in_the_foreground(self):
        path = self.path("mnt")
        os.mkdir(path)
        process = self.background([self.program("xec"), "mount", *self.options(), "-f", path])
        process.wait_line("ready: ")
        self.write(f"{path}/f", "x")
        self.run_program(["fusermount3", "-u", path])
        self.assertEqual(process.wait(), 0)
        self.assertEqual(self.xec("cat", "/f").out, "x")

    def test_what_cannot_be_mounted_is_said_in_a_sentence(self):
        file = self.random_file("file", 1)
        os.mkdir(self.path("mnt"))
        for code, words, sentence in ((EXIT_NOT_FOUND, [self.path("none")], "none: No such file"),
                                      (EXIT_KIND, [file], "it is no directory"),
                                      (EXIT_USAGE, ["-o", "ro,what", self.path("mnt")], "-o what: there is no such option"),
                                      (EXIT_USAGE, ["--memory=1B", self.path("mnt")], "is too little")):
            result = self.xec("mount", *words, code=code)
            self.assertRegex(result.err, r"^xec: .*\n$")
            self.assertIn(sentence, result.err)
        self.assertFalse(os.path.ismount(self.path("mnt")))


class Faults(fuse_mounts.StoreTestCase):
    def test_a_data_directory_goes_while_a_file_is_read(self):
        mnt = self.mount()
        file = self.random_file("r", 20 * MIB)
        shutil.copy(file, f"{mnt}/r")
        # So that nothing is in the kernel's pages.
        self.unmount(mnt)
        self.mount()
        with open(f"{mnt}/r", "rb") as there, open(file, "rb") as here:
            self.assertEqual(there.read(MIB), here.read(MIB))
            for directory in self.dirs[:2]:
                os.rename(directory, directory + ".gone")
            while piece := here.read(MIB):
                self.assertEqual(there.read(MIB), piece)
        self.write(f"{mnt}/new", "written with two away")
        self.assertEqual(self.read(f"{mnt}/new"), "written with two away")
        # Two more, and nobody can tell.
        for directory in self.dirs[2:4]:
            os.rename(directory, directory + ".gone")
        with self.assertRaises(OSError) as caught:
            os.stat(f"{mnt}/unknown")
        self.assertEqual(caught.exception.errno, errno.ETIMEDOUT)
        for directory in self.dirs[:4]:
            os.rename(directory + ".gone", directory)
        self.eventually(lambda: subprocess.run(["cat", f"{mnt}/new"], capture_output=True).returncode == 0, 60,
                        "it is read again")


if __name__ == "__main__":
    xectest.main()
