# SPDX-License-Identifier: LGPL-3.0-or-later
"""The files that `xec config dataserver` prints, with shared secrets and TLS: closed to all but gateways, also while the key
is changed. What it prints for gateways is in test_credentials.py, for redirectors in test_redirector.py."""
import os
import shutil

import grid_site
import hosts
import xectest

GATEWAY = "gateway1.example.org"
DISKS = [f"disk{number:02}.example.org" for number in (1, 2, 3)]
KEYS = {"XrdSecSSSKT": "/etc/xec/xec.keytab"}


class DataServers(xectest.TestCase):
    def setUp(self):
        super().setUp()
        grid = grid_site.GridSite(self)
        grid.certificate("host", "disk", ",".join(f"DNS:{name}" for name in DISKS))
        self.site = hosts.Hosts(self)
        shutil.copytree(grid.certificates, "/etc/grid-security/certificates", dirs_exist_ok=True)
        os.makedirs("/etc/grid-security/xrd", exist_ok=True)
        shutil.copy(grid.path("host.pem"), "/etc/grid-security/xrd/hostcert.pem")
        with open(grid.path("host.key"), encoding="ascii") as file:
            self.site.write("/etc/grid-security/xrd/hostkey.pem", file.read(), secret=True)
        for name in (GATEWAY, *DISKS):
            self.site.add(name)
        servers = [f"--server=root://{name}:1095" for name in DISKS]
        self.site.write("/etc/xec/xec.conf", self.config("gateway", *servers, "--geometry", "2+1"))
        self.site.write("/etc/xrootd/xrootd-xec.cfg", self.config("dataserver", "--sss", "--tls"))
        self.site.write("/etc/xrootd/xec.authdb", "u xec / a\n")
        self.first = self.key("first")
        self.second = self.another_key()
        self.site.write("/etc/xrootd/xec.keytab", self.first, secret=True)
        self.site.write("/etc/xec/xec.keytab", self.first, secret=True)
        self.unit = self.config("unit")
        self.servers = {name: self.site.start_unit(name, "xrootd", "xec") for name in DISKS}
        for name in DISKS:
            self.site.wait_port(name, 1095)
        self.start_gateway()

    def config(self, *words):
        return self.run_program([self.program("xec"), "config", *words]).out

    def key(self, name):
        path = self.path(name + ".keytab")
        self.run_program(["xrdsssadmin", "-k", "xec", "-u", "xec", "-g", "xec", "add", path], stdin=b"y\n")
        with open(path, encoding="ascii") as file:
            return file.read()

    def another_key(self):
        """The second in which it was made is what tells a key from others."""
        tried = iter(range(1000))
        return self.eventually(lambda: (key := self.key(f"new{next(tried)}")).split()[4] != self.first.split()[4] and key, 5,
                               "a key with another number")

    def start_gateway(self):
        self.gateway = self.site.start_gateway(GATEWAY, self.unit)
        self.gateway.wait_line("ready")

    def restart_servers(self):
        for name in DISKS:
            self.servers[name].kill()
            self.servers[name] = self.site.start_unit(name, "xrootd", "xec")
            self.site.wait_port(name, 1095)
            self.check_works()

    def check_works(self):
        """Whatever server is away just now."""
        file = self.random_file("file", 3_000_000)
        self.xrdcp("-f", file, f"root://{GATEWAY}//file")
        self.xrdcp("-f", f"root://{GATEWAY}//file", self.path("back"))
        self.assert_same(file, self.path("back"))

    def ls(self, key):
        self.site.write("/etc/xec/probe.keytab", key, secret=True)
        return self.site.run(GATEWAY, ["xrdfs", f"root://{DISKS[0]}:1095", "ls", "/"], code=None,
                             env={**xectest.QUICK_CLIENT, "XrdSecSSSKT": "/etc/xec/probe.keytab"})

    def test_keys_change_while_clients_work(self):
        self.check_works()
        self.assertEqual(self.ls(self.first).code, 0)
        self.assertIn("Auth failed", self.ls(self.second).err)
        # Nothing gets in without TLS: the authority has to be known.
        untrusting = self.site.run(GATEWAY, ["xrdfs", f"root://{DISKS[0]}:1095", "ls", "/"], code=None, env={
            **xectest.QUICK_CLIENT, **KEYS, "X509_CERT_DIR": self.path("nowhere")})
        self.assertNotEqual(untrusting.code, 0)
        # docs/deployment.md, "A change of keys".
        self.site.write("/etc/xrootd/xec.keytab", f"{self.first}\n{self.second}", secret=True)
        self.restart_servers()
        self.site.write("/etc/xec/xec.keytab", self.second, secret=True)
        self.gateway.signal(15)
        self.assertEqual(self.gateway.wait(), 0)
        self.start_gateway()
        self.check_works()
        self.site.write("/etc/xrootd/xec.keytab", self.second, secret=True)
        self.restart_servers()
        self.assertIn("Auth failed", self.ls(self.first).err)
        self.assertEqual(self.ls(self.second).code, 0)


if __name__ == "__main__":
    xectest.main()
