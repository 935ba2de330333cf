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
