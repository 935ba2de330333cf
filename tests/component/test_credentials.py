# SPDX-License-Identifier: LGPL-3.0-or-later
"""A gateway as a site of the grid has it: stock clients show it X.509 certificates and proxies, VOMS attributes, tokens,
macaroons and shared secrets. Each is let in where it may, and its neighbour with one thing wrong is not."""
import os
import socket
import ssl
import time

import grid_site
import xectest
from grid_site import ALL_OF_STORAGE, LOGIN_REFUSED, NO_ANSWER, PERMISSION_DENIED


class Certificates(grid_site.GridTest):
    rights = "u alice /alice a\nu carol /carol a\n"

    def prepare_site(self):
        """Certificates that say "alice" and are not to be believed."""
        self.site.certificate("impostor-alice", "alice", authority=self.site.impostor())
        self.site.certificate("expired-alice", "alice", days=-1)

    def test_https(self):
        def shown(name):
            return "--cert", self.site.path(name + ".pem"), "--key", self.site.path(name + ".key")
        self.check_https("/alice", *shown("alice"))
        self.check_https_refused("/alice", *shown("bob"))
        self.check_https_refused("/alice")
        self.check_https_refused("/carol", *shown("alice"))
        for name in ("impostor-alice", "expired-alice"):
            with self.subTest(name):
                self.check_https_refused("/alice", *shown(name), status=NO_ANSWER)

    def test_proxy_by_root(self):
        alice, bob = (self.proxy_client(self.site.proxy(name, name)) for name in ("alice", "bob"))
        self.check_root("/alice", alice)
        self.check_root_refused("/alice", bob)
        self.check_root_refused("/carol", alice)
        for name in ("impostor-alice", "expired-alice"):
            with self.subTest(name):
                self.check_root_refused("/alice", self.proxy_client(self.site.proxy(name, "alice")), LOGIN_REFUSED)
        with self.subTest("expired proxy"):
            self.check_root_refused("/alice", self.proxy_client(self.site.proxy("alice", "alice", days=-1)), LOGIN_REFUSED)

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


class Attributes(grid_site.GridTest):
    """Of virtual organisations, in proxies."""

    def setUp(self):
        super().setUp()
        for vo, server in (("testvo", "voms.example.org"), ("othervo", "other.example.org")):
            self.site.vo(vo, server)
        self.site.certificate("stranger.example.org", "stranger.example.org")
        self.member = self.vo_proxy("/testvo/Role=NULL")
        self.producer = self.vo_proxy("/testvo/Role=NULL", "/testvo/production/Role=producer")

    def vo_proxy(self, *attributes, vo="testvo", server="voms.example.org"):
        return self.site.vo_proxy("bob", vo, server, *attributes)

    def strangers(self):
        """Proxies that may do nothing where members of the VO may do all."""
        yield "no attributes", self.site.proxy("bob", "bob")
        yield "another VO", self.vo_proxy("/othervo/Role=NULL", vo="othervo", server="other.example.org")
        yield "another group", self.vo_proxy("/testvo/guests/Role=NULL")
        yield "a server that does not speak for the VO", self.vo_proxy("/testvo/Role=NULL", server="stranger.example.org")
        yield "a server of another VO", self.vo_proxy("/testvo/Role=NULL", server="other.example.org")

    def test_root(self):
        self.check_root("/vo", self.proxy_client(self.member))
        self.check_root("/produced", self.proxy_client(self.producer))
        self.check_root_refused("/produced", self.proxy_client(self.member))
        for what, proxy in self.strangers():
            with self.subTest(what):
                self.check_root_refused("/vo", self.proxy_client(proxy))

    def test_https(self):
        self.check_https("/vo", "--cert", self.member)
        self.check_https("/produced", "--cert", self.producer)
        self.check_https_refused("/produced", "--cert", self.member)
        for what, proxy in self.strangers():
            with self.subTest(what):
                self.check_https_refused("/vo", "--cert", proxy)


class Tokens(grid_site.GridTest):
    def wrong_tokens(self):
        """What is wrong with each, whether it suffices to log in by root://, and it; every one may do nothing."""
        yield "another folder", True, self.site.token("storage.read:/sub storage.modify:/sub")
        yield "no scope of storage", True, self.site.token("compute.read")
        other = "https://other.example.org"
        yield "another audience", True, self.site.token(ALL_OF_STORAGE, aud=other)
        yield "expired", False, self.site.token(ALL_OF_STORAGE, exp=int(time.time()) - 120, iat=int(time.time()) - 240)
        yield "not valid yet", False, self.site.token(ALL_OF_STORAGE, nbf=int(time.time()) + 3600)
        yield "another issuer", False, self.site.token(ALL_OF_STORAGE, iss="https://localhost:1/")
        yield "groups of others", True, self.site.token("storage.read:/sub", **{"wlcg.groups": ["/testvo", "operators"]})
        yield "the name of another", True, self.site.token("storage.read:/sub", sub="carol")
        yield "the name of another, and another audience", True, self.site.token(ALL_OF_STORAGE, sub="carol", aud=other)
        first, second = (self.site.token(ALL_OF_STORAGE).split(".") for _ in range(2))
        yield "another signature", False, ".".join((*first[:2], second[2]))

    def test_https(self):
        def bearer(token):
            return "-H", f"Authorization: Bearer {token}"
        self.check_https("/tokens", *bearer(self.site.token(ALL_OF_STORAGE)))
        self.check_https_refused("/tokens")
        for what, _, token in self.wrong_tokens():
            with self.subTest(what):
                for folder in ("/tokens", "/vo", "/operators"):
                    self.check_https_refused(folder, *bearer(token))
        reader = self.site.token("storage.read:/")
        self.assertEqual(self.https_status("/tokens/file", *bearer(reader)), 200)
        self.assertEqual(self.https_status("/tokens/file", *bearer(reader), "-T", self.file), 403)
        creator = self.site.token("storage.create:/")
        self.assertEqual(self.https_status("/tokens/new", *bearer(creator), "-T", self.file), grid_site.PUT_STATUS)
        self.assertEqual(self.https_status("/tokens/new", *bearer(creator)), 403)

    def test_root(self):
        def client(token):
            return self.root_client("ztn", BEARER_TOKEN=token)
        self.check_root("/tokens", client(self.site.token(ALL_OF_STORAGE)))
        for what, may_log_in, token in self.wrong_tokens():
            with self.subTest(what):
                for folder in ("/tokens", "/vo", "/operators"):
                    self.check_root_refused(folder, client(token), PERMISSION_DENIED if may_log_in else LOGIN_REFUSED)
        reader = client(self.site.token("storage.read:/"))
        self.xrdcp(f"{self.root}/tokens/file", self.path("read"), env=reader)
        self.xrdcp(self.file, f"{self.root}/tokens/other", env=reader, code=PERMISSION_DENIED)


class Macaroons(grid_site.GridTest):
    EVERYTHING = grid_site.ALL_ACTIVITIES

    def setUp(self):
        super().setUp()
        self.site.vo("testvo", "voms.example.org")
        self.member = self.site.vo_proxy("alice", "testvo", "voms.example.org", "/testvo/Role=NULL")
        self.good = self.ask("/vo/", self.EVERYTHING, "--cert", self.member)

    def ask(self, name, activities, *credential):
        return self.macaroon(name, *credential, activities=activities)

    @staticmethod
    def bearer(macaroon):
        return "-H", f"Authorization: Bearer {macaroon}"

    def wrong_macaroons(self):
        """What is wrong with each, and it; every one may do nothing."""
        yield "another folder", self.ask("/vo/sub/", self.EVERYTHING, "--cert", self.member)
        yield "another folder, by its bearer", grid_site.with_caveat(self.good, "path:/vo/sub")
        yield "expired", grid_site.with_caveat(self.good, "before:2020-01-01T00:00:00Z")
        yield "another signature", self.good[:-8] + ("A" if self.good[-8] != "A" else "B") + self.good[-7:]

    def test_https(self):
        self.check_https("/vo", *self.bearer(self.good))
        self.check_https_refused("/operators", *self.bearer(self.good))
        for what, macaroon in self.wrong_macaroons():
            with self.subTest(what):
                self.check_https_refused("/vo", *self.bearer(macaroon))

    def test_one_that_reads(self):
        """The gateway confined it, or its bearer did."""
        self.check_https("/vo", *self.bearer(self.good))
        for reader in (self.ask("/vo/", ["DOWNLOAD"], "--cert", self.member),
                       grid_site.with_caveat(self.good, "activity:DOWNLOAD")):
            self.assertEqual(self.https_status("/vo/file", *self.bearer(reader)), 200)
            move = ("-X", "MOVE", "-H", f"Destination: {self.https}/vo/moved")
            for request in (("-T", self.file), ("-X", "DELETE"), move):
                self.assertEqual(self.https_status("/vo/file", *self.bearer(reader), *request), 403, request)

    def test_anybody_gets_one_that_sees_size_and_time(self):
        """Stock XRootD never refuses one."""
        self.check_https("/vo", *self.bearer(self.good))
        for credential in ((), ("--cert", self.site.proxy("bob", "bob"))):
            stranger = self.bearer(self.ask("/vo/", self.EVERYTHING, *credential))
            self.assertEqual(self.https_status("/vo/file", *stranger, "--head"), 200)
            self.assertEqual(self.https_status("/vo/", *stranger, "-X", "PROPFIND", "-H", "Depth: 1"), 403)
            for request in ((), ("-T", self.file), ("-X", "DELETE")):
                self.assertEqual(self.https_status("/vo/file", *stranger, *request), 403, request)

    def test_root(self):
        """In the URL, after a login as somebody else: `ztn` takes tokens only."""
        bob = self.proxy_client(self.site.proxy("bob", "bob"))
        self.xrdcp(self.file, f"{self.root}/vo/file?authz=Bearer%20{self.good}", env=bob)
        self.xrdcp(f"{self.root}/vo/file?authz=Bearer%20{self.good}", self.path("back"), env=bob)
        self.assert_same(self.file, self.path("back"))
        for what, macaroon in self.wrong_macaroons():
            with self.subTest(what):
                self.xrdcp(self.file, f"{self.root}/vo/file?authz=Bearer%20{macaroon}", "--force", env=bob,
                           code=PERMISSION_DENIED)


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
        self.assertEqual(self.https_status("/alice/file", *shown, "-T", self.file), 200)
        self.assertEqual(self.https_status("/tokens/file", *self.bearer(self.site.token(ALL_OF_STORAGE)), "-T", self.file), 200)
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

    def copy(self, near, far, here, there):
        """What the near gateway says at last of a copy that it pulls ("Source: ...") or pushes ("Destination: ...")."""
        result = self.run_program(["curl", "--silent", "--cacert", self.site.authority, "-X", "COPY", "-H", far,
                                   "-H", f"Authorization: Bearer {here}", "-H", f"TransferHeaderAuthorization: Bearer {there}",
                                   "-H", "Credential: none", self.https + near])
        return result.out.strip().splitlines()[-1]

    def test_tokens(self):
        good, bad = self.site.token(ALL_OF_STORAGE), self.site.token("storage.read:/sub")
        bearer = ("-H", f"Authorization: Bearer {good}")
        self.assertEqual(self.https_status("/tokens/file", *bearer, "-T", self.file), grid_site.PUT_STATUS)
        pushed, pulled = self.far + "/tokens/pushed", self.https + "/tokens/pulled"
        for near, far, made, remote_refusal in (
                ("/tokens/file", f"Destination: {pushed}", pushed, "failure: .*403"),
                ("/tokens/pulled", f"Source: {pushed}", pulled, "operation not supported|403 Forbidden")):
            with self.subTest(far):
                self.assertIn("permission denied", self.copy(near, far, bad, good))
                self.assertRegex(self.copy(near, far, good, bad), remote_refusal)
                self.assertEqual(self.http_status("--cacert", self.site.authority, *bearer, made), 404)
                self.assertEqual(self.copy(near, far, good, good), "success: Created")
                self.curl("--cacert", self.site.authority, *bearer, made, "-o", self.path("back"))
                self.assert_same(self.file, self.path("back"))

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


class SharedSecrets(grid_site.GridTest):
    def test_root(self):
        self.site.keytab("unknown", "carol", "operators", 2)
        self.site.keytab("forged", "carol", "operators", 1)

        def client(name):
            return self.root_client("sss", XrdSecSSSKT=self.site.path(name + ".keytab"))
        self.check_root("/operators", client("operator"))
        self.check_root_refused("/vo", client("operator"))
        for name in ("unknown", "forged"):
            with self.subTest(name):
                self.check_root_refused("/operators", client(name), LOGIN_REFUSED)


if __name__ == "__main__":
    xectest.main()
