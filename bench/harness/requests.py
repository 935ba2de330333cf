# SPDX-License-Identifier: LGPL-3.0-or-later
"""Requests that data servers got, as they count them themselves: stock xrootd reports once a second over UDP."""
import re
import select
import socket
import time

from .subject import HOST

PORT = 10_999
PACKET_MAX = 1 << 16
WAIT_SECONDS = 10.0
# `sync` adds what living connections did; without it that is counted when they end.
SERVER_LINE = f"xrd.report {HOST}:{PORT} every 1s xrootd sync"


class RequestCounter:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((HOST, PORT))

    def packets(self, seconds):
        """Those that are there, waiting at most so long for the first one."""
        while select.select([self.socket], [], [], seconds)[0]:
            yield self.socket.recv(PACKET_MAX).decode(errors="replace")
            seconds = 0

    def counts(self, ports):
        """Port -> requests, by a report that was made after this call; those that do not report in time are left out."""
        for _ in self.packets(0):
            pass
        found, end = {}, time.monotonic() + WAIT_SECONDS
        while set(ports) - set(found) and time.monotonic() < end:
            for text in self.packets(0.5):
                port, requests = parse(text)
                if port in ports:
                    found[port] = requests
        return found


def parse(text):
    """(port, requests) of a report; port 0 for those of a cmsd."""
    port = re.search(r'\bsrc="[^"]*:(\d+)"', text)
    operations = re.search(r"<ops>(.*?)</ops>", text)
    if not port or not operations:
        return 0, 0
    return int(port[1]), sum(int(number) for number in re.findall(r">(\d+)<", operations[1]))
