# SPDX-License-Identifier: LGPL-3.0-or-later
"""Data directories and servers that the user may not use, or that are listed under two names."""
import json
import os
import re
import time

import everyday
import xectest

EXIT_USAGE, EXIT_RETRY, EXIT_DENIED = 2, 5, 9
AT_ONCE = 10  # seconds, on a busy machine
STRANGER = 12345


class PlacesTest(everyday.EverydayTest):
    def options(self, dirs):
        return [word for path in dirs for word in ("--data", path)]

    def xec(self, command, *words, **more):
        return self.run_program([self.program("xec"), command, *words], **more)

    def serve_words(self):
        return ("--state", self.path("state"), "--port", str(self.free_port()))

    def refused(self, code, command, *words):
        """The one sentence of a command that is refused at once."""
        more = self.serve_words() if command == "serve" else ()
        start = time.monotonic()
        result = self.xec(command, *more, *words, code=code)
        self.assertLess(time.monotonic() - start, AT_ONCE)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        return result.err

    def log(self, store):
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()


class Closed(PlacesTest):
    """One with the wrong owner or mode made each command fail and kept each gateway from starting."""

    def setUp(self):
        super().setUp()
        self.require_root("it gives files to others")

    def check_works(self, store, file):
        self.assertIn("before", store.xec("ls", "/").out)
        store.xec("stat", "/before")
        store.xec("verify", "/before", code=None)
        store.xec("clean")
        self.assertEqual(store.xec("get", "/before", "-", binary=True).out, self.content(file))
        store.xec("put", file, "/put")
        self.check_reads(store, "/put", file)

    def test_a_directory_that_nobody_may_read(self):
        store = self.serve(dirs=6, geometry="4+2", chunk_size="64KiB")
        file = self.put(store, "/before", 600_000)
        closed = store.dirs[2]
        os.chmod(closed, 0)
        self.check_works(store, file)
        told = store.xec("ls", "/").err
        self.assertRegex(told, rf"{closed} cannot be read by user \d+: Permission denied.*left out.*owner and its mode")
        health = store.xec("health", "--servers", "--json", code=EXIT_RETRY)
        rows = json.loads(health.out)["servers"]
        self.assertEqual([row["state"] for row in rows].count("down"), 1, rows)
        self.assertIn(f"{closed} cannot be read", rows[2]["problem"])

        self.assertEqual(store.stop(), 0)
        store.start()
        self.assertIn(f"{closed} cannot be read", store.output())
        self.assertRegex(self.log(store), rf"xec: warning store: the directory {closed} cannot be read")
        self.check_works(store, file)
        os.chmod(closed, 0o755)
        self.eventually(lambda: f"s03 is back: {closed}" in self.log(store), 30, "it is used again")
        self.check_works(store, file)
        store.xec("health", "--servers")

    def test_a_directory_below_one_that_is_closed(self):
        place = self.path("disk")
        dirs = [os.path.join(place, "data"), *(self.path(f"d{number}") for number in range(2, 7))]
        store = self.serve(dirs=dirs, geometry="4+2", chunk_size="64KiB")
        file = self.put(store, "/before", 600_000)
        self.assertEqual(store.stop(), 0)
        os.chmod(place, 0o700)
        store.start()
        self.assertIn(f"because {place} is closed to it", store.output())
        self.check_reads(store, "/before", file)
        owner = os.stat(dirs[1])
        told = self.run_program(["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups",
                                 self.program("xec"), "ls", *store.store_options(), "/"])
        self.assertIn("before", told.out)
        self.assertIn(f"{dirs[0]} cannot be used: Permission denied", told.err)

    def test_a_directory_of_another_owner(self):
        store = self.serve(dirs=6, geometry="4+2", chunk_size="64KiB")
        file = self.put(store, "/before", 600_000)
        self.assertEqual(store.stop(), 0)
        owner = os.stat(store.dirs[0])
        for uid in (0, STRANGER):
            self.run_program(["chown", "-R", f"{uid}:{uid}", store.dirs[1]])
            store.start()
            self.assertRegex(store.output(), rf"{store.dirs[1]} is not writable by user .*Permission denied.*owner and mode")
            self.check_works(store, file)
            self.assertEqual(store.stop(), 0)
        # Root's commands work as whom most directories belong to.
        self.run_program(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", store.dirs[1]])
        self.run_program(["chown", "-R", f"{STRANGER}:{STRANGER}", store.dirs[0]])
        self.xec("put", *store.store_options(), file, "/by-root")
        for directory in store.dirs[1:]:
            for name in self.files_below(directory):
                self.assertEqual(os.stat(os.path.join(directory, name)).st_uid, owner.st_uid, name)

    def test_too_many(self):
        store = self.serve(dirs=6, geometry="4+2", chunk_size="64KiB")
        self.put(store, "/before", 600_000)
        self.assertEqual(store.stop(), 0)
        closed = store.dirs[1:4]
        for change, words in ((lambda path: os.chmod(path, 0), "cannot be read by user"),
                              (lambda path: self.run_program(["chown", "-R", "0:0", path]), "is not writable by user")):
            for path in closed:
                os.chmod(path, 0o755)
                change(path)
            told = self.refused(EXIT_DENIED, "serve", *store.store_options())
            for path in closed:
                self.assertRegex(told, rf"{path} (is|cannot be) .*Permission denied")
            self.assertIn("the store can do without 2 of its data servers at most, not 3", told)
            if "read" in words:
                for command in ("ls", "health"):
                    told = store.xec(command, *(["/"] if command == "ls" else []), code=EXIT_DENIED).err
                    self.assertEqual([path for path in store.dirs if path in told], closed)
                    self.assertIn(words, told)

    def test_a_new_store_needs_all(self):
        dirs = [self.path(f"d{number}") for number in range(1, 4)]
        for path in dirs:
            os.mkdir(path)
            os.chown(path, STRANGER, STRANGER)
        os.chmod(dirs[1], 0)
        words = ("put", "--geometry", "2+1", *self.options(dirs), self.random_file("f", 1000), "/f")
        result = self.run_as_owner(dirs[0], [self.program("xec"), *words], code=EXIT_DENIED)
        self.assertIn(f"{dirs[1]} cannot be read", result.err)
        os.chmod(dirs[1], 0o500)
        result = self.run_as_owner(dirs[0], [self.program("xec"), *words], code=EXIT_DENIED)
        self.assertIn(f"{dirs[1]} cannot be written: Permission denied", result.err)
        self.assertEqual([os.listdir(path) for path in dirs], [[], [], []])

    def test_a_server_that_may_not_read_its_own_data(self):
        cluster = self.cluster(servers=5, geometry="2+2", gateways=1, chunk_size="64KiB")
        gateway = cluster.gateways[0]
        gateway.http = gateway.http_url
        file = self.put(gateway, "/before", 300_000)
        servers = [word for server in cluster.servers for word in ("--server", server.server_option())]
        for server in cluster.servers[:2]:
            os.chmod(server.data, 0)
        result = self.xec("ls", *servers, "/")
        self.assertIn("before", result.out)
        for server in cluster.servers[:2]:
            self.assertRegex(result.err, rf":{server.port}\b.*left out")
        self.assertEqual(self.xec("get", *servers, "/before", "-", binary=True).out, self.content(file))
        self.xec("health", "--servers", *servers, code=EXIT_RETRY)
        os.chmod(cluster.servers[2].data, 0)
        told = self.refused(EXIT_DENIED, "ls", *servers, "/")
        for server in cluster.servers[:3]:
            self.assertIn(f":{server.port}", told)


class TwoNames(PlacesTest):
    """It was said, for ever, that a store was being made."""

    def names(self, path):
        """Other names of a directory."""
        link = path + ".link"
        os.symlink(path, link)
        bind = path + ".bind"
        os.mkdir(bind)
        self.run_program(["mount", "--bind", path, bind])
        self.addCleanup(self.run_program, ["umount", "-l", bind])
        return link, bind, os.path.join(os.path.dirname(path), "..", os.path.basename(self.dir), os.path.basename(path))

    def check_told(self, told, one, other, what):
        self.assertRegex(told, rf"^xec: ({re.escape(one)} and {re.escape(other)}|{re.escape(other)} and {re.escape(one)}) "
                         rf"are the same {what}: list it once$")

    def test_directories_of_a_new_store(self):
        self.enter_mounts()
        dirs = [self.path(f"d{number}") for number in range(1, 4)]
        for path in dirs:
            os.mkdir(path)
        file = self.random_file("f", 1000)
        for other in self.names(dirs[1]):
            words = ("--geometry", "2+1", *self.options([*dirs, other]))
            self.check_told(self.refused(EXIT_USAGE, "serve", *words), dirs[1], other, "directory")
            self.check_told(self.refused(EXIT_USAGE, "put", *words, file, "/f"), dirs[1], other, "directory")
            self.assertEqual([os.listdir(path) for path in dirs], [[], [], []])
        self.xec("put", "--geometry", "2+1", *self.options(dirs), file, "/f")

    def test_directories_that_are_made(self):
        dirs = [self.path(f"d{number}") for number in range(1, 4)]
        other = self.path("..", os.path.basename(self.dir), "d2")
        file = self.random_file("f", 1000)
        words = ("--geometry", "2+1")
        for command, operands in (("put", (file, "/f")), ("serve", ())):
            told = self.refused(EXIT_USAGE, command, *words, *self.options([*dirs, other]), *operands)
            self.check_told(told, dirs[1], other, "directory")
        start = time.monotonic()
        self.xec("put", *words, *self.options(dirs), file, "/f")
        self.assertLess(time.monotonic() - start, AT_ONCE)

    def test_directories_of_a_store(self):
        self.enter_mounts()
        dirs = [self.path(f"d{number}") for number in range(1, 4)]
        self.xec("put", "--geometry", "2+1", *self.options(dirs), self.random_file("f", 1000), "/f")
        for other in self.names(dirs[1]):
            self.check_told(self.refused(EXIT_USAGE, "ls", *self.options([*dirs, other]), "/"), dirs[1], other, "directory")
        self.assertIn("f", self.xec("ls", *self.options(dirs), "/").out)

    def test_servers(self):
        cluster = self.cluster(servers=3)
        urls = [server.server_option() for server in cluster.servers]
        other = re.sub(re.escape(xectest.HOST), "localhost", urls[1])
        self.assertNotEqual(other, urls[1])
        servers = [word for url in urls for word in ("--server", url)]
        twice = [*servers, "--server", other]
        file = self.random_file("f", 1000)
        words = ("--geometry", "2+1")
        bare = [url.split(",")[0] for url in (urls[1], other)]
        for command, operands in (("serve", ()), ("put", (file, "/f"))):
            self.check_told(self.refused(EXIT_USAGE, command, *words, *twice, *operands), *bare, "data server")
        start = time.monotonic()
        self.xec("put", *words, *servers, file, "/f")
        self.assertLess(time.monotonic() - start, AT_ONCE)
        # Of a store that is there.
        self.check_told(self.refused(EXIT_USAGE, "ls", *twice, "/"), *bare, "data server")
        self.assertIn("f", self.xec("ls", *servers, "/").out)
        for server in cluster.servers:
            self.assertFalse(os.path.exists(os.path.join(server.data, ".xec", "probe")))


if __name__ == "__main__":
    xectest.main()
