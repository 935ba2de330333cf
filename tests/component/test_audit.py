# SPDX-License-Identifier: LGPL-3.0-or-later
"""The audit log of a gateway that logs its clients in: a line for each change and each refusal, with the client, by every
protocol, and never a token."""
import glob
import json
import os

import grid_site
import xectest
from grid_site import ALL_OF_STORAGE


class Audit(grid_site.GridTest):
    rights = "u alice /alice a\nu * /public rl\n"

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.gateway.state, "audit.log")
        self.told = 0

    def lines(self):
        """Those since the last call."""
        with open(self.log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        new, self.told = lines[self.told:], len(lines)
        return new

    def events(self):
        return [(line["event"], line["path"]) for line in self.lines()]

    @staticmethod
    def bearer(token):
        return "-H", f"Authorization: Bearer {token}"

    def test_by_https(self):
        token = self.site.token(ALL_OF_STORAGE, sub="d0c4")
        who = self.bearer(token)
        self.assertEqual(self.https_status("/tokens/a", *who, "-T", self.file), grid_site.PUT_STATUS)
        created, = self.lines()
        self.assertEqual([created[key] for key in ("event", "path", "size", "result", "subject", "door")],
                         ["create", "/tokens/a", os.path.getsize(self.file), "ok", "d0c4", "https"])
        self.assertRegex(created["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertTrue(created["version"] and created["host"] and created["process"].endswith(f":{self.gateway.port}"))
        self.assertEqual(self.https_status("/tokens/a", *who, "-T", self.file), grid_site.PUT_STATUS)
        self.assertEqual(self.https_status("/tokens/a", *who), 200)
        self.assertEqual(self.https_status("/tokens/a", *who, "-X", "MOVE", "-H", f"Destination: {self.https}/tokens/b"), 201)
        self.assertEqual(self.https_status("/tokens/d", *who, "-X", "MKCOL"), 201)
        self.assertEqual(self.https_status("/tokens/b", *who, "-X", "DELETE"), 200)
        self.assertEqual(self.https_status("/tokens/b", *who, "-X", "DELETE"), 404)
        self.assertEqual(self.events(), [("replace", "/tokens/a"), ("rename", "/tokens/a"), ("mkdir", "/tokens/d"),
                                         ("remove", "/tokens/b")])
        reader = self.site.token("storage.read:/", sub="5678")
        for request in (("-X", "DELETE"), ("-T", self.file)):
            self.assertEqual(self.https_status("/tokens/d", *self.bearer(reader), *request), 403)
        refused = self.lines()
        self.assertEqual([(line["event"], line["what"], line["path"], line["result"], line["claimed_subject"]) for line in refused],
                         [("refused", "remove", "/tokens/d", "refused", "5678"), ("refused", "create", "/tokens/d", "refused", "5678")])
        self.assertEqual(self.https_status("/public/a"), 404)
        self.assertEqual(self.https_status("/public/a", "-T", self.file), 403)
        anonymous, = self.lines()
        self.assertEqual(anonymous["what"], "create")
        self.check_no_secret(token, reader)

    def check_no_secret(self, *tokens):
        for path in glob.glob(os.path.join(self.gateway.state, "**", "*"), recursive=True):
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                text = file.read()
            for token in tokens:
                self.assertNotIn(token.split(".")[2].encode(), text, path)

    def test_by_root(self):
        alice, bob = (self.proxy_client(self.site.proxy(name, name)) for name in ("alice", "bob"))
        self.xrdcp(self.file, self.root + "/alice/a", env=alice)
        created, = self.lines()
        self.assertEqual([created[key] for key in ("event", "path", "subject", "door")], ["create", "/alice/a", "alice", "root"])
        self.assertEqual(created["dn"], grid_site.ORGANISATION + "/CN=alice")
        self.xrdfs(self.root, "xattr", "/alice/a", "set", "color=red", env=alice)
        self.xrdfs(self.root, "chmod", "/alice/a", "rw-------", env=alice)
        self.xrdfs(self.root, "mv", "/alice/a", "/alice/b", env=alice)
        self.xrdfs(self.root, "mkdir", "/alice/d", env=alice)
        self.xrdfs(self.root, "rmdir", "/alice/d", env=alice)
        self.xrdfs(self.root, "rm", "/alice/b", env=alice)
        lines = self.lines()
        self.assertEqual([(line["event"], line["path"]) for line in lines],
                         [("attribute", "/alice/a"), ("mode", "/alice/a"), ("rename", "/alice/a"),
                          ("mkdir", "/alice/d"), ("rmdir", "/alice/d"), ("remove", "/alice/b")])
        for line in lines:
            self.assertEqual([line[key] for key in ("subject", "dn", "door")],
                             ["alice", grid_site.ORGANISATION + "/CN=alice", "root"], line)
        self.assertNotEqual(self.xrdfs(self.root, "rm", "/alice/b", env=bob, code=None).code, 0)
        refused, = self.lines()
        self.assertEqual([refused["what"], refused["dn"]], ["remove", grid_site.ORGANISATION + "/CN=bob"])
        token = self.site.token(ALL_OF_STORAGE, sub="d0c4")
        self.xrdcp(self.file, f"roots://localhost:{self.gateway.port}//tokens/c?authz=Bearer%20{token}", env=bob)
        created, = self.lines()
        self.assertEqual([created["path"], created["subject"]], ["/tokens/c", "d0c4"])
        self.check_no_secret(token)

    def test_a_name_that_was_added_to_a_macaroon(self):
        """By its bearer, and that counts for nothing."""
        macaroon = self.macaroon("/alice/", "--cert", self.site.path("alice.pem"), "--key", self.site.path("alice.key"))
        self.assertEqual(self.https_status("/alice/a", *self.bearer(grid_site.with_caveat(macaroon, "name:bob")), "-T", self.file), 200)
        created, = self.lines()
        self.assertEqual([created["path"], created["subject"]], ["/alice/a", "alice"])

    def test_an_upload_that_its_client_does_not_finish(self):
        who = self.bearer(self.site.token(ALL_OF_STORAGE))
        large = self.random_file("large", 50_000_000)
        self.https_status("/tokens/a", *who, "--limit-rate", "1M", "--max-time", "1", "-T", large)
        self.assertEqual(self.https_status("/tokens/b", *who, "-T", self.file), grid_site.PUT_STATUS)
        self.assertEqual(self.events(), [("create", "/tokens/b")])


if __name__ == "__main__":
    xectest.main()
