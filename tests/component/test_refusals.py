# SPDX-License-Identifier: LGPL-3.0-or-later
"""Everything that a site refuses, each beside its neighbour: the same request with one thing changed, which succeeds. After
each refusal all names, sizes, versions and attributes of the store are what they were. The store has two gateways, and data
servers that let in nobody else (grid_store.py)."""
# seconds: 1800
import base64
import functools
import json
import os
import time

import grid_clients
import grid_site
import grid_store
import xectest
from grid_site import ALL_OF_STORAGE

DENIED = ("http 403", "exit 54")
NO_LOGIN = ("http 0", "exit 52")
ESCAPED = ("http 400", "http 403", "http 404", "exit 54", "exit 50")
RESERVED = ("http 400", "http 500", "exit 54")
AT_LEAST = 60
FOLDERS = ("/alice", "/bob", "/carol", "/vo", "/vo/sub", "/produced", "/tokens", "/tokens/x", "/tokens/xy")


def tampered(token):
    """With another subject, and the signature as it was."""
    head, claims, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=="))
    claims["sub"] = "mallory"
    return ".".join((head, grid_site.without_padding(json.dumps(claims).encode()), signature))


def unsigned(token):
    head = grid_site.without_padding(json.dumps({"alg": "none", "typ": "JWT"}).encode())
    return ".".join((head, token.split(".")[1], ""))


class Refusals(grid_store.StoreTest):
    def before_gateways(self):
        super().before_gateways()
        self.bans = self.site.write("banned", "")
        with open(self.conf, "a", encoding="utf-8") as file:
            file.write(f"xec.banned {self.bans}\n")

    def setUp(self):
        super().setUp()
        self.body = self.content()[:1000]
        self.small = self.path("small")
        with open(self.small, "wb") as file:
            file.write(self.body)
        self.restore()
        self.cases = 0

    def restore(self):
        """Each folder has its file again, and nothing else."""
        for folder in FOLDERS:
            if self.judge("HEAD", folder + "/file")[0] != 200:
                self.assertEqual(self.judge("PUT", folder + "/file", self.body)[0], grid_site.PUT_STATUS, folder)
            self.judge("DELETE", folder + "/new")

    def snapshot(self):
        """All names of the store with what a listing tells of them; in the long form all that the engine tells."""
        def xec(command, *words):
            return self.run_program([self.program("xec"), command, *self.words_of_servers(), "--json", *words],
                                    env={"XrdSecSSSKT": self.keys_of_servers}).out
        entries = sorted(json.loads(xec("ls", "-R", "-l", "/")), key=lambda entry: entry["path"])
        if os.environ.get("XEC_TEST_LONG") != "1":
            return entries
        return entries, xec("stat", *(entry["path"] for entry in entries))

    def refuse(self, what, bad, good, answers=DENIED):
        """`bad` and `good` make requests and yield their answers."""
        self.cases += 1
        with self.subTest(what):
            self.restore()
            before = self.snapshot()
            refused = list(bad())
            self.assertTrue(refused and all(answer in answers for answer in refused), f"refused: {refused}")
            self.assertEqual(self.snapshot(), before)
            permitted = list(good())
            self.assertTrue(permitted and all(answer == "exit 0" or answer.startswith("http 2") for answer in permitted),
                            f"permitted: {permitted}")

    # Requests.

    def https_request(self, *words, **options):
        return f"http {self.ask(*words, **options)[0]}"

    def by_https(self, folder, bearer=None, files=(), name="/file"):
        """Writes, reads, lists and removes."""
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        context = self.tls(*files)
        yield self.https_request("PUT", folder + "/new", self.body, context, headers)
        yield self.https_request("GET", folder + name, None, context, headers)
        yield self.https_request("PROPFIND", folder + "/", None, context, {"Depth": "1", **headers})
        yield self.https_request("DELETE", folder + name, None, context, headers)

    def by_root(self, folder, env, opaque=""):
        """The same, after one login."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_client.py")
        words = (grid_clients.PYTHON, script, "bindings", "all", self.root + folder, self.small, opaque)
        return self.run_program(words, env=env).out.splitlines()

    def copies(self, source, target, env):
        return f"exit {self.xrdcp('--force', source, target, env=env, code=None).code}"

    def root_request(self, env, *words):
        return f"exit {self.xrdfs(self.root, *words, env=env, code=None).code}"

    def try_https(self, what, folder, bad, good, answers=DENIED):
        self.refuse("https: " + what, lambda: self.by_https(folder, **bad), lambda: self.by_https(folder, **good), answers)

    def try_root(self, what, folder, bad, good, answers=DENIED):
        self.refuse("root: " + what, lambda: self.by_root(folder, bad), lambda: self.by_root(folder, good), answers)

    # What clients show.

    def certificates(self):
        alice = {"files": self.pair("alice")}
        self.site.certificate("impostor-alice", "alice", authority=self.site.impostor())
        self.site.certificate("expired-alice", "alice", days=-1)
        self.site.certificate("lost-alice", "alice")
        self.site.revoke("lost-alice")
        self.try_https("no credential", "/alice", {}, alice)
        self.try_https("another's certificate", "/alice", {"files": self.pair("bob")}, alice)
        self.refuse("https: another's folder", lambda: self.by_https("/carol", **alice),
                    lambda: self.by_https("/alice", **alice))
        for name in ("impostor-alice", "expired-alice", "lost-alice"):
            self.try_https(name, "/alice", {"files": self.pair(name)}, alice, NO_LOGIN)
        proxies = {name: self.proxy_client(self.site.proxy(name, "alice"))
                   for name in ("alice", "impostor-alice", "expired-alice", "lost-alice")}
        self.try_root("another's proxy", "/alice", self.proxy_client(self.site.proxy("bob", "bob")), proxies["alice"])
        self.refuse("root: another's folder", lambda: self.by_root("/carol", proxies["alice"]),
                    lambda: self.by_root("/alice", proxies["alice"]))
        expired = self.proxy_client(self.site.proxy("alice", "alice", days=-1))
        for what, env in (("expired proxy", expired), *((name, proxies[name]) for name in proxies if name != "alice")):
            self.try_root(what, "/alice", env, proxies["alice"], NO_LOGIN)
        self.try_root("no credential", "/alice", self.root_client("unix"), proxies["alice"], NO_LOGIN)

    def attributes(self):
        for vo, server in (("othervo", "other.example.org"), ("noone", "stranger.example.org")):
            self.site.vo(vo, server)
        member, producer = self.member(), self.member("/testvo/Role=NULL", "/testvo/production/Role=producer")
        strangers = {
            "no attributes": self.site.proxy("bob", "bob"),
            "another VO": self.site.vo_proxy("bob", "othervo", "other.example.org", "/othervo/Role=NULL"),
            "another group": self.member("/testvo/guests/Role=NULL"),
            "a server that does not speak for the VO":
                self.site.vo_proxy("bob", "testvo", "stranger.example.org", "/testvo/Role=NULL"),
        }
        for what, proxy in strangers.items():
            self.try_https(what, "/vo", {"files": (proxy, proxy)}, {"files": (member, member)})
            self.try_root(what, "/vo", self.proxy_client(proxy), self.proxy_client(member))
        self.try_https("another role", "/produced", {"files": (member, member)}, {"files": (producer, producer)})
        self.try_root("another role", "/produced", self.proxy_client(member), self.proxy_client(producer))

    def wrong_tokens(self):
        """What is wrong with each, and it; and whether it suffices to log in by root://."""
        other = "https://other.example.org"
        yield "scope of another folder", self.site.token("storage.read:/sub storage.modify:/sub"), True
        yield "no scope of storage", self.site.token("compute.read compute.modify"), True
        yield "group, and a scope of another folder", self.site.token("storage.read:/sub", **{"wlcg.groups": ["/testvo"]}), True
        yield "audience", self.site.token(ALL_OF_STORAGE, aud=other), True
        yield "audience with a slash", self.site.token(ALL_OF_STORAGE, aud=grid_site.AUDIENCE + "/"), True
        yield "no audience in the list", self.site.token(ALL_OF_STORAGE, aud=[]), True
        yield "expired", self.site.token(ALL_OF_STORAGE, exp=int(time.time()) - 120, iat=int(time.time()) - 240), False
        yield "not valid yet", self.site.token(ALL_OF_STORAGE, nbf=int(time.time()) + 3600), False
        yield "issuer", self.site.token(ALL_OF_STORAGE, iss="https://localhost:1/"), False
        yield "another's signature", tampered(self.site.token(ALL_OF_STORAGE)), False
        yield "no signature", unsigned(self.site.token(ALL_OF_STORAGE)), False
        yield "scope of a path with ..", self.site.token("storage.read:/x/.. storage.modify:/x/.."), True

    def tokens(self):
        good = self.site.token(ALL_OF_STORAGE)
        for what, token, may_log_in in self.wrong_tokens():
            self.try_https("token: " + what, "/tokens", {"bearer": token}, {"bearer": good})
            self.try_root("token: " + what, "/tokens", self.root_client("ztn", BEARER_TOKEN=token),
                          self.root_client("ztn", BEARER_TOKEN=good), DENIED if may_log_in else NO_LOGIN)
        named = self.site.token("storage.read:/sub", sub="alice")
        self.try_https("a token's subject has rights", "/alice", {"bearer": named}, {"files": self.pair("alice")})

        def plain(address):
            bearer = ("-H", f"Authorization: Bearer {good}", "--cacert", self.site.authority)
            for request in (("-T", self.small), (), ("-X", "DELETE")):
                yield f"http {self.http_status(*bearer, *request, address + '/tokens/file')}"
        self.refuse("http: a token without TLS", lambda: plain(self.gateway.http), lambda: plain(self.https))
        self.scopes()

    def scopes(self):
        """One ability where another one is needed."""
        def request(method, name, scope, **headers):
            shown = {"Authorization": f"Bearer {self.site.token(scope)}"}
            yield self.https_request(method, name, self.body if method == "PUT" else None, None, {**shown, **headers})
        moved = {"Destination": self.https + "/tokens/new"}
        for method, name, bad, good, headers, answers in (
                ("PUT", "/tokens/new", "storage.read:/", "storage.create:/", {}, DENIED),
                ("PROPFIND", "/tokens", "storage.create:/", "storage.read:/", {"Depth": "1"}, DENIED),
                ("DELETE", "/tokens/file", "storage.read:/", "storage.modify:/", {}, DENIED),
                ("MOVE", "/tokens/file", "storage.read:/", "storage.modify:/", moved, DENIED),
                ("MKCOL", "/tokens/made", "storage.read:/", "storage.create:/", {}, DENIED)):
            self.refuse(f"https: {method} {name} with {bad}", functools.partial(request, method, name, bad, **headers),
                        functools.partial(request, method, name, good, **headers), answers)

    def macaroons(self):
        member = self.member()
        good = self.macaroon("/vo/", "--cert", member)
        confined = {"activity:DOWNLOAD,LIST": ("PUT", "DELETE"), "activity:UPLOAD": ("GET", "DELETE"),
                    "activity:DELETE": ("GET", "PUT")}
        wrong = {
            "another folder": self.macaroon("/vo/sub/", "--cert", member),
            "another folder, by its bearer": grid_site.with_caveat(good, "path:/vo/sub"),
            "half a component": grid_site.with_caveat(good, "path:/v"),
            "expired": grid_site.with_caveat(good, "before:2020-01-01T00:00:00Z"),
            "another signature": good[:-8] + ("A" if good[-8] != "A" else "B") + good[-7:],
            "of somebody who may do nothing": self.macaroon("/vo/", "--cert", self.site.proxy("bob", "bob")),
        }
        bob = self.proxy_client(self.site.proxy("bob", "bob"))
        for what, macaroon in wrong.items():
            self.try_https("macaroon: " + what, "/vo", {"bearer": macaroon}, {"bearer": good})
            self.refuse("root: macaroon: " + what, lambda m=macaroon: self.by_root("/vo", bob, "?authz=Bearer%20" + m),
                        lambda: self.by_root("/vo", bob, "?authz=Bearer%20" + good))
        for caveat, methods in confined.items():
            def requests(macaroon, methods=methods):
                for method in methods:
                    yield self.https_request(method, "/vo/file", self.body if method == "PUT" else None, None,
                                             {"Authorization": f"Bearer {macaroon}"})
            self.refuse(f"https: macaroon: {caveat}", lambda c=caveat: requests(grid_site.with_caveat(good, c)),
                        lambda: requests(good))

    def secrets_and_tickets(self):
        self.site.keytab("unknown", "carol", "operators", 2)
        self.site.keytab("forged", "carol", "operators", 1)

        def holder(name):
            return self.root_client("sss", XrdSecSSSKT=self.site.path(name + ".keytab"))
        for name in ("unknown", "forged"):
            self.try_root(f"shared secret: {name}", "/carol", holder(name), holder("operator"), NO_LOGIN)
        self.refuse("root: shared secret: another's folder", lambda: self.by_root("/alice", holder("operator")),
                    lambda: self.by_root("/carol", holder("operator")))
        tickets = {name: self.root_client("krb5", **self.site.ticket(name)) for name in ("alice", "bob")}
        self.try_root("krb5: another principal", "/alice", tickets["bob"], tickets["alice"])
        no_ticket = {**tickets["alice"], "KRB5CCNAME": "FILE:" + self.path("no-ticket")}
        self.try_root("krb5: no ticket", "/alice", no_ticket, tickets["alice"], NO_LOGIN)

    # What is asked for.

    def banned(self):
        """A file that changes while the gateway runs. What else each kind holds for is in test_credentials.py."""
        alice = {"files": self.pair("alice")}
        member = self.member()
        token = self.site.token(ALL_OF_STORAGE, sub="d0c4")

        def during(ban, requests):
            with open(self.bans + ".new", "w", encoding="utf-8") as file:
                file.write(f"# for a while\n{ban}\n")
            os.replace(self.bans + ".new", self.bans)
            try:
                yield from requests()
            finally:
                with open(self.bans, "w", encoding="utf-8"):
                    pass
        by_https = functools.partial(self.by_https, "/alice", **alice)
        for what, bad, good, requests in (
                ("dn", f"dn {grid_site.ORGANISATION}/CN=alice", f"dn {grid_site.ORGANISATION}/CN=ali", by_https),
                ("name", "name alice", "name alic", by_https),
                ("vo", "vo testvo", "vo testv", functools.partial(self.by_https, "/vo", files=(member, member))),
                ("subject", "subject d0c4", "subject D0C4", functools.partial(self.by_https, "/tokens", bearer=token)),
                ("host", "host 127.0.0.1", "host 127.0.0.2", by_https)):
            self.refuse("banned: " + what, functools.partial(during, bad, requests),
                        functools.partial(during, good, requests))

    def escapes(self):
        """Out of the folder of a token, and out of the store."""
        token = self.site.token("storage.read:/x storage.modify:/x")
        bearer, root = {"Authorization": f"Bearer {token}"}, self.root_client("ztn", BEARER_TOKEN=token)

        def by_https(name):
            for method in ("PUT", "GET", "HEAD", "PROPFIND", "DELETE"):
                yield self.https_request(method, name, self.body if method == "PUT" else None, None, bearer)

        def by_root(name):
            yield self.copies(self.small, self.root + name, root)
            yield self.copies(self.root + name, self.path("got"), root)
            yield self.root_request(root, "rm", name)
        for name in ("/tokens/x/../xy/file", "/tokens/x/%2e%2e/xy/file", "/tokens/x/%2E%2E%2Fxy/file", "/tokens/x%2f..%2fxy/file",
                     "/tokens/x/..%2fxy/file", "/tokens/./xy/file", "/tokens//xy/file", "/%74okens/xy/file",
                     "/tokens/x/../../alice/file", "/../tokens/xy/file"):
            self.refuse(f"https: {name}", functools.partial(by_https, name),
                        functools.partial(by_https, "/tokens//x/%66ile"), ESCAPED)
        for name in ("/tokens/x/../xy/file", "//tokens/xy/file", "/tokens/./xy/file", "/tokens/x/../../alice/file"):
            self.refuse(f"root: {name}", functools.partial(by_root, name),
                        functools.partial(by_root, "/tokens//x/file"), ESCAPED)

        def moves(name, source="/tokens/x/file"):
            yield self.https_request("MOVE", source, None, None, {**bearer, "Destination": self.https + name})
        for name in ("/tokens/x/../xy/new", "/tokens/x/%2e%2e/xy/new", "/tokens/xy/new"):
            self.refuse(f"https: MOVE to {name}", functools.partial(moves, name),
                        functools.partial(moves, "/tokens/x/new"), ESCAPED)
        self.refuse("root: mv out of the folder",
                    lambda: [self.root_request(root, "mv", "/tokens/x/file", "/tokens/x/../xy/new")],
                    lambda: [self.root_request(root, "mv", "/tokens/x/file", "/tokens/x/new")], ESCAPED)

    def reserved(self):
        """Names that belong to XEC, asked for by somebody who may do everything."""
        def by_https(method, name, **headers):
            yield self.https_request(method, name, self.body if method == "PUT" else None, self.trusted, headers)
        judge = self.proxy_client(self.site.proxy("judge", "judge"))

        def by_root(name):
            yield self.copies(self.small, self.root + name, judge)
            yield self.root_request(judge, "mv", name, "/vo/new")
            yield self.root_request(judge, "mv", "/vo/file", name)
            yield self.root_request(judge, "rm", name)
        for name, neighbour in (("/vo/new.~xo", "/vo/new.~xp"), ("/vo/new.~xl", "/vo/new.~xL"), ("/.xec/store", "/.xed/store")):
            self.refuse(f"https: PUT {name}", functools.partial(by_https, "PUT", name),
                        functools.partial(by_https, "PUT", neighbour), RESERVED)
            self.refuse(f"https: MOVE to {name}", functools.partial(by_https, "MOVE", "/vo/file", Destination=self.https + name),
                        functools.partial(by_https, "MOVE", "/vo/file", Destination=self.https + "/vo/new"), RESERVED)
            self.refuse(f"https: DELETE {name}", functools.partial(by_https, "DELETE", name),
                        functools.partial(by_https, "DELETE", "/vo/file"), RESERVED)

        self.refuse("https: PUT through the folder of an object", functools.partial(by_https, "PUT", "/vo/file.~xo/p.1"),
                    functools.partial(by_https, "PUT", "/vo/files/p.1"), RESERVED)
        self.refuse("https: GET /.xec/store", functools.partial(by_https, "GET", "/.xec/store"),
                    functools.partial(by_https, "GET", "/vo/file"), RESERVED)
        self.refuse("https: PROPFIND /.xec", functools.partial(by_https, "PROPFIND", "/.xec", Depth="1"),
                    functools.partial(by_https, "PROPFIND", "/vo", Depth="1"), RESERVED)
        for name in ("/vo/new.~xo", "/.xec/store"):
            self.refuse(f"root: {name}", functools.partial(by_root, name), functools.partial(by_root, "/vo/free"), RESERVED)
        for words, neighbour in ((("ls", "/.xec"), ("ls", "/vo")),
                                 (("mkdir", "-p", "/.xec/made"), ("mkdir", "-p", "/vo/made")),
                                 (("xattr", "/.xec/store", "set", "a=b"), ("xattr", "/vo/file", "set", "a=b"))):
            self.refuse(f"root: {' '.join(words)}", lambda w=words: [self.root_request(judge, *w)],
                        lambda w=neighbour: [self.root_request(judge, *w)], RESERVED)

    def third_party(self):
        good, bad = self.site.token(ALL_OF_STORAGE), self.site.token("storage.read:/sub")
        far = f"https://localhost:{self.second.port}"

        def copy(name, direction, other, here, there):
            """Its last line tells how a copy ended that began."""
            shown = {"Authorization": f"Bearer {here}"} if here else {}
            far_shown = {"TransferHeaderAuthorization": f"Bearer {there}"} if there else {}
            status, body = self.ask("COPY", name, None, None, {**shown, **far_shown, direction: other, "Credential": "none"})
            last = body.decode().strip().rpartition("\n")[2]
            yield "http 201" if last == "success: Created" else "failed" if last.startswith("failure") else f"http {status}"
        refused = ("failed", "http 400", "http 401", "http 403", "http 404", "http 500")
        pull = functools.partial(copy, "/tokens/new", "Source", far + "/tokens/file")
        push = functools.partial(copy, "/tokens/file", "Destination", far + "/tokens/new")
        for what, request in (("pull", pull), ("push", push)):
            for lacking, here, there in (("no token here", None, good), ("another scope here", bad, good),
                                         ("no token there", good, None), ("another scope there", good, bad)):
                self.refuse(f"third party: {what}, {lacking}", functools.partial(request, here, there),
                            functools.partial(request, good, good), refused)
        for name in ("/tokens/x/../../alice/new", "/tokens/new.~xo"):
            self.refuse(f"third party: pull to {name}",
                        functools.partial(copy, name, "Source", far + "/tokens/file", good, good),
                        functools.partial(pull, good, good), refused)
            self.refuse(f"third party: push to {name}",
                        functools.partial(copy, "/tokens/file", "Destination", far + name, good, good),
                        functools.partial(push, good, good), refused)

    def data_servers(self):
        """Straight to one, past the gateways."""
        url = self.servers[0].url
        right = {"XrdSecPROTOCOL": "sss", "XrdSecSSSKT": self.keys_of_servers, "HOME": self.path("home")}
        self.site.keytab("forged-servers", "xec", "xec", 3)

        def requests(env):
            yield f"exit {self.xrdfs(url, 'ls', '/', env=env, code=None).code}"
            yield self.copies(self.small, url + "//tokens/new-by-hand", env)
            yield f"exit {self.xrdfs(url, 'rm', '/tokens/new-by-hand', env=env, code=None).code}"
        judge = self.proxy_client(self.site.proxy("judge", "judge"))
        for what, env in (("nothing", self.root_client("unix")), ("a proxy", judge),
                          ("a token", self.root_client("ztn", BEARER_TOKEN=self.site.token(ALL_OF_STORAGE))),
                          ("the secret of a client", {**right, "XrdSecSSSKT": self.site.path("operator.keytab")}),
                          ("a forged secret", {**right, "XrdSecSSSKT": self.site.path("forged-servers.keytab")})):
            self.refuse(f"a data server: {what}", functools.partial(requests, env), functools.partial(requests, right),
                        NO_LOGIN)

    def test_refusals(self):
        for group in (self.certificates, self.attributes, self.tokens, self.macaroons, self.secrets_and_tickets, self.banned,
                      self.escapes, self.reserved, self.third_party, self.data_servers):
            count, began = self.cases, time.monotonic()
            group()
            print(f"{group.__name__.replace('_', ' ')}: {self.cases - count} refusals, {time.monotonic() - began:.0f} s",
                  flush=True)
        self.assertGreaterEqual(self.cases, AT_LEAST)


if __name__ == "__main__":
    xectest.main()
