#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec mount: files that are open while their names are removed, replaced and made anew, by one mount or two."""
import errno
import os
import random
import threading

import fuse_mounts
import xectest


class OneMount(fuse_mounts.StoreTestCase):
    def test_a_removed_file_does_without_its_name(self):
        mnt = self.mount()
        with open(f"{mnt}/f", "w+b", buffering=0) as file:
            file.write(b"first")
            os.fsync(file.fileno())
            os.remove(f"{mnt}/f")
            self.assertEqual(os.pread(file.fileno(), 100, 0), b"first")
            os.pwrite(file.fileno(), b"F", 0)
            with open(f"/proc/self/fd/{file.fileno()}", "rb") as again:
                self.assertEqual(again.read(), b"First")
            file.truncate(0)
            os.pwrite(file.fileno(), b"anew", 0)
            self.assertEqual(os.pread(file.fileno(), 100, 0), b"anew")
        # What streams into an upload goes on.
        piece = b"0123456789" * 10_000
        with open(f"{mnt}/g", "w+b", buffering=0) as file:
            for i in range(20):
                file.write(piece)
                if i == 10:
                    os.remove(f"{mnt}/g")
            file.seek(0)
            self.assertTrue(file.read() == 20 * piece)
        # A reader outlives the writer.
        with open(f"{mnt}/h", "wb", buffering=0) as writer:
            writer.write(b"content")
            reader = open(f"{mnt}/h", "rb", buffering=0)
            os.remove(f"{mnt}/h")
        with reader:
            self.assertEqual(reader.read(), b"content")
            self.assertEqual(os.fstat(reader.fileno()).st_size, 7)
        self.assertEqual(os.listdir(mnt), [])

    def test_bytes_that_are_gone_are_told(self):
        conf = self.path("conf")
        self.write(conf, "xec.superseded-grace 1ms\n")
        mnt = self.mount("-c", conf)
        self.write(f"{mnt}/f", b"x" * (3 << 20), "wb")
        with open(f"{mnt}/f", "rb", buffering=0) as file:
            file.read(10)
            os.remove(f"{mnt}/f")
            self.xec("clean", "-c", conf)
            with self.assertRaises(OSError) as caught:
                os.pread(file.fileno(), 10, 2 << 20)
            self.assertEqual(caught.exception.errno, errno.ESTALE)

    def test_a_new_file_is_not_taken_for_the_one_that_had_its_name(self):
        mnt = self.mount()
        self.write(f"{mnt}/f", "old")
        os.rename(f"{mnt}/f", f"{mnt}/f~")
        self.write(f"{mnt}/f", "new")
        self.run_program(["diff", f"{mnt}/f", f"{mnt}/f~"], code=1)
        self.run_program(["cp", f"{mnt}/f", f"{mnt}/f~"])
        self.assertEqual(self.read(f"{mnt}/f~"), "new")

    def test_a_name_that_is_replaced_is_always_there(self):
        mnt = self.mount()
        self.write(f"{mnt}/f", "content")

        def replace():
            for _ in range(30):
                self.write(f"{mnt}/t", "content")
                os.rename(f"{mnt}/t", f"{mnt}/f")
        thread = threading.Thread(target=replace)
        thread.start()
        while thread.is_alive():
            self.assertEqual(self.read(f"{mnt}/f"), "content")
            self.assertEqual(os.stat(f"{mnt}/f").st_size, 7)
        thread.join()


class TwoMounts(fuse_mounts.StoreTestCase):
    def test_the_last_writer_wins_if_it_is_told_to(self):
        """There was no way to say so, though programs on the C interface had one."""
        one, two = self.mount("-o", "last_writer_wins", name="one"), self.mount(name="two")
        self.write(f"{one}/f", "1111111111")
        with open(f"{one}/f", "r+") as file:
            file.write("one")
            file.flush()
            self.write(f"{two}/f", "2222222222")
        self.assertEqual(self.read(f"{two}/f"), "one1111111")
        # What was not changed yet is changed as it is by then.
        with open(f"{one}/f", "r+") as file:
            self.write(f"{two}/f", "2222222222")
            file.write("one")
        self.assertEqual(self.read(f"{two}/f"), "one2222222")
        # One that was removed is there again.
        with open(f"{one}/f", "r+") as file:
            file.write("two")
            file.flush()
            os.remove(f"{two}/f")
        self.assertEqual(self.read(f"{two}/f"), "two2222222")
        result = self.run_program([self.program("xec"), "mount", "-o", "last_writer_wins", "root://127.0.0.1:1",
                                   self.path("none")], code=2)
        self.assertIn("only mounts of a store have it", result.err)

    def test_what_was_seen_is_what_is_changed(self):
        one, two = self.mount(name="one"), self.mount(name="two")
        self.write(f"{one}/f", "1111111111")
        for name, mode in (("new", "x"), ("f", "r+")):
            with open(f"{one}/{name}", mode) as file:
                self.write(f"{two}/{name}", "2222222222")
                with self.assertRaises(OSError) as caught:
                    os.write(file.fileno(), b"one")
            self.assertEqual(caught.exception.errno, errno.ESTALE)
            self.assertEqual(self.read(f"{two}/{name}"), "2222222222")
        # Settings and attributes, whoever sets them, are no other version.
        with open(f"{one}/f", "r+") as file:
            for mnt in (one, two):
                os.chmod(f"{mnt}/f", 0o600)
                os.utime(f"{mnt}/f", (1, 1))
                os.setxattr(f"{mnt}/f", "user.a", mnt.encode())
            file.write("3")
        self.assertEqual(self.read(f"{two}/f"), "3222222222")

    def test_what_is_read_stays_as_it_was_opened(self):
        one, two = self.mount("-o", "attr_timeout=0s", name="one"), self.mount(name="two")
        content = random.Random(1).randbytes(3 << 20)
        for anew in (b"short", content + b"longer"):
            self.write(f"{two}/f", content, "wb")
            with open(f"{one}/f", "rb") as file:
                start = file.read(10)
                self.write(f"{two}/f", anew, "wb")
                self.assertEqual(os.stat(f"{one}/f").st_size, len(content))
                self.assertTrue(start + file.read() == content)
            with open(f"{one}/f", "rb") as file:
                self.assertTrue(file.read() == anew)
            self.assertEqual(os.stat(f"{one}/f").st_size, len(anew))

    def test_a_name_that_another_mount_removed_is_made_anew(self):
        one, two = self.mount(name="one"), self.mount(name="two")
        self.write(f"{one}/f", "of old")
        with open(f"{one}/f", "r+") as old:
            old.write("OF")
            old.flush()
            os.remove(f"{two}/f")
            self.write(f"{one}/f", "new")
            self.assertEqual(self.read(f"{two}/f"), "new")
            old.seek(0)
            self.assertEqual(old.read(), "OF old")
        self.assertEqual(self.read(f"{one}/f"), "new")


if __name__ == "__main__":
    xectest.main()
