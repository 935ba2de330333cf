#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Speaks to socket_store as clients do, on a store of six directories. socket_store_test.py PROGRAM DIRECTORY"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

PROGRAM, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])
SOCKET = DIRECTORY / "s"
BIG = os.urandom(50_000_000)
# Sends the first half of an object, says so, and waits until it is killed.
HALF_PUT = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"PUT %s 50000000\\n" % sys.argv[2].encode() + bytes(25_000_000))
print("half", flush=True)
sys.stdin.read()
"""


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(SOCKET))
        self.stream = self.socket.makefile("rb")

    def close(self):
        self.stream.close()
        self.socket.close()

    def say(self, request, data=b""):
        try:
            self.socket.sendall(request.encode() + b"\n" + data)
        except BrokenPipeError:
            pass  # the server has hung up, but it has answered before
        return self.line()

    def line(self):
        return self.stream.readline().decode().rstrip("\n")

    def put(self, path, data):
        return self.say(f"PUT {path} {len(data)}", data)

    def get(self, path):
        answer = self.say(f"GET {path}")
        return self.stream.read(int(answer[3:])) if answer.startswith("OK ") else answer

    def list(self, path):
        lines = [self.say(f"LIST {path}")]
        while lines[-1] != "." and not lines[-1].startswith("ERR "):
            lines.append(self.line())
        return lines


def archives():
    """The files of all names on all data servers, but for what XEC keeps for itself."""
    files = (path for path in DIRECTORY.glob("d?/**/*") if path.is_file() and ".xec" not in path.parts)
    return sorted(files)


class SocketStoreTest(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(DIRECTORY, ignore_errors=True)
        DIRECTORY.mkdir(parents=True)
        lines = [f"xec.data {DIRECTORY}/d{i}\n" for i in range(6)] + ["xec.geometry 4+2\n", "xec.memory 48MiB\n"]
        (DIRECTORY / "xec.conf").write_text("".join(lines))
        self.start()

    def tearDown(self):
        self.server.kill()
        self.end()
        shutil.rmtree(DIRECTORY)

    def start(self):
        self.server = subprocess.Popen([PROGRAM, DIRECTORY / "xec.conf", SOCKET], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
        self.assertEqual(self.server.stdout.readline(), "ready\n")

    def end(self):
        code = self.server.wait(timeout=60)
        self.server.stdout.close()
        self.server.stderr.close()
        return code

    def client(self):
        client = Client()
        self.addCleanup(client.close)
        return client

    def wait_for(self, words):
        """Reads what the server says until a line has the words."""
        while words not in (line := self.server.stderr.readline()):
            self.assertTrue(line, f"the server ended before it said {words!r}")

    def half_put(self, path):
        client = subprocess.Popen([sys.executable, "-c", HALF_PUT, SOCKET, path], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.assertEqual(client.stdout.readline(), "half\n")
        return client

    def kill(self, client):
        client.kill()
        client.communicate()

    def test_put_list_get_also_without_two_directories(self):
        client = self.client()
        self.assertEqual(client.put("/a/big one", BIG), "OK 50000000")
        self.assertEqual(client.put("/a/empty", b""), "OK 0")
        self.assertEqual(client.list("/"), ["OK", "d - a", "."])
        self.assertEqual(client.list("/a"), ["OK", "f 50000000 big one", "f 0 empty", "."])
        self.assertEqual(client.get("/a/big one"), BIG)
        self.assertEqual(client.get("/a/empty"), b"")
        for name in ("d1", "d4"):
            (DIRECTORY / name).rename(DIRECTORY / f"lost-{name}")
        self.assertEqual(client.get("/a/big one"), BIG)
        self.assertEqual(client.list("/a"), ["OK", "f 50000000 big one", "f 0 empty", "."])

    def test_a_client_that_is_killed_leaves_nothing(self):
        client = self.client()
        self.assertEqual(client.put("/kept", b"as it was"), "OK 9")
        before = archives()
        for path in ("/gone", "/kept"):
            half = self.half_put(path)
            self.assertGreater(len(archives()), len(before))
            self.kill(half)
            self.wait_for(f"PUT {path}: cancelled")
        self.assertEqual(client.get("/gone"), "ERR not_found: /gone does not exist")
        self.assertEqual(client.list("/"), ["OK", "f 9 kept", "."])
        self.assertEqual(client.get("/kept"), b"as it was")
        self.assertEqual(archives(), before)

    def test_errors_are_lines(self):
        client = self.client()
        self.assertRegex(client.get("/none"), "^ERR not_found: ")
        self.assertRegex(client.list("/none")[0], "^ERR not_found: ")
        self.assertRegex(client.put("/.xec/no", BIG), "^ERR invalid_argument: ")
        self.assertEqual(client.put("/yes", b"1"), "OK 1")  # what was refused is not taken for requests
        self.assertRegex(client.put("/yes/no", b"1"), "^ERR not_directory: ")
        for line in ("put /x 1", "PUT /x", "PUT 1", "PUT /x -1", "GET", "", "GET /" + 5000 * "x", 2_000_000 * "x"):
            client = self.client()
            self.assertRegex(client.say(line), "^ERR invalid_argument: a request ")
            self.assertEqual(client.line(), "")  # hung up

    def test_connections_are_bounded(self):
        clients = [self.client() for _ in range(16)]
        for client in clients:
            self.assertEqual(client.list("/"), ["OK", "."])
        self.assertRegex(self.client().line(), "^ERR unavailable: 16 clients are connected")
        clients[3].say("")
        self.assertEqual(clients[3].line(), "")
        self.assertEqual(self.client().list("/"), ["OK", "."])

    def test_sigterm_ends_it_and_what_was_put_stays(self):
        self.assertEqual(self.client().put("/kept", b"for ever"), "OK 8")
        half = self.half_put("/half")
        self.server.send_signal(signal.SIGTERM)
        self.wait_for("PUT /half: cancelled")
        self.assertEqual(self.end(), 0)
        self.kill(half)
        self.assertFalse(SOCKET.exists())
        self.start()
        self.assertEqual(self.client().list("/"), ["OK", "f 8 kept", "."])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
