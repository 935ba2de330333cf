# SPDX-License-Identifier: LGPL-3.0-or-later
"""What clients ask for beside the bytes: attributes that come along with an upload, checksums, and requests in HTTP
that XRootD itself understands in part. A stock xrootd stands beside where it is right."""
# seconds: 900
import base64
import hashlib
import os
import re
import socket
import zlib

import everyday
import xectest

MIB = 1024 * 1024
# What is asked of XRootD 5 is more than it can on its own; later ones mend some of it.
XROOTD_5 = os.environ.get("XEC_XROOTD", "/usr") == "/usr"


class Stock:
    """One stock xrootd on a directory."""

    def __init__(self, test):
        base = test.path("stock")
        self.port = test.free_port()
        for name in ("data", "admin"):
            os.makedirs(os.path.join(base, name))
        user = xectest.xrootd_cluster.User().entry
        become = []
        if user is not None:
            become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            for folder, _, _ in os.walk(base):
                os.chown(folder, user.pw_uid, user.pw_gid)
        configuration = os.path.join(base, "xrootd.cfg")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(f"all.export /\noss.localroot {base}/data\nall.adminpath {base}/admin\nall.pidpath {base}/admin\n"
                       f"xrd.port {self.port}\nxrd.protocol http:{self.port} libXrdHttp.so\nofs.persist auto hold 0\n"
                       "xrootd.chksum adler32 crc32c md5\n")
        self.process = test.background([*become, "xrootd", "-c", configuration, "-n", "stock", "-w", base + "/admin"])
        test.eventually(self.answers, 30, "the stock server is there")

    @property
    def url(self):
        return f"root://{xectest.HOST}:{self.port}"

    @property
    def http(self):
        return f"http://{xectest.HOST}:{self.port}"

    def answers(self):
        with socket.socket() as connection:
            return connection.connect_ex((xectest.HOST, self.port)) == 0


class BesideBytes(everyday.EverydayTest):
    def gateway(self, **options):
        return self.serve(**{"geometry": "4+2", "chunk_size": "64KiB", **options})

    def attributes(self, server, name):
        out = self.xrdfs(server.url, "xattr", name, "list").out
        return dict(line.split("=", 1) for line in out.splitlines()[1:])

    def set_attributes(self, server, name, **attributes):
        for key, value in attributes.items():
            self.xrdfs(server.url, "xattr", name, "set", f"{key}={value}")


class AttributesOfUploads(BesideBytes):
    """xrdcp --xattr of a new name ended with exit code 54, and yet the object was there; with -f its attributes were lost,
    since they were set on the version that was about to be replaced."""

    def check(self, store, exists):
        """`exists`: names may be replaced."""
        stock = Stock(self)
        for size in (0, 300_000):
            file = self.random_file(f"f{size}", size)
            self.xrdcp(file, f"{stock.url}//source{size}")
            self.set_attributes(stock, f"/source{size}", colour="red", words="a b")
            expected = {"colour": '"red"', "words": '"a b"'}
            for target in (stock, store):
                self.xrdcp("--xattr", f"{stock.url}//source{size}", f"{target.url}//new{size}")
                self.assertEqual(self.attributes(target, f"/new{size}"), expected)
                self.xrdcp("--xattr", "-P", f"{stock.url}//source{size}", f"{target.url}//posc{size}")
                self.assertEqual(self.attributes(target, f"/posc{size}"), expected)
            # And out of the store again.
            self.xrdcp("--xattr", f"{store.url}//new{size}", f"{stock.url}//back{size}")
            self.assertEqual(self.attributes(stock, f"/back{size}"), expected)
            self.xrdcp("--xattr", f"{store.url}//new{size}", f"{store.url}//again{size}")
            self.assertEqual(self.attributes(store, f"/again{size}"), expected)
            self.xrdfs(store.url, "mv", f"/again{size}", f"/moved{size}")
            self.assertEqual(self.attributes(store, f"/moved{size}"), expected)
            if not exists:
                continue
            self.put(store, f"/old{size}", 1000)
            self.set_attributes(store, f"/old{size}", shape="round")
            self.xrdcp("--xattr", "-f", f"{stock.url}//source{size}", f"{store.url}//old{size}")
            self.assertEqual(self.attributes(store, f"/old{size}"), expected)
            self.xrdcp("-f", f"{store.url}//old{size}", self.path("got"))
            self.assert_same(file, self.path("got"))
        # Afterwards they are the object's.
        self.set_attributes(store, "/new0", shape="square")
        self.assertEqual(self.attributes(store, "/new0"), {**expected, "shape": '"square"'})
        return stock

    def test_copies_bring_their_attributes(self):
        self.check(self.gateway(), exists=True)

    def test_layout_xrdec(self):
        self.check(self.gateway(layout="xrdec"), exists=False)

    def upload(self, store, name, *attributes):
        """Uploads with Python's client, sets the attributes before it closes, and stops there for "stop"."""
        script = self.path("upload.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(UPLOAD)
        upload = self.background(["/usr/bin/python3", script, f"{store.url}/{name}", *attributes])
        if upload.wait_line("", 30).startswith("No module"):
            self.skipTest("needs python3-xrootd")
        return upload

    def test_what_others_see_until_the_end_is_the_old(self):
        """Attributes of an upload that is given up never were; those of others are set on what is there."""
        store = self.gateway()
        self.put(store, "/a", 1000)
        self.set_attributes(store, "/a", colour="old")
        upload = self.upload(store, "/a", "colour=new", "stop")
        upload.wait_line("has colour=new", 30)
        self.assertEqual(self.attributes(store, "/a"), {"colour": '"old"'})
        self.set_attributes(store, "/a", shape="round")
        upload.kill()
        self.assertEqual(self.attributes(store, "/a"), {"colour": '"old"', "shape": '"round"'})

    def test_uploads_of_one_name_at_once_have_their_own(self):
        store = self.gateway()
        stopped = self.upload(store, "/a", "colour=red", "stop")
        stopped.wait_line("has", 30)
        other = self.upload(store, "/a", "shape=round")
        self.assertEqual(other.wait(), 0)
        self.assertEqual(self.attributes(store, "/a"), {"shape": '"round"'})

    def test_without_one_that_is_refused_nothing_is_stored(self):
        store = self.gateway()
        upload = self.upload(store, "/a", "shape=round", "big=" + "x" * 20_000)
        self.assertNotEqual(upload.wait(), 0)
        self.assertIn("closed False", upload.output())
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/a", code=54).err)


UPLOAD = """
import signal
import sys
try:
    from XRootD import client
    from XRootD.client.flags import OpenFlags
except ImportError as error:
    print("No module:", error, flush=True)
    sys.exit()
file = client.File()
print("open", file.open(sys.argv[1], OpenFlags.DELETE | OpenFlags.WRITE)[0].ok, flush=True)
file.write(b"x" * 1000)
for word in sys.argv[2:]:
    if word == "stop":
        signal.pause()
    file.set_xattr([tuple(word.encode().split(b"="))])
    print("has", *(f"{one[0]}={one[1]}" for one in file.list_xattr()[1]), flush=True)
closed = file.close()[0].ok
print("closed", closed, flush=True)
sys.exit(0 if closed else 1)
"""


class Checksums(BesideBytes):
    def setUp(self):
        super().setUp()
        self.size = 1_000_000
        self.file = self.random_file("f", self.size)
        content = self.content(self.file)
        self.sums = {name: getattr(hashlib, name)(content).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")}
        self.sums |= {"adler32": f"{zlib.adler32(content):08x}", "zcrc32": f"{zlib.crc32(content):08x}",
                      "crc32": f"{int(self.run_program(['cksum', self.file]).out.split()[0]):08x}",
                      "crc32c": self.run_program(["xrdcrc32c", self.file]).out.split()[0]}

    def query(self, server, name, kind=None, **options):
        return self.xrdfs(server.url, "query", "checksum", name + (f"?cks.type={kind}" if kind else ""), **options)

    def digest(self, url, wanted, head):
        """(status, algorithm, value in hex) of the answer to a request with Want-Digest."""
        words = ["curl", "-s", "-D", self.path("head"), "-o", self.path("body"), "-H", f"Want-Digest: {wanted}", url]
        self.run_program([*words, "-I"] if head else words)
        text = self.content(self.path("head")).decode()
        digest = re.search(r"(?mi)^digest: ([\w-]+)=(\S+)", text)
        if not digest:
            return int(text.split()[1]), None, None
        name, value = digest[1].lower(), digest[2]
        if name not in ("adler32", "crc32"):
            value = base64.b64decode(value).hex()
        return int(text.split()[1]), name, value

    def archives(self, store):
        return [os.path.join(folder, name) for folder in store.dirs for name in self.files_below(folder)
                if re.search(r"\.~xo/p\.", name)]

    def test_each_is_computed_once_and_kept(self):
        """All of them were announced, and only two were there."""
        store, stock = self.gateway(), Stock(self)
        for server in (store, stock):
            self.xrdcp(self.file, server.url + "//a")
            self.assertEqual(self.query(server, "/a").out.split(), ["adler32", self.sums["adler32"]])
            self.xrdcp("-f", "--cksum", "md5", self.file, server.url + "//copied")
            self.xrdcp("-f", "--cksum", "md5:source", server.url + "//a", self.path("back"))
            self.assertEqual(self.query(server, "/a", "md5").out.split(), ["md5", self.sums["md5"]])
        for name, value in self.sums.items():
            self.assertEqual(self.query(store, "/a", name).out.split(), [name, value])
        # Users do not see where they are kept, nor can they say what they are.
        self.assertEqual(self.attributes(store, "/a"), {})
        self.xrdfs(store.url, "xattr", "/a", "set", "xec.checksum.md5=00", code=54)
        self.xrdfs(store.url, "xattr", "/a", "get", "xec.checksum.md5", code=54)
        self.set_attributes(store, "/a", colour="red")
        # They go along with the object, and nothing is read for them: no data is there any more.
        self.xrdfs(store.url, "mv", "/a", "/b")
        store.stop()
        store.start()
        self.assertIn(self.sums["sha256"], store.xec("stat", "/b").out)
        for archive in self.archives(store):
            with open(archive, "r+b") as damaged:
                damaged.seek(4096)
                damaged.write(b"damage" * 1000)
        for name, value in self.sums.items():
            self.assertEqual(self.query(store, "/b", name).out.split(), [name, value])
        self.assertEqual(self.attributes(store, "/b"), {"colour": '"red"'})
        # A new content has its own.
        self.put(store, "/c", 1000)
        self.xrdcp("-f", f"{store.url}//c", self.path("c"))
        self.xrdcp("-f", self.path("c"), store.url + "//b")
        self.assertEqual(self.query(store, "/b", "md5").out.split()[1], hashlib.md5(self.content(self.path("c"))).hexdigest())

    def test_of_damaged_data_there_is_none(self):
        store = self.gateway()
        self.xrdcp(self.file, store.url + "//a")
        for archive in self.archives(store):
            with open(archive, "r+b") as damaged:
                damaged.seek(4096)
                damaged.write(b"damage" * 1000)
        self.assertIn("[3007]", self.query(store, "/a", "md5", code=54).err)
        self.assertEqual(self.query(store, "/a").out.split(), ["adler32", self.sums["adler32"]])

    def test_want_digest(self):
        """`MD5, ADLER32` was refused with 405, `sha,adler32` with 500."""
        store, stock = self.gateway(), Stock(self)
        for server in (store, stock):
            self.xrdcp(self.file, server.url + "//a")
            for head in (True, False):
                self.assertEqual(self.digest(server.http + "/a", "adler32", head), (200, "adler32", self.sums["adler32"]))
                self.assertEqual(self.digest(server.http + "/a", "MD5, ADLER32", head), (200, "md5", self.sums["md5"]))
        for wanted in ("sha,adler32", "sha-256,adler32", "SHA-512, ADLER32", "unknown,adler32", "md5;q=0.3,adler32;q=1"):
            for head in (True, False):
                status, name, value = self.digest(store.http + "/a", wanted, head)
                of_xrootd = {"sha": "sha1", "sha-256": "sha256", "sha-512": "sha512"}.get(name, name)
                self.assertEqual((wanted, status, value), (wanted, 200, self.sums[of_xrootd]))
                # XRootD 5 passes over in a HEAD what it takes in a GET.
                self.assertIn(name, ("adler32",) if head and XROOTD_5 else wanted.lower().replace(";", ",").split(","))
            self.assert_same(self.file, self.path("body"))

    def test_many_who_ask_at_once(self):
        store = self.gateway()
        self.xrdcp(self.random_file("large", 100 * MIB), store.url + "//large")
        clients = [self.background(["xrdfs", store.url, "query", "checksum", "/large?cks.type=sha256"]) for _ in range(20)]
        answers = {(client.wait(), client.output()) for client in clients}
        self.assertEqual(answers, {(0, "sha256 " + self.sha256(self.path("large")))})

    def test_who_asks_for_long_is_told_to_ask_again(self):
        """The data servers stand still until the client has been told so."""
        cluster = self.cluster(servers=6, gateways=1, geometry="4+2", chunk_size="64KiB")
        store = cluster.gateways[0]
        self.xrdcp(self.file, store.url + "//a")
        for server in cluster.servers[:3]:
            server.freeze()
        over_http = self.background(["curl", "-sI", "-H", "Want-Digest: md5", f"http://{xectest.HOST}:{store.http_port}/a"])
        client = self.background(["xrdfs", store.url, "query", "checksum", "/a?cks.type=md5"], env={"XRD_LOGLEVEL": "Dump"})
        self.eventually(lambda: "kXR_wait" in client.output(), 30, "the client is told to wait")
        for server in cluster.servers[:3]:
            server.thaw()
        self.assertEqual(client.wait(), 0)
        self.assertIn("md5 " + self.sums["md5"], client.output())
        self.assertEqual(over_http.wait(), 0)
        self.assertIn("Digest: md5=" + base64.b64encode(bytes.fromhex(self.sums["md5"])).decode(), over_http.output())


class HttpOfXrootd(BesideBytes):
    """Traps of XRootD 5.5.3's HTTP that a plug-in or a line of configuration mends."""

    def request(self, store, head, body=b""):
        with socket.create_connection((xectest.HOST, store.port), 30) as connection:
            connection.sendall(head.encode() + b"\r\n" + body)
            return connection.recv(4096).decode(errors="replace")

    def test_a_length_in_lower_case_stores_no_empty_object(self):
        """It was stored empty, and answered 200."""
        store = self.gateway()
        old = self.put(store, "/old", 1000)
        for name in ("/new", "/old"):
            for spelling in ("content-length", "CONTENT-LENGTH", "Content-length"):
                answer = self.request(store, f"PUT {name} HTTP/1.1\r\nHost: x\r\n{spelling}: 5\r\n", b"hello")
                if not XROOTD_5:
                    self.assertIn(" 201 ", answer)
                    self.assertRegex(self.xrdfs(store.url, "stat", name).out, r"Size: +5\n")
                    continue
                self.assertNotIn(" 200 ", answer)
        if not XROOTD_5:
            return
        self.assertIn("[3011]", self.xrdfs(store.url, "stat", "/new", code=54).err)
        self.xrdcp("-f", store.url + "//old", self.path("got"))
        self.assert_same(old, self.path("got"))
        # What is meant to be empty, or told in the usual way, is stored.
        self.assertIn(" 200 ", self.request(store, "PUT /empty HTTP/1.1\r\nHost: x\r\ncontent-length: 0\r\n"))
        self.assertIn(" 200 ", self.request(store, "PUT /usual HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n", b"hello"))
        self.assertIn(" 200 ", self.request(store, "GET /usual HTTP/1.1\r\nHost: x\r\ncontent-length: 0\r\n"))
        for name, size in (("/empty", 0), ("/usual", 5)):
            self.assertRegex(self.xrdfs(store.url, "stat", name).out, rf"Size: +{size}\n")

    def test_move_decodes_its_target(self):
        """/a%20b became the name of the object."""
        store = self.gateway()
        file = self.put(store, "/a", 1000)
        for source, target, name in (("/a", "/a%20b", "/a b"), ("/a%20b", "/100%25", "/100%"), ("/100%25", "/d/%C3%BC", "/d/ü")):
            self.curl("-X", "MOVE", "-H", f"Destination: {store.http}{target}", store.http + source)
            self.xrdcp("-f", f"{store.url}/{name}", self.path("got"))
            self.assert_same(file, self.path("got"))
        for target in ("/e%2Ff", "/e%3Ff", "/e%"):
            self.curl("-X", "MOVE", "-H", f"Destination: {store.http}{target}", store.http + "/d/%C3%BC", code=22)
        self.assertEqual(self.xrdfs(store.url, "ls", "/").out.split(), ["/d"])
        # Of the root protocol a name is taken as it is.
        self.xrdfs(store.url, "mv", "/d/ü", "/a%20b")
        self.assertEqual(self.xrdfs(store.url, "ls", "/").out.split(), ["/a%20b", "/d"])


if __name__ == "__main__":
    xectest.main()
