# SPDX-License-Identifier: LGPL-3.0-or-later
"""Streams over a network of 1 Gbit/s: the gateway's (or the plain server's) link carries no more in either direction, to
clients and data servers together, and neither does that of a data server.

The limits are classes of the loopback device's queueing, chosen by port: what leaves and what enters the gateway. So an
upload can reach wire x k/(k+m) (what leaves the gateway is all k+m chunks) and a download the wire itself.

Queues are as such a host has them: what it sends to its clients and to each data server shares its interface fairly, as
with fq_codel, which is what Debian sets; what enters waits in the port of a switch, first come first served, and what does
not fit there is dropped."""
import os
import shutil
import subprocess
import sys

from harness.errors import BenchError

from .base import MIB, Workload, format_size
from .stream import make_file

WIRE_BITS = 1_000_000_000
WIRE_MIB = WIRE_BITS / 8 / MIB
BURST = "512k"
QUANTUM = "131072"         # bytes that each may send in its turn: two packets of loopback
SHARE = "10mbit"           # of each in any case; the rest goes to who has something to send
SWITCH_BYTES = "2000000"   # what the port of a switch keeps: 16 ms


def tc(*words):
    done = subprocess.run(["tc", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"tc {' '.join(words)}: {done.stderr.strip() or done.returncode}")


class Limited:
    """The links of one subject are limited while this is entered."""

    def __init__(self, subject):
        client, servers = subject.client_port(), subject.server_ports()
        # (source port or destination port, port)
        self.leaves = [("sport", client)] + [("dport", port) for port in servers]
        self.enters = [("dport", client)] + [("sport", port) for port in servers]

    def __enter__(self):
        if not shutil.which("tc"):
            raise BenchError("there is no program tc (package iproute2)")
        tc("qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb")
        try:
            self.add_class("1:", "1:1", f"{WIRE_BITS}bit")
            for number, match in enumerate(self.leaves):
                self.add_class("1:1", f"1:1{number:02d}", SHARE)
                self.choose(match, f"1:1{number:02d}")
            self.add_class("1:", "1:2", f"{WIRE_BITS}bit")
            tc("qdisc", "add", "dev", "lo", "parent", "1:2", "handle", "2:", "bfifo", "limit", SWITCH_BYTES)
            for match in self.enters:
                self.choose(match, "1:2")
        except BenchError:
            self.__exit__()
            raise

    @staticmethod
    def add_class(parent, name, rate):
        tc("class", "add", "dev", "lo", "parent", parent, "classid", name, "htb", "rate", rate, "ceil", f"{WIRE_BITS}bit",
           "burst", BURST, "cburst", BURST, "quantum", QUANTUM)

    @staticmethod
    def choose(match, name):
        side, port = match
        tc("filter", "add", "dev", "lo", "parent", "1:", "protocol", "ip", "prio", "1", "u32", "match", "ip", side, str(port),
           "0xffff", "flowid", name)

    def __exit__(self, *_):
        tc("qdisc", "del", "dev", "lo", "root")


class Links(Workload):
    name = "links"
    about = "one upload and download of --size over links of 1 Gbit/s (as root only)"

    def __init__(self, bench):
        super().__init__(bench)
        self.file = make_file(os.path.join(bench.dir, "links"), self.options.size)
        if os.geteuid() != 0:
            print("bench: links are not measured: only root may limit them", file=sys.stderr)

    def suits(self, subject):
        return super().suits(subject) and os.geteuid() == 0

    def title(self):
        return f"stream of {format_size(self.options.size)} over links of 1 Gbit/s ({WIRE_MIB:.0f} MiB/s)"

    def steps(self):
        return [("", self.measure)]

    def measure(self, subject, turn):
        name = f"links-{turn}"
        size = self.options.size
        for way in ("upload", "download"):
            with Limited(subject), self.bench.meter(subject) as cost:
                seconds, _ = subject.upload(self.file, name) if way == "upload" else subject.download(name)
            # What the gateway has to send for each byte of an upload, where its data servers are behind the same link.
            copies = subject.stored_per_byte if way == "upload" and subject.server_ports() else 1.0
            rate = size / MIB / seconds
            self.add(f"{way} MiB/s", subject, turn, rate, ratio=True)
            self.add(f"{way}, part of what the wire allows", subject, turn, rate * copies / WIRE_MIB)
            self.add_peak(subject, turn, cost, f"links, {way}")
        subject.remove(name)

    def close(self):
        os.unlink(self.file)
