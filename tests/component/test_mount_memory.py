#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""More programs write to a mount than its memory has uploads for.

Bug: each write that waited for memory kept one of 16 threads of the mount, until uploads had been idle for 5 s. So `ls` and `stat`
hung for up to 12 s, again and again; and where uploads were never idle the others waited as long as these went on."""
import os
import threading
import time

import fuse_mounts
import xectest

# A stripe of 4+2 chunks of 64 KiB takes more than a sixth of it, and uploads have three quarters.
MEMORY = "2MiB"
WRITERS = 40
# Open at once by one program, so that the last ones have all the memory.
FILES = 7
# What no request of a mount may take. (It took a minute for the last of so many writers.)
SECONDS = 20
# What no request may take that needs no memory.
LOOK_SECONDS = 4


def content(number):
    """Almost a stripe; of the first file more, so that its commit needs memory for a whole one."""
    return b"%06d" % number * (80_000 if number == 0 else 40_000)


class Memory(fuse_mounts.StoreTestCase):
    def options(self):
        return [*super().options(), f"--memory={MEMORY}"]

    def start(self, body, *arguments):
        """Runs in a thread; its error is an error of the test, at its end."""
        def run():
            try:
                body(*arguments)
            except OSError as error:
                self.errors.append((arguments, error))
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def setUp(self):
        super().setUp()
        self.errors = []

    def look(self, mnt):
        begun = time.monotonic()
        os.stat(f"{mnt}/looked-at")
        self.assertIn("looked-at", os.listdir(mnt))
        return time.monotonic() - begun

    def open_files(self, folder):
        files = [open(f"{folder}/f{number}", "wb", buffering=0) for number in range(FILES)]
        for number, file in enumerate(files):
            file.write(content(number)[:240_000])
        files[0].write(content(0)[240_000:])
        return files

    def test_looks_go_on_while_writers_wait(self):
        mnt = self.mount("-o", "attr_timeout=0,entry_timeout=0")
        self.write(f"{mnt}/looked-at", "here")
        written, end = [], threading.Event()
        self.addCleanup(end.set)

        def write(number):
            with open(f"{mnt}/f{number}", "wb", buffering=0) as file:
                file.write(b"%d" % number)
                written.append(number)
                end.wait()
        begun = time.monotonic()
        threads = [self.start(write, number) for number in range(WRITERS)]
        looks = []
        while len(written) + len(self.errors) < WRITERS and time.monotonic() - begun < 10 * SECONDS:
            looks.append(self.look(mnt))
            end.wait(0.02)
        took = time.monotonic() - begun
        print(f"{WRITERS} programs wrote within {took:.1f} s; the longest look of {len(looks)} took {max(looks):.1f} s", flush=True)
        end.set()
        for thread in threads:
            thread.join(SECONDS)
        self.assertEqual(self.errors, [])
        self.assertLess(max(looks), LOOK_SECONDS)
        self.assertLess(took, SECONDS)
        for number in range(WRITERS):
            self.assertEqual(self.read(f"{mnt}/f{number}"), str(number))

    def test_uploads_that_go_on_make_room(self):
        """With a thread for each of them, and with too few."""
        for threads in (256, 2):
            with self.subTest(threads=threads):
                self.make_room(self.mount("-o", f"threads={threads}", name=f"mnt{threads}"))

    def make_room(self, mnt):
        end, pieces = threading.Event(), {}
        self.addCleanup(end.set)

        def go_on(number):
            with open(f"{mnt}/long{number}", "wb", buffering=0) as file:
                pieces[number] = 0
                while not end.is_set():
                    file.write(b"%05d" % pieces[number])
                    pieces[number] += 1
                    end.wait(0.05)
        threads = [self.start(go_on, number) for number in range(6)]
        begun = time.monotonic()
        for number in range(6):
            self.write(f"{mnt}/short{number}", "short")
        took = time.monotonic() - begun
        print(f"six files were written in {took:.1f} s beside uploads that go on", flush=True)
        end.set()
        for thread in threads:
            thread.join(SECONDS)
        self.assertEqual(self.errors, [])
        self.assertLess(took, SECONDS)
        for number, count in pieces.items():
            self.assertEqual(self.read(f"{mnt}/long{number}"), "".join(f"{i:05d}" for i in range(count)))
        for number in range(6):
            self.assertEqual(self.read(f"{mnt}/short{number}"), "short")

    def test_what_is_open_at_the_end_is_stored(self):
        """The first one could wait for memory that the next ones had, and the mount never ended."""
        mnt = self.mount()
        files = self.open_files(mnt)
        self.end(mnt)
        for file in files:
            self.assertRaises(OSError, file.close)
        for number in range(FILES):
            self.assertTrue(self.xec("cat", f"/f{number}", binary=True).out == content(number), number)

    def test_a_directory_with_open_files_is_renamed(self):
        """All its files are held meanwhile, so none may wait for memory that another one has."""
        mnt = self.mount()
        os.mkdir(f"{mnt}/d")
        files = self.open_files(f"{mnt}/d")
        self.run_program(["mv", f"{mnt}/d", f"{mnt}/e"], seconds=10 * SECONDS)
        for file in files:
            file.write(b"!")
            file.close()
        for number in range(FILES):
            with open(f"{mnt}/e/f{number}", "rb") as file:
                self.assertTrue(file.read() == content(number) + b"!", number)

    def test_many_whole_files_at_once(self):
        mnt = self.mount("-o", "threads=3")
        contents = [os.urandom(200_000 + 100_000 * (number % 5)) for number in range(20)]

        def write(number):
            self.write(f"{mnt}/f{number}", contents[number], "wb")
        for thread in [self.start(write, number) for number in range(20)]:
            thread.join(10 * SECONDS)
        self.assertEqual(self.errors, [])
        for number, content in enumerate(contents):
            with open(f"{mnt}/f{number}", "rb") as file:
                self.assertTrue(file.read() == content, number)


if __name__ == "__main__":
    xectest.main()
