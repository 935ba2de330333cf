# SPDX-License-Identifier: LGPL-3.0-or-later
"""The gateway: stock xrootd with our plug-in, driven by stock clients (xrdcp, xrdfs, curl)."""
# seconds: 1800
import itertools
import json
import os
import re
import subprocess
import urllib.parse
import zlib

import everyday
import xectest

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB
STRIPE = 4 * CHUNK


class GatewayTest(everyday.EverydayTest):
    def gateway(self, **options):
        return self.serve(**{"geometry": "4+2", "chunk_size": "64KiB", **options})

    def get(self, store, name):
        target = self.path("got")
        self.xrdcp("-f", f"{store.url}/{name}", target)
        return target

    def log(self, store):
        with open(os.path.join(store.state, "xrootd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def seals(self, store, name):
        """Archives of uploads of `name` that are not committed."""
        return [file for folder in store.dirs for file in self.files_below(folder)
                if file.startswith(f"{name.lstrip('/')}.~xo/") and re.match(r"[se]\.", os.path.basename(file))]


class TwelveDirectories(GatewayTest):
    """The store of ./dev run: 8+2 on twelve directories."""

    def check(self, size, chunk_size):
        store = self.serve(dirs=12, geometry="8+2", chunk_size=chunk_size)
        self.check_everyday_commands(store, size)
        sizes = (0, 27_000, size)
        files = {f"/kept/{size}": self.put(store, f"/kept/{size}", size) for size in sizes}
        for pair in itertools.combinations(range(12), 2) if size < 100 * MIB else [(2, 6)]:
            for number in pair:
                os.rename(store.dirs[number], store.dirs[number] + ".away")
            with self.subTest(away=pair):
                self.check_all_reads(store, files)
            for number in pair:
                os.rename(store.dirs[number] + ".away", store.dirs[number])
        self.flip_in_ten_stripes(store, store.xec, f"/kept/{size}", files[f"/kept/{size}"], lambda address: address)

    def test_any_two_away_and_ten_flipped_bytes(self):
        self.check(10 * 8 * CHUNK + 7, "64KiB")

    def test_one_gibibyte(self):
        if os.environ.get("XEC_TEST_LONG") != "1":
            self.skipTest("takes a minute and 5 GiB of disk; set XEC_TEST_LONG=1")
        self.check(1024 * MIB, "1MiB")


class RootProtocol(GatewayTest):
    def test_sizes_come_back_byte_for_byte_over_both_protocols(self):
        store = self.gateway()
        for size in (0, 1, 27_000, CHUNK - 1, CHUNK, CHUNK + 1, STRIPE - 1, STRIPE, STRIPE + 1, 3 * STRIPE + 7, 9_000_001):
            with self.subTest(size=size):
                file = self.put(store, f"/sizes/{size}", size)
                self.assert_same(file, self.get(store, f"/sizes/{size}"))
                self.curl("-T", file, f"{store.http}/http/{size}")
                self.curl("-o", self.path("http"), f"{store.http}/http/{size}")
                self.assert_same(file, self.path("http"))
                self.curl("-o", self.path("cross"), f"{store.http}/sizes/{size}")
                self.assert_same(file, self.path("cross"))

    def test_names_and_attributes(self):
        store = self.gateway()
        file = self.put(store, "/a/b/c", 300_000)
        self.assertRegex(self.xrdfs(store.url, "ls", "-l", "/a/b").out, r"-rw-r--r-- .* 300000 .* /a/b/c")
        stat = self.xrdfs(store.url, "stat", "/a/b/c").out
        self.assertRegex(stat, r"Size: +300000")
        self.assertIn("IsWritable", stat)
        self.assertIn("IsDir", self.xrdfs(store.url, "stat", "/a/b").out)
        self.xrdfs(store.url, "mkdir", "-p", "/x/y/z")
        self.assertIn("[3011]", self.xrdfs(store.url, "mkdir", "/no/parent", code=54).err)
        self.xrdfs(store.url, "mv", "/a/b/c", "/x/y/c")
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/a/b/c", code=54).err)
        self.assert_same(file, self.get(store, "/x/y/c"))
        self.assertIn("not empty", self.xrdfs(store.url, "rmdir", "/x/y", code=54).err)
        self.xrdfs(store.url, "xattr", "/x/y/c", "set", "colour=red")
        self.xrdfs(store.url, "xattr", "/x/y/c", "set", "shape=round")
        self.xrdfs(store.url, "xattr", "/x/y/c", "del", "shape")
        self.xrdfs(store.url, "mv", "/x/y/c", "/x/y/d")
        self.assertIn('colour="red"', self.xrdfs(store.url, "xattr", "/x/y/d", "get", "colour").out)
        self.assertNotIn("shape", self.xrdfs(store.url, "xattr", "/x/y/d", "list").out)
        self.xrdfs(store.url, "rm", "/x/y/d")
        self.xrdfs(store.url, "rmdir", "/x/y/z")
        self.xrdfs(store.url, "rmdir", "/x/y")
        self.assertEqual(self.xrdfs(store.url, "ls", "/x").out.strip(), "")

    def other_sums(self, file):
        """By programs of others; what XRootD calls crc32 is the sum of cksum."""
        word = lambda *argv: self.run_program([*argv, file]).out.split()[0]
        with open(file, "rb") as source:
            zcrc32 = zlib.crc32(source.read())
        return {"md5": word("md5sum"), "sha256": word("sha256sum"), "crc32c": word("xrdcrc32c"), "zcrc32": f"{zcrc32:08x}",
                "crc32": f"{int(word('cksum')):08x}"}

    def test_queries(self):
        store = self.gateway(options=("--checksums", "/sums md5,sha256,crc32,zcrc32"))
        file = self.put(store, "/sums/a", 500_000)
        with open(file, "rb") as source:
            adler = f"{zlib.adler32(source.read()):08x}"
        query = lambda name: self.xrdfs(store.url, "query", "checksum", name, code=None)
        self.assertEqual(query("/sums/a").out.split(), ["adler32", adler])
        for name, value in self.other_sums(file).items():
            self.assertEqual(query(f"/sums/a?cks.type={name}").out.split(), [name, value])
        self.put(store, "/a", 1000)
        # Not by a job of XRootD's, which does not always answer those whom it told to wait.
        computed = self.xrdfs(store.url, "query", "checksum", "/a?cks.type=md5", env={**os.environ, "XRD_LOGLEVEL": "Dump"})
        self.assertIn("md5 ", computed.out)
        self.assertNotIn("waitresp", computed.err)
        self.assertNotEqual(query("/missing").code, 0)
        self.xrdcp("-C", "adler32", f"{store.url}//sums/a", self.path("checked"))
        space = dict(pair.split("=") for pair in self.xrdfs(store.url, "query", "space", "/").out.strip().split("&"))
        self.assertAlmostEqual(int(space["oss.space"]), int(space["xec.raw"]) * 4 // 6, delta=10)
        self.assertGreater(int(space["oss.free"]), 0)
        self.assertRegex(self.xrdfs(store.url, "statvfs", "/").out, r"Nodes with RW space: +1\b")
        self.assertIn("oss.used=1000", self.xrdfs(store.url, "query", "xattr", "/a").out)

    def test_replacing_and_exclusive_creation(self):
        store = self.gateway()
        old = self.put(store, "/a", 700_000, seed=1)
        new = self.random_file("new", 500_000, 2)
        self.xrdcp(new, store.url + "//a", code=50)
        self.assert_same(old, self.get(store, "/a"))
        self.xrdcp("-f", new, store.url + "//a")
        self.assert_same(new, self.get(store, "/a"))
        self.curl("-T", old, store.http + "/a")
        self.assert_same(old, self.get(store, "/a"))
        self.xrdfs(store.url, "mkdir", "/dir")
        self.xrdcp("-f", new, store.url + "//dir/", code=0)
        self.assertNotEqual(self.curl("-T", new, store.http + "/dir", code=None).code, 0)

    def test_a_race_of_exclusive_creations_has_one_winner(self):
        store = self.gateway()
        files = [self.random_file(f"f{i}", 400_000 + i, i) for i in range(8)]
        clients = [self.background(["xrdcp", "--nopbar", file, store.url + "//race"]) for file in files]
        winners = [file for file, client in zip(files, clients) if client.wait() == 0]
        self.assertEqual(len(winners), 1)
        self.assert_same(winners[0], self.get(store, "/race"))


class Attributes(GatewayTest):
    def attributes(self, store, name):
        out = self.xrdfs(store.url, "xattr", name, "list").out
        return dict(line.split("=", 1) for line in out.splitlines()[1:])

    def test_set_get_list_and_remove(self):
        store = self.gateway()
        self.put(store, "/d/a", 300_000)
        set_to = lambda *pairs, name="/d/a", code=0: self.xrdfs(store.url, "xattr", name, "set", *pairs, code=code)
        set_to("k=first")
        set_to("k=second")
        set_to("empty=")
        set_to("words=a b  c")
        set_to("gr\u00fc\u00dfe=\u20ac")
        expected = {"k": '"second"', "empty": '""', "words": '"a b  c"', "gr\u00fc\u00dfe": '"\u20ac"'}
        self.assertEqual(self.attributes(store, "/d/a"), expected)
        self.assertIn('k="second"', self.xrdfs(store.url, "xattr", "/d/a", "get", "k").out)
        self.xrdfs(store.url, "xattr", "/d/a", "get", "none", code=54)
        self.xrdfs(store.url, "xattr", "/d/a", "del", "none", code=54)
        self.xrdfs(store.url, "xattr", "/none", "list", code=54)
        set_to("k=v", name="/none", code=54)
        set_to("big=" + "x" * 15_000)
        set_to("more=" + "x" * 15_000, code=54)
        self.assertRegex(self.log(store), r"set attribute of /d/a: .* 16384 is the limit")
        self.xrdfs(store.url, "xattr", "/d/a", "del", "big")
        self.assertEqual(self.attributes(store, "/d/a"), expected)
        # They stay with the object whatever happens to its name and its gateway, and with two directories away.
        self.xrdfs(store.url, "mv", "/d/a", "/d/b")
        self.xrdfs(store.url, "mv", "/d", "/e")
        store.kill()
        for path in store.dirs[:2]:
            os.rename(path, path + ".away")
        store.start()
        self.assertEqual(self.attributes(store, "/e/b"), expected)
        # A new content begins without (docs/limits.md).
        for path in store.dirs[:2]:
            os.rename(path + ".away", path)
        self.eventually(lambda: store.xec("verify", "/e/b", code=None).code == 0, 30, "the directories are back")
        self.xrdcp("-f", self.random_file("new", 1000), f"{store.url}//e/b")
        self.assertEqual(self.attributes(store, "/e/b"), {})


class Geometries(GatewayTest):
    def geometry(self, store, name):
        entry = json.loads(store.xec("stat", "--json", name).out)[0]
        return entry["geometry"], entry["chunk_size"]

    def test_two_rules_and_what_is_no_longer_configured(self):
        store = self.gateway(dirs=7, options=("--rule", "/two 2+1 64KiB", "--rule", "/three 5+2 256KiB"))
        sizes = (0, 27_000, 3_000_000)
        files = {f"{folder}/{size}": self.put(store, f"{folder}/{size}", size)
                 for folder in ("/two", "/three", "/three/deep", "/other") for size in sizes}
        expected = {"/two": ("2+1", 64 * KIB), "/three": ("5+2", 256 * KIB), "/three/deep": ("5+2", 256 * KIB),
                    "/other": ("4+2", 64 * KIB)}

        def check(skip=()):
            for name, file in files.items():
                if os.path.dirname(name) not in skip:
                    self.check_reads(store, name, file)
        for folder, geometry in expected.items():
            self.assertEqual(self.geometry(store, f"{folder}/{sizes[-1]}"), geometry)
        check()
        self.assertEqual(store.stop(), 0)
        # None of these geometries is configured any more.
        store = self.serve(dirs=store.dirs, geometry="3+1", chunk_size="128KiB",
                           options=("--rule", "/two 2+2 128KiB", "--rule", "/three 1+2 4KiB"))
        check()
        for folder, geometry in expected.items():
            self.assertEqual(self.geometry(store, f"{folder}/{sizes[-1]}"), geometry)
        self.xrdfs(store.url, "mv", "/three/3000000", "/two/moved")
        self.assertEqual(self.geometry(store, "/two/moved"), ("5+2", 256 * KIB))
        files["/two/moved"] = files.pop("/three/3000000")
        self.put(store, "/two/new", 3_000_000, seed=2)
        self.assertEqual(self.geometry(store, "/two/new"), ("2+2", 128 * KIB))
        for path in store.dirs[:2]:
            os.rename(path, path + ".away")
        files.pop("/two/3000000")  # It survives the loss of one server only.
        check()


class Names(GatewayTest):
    ODD = ("a b", "two  spaces ", " lead", "gr\u00fc\u00dfe \u20ac", "\u65e5\u672c\u8a9e", "100%", "%41", "%2F", "a#b", "a&b=c", "a+b", "a'b\"c",
           "a\\b", "[1,2]*", "~", "-f", ".xec", "e" * 254, "\u00e9" * 127 + "x")

    def test_names_over_both_protocols(self):
        store = self.gateway()
        file = self.random_file("source", 5000)
        for name in self.ODD:
            with self.subTest(name):
                quoted = urllib.parse.quote(name)
                self.xrdcp(file, f"{store.url}//root/{name}")
                self.curl("-T", file, f"{store.http}/http/{quoted}")
                for folder in ("root", "http"):
                    self.xrdcp("-f", f"{store.url}//{folder}/{name}", self.path("over-root"))
                    self.assert_same(file, self.path("over-root"))
                    self.curl("-o", self.path("over-http"), f"{store.http}/{folder}/{quoted}")
                    self.assert_same(file, self.path("over-http"))
                self.xrdfs(store.url, "mv", f"/root/{name}", f"/root/{name[:-1]}!")
                self.xrdfs(store.url, "mv", f"/root/{name[:-1]}!", f"/root/{name}")
        for folder in ("root", "http"):
            # 255 bytes are one more than XRootD's listings have room for; stock xrootd cuts them likewise.
            shown = {name.encode()[:254].decode(errors="replace") for name in self.ODD}
            listed = self.xrdfs(store.url, "ls", "/" + folder).out.splitlines()
            self.assertEqual({line.removeprefix(f"/{folder}/") for line in listed}, shown)
            self.assertEqual(set(store.xec("ls", "/" + folder).out.splitlines()), set(self.ODD))

    def test_deep_and_long_paths(self):
        store = self.gateway()
        file = self.random_file("source", 5000)
        deep = "/deep" + "/d" * 60 + "/object"
        long = "/" + "/".join("long" * 40 + str(number) for number in range(5)) + "/object"
        for name in (deep, long):
            self.xrdcp(file, f"{store.url}/{name}")
            self.check_reads(store, name, file)
            self.xrdfs(store.url, "mv", name, os.path.dirname(name) + "/other")
            self.assertIn("other", self.xrdfs(store.url, "ls", os.path.dirname(name)).out)
        self.xrdfs(store.url, "mv", "/deep/d/d", "/up")
        self.check_reads(store, "/up" + "/d" * 58 + "/other", file)

    def test_names_that_are_refused(self):
        store = self.gateway()
        file = self.random_file("source", 5000)
        for name in ("a.~xo", "a.~xl", "a.~xd", "new\nline", "x" * 256, ".xec/store", ".xec"):
            with self.subTest(name):
                path = "/" + name if name.startswith(".xec") else "/d/" + name
                self.assertRegex(self.xrdcp("-f", file, f"{store.url}/{path}", code=54).err, r"\[30\d\d\]")
                self.assertGreaterEqual(self.http_status("-T", file, store.http + urllib.parse.quote(path)), 400)
                self.assertNotEqual(self.xrdfs(store.url, "rm", path, code=None).code, 0)
                self.assertNotEqual(self.xrdfs(store.url, "mkdir", path, code=None).code, 0)
        self.assertEqual(self.xrdfs(store.url, "ls", "/").out, "")
        self.xrdcp(file, f"{store.url}//still/works")


class HttpProtocol(GatewayTest):
    def test_methods(self):
        store = self.gateway()
        file = self.random_file("a", 600_000)
        url = store.http + "/h/a"
        self.assertEqual(self.http_status("-T", file, url), 200)
        head = self.curl("-I", "-H", "Want-Digest: adler32", url).out
        self.assertRegex(head, r"Content-Length: 600000\b")
        self.assertRegex(head, r"Digest: adler32=[0-9a-f]{8}\b")
        self.curl("-r", "1000-299999", "-o", self.path("range"), url)
        with open(file, "rb") as whole, open(self.path("range"), "rb") as part:
            self.assertEqual(whole.read()[1000:300000], part.read())
        ranges = self.curl("-r", "0-9,100000-100009", url, binary=True).out
        with open(file, "rb") as whole:
            content = whole.read()
        self.assertIn(content[:10], ranges)
        self.assertIn(content[100000:100010], ranges)
        listing = self.curl("-X", "PROPFIND", "-H", "Depth: 1", store.http + "/h").out
        self.assertIn("/h/a", listing)
        self.assertIn("600000", listing)
        self.assertEqual(self.http_status("-X", "MKCOL", store.http + "/col"), 201)
        self.assertEqual(self.http_status("-X", "MOVE", "-H", f"Destination: {store.http}/col/b", url), 201)
        self.assertEqual(self.http_status(url), 404)
        self.curl("-o", self.path("moved"), store.http + "/col/b")
        self.assert_same(file, self.path("moved"))
        self.assertEqual(self.http_status("-X", "DELETE", store.http + "/col/b"), 200)
        self.assertEqual(self.http_status("-I", store.http + "/col/b"), 404)
        self.assertEqual(self.http_status("-X", "DELETE", store.http + "/col"), 200)

    def test_chunked_upload(self):
        store = self.gateway()
        small = self.random_file("small", 10_000)
        with open(small, "rb") as source:
            self.curl("-T", "-", store.http + "/small", stdin=source.read())
        self.assert_same(small, self.get(store, "/small"))
        # XRootD 5.5.3 refuses a body when the head of a chunk arrives in two parts (XrdHttpReq::ProcessHTTPReq).
        large = self.random_file("large", 2_500_000)
        with open(large, "rb") as source:
            status = self.http_status("-T", "-", store.http + "/large", stdin=source.read())
        self.assertIn(status, (200, 400))
        if status == 200:
            self.assert_same(large, self.get(store, "/large"))
        else:
            self.assertEqual(self.http_status(store.http + "/large"), 404)


class Interrupted(GatewayTest):
    """A client or the gateway dies in the middle of an upload. The gateway clears up after its clients; what is left
    of a gateway keeps others from exclusive creation of the name until the cleaner has been there."""

    def create_exclusively(self, store, name, size, seed=1):
        file = self.random_file(f"exclusive-{seed}", size, seed)
        self.eventually(lambda: self.xrdcp(file, f"{store.url}/{name}", code=None).code == 0, 60, f"{name} can be created")
        self.assert_same(file, self.get(store, name))

    SIZE = 12_000_000

    def half_upload(self, store, name, protocol, options=("-f",)):
        """Starts an upload that takes a few seconds (http) or for ever (root), and waits until part of it is on the
        data servers."""
        if protocol == "root":
            # The input ends only when the test does.
            read_end, write_end = os.pipe()
            self.addCleanup(os.close, write_end)
            feeder = subprocess.Popen(["head", "-c", str(self.SIZE), "/dev/zero"], stdout=write_end)
            client = subprocess.Popen(["xrdcp", *options, "--nopbar", "-", f"{store.url}/{name}"], stdin=read_end,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.close(read_end)
            self.addCleanup(feeder.wait)
        else:
            file = self.random_file("half", self.SIZE)
            client = subprocess.Popen(["curl", "-sf", "--limit-rate", "3M", "-T", file, store.http + name],
                                      stdout=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.eventually(lambda: self.seals(store, name), 30, "an archive of the upload is being written")
        return client

    def test_killed_client_leaves_nothing(self):
        # Without a cleaner: the gateway itself removes what its client left.
        store = self.gateway(clean_interval="1h")
        for protocol, options in (("root", ()), ("root", ("-f",)), ("root", ("--posc",)), ("http", ())):
            name = f"/new-{protocol}{''.join(options)}"
            with self.subTest(name):
                client = self.half_upload(store, name, protocol, options)
                client.kill()
                self.eventually(lambda: f"upload of {name} by" in self.log(store), 30, "the gateway noticed")
                self.assertIn("[3011]", self.xrdfs(store.url, "stat", name, code=54).err)
                self.eventually(lambda: not self.seals(store, name), 30, "its archives are removed")
                self.xrdcp(self.random_file("next", 1000), f"{store.url}/{name}")
                self.assert_same(self.path("next"), self.get(store, name))

    def test_killed_client_does_not_harm_the_previous_object(self):
        store = self.gateway()
        for protocol, options in (("root", ("-f",)), ("root", ("-f", "--posc")), ("http", ())):
            name = f"/old-{protocol}{''.join(options)}"
            with self.subTest(name):
                file = self.put(store, name, 400_000)
                client = self.half_upload(store, name, protocol, options)
                client.kill()
                self.eventually(lambda: f"upload of {name} by" in self.log(store), 30, "the gateway noticed")
                self.assert_same(file, self.get(store, name))
                self.eventually(lambda: not self.seals(store, name), 30, "its archives are removed")
                self.assert_same(file, self.get(store, name))
                self.curl("-T", self.random_file("next", 2000), store.http + name)
                self.assert_same(self.path("next"), self.get(store, name))

    def test_killed_gateway(self):
        store = self.gateway(clean_interval="1s", upload_grace="2s")
        file = self.put(store, "/old", 400_000)
        clients = [self.half_upload(store, "/old", "http"), self.half_upload(store, "/new", "http")]
        store.kill()
        for client in clients:
            client.kill()
        store.start()
        self.assert_same(file, self.get(store, "/old"))
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/new", code=54).err)
        self.create_exclusively(store, "/new", 100_000)
        self.assertEqual(self.xrdfs(store.url, "ls", "/").out.split(), ["/new", "/old"])

    def test_gateway_stopped_in_mid_upload(self):
        store = self.gateway()
        file = self.put(store, "/old", 400_000)
        self.half_upload(store, "/old", "http")
        self.half_upload(store, "/new", "root", ("--posc",))
        self.assertEqual(store.stop(), 0)
        store.start()
        self.assert_same(file, self.get(store, "/old"))
        self.assertEqual(self.xrdfs(store.url, "ls", "/").out.split(), ["/old"])
        for name in ("/old", "/new"):
            self.curl("-T", file, store.http + name)
            self.assert_same(file, self.get(store, name))

    def test_a_second_writer_and_a_reader_meanwhile(self):
        store = self.gateway()
        first = self.put(store, "/a", 1000)
        client = self.half_upload(store, "/a", "http")
        self.check_reads(store, "/a", first)
        second = self.random_file("b", 300_000, 2)
        self.xrdcp("-f", second, store.url + "//a")
        self.check_reads(store, "/a", second)
        self.assertEqual(client.wait(60), 0)
        self.check_reads(store, "/a", self.path("half"))


class MissingServers(GatewayTest):
    def test_two_of_six_away(self):
        store = self.gateway()
        file = self.put(store, "/a", 3 * STRIPE + 7)
        for path in store.dirs[1:3]:
            everyday.lose(path)
        self.assert_same(file, self.get(store, "/a"))
        self.curl("-o", self.path("http"), store.http + "/a")
        self.assert_same(file, self.path("http"))

    def test_cannot_tell_is_neither_found_nor_not_found(self):
        store = self.gateway()
        file = self.put(store, "/a", 100_000)
        other = self.random_file("other", 1000, 9)
        for path in store.dirs[:5]:
            os.rename(path, path + ".away")
        for name in ("/a", "/never"):
            stat = self.xrdfs(store.url, "stat", name, code=54).err
            self.assertNotIn("[3011]", stat)
            self.assertRegex(stat, r"\[3005\].*temporarily unavailable")
            self.assertGreaterEqual(self.http_status(store.http + name), 500)
            self.assertNotEqual(self.xrdcp(other, store.url + "/" + name, code=None).code, 0)
            self.assertNotEqual(self.curl("-T", other, store.http + name, code=None).code, 0)
        for path in store.dirs[:5]:
            os.rename(path + ".away", path)
        self.eventually(lambda: self.xrdfs(store.url, "stat", "/a", code=None).code == 0, 30, "the store is back")
        self.assert_same(file, self.get(store, "/a"))
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/never", code=54).err)


if __name__ == "__main__":
    xectest.main()
