# SPDX-License-Identifier: LGPL-3.0-or-later
"""`./dev run`, as a newcomer types it: the store it starts, the commands it prints, and how it ends."""
import os
import pwd
import re
import signal

import xectest

DEV = os.path.join(xectest.REPO, "dev")
PORT = 1094
# The build that goes before takes seconds where there is little to do.
READY_SECONDS = 300
EXIT_USAGE = 2


class DevRun(xectest.TestCase):
    """In a network of its own every port is free, also the one that ./dev run takes when nobody says another."""

    def setUp(self):
        super().setUp()
        self.var, self.port = self.path("var"), PORT

    def environment(self, build=True):
        """With the build of the tree it really compiles what has changed; another build is taken as it is."""
        own = os.path.join(xectest.REPO, "build", "release")
        of_tree = build and os.path.realpath(xectest.build_dir()) == own
        return {**xectest.daemons.preload_environment(), "XEC_VAR": self.var,
                "XEC_BUILD": "" if of_tree else xectest.build_dir()}

    def start(self, *prefix, build=True, options=(), last_line="move any two of them away"):
        process = self.background([*prefix, DEV, "run", *options], env=self.environment(build))
        ready = process.wait_line("ready", READY_SECONDS)
        self.assertIn(f"root://localhost:{self.port}/ http://localhost:{self.port}/", ready)
        process.wait_line(last_line)
        return process

    def ends(self, process, number, group):
        """The signal ends it with code 0, and with it all that it started."""
        if group:
            process.signal(number)
        else:
            os.kill(process.pid, number)
        self.assertEqual(process.wait(30), 0, process.output())
        self.eventually(lambda: not self.running(), 10, f"all processes are gone: {self.running()}")
        refused = self.run_program(["curl", "-sS", f"http://localhost:{self.port}/"], code=None)
        self.assertEqual(refused.code, 7, refused)

    def running(self):
        """Processes below this one; those that have lost their parent are, too (sandbox.adopt_daemons)."""
        return [pid for pid in xectest.daemons.descendants(os.getpid())
                if pid != os.getpid() and xectest.daemons.start_time(pid) is not None]

    def printed_commands(self, process):
        """What it says to try; only curl is told to fail, and files go below the test's directory."""
        lines = [line.strip() for line in process.output().splitlines() if line.startswith("  ")]
        self.assertEqual([line.split()[0] for line in lines], ["xrdcp", "xrdfs", "xrdfs", "xrdcp", "curl", "curl"])
        return re.sub(r"\bcurl\b", "curl -sS --fail", "\n".join(lines)).replace(" /tmp/", f" {self.dir}/")

    def check_printed_commands(self, process):
        commands = self.printed_commands(process)
        out = self.run_program(["bash", "-eux", "-o", "pipefail", "-c", commands], cwd=self.dir).out
        source = "/etc/os-release"
        self.assertIn(source, commands)
        self.assertRegex(out, rf"(?m)-rw.* {os.path.getsize(source)} .* /demo/release$")
        self.assertRegex(out, r"(?m)^adler32 [0-9a-f]{8}$")
        self.assert_same(source, self.path("release"))
        self.assert_same(source, self.path("more"))

    def check_reads_with_two_away(self, large):
        for number in (3, 7):
            os.rename(os.path.join(self.var, f"d{number:02}"), os.path.join(self.var, f"x{number:02}"))
        for name, source in (("demo/release", "/etc/os-release"), ("demo/more", "/etc/os-release"), ("large", large)):
            self.xrdcp("-f", f"root://localhost:{PORT}//{name}", self.path("again"))
            self.assert_same(source, self.path("again"))

    def test_the_tour_and_both_ways_to_end_it(self):
        tree = sorted(os.listdir(xectest.REPO))
        process = self.start()
        self.assertIn(f"The objects are spread over the twelve directories {self.var}/d01 ... d12;\n", process.output())
        self.assertEqual(sorted(os.listdir(self.var)), [f"d{number:02}" for number in range(1, 13)] + ["state"])
        self.check_printed_commands(process)
        large = self.random_file("large", 20_000_000)
        self.xrdcp(large, f"root://localhost:{PORT}//large")
        # As a terminal does for ctrl-C: to all that run in it.
        self.ends(process, signal.SIGINT, group=True)
        process = self.start()
        self.check_reads_with_two_away(large)
        self.ends(process, signal.SIGTERM, group=False)
        self.assertEqual(sorted(os.listdir(xectest.REPO)), tree)

    def test_below_a_directory_that_is_closed_to_others(self):
        self.require_root("only root's clone can be closed to those whom the daemon becomes")
        os.makedirs(self.path("closed"), mode=0o700)
        self.var = self.path("closed", "var")
        process = self.start()
        self.check_printed_commands(process)
        self.ends(process, signal.SIGTERM, group=True)

    def test_as_a_user_who_is_not_root(self):
        self.require_root("else the other tests are this one")
        nobody = pwd.getpwnam("nobody")
        prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        for path in (DEV, self.program("xec")):
            if self.run_program([*prefix, "test", "-r", path, "-a", "-x", path], code=None).code != 0:
                self.skipTest(f"{path} is closed to others")
        os.makedirs(self.var)
        os.chown(self.var, nobody.pw_uid, nobody.pw_gid)
        process = self.start(*prefix, build=False)
        self.check_printed_commands(process)
        self.assertEqual({os.lstat(os.path.join(folder, name)).st_uid for folder, _, names in os.walk(self.var)
                          for name in names}, {nobody.pw_uid})
        self.ends(process, signal.SIGINT, group=True)

    def test_options_go_to_xec_serve(self):
        self.port = self.free_port()
        data = [word for number in (1, 2, 3) for word in ("--data", self.path(f"e{number}"))]
        process = self.start(options=[*data, "--geometry=2+1", f"--port={self.port}"], last_line="  curl -O")
        self.check_printed_commands(process)
        self.assertTrue(all(self.files_below(self.path(f"e{number}")) for number in (1, 2, 3)))
        self.assertEqual(os.listdir(self.var), ["state"])
        self.ends(process, signal.SIGTERM, group=False)
        self.assertNotIn("twelve", process.output())

    def test_what_cannot_be_started(self):
        run = lambda *options, code, **more: self.run_program([DEV, "run", *options], code=code, seconds=READY_SECONDS,
                                                              env={**self.environment(), **more})
        self.assertRegex(run("--frob", code=EXIT_USAGE).err, r"(?m)^xec: .*--frob.*$")
        self.assertIn("usage", run("--help", code=0).out.lower())
        empty = run(code=1, XEC_BUILD=self.dir).err
        self.assertEqual(empty, f"dev: there is no program xec below {self.dir}\n")
        self.assertEqual(os.listdir(self.var) if os.path.exists(self.var) else [], [])
        self.assertEqual(self.running(), [])


if __name__ == "__main__":
    xectest.main()
