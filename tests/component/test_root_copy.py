# SPDX-License-Identifier: LGPL-3.0-or-later
# waits
"""Third-party copy by root://: stock xrdcp has one server fetch an object from another. Between two gateways of XEC, and
between one and a plain server; the source, the destination or the client dies half-way."""
import os
import signal
import subprocess

import everyday
import xectest

SMALL, LARGE = 3_000_001, 2 << 30 if os.environ.get("XEC_TEST_LONG") == "1" else 400_000_000
# Seconds after which a copy is given up whose source is gone.
PATIENCE = 150


class RootCopy(xectest.TestCase):
    def gateway(self):
        return self.serve(geometry="2+1")

    def plain(self):
        """A stock server that makes such copies with stock xrdcp."""
        cluster = self.cluster(servers=1, redirector=False, server_lines=["ofs.tpc ttl 60 60 pgm /usr/bin/xrdcp --server"])
        return cluster.servers[0]

    def copy(self, source, destination, *words, code=0, seconds=60):
        return self.xrdcp("--tpc", "only", *words, source, destination, code=code, seconds=seconds)

    def assert_holds(self, url, file):
        self.xrdcp("--force", url, self.path("held"))
        self.assert_same(file, self.path("held"))

    def test_between_gateways_and_plain_servers(self):
        near, far, plain = self.gateway(), self.gateway(), self.plain()
        file = self.random_file("file", SMALL)
        empty = self.random_file("empty", 0)
        for number, (source, destination) in enumerate(((far, near), (plain, near), (near, plain))):
            with self.subTest(source=source.url, destination=destination.url):
                self.xrdcp(file, f"{source.url}//a file {number}")
                self.copy(f"{source.url}//a file {number}", f"{destination.url}//copied/deep/{number}")
                self.assert_holds(f"{destination.url}//copied/deep/{number}", file)
        self.xrdcp(empty, far.url + "//empty")
        self.copy(far.url + "//empty", near.url + "//empty")
        self.assertEqual(self.xrdfs(near.url, "stat", "/empty").out.count("Size:   0"), 1)

    def test_overwrite(self):
        near, far = self.gateway(), self.gateway()
        old, new = self.random_file("old", SMALL), self.random_file("new", SMALL)
        self.xrdcp(new, far.url + "//new")
        self.xrdcp(old, near.url + "//there")
        self.assertNotEqual(self.copy(far.url + "//new", near.url + "//there", code=None).code, 0)
        self.assert_holds(near.url + "//there", old)
        self.assertNotEqual(self.copy(far.url + "//missing", near.url + "//there", "--force", code=None).code, 0)
        self.assert_holds(near.url + "//there", old)
        self.copy(far.url + "//new", near.url + "//there", "--force")
        self.assert_holds(near.url + "//there", new)

    def test_several_at_once(self):
        """One client, one name each, and several clients for one name: the one that ends last stands."""
        near, far = self.gateway(), self.gateway()
        files = [self.random_file(f"f{number}", SMALL + number) for number in range(6)]
        for number, file in enumerate(files):
            self.xrdcp(file, f"{far.url}//f{number}")
        running = [subprocess.Popen(["xrdcp", "--nopbar", "--force", "--tpc", "only", f"{far.url}//f{number}", near.url + name])
                   for number in range(6) for name in (f"//g{number}", "//same")]
        for process in running:
            self.addCleanup(process.kill)
        for process in running[::2]:
            self.assertEqual(process.wait(60), 0)
        for process in running[1::2]:
            process.wait(60)
        for number, file in enumerate(files):
            self.assert_holds(f"{near.url}//g{number}", file)
        self.xrdcp("--force", near.url + "//same", self.path("same"))
        with open(self.path("same"), "rb") as same:
            content = same.read()
        self.assertTrue(any(content == open(file, "rb").read() for file in files))

    def start_large(self, near, far):
        """A copy of which some bytes have arrived."""
        file = self.random_file("large", LARGE)
        old = self.random_file("old", SMALL)
        self.xrdcp(file, far.url + "//large")
        self.xrdcp(old, near.url + "//there")
        process = subprocess.Popen(["xrdcp", "--nopbar", "--force", "--tpc", "only", far.url + "//large", near.url + "//there"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.eventually(lambda: everyday.bytes_on_disks(near) > 40_000_000, 30, "bytes arrive")
        self.assertIsNone(process.poll(), "the copy ended too soon to break it")
        return process, file, old

    def check_retry(self, near, far, file, old):
        """The old object is there, nothing is left of the copy that broke off, and another one succeeds at once."""
        self.assert_holds(near.url + "//there", old)
        self.copy(far.url + "//large", near.url + "//there", "--force", seconds=120)
        self.assert_holds(near.url + "//there", file)

    def test_the_source_dies(self):
        near, far = self.gateway(), self.gateway()
        process, file, old = self.start_large(near, far)
        far.kill()
        self.assertNotEqual(process.wait(PATIENCE), 0)
        far.start()
        self.eventually(lambda: everyday.bytes_on_disks(near) < 40_000_000, 30, "what arrived is removed")
        self.check_retry(near, far, file, old)

    def test_the_destination_dies(self):
        near, far = self.gateway(), self.gateway()
        process, file, old = self.start_large(near, far)
        near.kill()
        process.kill()
        process.wait()
        near.start()
        self.check_retry(near, far, file, old)

    def test_the_client_dies(self):
        near, far = self.gateway(), self.gateway()
        process, file, old = self.start_large(near, far)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.eventually(lambda: everyday.bytes_on_disks(near) < 40_000_000, 60, "what arrived is removed")
        self.check_retry(near, far, file, old)


if __name__ == "__main__":
    xectest.main()
