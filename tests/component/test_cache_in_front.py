# SPDX-License-Identifier: LGPL-3.0-or-later
"""A stock XCache in front of a gateway shows replacements at once (docs/http.md). XRootD 5 has no way to ask."""
import os

import everyday
import xectest

SIZE = 3_000_001


class CacheInFront(everyday.EverydayTest):
    def cache_of(self, gateway):
        """Starts an XCache of the gateway's XRootD; answers its URL."""
        place = self.path("cache")
        user = xectest.xrootd_cluster.User()
        for folder in ("admin", "data"):
            os.makedirs(os.path.join(place, folder))
        port = self.free_port()
        conf = os.path.join(place, "cache.cfg")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(f"all.export /\nall.adminpath {place}/admin\nall.pidpath {place}/admin\nxrd.port {port}\n"
                       f"oss.localroot {place}/data\nofs.osslib libXrdPss.so\npss.cachelib libXrdPfc.so\n"
                       f"pss.origin {xectest.HOST}:{gateway.port}\npfc.httpcc on\npfc.ram 1g\n")
        argv = [os.readlink(f"/proc/{gateway.pid}/exe"), "-c", conf]
        if user.entry is not None:
            self.run_program(["chown", "-R", str(user.entry.pw_uid), place])
            argv = ["setpriv", f"--reuid={user.entry.pw_uid}", f"--regid={user.entry.pw_gid}", "--clear-groups", *argv]
        self.cache = self.background(argv)
        self.assertIn("completed", self.cache.wait_line("------ xrootd"), self.cache.output())
        return f"root://{xectest.HOST}:{port}"

    def read(self, url, name):
        self.xrdcp("-f", f"{url}/{name}", self.path("got"))
        return self.content(self.path("got"))

    def test_replacements_are_seen_at_once(self):
        gateway = self.serve(geometry="4+2", chunk_size="64KiB")
        if self.xrdfs(gateway.url, "query", "config", "version").out.strip() < "v6":
            self.skipTest("needs XRootD 6")
        url = self.cache_of(gateway)
        for number in range(4):
            file = self.random_file(f"f{number}", SIZE, number)
            self.xrdcp("-f", file, f"{gateway.url}//a")
            for _ in range(2):
                self.assertTrue(self.read(url, "/a") == self.content(file), f"replacement {number}")
            # The cache has them from itself: it would not see this otherwise.
            kept = self.path("cache", "data", "a")
            self.eventually(lambda: os.stat(kept).st_blocks * 512 >= SIZE, 30, "all of it is in the cache")
            self.flip_byte(kept, 1000)
            self.assertNotEqual(self.read(url, "/a"), self.content(file))


if __name__ == "__main__":
    xectest.main()
