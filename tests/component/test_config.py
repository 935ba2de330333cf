# SPDX-License-Identifier: LGPL-3.0-or-later
# waits
"""The files that `xec config dataserver` prints, with shared secrets and TLS: closed to all but gateways, also while the key
is changed. What it prints for gateways is in test_credentials.py, for redirectors in test_redirector.py."""
import base64
import os
import shutil

import grid_site
import hosts
import xectest

REDIRECTOR = "redirector.example.org"
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


class SecuredRedirector(xectest.TestCase):
    """A gateway that asks for credentials, behind a redirector with TLS that hands them on."""

    def setUp(self):
        super().setUp()
        self.site = hosts.Hosts(self)
        self.grid = grid_site.GridSite(self)
        self.grid.certificate("host", "host", ",".join(f"DNS:{name}" for name in (REDIRECTOR, GATEWAY, "client.example.org")))
        self.grid.start_issuer("client.example.org", "")
        self.grid.trust_authority()
        shutil.copytree(self.grid.certificates, "/etc/grid-security/certificates", dirs_exist_ok=True)
        for path in ("/etc/grid-security/vomsdir", "/etc/grid-security/xrd"):
            os.makedirs(path, exist_ok=True)
        shutil.copy(self.grid.path("host.pem"), "/etc/grid-security/xrd/hostcert.pem")
        self.copy_secret("host.key", "/etc/grid-security/xrd/hostkey.pem")
        self.grid.start_kdc()
        shutil.copy(self.grid.path("krb5.conf"), "/etc/krb5.conf")
        shutil.copy(self.grid.principal(f"xrootd/{GATEWAY}"), "/etc/xrootd/krb5.keytab")
        shutil.chown("/etc/xrootd/krb5.keytab", self.site.user.pw_uid, self.site.user.pw_gid)
        self.grid.keytab("clients", "carol", "operators", 1)
        self.copy_secret("clients.keytab", "/etc/xrootd/clients.keytab")
        self.site.write("/etc/grid-security/grid-mapfile", "")
        self.site.write("/etc/xrootd/macaroon-secret", base64.b64encode(bytes(range(64))).decode() + "\n", secret=True)
        self.site.write("/etc/xrootd/rules", self.config("rules"))
        self.site.write("/etc/xrootd/scitokens.cfg", self.config("scitokens")
                        .replace("https://issuer.example.org", self.grid.issuer)
                        .replace("https://storage.example.org", grid_site.AUDIENCE))
        self.site.write("/etc/xec/xec.conf", self.config(
            "gateway", "--voms", "--tokens", "--tpc", "--sss", "--krb5", "--redirector", REDIRECTOR, "--geometry", "2+1",
            *(f"--data=/srv/xec/d{number}" for number in (1, 2, 3))))
        self.site.write("/etc/xrootd/xrootd-redirector.cfg", self.config("redirector", "--tls", "--tokens"))
        for name in (REDIRECTOR, GATEWAY):
            self.site.add(name)
        for program in ("cmsd", "xrootd"):
            self.site.start_unit(REDIRECTOR, program, "redirector")
        self.gateway = self.site.start_gateway(GATEWAY, self.config("unit"))
        self.gateway.wait_line("ready")
        self.eventually(lambda: "gateway1" in self.xrdfs(REDIRECTOR, "locate", "-h", "-m", "*", code=None, env={
            **xectest.QUICK_CLIENT, "X509_CERT_DIR": self.grid.certificates}).out, 60, "the redirector knows the gateway")

    def config(self, *words):
        return self.run_program([self.program("xec"), "config", *words]).out

    def copy_secret(self, name, path):
        with open(self.grid.path(name), encoding="ascii") as file:
            self.site.write(path, file.read(), secret=True)

    def test_credentials_are_handed_on(self):
        file = self.random_file("file", 300_000)
        token = self.grid.token("storage.read:/ storage.create:/ storage.modify:/")
        own = {"X509_CERT_DIR": self.grid.certificates, "HOME": self.path("home")}
        for protocol, folder, env in (("ztn", "/tokens", {"BEARER_TOKEN": token}),
                                      ("sss", "/operators", {"XrdSecSSSKT": self.grid.path("clients.keytab")}),
                                      ("krb5", "/operators/sub", self.grid.ticket("carol"))):
            with self.subTest(protocol):
                env = {**own, **env, "XrdSecPROTOCOL": protocol}
                self.xrdcp(file, f"roots://{REDIRECTOR}/{folder}/file", env=env)
                self.xrdcp("-f", f"roots://{REDIRECTOR}/{folder}/file", self.path("back"), env=env)
                self.assert_same(file, self.path("back"))
                # The redirector sent clients to private addresses, which no certificate has.
                self.xrdcp("-f", f"roots://{REDIRECTOR}/{folder}/file", self.path("back"), env={**env, "XRD_NETWORKSTACK": "IPv4"})
                self.xrdcp(file, f"roots://{REDIRECTOR}//elsewhere/file", env=env, code=54)
        with self.subTest("https"):
            https = ("--cacert", self.grid.authority, "--location")
            bearer = ("-H", f"Authorization: Bearer {token}")
            url = f"https://{REDIRECTOR}:1094/tokens/https"
            moved = self.run_program(["curl", "--silent", "--head", *https[:2], *bearer, url]).out
            self.assertIn(f"\nLocation: https://{GATEWAY}:1094/tokens/https?authz=", moved)
            self.curl(*https, *bearer, "-T", file, url)
            self.curl(*https, *bearer, url, "-o", self.path("back"))
            self.assert_same(file, self.path("back"))
            self.assertEqual(self.http_status(*https, url), 403)


if __name__ == "__main__":
    xectest.main()
