#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Requests without a body over https: each of several connections, which stay open, sends one after another. As xec_load
it measures from the moment when all are connected, and prints one line of JSON. Names are read from standard input, a line
for each connection, with blanks between.

It writes its requests itself, since http.client or one curl for each would be most of what is measured."""
import argparse
import json
import selectors
import socket
import ssl
import sys
import time

RECEIVE_BYTES = 1 << 16
GOOD = (b"200", b"204", b"207")


class Connection:
    def __init__(self, options, context, names):
        connected = socket.create_connection((options.host, options.port))
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(connected, server_hostname=options.host)
        self.names = iter(names)
        self.method = options.method
        self.rest = f" HTTP/1.1\r\nHost: {options.host}:{options.port}\r\n" + \
            "".join(f"{header}\r\n" for header in options.header) + "\r\n"
        self.started = 0.0

    def send_next(self):
        """False when all names are through."""
        name = next(self.names, None)
        if name is None:
            return False
        self.started = time.monotonic()
        self.socket.sendall(f"{self.method} {name}{self.rest}".encode())
        return True

    def receive(self):
        """The head of the answer. Waits until all of it is here: it is small and comes at once."""
        answer = b""
        while True:
            received = self.socket.recv(RECEIVE_BYTES)
            if not received:
                raise ConnectionError(f"the server closed the connection in an answer: {answer[:200]!r}")
            answer += received
            head, end, body = answer.partition(b"\r\n\r\n")
            if end and (self.method == "HEAD" or len(body) >= length_of(head)):
                return head


def length_of(head):
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def measure(connections, wanted):
    """Seconds that each request took; raises ValueError for an answer that is none, or lacks the header `wanted`."""
    ready = selectors.DefaultSelector()
    took = []
    for connection in connections:
        if connection.send_next():
            ready.register(connection.socket, selectors.EVENT_READ, connection)
    while ready.get_map():
        for key, _ in ready.select():
            connection = key.data
            head = connection.receive()
            took.append(time.monotonic() - connection.started)
            if head[9:12] not in GOOD or (wanted and wanted not in head.lower()):
                raise ValueError(f"answered with {head.decode(errors='replace')!r}")
            if not connection.send_next():
                ready.unregister(connection.socket)
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ca", required=True, help="certificate that is trusted")
    parser.add_argument("--method", required=True)
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--wanted", default="", help="header that every answer must have")
    options = parser.parse_args()
    context = ssl.create_default_context(cafile=options.ca)
    connections = [Connection(options, context, line.split()) for line in sys.stdin]
    start, cpu = time.monotonic(), time.process_time()
    took = measure(connections, options.wanted.lower().encode())
    print(json.dumps({"seconds": time.monotonic() - start, "cpu_seconds": time.process_time() - cpu, "took": took}))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        print(f"https_load: {error}", file=sys.stderr)
        sys.exit(1)
