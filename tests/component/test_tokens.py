# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tokens by the WLCG profile at a gateway: a scope is for whole components of a path, `storage.create` replaces and
removes nothing, neither at the start of an upload nor at its end, and nothing but the token counts. Each refusal stands
beside what is permitted and differs in one thing; the store is the same after each."""
import http.client
import os
import ssl

import grid_site
import xectest
from editors import Editor, Refused
from grid_site import ALL_OF_STORAGE, PERMISSION_DENIED


class TokensTest(grid_site.GridTest):
    # By name alone, and one for anybody.
    rights = "u carol /operators a\nu * /public rl\n"

    def setUp(self):
        super().setUp()
        self.all = self.bearer(self.site.token(ALL_OF_STORAGE))
        self.other = self.random_file("other", 70_000)

    @staticmethod
    def bearer(token):
        return "-H", f"Authorization: Bearer {token}"

    def ztn(self, *scopes, **claims):
        return self.root_client("ztn", BEARER_TOKEN=self.site.token(" ".join(scopes), **claims))

    def put(self, name, file=None, expected=grid_site.PUT_STATUS, who=None):
        self.assertEqual(self.https_status(name, *(who or self.all), "-T", file or self.file), expected, name)

    def assert_holds(self, name, file):
        self.curl("--cacert", self.site.authority, *self.all, self.https + name, "-o", self.path("held"))
        self.assert_same(file, self.path("held"))


class Paths(TokensTest):
    def setUp(self):
        super().setUp()
        for name in ("/tokens/x/file", "/tokens/xy/file", "/tokens/xfile"):
            self.put(name)

    REQUESTS = ((), ("--head",), ("-X", "DELETE"), ("-X", "PROPFIND", "-H", "Depth: 0"), ("-T", os.devnull))

    def test_whole_components_by_https(self):
        who = self.bearer(self.site.token("storage.read:/x storage.modify:/x"))
        for name in ("/tokens/xy/file", "/tokens/xfile", "/tokens/xy/", "/tokens/y"):
            for request in self.REQUESTS:
                self.assertEqual(self.https_status(name, *who, *request), 403, (name, request))
        move = ("-X", "MOVE", "-H")
        self.assertEqual(self.https_status("/tokens/x/file", *who, *move, f"Destination: {self.https}/tokens/xy/new"), 403)
        self.assertEqual(self.https_status("/tokens/xy/file", *who, *move, f"Destination: {self.https}/tokens/x/new"), 403)
        self.assert_holds("/tokens/xy/file", self.file)
        self.assertEqual(self.https_status("/tokens/x/file", *who), 200)
        self.assertEqual(self.https_status("/tokens/x/file", *who, *move, f"Destination: {self.https}/tokens/x/new"), 201)

    def test_by_root(self):
        env = self.ztn("storage.read:/x", "storage.modify:/x")
        for name in ("/tokens/xy/file", "/tokens/xfile"):
            self.assertNotEqual(self.xrdcp(self.root + name, self.path("got"), env=env, code=None).code, 0, name)
            self.assertNotEqual(self.xrdcp(self.other, self.root + name, "--force", env=env, code=None).code, 0, name)
            for words in (("stat",), ("rm",), ("ls", ), ("truncate", )):
                name_and_size = (name, "0") if words == ("truncate",) else (name,)
                self.assertNotEqual(self.xrdfs(self.root, *words, *name_and_size, env=env, code=None).code, 0, (words, name))
            self.assert_holds("/tokens/xy/file", self.file)
        self.xrdcp(self.root + "//tokens//x/file", self.path("got"), env=env)
        # The way there can be seen, and not read.
        self.xrdfs(self.root, "stat", "/tokens", env=env)
        self.xrdfs(self.root, "ls", "/tokens", env=env, code=PERMISSION_DENIED)

    def test_scopes_that_admit_nothing(self):
        for scope in ("storage.read:/x/../xy", "storage.read:x", "storage.read:/%78/%2e%2e/xy", "storage.poll:/", "storage.reads:/",
                      "storage.modify:/xy", "storage.read:/xy/file/file"):
            self.assertEqual(self.https_status("/tokens/xy/file", *self.bearer(self.site.token(scope))), 403, scope)
        self.assertEqual(self.https_status("/tokens/xy/file", *self.bearer(self.site.token("storage.read:/xy/file"))), 200)


class CreatesOnly(TokensTest):
    """A token for jobs that bring their results and can spoil nothing."""

    def setUp(self):
        super().setUp()
        self.put("/tokens/there")
        self.creator = self.bearer(self.site.token("storage.create:/"))

    def test_by_https(self):
        self.put("/tokens/new/deep/file", who=self.creator)
        self.assert_holds("/tokens/new/deep/file", self.file)
        self.assertEqual(self.https_status("/tokens/folder", *self.creator, "-X", "MKCOL"), 201)
        self.put("/tokens/there", self.other, who=self.creator, expected=409)
        for request in (("-X", "DELETE"), ()):
            self.assertEqual(self.https_status("/tokens/there", *self.creator, *request), 403, request)
        self.assertEqual(self.https_status("/tokens/folder/", *self.creator, "-X", "DELETE"), 403)

        def move(name):
            return self.https_status("/tokens/new/deep/file", *self.creator, "-X", "MOVE", "-H",
                                     f"Destination: {self.https}/tokens/{name}")
        self.assertEqual(move("there"), 403)
        self.assert_holds("/tokens/there", self.file)
        self.assertEqual(move("moved"), 201)
        self.assertEqual(self.https_status("/tokens/there", *self.all, "-T", self.other), grid_site.PUT_STATUS)
        self.assert_holds("/tokens/there", self.other)

    def test_by_root(self):
        env = self.ztn("storage.create:/")
        self.xrdcp(self.file, self.root + "/tokens/new", env=env)
        self.xrdfs(self.root, "mkdir", "-p", "/tokens/folder/below", env=env)
        self.xrdcp("--force", self.other, self.root + "/tokens/there", env=env, code=PERMISSION_DENIED)
        for words in (("rm", "/tokens/there"), ("rmdir", "/tokens/folder/below"), ("truncate", "/tokens/there", "0"),
                      ("mv", "/tokens/new", "/tokens/there"), ("xattr", "/tokens/there", "set", "a=b")):
            self.assertNotEqual(self.xrdfs(self.root, *words, env=env, code=None).code, 0, words)
        self.assert_holds("/tokens/there", self.file)
        self.xrdfs(self.root, "mv", "/tokens/new", "/tokens/moved", env=env)

    def test_changes_nothing_in_place(self):
        name = self.root + "/tokens/there"
        for scopes in (("storage.create:/",), ("storage.create:/", "storage.read:/"), ("storage.modify:/other",)):
            editor = Editor(self, self.ztn(*scopes))
            with self.assertRaisesRegex(Refused, "3010"):
                editor.open(name)
        self.assert_holds("/tokens/there", self.file)
        editor = Editor(self, self.ztn("storage.modify:/")).open(name)
        editor.write(b"changed", 0)
        editor.close()
        with open(self.file, "rb") as file:
            content = file.read()
        with open(self.path("changed"), "wb") as file:
            file.write(b"changed" + content[7:])
        self.assert_holds("/tokens/there", self.path("changed"))

    def test_decided_at_the_end_of_the_upload(self):
        """The name is free when the upload begins, and taken when it ends."""
        token = self.site.token("storage.create:/")
        slow = http.client.HTTPSConnection("localhost", self.gateway.port,
                                           context=ssl.create_default_context(cafile=self.site.authority))
        self.addCleanup(slow.close)
        with open(self.file, "rb") as file:
            content = file.read()
        slow.putrequest("PUT", "/tokens/raced")
        slow.putheader("Authorization", f"Bearer {token}")
        slow.putheader("Content-Length", str(len(content)))
        slow.putheader("Expect", "100-continue")
        slow.endheaders()
        # The name is open when XRootD says so.
        self.assertEqual(slow.sock.recv(1000).split()[1], b"100")
        slow.send(content[:len(content) // 2])
        self.eventually(lambda: self.https_status("/tokens/raced", *self.all, "-T", self.other) == grid_site.PUT_STATUS, 30, "the name is taken")
        slow.send(content[len(content) // 2:])
        try:
            self.assertGreaterEqual(slow.getresponse().status, 400)
        except (http.client.HTTPException, OSError):
            pass  # stock XRootD 5.5.3 says nothing where a close fails
        self.assert_holds("/tokens/raced", self.other)


class NothingElseCounts(TokensTest):
    def test_a_name_that_a_token_claims(self):
        """The rules say what carol may; a token whose subject she is may what it says."""
        for claims in ({"sub": "carol"}, {"sub": "carol", "aud": "https://other.example.org"},
                       {"sub": "carol", "wlcg.groups": ["/operators"]}):
            for scope in ("storage.read:/sub", "compute.read", ALL_OF_STORAGE):
                token = self.site.token(scope, **claims)
                self.check_https_refused("/operators", *self.bearer(token))
                self.check_root_refused("/operators", self.root_client("ztn", BEARER_TOKEN=token))

    def test_a_name_that_a_login_claims(self):
        """By a token, which another word in the URL hides from XRootD's plug-ins, so that the rules for names decide."""
        env = self.root_client("ztn", BEARER_TOKEN=self.site.token("storage.read:/sub", sub="carol"))
        for shown in ("authz=Basic%20x", "authz=%", "authz=Bearer%20", "authz=x"):
            self.xrdcp(self.file, f"{self.root}/operators/file?{shown}", env=env, code=PERMISSION_DENIED)
            self.xrdfs(self.root, "ls", f"/operators?{shown}", env=env, code=PERMISSION_DENIED)

    def test_what_anybody_may(self):
        self.assertEqual(self.https_status("/public/file"), 404)
        self.assertEqual(self.https_status("/public/file", *self.bearer(self.site.token("storage.read:/x"))), 404)
        self.assertEqual(self.https_status("/public/file", "-T", self.file), 403)

    def test_audiences(self):
        self.put("/tokens/file")
        any_of = "https://wlcg.cern.ch/jwt/v1/any"
        for audience in (any_of, ["https://other.example.org", grid_site.AUDIENCE], [any_of]):
            token = self.site.token("storage.read:/", aud=audience)
            self.assertEqual(self.https_status("/tokens/file", *self.bearer(token)), 200, audience)
        for audience in ("https://other.example.org", ["https://other.example.org"], [], grid_site.AUDIENCE + "/"):
            token = self.site.token("storage.read:/", aud=audience)
            self.assertEqual(self.https_status("/tokens/file", *self.bearer(token)), 403, audience)

    def test_no_tape(self):
        self.put("/tokens/file")
        env = self.ztn(ALL_OF_STORAGE, "storage.stage:/")
        result = self.xrdfs(self.root, "prepare", "-s", "/tokens/file", env=env, code=None)
        self.assertNotEqual(result.code, 0)
        self.assertIn("there is no tape behind this store", result.err)
        self.assertNotEqual(self.xrdfs(self.root, "query", "prepare", "1", "/tokens/file", env=env, code=None).code, 0)
        self.xrdfs(self.root, "prepare", "/tokens/file", env=env)
        for name in ("/api/v1/stage", "/api/v1/archiveinfo", "/.well-known/wlcg-tape-rest-api"):
            self.assertIn(self.https_status(name, *self.all), (400, 403, 404, 415), name)


if __name__ == "__main__":
    xectest.main()
