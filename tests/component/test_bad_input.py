# SPDX-License-Identifier: LGPL-3.0-or-later
"""Bad input: from the command line, from configuration files, and on the disks. One clear sentence each; nothing
crashes, nothing else is affected, nothing is lost."""
import json
import os
import re
import shutil
import zipfile

import everyday
import xectest

MIB = 1024 * 1024
EXIT_USAGE, EXIT_RETRY, EXIT_DAMAGE, EXIT_CONFLICT, EXIT_DENIED = 2, 5, 6, 8, 9


class BadInputTest(everyday.EverydayTest):
    def setUp(self):
        super().setUp()
        self.dirs = [self.path(f"d{number}") for number in range(1, 7)]

    def options(self, dirs=None):
        return [word for path in dirs or self.dirs for word in ("--data", path)]

    def snapshot(self, dirs):
        """Every file below the directories with its content."""
        return {os.path.join(folder, path): self.sha256(os.path.join(folder, path))
                for folder in dirs for path in self.files_below(folder)}

    def refused(self, code, words, *arguments, command="serve"):
        """The command ends with this code and one sentence that has these words."""
        if command == "serve":
            arguments = ("--state", self.path("state"), "--port", str(self.free_port()), *arguments)
        result = self.run_program([self.program("xec"), command, *arguments], code=code)
        self.assertIn(words, result.err)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        self.assertRegex(result.err, r"^xec: \S")
        return result.err

    def log(self, store):
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()


class CommandLine(BadInputTest):
    def test_what_cannot_be_asked_for(self):
        options = self.options()
        self.refused(EXIT_USAGE, "--frob", *options, "--frob")
        self.refused(EXIT_USAGE, "unknown command frobnicate", command="frobnicate")
        self.refused(EXIT_USAGE, "unknown option --frob", "ls", command="--frob")
        self.refused(EXIT_USAGE, "needs 10 data servers, only 6", *options, "--geometry", "8+2")
        for geometry in ("0+2", "4", "30+3", "four+2", "4+-1"):
            self.refused(EXIT_USAGE, geometry, *options, "--geometry", geometry)
        for size in ("0", "3KiB", "128MiB", "5000", "-1", "big"):
            self.refused(EXIT_USAGE, size, *options, "--geometry", "4+2", "--chunk-size", size)
        self.refused(EXIT_USAGE, "more than the budget", *options, "--geometry", "4+2", "--chunk-size", "64MiB",
                     "--memory", "300MiB")
        self.refused(EXIT_USAGE, "more than the budget", *options, "--geometry", "4+2", "--rule", "/huge 4+2 64MiB",
                     "--memory", "300MiB")
        self.refused(EXIT_USAGE, "geometry 5+2 needs 7 data servers", *options, "--geometry", "4+2", "--rule", "/a 5+2")
        self.refused(EXIT_USAGE, "root://", "--server", "http://localhost:1")
        self.assertFalse(any(os.path.exists(path) for path in self.dirs), "nothing was made")

    def test_more_chunks_than_servers_of_a_cluster(self):
        cluster = self.cluster(servers=2)
        servers = [word for server in cluster.servers for word in ("--server", server.server_option())]
        self.refused(EXIT_USAGE, "needs 3 data servers, only 2", *servers, "--geometry", "2+1")
        for server in cluster.servers:
            self.assertEqual(self.files_below(server.data), [])

    def test_configuration_files(self):
        def lines(*text):
            with open(self.path("xec.conf"), "w", encoding="utf-8") as file:
                file.write("\n".join(text) + "\n")
            return ("-c", self.path("xec.conf"))
        data = "xec.data " + self.dirs[0]
        for number, (words, *text) in enumerate([
                ("xec.conf:2: xec.chunk-size: '0'", data, "xec.chunk-size 0"),
                ("xec.conf:3: xec.nonsense", "# a comment", data, "xec.nonsense 3"),
                ("xec.conf:3: xec.geometry", data, "", "xec.geometry 9+9+9"),
                ("xec.conf:3: xec.port", data, "xec.port 1094", "xec.port 1095"),
                ("xec.conf:2: xec.geometry", data, "xec.geometry"),
                ("xec.conf:2: ", "if exec xrootd", data, "fi")]):
            with self.subTest(number=number, text=text):
                self.refused(EXIT_USAGE, words, *lines(*text))
                self.refused(EXIT_USAGE, words, *lines(*text), "/", command="ls")
        self.refused(3, "none.conf cannot be read: No such file", "-c", self.path("none.conf"))
        self.assertFalse(os.path.exists(self.dirs[0]))


class Places(BadInputTest):
    """Data directories that are not what they should be."""

    def test_a_file_and_a_closed_directory(self):
        with open(self.path("file"), "w", encoding="ascii") as file:
            file.write("mine\n")
        self.refused(EXIT_USAGE, "is a file, not a directory", "--geometry", "1+1", "--data", self.path("file"), "--data",
                     self.dirs[0])
        os.makedirs(self.path("mine"))
        with open(self.path("mine", "letter"), "w", encoding="ascii"):
            pass
        if os.geteuid() == 0:
            self.refused(EXIT_DENIED, "is not writable by user", "--geometry", "1+1", "--data", self.path("mine"),
                         "--data", self.dirs[0])
            os.chmod(self.path("mine"), 0o777)
        self.refused(EXIT_CONFLICT, "is not empty and belongs to no store", "--geometry", "1+1", "--data",
                     self.path("mine"), "--data", self.dirs[0])
        self.assertEqual(os.listdir(self.path("mine")), ["letter"])
        with open(self.path("file"), encoding="ascii") as file:
            self.assertEqual(file.read(), "mine\n")

    def test_directories_of_another_store_and_copies(self):
        one, two = self.serve(geometry="1+1"), self.serve(geometry="1+1")
        file = self.put(one, "/a", 100_000)
        for store in (one, two):
            self.assertEqual(store.stop(), 0)
        copy = self.path("copy")
        self.run_program(["cp", "-a", one.dirs[0], copy])
        before = self.snapshot([*one.dirs, *two.dirs, copy])
        mixed = self.options([one.dirs[0], two.dirs[1]])
        self.refused(EXIT_CONFLICT, "belongs to store", *mixed)
        self.refused(EXIT_CONFLICT, "belongs to store", *mixed, "/", command="ls")
        self.refused(EXIT_CONFLICT, "is a copy of the other", *self.options([*one.dirs, copy]))
        self.refused(EXIT_USAGE, "is given twice", *self.options([one.dirs[0], one.dirs[0]]))
        self.assertEqual(self.snapshot([*one.dirs, *two.dirs, copy]), before)
        one.start()
        self.check_reads(one, "/a", file)

    def test_a_directory_of_another_store_takes_the_place_of_one_that_serves(self):
        store, other = self.serve(geometry="4+2"), self.serve(geometry="4+2")
        file = self.put(store, "/a", 3_000_000)
        self.put(other, "/a", 3_000_000, seed=2)
        self.assertEqual(other.stop(), 0)
        os.rename(store.dirs[0], store.dirs[0] + ".away")
        os.rename(other.dirs[0], store.dirs[0])
        before = self.snapshot([store.dirs[0]])
        self.check_reads(store, "/a", file)
        self.xrdfs(store.url, "mkdir", "/b")
        self.assertEqual(self.snapshot([store.dirs[0]]), before)
        os.rename(store.dirs[0], other.dirs[0])
        os.rename(store.dirs[0] + ".away", store.dirs[0])
        self.eventually(lambda: store.xec("verify", "/a", code=None).code == 0, 30, "the right one is used again")

    def edit(self, path, old, new):
        with open(path, encoding="ascii") as source:
            text = source.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="ascii") as target:
            target.write(text.replace(old, new))

    def test_formats_of_a_later_version(self):
        store = self.serve(geometry="1+1", dirs=3)
        file = self.put(store, "/a", 100_000)
        self.assertEqual(store.stop(), 0)
        descriptor, identity = [os.path.join(store.dirs[0], ".xec", name) for name in ("store", "server")]
        self.edit(descriptor, "xec-store 1", "xec-store 2")
        before = self.snapshot(store.dirs)
        for command, *operands in (("serve",), ("stat", "/a")):
            sentence = self.refused(1, "has format 2, this XEC knows format 1", *store.store_options(), *operands,
                                    command=command)
            self.assertIn(f"xec: {store.dirs[0]}: ", sentence)
        self.assertEqual(self.snapshot(store.dirs), before)
        self.edit(descriptor, "xec-store 2", "xec-store 1")
        self.edit(identity, "xec-server 1", "xec-server 2")
        before = self.snapshot(store.dirs[:1])
        store.start()
        self.check_reads(store, "/a", file)
        second = self.put(store, "/b", 100_000, seed=2)
        self.check_reads(store, "/b", second)
        self.check_left_out(store.output(), store.dirs[0], "s01")
        self.check_left_out(self.log(store), store.dirs[0], "s01")
        self.assertEqual(self.snapshot(store.dirs[:1]), before, "nothing is written where another version is at home")

    def check_left_out(self, text, address, member):
        """One sentence says which place is not used, and by which file; one which member that was."""
        self.assertRegex(text, rf"(?m){re.escape(address)} is left out: {re.escape(address)}: \S.*\bformat 2, this XEC knows format 1$")
        self.assertRegex(text, rf"(?m)the store goes on without {member}\b")

    def test_formats_of_a_later_version_on_stock_servers(self):
        cluster = self.cluster(servers=3, gateways=1, geometry="1+1")
        gateway = cluster.gateways[0]
        gateway.http = gateway.http_url
        file = self.put(gateway, "/a", 100_000)
        cluster.stop([gateway])
        server = cluster.servers[0]
        options = [word for each in cluster.servers for word in ("--server", each.server_option())]
        member = self.member_at(server)
        descriptor, identity = [os.path.join(server.data, ".xec", name) for name in ("store", "server")]
        self.edit(descriptor, "xec-store 1", "xec-store 2")
        data = [each.data for each in cluster.servers]
        before = self.snapshot(data)
        for command, *operands in (("serve", "--geometry", "1+1"), ("stat", "/a")):
            sentence = self.refused(1, "has format 2, this XEC knows format 1", *options, *operands, command=command)
            self.assertIn(f"xec: {server.url}: ", sentence)
        self.assertEqual(self.snapshot(data), before)
        self.edit(descriptor, "xec-store 2", "xec-store 1")
        self.edit(identity, "xec-server 1", "xec-server 2")
        before = self.snapshot(data[:1])
        cluster.start(gateway)
        self.check_reads(gateway, "/a", file)
        second = self.put(gateway, "/b", 100_000, seed=2)
        self.check_reads(gateway, "/b", second)
        with open(gateway.xrootd_log(), encoding="utf-8", errors="replace") as log:
            self.check_left_out(log.read(), server.url, member)
        self.assertEqual(self.snapshot(data[:1]), before, "nothing is written where another version is at home")

    def member_at(self, server):
        with open(os.path.join(server.data, ".xec", "server"), encoding="ascii") as file:
            return re.search(r"(?m)^member (\S+)$", file.read()).group(1)


class SmallDisks(BadInputTest):
    """Directories on file systems of their own: full, or read-only."""

    def setUp(self):
        super().setUp()
        self.enter_mounts()

    def test_all_disks_full(self):
        dirs = [self.disk(self.path(f"m{number}"), 12) for number in range(3)]
        store = self.serve(dirs=dirs, geometry="2+1", chunk_size="64KiB", superseded_grace="1s", clean_interval="1s")
        file = self.put(store, "/a", 5_000_000)
        large = self.random_file("large", 40_000_000, 2)
        for name in ("/a", "/b"):
            result = self.xrdcp("-f", large, f"{store.url}/{name}", code=54)
            self.assertIn("no space left", result.err)
            self.assertNotEqual(self.curl("-T", large, store.http + name, code=None).code, 0)
            # As the disks say, or as the store does while what failed before has not been removed yet.
            self.assertRegex(store.xec("put", large, name, code=None).err, "No space left|the store is nearly full")
        self.check_reads(store, "/a", file)
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/b", code=54).err)
        # What failed takes no space for long: there is room for an object again.
        self.xrdcp(file, store.url + "//b")
        self.check_reads(store, "/b", file)
        self.xrdfs(store.url, "rm", "/a")
        self.xrdfs(store.url, "rm", "/b")
        self.eventually(lambda: self.xrdcp("-f", file, store.url + "//c", code=None).code == 0 and
                        self.xrdcp("-f", file, store.url + "//d", code=None).code == 0, 30, "removed objects free their space")

    def test_one_disk_full_or_read_only(self):
        small = self.disk(self.path("m"), 8)
        dirs = [small] + [self.path(f"e{number}") for number in range(5)]
        store = self.serve(dirs=dirs, geometry="2+1", chunk_size="64KiB")
        files = {f"/before/{number}": self.put(store, f"/before/{number}", 600_000, number) for number in range(6)}
        ballast = self.fill_disk(os.path.dirname(small))
        self.check_goes_on(store, "/full", files)
        os.unlink(ballast)
        self.remount(os.path.dirname(small), "ro")
        self.check_goes_on(store, "/read-only", files)
        # `xec serve` did not start while one of its data directories was read-only or dead.
        self.assertEqual(store.stop(), 0)
        store.start()
        self.check_goes_on(store, "/started-so", files)
        self.assertEqual(store.stop(), 0)
        self.kill_disk(small)
        store.start()
        self.check_goes_on(store, "/started-dead", files)
        self.run_program(["umount", small])
        self.remount(os.path.dirname(small), "rw")
        self.put(store, "/after", 600_000)

    def check_goes_on(self, store, folder, files):
        """Small objects, which fit into one request for each server, are written to others; of large ones an upload may
        fail, with a clear sentence. Everything else goes on."""
        for name, file in files.items():
            self.check_reads(store, name, file)
        for number in range(6):
            file = self.random_file("new", 600_000, 100 + number)
            result = self.xrdcp(file, f"{store.url}/{folder}/{number}", code=None)
            if result.code == 0:
                self.check_reads(store, f"{folder}/{number}", file)
            else:
                self.assertRegex(result.err, r"no space left|read-only|permission|unavailable")
                self.assertIn("[3011]", self.xrdfs(store.url, "stat", f"{folder}/{number}", code=54).err)


class Archives(BadInputTest):
    """Archives that are not what they were."""

    def setUp(self):
        super().setUp()
        self.store = self.serve(geometry="4+2", chunk_size="64KiB")
        self.file = self.put(self.store, "/a", 3 * 4 * 65536 + 7)
        self.other = self.put(self.store, "/other", 3 * 4 * 65536 + 7, seed=2)
        self.archives = {server: path for server, path in self.archives_of("/a")}

    def archives_of(self, name):
        found = {(chunk["server"], chunk["address"] + chunk["archive"]) for chunk in self.chunks_of(self.store.xec, name)}
        return sorted(found)

    def verdict(self, code):
        result = self.store.xec("verify", "--json", "/a", code=code)
        return {bad["server"] for bad in json.loads(result.out)[0]["bad"]}

    def damage(self, server, how):
        path = self.archives[server]
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            if how == "short":
                file.truncate(size // 2)
            elif how == "one byte short":
                file.truncate(size - 1)
            elif how == "empty":
                file.truncate(0)
            elif how == "noise":
                file.write(os.urandom(size))
            elif how == "zeros":
                file.write(bytes(size))
            elif how == "longer":
                file.seek(size)
                file.write(b"more")
            elif how == "other object":
                other = dict(self.archives_of("/other"))[server]
                file.truncate(0)
                with open(other, "rb") as source:
                    file.write(source.read())
            elif how == "later format":
                content = file.read()
                self.assertEqual(content.count(b"!xec 2\n"), 1)
                file.seek(content.index(b"!xec 2\n"))
                file.write(b"!xec 3\n")
            elif how == "huge directory":
                # The count of members in the end record says 65,535.
                content = file.read()
                file.seek(content.rindex(b"PK\x05\x06") + 8)
                file.write(b"\xff\xff\xff\xff")

    def test_up_to_two_bad_archives_of_six(self):
        kinds = ("short", "one byte short", "empty", "noise", "zeros", "longer", "other object", "later format",
                 "huge directory")
        servers = sorted(self.archives)
        for number, how in enumerate(kinds):
            with self.subTest(how):
                bad = {servers[number % 6], servers[(number + 3) % 6]}
                for server in bad:
                    self.damage(server, how)
                # Before anybody reads it through the gateway, which then repairs it.
                self.assertEqual(self.verdict(EXIT_DAMAGE), bad)
                self.check_reads(self.store, "/a", self.file)
                self.check_reads(self.store, "/other", self.other)
                self.eventually(lambda: self.store.xec("verify", "-q", "/a", code=None).code == 0, 120,
                                "the gateway has repaired it")

    def test_more_bad_archives_than_parity(self):
        servers = sorted(self.archives)
        for server, how in zip(servers, ("noise", "short", "other object")):
            self.damage(server, how)
        target = self.path("lost")
        self.assertIn("[3007]", self.xrdcp(f"{self.store.url}//a", target, code=54).err)
        self.assertNotEqual(self.curl("-o", target, self.store.http + "/a", code=None).code, 0)
        self.assertRegex(self.log(self.store), r"xec: \w+ gateway: read /a for \S+: data_loss: stripe \d+ of /a is lost: "
                                               r"3 of the 4 chunks needed are good")
        result = self.store.xec("cat", "/a", code=EXIT_DAMAGE, binary=True)
        for server in servers[:3]:
            self.assertIn(server, result.err)
        self.assertEqual(self.verdict(EXIT_DAMAGE), set(servers[:3]))
        self.assertRegex(self.xrdfs(self.store.url, "stat", "/a").out, r"Size: +786439")
        self.check_reads(self.store, "/other", self.other)
        self.xrdcp("-f", self.other, f"{self.store.url}//a")
        self.check_reads(self.store, "/a", self.other)

    def test_every_archive_passes_stock_tools(self):
        for _, path in self.archives_of("/a"):
            self.run_program(["unzip", "-tqq", path])
            with zipfile.ZipFile(path) as file:
                self.assertIsNone(file.testzip())
                self.assertTrue(re.match(rb"!xec 2\n", file.comment))

    def test_strange_files_beside_the_archives(self):
        folder = os.path.dirname(next(iter(self.archives.values())))
        for name in ("notes.txt", "p.1.2", "p.", "t.zzz", "s.xyz"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"?")
        os.makedirs(os.path.join(folder, "t.folder", "deeper"))
        os.symlink("/etc/passwd", os.path.join(folder, "link"))
        self.check_reads(self.store, "/a", self.file)
        self.assertEqual(sorted(self.xrdfs(self.store.url, "ls", "/").out.split()), ["/a", "/other"])
        self.xrdcp("-f", self.other, f"{self.store.url}//a")
        self.check_reads(self.store, "/a", self.other)


if __name__ == "__main__":
    xectest.main()
