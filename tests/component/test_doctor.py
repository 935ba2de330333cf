# SPDX-License-Identifier: LGPL-3.0-or-later
"""xec doctor: a site whose gateway has all that it needs, and the same with one thing wrong at a time."""
import json
import os
import shutil

import grid_site
import xectest

FAILS, WARNS = 1, 5


class Doctor(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.site = grid_site.GridSite(self)
        self.site.certificate("host", "localhost", f"DNS:localhost,DNS:{os.uname().nodename}", days=90)
        self.site.issuer = "https://issuer.example.org"
        shutil.copy(self.site.keytab("clients", "carol", "operators", 1), self.site.path("gateway.keytab"))
        self.site.give(self.site.path("gateway.keytab"))
        names = ("--user", self.site.user.pw_name) if self.site.user is not None else ()
        self.conf = self.site.write("gateway.conf", self.site.directives("") +
                                    (f"xec.user {self.site.user.pw_name}\n" if self.site.user is not None else ""))
        self.gateway = self.serve(geometry="2+1", options=("-c", self.conf, *names), start=False)

    def doctor(self, key_file=""):
        """The exit code, and the checks by what they are about."""
        result = self.run_program([self.program("xec"), "doctor", "-c", self.conf, *self.gateway.store_options(), "--json"],
                                  code=None, env={"XrdSecSSSKT": key_file})
        return result.code, {check["what"]: check for check in json.loads(result.out)["checks"]}

    def check_found(self, level, what, found, todo=".*", **how):
        code, checks = self.doctor(**how)
        self.assertEqual(checks[what]["level"], level, checks[what])
        self.assertRegex(checks[what]["found"], found)
        self.assertRegex(checks[what]["todo"], todo)
        if level == "fail":
            self.assertEqual(code, FAILS)

    def test_before_the_first_start(self):
        code, checks = self.doctor()
        failing = {what: check for what, check in checks.items() if check["level"] == "fail"}
        self.assertEqual(failing, {})
        # This machine may have no time service; and the token's audience is not this host.
        self.assertEqual(code, WARNS)
        self.assertEqual(checks["token audience"]["level"], "warn")
        for what in ("versions", "certificate", "certificate's key", "authorities", "shared secrets of clients",
                     "secret of macaroons", "store"):
            self.assertEqual(checks[what]["level"], "ok", checks[what])
        self.assertIn("none yet", checks["store"]["found"])

    def test_certificates(self):
        with self.subTest("soon over"):
            self.renew(days=3)
            self.check_found("warn", "certificate", "ends in [23] days", "renewed")
        with self.subTest("over"):
            self.renew(days=-1)
            self.check_found("fail", "certificate", "is over")
        with self.subTest("another name"):
            self.renew(days=90, names="DNS:other.example.org")
            self.check_found("fail", "certificate's names", os.uname().nodename)
        with self.subTest("another key"):
            self.site.certificate("other", "other")
            self.renew(days=90)
            shutil.copy(self.site.path("other.key"), self.site.path("gateway.key"))
            self.check_found("fail", "certificate's key", "is not that of")
        with self.subTest("open key"):
            os.chmod(self.site.path("gateway.key"), 0o644)
            self.check_found("fail", "certificate's key", ".*", "chmod 0600|key there")
        with self.subTest("old revocation lists"):
            self.site.openssl("ca", "-config", self.site.path("authority.cnf"), "-cert", self.site.authority, "-keyfile",
                              self.site.path("authority.key"), "-gencrl", "-crlsec", "1", "-out", self.crl())
            self.eventually(lambda: self.doctor()[1]["authorities"]["level"] == "fail", 20, "the list is too old")

    def test_the_file_of_bans(self):
        bans = self.site.write("banned", "name mallory\n")
        with open(self.conf, "a", encoding="utf-8") as file:
            file.write(f"xec.banned {bans}\n")
        self.check_found("ok", "banned clients", bans)
        if self.site.user is not None:
            os.chmod(bans, 0o600)
            self.check_found("fail", "banned clients", f"read by user {self.site.user.pw_name}: Permission denied", "does not start")
        os.unlink(bans)
        self.check_found("fail", "banned clients", "No such file", "does not start")

    def test_two_files_of_shared_secrets(self):
        clients, servers = self.site.path("gateway.keytab"), self.site.keytab("servers", "xec", "xec", 2)
        self.site.give(servers)
        self.check_found("warn", "files of shared secrets", f"{clients} for clients, and {servers}", "one file", key_file=servers)
        self.check_found("ok", "files of shared secrets", "one", key_file=clients)

    def renew(self, days, names=""):
        self.site.certificate("host", "localhost", names or f"DNS:localhost,DNS:{os.uname().nodename}", days=days)
        shutil.copy(self.site.path("host.key"), self.site.path("gateway.key"))
        self.site.give(self.site.path("gateway.key"))

    def crl(self):
        return next(os.path.join(self.site.certificates, name) for name in os.listdir(self.site.certificates)
                    if name.endswith(".r0"))

    def test_a_gateway_that_runs_and_loses_servers(self):
        self.gateway.start()
        words = ["doctor", "-c", self.conf, "--json"]
        for moved, level in ((None, "ok"), (self.gateway.dirs[0], "fail")):
            if moved:
                os.rename(moved, moved + ".away")
            result = self.run_program([self.program("xec"), *words, *self.gateway.store_options()], code=None)
            servers = [check["level"] for check in json.loads(result.out)["checks"] if check["what"].startswith("data server")]
            self.assertEqual(len(servers), 3, result)
            self.assertEqual(servers.count("ok"), 3 if level == "ok" else 2, result)

    def test_secrets_are_not_told(self):
        with open(self.site.path("gateway.keytab"), encoding="ascii") as file:
            key = next(word[2:] for word in file.read().split() if word.startswith("k:"))
        result = self.run_program([self.program("xec"), "doctor", "-c", self.conf, *self.gateway.store_options()], code=None)
        self.assertRegex(result.out, "(?m)^ok +shared secrets of clients: ")
        self.assertNotIn(key, result.out + result.err)


if __name__ == "__main__":
    xectest.main()
