#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""root_checksums.py URL: questions for adler32 on one connection of root://, for the names on standard input, one after another.
Prints the seconds that each took, as JSON. Needs python3-xrootd."""
import json
import sys
import time

from XRootD import client
from XRootD.client.flags import QueryCode


def main(url, names):
    server = client.FileSystem(url)
    status, _ = server.stat("/")
    took = []
    for name in names:
        start = time.monotonic()
        status, answer = server.query(QueryCode.CHECKSUM, name + "?cks.type=adler32")
        took.append(time.monotonic() - start)
        if not status.ok or not answer.startswith(b"adler32 "):
            sys.exit(f"root_checksums: {name}: {status.message.strip()} {answer!r}")
    print(json.dumps({"took": took}))


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.read().split())
