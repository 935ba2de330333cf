# SPDX-License-Identifier: LGPL-3.0-or-later
"""Objects that clients change: they append, write anywhere, truncate and read back, and die half-way."""
# seconds: 900
import os
import random
import urllib.parse

import cut_line
import grid_clients
import xectest
from editors import Editor, Refused

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB
STRIPE = 4 * CHUNK


class EditsTest(xectest.TestCase):
    def gateway(self, **options):
        return self.serve(**{"geometry": "4+2", "chunk_size": "64KiB", **options})

    def editor(self):
        return Editor(self)

    def put(self, store, name, data):
        path = self.path("put")
        with open(path, "wb") as file:
            file.write(data)
        self.xrdcp("-f", path, f"{store.url}/{name}")

    def get(self, store, name):
        path = self.path("got")
        self.xrdcp("-f", f"{store.url}/{name}", path)
        with open(path, "rb") as file:
            return file.read()

    def random(self, size, seed=1):
        return random.Random(seed).randbytes(size)

    def scratch_bytes(self, store):
        """What the files of the gateway's scratch take on the disk; they have no names."""
        total = 0
        for number in os.listdir(f"/proc/{store.pid}/fd"):
            try:
                link = os.readlink(f"/proc/{store.pid}/fd/{number}")
                if "/scratch/" in link and "/uploads/" not in link:
                    total += os.stat(f"/proc/{store.pid}/fd/{number}").st_blocks * 512
            except FileNotFoundError:
                continue
        return total


class ByPython(EditsTest):
    def test_what_exists_is_changed_anywhere(self):
        store = self.gateway()
        data = bytearray(self.random(3 * STRIPE + 1000))
        self.put(store, "/a/file", data)
        editor = self.editor().open(store.url + "//a/file")
        for offset, piece in ((5, b"five"), (STRIPE - 2, b"border"), (len(data), b"appended"), (len(data) + 100, b"hole")):
            editor.write(piece, offset)
            if offset > len(data):
                data.extend(bytes(offset - len(data)))
            data[offset:offset + len(piece)] = piece
        self.assertEqual(editor.size(), len(data))
        self.assertTrue(editor.read() == data, "what was written is not read back")
        self.assertEqual(editor.read(STRIPE - 4, 10), bytes(data[STRIPE - 4:STRIPE + 6]))
        self.assertFalse(self.get(store, "/a/file") == data, "it is visible before it is closed")
        editor.close()
        self.assertTrue(self.get(store, "/a/file") == data)
        editor.open(store.url + "//a/file")
        editor.truncate(STRIPE + 7)
        editor.truncate(2 * STRIPE)
        editor.sync()
        data[STRIPE + 7:] = bytes(STRIPE - 7)
        self.assertTrue(self.get(store, "/a/file") == data, "sync commits")
        editor.write(b"x", 0)
        editor.close()
        data[:1] = b"x"
        self.assertTrue(self.get(store, "/a/file") == data)
        with self.assertRaisesRegex(Refused, "3011"):
            editor.open(store.url + "//a/none")
        with self.assertRaisesRegex(Refused, "3016"):
            editor.open(store.url + "//a")

    def test_an_upload_is_written_anywhere(self):
        store = self.gateway()
        for size in (1000, 3 * STRIPE + 5):
            with self.subTest(size=size):
                data = bytearray(self.random(size))
                editor = self.editor().open(store.url + "//file", "DELETE|UPDATE")
                editor.write(bytes(data), 0)
                editor.write(b"header", 0)
                data[:6] = b"header"
                self.assertTrue(editor.read() == data)
                editor.write(b"tail", size)
                data += b"tail"
                editor.close()
                self.assertTrue(self.get(store, "/file") == data)

    def test_as_an_array_of_bytes(self):
        """Random operations of one client after another."""
        store = self.gateway()
        choice = random.Random(int(os.environ.get("XEC_TEST_SEED", "1")))
        data, editor = bytearray(), self.editor().open(store.url + "//model", "NEW|UPDATE")
        for _ in range(300):
            what, offset = choice.randrange(10), choice.randrange(2 * STRIPE)
            if what < 4:
                piece = choice.randbytes(choice.randrange(1, 100 * KIB))
                at = offset if choice.randrange(2) else len(data)
                editor.write(piece, at)
                data.extend(bytes(max(0, at - len(data))))
                data[at:at + len(piece)] = piece
            elif what < 7:
                size = choice.randrange(1, STRIPE)
                self.assertTrue(editor.read(offset, size) == data[offset:offset + size])
            elif what == 7:
                editor.truncate(offset)
                data = data[:offset] + bytes(max(0, offset - len(data)))
            elif what == 8:
                editor.close()
                self.assertTrue(self.get(store, "/model") == data)
                editor.open(store.url + "//model")
            self.assertEqual(editor.size(), len(data))
        editor.close()
        self.assertTrue(self.get(store, "/model") == data)
        self.assertEqual(self.scratch_bytes(store), 0)

    def test_of_two_who_change_it_one_is_told(self):
        store = self.gateway()
        self.put(store, "/file", b"0123456789")
        one, other = self.editor().open(store.url + "//file"), self.editor().open(store.url + "//file")
        one.write(b"one", 0)
        other.write(b"other", 5)
        other.close()
        with self.assertRaisesRegex(Refused, "another version of /file is current .*; what was changed is not written"):
            one.close()
        self.assertEqual(self.get(store, "/file"), b"01234other")

    def test_a_client_that_dies_changes_nothing(self):
        store = self.gateway()
        before = self.random(STRIPE)
        self.put(store, "/file", before)
        for flags in ("UPDATE", "DELETE|UPDATE"):
            editor = self.editor().open(store.url + "//file", flags)
            editor.write(self.random(3 * STRIPE, 2), 0)
            editor.write(b"x", 10)
            editor.kill()
            self.eventually(lambda: "dropped" in self.log(store), 20, "the gateway sees that the client is gone")
            self.assertTrue(self.get(store, "/file") == before)
            self.eventually(lambda: self.scratch_bytes(store) == 0, 10, "scratch is given back")

    def log(self, store):
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def test_a_gateway_that_dies_changes_nothing(self):
        store = self.gateway()
        before = self.random(STRIPE)
        self.put(store, "/file", before)
        editor = self.editor().open(store.url + "//file")
        editor.write(b"x" * STRIPE, 10)
        self.assertGreater(self.scratch_bytes(store), 0)
        store.kill()
        editor.kill()
        store.start()
        self.assertTrue(self.get(store, "/file") == before)
        left = self.files_below(os.path.join(store.state, "scratch"))
        self.assertEqual([name for name in left if "interrupted/" not in name and "uploads/" not in name], [],
                         "no changes are left there")

    def test_what_a_gateway_was_writing_when_it_died_is_changed_by_others(self):
        store = self.gateway()
        before = self.random(STRIPE)
        self.put(store, "/file", before)
        for flags, name in (("DELETE|UPDATE", "/file"), ("NEW|UPDATE", "/new")):
            with self.subTest(flags=flags):
                editor = self.editor().open(f"{store.url}/{name}", flags)
                for number in range(4):
                    editor.write(self.random(STRIPE, number), number * STRIPE)
                self.assertTrue(self.archives_of(store, name), "nothing is under way")
                store.kill()
                editor.kill()
                store.start()
                if name == "/new":
                    other = self.editor().open(f"{store.url}/{name}", flags)
                else:
                    other = self.editor().open(f"{store.url}/{name}")
                other.write(b"others", 0)
                other.close()
                self.assertTrue(self.get(store, name).startswith(b"others"))
        self.assertIn("gives up 1 uploads", self.log(store))

    def archives_of(self, store, name):
        """Of uploads that are under way."""
        return [path for path in self.files_below(os.path.dirname(store.dirs[0]))
                if f"{name}.~xo/s." in path or f"{name}.~xo/e." in path]

    def test_full_scratch_is_told(self):
        store = self.gateway(scratch_size="1MiB")
        before = self.random(2 * MIB)
        self.put(store, "/file", before)
        editor = self.editor().open(store.url + "//file")
        editor.write(b"x" * (900 * KIB), 0)
        with self.assertRaisesRegex(Refused, "3009|space"):
            editor.write(b"y" * (900 * KIB), MIB)
        editor.sync()
        editor.write(b"y" * (900 * KIB), MIB)
        editor.close()
        self.assertTrue(self.get(store, "/file") == b"x" * (900 * KIB) + before[900 * KIB:MIB] + b"y" * (900 * KIB)
                        + before[MIB + 900 * KIB:])
        # What is written from start to end needs none.
        self.put(store, "/other", self.random(4 * MIB))


class LostConnections(EditsTest):
    """XRootD's client comes back by itself, opens the name to be changed, and sends what was not answered."""

    WAITS = {"XRD_CONNECTIONWINDOW": "2", "XRD_CONNECTIONRETRY": "20", "XRD_TIMEOUTRESOLUTION": "1"}

    def line(self, store, size, meanwhile=lambda: None):
        return cut_line.CutLine(self, urllib.parse.urlparse(store.url).port, size, meanwhile)

    def overwrite(self, store, line):
        before, path = self.random(12 * MIB), self.path("new")
        self.put(store, "/file", before)
        with open(path, "wb") as file:
            file.write(self.random(12 * MIB, 2))
        url = f"root://{xectest.HOST}:{line.port}//file"
        failed = self.xrdcp("-f", path, url, code=None, env=self.WAITS)
        # A client that gives up at once does not wait for a gateway that is being restarted, and the next one would for minutes.
        self.assertTrue(line.over.wait(60), "the connection was not cut")
        # What it says is the gateway's sentence, unless XrdCl 5.5.3 has given the file up by itself (seldom), or has died of it.
        self.assertNotEqual(failed.code, 0)
        self.assertTrue(self.get(store, "/file") == before)
        self.xrdcp("-f", path, url)
        self.assertTrue(self.get(store, "/file") == self.random(12 * MIB, 2))

    def test_of_an_upload_over_an_object(self):
        store = self.gateway()
        self.overwrite(store, self.line(store, 5 * MIB))

    def test_of_an_upload_to_a_gateway_that_dies(self):
        store = self.gateway()

        def restart():
            store.kill()
            store.start()
        self.overwrite(store, self.line(store, 5 * MIB, restart))

    def test_of_a_change(self):
        store = self.gateway()
        before = self.random(MIB)
        self.put(store, "/file", before)
        line = self.line(store, 500 * KIB)
        editor = Editor(self, self.WAITS).open(f"root://{xectest.HOST}:{line.port}//file")
        editor.write(b"a" * (100 * KIB), 0)
        with self.assertRaisesRegex(Refused, "the connection was lost while /file was written"):
            for number in range(10):
                editor.write(b"b" * (100 * KIB), number * 100 * KIB)
        self.assertTrue(line.cut.is_set())
        self.assertTrue(self.get(store, "/file") == before)


class ByPrograms(EditsTest):
    def test_xrdcp_continues(self):
        """A target that is a directory: one that is named and exists xrdcp 5.5.3 refuses by itself."""
        store = self.gateway()
        data = self.random(20 * STRIPE + 7)
        self.put(store, "/d/whole", data[:7 * STRIPE + 3])
        path = self.path("whole")
        with open(path, "wb") as file:
            file.write(data)
        self.xrdcp("--continue", path, f"{store.url}//d/")
        self.assertTrue(self.get(store, "/d/whole") == data)

    def test_xrdfs_truncates(self):
        store = self.gateway()
        data = self.random(2 * STRIPE)
        self.put(store, "/file", data)
        self.xrdfs(store.url, "xattr", "/file", "set", "color=red")
        for size in (STRIPE + 1, STRIPE + 1, 3 * STRIPE, 0):
            self.xrdfs(store.url, "truncate", "/file", str(size))
            data = data[:size] + bytes(max(0, size - len(data)))
            self.assertTrue(self.get(store, "/file") == data, size)
        self.assertIn("red", self.xrdfs(store.url, "xattr", "/file", "get", "color").out, "attributes stay")
        self.xrdfs(store.url, "truncate", "/none", "5", code=54)

    def test_uproot_makes_a_file_and_goes_on_with_it(self):
        if not grid_clients.UPROOT:
            self.skipTest("XEC_UPROOT names no folder made by pip install --target FOLDER uproot fsspec-xrootd")
        store = self.gateway()
        program = """
import sys, numpy, uproot
url, count = sys.argv[1], 100_000
with uproot.recreate(url) as file:
    file.mktree("tree", {"x": "f8"})
    for i in range(5):
        file["tree"].extend({"x": numpy.arange(count) + i * count})
with uproot.update(url) as file:
    file["more"] = numpy.histogram(numpy.arange(10))
with uproot.open(url) as file:
    x = file["tree/x"].array(library="np")
    assert (x == numpy.arange(5 * count)).all(), x
    assert file["more"].values().sum() == 10
"""
        self.run_program(["/usr/bin/python3", "-c", program, store.url + "//tree.root"], seconds=120,
                         env={"PYTHONPATH": grid_clients.UPROOT})


if __name__ == "__main__":
    xectest.main()
