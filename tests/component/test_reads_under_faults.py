# SPDX-License-Identifier: LGPL-3.0-or-later
"""Data servers of a real cluster die, hang and come back in the middle of a download: the client gets the right bytes, and
nobody waits for a server that does not answer. Deadlines are set to an hour: who waits for one fails by the test's
own."""
import os
import subprocess
import threading

import everyday
import xectest

KIB = 1024
SIZE = 40 * 8 * 256 * KIB + 12_345  # 41 stripes
PATIENT = ["--read-timeout", "1h", "--metadata-timeout", "1h"]


class ReadsUnderFaults(everyday.EverydayTest):
    def up(self, **options):
        cluster = self.cluster(geometry="8+2", gateways=1, chunk_size="256KiB", serve_options=PATIENT, **options)
        gateway = cluster.gateways[0]
        gateway.http = gateway.http_url
        servers = [word for server in cluster.servers for word in ("--server", server.server_option())]
        xec = lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *servers, *arguments], **more)
        return cluster, gateway, xec

    def holders(self, cluster, xec, name):
        """Those with chunks of it."""
        addresses = {chunk["address"].rstrip("/") for chunk in self.chunks_of(xec, name)}
        return [server for server in cluster.servers if server.url in addresses]

    def download(self, gateway, name, file, *steps):
        """Streams the object through stock xrdcp; the steps are taken in between, each after an equal part."""
        client = subprocess.Popen(["xrdcp", "--nopbar", f"{gateway.url}/{name}", "-"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env={**os.environ, "XRD_READRECOVERY": "0"})
        self.addCleanup(client.kill)
        stuck = threading.Timer(xectest.CLIENT_SECONDS, client.kill)
        stuck.start()
        self.addCleanup(stuck.cancel)
        size = os.path.getsize(file)
        part = size // (len(steps) + 1)
        with open(file, "rb") as expected:
            for number, step in enumerate([*steps, None]):
                wanted = part if step else size - number * part
                self.assertTrue(client.stdout.read(wanted) == expected.read(wanted), f"part {number} is wrong")
                if step:
                    step()
        self.assertEqual(client.stdout.read(), b"")
        code = client.wait(timeout=xectest.CLIENT_SECONDS)
        said = client.stderr.read().decode()
        client.stdout.close()
        client.stderr.close()
        self.assertEqual(code, 0, said)

    def test_one_killed_and_one_stopped_in_the_middle_and_back(self):
        cluster, gateway, xec = self.up()
        file = self.put(gateway, "/a", SIZE)
        killed, stopped = self.holders(cluster, xec, "/a")[:2]
        self.addCleanup(stopped.thaw)
        self.download(gateway, "/a", file, killed.kill, stopped.freeze)
        # The first reads of a new object, ranges, and what was open before.
        self.check_reads(gateway, "/a", file)
        content = self.content(file)
        for offset in range(1000, SIZE, SIZE // 20):
            got = self.curl("-s", "-r", f"{offset}-{offset + 299_999}", gateway.http + "/a", binary=True).out
            self.assertTrue(got == content[offset:offset + 300_000], f"at {offset}")

        def both_back():
            stopped.thaw()
            cluster.start(killed)
        self.download(gateway, "/a", file, both_back)
        others = self.holders(cluster, xec, "/a")[2:4]
        self.addCleanup(others[1].thaw)
        self.download(gateway, "/a", file, others[0].freeze, others[0].thaw, others[1].freeze)

    def test_objects_of_layout_xrdec(self):
        cluster, gateway, xec = self.up(layout="xrdec")
        file = self.put(gateway, "/a", SIZE)
        killed, stopped = self.holders(cluster, xec, "/a")[:2]
        self.addCleanup(stopped.thaw)
        self.download(gateway, "/a", file, killed.kill, stopped.freeze)
        self.check_reads(gateway, "/a", file)


if __name__ == "__main__":
    xectest.main()
