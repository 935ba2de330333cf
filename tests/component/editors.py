# SPDX-License-Identifier: LGPL-3.0-or-later
"""Clients that change files, each in a process of its own (python_editor.py)."""
import json
import os
import signal
import subprocess

EDITOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_editor.py")


class Refused(Exception):
    pass


class Editor:
    """A client of its own process."""

    def __init__(self, test, env=None):
        # The bindings are those of Debian's python.
        self.process = subprocess.Popen(["/usr/bin/python3", EDITOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "XRD_CONNECTIONRETRY": "1", **(env or {})})
        test.addCleanup(self.kill)

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if isinstance(answer, dict) and "error" in answer:
            raise Refused(answer["error"])
        return answer

    def open(self, url, flags="UPDATE"):
        self.ask("open", url, flags)
        return self

    def write(self, data, offset):
        self.ask("write", data.decode("latin-1"), offset)

    def read(self, offset=0, size=0):
        return self.ask("read", offset, size).encode("latin-1")

    def truncate(self, size):
        self.ask("truncate", size)

    def sync(self):
        self.ask("sync")

    def size(self):
        return self.ask("stat", True)

    def close(self):
        self.ask("close")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
