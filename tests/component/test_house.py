#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tests ./dev itself and the vanilla cluster that it starts."""
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap

import xectest

sys.path.insert(0, os.path.join(xectest.REPO, "tools"))
import daemons  # noqa: E402
import run_tests  # noqa: E402
import xrootd_cluster  # noqa: E402

DEV = os.path.join(xectest.REPO, "dev")


class HouseTest(xectest.TestCase):
    def dev(self, *arguments, **options):
        return self.run_program([DEV, *arguments], **options)

    def assert_one_sentence(self, result, *words):
        """Nothing on stdout, one line on stderr, with these words in it."""
        self.assertEqual(result.out, "")
        self.assertEqual(len(result.err.strip().splitlines()), 1, result.err)
        for word in words:
            self.assertIn(word, result.err)


class FrontEnd(HouseTest):
    def test_help_names_every_command(self):
        text = self.dev("help").out
        for command in ("run", "build", "test", "check", "bench", "cluster", "simulate", "chaos", "help"):
            self.assertRegex(text, rf"(?m)^  {command}\b")
        self.assertEqual(self.dev("--help").out, text)

    def test_works_from_any_directory(self):
        self.assertIn("usage:", self.dev("help", cwd="/").out)

    def test_usage_errors_are_one_sentence_and_code_2(self):
        for arguments, word in [
                ([], "what to do"), (["frobnicate"], "frobnicate"), (["build", "--frob"], "--frob"),
                (["build", "--preset", "nope"], "nope"), (["build", "--preset"], "--preset"),
                (["build", "--xrootd", "/nonexistent"], "/nonexistent"), (["test", "--frob"], "--frob"),
                (["test", "--preset", "nope"], "nope"), (["test", "--jobs", "x"], "--jobs"),
                (["check", "--frob"], "--frob"), (["cluster"], "required"), (["cluster", "sideways"], "sideways"),
                (["cluster", "up"], "--servers"), (["cluster", "up", "--servers", "x", "--dir", "/tmp"], "--servers"),
                (["cluster", "up", "--servers", "2", "--dir", "/tmp", "--frob"], "--frob"),
                (["cluster", "down"], "--dir")]:
            with self.subTest(arguments=arguments):
                self.assert_one_sentence(self.dev(*arguments, code=2), word)


class CountedResults(HouseTest):
    """The last line of ./dev test is only as good as this."""

    def test_gtest_output(self):
        output = textwrap.dedent("""\
            [==========] Running 4 tests from 1 test suite.
            [ RUN      ] A.a
            [       OK ] A.a (0 ms)
            [ RUN      ] A.b
            [  FAILED  ] A.b, where GetParam() = 3 (0 ms)
            [ RUN      ] A.c
            [  SKIPPED ] A.c (0 ms)
            [ RUN      ] A.d
            """)
        crashed = run_tests.count_gtest("t", output.replace("[  FAILED  ] A.b, where GetParam() = 3 (0 ms)\n", ""),
                                        False)
        self.assertEqual((crashed.passed, crashed.failed, crashed.skipped), (1, 1, 1))
        self.assertIn("A.d", crashed.failures[0])
        failed = run_tests.count_gtest("t", output + "[       OK ] A.d (1 ms)\n[  FAILED  ] A.b, where x\n", False)
        self.assertEqual((failed.passed, failed.failed, failed.failures), (2, 1, ["t: A.b"]))
        self.assertIsNone(run_tests.count_gtest("t", "some other program\n", True))

    def test_component_file_that_crashes_hangs_or_fails(self):
        env = dict(os.environ)
        for body, passed, failed in [
                ("print('ok a')\nprint('ok b')\nprint('skip c: no')", 2, 0), ("print('FAIL a: x')", 0, 1),
                ("print('ok a', flush=True)\nimport os\nos.abort()", 1, 1), ("raise ValueError", 0, 1),
                ("# seconds: 1\nimport subprocess\nsubprocess.run(['sleep', '1000'])", 0, 1)]:
            with self.subTest(body=body):
                path = self.path("test_x.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(body + "\n")
                code = ("import sys, threading; sys.path.insert(0, sys.argv[1]); import run_tests, os;"
                        "c = run_tests.run_component(sys.argv[2], dict(os.environ), threading.Lock());"
                        "print('counted', c.passed, c.failed)")
                result = self.run_program([sys.executable, "-c", code, os.path.join(xectest.REPO, "tools"), path],
                                          env=env, seconds=30)
                self.assertIn(f"counted {passed} {failed}\n", result.out)


class OtherProcesses(HouseTest):
    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]

    def test_one_is_there_until_its_last_thread_is_gone(self):
        program = textwrap.dedent("""\
            import ctypes, threading, time
            threading.Thread(target=time.sleep, args=(600,)).start()
            print(flush=True)
            ctypes.PyDLL(None).pthread_exit(None)
            """)
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            self.eventually(lambda: self.state(process.pid) == "Z", 10, "its first thread to end")
            daemon = daemons.Daemon(process.pid, daemons.start_time(process.pid))
            self.assertTrue(daemon.alive())
            daemon.kill()
            self.assertFalse(daemon.alive())


class VanillaCluster(HouseTest):
    def up(self, *arguments, servers=2, directory="c", code=0):
        self.addCleanup(self.dev, "cluster", "down", "--dir", self.path(directory), code=None)
        return self.dev("cluster", "up", "--servers", servers, "--dir", self.path(directory), *arguments, code=code)

    def processes_below(self, directory):
        """Pids of all processes that name `directory` on their command line."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if directory.encode() in file.read():
                        found.append(int(pid))
            except OSError:
                continue
        return found

    def test_lines_and_life(self):
        lines = self.up("--base-port", "23000", servers=3).out.splitlines()
        self.assertEqual(lines[0], f"redirector={xectest.HOST}:23000")
        pids = {}
        for index, line in enumerate(lines[1:], 1):
            match = re.fullmatch(r"server\.(\d+)=127\.0\.0\.1:(\d+) (\d+) (/\S+)", line)
            self.assertTrue(match, line)
            self.assertEqual(int(match.group(1)), index)
            pids[index] = int(match.group(3))
            self.assertTrue(os.path.isdir(match.group(4)))
            with open(f"/proc/{pids[index]}/comm", encoding="ascii") as file:
                self.assertEqual(file.read().strip(), "xrootd")
        self.assertEqual(len(pids), 3)
        port, directory = re.search(r":(\d+) \d+ (\S+)$", lines[2]).groups()

        file = self.random_file("f", 100_000)
        url = f"root://{xectest.HOST}:{port}"
        self.xrdcp(file, url + "//a/b")
        self.assert_same(file, os.path.join(directory, "a", "b"))
        self.xrdfs(url, "xattr", "/a/b", "set", "xec.test=1")
        self.assertIn("xec.test", self.xrdfs(url, "xattr", "/a/b", "list").out)
        through_redirector = self.xrdfs(f"root://{xectest.HOST}:23000", "locate", "-m", "/a/b").out
        self.assertIn(f":{port} ", through_redirector)

        os.kill(pids[2], signal.SIGKILL)
        daemons.wait_exit(pids[2], 10)
        self.xrdfs(url, "stat", "/a/b", code=None, env=xectest.QUICK_CLIENT)
        self.assertIn("dead: server.2", self.dev("cluster", "status", "--dir", self.path("c")).out)
        again = self.dev("cluster", "start", "--dir", self.path("c"), "server.2").out.splitlines()
        self.assertTrue(again[2].startswith(f"server.2={xectest.HOST}:{port} "), again[2])
        self.xrdcp(url + "//a/b", self.path("back"))
        self.assert_same(file, self.path("back"))

        self.assertTrue(self.processes_below(self.path("c")))
        self.dev("cluster", "down", "--dir", self.path("c"))
        self.assertEqual(self.processes_below(self.path("c")), [])
        self.assert_same(file, os.path.join(directory, "a", "b"))

    def test_data_spaces_are_symbolic_links(self):
        lines = self.up("--spaces", "2", servers=1).out.splitlines()
        port, directory = re.search(r":(\d+) \d+ (\S+)$", lines[1]).groups()
        file = self.random_file("f", 1000)
        spaces = set()
        for number in range(4):
            self.xrdcp(file, f"root://{xectest.HOST}:{port}//d/{number}")
            name = os.path.join(directory, "d", str(number))
            self.assertTrue(os.path.islink(name))
            self.assert_same(file, name)
            spaces.add(os.path.relpath(os.path.realpath(name), os.path.dirname(directory)).split("/")[0])
        self.assertEqual(spaces, {"space.1", "space.2"})

    def test_a_closed_directory_above_and_a_long_name(self):
        self.require_root("only root meets directories that its daemons cannot pass")
        os.makedirs(self.path("closed", "x" * 100), mode=0o700)
        os.chmod(self.path("closed"), 0o700)
        place = os.path.join("closed", "x" * 100, "c")
        lines = self.up(servers=1, directory=place).out.splitlines()
        port, directory = re.search(r":(\d+) \d+ (\S+)$", lines[1]).groups()
        file = self.random_file("f", 1000)
        self.xrdcp(file, f"root://{xectest.HOST}:{port}//a")
        self.assert_same(file, os.path.join(directory, "a"))

    def test_errors(self):
        self.assert_one_sentence(self.dev("cluster", "down", "--dir", self.path("none"), code=1), "no cluster")
        for arguments, servers in [([], 0), (["--base-port", "80"], 1), (["--hosts", "3"], 2), (["--spaces", "-1"], 1),
                                   (["--xrootd", "/nonexistent"], 1)]:
            with self.subTest(arguments=arguments):
                self.assert_one_sentence(self.up(*arguments, servers=servers, code=2))
        self.up(servers=1)
        self.assert_one_sentence(self.up(servers=1, code=1), "already")
        self.assert_one_sentence(self.dev("cluster", "start", "--dir", self.path("c"), "server.9", code=1), "server.9")

    def test_a_machine_without_an_address(self):
        self.require_root("only root gives a machine another name")
        result = self.run_program(["unshare", "--uts", "sh", "-c", "echo nobody-knows-me >/proc/sys/kernel/hostname && "
                                   f"{DEV} cluster up --servers 1 --dir {self.path('c')}"], code=1)
        self.assert_one_sentence(result, "nobody-knows-me", "/etc/hosts")

    def test_nothing_is_left_in_the_common_temporary_directory(self):
        before = set(os.listdir("/tmp"))
        self.up(servers=1)
        self.dev("cluster", "down", "--dir", self.path("c"))
        left = {name for name in set(os.listdir("/tmp")) - before if name.startswith(("xrootd", "cmsd", "xec-cluster"))}
        self.assertEqual(left, set())

    def test_a_taken_port_fails_and_leaves_nothing(self):
        with socket.socket() as taken:
            taken.bind(("", 24011))
            taken.listen()
            result = self.up("--base-port", "24000", servers=1, code=1)
        self.assertIn("server.1", result.err)
        self.assertEqual(self.processes_below(self.path("c")), [])

    def test_module(self):
        cluster = self.cluster(servers=4, hosts=2)
        self.assertEqual([server.host for server in cluster.servers], ["h01", "h02", "h01", "h02"])
        self.assertEqual(cluster.servers[1].server_option(), cluster.servers[1].url + ",host=h02")
        self.assertEqual(cluster.locate(), {server.port for server in cluster.servers})
        victim = cluster.servers[0]
        victim.kill()
        self.assertFalse(victim.xrootd.alive())
        cluster.start(victim)
        self.xrdfs(victim.url, "ls", "/")
        same = xrootd_cluster.Cluster.load(cluster.options.dir)
        self.assertEqual(same.describe(), cluster.describe())

    def test_a_gateway_in_front(self):
        gateway = self.cluster(servers=3, gateways=1, geometry="2+1").gateways[0]
        file = self.random_file("a", 100_000)
        self.xrdcp(file, gateway.url + "//a")
        self.xrdcp(gateway.url + "//a", self.path("b"))
        self.assert_same(file, self.path("b"))


class Helpers(HouseTest):
    """xectest itself."""

    def test_private_network(self):
        with open("/proc/net/dev", encoding="ascii") as file:
            devices = [line.split(":")[0].strip() for line in file if ":" in line]
        self.assertIn("lo", devices)
        self.assertFalse([device for device in devices if device.startswith(("eth", "en"))], devices)

    def test_time_limits(self):
        with self.assertRaisesRegex(AssertionError, "not finished after"):
            self.run_program(["sleep", "1000"], seconds=0.2)
        process = self.background(["sh", "-c", "echo one; echo two; exec sleep 1000"])
        self.assertEqual(process.wait_line("two"), "two")
        with self.assertRaisesRegex(AssertionError, "still running"):
            process.wait_line("three", seconds=0.2)
        with self.assertRaisesRegex(AssertionError, "still runs"):
            process.wait(seconds=0.2)
        process.kill()
        with self.assertRaisesRegex(AssertionError, "ended"):
            process.wait_line("three")

    def test_exit_codes(self):
        self.assertEqual(self.run_program(["sh", "-c", "echo x; exit 3"], code=3).out, "x\n")
        with self.assertRaisesRegex(AssertionError, "expected exit code 0"):
            self.run_program(["false"])


if __name__ == "__main__":
    xectest.main()
