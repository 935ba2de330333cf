# SPDX-License-Identifier: LGPL-3.0-or-later
"""XEC on real vanilla clusters: stock xrootd and cmsd on every data server, a redirector, gateways in front."""
import collections
import os
import urllib.parse

import everyday
import xectest

KIB = 1024


class ClusterTest(everyday.EverydayTest):
    def up(self, geometry="8+2", gateways=1, **options):
        cluster = self.cluster(geometry=geometry, gateways=gateways, chunk_size="64KiB", **options)
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
        self.check_everyday_commands(gateway, 1_000_000)


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
                # XRootD 5 has no status 503 for this (README, limits).
                self.assertIn(self.http_status("--max-time", "30", gateway.http + name), (500, 503))
                copy = self.run_program(["xrdcp", "--nopbar", other, f"{gateway.url}/{name}"], code=None,
                                        env={**xectest.QUICK_CLIENT, "XRD_REQUESTTIMEOUT": "5"})
                self.assertNotEqual(copy.code, 0)
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
