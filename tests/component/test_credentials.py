# SPDX-License-Identifier: LGPL-3.0-or-later
"""A gateway as a site of the grid has it, by the clients of the grid: what they say of a refusal, and how they have one
gateway copy from another; and what a ban holds for. Who may do what with which credential is in test_client_table.py and
test_refusals.py."""
import socket
import ssl
import time

import grid_site
import xectest
from grid_site import ALL_OF_STORAGE, LOGIN_REFUSED, NO_ANSWER


class Certificates(grid_site.GridTest):
    rights = "u alice /alice a\nu carol /carol a\n"

    def test_revoked(self):
        """While the gateway runs, and alice with another certificate is let in as ever."""
        self.site.certificate("lost-alice", "alice")

        def shown(name):
            return "--cert", self.site.path(name + ".pem"), "--key", self.site.path(name + ".key")
        lost, good = (self.proxy_client(self.site.proxy(name, "alice")) for name in ("lost-alice", "alice"))
        self.check_https("/alice", *shown("lost-alice"))
        self.site.revoke("lost-alice")
        self.check_https_refused("/alice", *shown("lost-alice"), status=NO_ANSWER)
        self.check_root_refused("/alice", lost, LOGIN_REFUSED)
        self.check_https("/alice", *shown("alice"))
        self.xrdcp(f"{self.root}/alice/file", self.path("back"), "--force", env=good)

    def test_a_revoked_authority(self):
        self.site.authority_below("below")
        self.site.certificate("alice-below", "alice", authority="below")
        shown = ("--cert", self.site.path("alice-below.pem"), "--key", self.site.path("alice-below.key"))
        self.check_https("/alice", *shown)
        below = self.proxy_client(self.site.proxy("alice-below", "alice"))
        self.xrdcp(f"{self.root}/alice/file", self.path("back"), "--force", env=below)
        self.site.revoke("below")
        self.check_https_refused("/alice", *shown, status=NO_ANSWER)
        self.check_root_refused("/alice", self.proxy_client(self.site.proxy("alice-below", "alice")), LOGIN_REFUSED)

    def test_a_session_that_is_resumed(self):
        """With the line of XRootD's by which its https has sessions to resume; the certificate is revoked meanwhile."""
        self.restart_with("http.tlsreuse on")
        self.site.certificate("lost-alice", "alice")
        context = ssl.create_default_context(cafile=self.site.authority)
        context.load_cert_chain(self.site.path("lost-alice.pem"), self.site.path("lost-alice.key"))

        def ask(session=None):
            plain = socket.create_connection(("localhost", self.gateway.port))
            self.addCleanup(plain.close)
            secret = context.wrap_socket(plain, server_hostname="localhost", session=session)
            secret.sendall(b"GET /alice/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return secret.recv(100)[:12], secret.session
        kept = {}
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context.maximum_version = version
            answer, kept[version] = ask()
            self.assertEqual(answer, b"HTTP/1.1 404")
            self.assertEqual(ask(kept[version])[0], b"HTTP/1.1 404")
        self.site.revoke("lost-alice")
        for version, session in kept.items():
            context.maximum_version = version
            with self.subTest(version), self.assertRaises(OSError):
                ask(session)

    def test_a_handshake_that_stops_half_way(self):
        """XrdHttp waits ten seconds for each piece of one, and begins anew then."""
        context = ssl.create_default_context(cafile=self.site.authority)
        context.load_cert_chain(self.site.path("alice.pem"), self.site.path("alice.key"))
        received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(received, to_send, server_hostname="localhost")
        plain = socket.create_connection(("localhost", self.gateway.port))
        self.addCleanup(plain.close)
        plain.settimeout(60)
        pause = 11
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                flight = to_send.read()
                plain.sendall(flight[:len(flight) // 2])
                time.sleep(pause)
                pause = 0
                plain.sendall(flight[len(flight) // 2:])
                piece = plain.recv(65536)
                self.assertTrue(piece, "the gateway goes on with the handshake")
                received.write(piece)
        self.check_https("/alice", "--cert", self.site.path("alice.pem"), "--key", self.site.path("alice.key"))


class Macaroons(grid_site.GridTest):
    def prepare_site(self):
        self.site.vo("testvo", "voms.example.org")

    def test_anybody_gets_one_that_sees_size_and_time(self):
        """Stock XRootD never refuses one."""
        member = self.site.vo_proxy("alice", "testvo", "voms.example.org", "/testvo/Role=NULL")
        self.check_https("/vo", "--cert", member)
        for credential in ((), ("--cert", self.site.proxy("bob", "bob"))):
            stranger = ("-H", "Authorization: Bearer " + self.macaroon("/vo/", *credential))
            self.assertEqual(self.https_status("/vo/file", *stranger, "--head"), 200)
            self.assertEqual(self.https_status("/vo/", *stranger, "-X", "PROPFIND", "-H", "Depth: 1"), 403)
            for request in ((), ("-T", self.file), ("-X", "DELETE")):
                self.assertEqual(self.https_status("/vo/file", *stranger, *request), 403, request)


class Bans(grid_site.GridTest):
    """Each kind holds by each door, and whatever else the client shows; others go on."""
    rights = "u alice /alice a\nu * /public rl\n"

    def prepare_site(self):
        self.site.vo("testvo", "voms.example.org")

    def setUp(self):
        super().setUp()
        self.restart_with(f"xec.banned {self.site.write('banned', '')}")

    def who_may(self):
        """The clients that may look at what they have."""
        good, evil = (self.site.token(ALL_OF_STORAGE, sub=subject) for subject in ("good", "evil"))
        by_https = {"certificate": ("/alice/file", "--cert", self.site.path("alice.pem"), "--key", self.site.path("alice.key")),
                    "proxy": ("/alice/file", "--cert", self.proxy), "macaroon": ("/alice/file", *self.bearer(self.given)),
                    "good": ("/tokens/file", *self.bearer(good)), "evil": ("/tokens/file", *self.bearer(evil))}
        by_root = {"gsi": ("/alice/file", self.proxy_client(self.proxy)),
                   "evil login": ("/tokens/file", self.root_client("ztn", BEARER_TOKEN=evil)),
                   "evil login, good token": (f"/tokens/file?authz=Bearer%20{good}", self.root_client("ztn", BEARER_TOKEN=evil))}
        return ({who for who, words in by_https.items() if self.https_status(*words) == 200} |
                {who for who, (name, env) in by_root.items() if self.xrdfs(self.root, "stat", name, env=env, code=None).code == 0})

    @staticmethod
    def bearer(token):
        return "-H", f"Authorization: Bearer {token}"

    def test_each_kind(self):
        self.proxy = self.site.vo_proxy("alice", "testvo", "voms.example.org", "/testvo/Role=NULL")
        shown = ("--cert", self.site.path("alice.pem"), "--key", self.site.path("alice.key"))
        self.given = self.macaroon("/alice/", *shown)
        for name, words in (("/alice/file", shown), ("/tokens/file", self.bearer(self.site.token(ALL_OF_STORAGE)))):
            self.assertEqual(self.https_status(name, *words, "-T", self.file), grid_site.PUT_STATUS)
        everybody = self.who_may()
        self.assertEqual(everybody, {"certificate", "proxy", "macaroon", "good", "evil", "gsi", "evil login", "evil login, good token"})
        for ban, whom in (("name alice", {"certificate", "proxy", "macaroon", "gsi"}),
                          (f"dn {grid_site.ORGANISATION}/CN=alice", {"certificate", "proxy", "gsi"}),
                          ("vo testvo", {"proxy", "gsi"}),
                          ("subject evil", {"evil", "evil login", "evil login, good token"}),
                          ("host 127.0.0.1", everybody), ("name nobody", set())):
            with self.subTest(ban):
                self.site.write("banned", f"# {ban}\n{ban}\n")
                self.assertEqual(everybody - self.who_may(), whom)
        with self.subTest("a wrong line leaves what was said before"):
            self.site.write("banned", "name alice\n")
            self.assertNotIn("gsi", self.who_may())
            self.site.write("banned", "alice\n")
            self.assertNotIn("gsi", self.who_may())


class GridClients(grid_site.GridTest):
    """What experiments use: gfal over both protocols, and davix."""

    def prepare_site(self):
        self.site.vo("testvo", "voms.example.org")
        self.member = self.site.vo_proxy("alice", "testvo", "voms.example.org", "/testvo/Role=NULL")
        self.stranger = self.site.proxy("bob", "bob")

    def check_gfal(self, url, good, bad):
        """Writes, reads and lists below a URL with one credential, and cannot with the other."""
        self.gfal("gfal-copy", f"file://{self.file}", url + "/file", **good)
        self.gfal("gfal-copy", "-f", url + "/file", f"file://{self.path('back')}", **good)
        self.assert_same(self.file, self.path("back"))
        self.assertIn("file", self.gfal("gfal-ls", url, **good).out.split())
        for words in (("gfal-copy", f"file://{self.file}", url + "/refused"), ("gfal-ls", url), ("gfal-rm", url + "/file"),
                      ("gfal-copy", url + "/file", f"file://{self.path('refused')}")):
            self.assertRegex(self.gfal(*words, code=None, **bad).err, "(?i)permission (denied|refused)")
        self.assertEqual(self.gfal("gfal-ls", url, **good).out.split(), ["file"])

    def test_gfal_with_proxies(self):
        for url in (self.root + "/vo", self.https + "/vo"):
            with self.subTest(url):
                self.check_gfal(url, {"X509_USER_PROXY": self.member}, {"X509_USER_PROXY": self.stranger})
                self.gfal("gfal-rm", url + "/file", X509_USER_PROXY=self.member)

    def test_gfal_with_tokens(self):
        good, bad = (self.site.token(scope) for scope in (ALL_OF_STORAGE, "storage.read:/sub"))
        for url in (self.root + "/tokens", self.https + "/tokens"):
            with self.subTest(url):
                self.check_gfal(url, {"BEARER_TOKEN": good}, {"BEARER_TOKEN": bad})
                self.gfal("gfal-rm", url + "/file", BEARER_TOKEN=good)

    def test_davix(self):
        def shown(proxy):
            return "--capath", self.site.certificates, "--cert", proxy
        self.run_program(["davix-put", *shown(self.member), self.file, self.https + "/vo/file"])
        self.run_program(["davix-get", *shown(self.member), self.https + "/vo/file", self.path("back")])
        self.assert_same(self.file, self.path("back"))
        self.assertEqual(self.run_program(["davix-ls", *shown(self.member), self.https + "/vo"]).out.split(), ["file"])
        for command, *words in (("davix-put", self.file, self.https + "/vo/refused"), ("davix-get", self.https + "/vo/file"),
                                ("davix-ls", self.https + "/vo"), ("davix-rm", self.https + "/vo/file")):
            result = self.run_program([command, *shown(self.stranger), *words], code=None)
            self.assertIn("HTTP 403", result.err, result)


class ThirdParty(grid_site.GridTest):
    """One gateway copies from or to another, for a client that has a credential for each."""

    def prepare_site(self):
        self.site.vo("testvo", "voms.example.org")

    def setUp(self):
        super().setUp()
        self.other = self.start_gateway()
        self.far = f"https://localhost:{self.other.port}"

    def test_gfal_with_proxies(self):
        """It asks both gateways for macaroons, as the grid's file transfer service does."""
        member = self.site.vo_proxy("alice", "testvo", "voms.example.org", "/testvo/Role=NULL")
        self.check_https("/vo", "--cert", member)
        for mode in ("pull", "push"):
            def copy(name, proxy, code):
                return self.gfal("gfal-copy", "-v", "--copy-mode", mode, self.https + "/vo/file", f"{self.far}/vo/{name}",
                                 code=code, X509_USER_PROXY=proxy)
            with self.subTest(mode):
                self.assertIn("3rd " + mode, str(copy(mode, member, 0)))
                self.curl("--cacert", self.site.authority, "--cert", member, f"{self.far}/vo/{mode}", "-o", self.path("back"))
                self.assert_same(self.file, self.path("back"))
                self.assertNotEqual(copy("refused", self.site.proxy("bob", "bob"), None).code, 0)
                status = self.http_status("--cacert", self.site.authority, "--cert", member, self.far + "/vo/refused")
                self.assertEqual(status, 404)


if __name__ == "__main__":
    xectest.main()
