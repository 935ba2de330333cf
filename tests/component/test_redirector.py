# SPDX-License-Identifier: LGPL-3.0-or-later
# waits
"""Three gateways behind a redirector, all with the files that `xec config` prints, on hosts of their own."""
import contextlib
import os
import re
import signal

import hosts
import xectest

REDIRECTOR = "redirector.example.org"
GATEWAYS = [f"gateway{number}.example.org" for number in (1, 2, 3)]
DISKS = [f"disk{number:02}.example.org" for number in (1, 2, 3)]
HIGHER = "redirector.federation.org"
URL = f"root://{REDIRECTOR}/"
REFUSED = 54  # exit code of xrdfs


class Redirector(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.site = hosts.Hosts(self)
        for name in (HIGHER, REDIRECTOR, *GATEWAYS, *DISKS):
            self.site.add(name)
        servers = [f"--server=root://{name}:1095" for name in DISKS]
        self.site.write("/etc/xec/xec.conf", self.config("gateway", *servers, "--geometry", "2+1", "--redirector", REDIRECTOR))
        self.site.write("/etc/xrootd/xrootd-xec.cfg", self.config("dataserver"))
        self.site.write("/etc/xrootd/xrootd-redirector.cfg", self.config("redirector", "--higher", HIGHER))
        # Of somebody else; `xec config` has no file for it.
        self.site.write("/etc/xrootd/xrootd-federation.cfg", f"""\
all.role meta manager
all.manager meta {HIGHER}:1213
all.export /
all.adminpath /var/spool/xrootd
all.pidpath /run/xrootd
xrd.port 1094
if exec cmsd
  xrd.port 1213
fi
cms.delay startup 10 servers 1
""")
        self.unit = self.config("unit")
        for program in ("cmsd", "xrootd"):
            self.site.start_unit(HIGHER, program, "federation")
            self.site.start_unit(REDIRECTOR, program, "redirector")
        for name in DISKS:
            self.site.start_unit(name, "xrootd", "xec")
        for name in DISKS:
            self.site.wait_port(name, 1095)
        self.gateways = {name: self.site.start_gateway(name, self.unit) for name in GATEWAYS}
        for gateway in self.gateways.values():
            gateway.wait_line("ready")
        self.wait_joined(GATEWAYS)
        self.file = self.random_file("file", 1_000_000)

    def config(self, *words):
        return self.run_program([self.program("xec"), "config", *words]).out

    def joined(self):
        out = self.xrdfs(REDIRECTOR, "locate", "-h", "-m", "*", code=None, env=xectest.QUICK_CLIENT).out
        return sorted(re.findall(r"gateway\d\.example\.org", out))

    def wait_joined(self, names, seconds=60):
        self.eventually(lambda: self.joined() == sorted(names), seconds, f"the redirector knows {names}")

    def test_gateways_behind_a_redirector(self):
        """One cluster for all of it: its daemons take as long to start as the rest does."""
        for part in (self.check_one_name_space, self.check_no_waiting, self.check_spread, self.check_https_and_ipv6,
                     self.check_higher_redirector, self.check_killed_in_a_download, self.check_killed_in_an_upload,
                     self.check_dead_host):
            with self.subTest(part.__name__):
                part()

    def check_one_name_space(self):
        first, second, third = (f"root://{name}/" for name in GATEWAYS)
        self.xrdcp(self.file, first + "/a")
        for url in (second, third, URL):
            self.xrdcp("-f", url + "/a", self.path("back"))
            self.assert_same(self.file, self.path("back"))
        self.xrdfs(URL, "mkdir", "/folder")
        self.xrdfs(URL, "mv", "/a", "/folder/b")
        self.assertEqual(self.xrdfs(third, "ls", "/folder").out.split(), ["/folder/b"])
        self.assertRegex(self.xrdfs(URL, "query", "checksum", "/folder/b").out, "^adler32 [0-9a-f]{8}$")
        self.xrdfs(URL, "rm", "/folder/b")
        self.xrdfs(second, "stat", "/folder/b", code=REFUSED)

    def check_no_waiting(self):
        """A stock redirector asks servers for names that it does not know, and tells clients to wait 2 to 5 s."""
        small = self.random_file("small", 1000)
        for number in range(5):
            env = {"XRD_LOGLEVEL": "Dump"}
            missing = self.xrdfs(URL, "stat", f"/missing{number}", code=REFUSED, env=env)
            new = self.xrdcp(small, f"{URL}/new{number}", env=env)
            for told in (missing.err, new.err):
                self.assertTrue("Got kXR_redirect response" in told, "the redirector sends the client on")
                self.assertFalse("Got kXR_wait" in told, "nobody tells it to wait")

    def logins(self):
        counts = []
        for name in GATEWAYS:
            log = self.site.path(name, "/var/lib/xec/gateway-1094/xrootd.log")
            with open(log, encoding="utf-8", errors="replace") as file:
                counts.append(sum(bool(re.search(r" login( as|$)", line)) for line in file))
        return counts

    def check_spread(self):
        before = self.logins()
        for number in range(30):
            self.xrdcp(self.file, f"{URL}/spread{number}")
            self.xrdcp("-f", f"{URL}/spread{number}", self.path("back"))
        counts = [after - earlier for earlier, after in zip(before, self.logins())]
        self.assertGreaterEqual(sum(counts), 60)
        self.assertLessEqual(max(counts), 1.5 * min(counts), counts)

    def check_https_and_ipv6(self):
        for flag in ("-4", "-6"):
            name = f"http://{REDIRECTOR}:1094/http{flag}"
            self.curl(flag, "--location", "-T", self.file, name)
            self.curl(flag, "--location", "-o", self.path("back"), name)
            self.assert_same(self.file, self.path("back"))
            self.assertEqual(self.http_status(flag, "--location", name + "missing"), 404)
        for stack in ("IPv4", "IPv6"):
            self.xrdcp("-f", f"{URL}/http-4", self.path("back"), env={"XRD_NETWORKSTACK": stack})
            self.assert_same(self.file, self.path("back"))

    def check_higher_redirector(self):
        """Of a federation, which asks sites for names: only what is there is found."""
        higher = f"root://{HIGHER}/"
        self.xrdcp(self.file, f"{URL}/federated")
        self.eventually(lambda: self.xrdfs(HIGHER, "stat", "/federated", code=None, env=xectest.QUICK_CLIENT).code == 0, 60,
                        "the higher redirector finds what is there")
        self.xrdcp("-f", higher + "/federated", self.path("back"))
        self.assert_same(self.file, self.path("back"))
        self.xrdfs(HIGHER, "stat", "/not-federated", code=REFUSED)

    def serving(self):
        """The gateway that a client of the test is connected to, or None."""
        for name in GATEWAYS:
            clients = self.site.run(name, ["ss", "-tnH", "state", "established", "sport = :1094"]).out
            if re.search(r"10\.77\.0\.1\]?:|fd77::1\]?:", clients):
                return name
        return None

    def kill_serving(self):
        """Kills the gateway at which the only client is, as a crash would."""
        name = self.eventually(self.serving, 30, "a client is connected")
        for pid in xectest.daemons.descendants(self.gateways[name].pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return name

    def start_again(self, gateway):
        self.gateways[gateway] = self.site.start_gateway(gateway, self.unit)
        self.gateways[gateway].wait_line("ready")
        self.wait_joined(GATEWAYS, 30)

    def check_killed_in_a_download(self):
        big = self.random_file("big", 60_000_000)
        self.xrdcp(big, URL + "/big")
        self.eventually(lambda: self.serving() is None, 30, "earlier clients are gone")
        client = self.background(["xrdcp", "--nopbar", "--xrate", "15m", URL + "/big", self.path("big-back")])
        self.eventually(lambda: os.path.exists(self.path("big-back")) and os.path.getsize(self.path("big-back")) > 0, 30,
                        "the transfer is under way")
        killed = self.kill_serving()
        self.assertEqual(client.wait(), 0, client.output())
        self.assert_same(big, self.path("big-back"))
        self.start_again(killed)

    def check_killed_in_an_upload(self):
        """What has not been closed does not exist: xrdcp begins anew. Without the variable it waits for the same gateway."""
        big = self.random_file("big", 60_000_000)
        self.eventually(lambda: self.serving() is None, 30, "earlier clients are gone")
        client = self.background(["xrdcp", "--nopbar", "--force", "--retry", "3", "--xrate", "15m", big, URL + "/uploaded"],
                                 env={"XRD_WRITERECOVERY": "0"})
        killed = self.kill_serving()
        self.wait_joined([name for name in GATEWAYS if name != killed])
        self.assertEqual(client.wait(), 0, client.output())
        self.xrdcp("-f", URL + "/uploaded", self.path("back"))
        self.assert_same(big, self.path("back"))
        self.start_again(killed)

    def check_dead_host(self):
        """Nobody is told when a host dies: the redirector notices by itself."""
        self.site.unplug(GATEWAYS[0])
        self.wait_joined(GATEWAYS[1:])
        self.xrdcp("-f", self.file, URL + "/after")
        self.site.plug_in(GATEWAYS[0])
        self.wait_joined(GATEWAYS)


if __name__ == "__main__":
    xectest.main()
