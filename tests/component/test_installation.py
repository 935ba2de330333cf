# SPDX-License-Identifier: LGPL-3.0-or-later
"""docs/installation.md: an installed XEC, and data servers that let in nobody but gateways."""
import os
import re
import subprocess

import xectest

DOCUMENT = os.path.join(xectest.REPO, "docs", "installation.md")
NO_AUTHENTICATION, DENIED = 52, 9


def block(first_line):
    """The lines of the document's indented block that begins with this line."""
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    found = re.search(rf"^    {re.escape(first_line)}\n(?:    .*\n)+", text, re.MULTILINE)
    return [line[4:] for line in found.group().splitlines()]


class Installed(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.prefix = self.path("usr")
        subprocess.run(["cmake", "--install", xectest.build_dir(), "--prefix", self.prefix], check=True,
                       stdout=subprocess.DEVNULL)
        self.xec = os.path.join(self.prefix, "bin", "xec")

    def test_a_box_of_disks(self):
        config = self.path("xec.conf")
        lines = [line.replace("/data/", self.dir + "/data/") for line in block("xec.data /data/d01")]
        port = self.free_port()
        with open(config, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, f"xec.state {self.path('state')}"])
                       .replace("xec.port 1094", f"xec.port {port}") + "\n")
        gateway = self.background([self.xec, "serve", "-c", config], env=xectest.daemons.preload_environment())
        gateway.wait_line("ready", 60)
        source = self.random_file("source", 3_000_000)
        self.xrdcp(source, f"root://{xectest.HOST}:{port}//first")
        self.run_program([self.xec, "get", "-c", config, "/first", self.path("back")])
        self.assert_same(source, self.path("back"))
        gateway.signal(15)
        self.assertEqual(gateway.wait(), 0)

    def test_does_without_the_library_that_is_preloaded(self):
        os.remove(os.path.join(self.prefix, "lib", "libXecCrc32c.so"))
        gateway = self.serve(geometry="2+1", start=False)
        command = gateway.argv()
        gateway.argv = lambda: [self.xec, *command[1:]]
        gateway.start()
        self.assertIn("note: libXecCrc32c.so is not beside", gateway.output())
        self.xrdcp(self.random_file("source", 1_000_000), f"{gateway.url}//a")

    def test_closed_data_servers(self):
        key, rights = self.path("xec.keytab"), self.path("xec.authdb")
        self.run_program(["xrdsssadmin", "-k", "xec", "-u", "xec", "-g", "xec", "add", key], stdin=b"y\n")
        with open(rights, "w", encoding="utf-8") as file:
            file.write("u xec / a\n")
        lines = [line.replace("/etc/xrootd/xec.keytab", key).replace("/etc/xrootd/xec.authdb", rights)
                 for line in block("# data-server") if re.match(r"xrootd\.seclib|sec\.|ofs\.|acc\.", line)]
        self.assertEqual(len(lines), 5)
        if os.geteuid() == 0:
            os.chown(key, xectest.xrootd_cluster.User().entry.pw_uid, -1)
        os.environ["XrdSecSSSKT"] = key
        self.addCleanup(os.environ.pop, "XrdSecSSSKT")
        cluster = self.cluster(servers=6, gateways=1, geometry="4+2", xec=self.xec, server_lines=lines)
        gateway = cluster.gateways[0]
        source = self.random_file("source", 3_000_000)
        servers = [word for server in cluster.servers for word in ("--server", server.url)]
        stranger = {"XrdSecSSSKT": self.path("none")}
        self.xrdcp(source, f"{gateway.url}//first", env=stranger)
        self.xrdcp(f"{gateway.url}//first", self.path("back"), env=stranger)
        self.assert_same(source, self.path("back"))
        self.run_program([self.xec, "verify", *servers, "/first"])
        for server in cluster.servers:
            refused = self.xrdfs(server.url, "ls", "/", code=NO_AUTHENTICATION, env=stranger)
            self.assertIn("Auth failed", refused.err)
        self.assertIn("Auth failed",
                      self.run_program([self.xec, "stat", *servers, "/first"], code=DENIED, env=stranger).err)


if __name__ == "__main__":
    xectest.main()
