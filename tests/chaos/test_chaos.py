# SPDX-License-Identifier: LGPL-3.0-or-later
"""A minute of chaos: nothing may be wrong, lost or resurrected; with no faults there is no error either."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "component"))
import xectest  # noqa: E402

PYTHON = "/usr/bin/python3"
CHAOS = os.path.join(xectest.REPO, "tests", "chaos", "chaos.py")
SEED = os.environ.get("XEC_TEST_SEED", "1")


class Chaos(xectest.TestCase):
    def run_chaos(self, kinds):
        if os.environ.get("XEC_TEST_LONG") != "1":
            self.skipTest("a minute of chaos; with XEC_TEST_LONG=1")
        if subprocess.run([PYTHON, "-c", "import XRootD.client"], capture_output=True, check=False).returncode != 0:
            self.skipTest("needs python3-xrootd")
        result = self.run_program([PYTHON, CHAOS, "--minutes", "1", "--seed", SEED, "--faults", kinds, "--clients", "6",
                                   "--size-max-mib", "64", "--keep", self.path("chaos"), "--xec", self.program("xec"),
                                   "--xrootd", os.environ.get("XEC_XROOTD", "/usr")], seconds=600, code=None)
        print("\n".join(result.out.splitlines()[-16:]), flush=True)
        self.assertEqual(result.code, 0, f"{result.out[-6000:]}\n{result.err[-2000:]}")

    def test_nothing_fails(self):
        self.run_chaos("none")

    def test_servers_gateways_and_clients_killed(self):
        self.run_chaos("kill")


if __name__ == "__main__":
    xectest.main()
