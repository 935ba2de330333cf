# SPDX-License-Identifier: LGPL-3.0-or-later
"""What stock xrootd tells monitoring of a gateway's clients: the f-stream, whose records say what was read and written, and
flow marking (SciTags), whose packets say for which experiment and activity data moves. The lines are those of
docs/monitoring.md."""
import json
import os
import re
import socket
import struct

import xectest

SIZE = 3_000_001
# Of an f-stream packet (XRootD's monitoring reference): the head, the head of a record, and what a closing one counts.
PACKET, RECORD, CLOSED = struct.Struct("!cBHI"), struct.Struct("!BBHI"), struct.Struct("!QQQ")
CLOSE = 0


def closings(packet):
    """(bytes read, read by vectors, written) of each file that was closed."""
    code, _, length, _ = PACKET.unpack_from(packet)
    if code != b"f":
        return
    at = PACKET.size
    while at + RECORD.size <= length:
        kind, _, size, _ = RECORD.unpack_from(packet, at)
        if kind == CLOSE:
            yield CLOSED.unpack_from(packet, at + RECORD.size)
        at += max(size, RECORD.size)


class Monitoring(xectest.TestCase):
    def collector(self):
        """A socket that packets come to, and its port."""
        packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(packets.close)
        packets.bind((xectest.HOST, 0))
        packets.settimeout(30)
        return packets, packets.getsockname()[1]

    def gateway(self, lines):
        """With the lines of the page that begin with this word, for a collector here."""
        with open(os.path.join(xectest.REPO, "docs", "monitoring.md"), encoding="utf-8") as page:
            printed = re.findall(rf"^    ({lines}.*)$", page.read(), re.MULTILINE)
        self.assertTrue(printed)
        packets, port = self.collector()
        text = "\n".join(printed).replace("monitor.example.org:9930", f"{xectest.HOST}:{port}")
        for name in ("monitor.example.org:9931", "monitor.example.org:10514"):
            text = text.replace(name, f"{xectest.HOST}:{port}")
        if "/etc/xrootd/scitags.json" in text:
            scitags = self.path("scitags.json")
            with open(scitags, "w", encoding="utf-8") as file:
                json.dump({"modified": "2026-11-30T00:00:00", "experiments": [{"expName": "atlas", "expId": 2, "activities": [
                    {"activityName": "default", "activityId": 1}, {"activityName": "production", "activityId": 14}]}]}, file)
            text = text.replace("/etc/xrootd/scitags.json", scitags)
        conf = self.path("gateway.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return self.serve(geometry="2+1", options=("-c", conf)), packets

    def test_f_stream(self):
        gateway, packets = self.gateway("xrootd.monitor")
        file = self.random_file("file", SIZE)
        self.xrdcp(file, gateway.url + "//a")
        self.xrdcp(gateway.url + "//a", self.path("back"))
        self.curl(gateway.http + "/a", "-o", self.path("back2"))
        told = []
        while len(told) < 3:
            told += closings(packets.recv(65536))
        written, *read = sorted(told)
        self.assertEqual(read, [(SIZE, 0, 0)] * 2)
        # With the checksums of pages, four bytes for each 4 KiB.
        self.assertEqual(written, (0, 0, SIZE + 4 * (SIZE // 4096 + 1)))

    def test_g_stream(self):
        gateway, packets = self.gateway("xrootd.mongstream")
        source = self.serve(geometry="2+1")
        self.xrdcp(self.random_file("file", SIZE), source.url + "//a")
        self.xrdcp("--tpc", "only", source.url + "//a", gateway.url + "//b")
        told = packets.recv(65536).decode(errors="replace")
        while '"TPC"' not in told:
            told = packets.recv(65536).decode(errors="replace")
        self.assertIn(f':{source.port}//a","Dst":"xroot://', told)
        self.assertIn('"RC":0', told)

    def test_flow_marking(self):
        gateway, packets = self.gateway("xrootd.pmark")
        file = self.random_file("file", SIZE)
        self.xrdcp(file, gateway.url + "//atlas/a")
        self.curl(gateway.http + "/atlas/a", "-o", self.path("back"))
        ended = []
        while len(ended) < 2:
            text = packets.recv(65536).decode()
            flow = json.loads(text[text.index("{"):])
            if flow["flow-lifecycle"]["state"] == "end":
                ended.append(flow)
        for flow in ended:
            self.assertEqual(flow["context"]["experiment-id"], 2)
            self.assertEqual(flow["context"]["activity-id"], 1)


if __name__ == "__main__":
    xectest.main()
