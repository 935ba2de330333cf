# SPDX-License-Identifier: LGPL-3.0-or-later
"""The five-minute tour of README.md, run as it is printed; only files are smaller and lie in the test's directory."""
import os
import re

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
MIB = 1024 if LONG else 100


def block_after(heading):
    with open(os.path.join(xectest.REPO, "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    return re.search(rf"^## {heading}$.*?^```$(.*?)^```$", text, re.M | re.S).group(1)


class Tour(xectest.TestCase):
    def test_every_command_works(self):
        commands = block_after("Five-minute tour")
        self.assertIn("localhost:1094", commands)
        self.assertIn("head -c 1G", commands)
        commands = commands.replace("/tmp/", self.dir + "/").replace("head -c 1G", f"head -c {MIB}M")
        commands = commands.replace("build/release/src/cli/xec", self.program("xec"))
        if os.path.exists("/dev/fuse"):
            self.enter_mounts()
            self.addCleanup(self.run_program, ["umount", "-l", self.path("xec")], code=None)
        else:
            commands = "\n".join(line for line in commands.splitlines() if self.path("xec") not in line)
        commands = re.sub(r"\bcurl\b", "curl -sS --fail", commands)
        dirs = [self.path("var", f"d{i:02}") for i in range(1, 13)]
        store = self.serve(dirs=dirs)
        commands = commands.replace("localhost:1094", f"localhost:{store.port}")
        out = self.run_program(["bash", "-euxo", "pipefail", "-c", commands], cwd=self.dir, seconds=300).out
        self.assertRegex(out, rf"(?m)-rw.* {MIB << 20} .* /big$")
        self.assertRegex(out, r"(?m)^adler32 [0-9a-f]{8}$")
        if os.path.exists("/dev/fuse"):
            self.assertRegex(out, r"(?m)^-rw.* hosts$")
            self.assertFalse(os.path.ismount(self.path("xec")))


if __name__ == "__main__":
    xectest.main()
