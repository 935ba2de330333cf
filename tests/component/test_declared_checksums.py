# SPDX-License-Identifier: LGPL-3.0-or-later
"""Checksums that clients declare for what they upload: right ones pass, wrong ones replace nothing (docs/http.md)."""
import base64
import hashlib
import itertools
import os
import zlib

import everyday
import test_third_party
import xectest

SIZE = 700_001  # several stripes


def xor_last(digest):
    return digest[:-1] + bytes([digest[-1] ^ 1])


class Declared(everyday.EverydayTest):
    """`self.sums` has each checksum of `self.file` as bytes, by XRootD's name."""

    def sums_of(self, file):
        content = self.content(file)
        word = lambda program: self.run_program([program, file]).out.split()[0]
        return {"adler32": zlib.adler32(content).to_bytes(4, "big"), "zcrc32": zlib.crc32(content).to_bytes(4, "big"),
                "crc32": int(word("cksum")).to_bytes(4, "big"), "crc32c": bytes.fromhex(word("xrdcrc32c")),
                **{name: hashlib.new(name, content).digest() for name in ("md5", "sha1", "sha256", "sha512")}}

    def prepare(self, gateway):
        self.gateway = gateway
        self.file = self.random_file("new", SIZE, seed=2)
        self.sums = self.sums_of(self.file)
        self.old = self.put(gateway, "/old", 300_000, seed=1)

    def log(self):
        with open(os.path.join(self.gateway.state, "xrootd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def check_refused(self, code, what):
        self.assertNotEqual(code, 0, what)
        self.check_reads(self.gateway, "/old", self.old)

    def check_passed(self, name):
        self.check_reads(self.gateway, name, self.file)
        self.xrdfs(self.gateway.url, "rm", name)


class Uploads(Declared):
    def test_xrdcp(self):
        self.prepare(self.serve(geometry="4+2", chunk_size="64KiB"))
        for name, digest in self.sums.items():
            with self.subTest(name):
                target = lambda path, value: f"{self.gateway.url}/{path}?cks.type={name}&cks.value={value.hex()}"
                self.xrdcp("-f", self.file, target("/new", digest))
                self.check_passed("/new")
                refused = self.xrdcp("-f", self.file, target("/old", xor_last(digest)), code=None)
                self.check_refused(refused.code, name)
                self.assertIn(f"the bytes of /old have {name} {digest.hex()}, but {xor_last(digest).hex()} was declared",
                              refused.err)
        for words in ("cks.type=md5", "cks.type=sha3&cks.value=00", "cks.type=adler32&cks.value=1"):
            with self.subTest(words):
                refused = self.xrdcp("-f", self.file, f"{self.gateway.url}//old?{words}", code=None)
                self.check_refused(refused.code, words)
                self.assertRegex(refused.err, "declared|belong together")

    def put_with(self, header, name, scheme_options=()):
        """Curl's exit code; 5.5.3 ends an upload whose close fails without a status line."""
        return self.run_program(["curl", "-sS", "--fail", "-T", self.file, "-H", header, *scheme_options,
                                 self.gateway.http + name], code=None).code

    def test_http_headers(self):
        self.prepare(self.serve(geometry="4+2", chunk_size="64KiB"))
        of_digest = {"adler32": "adler32", "md5": "MD5", "sha256": "SHA-256", "sha1": "sha", "crc32c": "crc32c"}
        hexadecimal = lambda digest: digest.hex()
        base64_of = lambda digest: base64.b64encode(digest).decode()
        forms = [("Digest", name, f"Digest: {{}}".format(of_digest[name] + "={}"), form)
                 for name, form in itertools.product(of_digest, (hexadecimal, base64_of))]
        of_repr = {"adler32": "adler", "crc32c": "crc32c", "md5": "md5", "sha256": "sha-256", "sha512": "sha-512"}
        forms += [("Repr-Digest", name, "Repr-Digest: " + http_name + "=:{}:", base64_of)
                  for name, http_name in of_repr.items()]
        for kind, name, header, form in forms:
            with self.subTest(kind, name=name, form=form(b"a")):
                self.assertEqual(self.put_with(header.format(form(self.sums[name])), "/new"), 0)
                self.check_passed("/new")
                self.check_refused(self.put_with(header.format(form(xor_last(self.sums[name]))), "/old"), header)
        self.assertIn("but " + xor_last(self.sums["sha256"]).hex() + " was declared", self.log())
        adler = base64_of(self.sums["adler32"])
        for header in ("digest: adler32=00000000", "repr-digest: adler=:AAAAAA==:", "Digest: sha3=00", "Digest: adler32",
                       "Repr-Digest: adler=AAAAAA==", f"Repr-Digest: adler=:{adler}:, md5=:AAAA:"):
            with self.subTest(header):
                self.check_refused(self.put_with(header, "/old"), header)
        both = f"Repr-Digest: adler=:{adler}:, sha-256=:{base64_of(self.sums['sha256'])}:"
        self.assertEqual(self.put_with(both, "/new"), 0)
        self.check_passed("/new")
        query = lambda value: f"/old?cks.type=adler32&cks.value={value.hex()}"
        self.check_refused(self.put_with("A: b", query(xor_last(self.sums["adler32"]))), "query")
        self.assertEqual(self.put_with("A: b", query(self.sums["adler32"])), 0)
        self.check_reads(self.gateway, "/old", self.file)


class Pulls(test_third_party.Pulling, Declared):
    """XRootD 5 hands headers of a copy to nobody: only what stands in the query arrives (docs/http.md)."""

    def test_query(self):
        old = self.put(self.gateway, "/old", 300_000, seed=2)
        for name, digest in self.sums_of(self.file).items():
            with self.subTest(name):
                query = lambda value: f"?cks.type={name}&cks.value={value.hex()}"
                self.assertIn("success", self.pull("/good", "/new" + query(digest)))
                self.check_reads(self.gateway, "/new", self.file)
                for headers in ((), ("X-Number-Of-Streams: 4",)):
                    said = self.pull("/good", "/old" + query(xor_last(digest)), *headers)
                    self.assertRegex(said, "^failure: ")
                    self.check_reads(self.gateway, "/old", old)
        self.assertRegex(self.pull("/good", "/old?cks.type=sha3&cks.value=00"), "^HTTP 4")
        self.check_reads(self.gateway, "/old", old)


if __name__ == "__main__":
    xectest.main()
