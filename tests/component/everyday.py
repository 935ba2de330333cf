# SPDX-License-Identifier: LGPL-3.0-or-later
"""What users do with any store every day, with stock clients, and what happens to its disks meanwhile. Shared by the
tests of stores on directories and on clusters.

The gateway is anything with .url and .http; `folder_of(address)` gives the local directory of a data server's files.
"""
import contextlib
import json
import os
import re
import shutil
import tempfile
import zipfile
import zlib

import xectest

KIB = 1024


def lose(path):
    """The directory is gone at once: what writes there meanwhile would fill it while it is emptied."""
    os.rename(path, path + ".gone")
    shutil.rmtree(path + ".gone")


def bytes_on_disks(gateway):
    """What the files below the directories of a gateway take, those that are being written included."""
    total = 0
    for folder in gateway.dirs:
        for place, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total


def place_of_chunk(archive, stripe, chunk):
    """Offset and size of a chunk within the archive file, found with nothing but Python's zipfile."""
    with zipfile.ZipFile(archive) as file:
        member = next(info for info in file.infolist() if re.search(rf"\.{stripe}\.{chunk}$", info.filename))
        # The local header has an extra field of its own.
        file.fp.seek(member.header_offset + 26)
        lengths = file.fp.read(4)
    name, extra = int.from_bytes(lengths[:2], "little"), int.from_bytes(lengths[2:], "little")
    return member.header_offset + 30 + name + extra, member.file_size


class EverydayTest(xectest.TestCase):
    def xec_beside(self, cluster):
        """A configuration of the cluster's data servers with the state and port of its first gateway; and a function that runs
        `xec COMMAND` by it, with the options of run_program."""
        gateway = cluster.gateways[0]
        conf = self.path("xec.cfg")
        with open(conf, "w", encoding="utf-8") as file:
            for server in cluster.servers:
                file.write(f"xec.server {server.server_option()}\n")
            file.write(f"xec.port {gateway.port}\nxec.state {os.path.join(gateway.base, 'state')}\n")
        return conf, lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, "-c", conf, *arguments], **more)

    def put(self, gateway, name, size, seed=1):
        file = self.random_file(f"put-{seed}-{size}", size, seed)
        self.xrdcp(file, f"{gateway.url}/{name}")
        return file

    def remount(self, path, how):
        """Mounts what is at `path` "ro" or "rw". The system refuses while somebody has a file open for writing there,
        as gateways have now and then, which try whether their disks take writes."""
        self.eventually(lambda: self.run_program(["mount", "-o", f"remount,{how}", path], code=None).code == 0, 30,
                        f"{path} is {how}")

    def content(self, path):
        with open(path, "rb") as file:
            return file.read()

    def check_reads(self, gateway, name, file, http_name=None):
        """Over both protocols."""
        self.xrdcp("-f", f"{gateway.url}/{name}", self.path("over-root"))
        self.assert_same(file, self.path("over-root"))
        self.curl("-o", self.path("over-http"), gateway.http + (http_name or name))
        self.assert_same(file, self.path("over-http"))

    def check_all_reads(self, store, files):
        """As check_reads, with one client for all of them."""
        with tempfile.TemporaryDirectory(dir=self.dir) as place:
            places = {kind: os.path.join(place, kind) for kind in ("root", "http")}
            for path in places.values():
                os.mkdir(path)
            self.xrdcp(*(f"{store.url}/{name}" for name in files), places["root"] + "/")
            self.curl("--fail-early", "--remote-name-all", "--output-dir", places["http"],
                      *(store.http + name for name in files))
            for path in places.values():
                for name, file in files.items():
                    self.assert_same(file, os.path.join(path, os.path.basename(name)))

    def check_everyday_commands(self, gateway, size):
        file = self.put(gateway, "/day/a", size)
        self.curl("-T", file, gateway.http + "/day/b")
        self.check_reads(gateway, "/day/a", file)
        self.check_reads(gateway, "/day/b", file)
        listing = self.xrdfs(gateway.url, "ls", "-l", "/day").out
        self.assertRegex(listing, rf"-rw-r--r-- .* {size} .* /day/a\n")
        self.assertEqual(len(listing.splitlines()), 2, listing)
        self.assertRegex(self.xrdfs(gateway.url, "stat", "/day/b").out, rf"Size: +{size}\n")
        with open(file, "rb") as source:
            adler = f"{zlib.adler32(source.read()):08x}"
        self.assertEqual(self.xrdfs(gateway.url, "query", "checksum", "/day/a").out.split(), ["adler32", adler])
        self.xrdfs(gateway.url, "mv", "/day/a", "/day/c")
        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", "/day/a", code=54).err)
        self.check_reads(gateway, "/day/c", file)
        self.assertEqual(self.xrdfs(gateway.url, "query", "checksum", "/day/c").out.split(), ["adler32", adler])
        self.xrdfs(gateway.url, "rm", "/day/b")
        self.xrdfs(gateway.url, "rm", "/day/c")
        self.assertEqual(self.http_status(gateway.http + "/day/c"), 404)
        self.xrdfs(gateway.url, "rmdir", "/day")
        self.assertNotIn("/day", self.xrdfs(gateway.url, "ls", "/").out.split())

    def chunks_of(self, xec, name):
        return json.loads(xec("locate", "--json", name).out)[0]["chunks"]

    def flip_in_ten_stripes(self, gateway, xec, name, file, folder_of):
        """Flips a byte in one archive of each of ten stripes of the object, in turn at the start, in the middle and at
        the end of the chunk; `xec verify` names exactly these, and it still reads."""
        chunks = self.chunks_of(xec, name)
        flipped = set()
        for stripe in range(10):
            of_stripe = [chunk for chunk in chunks if chunk["stripe"] == stripe]
            victim = of_stripe[stripe % len(of_stripe)]
            archive = folder_of(victim["address"]) + victim["archive"]
            offset, size = place_of_chunk(archive, stripe, victim["chunk"])
            self.flip_byte(archive, offset + (0, size // 2, size - 1)[stripe % 3])
            flipped.add((stripe, victim["chunk"], victim["server"]))
        # Before the gateway reads it, and repairs what it meets.
        report = json.loads(xec("verify", "--json", name, code=6).out)[0]
        self.assertEqual({(bad["stripe"], bad["chunk"], bad["server"]) for bad in report["bad"]}, flipped)
        self.assertEqual({bad["health"] for bad in report["bad"]}, {"corrupt"})
        self.assertEqual(report["chunks"], len(chunks))
        self.check_reads(gateway, name, file)
