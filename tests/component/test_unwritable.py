# SPDX-License-Identifier: LGPL-3.0-or-later
"""Disks that take no writes: the gateway and `xec health` find and tell them before any upload does."""
# waits
import contextlib
import json
import os
import re

import everyday
import xectest

# The gateway tries its disks every 10 s, and believes after three rounds that one is well again.
FOUND, WELL = 40, 80
SOMEBODY = 12345


class Unwritable(everyday.EverydayTest):
    def setUp(self):
        super().setUp()
        self.enter_mounts()

    def mount(self, path, options):
        """A file system of its own at `path`, with what lies there."""
        kept = path + ".kept"
        if os.path.exists(path):
            os.rename(path, kept)
        os.makedirs(path)
        self.run_program(["mount", "-t", "tmpfs", "-o", options, "none", path])
        self.addCleanup(self.run_program, ["umount", "-l", path])
        if os.path.exists(kept):
            self.run_program(["cp", "-a", kept + "/.", path])
            owner = os.stat(kept)
            os.chown(path, owner.st_uid, owner.st_gid)
            os.chmod(path, owner.st_mode & 0o777)

    def use_up_inodes(self, path):
        """Makes empty files until there is no room for one more; answers their folder."""
        folder = os.path.join(path, "used-up")
        os.mkdir(folder)
        with contextlib.suppress(OSError):
            for number in range(1_000_000):
                os.close(os.open(os.path.join(folder, str(number)), os.O_CREAT | os.O_WRONLY))
        return folder

    def chown_all(self, path, uid, gid):
        self.run_program(["chown", "-R", f"{uid}:{gid}", path])

    def lines(self, log, name, words):
        with open(log, encoding="utf-8", errors="replace") as file:
            return [line for line in file if f" disks: data server {name} " in line and re.search(words, line)]

    def check_told(self, log, name, words, times=1):
        """That it takes no writes: so often, and why."""
        self.eventually(lambda: self.lines(log, name, words), FOUND, f"{name} takes no writes: {words}")
        refused = self.lines(log, name, "takes no writes")
        self.assertEqual(len(refused), times, refused)
        self.assertIn("xec: warning disks:", refused[-1])

    def check_well(self, log, names):
        for name in names:
            self.eventually(lambda name=name: self.lines(log, name, "takes writes again after"), WELL, f"{name} is well")
            self.assertEqual(len(self.lines(log, name, "takes writes again")), 1)

    def health(self, xec, code):
        document = json.loads(xec("health", "--servers", "--json", code=code).out)
        self.assertEqual(document["unwritable"], sum(row["state"] == "unwritable" for row in document["servers"]))
        return {row["server"]: row for row in document["servers"]}

    def check_health(self, xec, refusals):
        """`refusals`: why, by member."""
        rows = self.health(xec, 5 if refusals else 0)
        self.assertEqual({name for name, row in rows.items() if row["state"] == "unwritable"}, set(refusals))
        self.assertEqual({name for name, row in rows.items() if row["state"] not in ("up", "slow", "unwritable")}, set())
        for name, words in refusals.items():
            self.assertRegex(rows[name]["problem"], words)
        table = xec("health", "--servers", code=5 if refusals else 0).out
        self.assertEqual(f"{len(refusals)} of {len(rows)} data servers take no writes" in table, bool(refusals), table)

    def test_directories(self):
        """The log had no line, at all, until a third disk was bad; health said `up`."""
        place = self.path("disks")
        dirs = [os.path.join(place, f"m{number}", "data") for number in range(1, 9)]
        mounts = [os.path.dirname(path) for path in dirs]
        for mount in mounts[:4]:
            self.mount(mount, "size=16m,nr_inodes=2000")
        store = self.serve(dirs=dirs, geometry="4+2", chunk_size="64KiB")
        file = self.put(store, "/before", 600_000)
        log = os.path.join(store.state, "xrootd.log")
        owner = os.stat(dirs[4])
        self.check_health(store.xec, {})

        self.remount(mounts[1], "ro")
        used_up = self.use_up_inodes(mounts[2])
        first = {"s02": "read-only", "s03": r"although .* are free .*inodes"}
        for name, words in first.items():
            self.check_told(log, name, words)
        self.check_health(store.xec, first)
        self.check_reads(store, "/before", file)

        ballast = self.fill_disk(mounts[3])
        self.chown_all(dirs[4], 0, 0)
        # Only the directory itself: what lies in it can be written.
        os.chown(dirs[5], 0, 0)
        # Nobody may even look into it.
        os.chmod(dirs[6], 0)
        second = {"s04": "it is full", "s05": "has no permission", "s06": "has no permission", "s07": "has no permission"}
        for name, words in second.items():
            self.check_told(log, name, words)
        rows = self.health(store.xec, 5)
        self.assertEqual({name for name, row in rows.items() if row["state"] == "unwritable"},
                         {*first, *second} - {"s07"})
        # It was opened without that one.
        self.assertEqual(rows["s07"]["state"], "down")
        self.assertIn(dirs[6], rows["s07"]["problem"])

        self.remount(mounts[1], "rw")
        self.run_program(["rm", "-r", used_up])
        os.remove(ballast)
        for path in (dirs[4], dirs[5]):
            self.chown_all(path, owner.st_uid, owner.st_gid)
        os.chmod(dirs[6], 0o755)
        self.check_well(log, [*first, *second])
        self.check_health(store.xec, {})
        # Each was told once, whatever else went on.
        for name, words in {**first, **second}.items():
            self.check_told(log, name, words)
        for path in dirs:
            self.eventually(lambda path=path: not os.path.exists(os.path.join(path, ".xec", "probe")), 30,
                            "nothing is left behind")

    def test_servers_of_a_cluster(self):
        cluster = self.cluster(servers=6, geometry="2+2", gateways=1, chunk_size="64KiB")
        gateway = cluster.gateways[0]
        gateway.http = gateway.http_url
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]

        def xec(command, *arguments, **more):
            return self.run_program([self.program("xec"), command, *options, *arguments], **more)
        file = self.put(gateway, "/before", 300_000)
        log = gateway.xrootd_log()
        read_only, no_inodes, full, closed = cluster.servers[:4]
        owner = os.stat(closed.data)
        for server in (read_only, no_inodes, full):
            server.kill()
            self.mount(server.data, "size=16m,nr_inodes=2000")
            if server is read_only:
                self.remount(server.data, "ro")
            cluster.start(server)
        self.use_up_inodes(no_inodes.data)
        ballast = self.fill_disk(full.data)
        self.chown_all(closed.data, 0, 0)
        refusals = {"s01": "read-only", "s02": r"although .* are free .*inodes", "s03": "it is full",
                    "s04": "user of the data server has no permission"}
        for name, words in refusals.items():
            self.check_told(log, name, words)
        self.check_health(xec, refusals)
        self.check_reads(gateway, "/before", file)

        read_only.kill()
        self.remount(read_only.data, "rw")
        cluster.start(read_only)
        self.run_program(["rm", "-r", os.path.join(no_inodes.data, "used-up")])
        os.remove(ballast)
        self.chown_all(closed.data, owner.st_uid, owner.st_gid)
        self.check_well(log, refusals)
        self.check_health(xec, {})

    def test_health_as_somebody_else(self):
        """Who may write nowhere learns nothing about the gateway."""
        mounts = self.path("disk")
        self.mount(mounts, "size=16m")
        dirs = [os.path.join(mounts, "data"), *(self.path(f"d{number}") for number in range(2, 5))]
        store = self.serve(dirs=dirs, geometry="2+1", chunk_size="64KiB")

        def xec(command, *arguments, **more):
            return self.run_program(["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups",
                                     self.program("xec"), command, *store.store_options(), *arguments], **more)
        self.assertEqual({row["state"] for row in self.health(xec, 0).values()} - {"slow"}, {"up"})
        self.assertIn("no data server lets this user write", xec("health", "--servers").err)
        # Nobody can write there.
        self.remount(mounts, "ro")
        rows = self.health(xec, 5)
        self.assertEqual([name for name, row in rows.items() if row["state"] == "unwritable"], ["s01"])
        self.assertIn("read-only", rows["s01"]["problem"])


if __name__ == "__main__":
    xectest.main()
