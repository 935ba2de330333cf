# SPDX-License-Identifier: LGPL-3.0-or-later
"""The operations of chaos over http://, as root_client.py. One connection for each request: what breaks is then plain."""
import http.client
import re
import urllib.parse

import content
import history

STEP = 1 << 20
SECONDS = 120.0
NUMBERS = {404: history.NOT_FOUND, 412: history.EXISTS}
HREF = re.compile(r"<[A-Za-z]*:?href>([^<]*)</", re.IGNORECASE)


class HttpClient:
    protocol = "http"

    def __init__(self, gateway):
        self.host, self.port = gateway["host"], gateway["http"]

    def _request(self, method, name, use, headers=None, body=None):
        """`use(response)` gives the answer to a status of 2xx."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)
        try:
            try:
                connection.connect()
            except OSError as error:
                return history.ERROR, {"text": f"connect: {error}", "down": True}
            connection.request(method, urllib.parse.quote(name), body=body, headers=headers or {})
            response = connection.getresponse()
            if response.status // 100 == 2:
                return use(response)
            text = " ".join(response.read(500).decode(errors="replace").split())
            outcome = NUMBERS.get(response.status)
            if outcome is None:
                retry = response.status == 503 or "temporarily unavailable" in text
                outcome = history.RETRY if retry else history.ERROR
            return outcome, {"text": f"{response.status} {text}"[:200]}
        except (OSError, http.client.HTTPException) as error:
            return history.ERROR, {"text": f"{type(error).__name__}: {error}"[:200]}
        finally:
            connection.close()

    @staticmethod
    def _done(response):
        response.read()
        return history.OK, {}

    def put(self, name, number, size, exclusive):
        assert not exclusive, "http has no exclusive creation"
        return self._request("PUT", name, self._done, {"Content-Length": str(size)}, content.stream(number, size, STEP))

    def get(self, name, _):
        return self._request("GET", name, lambda response: self._body(response, 0))

    def range(self, name, generator):
        outcome, fields = self.stat(name, None)
        if outcome != history.OK or not fields["size"]:
            return outcome, {key: value for key, value in fields.items() if key != "size"}
        size = fields["size"]
        length = generator.choice((content.BLOCK + content.SIZE_MIN, 100_000, 2 << 20))
        offset = generator.randrange(size)
        if not content.covers_header(size, offset, length):
            offset = 0
        last = min(size, offset + length) - 1
        outcome, fields = self._request("GET", name, lambda response: self._body(response, offset),
                                        {"Range": f"bytes={offset}-{last}"})
        if outcome == history.ERROR and self.stat(name, None) != (history.OK, {"size": size}):
            # Replaced since the first request. To a range beyond the end of a shorter object XRootD 5 answers 206 and then
            # nothing, where 416 would be right.
            return history.OK, {}
        return outcome, fields

    @staticmethod
    def _body(response, offset):
        reader = content.Reader(offset if response.status == 206 else 0)
        expected = int(response.getheader("Content-Length", "-1"))
        error = ""
        try:
            while data := response.read(STEP):
                reader.add(data)
        except (OSError, http.client.HTTPException) as problem:
            error = f"{type(problem).__name__}: {problem}"[:200]
        if not error and 0 <= expected != reader.length:
            error = f"{reader.length} of {expected} bytes came"
        if error and reader.content is None:
            return history.ERROR, {"text": error}
        number = reader.finish()
        if reader.problem:
            return history.WRONG, {"text": reader.problem}
        if error:
            return history.ERROR, {"text": error}
        return history.OK, {"content": number, "size": reader.length}

    def stat(self, name, _):
        return self._request("HEAD", name, lambda response: (
            history.OK, {"size": int(response.getheader("Content-Length", "-1"))}))

    def list(self, name, _):
        def names(response):
            hrefs = [urllib.parse.unquote(href) for href in HREF.findall(response.read().decode(errors="replace"))]
            paths = [urllib.parse.urlsplit(href).path if "://" in href else href for href in hrefs]
            listed = [path.rstrip("/").rpartition("/")[2] for path in paths if path.rstrip("/") != name]
            return history.OK, {"listed": listed}
        return self._request("PROPFIND", name, names, {"Depth": "1", "Content-Length": "0"})

    def remove(self, name):
        return self._request("DELETE", name, self._done)

    def rename(self, name, to):
        return self._request("MOVE", name, self._done, {
            "Destination": f"http://{self.host}:{self.port}{urllib.parse.quote(to)}"})
