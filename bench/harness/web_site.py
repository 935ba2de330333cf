# SPDX-License-Identifier: LGPL-3.0-or-later
"""What servers and clients of https need for one run: a certificate that they trust, and lines for stock xrootd and gateways."""
import os

import daemons

from . import clients
from .subject import HOST


class WebSite:
    """Lines and options for servers, and how curl is told whom to trust. Files lie below `directory`."""

    def __init__(self, directory):
        os.makedirs(directory)
        self.user = daemons.User().entry
        self.certificate = os.path.join(directory, "certificate.pem")
        self.key = os.path.join(directory, "key.pem")
        clients.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                     "-addext", f"subjectAltName=IP:{HOST}", "-keyout", self.key, "-out", self.certificate])
        # XRootD wants a key that is its own user's alone.
        os.chmod(self.key, 0o600)
        if self.user:
            os.chown(self.key, self.user.pw_uid, self.user.pw_gid)
        self.lines = [f"xrd.tls {self.certificate} {self.key}", f"xrd.tlsca certfile {self.certificate}",
                      "http.exthandler xrdtpc libXrdHttpTPC.so"]
        self.gateway_file = os.path.join(directory, "gateway.conf")
        with open(self.gateway_file, "w", encoding="ascii") as file:
            file.write("\n".join(self.lines) + "\n")

    def plain_lines(self, port):
        """Of a stock xrootd that answers http and https at `port`, and questions for adler32 as gateways do."""
        return [*self.lines, f"xrd.protocol http:{port} libXrdHttp.so", "xrootd.chksum adler32"]

    def curl(self, *words):
        return clients.run(["curl", "--silent", "--show-error", "--fail", "--cacert", self.certificate, *words])
