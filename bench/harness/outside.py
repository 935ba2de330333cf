# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs programs in the network that the benchmark leaves for one of its own."""
import json
import os
import socket

from . import clients
from .errors import BenchError


class Outside:
    """A process that is started before the network is left, and runs what it is asked to, one after another."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                ours.close()
                serve(theirs.makefile("rw", encoding="utf-8"))
            finally:
                os._exit(0)
        theirs.close()
        self.file = ours.makefile("rw", encoding="utf-8")

    def run(self, argv, stdin=""):
        """What became of it: seconds, cpu, code and the last line of errors."""
        self.file.write(json.dumps([argv, stdin]) + "\n")
        self.file.flush()
        answer = self.file.readline()
        if not answer:
            raise BenchError("the process that runs clients outside of the benchmark's network has ended")
        return json.loads(answer)


def serve(file):
    for line in file:
        argv, stdin = json.loads(line)
        ran = clients.run(argv, stdin=stdin, codes=clients.ANY_CODE)
        answer = {"seconds": ran.seconds, "cpu": ran.cpu, "code": ran.code, "errors": clients.last_line(ran.errors)}
        file.write(json.dumps(answer) + "\n")
        file.flush()
