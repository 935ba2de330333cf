# SPDX-License-Identifier: LGPL-3.0-or-later
"""A line between a client and a server that is cut once, as by a network that fails for a moment."""
import socket
import threading

import xectest


class CutLine:
    """Relays what comes to `port`. The first connection that has carried `bytes_until_cut` to the server is cut, after
    `meanwhile` has been called."""

    def __init__(self, test, target, bytes_until_cut, meanwhile=lambda: None):
        self.target, self.left, self.meanwhile = target, bytes_until_cut, meanwhile
        self.cut, self.over = threading.Event(), threading.Event()  # over: `meanwhile` has ended as well
        self.port = test.free_port()
        self.socket = socket.create_server((xectest.HOST, self.port))
        test.addCleanup(self.socket.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((xectest.HOST, self.target))
            except OSError:
                client.close()
                continue
            for source, sink, counted in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._relay, args=(source, sink, counted), daemon=True).start()

    def _relay(self, source, sink, counted):
        carried = 0
        try:
            while data := source.recv(65536):
                sink.sendall(data)
                carried += len(data)
                if counted and carried > self.left and not self.cut.is_set():
                    self.cut.set()
                    self.meanwhile()
                    self.over.set()
                    break
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
