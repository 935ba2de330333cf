# SPDX-License-Identifier: LGPL-3.0-or-later
"""The operations of chaos over root://, with the stock client library (python3-xrootd).

Every method returns (outcome, fields of the end line). The library must not hide what happens, so it recovers nothing and
gives up early; what it still sends twice, checker.py knows (judge.maybe_sent_twice). Its timeouts are per request.
"""
import os

# Read by the library when it is loaded. Within its windows (s) it answers by itself, with the error of a connection that broke:
# for less than checker.SETTLE_SECONDS, or this is taken for an error of a gateway that is long back.
os.environ.update(XRD_CONNECTIONWINDOW="2", XRD_CONNECTIONRETRY="1", XRD_STREAMERRORWINDOW="2", XRD_REQUESTTIMEOUT="120",
                  XRD_STREAMTIMEOUT="90", XRD_TIMEOUTRESOLUTION="1", XRD_OPENRECOVERY="false", XRD_READRECOVERY="false",
                  XRD_WRITERECOVERY="false", XRD_LOGLEVEL="Error")

from XRootD import client  # noqa: E402
from XRootD.client.flags import OpenFlags  # noqa: E402

import content  # noqa: E402
import history  # noqa: E402

STEP = 4 << 20
NUMBERS = {3011: history.NOT_FOUND, 3018: history.EXISTS}


class Abandoned(Exception):
    """An upload failed half way. Any close, also that of a destructor, might commit what is there: the process has to
    end, as when a client dies."""

    def __init__(self, outcome, text):
        super().__init__(text)
        self.outcome, self.text = outcome, text


def failure(status):
    text = " ".join(status.message.split())[:200]
    outcome = NUMBERS.get(status.errno)
    if outcome is None:
        outcome = history.RETRY if "temporarily unavailable" in text or status.errno == 3024 else history.ERROR
    return outcome, {"text": text, "down": status.errno == 0 and "onnect" in text}


class RootClient:
    protocol = "root"

    def __init__(self, gateway):
        self.url = gateway["root"]
        self.files = client.FileSystem(self.url)

    def put(self, name, number, size, exclusive):
        file = client.File()
        mode = OpenFlags.NEW if exclusive else OpenFlags.DELETE
        status, _ = file.open(f"{self.url}/{name}", mode | OpenFlags.UPDATE | OpenFlags.MAKEPATH)
        if not status.ok:
            return failure(status)
        offset = 0
        for data in content.stream(number, size, STEP):
            status, _ = file.write(data, offset, len(data))
            if not status.ok:
                outcome, fields = failure(status)
                raise Abandoned(history.ERROR if outcome in NUMBERS.values() else outcome, "write: " + fields["text"])
            offset += len(data)
        status, _ = file.close()
        if not status.ok:
            outcome, fields = failure(status)
            if outcome == history.NOT_FOUND:
                outcome = history.ERROR  # not of the name: that exists as soon as the upload is whole
            return outcome, {**fields, "text": "close: " + fields["text"]}
        return history.OK, {}

    def get(self, name, _):
        return self._read(name, lambda size: (0, size))

    def range(self, name, generator):
        def choose(size):
            offset = generator.randrange(size) if size > content.BLOCK else 0
            length = generator.choice((content.BLOCK + content.SIZE_MIN, 100_000, 2 << 20))
            return (offset, length) if content.covers_header(size, offset, length) else (0, length)
        return self._read(name, choose)

    def _read(self, name, choose):
        file = client.File()
        status, _ = file.open(f"{self.url}/{name}", OpenFlags.READ)
        if not status.ok:
            return failure(status)
        try:
            status, info = file.stat()
            if not status.ok:
                return self._open_failure(status)
            offset, length = choose(info.size)
            reader, end = content.Reader(offset), min(info.size, offset + length)
            while reader.begin + reader.length < end and not reader.problem:
                at = reader.begin + reader.length
                status, data = file.read(at, min(STEP, end - at))
                if not status.ok:
                    return self._open_failure(status)
                if not data:
                    return history.WRONG, {"text": f"nothing at offset {at} of {info.size}"}
                reader.add(data)
            number = reader.finish()
        finally:
            file.close()
        if reader.problem:
            return history.WRONG, {"text": reader.problem}
        return history.OK, {"content": number, "size": reader.length}

    @staticmethod
    def _open_failure(status):
        """Who has an object open is not told any more that it does not exist."""
        outcome, fields = failure(status)
        return (history.ERROR if outcome in NUMBERS.values() else outcome), fields

    def stat(self, name, _):
        status, info = self.files.stat(name)
        return (history.OK, {"size": info.size}) if status.ok else failure(status)

    def list(self, name, _):
        status, listing = self.files.dirlist(name)
        return (history.OK, {"listed": [entry.name for entry in listing]}) if status.ok else failure(status)

    def remove(self, name):
        status, _ = self.files.rm(name)
        return (history.OK, {}) if status.ok else failure(status)

    def rename(self, name, to):
        status, _ = self.files.mv(name, to)
        return (history.OK, {}) if status.ok else failure(status)
