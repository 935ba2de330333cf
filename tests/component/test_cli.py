#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The program xec as a user meets it: commands on local directories, xec serve, offline recovery, exit codes."""
import json
import os
import pwd
import shutil
import signal
import subprocess

import everyday
import xectest

EXIT_ERROR, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_EXISTS, EXIT_RETRY = 1, 2, 3, 4, 5
EXIT_NO_SPACE, EXIT_DAMAGE, EXIT_CONFLICT, EXIT_DENIED, EXIT_KIND, EXIT_INTERRUPTED = 7, 6, 8, 9, 10, 130


class CliTest(everyday.EverydayTest):
    def setUp(self):
        super().setUp()
        self.dirs = [self.path(f"d{i}") for i in range(1, 7)]

    def options(self):
        return [word for directory in self.dirs for word in ("--data", directory)]

    def xec(self, command, *arguments, **options):
        return self.run_program([self.program("xec"), command, *self.options(), *arguments], **options)

    def make(self, *paths, size=300_000):
        """A store 4+2 with an object at each path; returns the file they all hold."""
        file = self.random_file("source", size)
        for path in paths:
            self.xec("put", "--geometry", "4+2", "--chunk-size", "64KiB", file, path)
        return file


class Objects(CliTest):
    def test_round_trip_of_every_size(self):
        for size in (0, 1, 27_000, 65_535, 65_536, 262_144, 262_145, 1_000_003):
            file = self.random_file("f", size, seed=size)
            self.xec("put", "--geometry", "4+2", "--chunk-size", "64KiB", file, f"/dir/{size}")
            self.xec("get", f"/dir/{size}", self.path("back"))
            self.assert_same(file, self.path("back"))

    def test_names_as_users_have_them(self):
        for name in ("a b", "ü€", "%41#?", "[x,y]", "x" * 250, "put"):
            with self.subTest(name):
                file = self.make("/odd/" + name, size=1000)
                result = self.xec("cat", "/odd/" + name, binary=True)
                with open(file, "rb") as source:
                    self.assertEqual(result.out, source.read())
                self.assertIn(name, self.xec("ls", "/odd").out.splitlines())

    def test_listing_and_stat(self):
        file = self.make("/a/one", "/a/b/two", size=1000)
        self.assertEqual(self.xec("ls").out, "a/\n")
        self.assertEqual(self.xec("ls", "/a").out, "b/\none\n")
        self.assertEqual(self.xec("ls", "/a/one").out, "/a/one\n")
        entries = json.loads(self.xec("ls", "-R", "--json", "/").out)
        self.assertEqual([entry["path"] for entry in entries], ["/a", "/a/b", "/a/one", "/a/b/two"])
        self.assertEqual(entries[3]["size"], 1000)
        self.assertRegex(self.xec("ls", "-l", "/a").out, r"  +1000  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  one\n")
        stat = json.loads(self.xec("stat", "--json", "/a/one").out)[0]
        self.assertEqual((stat["size"], stat["geometry"], stat["chunk_size"]), (1000, "4+2", 65536))
        adler = self.run_program(["xrdadler32", file]).out.split()[0]
        self.assertEqual(stat["checksums"]["adler32"], adler)
        self.assertIn("adler32     " + adler, self.xec("stat", "/a/one").out)

    def test_many_into_a_directory_and_standard_streams(self):
        files = [self.random_file(name, 10_000, seed=i) for i, name in enumerate(("p", "q"))]
        self.xec("mkdir", "--geometry", "4+2", "-p", "/in")
        self.xec("put", *files, "/in")
        self.assertEqual(self.xec("ls", "/in").out, "p\nq\n")
        self.xec("put", *files, "/in/p", code=EXIT_KIND)
        # The second replaced the first.
        os.mkdir(self.path("other"))
        same = [files[0], self.random_file("other/p", 10_000, seed=2)]
        result = self.xec("put", self.random_file("r", 10), *same, "/in/", code=EXIT_USAGE)
        self.assertRegex(result.err, r"^xec: \S+/p and \S+/other/p would both become /in/p\b.*\n$")
        self.assertEqual(self.xec("ls", "/in").out, "p\nq\n")
        with open(files[0], "rb") as file:
            content = file.read()
        self.xec("put", "-", "/in/stream", stdin=content)
        self.assertEqual(self.xec("get", "/in/stream", "-", binary=True).out, content)
        os.mkdir(self.path("folder"))
        self.xec("get", "/in/q", self.path("folder"))
        self.assert_same(files[1], self.path("folder", "q"))

    def test_remove_rename_and_make_directories(self):
        self.make("/a/one", "/a/two", "/a/b/three", size=1000)
        self.xec("mv", "/a/one", "/a/uno")
        self.xec("mv", "/a/uno", "/a/b")
        self.assertEqual(self.xec("ls", "/a/b").out, "three\nuno\n")
        self.xec("mv", "/a/b", "/c")
        self.assertEqual(self.xec("ls", "/c").out, "three\nuno\n")
        self.xec("rm", "/a/two")
        self.xec("rm", "/c", code=EXIT_KIND)
        self.assertEqual(self.xec("ls", "/c").out, "three\nuno\n")
        self.xec("rm", "-r", "/c", "/a")
        self.assertEqual(self.xec("ls", "/").out, "")
        self.xec("mkdir", "/x/y", code=EXIT_NOT_FOUND)
        self.xec("mkdir", "-p", "/x/y")
        self.xec("mkdir", "/x", code=EXIT_EXISTS)
        self.xec("mkdir", "-p", "/x")

    def test_exit_codes(self):
        self.assertIn("there is no store", self.xec("ls", code=EXIT_NOT_FOUND).err)
        file = self.make("/a", size=1000)
        self.assertEqual(self.xec("cat", "/none", code=EXIT_NOT_FOUND).err.count("\n"), 1)
        self.xec("put", "--exclusive", file, "/a", code=EXIT_EXISTS)
        self.xec("ls", "/none", code=EXIT_NOT_FOUND)
        self.xec("put", self.path("none"), "/b", code=EXIT_NOT_FOUND)
        self.xec("ls", "--frob", code=EXIT_USAGE)
        self.xec("ls", "--geometry", "9+9", code=EXIT_USAGE)
        self.xec("stat", "/a/../b", code=EXIT_USAGE)
        for directory in self.dirs[:4]:
            os.rename(directory, directory + ".away")
        self.assertIn("cannot", self.xec("stat", "/a", code=EXIT_RETRY).err)
        self.xec("stat", "/none", code=EXIT_RETRY)
        self.xec("put", "--exclusive", file, "/a", code=EXIT_RETRY)
        for directory in self.dirs[:4]:
            os.rename(directory + ".away", directory)
        self.xec("put", "--exclusive", file, "/a", code=EXIT_EXISTS)

    def test_output_that_cannot_be_written(self):
        """It was cut short without a word, or the program aborted."""
        self.xec("mkdir", "--geometry", "4+2", *(f"/{number:02d}{'x' * 200}" for number in range(25)))
        for command in (["ls", *self.options()], ["ls", "-l", "--json", *self.options()], ["version"], ["ls", "--help"],
                        ["stat", "/", *self.options()], ["health", *self.options()]):
            with self.subTest(command[0]):
                result = self.run_program(["sh", "-c", 'exec "$0" "$@" > /dev/full', self.program("xec"), *command],
                                          code=None)
                self.assertIn(result.code, (EXIT_ERROR, EXIT_NO_SPACE))
                self.assertRegex(result.err, r"^xec: \S.*standard output.*\n$")
        self.run_program(["sh", "-c", 'exec "$0" "$@" 2> /dev/full', self.program("xec"), "ls", self.path("none")],
                         code=EXIT_USAGE)

    def test_damage_is_survived_and_named(self):
        file = self.make("/a", size=1_000_000)
        chunks = json.loads(self.xec("locate", "--json", "/a").out)[0]["chunks"]
        self.assertEqual(len(chunks), 4 * 6)
        table = self.xec("locate", "/a").out
        self.assertIn("parity 1", table)
        self.assertEqual(len([line for line in table.splitlines() if line[:1].isdigit()]), 4)
        self.xec("verify", "/a")
        archive = chunks[0]["address"] + chunks[0]["archive"]
        self.flip_byte(archive, 5000)
        bad = self.xec("verify", "/a", code=EXIT_DAMAGE).out
        self.assertIn(chunks[0]["archive"], bad)
        self.assertIn("corrupt", bad)
        self.xec("get", "/a", self.path("back"))
        self.assert_same(file, self.path("back"))
        for directory in self.dirs[4:]:
            shutil.rmtree(directory)
        if chunks[0]["address"] not in self.dirs[4:]:
            result = self.xec("get", "/a", self.path("lost"), code=None)
            self.assertIn(result.code, (EXIT_DAMAGE, EXIT_RETRY))
            self.assertFalse(os.path.exists(self.path("lost")))
            self.assertFalse([name for name in os.listdir(self.dir) if name.endswith(".part")])

    def test_interrupted_transfers_leave_nothing(self):
        self.make("/keep", size=1000)
        reader, writer = os.pipe()
        process = subprocess.Popen([self.program("xec"), "put", *self.options(), "-", "/keep"], stdin=reader,
                                   stderr=subprocess.PIPE)
        os.close(reader)
        os.write(writer, b"x" * 60000)
        # Only when it has caught the first signal is the next one a test of anything.
        self.eventually(lambda: signal_caught(process.pid, signal.SIGINT), 20, "xec put is ready for signals")
        process.send_signal(signal.SIGINT)
        os.close(writer)
        self.assertEqual(process.wait(60), EXIT_INTERRUPTED)
        process.stderr.close()
        self.xec("get", "/keep", self.path("kept"))
        self.assert_same(self.path("source"), self.path("kept"))


def signal_caught(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


class Recover(CliTest):
    def test_from_four_of_six_copies(self):
        file = self.make("/deep/object", "/deep/other", size=700_000)
        self.xec("rm", "/deep/other")
        shutil.rmtree(self.dirs[0])
        shutil.rmtree(self.dirs[3])
        rest = [self.dirs[i] for i in (1, 2, 4, 5)]
        # Ended the search with an exception.
        os.symlink("loop", os.path.join(rest[0], "loop"))
        xec = self.program("xec")
        out = self.run_program([xec, "recover", *rest, "--object", "/deep/object", "-o", self.path("back")])
        self.assertIn("/deep/object", out.out)
        self.assertRegex(out.err, r"/loop: \S")
        self.assert_same(file, self.path("back"))
        result = self.run_program([xec, "recover", *rest[:3], "--object", "/deep/object", "-o", self.path("lost")],
                                  code=EXIT_DAMAGE)
        self.assertIn("stripe 0", result.err)
        self.assertFalse(os.path.exists(self.path("lost")))
        self.run_program([xec, "recover", self.path("none"), "-o", "-"], code=EXIT_NOT_FOUND)

    def test_xrdec_archives_by_name(self):
        fixtures = os.path.join(xectest.REPO, "tests", "fixtures", "xrdec-6.1.0")
        with open(os.path.join(fixtures, "manifest.json"), encoding="utf-8") as file:
            objects = json.load(file)["objects"]
        for entry in objects:
            if entry["path"] not in ("4+2/three-stripes-plus-7", "8+3/small-27k", "4+2/empty"):
                continue
            servers = [os.path.join(fixtures, name) for name in entry["archives"]]
            self.run_program([self.program("xec"), "recover", *servers, "--name", entry["path"], "--geometry",
                              f"{entry['data_chunks']}+{entry['parity_chunks']}", "--chunk-size",
                              str(entry["chunk_size"]), "-o", self.path("back")])
            self.assertEqual(self.sha256(self.path("back")), entry["sha256"], entry["path"])


class Serve(CliTest):
    def test_root_and_http_on_one_port(self):
        store = self.serve(geometry="4+2", options=["--http-port", str(self.free_port())])
        http_port = store.process.argv[store.process.argv.index("--http-port") + 1]
        file = self.random_file("f", 1_500_000)
        self.xrdcp(file, store.url + "//dir/f")
        self.curl("-o", self.path("http"), store.http + "/dir/f")
        self.assert_same(file, self.path("http"))
        self.curl("-o", self.path("second"), f"http://127.0.0.1:{http_port}/dir/f")
        self.assert_same(file, self.path("second"))
        self.curl("-T", file, store.http + "/dir/g")
        self.xrdcp(store.url + "//dir/g", self.path("root"))
        self.assert_same(file, self.path("root"))
        self.assertIn("/dir/g", self.xrdfs(store.url, "ls", "/dir").out)
        self.assertEqual(store.xec("ls", "/dir").out, "f\ng\n")
        self.assertEqual(store.stop(), 0)

    def test_what_root_does_the_gateway_can_change(self):
        self.require_root("it is about root")
        store = self.serve(geometry="4+2")
        file = self.random_file("f", 100_000)
        xec = self.program("xec")
        self.run_program([xec, "put", *store.store_options(), file, "/a/b"])
        self.run_program([xec, "get", *store.store_options(), "/a/b", self.path("back")])
        self.assert_same(file, self.path("back"))
        self.assertEqual(os.stat(self.path("back")).st_uid, 0)
        owner = os.stat(store.dirs[0]).st_uid
        self.assertNotEqual(owner, 0)
        self.check_owner(store.dirs[0], owner)
        self.xrdfs(store.url, "rm", "/a/b")
        self.xrdfs(store.url, "rmdir", "/a")

    def check_owner(self, directory, owner):
        for folder, names, files in os.walk(directory):
            for name in names + files:
                self.assertEqual(os.lstat(os.path.join(folder, name)).st_uid, owner, os.path.join(folder, name))

    def test_root_works_as_the_owner_though_the_first_disk_is_read_only(self):
        """Root wrote as root when the first directory could not be written, or was root's own."""
        self.enter_mounts()
        disk = self.disk(self.path("m"), 8)
        store = self.serve(dirs=[disk] + [self.path(f"e{number}") for number in range(5)], geometry="2+1")
        owner = os.stat(store.dirs[1]).st_uid
        file = self.random_file("f", 100_000)
        put = [self.program("xec"), "put", *store.store_options(), file]
        self.remount(os.path.dirname(disk), "ro")
        self.run_program([*put, "/read-only"])
        self.remount(os.path.dirname(disk), "rw")
        os.chown(disk, 0, 0)
        os.chmod(disk, 0o777)
        self.run_program([*put, "/of-root"])
        os.chown(disk, owner, -1)
        for directory in store.dirs:
            self.check_owner(directory, owner)
        os.makedirs(self.path("closed"), mode=0o700)
        self.assertEqual(store.stop(), 0)
        closed = []
        for directory in store.dirs[1:]:
            closed += ["--data", self.path("closed", os.path.basename(directory))]
            os.rename(directory, closed[-1])
        refused = self.run_program([self.program("xec"), "put", *closed, file, "/closed"], code=EXIT_DENIED)
        self.assertRegex(refused.err, r"^xec: \S*/closed/e0 belongs to user \d+, as whom it cannot be reached")

    def test_the_state_directory_is_the_gateways_own(self):
        """Root gave away all that was below the directory of --state, and two gateways could use one."""
        store = self.serve(geometry="1+1", start=False)
        folder = os.path.dirname(store.state)
        os.makedirs(os.path.join(folder, "mine"))
        owner = os.stat(folder).st_uid
        store.start()
        for path in (folder, os.path.join(folder, "mine")):
            self.assertEqual(os.stat(path).st_uid, owner, path)
        for name in ("xrootd.log", "xrootd.cfg", "admin"):
            self.assertTrue(os.path.exists(os.path.join(store.state, name)), name)
        with open(os.path.join(store.state, "xrootd.cfg"), "rb") as file:
            before = file.read()
        refused = self.run_program([*store.argv(), "--http-port", str(self.free_port())], code=EXIT_CONFLICT)
        self.assertRegex(refused.err, r"^xec: the state directory \S+ is in use by another gateway\n$")
        with open(os.path.join(store.state, "xrootd.cfg"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.xrdfs(store.url, "ls", "/")
        store.kill()
        store.start()

    def test_an_xrootd_that_does_not_get_ready(self):
        """Nothing was said for as long as it ran, and all it had written was read into memory when it ended."""
        with open(self.path("xrootd"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho error first\nseq -f 'error %07g' 100000\n"
                       f"while [ ! -e {self.path('end')} ]; do sleep 0.1; done\nexit 7\n")
        os.chmod(self.path("xrootd"), 0o755)
        store = self.serve(geometry="1+1", start=False, options=["--xrootd", self.path("xrootd")])
        process = self.background(store.argv())
        line = process.wait_line("xec: port")
        self.assertRegex(line, rf"port {store.port} is not answered yet; .*{store.state}/xrootd\.log$")
        with open(self.path("end"), "w", encoding="ascii"):
            pass
        self.assertEqual(process.wait(), 7)
        self.assertEqual(process.output().count("is not answered yet"), 1)
        self.assertRegex(process.output(), r"ended before it was ready; .*\n( +error \d{7}\n){11} +error 0100000$")

    def test_user_may_name_whom_it_is_already(self):
        """It was always told that only root can become another user."""
        store = self.serve(geometry="1+1", start=False)
        place = os.path.dirname(os.path.dirname(store.state))
        name = pwd.getpwuid(os.geteuid()).pw_name
        argv = store.argv()
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            name = nobody.pw_name
            os.chown(place, nobody.pw_uid, nobody.pw_gid)
            argv = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", *argv]
        for other, words in (("daemon", "only root can become another user"), ("frob", "there is no user frob")):
            self.assertIn(words, self.run_program([*argv, "--user", other], code=EXIT_USAGE).err)
        self.background([*argv, "--user", name],
                        env=xectest.daemons.preload_environment()).wait_line("ready")

    def test_survives_a_kill_and_lost_directories(self):
        store = self.serve(geometry="4+2")
        file = self.random_file("f", 1_500_000)
        self.xrdcp(file, store.url + "//f")
        store.kill()
        for directory in store.dirs[:2]:
            os.rename(directory, directory + ".away")
        store.start()
        self.xrdcp(store.url + "//f", self.path("degraded"))
        self.assert_same(file, self.path("degraded"))
        self.assertFalse(os.path.exists(store.dirs[0]))
        for directory in store.dirs[:2]:
            os.rename(directory + ".away", directory)
        self.eventually(lambda: "unavailable" not in store.xec("verify", "--json", "/f", code=None).out, 30, "both back")

    def test_a_gateway_waits_for_its_servers(self):
        cluster = self.cluster(servers=3)
        gateway = self.serve(dirs=[], geometry="2+1", start=False,
                             options=[word for server in cluster.servers for word in ("--server", server.server_option())])
        gateway.start()
        file = self.random_file("f", 500_000)
        self.xrdcp(file, gateway.url + "//f")
        gateway.kill()
        # One server is enough to find the others.
        self.run_program([self.program("xec"), "get", "--server", cluster.servers[1].url, "/f", self.path("one")])
        self.assert_same(file, self.path("one"))
        for server in cluster.servers:
            server.kill()
        gateway.start()
        result = self.run_program(["xrdfs", gateway.url, "stat", "/f"], code=None,
                                  env={**xectest.QUICK_CLIENT, "XRD_REQUESTTIMEOUT": "10"})
        self.assertNotEqual(result.code, 0)
        self.assertNotIn("[3011]", result.err)  # not found
        # XRootD 5 has no status 503 for this (docs/limits.md).
        self.assertIn(self.http_status("--max-time", "20", gateway.http + "/f"), (500, 503))
        for server in cluster.servers:
            cluster.start(server)
        self.eventually(lambda: self.run_program(["xrdfs", gateway.url, "stat", "/f"], code=None,
                                                 env=xectest.QUICK_CLIENT).code == 0, 60, "the store opens")
        self.xrdcp(gateway.url + "//f", self.path("back"))
        self.assert_same(file, self.path("back"))

    def test_refusals_are_one_sentence(self):
        def refused(code, words, *options):
            result = self.run_program([self.program("xec"), "serve", "--state", self.path("state"), *options], code=code)
            self.assertIn(words, result.err)
            self.assertEqual(result.err.count("\n"), 1, result.err)
        refused(EXIT_USAGE, "say where the data is")
        refused(EXIT_USAGE, "needs 10 data servers, only 6", *self.options(), "--geometry", "8+2")
        refused(EXIT_USAGE, "no chunk size", *self.options(), "--chunk-size", "0")
        refused(EXIT_USAGE, "unknown option --frob", *self.options(), "--frob")
        refused(EXIT_USAGE, "no port", *self.options(), "--port", "70000")
        refused(EXIT_USAGE, "more than the budget", *self.options(), "--geometry", "4+2", "--memory", "1MiB")
        with open(self.path("file"), "w", encoding="ascii") as file:
            file.write("xec.data /x\nxec.chunk-size 0\n")
        refused(EXIT_USAGE, "file:2: xec.chunk-size: '0'", "-c", self.path("file"))
        for words, line in (("file:3: xrd.port is set by `xec serve` itself: say xec.port instead", "  xrd.port 1095"),
                            ("file:3: ofs.osslib is set", "ofs.osslib libOther.so"),
                            ("file:3: with `continue` nothing behind it counts", "continue /etc/xrootd/config.d"),
                            ("file:3: xrd.protocol http is set", "xrd.protocol http:8080 libXrdHttp.so")):
            with open(self.path("file"), "w", encoding="ascii") as file:
                file.write(f"# mine\nxrd.trace off\n{line}\n")
            refused(EXIT_USAGE, words, "-c", self.path("file"), *self.options(), "--geometry", "4+2")
        self.assertFalse(os.path.exists(self.dirs[0]))
        refused(EXIT_USAGE, "is a file, not a directory", "--geometry", "1+1", "--data", self.path("file"),
                "--data", self.dirs[0])
        os.makedirs(self.path("mine"))
        with open(self.path("mine", "letter"), "w", encoding="ascii"):
            pass
        os.chmod(self.path("mine"), 0o755)
        if os.geteuid() == 0:
            refused(EXIT_DENIED, "is not writable by user", "--geometry", "1+1", "--data", self.path("mine"),
                    "--data", self.dirs[0])
        self.make("/a", size=10)
        other = self.serve(dirs=2, geometry="1+1")
        self.assertEqual(other.stop(), 0)
        os.chmod(other.dirs[0], 0o777)
        mixed = self.run_program([self.program("xec"), "ls", *self.options(), "--data", other.dirs[0]],
                                 code=EXIT_CONFLICT)
        self.assertIn("belongs to store", mixed.err)

    def test_a_taken_port_is_told(self):
        store = self.serve(geometry="1+1")
        second = self.serve(geometry="1+1", start=False)
        second.port = store.port
        process = self.background(second.argv())
        self.assertNotEqual(process.wait(60), 0)
        self.assertIn("in use", process.output())


if __name__ == "__main__":
    xectest.main()
