#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""As whom XRootD servers see a mount: the user that mounts, by what shows who that is."""
import os
import pwd
import re

import fuse_mounts
import grid_site
import xectest

MAY, MAY_NOT = "games", "nobody"
EXIT_DENIED = 9


class SharedSecrets(fuse_mounts.TestCase):
    def test_the_user_of_the_key(self):
        """Each user that mounts has a key; the server knows all of them, and has rules for some."""
        keys, rights = self.path("all.keytab"), self.path("authdb")
        with open(rights, "w", encoding="ascii") as file:
            file.write(f"u {MAY} / a\n")
        for number, name in enumerate((MAY, MAY_NOT), 1):
            own = self.path("key-" + name)
            self.run_program(["xrdsssadmin", "-k", name, "-u", name, "-g", name, "add", own], stdin=b"y\n")
            # By itself both have the second as their number.
            with open(own, "r+", encoding="ascii") as file, open(keys, "a", encoding="ascii") as all_keys:
                text = re.sub(r" N:\d+ ", f" N:{number} ", file.read())
                file.seek(0)
                file.truncate()
                file.write(text)
                all_keys.write(text.rstrip("\n") + "\n")
        os.chmod(keys, 0o600)
        os.chown(keys, xectest.xrootd_cluster.User().entry.pw_uid, -1)
        server = self.cluster(1, redirector=False, server_lines=[
            "xrootd.seclib libXrdSec.so", f"sec.protocol sss -s {keys}", "sec.protbind * only sss", "ofs.authorize 1",
            f"acc.authdb {rights}"]).servers[0]
        self.open_fuse_to_all()
        for name, code in ((MAY, 0), (MAY_NOT, EXIT_DENIED)):
            user = pwd.getpwnam(name)
            mnt, own = self.path("mnt-" + name), self.path("key-" + name)
            os.mkdir(mnt)
            for path in (mnt, own):
                os.chown(path, user.pw_uid, user.pw_gid)
            run = ["setpriv", f"--reuid={name}", f"--regid={user.pw_gid}", "--clear-groups"]
            self.run_program([*run, self.program("xec"), "mount", "-o", f"setenv=XrdSecSSSKT={own}", server.url, mnt],
                             code=code)
            if code == 0:
                self.addCleanup(self.run_program, [*run, "fusermount3", "-u", mnt])
                self.run_program([*run, "sh", "-c", f"echo content > {mnt}/f"])
        with open(os.path.join(server.data, "f"), encoding="ascii") as file:
            self.assertEqual(file.read(), "content\n")


class Tokens(grid_site.GridTest, fuse_mounts.TestCase):
    def mounted(self, name, code=0, **env):
        mnt = self.path("mnt-" + name)
        os.mkdir(mnt)
        self.addCleanup(self.run_program, ["umount", "-l", mnt], code=None)
        self.run_program([self.program("xec"), "mount", "--log", mnt + ".log", self.root, mnt], code=code,
                         env=self.root_client("ztn", **env))
        return mnt

    def test_tokens_are_found_where_the_wlcg_looks(self):
        token = self.site.token(grid_site.ALL_OF_STORAGE)
        runtime, file = self.path("runtime"), self.path("token")
        os.mkdir(runtime)
        for path in (file, os.path.join(runtime, f"bt_u{os.getuid()}")):
            with open(path, "w", encoding="ascii") as out:
                out.write(token)
            os.chmod(path, 0o600)
        for name, env in (("variable", {"BEARER_TOKEN": token}), ("file", {"BEARER_TOKEN_FILE": file}),
                          ("runtime", {"XDG_RUNTIME_DIR": runtime})):
            mnt = self.mounted(name, **env)
            os.makedirs(f"{mnt}/tokens", exist_ok=True)
            with open(f"{mnt}/tokens/{name}", "w", encoding="ascii") as out:
                out.write(name)
            with open(f"{mnt}/tokens/{name}", encoding="ascii") as back:
                self.assertEqual(back.read(), name)
            # What the token does not cover.
            with self.assertRaises(PermissionError):
                os.mkdir(f"{mnt}/vo")
        self.mounted("none", EXIT_DENIED, XDG_RUNTIME_DIR=self.path("empty"))


if __name__ == "__main__":
    xectest.main()
