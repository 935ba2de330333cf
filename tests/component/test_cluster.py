# SPDX-License-Identifier: LGPL-3.0-or-later
"""XEC on real vanilla clusters: stock xrootd and cmsd on every data server, a redirector, gateways in front."""
# seconds: 1800
import collections
import json
import os
import re
import shutil
import urllib.parse

import everyday
import failpoints
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
KIB = 1024
GIB = 1024 ** 3
CURL_HTTP_ERROR, CURL_NO_REPLY = 22, 52


class ClusterTest(everyday.EverydayTest):
    def up(self, geometry="8+2", gateways=1, chunk_size="64KiB", **options):
        cluster = self.cluster(geometry=geometry, gateways=gateways, chunk_size=chunk_size, **options)
        for gateway in cluster.gateways:
            gateway.http = gateway.http_url
        return cluster

    def xec_on(self, cluster):
        """Runs a command of xec on the cluster."""
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        return lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *options, *arguments], **more)

    def folder_of(self, cluster):
        folders = {f"root://{xectest.HOST}:{server.port}": server.data for server in cluster.servers}
        return lambda address: folders[address.rstrip("/")]

    def kill_and_bring_back(self, cluster, victims, check):
        for server in victims:
            server.kill()
        check()
        for server in victims:
            cluster.start(server)

    def check_store(self, cluster):
        gateway, xec = cluster.gateways[0], self.xec_on(cluster)
        self.check_everyday_commands(gateway, 2_000_000)
        sizes = (0, 27_000, 10 * 8 * 64 * KIB + 7)
        files = {f"/kept/{size}": self.put(gateway, f"/kept/{size}", size) for size in sizes}
        large = f"/kept/{sizes[-1]}"

        def check_all():
            for name, file in files.items():
                self.check_reads(gateway, name, file)
        holders = {chunk["address"] for chunk in self.chunks_of(xec, large)}
        of_large = [server for server in cluster.servers if server.url in holders]
        self.kill_and_bring_back(cluster, of_large[:2], check_all)
        self.kill_and_bring_back(cluster, of_large[-2:], check_all)
        self.eventually(lambda: xec("verify", large, code=None).code == 0, 60, "all servers are used again")
        self.flip_in_ten_stripes(gateway, xec, large, files[large], self.folder_of(cluster))


class WholeStore(ClusterTest):
    def test_servers_with_plain_directories(self):
        self.check_store(self.up())

    def test_servers_with_data_spaces(self):
        cluster = self.up(spaces=2)
        self.check_store(cluster)
        server = cluster.servers[0]
        links = [path for path in self.files_below(server.data) if os.path.islink(os.path.join(server.data, path))]
        self.assertTrue(links, "the name space has symbolic links")


class OneGibibyte(ClusterTest):
    """The clusters of the three commands of ./dev cluster, at full size."""

    def setUp(self):
        super().setUp()
        if not LONG:
            self.skipTest("takes minutes and 7 GiB of disk; set XEC_TEST_LONG=1")
        if shutil.disk_usage(self.dir).free < 8 * GIB:
            self.skipTest("needs 8 GiB of free disk")

    def check_with(self, victims_of, **options):
        """1 GiB by xrdcp and by curl, in and out; again with the servers of each of victims_of(servers that hold it) killed;
        again with a byte flipped in ten stripes."""
        cluster = self.up(chunk_size="1MiB", **options)
        gateway, xec = cluster.gateways[0], self.xec_on(cluster)
        file = self.put(gateway, "/big", GIB)
        self.assertRegex(self.xrdfs(gateway.url, "stat", "/big").out, rf"Size: +{GIB}\n")
        self.check_reads(gateway, "/big", file)
        self.curl("-T", file, gateway.http + "/more")
        self.check_reads(gateway, "/more", file)
        self.xrdfs(gateway.url, "rm", "/more")
        holders = {chunk["address"] for chunk in self.chunks_of(xec, "/big")}
        for victims in victims_of([server for server in cluster.servers if server.url in holders]):
            self.assertEqual(len(victims), 2)
            self.kill_and_bring_back(cluster, victims, lambda: self.check_reads(gateway, "/big", file))
        self.eventually(lambda: xec("verify", "/big", code=None).code == 0, 60, "all servers are used again")
        self.flip_in_ten_stripes(gateway, xec, "/big", file, self.folder_of(cluster))

    def test_servers_with_plain_directories(self):
        self.check_with(lambda holders: (holders[:2], holders[-2:]))

    def test_servers_with_data_spaces(self):
        self.check_with(lambda holders: (holders[:2], holders[-2:]), spaces=2)

    def test_a_whole_host_away(self):
        self.check_with(lambda holders: [[server for server in holders if server.host == host] for host in ("h02", "h05")],
                        geometry="10+2", hosts=6)


class Names(ClusterTest):
    def test_names_reach_the_servers_unchanged(self):
        cluster = self.up(servers=4, geometry="2+1", spaces=1)
        gateway, xec = cluster.gateways[0], self.xec_on(cluster)
        file = self.random_file("source", 300_000)
        for name in ("a b", "gr\u00fc\u00dfe \u20ac", "%41", "100%", "a#b", "a&b=c", "a+b", "x" * 255, "\u00e9" * 127, "deep" + "/d" * 40):
            with self.subTest(name):
                self.xrdcp(file, f"{gateway.url}//root/{name}")
                self.check_reads(gateway, "/root/" + name, file, "/root/" + urllib.parse.quote(name))
                self.xrdfs(gateway.url, "mv", f"/root/{name}", f"/root/{name[:-1]}2")
        # Only xec has a way to say these.
        for name in ("a?b", "a?b=c&d", "?"):
            with self.subTest(name):
                xec("put", file, "/cli/" + name)
                self.assertEqual(xec("cat", "/cli/" + name, binary=True).out, self.content(file))
        self.assertEqual(xec("ls", "/cli").out.splitlines(), ["?", "a?b", "a?b=c&d"])
        xec("rm", "/cli/a?b")
        self.assertEqual(xec("ls", "/cli").out.splitlines(), ["?", "a?b=c&d"])


class LongestNames(ClusterTest):
    """On disk they have 254 bytes, 255, or are shortened. Listings of stock servers have room for 254."""

    NAMES = sorted([*("l" * length for length in (250, 251, 254, 255)), "p" * 254 + "1", "p" * 254 + "2", "%" * 85,
                    "\u00e9" * 127 + "x"], key=str.encode)

    def check(self, servers, folders, layout):
        """`servers`: the words that name them. `folders`: where they keep their files."""
        words = [*servers, "--geometry", "2+1", "--layout", layout]
        xec = lambda command, *operands: self.run_program([self.program("xec"), command, *words, *operands])
        listed = lambda path: xec("ls", path).out.splitlines()
        os.makedirs(self.path("sources"), exist_ok=True)
        sources = [self.path(f"sources/{name}") for name in self.NAMES]
        for source in sources:
            with open(source, "w", encoding="utf-8") as file:
                file.write(source)
        xec("mkdir", "-p", "/files", *(f"/directories/{name}" for name in self.NAMES))
        xec("put", *sources, "/files/")
        for name, source in zip(self.NAMES, sources):
            xec("put", source, f"/directories/{name}/{name}")
        self.assertEqual(listed("/files"), self.NAMES)
        self.assertEqual(listed("/directories"), [name + "/" for name in self.NAMES])
        both = [path for name in self.NAMES for path in (f"/files/{name}", f"/directories/{name}/{name}")]
        objects = [entry["path"] for entry in json.loads(xec("ls", "-R", "--json", "/").out) if entry["type"] == "object"]
        self.assertEqual(sorted(objects), sorted(both))
        self.assertEqual(xec("cat", *both).out, "".join(source for source in sources for _ in range(2)))
        xec("verify", *both)
        renamed = ["p" * 254 + "1", "l" * 251]
        for name in renamed:
            xec("mv", f"/files/{name}", f"/files/{name[:-1]}-")
        self.assertEqual(set(listed("/files")), {name[:-1] + "-" if name in renamed else name for name in self.NAMES})
        xec("rm", "-r", "/files", "/directories")
        self.assertEqual(listed("/"), [])

        def cleaned():
            report = json.loads(xec("clean", "--json", *failpoints.graces(failpoints.LIMIT_MS)).out)
            return report["removed"] == report["left"] == 0
        self.eventually(cleaned, 60, "the cleaner finds nothing more to do")
        for folder in folders:
            self.assertEqual(os.listdir(folder), [".xec"])

    def check_on_servers(self, layout, **options):
        cluster = self.cluster(servers=4, **options)
        self.check([word for server in cluster.servers for word in ("--server", server.server_option())],
                   [server.data for server in cluster.servers], layout)

    def test_stock_servers(self):
        self.check_on_servers("native")

    def test_stock_servers_in_layout_xrdec(self):
        self.check_on_servers("xrdec")

    def test_directories(self):
        for layout in ("native", "xrdec"):
            folders = [self.path(f"{layout}-{number}") for number in range(4)]
            self.check([word for folder in folders for word in ("--data", folder)], folders, layout)


class Hosts(ClusterTest):
    def test_a_whole_host_away(self):
        cluster = self.up(geometry="10+2", hosts=6)
        gateway, xec = cluster.gateways[0], self.xec_on(cluster)
        host_of = {server.url: server.host for server in cluster.servers}
        names = [f"/a/{number}" for number in range(6)]
        file = self.random_file("source", 2 * 10 * 64 * KIB + 7)
        small = self.random_file("small", 27_000)
        for name in names:
            self.xrdcp(file, f"{gateway.url}/{name}")
            self.xrdcp(small, f"{gateway.url}/{name}-small")
            for each in (name, name + "-small"):
                for stripe in range(3):
                    of_stripe = [chunk for chunk in self.chunks_of(xec, each) if chunk["stripe"] == stripe]
                    on_host = collections.Counter(host_of[chunk["address"]] for chunk in of_stripe)
                    self.assertLessEqual(max(on_host.values(), default=0), 2, on_host)
        for host in ("h01", "h04"):
            victims = [server for server in cluster.servers if server.host == host]
            self.assertEqual(len(victims), 2)

            def check():
                for name in names:
                    self.check_reads(gateway, name, file)
                    self.check_reads(gateway, name + "-small", small)
            self.kill_and_bring_back(cluster, victims, check)
        large = self.put(gateway, "/a/large", 10 * 10 * 64 * KIB + 7)
        self.eventually(lambda: xec("verify", "/a/large", code=None).code == 0, 60, "all servers are used again")
        self.flip_in_ten_stripes(gateway, xec, "/a/large", large, self.folder_of(cluster))
        self.check_everyday_commands(gateway, 1_000_000)


class Identity(ClusterTest):
    def test_all_gateways_show_one_number_for_a_version(self):
        """XRootD's id of a name: XrdHttp makes ETags of it, and caches compare it."""
        cluster = self.up(servers=6, geometry="4+2", gateways=2)
        seen = set()
        for size in (1000, 1001, 1000):
            file = self.random_file(f"source-{size}", size)
            self.xrdcp("-f", file, f"{cluster.gateways[0].url}//a")
            told = {re.search(r"(?m)^Id: +(-?\d+)", self.xrdfs(gateway.url, "stat", "/a").out)[1]
                    for gateway in cluster.gateways}
            self.assertEqual(len(told), 1)
            seen |= told
        self.assertEqual(len(seen), 3)
        self.assertNotIn("0", seen)


class TooManyAway(ClusterTest):
    def test_cannot_tell_also_from_a_gateway_that_started_first(self):
        """More than t homes of every name away: nothing is told, made or lost."""
        cluster = self.up(servers=6, geometry="4+2")
        gateway = cluster.gateways[0]
        file = self.put(gateway, "/a", 300_000)
        other = self.random_file("other", 1000, seed=9)
        cluster.stop([gateway])
        away, left = cluster.servers[:4], cluster.servers[4:]
        for server in away:
            server.kill()

        def check_nothing_is_told():
            for name in ("/a", "/never"):
                stat = self.run_program(["xrdfs", gateway.url, "stat", name], code=None,
                                        env={**xectest.QUICK_CLIENT, "XRD_REQUESTTIMEOUT": "5"})
                self.assertNotEqual(stat.code, 0)
                self.assertNotIn("[3011]", stat.err)
                # XRootD 5 has no status 503 for this (docs/limits.md).
                self.assertIn(self.http_status("--max-time", "30", gateway.http + name), (500, 503))
                copy = self.run_program(["xrdcp", "--nopbar", other, f"{gateway.url}/{name}"], code=None,
                                        env={**xectest.QUICK_CLIENT, "XRD_REQUESTTIMEOUT": "5"})
                self.assertNotEqual(copy.code, 0)
                # A failed open is a status, a failed close the end of the connection (docs/limits.md).
                put = self.curl("--max-time", "60", "-T", other, gateway.http + name, code=None)
                self.assertIn(put.code, (CURL_HTTP_ERROR, CURL_NO_REPLY), put)
        # The gateway is there before its servers are.
        cluster.start(gateway)
        check_nothing_is_told()
        for server in away:
            cluster.start(server)
        self.eventually(lambda: self.xrdfs(gateway.url, "stat", "/a", code=None, env=xectest.QUICK_CLIENT).code == 0, 60,
                        "the store opens")
        self.check_reads(gateway, "/a", file)
        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", "/never", code=54).err)
        # And it stays when they go again.
        for server in cluster.servers[:4]:
            server.kill()
        check_nothing_is_told()
        for server in away:
            cluster.start(server)
        self.eventually(lambda: self.xrdfs(gateway.url, "stat", "/a", code=None, env=xectest.QUICK_CLIENT).code == 0, 60,
                        "the homes are back")
        self.check_reads(gateway, "/a", file)
        self.xrdcp(other, f"{gateway.url}//a", code=50)
        self.check_reads(gateway, "/a", file)
        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", "/never", code=54).err)
        self.xrdcp(other, f"{gateway.url}//never")
        self.assertTrue(left[0].xrootd.alive() and left[1].xrootd.alive())


if __name__ == "__main__":
    xectest.main()
