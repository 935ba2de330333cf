# SPDX-License-Identifier: LGPL-3.0-or-later
"""A client that changes files, by the Python bindings of XRootD, one request after another: each line that comes in is
a JSON list, a method of XRootD.client.File with its arguments (texts are bytes in latin-1; flags are names joined by
"|"); each line that goes out has what it answered, or {"error": MESSAGE}."""
import json
import sys

from XRootD import client
from XRootD.client.flags import OpenFlags


def ask(file, method, *arguments):
    if method == "open":
        url, names = arguments
        flags = 0
        for name in names.split("|"):
            flags |= getattr(OpenFlags, name)
        status, value = file.open(url, flags)
    elif method == "write":
        text, offset = arguments
        status, value = file.write(text.encode("latin-1"), offset=offset)
    else:
        status, value = getattr(file, method)(*arguments)
    if not status.ok:
        return {"error": status.message}
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.size if hasattr(value, "size") else None


def main():
    file = client.File()
    for line in sys.stdin:
        words = json.loads(line)
        if words[0] == "open":
            file = client.File()
        print(json.dumps(ask(file, *words)), flush=True)


if __name__ == "__main__":
    main()
