# SPDX-License-Identifier: LGPL-3.0-or-later
"""Layout xrdec: objects as stock XrdEc has them, through the gateway and the program xec, on directories and on
vanilla data servers."""
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zlib

import xectest

KIB = 1024
CHUNK = 64 * KIB
STRIPE = 4 * CHUNK
SIZES = (0, 1, 27_000, CHUNK - 1, CHUNK, CHUNK + 1, STRIPE - 1, STRIPE, STRIPE + 1, 3 * STRIPE + 7)
FIXTURES = os.path.join(xectest.REPO, "tests", "fixtures", "xrdec-6.1.0")


class XrdecTest(xectest.TestCase):
    def setUp(self):
        super().setUp()
        probe = self.path("probe")
        try:
            with open(probe, "wb"):
                os.setxattr(probe, "user.xec", b"1")
        except OSError as error:
            self.skipTest(f"{self.dir} keeps no attributes: {error}")

    def gateway(self, dirs=8, **options):
        return self.serve(**{"dirs": dirs, "layout": "xrdec", "geometry": "4+2", "chunk_size": "64KiB", **options})

    def put(self, url, name, size, seed=1):
        file = self.random_file(f"put-{seed}-{size}", size, seed)
        self.xrdcp(file, f"{url}/{name}")
        return file

    def get(self, url, name):
        target = self.path("got")
        self.xrdcp("-f", f"{url}/{name}", target)
        return target

    def holders(self, folders, name):
        return [folder for folder in folders if os.path.exists(folder + name)]

    def staged(self, folders):
        return [file for folder in folders for file in self.files_below(folder) if file.startswith(".xec/staged/")]

    def check_archives(self, folders, geometry="4+2", objects=None):
        """By the checker that shares no code with XEC: members, sizes, CRCs, every parity byte, attributes."""
        result = self.run_program([sys.executable, os.path.join(xectest.REPO, "tools", "check_archive.py"), "--layout",
                                   "xrdec", "--geometry", geometry, "--chunk-size", str(CHUNK), "--require-attributes",
                                   *folders])
        if objects is not None:
            self.assertRegex(result.out, rf"\b{objects} objects, 0 bad")
        return result.out


class Written(XrdecTest):
    def test_sizes_over_both_protocols_lie_as_xrdec_has_them(self):
        store = self.gateway()
        for size in SIZES:
            with self.subTest(size=size):
                file = self.put(store.url, f"/sizes/{size}", size)
                self.assert_same(file, self.get(store.url, f"/sizes/{size}"))
                self.curl("-T", file, f"{store.http}/http/{size}")
                self.curl("-o", self.path("http"), f"{store.http}/http/{size}")
                self.assert_same(file, self.path("http"))
                self.assertEqual(len(self.holders(store.dirs, f"/sizes/{size}")), 6)
        self.assertEqual(self.staged(store.dirs), [])
        self.check_archives(store.dirs, objects=2 * len(SIZES))
        archive = self.holders(store.dirs, f"/sizes/{SIZES[-1]}")[0] + f"/sizes/{SIZES[-1]}"
        self.run_program(["unzip", "-tq", archive])
        # The checker can fail.
        self.flip_byte(archive, 5000)
        broken = self.run_program([sys.executable, os.path.join(xectest.REPO, "tools", "check_archive.py"), "--layout",
                                   "xrdec", "--geometry", "4+2", "--chunk-size", str(CHUNK), *store.dirs], code=1)
        self.assertRegex(broken.out, r"BAD sizes/786439: .*wrong CRC")
        self.assertRegex(store.xec("verify", f"/sizes/{SIZES[-1]}", code=None).out, r"corrupt .*/sizes/786439")

    def test_names_and_queries(self):
        store = self.gateway()
        before = int(time.time())
        file = self.put(store.url, "/a/b c", 300_000)
        with open(file, "rb") as content:
            adler32 = f"{zlib.adler32(content.read()):08x}"
        self.assertRegex(self.xrdfs(store.url, "ls", "-l", "/a").out, r" 300000 .* /a/b c")
        self.assertRegex(self.xrdfs(store.url, "stat", "/a/b c").out, r"Size: +300000")
        self.assertEqual(self.xrdfs(store.url, "query", "checksum", "/a/b c").out.split(), ["adler32", adler32])
        for folder in self.holders(store.dirs, "/a/b c"):
            attributes = {name: os.getxattr(folder + "/a/b c", f"user.U.xrdec.{name}").decode()
                          for name in ("filesize", "strpver", "adler32")}
            self.assertEqual(attributes["filesize"], "300000")
            self.assertEqual(attributes["adler32"], adler32)
            self.assertLessEqual(abs(int(attributes["strpver"]) - before), 60)
        self.xrdfs(store.url, "mkdir", "/dir")
        self.assertIn("IsDir", self.xrdfs(store.url, "stat", "/dir").out)
        self.xrdfs(store.url, "mv", "/a/b c", "/dir/d")
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/a/b c", code=54).err)
        self.assert_same(file, self.get(store.url, "/dir/d"))
        self.assertEqual(len(self.holders(store.dirs, "/dir/d")), 6)
        self.assertNotEqual(self.xrdfs(store.url, "rmdir", "/dir", code=None).code, 0)
        self.assertNotEqual(self.xrdfs(store.url, "mv", "/dir", "/other", code=None).code, 0)
        self.xrdfs(store.url, "xattr", "/dir/d", "set", "key=value")
        self.assertIn("value", self.xrdfs(store.url, "xattr", "/dir/d", "get", "key").out)
        self.check_archives(store.dirs, objects=1)
        self.xrdfs(store.url, "rm", "/dir/d")
        self.assertEqual(self.xrdfs(store.url, "ls", "/dir").out.split(), [])
        self.assertEqual(self.holders(store.dirs, "/dir/d"), [])
        self.xrdfs(store.url, "rmdir", "/dir")
        self.assertEqual(self.holders(store.dirs, "/dir"), [])

    def test_objects_are_written_once(self):
        store = self.gateway()
        old = self.put(store.url, "/a", 700_000)
        new = self.random_file("new", 500_000, 2)
        self.xrdcp(new, store.url + "//a", code=50)
        refused = self.xrdcp("-f", new, store.url + "//a", code=None)
        self.assertNotEqual(refused.code, 0)
        self.assertRegex(refused.err, r"(?i)exist")
        self.assertGreaterEqual(self.http_status("-T", new, store.http + "/a"), 400)
        self.assertNotEqual(store.xec("put", new, "/a", code=None).code, 0)
        self.assert_same(old, self.get(store.url, "/a"))
        self.xrdfs(store.url, "rm", "/a")
        self.xrdcp(new, store.url + "//a")
        self.assert_same(new, self.get(store.url, "/a"))
        self.check_archives(store.dirs, objects=1)

    def test_a_race_of_creations_has_one_winner(self):
        store = self.gateway()
        files = [self.random_file(f"f{i}", 400_000 + i, i) for i in range(6)]
        clients = [self.background(["xrdcp", "--nopbar", file, store.url + "//race"]) for file in files]
        winners = [file for file, client in zip(files, clients) if client.wait() == 0]
        self.assertEqual(len(winners), 1)
        self.assert_same(winners[0], self.get(store.url, "/race"))
        self.check_archives(store.dirs, objects=1)

    def test_the_program_xec(self):
        store = self.gateway()
        file = self.random_file("a", 3 * STRIPE + 7)
        store.xec("put", file, "/p/a")
        with open(file, "rb") as content:
            self.assertEqual(store.xec("cat", "/p/a", binary=True).out, content.read())
        self.assertIn("0 bad", store.xec("verify", "/p/a").out)
        chunks = json.loads(store.xec("locate", "--json", "/p/a").out)[0]["chunks"]
        self.assertEqual(len({chunk["server"] for chunk in chunks}), 6)
        any_four = self.holders(store.dirs, "/p/a")[1:5]
        self.run_program([self.program("xec"), "recover", *any_four, "--object", "/p/a", "-o", self.path("recovered")])
        self.assert_same(file, self.path("recovered"))
        store.xec("mv", "/p/a", "/p/b")
        store.xec("rm", "/p/b")
        self.assertEqual(store.xec("ls", "/p").out.strip(), "")


class Away(XrdecTest):
    def test_any_two_directories_away(self):
        store = self.gateway(dirs=6)
        files = {name: self.put(store.url, name, size) for name, size in (("/big", 3 * STRIPE + 7), ("/small", 1000))}
        for away in itertools.combinations(store.dirs, 2):
            for path in away:
                os.rename(path, path + ".away")
            for name, file in files.items():
                self.assert_same(file, self.get(store.url, name))
            for path in away:
                os.rename(path + ".away", path)

    def test_removed_stays_removed_and_is_cleaned(self):
        store = self.gateway(clean_interval="1s", tombstone_horizon="2s", operation_limit="1s")
        self.put(store.url, "/a", 100_000)
        away = self.holders(store.dirs, "/a")[:2]
        for path in away:
            os.rename(path, path + ".away")
        self.xrdfs(store.url, "rm", "/a")
        for path in away:
            os.rename(path + ".away", path)
        self.assertEqual(len(self.holders(store.dirs, "/a")), 2)
        self.eventually(lambda: self.holders(store.dirs, "/a") == [], 60, "the left-over archives are cleaned")
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/a", code=54).err)


class Interrupted(XrdecTest):
    SIZE = 12_000_000

    def half_upload(self, store, name, protocol):
        """Starts an upload that does not end by itself (root) or takes seconds (http); waits until part of it is
        on the servers."""
        if protocol == "root":
            read_end, write_end = os.pipe()
            self.addCleanup(os.close, write_end)
            feeder = subprocess.Popen(["head", "-c", str(self.SIZE), "/dev/zero"], stdout=write_end)
            client = subprocess.Popen(["xrdcp", "-f", "--nopbar", "-", f"{store.url}/{name}"], stdin=read_end,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.close(read_end)
            self.addCleanup(feeder.wait)
        else:
            client = subprocess.Popen(["curl", "-sSf", "--limit-rate", "1M", "-T", self.random_file("half", self.SIZE),
                                       store.http + name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.eventually(lambda: self.staged(store.dirs), 30, "an archive of the upload is being written")
        return client

    def assert_nothing_visible(self, store, name):
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", name, code=54).err)
        self.assertEqual(self.xrdfs(store.url, "ls", "/").out.split(), [])
        self.assertEqual(self.holders(store.dirs, name), [])

    def test_killed_client_leaves_nothing(self):
        store = self.gateway()
        for protocol in ("root", "http"):
            with self.subTest(protocol=protocol):
                client = self.half_upload(store, "/new", protocol)
                self.assert_nothing_visible(store, "/new")
                client.kill()
                self.eventually(lambda: not self.staged(store.dirs), 30, "its archives are removed")
                self.assert_nothing_visible(store, "/new")
        file = self.put(store.url, "/new", 1000)
        self.assert_same(file, self.get(store.url, "/new"))

    def test_killed_gateway_leaves_nothing_visible(self):
        store = self.gateway(clean_interval="1s", upload_grace="2s")
        client = self.half_upload(store, "/new", "http")
        store.kill()
        client.kill()
        store.start()
        self.assert_nothing_visible(store, "/new")
        file = self.put(store.url, "/new", 1000)
        self.assert_same(file, self.get(store.url, "/new"))
        self.eventually(lambda: not self.staged(store.dirs), 60, "what was left is cleaned")


class OfStockClients(XrdecTest):
    def adopt(self, geometry):
        """The fixtures as on the data servers of a cluster on which a stock client wrote them."""
        with open(os.path.join(FIXTURES, "manifest.json"), encoding="utf-8") as file:
            objects = [entry for entry in json.load(file)["objects"] if entry["path"].startswith(geometry + "/")]
        root = self.path("stock-" + geometry)
        for entry in objects:
            for server, attributes in entry["archives"].items():
                target = os.path.join(root, server, entry["path"])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(os.path.join(FIXTURES, server, entry["path"]), target)
                for name, value in attributes.items():
                    os.setxattr(target, name, value.encode())
        folders = [os.path.join(root, f"ds{i:02d}") for i in range(1, 13)]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
        owner = self.gateway_owner()
        if owner:
            subprocess.run(["chown", "-R", f"{owner[0]}:{owner[1]}", root], check=True)
            os.chmod(root, 0o755)
        return self.serve(dirs=folders, layout="xrdec", geometry=geometry, chunk_size="64KiB"), objects

    def gateway_owner(self):
        """Whose the data directories are when a gateway made them, as (uid, gid); None: ours."""
        if os.geteuid() != 0:
            return None
        store = self.gateway(dirs=6)
        owner = os.stat(store.dirs[0])
        store.stop()
        return owner.st_uid, owner.st_gid

    def test_fixtures_are_read_listed_and_removed(self):
        for geometry in ("4+2", "8+3"):
            store, objects = self.adopt(geometry)
            listed = self.xrdfs(store.url, "ls", f"/{geometry}").out.split()
            self.assertEqual(listed, sorted(f"/{entry['path']}" for entry in objects))
            parity = int(geometry[2:])
            for entry in objects:
                holders = self.holders(store.dirs, "/" + entry["path"])
                for away in (holders[:parity], holders[-parity:], []):
                    for path in away:
                        os.rename(path, path + ".away")
                    self.assertEqual(self.sha256(self.get(store.url, "/" + entry["path"])), entry["sha256"])
                    for path in away:
                        os.rename(path + ".away", path)
                size = re.search(r"Size: +([0-9]+)", self.xrdfs(store.url, "stat", "/" + entry["path"]).out)[1]
                self.assertEqual(int(size), entry["size"])
            first, last = objects[0]["path"], objects[-1]["path"]
            self.xrdfs(store.url, "mv", f"/{last}", "/moved")
            self.assertEqual(self.sha256(self.get(store.url, "/moved")), objects[-1]["sha256"])
            self.xrdfs(store.url, "rm", f"/{first}")
            self.assertEqual(self.holders(store.dirs, "/" + first), [])
            self.check_archives(store.dirs, geometry, len(objects) - 1)
            store.stop()


class OnVanillaServers(XrdecTest):
    def check(self, **options):
        cluster = self.cluster(servers=8, gateways=1, geometry="4+2", chunk_size="64KiB", layout="xrdec", **options)
        gateway = cluster.gateways[0]
        files = {}
        for size in (0, 1, 27_000, STRIPE + 1, 3 * STRIPE + 7):
            files[f"/d/{size}"] = self.put(gateway.url, f"/d/{size}", size)
        for name in ("/d/a blank", "/d/a#b&c%41"):
            files[name] = self.put(gateway.url, name, 50_000, 3)
        for name, file in files.items():
            self.assert_same(file, self.get(gateway.url, name))
        self.assertNotEqual(self.xrdcp("-f", self.random_file("new", 10), gateway.url + "//d/1", code=None).code, 0)
        folders = [server.data for server in cluster.servers]
        if not options.get("spaces"):
            self.check_archives(folders, objects=len(files))
        self.xrdfs(gateway.url, "mv", "/d/a blank", "/e/moved")
        files["/e/moved"] = files.pop("/d/a blank")
        large = f"/d/{3 * STRIPE + 7}"
        # What the redirector of the cluster shows to stock clients: an archive at the object's own name.
        self.assertIn(large, self.xrdfs(cluster.redirector.url, "ls", "-u", "/d", code=None).out)
        away = [server for server in cluster.servers if os.path.exists(server.data + large)][:2]
        for server in away:
            server.kill()
        for name, file in files.items():
            self.assert_same(file, self.get(gateway.url, name))
        self.xrdfs(gateway.url, "rm", large)
        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", large, code=54).err)
        for server in away:
            cluster.start(server)
        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", large, code=54).err)

    def test_plain_directories(self):
        self.check()

    def test_data_spaces(self):
        self.check(spaces=2)


class OnTwoGateways(XrdecTest):
    def test_both_see_the_same_names(self):
        cluster = self.cluster(servers=8, gateways=2, geometry="4+2", chunk_size="64KiB", layout="xrdec")
        first, second = cluster.gateways
        file = self.put(first.url, "/a", 300_000)
        self.assert_same(file, self.get(second.url, "/a"))
        self.xrdcp(self.random_file("b", 10), second.url + "//a", code=50)
        files = [self.random_file(f"f{i}", 400_000 + i, i) for i in range(4)]
        clients = [self.background(["xrdcp", "--nopbar", file, gateway.url + "//race"])
                   for file, gateway in zip(files, (first, second, first, second))]
        winners = [file for file, client in zip(files, clients) if client.wait() == 0]
        self.assertEqual(len(winners), 1)
        for gateway in (first, second):
            self.assert_same(winners[0], self.get(gateway.url, "/race"))
        self.xrdfs(first.url, "mv", "/race", "/won")
        self.xrdfs(second.url, "rm", "/a")
        self.assertEqual(self.xrdfs(first.url, "ls", "/").out.split(), ["/won"])
        self.assert_same(winners[0], self.get(second.url, "/won"))


if __name__ == "__main__":
    xectest.main()
