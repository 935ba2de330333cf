# SPDX-License-Identifier: LGPL-3.0-or-later
"""Entity tags and the conditions of HTTP that go by them, with two gateways of one store (docs/http.md)."""
import re
import socket

import everyday
import xectest

SIZE = 300_000


class Conditions(everyday.EverydayTest):
    def setUp(self):
        super().setUp()
        self.one = self.serve(geometry="4+2", chunk_size="64KiB")
        self.two = self.serve(geometry="4+2", chunk_size="64KiB", dirs=self.one.dirs)
        self.files = [self.random_file(f"f{number}", SIZE, number) for number in range(3)]

    def tag(self, gateway, name):
        """As `xrdfs stat` tells it; XrdHttp 6 tells the same to a HEAD, XrdHttp 5 tells no ETag."""
        tag = re.search(r"Id: +(\S+)", self.xrdfs(gateway.url, "stat", name).out)[1]
        told = re.search(r"(?im)^etag: *(\S+)", self.curl("-I", gateway.http + name).out)
        if told:
            self.assertEqual(told[1], f'"{tag}"')
        return tag

    def put_if(self, gateway, name, file, header):
        """The HTTP status."""
        return self.http_status("-T", file, "-H", header, gateway.http + name)

    def upload_under_way(self, gateway, name, header, file):
        """Returns a function that ends it, and answers whether it was accepted."""
        client = socket.create_connection((xectest.HOST, gateway.port), timeout=60)
        self.addCleanup(client.close)
        client.sendall(f"PUT {name} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {SIZE}\r\n{header}\r\n"
                       "Expect: 100-continue\r\n\r\n".encode())
        self.assertIn(b" 100 ", client.recv(4096))

        def end():
            client.sendall(self.content(file))
            # XRootD 5 ends an upload whose close fails without a word.
            return re.match(rb"HTTP/1.1 20[01] ", client.recv(4096)) is not None
        return end

    def test_each_version_has_a_tag_which_all_gateways_tell(self):
        tags = []
        for number in range(20):
            self.curl("-T", self.files[number % 3], self.one.http + "/a")
            tags.append(self.tag(self.one, "/a"))
            self.assertEqual(self.tag(self.two, "/a"), tags[-1])
            self.assertEqual(self.tag(self.one, "/a"), tags[-1])
        self.assertEqual(len(set(tags)), 20)
        self.one.kill()
        self.one.start()
        self.assertEqual(self.tag(self.one, "/a"), tags[-1])

    def test_creation_where_nothing_is(self):
        header = "If-None-Match: *"
        self.assertIn(self.put_if(self.one, "/new", self.files[0], header), (200, 201))
        for gateway in (self.one, self.two):
            for spelling in (header, header.lower(), header.upper(), header.capitalize()):
                self.assertEqual(self.put_if(gateway, "/new", self.files[1], spelling), 409)
        self.check_reads(self.two, "/new", self.files[0])
        self.assertIn(self.put_if(self.one, "/new", self.files[1], 'If-None-Match: "1"'), (405, 501))

        ends = [self.upload_under_way(gateway, "/race", header, file)
                for gateway, file in zip((self.one, self.two), self.files)]
        self.assertEqual([end() for end in ends], [True, False])
        self.check_reads(self.two, "/race", self.files[0])

    def test_replacing_the_version_that_is_meant(self):
        name = "/a"
        self.assertEqual(self.put_if(self.one, name, self.files[0], "If-Match: *"), 409)
        self.curl("-T", self.files[0], self.one.http + name)
        first = self.tag(self.one, name)
        self.assertEqual(self.put_if(self.two, name, self.files[1], 'If-Match: "1"'), 409)
        self.check_reads(self.one, name, self.files[0])
        self.assertIn(self.put_if(self.two, name, self.files[1], f'If-Match: "{first}"'), (200, 201))
        self.check_reads(self.one, name, self.files[1])
        self.assertEqual(self.put_if(self.one, name, self.files[2], f'if-match: "{first}"'), 409)
        second = self.tag(self.one, name)
        self.assertIn(self.put_if(self.one, name, self.files[2], f'If-Match: "1", "{second}"'), (200, 201))
        # Both begin when the condition holds: the engine decides at the commit.
        header = f'If-Match: "{self.tag(self.one, name)}"'
        ends = [self.upload_under_way(gateway, name, header, file)
                for gateway, file in zip((self.one, self.two), self.files)]
        self.assertEqual([end() for end in ends], [True, False])
        self.check_reads(self.two, name, self.files[0])

    def test_root_protocol(self):
        self.put(self.one, "/a", SIZE, seed=7)
        tag = self.tag(self.one, "/a")
        target = lambda tag: f"{self.two.url}//a?xec.if-match={tag}"
        refused = self.xrdcp("-f", self.files[0], target(1), code=None)
        self.assertNotEqual(refused.code, 0)
        self.assertIn(f"/a has the ETag {tag}, not 1", refused.err)
        self.xrdcp("-f", self.files[0], target(tag))
        self.check_reads(self.one, "/a", self.files[0])

    def test_downloads_and_removals(self):
        self.curl("-T", self.files[0], self.one.http + "/a")
        tag = self.tag(self.one, "/a")
        for header in ("If-Match", "If-Range"):
            self.curl("-o", self.path("part"), "-r", "0-99", "-H", f'{header}: "{tag}"', self.two.http + "/a")
            self.assertEqual(self.content(self.path("part")), self.content(self.files[0])[:100])
            self.assertEqual(self.http_status("-r", "0-99", "-H", f'{header}: "1"', self.two.http + "/a"), 409)
        self.assertEqual(self.http_status("-H", f'If-None-Match: "{tag}"', self.two.http + "/a"), 200)
        move = ("-X", "MOVE", "-H", f"Destination: {self.two.http}/b")
        self.assertEqual(self.http_status(*move, "-H", 'If-Match: "1"', self.two.http + "/a"), 409)
        self.assertEqual(self.http_status("-X", "DELETE", "-H", 'If-Match: "1"', self.two.http + "/a"), 409)
        self.check_reads(self.one, "/a", self.files[0])
        self.curl("-X", "DELETE", "-H", f'If-Match: "{tag}"', self.two.http + "/a")
        self.assertEqual(self.http_status(self.one.http + "/a"), 404)


if __name__ == "__main__":
    xectest.main()
