# SPDX-License-Identifier: LGPL-3.0-or-later
"""What stock xrootd does well stays so behind it: the same requests of the same clients go to a gateway and to a plain
server, and both say the same."""
import re
import textwrap

import everyday
import xectest

PYTHON = "/usr/bin/python3"  # the one for which Debian's python3-xrootd is
# What fsspec-xrootd does for rm(path, recursive=True): all names at once, deepest first, each by kXR_rm.
REMOVE_TREE = textwrap.dedent("""
    import sys
    from XRootD import client
    from XRootD.client.flags import DirListFlags
    server = client.FileSystem(sys.argv[1])
    def names(path):
        status, listed = server.dirlist(path, DirListFlags.STAT)
        if not status.ok:
            sys.exit(status.message)
        for entry in listed:
            child = path + "/" + entry.name
            if entry.statinfo.flags & 2:
                yield from names(child)
            else:
                yield child
        yield path
    for name in list(names(sys.argv[2])):
        status, _ = server.rm(name)
        if not status.ok:
            sys.exit(f"{name}: {status.message}")
""")


class AsStockTest(everyday.EverydayTest):
    def stock(self):
        """A plain server that speaks both protocols."""
        port = self.free_port()
        server = self.cluster(servers=1, redirector=False,
                              server_lines=[f"xrd.protocol http:{port} libXrdHttp.so", "ofs.persist auto hold 0"]).servers[0]
        server.http = f"http://{xectest.HOST}:{port}"
        return server

    def gateway(self, **options):
        return self.serve(**{"geometry": "4+2", "chunk_size": "64KiB", **options})

    def said(self, server, *words):
        """What a command of xrdfs says: "OK", or XRootD's number of the error and the words behind the name."""
        result = self.xrdfs(server.url, *words, code=None)
        if result.code == 0:
            return "OK"
        return re.search(r"\[\d+\]", result.err)[0] + result.err.strip("\0\n").rpartition(";")[2]

    def copied(self, *words):
        result = self.xrdcp(*words, code=None)
        return "OK" if result.code == 0 else re.search(r"\[\d+\]", result.err)[0]

    def tree(self, server):
        return sorted(self.xrdfs(server.url, "ls", "-R", "/").out.split())

    def check_alike(self, servers, requests):
        """`requests`: words of xrdfs, or of curl (the last one a path), and what both must say."""
        for words, expected in requests:
            for server in servers:
                with self.subTest(words, of=type(server).__name__):
                    if words[0].startswith("-"):
                        *options, path = words
                        self.assertEqual(self.http_status(*(word.replace("HTTP", server.http) for word in options),
                                                          server.http + path), expected)
                    else:
                        self.assertEqual(self.said(server, *words), expected)
        # Where stock refuses to rename to a name with a slash behind, it leaves a directory of that name.
        stock, store = (set(self.tree(server)) for server in servers)
        self.assertEqual(stock - {"d/g"}, store)

    def fill(self, server):
        self.xrdcp(self.random_file("f", 1000), f"{server.url}//d/f")
        self.xrdcp(self.random_file("x", 2000, 2), f"{server.url}//d/full/x")
        self.xrdfs(server.url, "mkdir", "/d/dir")


NOT_DIRECTORY, NOT_FOUND, IS_DIRECTORY = "[3005] not a directory", "[3011] no such file or directory", "[3016] is a directory"
FILLED = ["d", "d/dir", "d/f", "d/full", "d/full/x"]  # as fill leaves it
NOT_EMPTY, EXISTS = "[3005] directory not empty", "[3018] file exists"


class Slash(AsStockTest):
    """A slash at the end says "directory". It was dropped: `xrdcp -f * root://host//new/` kept one file of all, and
    `rm file/` removed the file."""

    REQUESTS = (
        *(((*words, "/d/f/"), NOT_DIRECTORY) for words in (("rm",), ("rmdir",), ("stat",), ("ls",), ("locate",))),
        (("truncate", "/d/f/", "1000"), NOT_DIRECTORY),
        (("chmod", "/d/f/", "rw-r--r--"), NOT_DIRECTORY),
        (("xattr", "/d/f/", "list"), NOT_DIRECTORY),
        (("mv", "/d/f/", "/d/g"), NOT_DIRECTORY),
        (("mv", "/d/f", "/d/g/"), NOT_DIRECTORY),
        (("mv", "/d/f", "/d/dir/"), NOT_DIRECTORY),
        (("mkdir", "/d/f/"), EXISTS),
        (("mkdir", "-p", "/d/f/"), EXISTS),
        (("stat", "/none/"), NOT_FOUND),
        (("rm", "/none/"), NOT_FOUND),
        # Directories go on working so.
        (("stat", "/d/dir/"), "OK"), (("ls", "/d/dir/"), "OK"),
        (("mkdir", "/d/new/"), "OK"), (("rmdir", "/d/new/"), "OK"),
        (("mv", "/d/dir/", "/d/moved/"), "OK"), (("mv", "/d/moved", "/d/dir"), "OK"),
        *((("-X", method, "/d/f/"), 500) for method in ("DELETE", "GET")),
        (("-I", "/d/f/"), 500),
        (("-X", "PROPFIND", "-H", "Depth: 0", "/d/f/"), 500), (("-X", "PROPFIND", "-H", "Depth: 1", "/d/f/"), 500),
        (("-X", "MOVE", "-H", "Destination: HTTP/d/g", "/d/f/"), 500),
        (("-X", "MOVE", "-H", "Destination: HTTP/d/g/", "/d/f"), 500),
        (("-X", "MKCOL", "/d/col/"), 201), (("-X", "DELETE", "/d/col/"), 200),
        (("-X", "PROPFIND", "-H", "Depth: 1", "/d/dir/"), 207),
    )

    def test_requests(self):
        servers = [self.stock(), self.gateway()]
        for server in servers:
            self.fill(server)
        self.check_alike(servers, self.REQUESTS)

    def test_layout_xrdec(self):
        stock, store = self.stock(), self.gateway(layout="xrdec", dirs=8)
        for server in (stock, store):
            self.fill(server)
        # It renames no directories, and removes no objects over again.
        self.check_alike([stock, store], [row for row in self.REQUESTS if row[0][0] != "mv" or row[1] != "OK"])
        self.check_uploads(store)
        self.check_alike([stock, store], (
            (("rm", "/d/full"), NOT_EMPTY), (("rm", "/d/dir"), "OK"), (("mkdir", "/d/new"), "OK"), (("mkdir", "-p", "/d/new"), "OK"),
            (("truncate", "/d/f", "1000"), "OK"), (("chmod", "/d/f", "rw-r-----"), "OK"), (("mkdir", "-p", "/d/f"), EXISTS)))
        for server in (stock, store):
            self.assertEqual(self.http_status("-T", self.path("first"), server.http + "/d/full"), 409)
            self.assertRegex(self.xrdfs(server.url, "stat", "/d/f").out, r"Mode: +0640")

    def check_uploads(self, server):
        first, second = self.random_file("first", 5000, 3), self.random_file("second", 6000, 4)
        for force in ((), ("-f",)):
            self.assertEqual(self.copied(*force, first, f"{server.url}//newdir/"), "[3016]")
        self.assertIn(self.copied("-f", second, f"{server.url}//d/f/"), ("[3016]", "[3005]"))
        for name in ("/newdir/", "/d/f/"):
            put = ("-X", "PUT", "--data-binary", f"@{first}", server.http + name)
            self.assertIn(self.http_status(*put), (409, 500))
            # The commands of gfal are for Debian's python.
            gfal = {"GFAL_PYTHONBIN": PYTHON}
            for url in (server.url + "/" + name, server.http + name):
                copy = self.run_program(["gfal-copy", "-f", f"file://{first}", url], code=None, env=gfal)
                self.assertNotEqual(copy.code, 0, copy)
            self.assertNotEqual(self.run_program(["davix-put", first, server.http + name], code=None).code, 0)
        self.assertEqual(self.tree(server), FILLED)
        self.check_reads(server, "/d/f", self.path("f"))

    def test_uploads(self):
        """No object comes to be at the name without the slash, and none is replaced."""
        store = self.gateway()
        self.fill(store)
        self.check_uploads(store)
        put = ("-X", "PUT", "--data-binary", "@" + self.path("first"))
        self.assertEqual(self.http_status(*put, store.http + "/newdir/"), 409)
        self.xrdcp("-f", store.url + "//d/f/", self.path("out"), code=54)
        # With the directory made, as users of stock servers do.
        self.xrdfs(store.url, "mkdir", "/newdir")
        for name in ("first", "second"):
            self.xrdcp("-f", self.path(name), store.url + "//newdir/")
            self.assert_same(self.path(name), self.got(store, "/newdir/" + name))

    def got(self, store, name):
        self.xrdcp("-f", f"{store.url}/{name}", self.path("got"))
        return self.path("got")

    def test_xec(self):
        store = self.gateway()
        self.fill(store)
        for words in (("rm", "/d/f/"), ("rm", "-r", "/d/f/"), ("stat", "/d/f/"), ("ls", "/d/f/"), ("cat", "/d/f/"),
                      ("get", "/d/f/", "-"), ("mv", "/d/f/", "/d/g"), ("mv", "/d/f", "/d/g/"), ("put", self.path("x"), "/d/f/"),
                      ("verify", "/d/f/"), ("locate", "/d/f/"), ("repair", "/d/f/")):
            with self.subTest(words):
                self.assertIn("not a directory", store.xec(*words, code=None).err)
        store.xec("mkdir", "/d/new/")
        store.xec("put", self.path("x"), "/d/new/")
        store.xec("mv", "/d/new/", "/d/other/")
        self.assertEqual(store.xec("ls", "/d/other/").out.split(), ["x"])
        store.xec("rm", "-r", "/d/other/")
        self.check_reads(store, "/d/f", self.path("f"))
        self.assertEqual(self.tree(store), FILLED)


class Everyday(AsStockTest):
    def test_requests(self):
        """rm of an empty directory, mkdir -p of one that exists, mv onto an empty one and truncate to the present size
        were refused."""
        servers = [self.stock(), self.gateway()]
        for server in servers:
            self.fill(server)
        self.check_alike(servers, (
            (("rm", "/d/full"), NOT_EMPTY), (("rm", "/d/full/"), NOT_EMPTY), (("rmdir", "/d/full"), NOT_EMPTY),
            (("rm", "/d/dir"), "OK"), (("rm", "/d/dir"), NOT_FOUND),
            (("mkdir", "/d/dir"), "OK"), (("mkdir", "-p", "/d/dir"), "OK"), (("mkdir", "-p", "/d/f"), EXISTS),
            (("mkdir", "-p", "/d/f/x"), NOT_DIRECTORY),
            (("-X", "MKCOL", "/d/full"), 405), (("-X", "MKCOL", "/d/f"), 405),
            (("rm", "/d/dir/"), "OK"), (("mkdir", "/d/dir"), "OK"),
            (("truncate", "/d/f", "1000"), "OK"), (("truncate", "/none", "0"), NOT_FOUND), (("truncate", "/d", "0"), IS_DIRECTORY),
            (("mkdir", "/e/deep"), NOT_FOUND), (("mkdir", "-p", "/e/deep"), "OK"),
            (("mv", "/e", "/d/full"), NOT_EMPTY), (("mv", "/d/full", "/d"), NOT_EMPTY), (("mv", "/d/dir", "/d/dir"), "OK"),
            (("mv", "/d/f", "/d/dir"), IS_DIRECTORY),
            (("mv", "/e", "/d/dir"), "OK"), (("stat", "/d/dir/deep"), "OK"),
            (("mv", "/d/full", "/d/dir/deep"), "OK"), (("stat", "/d/dir/deep/x"), "OK"), (("stat", "/d/full"), NOT_FOUND)))

    def test_a_mode_is_kept_and_shown(self):
        """chmod was answered OK and forgotten."""
        for server in (self.stock(), self.gateway()):
            self.fill(server)
            shown = lambda name: re.search(r"Mode: +(\d+)", self.xrdfs(server.url, "stat", name).out)[1]
            with self.subTest(of=type(server).__name__):
                for name in ("/d/f", "/d"):
                    self.xrdfs(server.url, "chmod", name, "rwxr-x---")
                    self.assertEqual(shown(name), "0750")
                self.xrdfs(server.url, "mv", "/d", "/e")
                self.assertEqual([shown("/e"), shown("/e/f")], ["0750", "0750"])
                self.assertEqual(self.said(server, "chmod", "/none", "rwxr-x---"), NOT_FOUND)
                self.assertEqual(self.http_status(server.http + "/e/f"), 200)

    def test_a_tree_is_removed_by_removals_alone(self):
        """fsspec's rm(recursive=True) removed the files and failed at the first directory."""
        if self.run_program([PYTHON, "-c", "import XRootD.client"], code=None).code != 0:
            self.skipTest("needs the package python3-xrootd")
        for server in (self.stock(), self.gateway()):
            self.fill(server)
            self.run_program([PYTHON, "-c", REMOVE_TREE, server.url, "/d"])
            self.assertEqual(self.tree(server), [])

    def test_an_upload_to_a_directory_is_refused_when_it_begins(self):
        """All bytes were taken, then the connection was closed without a word."""
        store = self.gateway()
        for server in (self.stock(), store):
            self.fill(server)
            with self.subTest(of=type(server).__name__):
                # curl waits for "100 continue" and never sends the body.
                answer = self.run_program(["curl", "--silent", "-o", "/dev/null", "--write-out", "%{http_code} %{size_upload}",
                                           "-T", self.random_file("large", 30_000_000), server.http + "/d/dir"])
                self.assertRegex(answer.out, "^409 ")
        script = ("import sys\nfrom XRootD import client\nfrom XRootD.client.flags import OpenFlags\n"
                  "file = client.File()\nstatus, _ = file.open(sys.argv[1], OpenFlags.DELETE | OpenFlags.MAKEPATH)\n"
                  "print(status.errno, status.message)")
        for server in (self.stock(), store):
            if server is not store:
                self.fill(server)
            opened = self.run_program([PYTHON, "-c", script, server.url + "//d/dir"])
            self.assertRegex(opened.out, "^3016 ")
        self.assertEqual(self.tree(store), FILLED)

    def test_only_what_is_exported(self):
        """An export of /store offered /storeX, as XRootD's own does."""
        store = self.gateway(options=("--export", "/store"))
        file = self.random_file("f", 1000)
        self.xrdcp(file, store.url + "//store/f")
        self.check_reads(store, "/store/f", file)
        self.xrdfs(store.url, "ls", "/store")
        self.xrdfs(store.url, "ls", "/store/")
        self.xrdfs(store.url, "query", "space", "/store")
        for server_name in ("/storeX/f", "/other/f", "/storeX"):
            with self.subTest(server_name):
                self.assertEqual(self.copied("-f", file, f"{store.url}/{server_name}"), "[3010]")
                self.assertEqual(self.http_status("-T", file, store.http + server_name), 403)
                for words in (("stat", server_name), ("ls", server_name), ("rm", server_name), ("mkdir", server_name),
                              ("mv", "/store/f", server_name), ("mv", "/store", server_name), ("mv", server_name, "/store/g"),
                              ("query", "checksum", server_name), ("xattr", server_name, "list")):
                    self.assertIn("[3010]", self.xrdfs(store.url, *words, code=54).err)
        self.assertEqual(store.xec("ls", "-R", "/").out.split(), ["/:", "store/", "/store:", "f"])


if __name__ == "__main__":
    xectest.main()
