# SPDX-License-Identifier: LGPL-3.0-or-later
"""The gateway as a process: stock xrootd with our plug-in and its configuration."""
import os
import signal

import everyday
import xectest


class Daemon(everyday.EverydayTest):
    def xrootd(self, *lines):
        """Stock xrootd with a configuration of our own; returns its exit code and what it said."""
        store = self.serve(geometry="4+2", chunk_size="64KiB")
        store.stop()
        with open(os.path.join(store.state, "xrootd.cfg"), encoding="utf-8") as file:
            text = file.read()
        path = os.path.join(store.state, "other.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*(line for line in text.splitlines() if not line.startswith("ofs.persist")), *lines, ""]))
        os.chmod(path, 0o644)
        return self.run_as_owner(store.dirs[0], ["timeout", "--signal=KILL", "10", "xrootd", "-c", path, "-s",
                                                os.path.join(store.state, "admin", "xrootd.pid")], code=None,
                                 env=xectest.daemons.preload_environment())

    def test_a_wrong_directive_stops_the_daemon_with_a_sentence(self):
        result = self.xrootd("xec.geometry 9+9", "xec.nonsense 3")
        self.assertNotIn(result.code, (0, -signal.SIGKILL, 137))
        self.assertRegex(result.out + result.err, r"xec: .*other\.cfg:\d+: ")

    def test_missing_persist_directive_is_reported(self):
        result = self.xrootd()
        self.assertIn("lacks the line `ofs.persist auto hold 0`", result.out + result.err)

    def test_what_xrootd_writes_is_in_the_state_directory(self):
        """Not at one name in /tmp for all on the machine: whoever has that keeps gateways of others from starting."""
        gateway = self.serve(geometry="2+1")
        admin = os.path.join(gateway.state, "admin")
        self.assertIn("xrootd.anon.env", os.listdir(admin))

    def test_stops_on_sigterm(self):
        store = self.serve(geometry="4+2", chunk_size="64KiB")
        self.put(store, "/a", 1_000_000)
        self.assertEqual(store.stop(), 0)
        store.start()
        self.assertIn("/a", self.xrdfs(store.url, "ls", "/").out)

    def test_xrootd_checks_pages_with_our_function(self):
        """And what somebody else has preloaded stays."""
        given = xectest.daemons.preload_environment().get("LD_PRELOAD") or "libz.so.1"
        store = self.serve(geometry="2+1", start=False)
        folder = self.path("open")
        os.mkdir(folder)
        os.chmod(folder, 0o777)  # xrootd runs as another user
        output = os.path.join(folder, "ld")  # the loader adds the number of the process
        store.start(env={"LD_PRELOAD": given, "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": output})
        with open(f"/proc/{store.pid}/environ", encoding="utf-8") as file:
            variables = dict(variable.split("=", 1) for variable in file.read().split("\0") if variable)
        library = variables["LD_PRELOAD"].removeprefix(given + ":")
        self.assertEqual(os.path.basename(library), "libXecCrc32c.so")
        self.put(store, "/a", 1_000_000)
        with open(f"{output}.{store.pid}", encoding="utf-8", errors="replace") as file:
            bound = [line for line in file if "`_Z6crc32cjPKvm'" in line and "libXrdUtils" in line.split(" to ")[0]]
        self.assertEqual([line.split(" to ")[1].split()[0] for line in bound], [library])

    def test_says_that_xrootd_ended(self):
        """Also if who starts it ignores the end of children."""
        store = self.serve(geometry="2+1", start=False)
        command = store.argv()
        store.argv = lambda: ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh", *command]
        store.start()
        store.xrootd.signal(signal.SIGKILL)
        self.assertNotEqual(store.process.wait(30), 0)
        self.assertIn("xrootd ended", store.output())


if __name__ == "__main__":
    xectest.main()
