# SPDX-License-Identifier: LGPL-3.0-or-later
"""Two gateways and two processes that use the store directly write the same names at the same time (promises P2, P4).

XEC_TEST_LONG=1 does so for a minute on 200 names.
"""
import http.client
import os
import random
import subprocess
import threading
import time

import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
NAMES = 200 if LONG else 24
SECONDS = 60 if LONG else 8
SIZES = (200, 27_000, 300_000)  # with one, one and two stripes
# Exit codes of xec (src/cli/exit_code.hh) that are no false success: nobody can tell, or a rival was in the way.
CODES_TOLD = (5, 8)


def content(writer, number):
    line = f"writer {writer} number {number}\n".encode()
    size = SIZES[number % len(SIZES)]
    return (line * (size // len(line) + 1))[:size] + line


class Upload:
    def __init__(self, name, number):
        self.name, self.number, self.begun, self.ended, self.done = name, number, time.monotonic(), None, False


class Rival(threading.Thread):
    def __init__(self, number, until):
        super().__init__(daemon=True)
        self.number, self.until, self.uploads, self.refusals = number, until, [], {}
        self.random = random.Random(number)

    def run(self):
        while time.monotonic() < self.until:
            name = f"/rivals/{self.random.randrange(NAMES)}"
            upload = Upload(name, len(self.uploads))
            self.uploads.append(upload)
            said = self.put(name, content(self.number, upload.number))
            upload.ended = time.monotonic()
            upload.done = said is None
            if said is not None:
                self.refusals[said] = self.refusals.get(said, 0) + 1


class HttpRival(Rival):
    def __init__(self, number, until, gateway):
        super().__init__(number, until)
        self.connection = http.client.HTTPConnection(xectest.HOST, gateway.http_port, timeout=xectest.CLIENT_SECONDS)

    def put(self, name, data):
        try:
            self.connection.request("PUT", name, data)
            answer = self.connection.getresponse()
            answer.read()
            return None if answer.status in (200, 201) else f"HTTP {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            return type(error).__name__


class DirectRival(Rival):
    def __init__(self, number, until, argv):
        super().__init__(number, until)
        self.argv = argv

    def put(self, name, data):
        done = subprocess.run([*self.argv, "-", name], input=data, capture_output=True, check=False)
        return None if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr.decode()[-200:]}"


class Rivals(xectest.TestCase):
    def test_every_name_ends_whole_as_one_of_its_uploads(self):
        cluster = self.cluster(servers=8, geometry="4+2", gateways=2, chunk_size="64KiB")
        until = time.monotonic() + SECONDS
        options = [word for server in cluster.servers for word in ("--server", server.server_option())]
        put = [self.program("xec"), "put", *options]
        rivals = [HttpRival(number, until, cluster.gateways[number % 2]) for number in range(4)]
        rivals += [DirectRival(number, until, put) for number in (4, 5)]
        for rival in rivals:
            rival.start()
        for rival in rivals:
            rival.join()
        names = {}
        for rival in rivals:
            for upload in rival.uploads:
                names.setdefault(upload.name, []).append((rival, upload))
        refused = {}
        for rival in rivals:
            for said, count in rival.refusals.items():
                refused[said] = refused.get(said, 0) + count
        for gateway in cluster.gateways:
            connection = http.client.HTTPConnection(xectest.HOST, gateway.http_port, timeout=xectest.CLIENT_SECONDS)
            for name, uploads in names.items():
                connection.request("GET", name)
                answer = connection.getresponse()
                got = answer.read()
                done = [upload for _, upload in uploads if upload.done]
                if answer.status == 404:
                    self.assertEqual(done, [], f"{name} was uploaded and is gone")
                    continue
                self.assertEqual(answer.status, 200, name)
                shown = [upload for rival, upload in uploads if content(rival.number, upload.number) == got]
                self.assertEqual(len(shown), 1, f"{name} shows {len(got)} bytes that end in {got[-40:]!r}")
                later = [upload for upload in done if upload.begun > shown[0].ended]
                self.assertEqual(later, [], f"{name} shows an upload that another one replaced")
        total = sum(len(rival.uploads) for rival in rivals)
        print(f"test_rivals: {total} uploads of {len(names)} names, refused: {refused or 'none'}", flush=True)
        for said in refused:
            self.assertTrue(said in ("HTTP 500", "HTTP 503", "HTTP 409", "HTTP 423") or
                            any(said.startswith(f"exit code {code}:") for code in CODES_TOLD), said)


if __name__ == "__main__":
    xectest.main()
