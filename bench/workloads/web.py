# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the web doors cost: whole streams by curl and as third-party copies, names on connections that stay open, and
questions for checksums."""
import filecmp
import json
import os
import statistics
import sys

from harness import clients
from harness.errors import BenchError
from harness.subject import HOST
from harness.subjects import Plain

from .base import GIB, MIB, Workload, format_size
from .stream import make_file

LOAD = os.path.join(clients.REPO, "bench", "load")
CONNECTIONS = (1, 8)
# How those of http ask, by what they call it.
METHODS = {"stat": ("HEAD",), "stat by PROPFIND": ("PROPFIND", "--header", "Depth: 0"), "delete": ("DELETE",)}
COPY = "https third-party pull"
SMALL, ASK_AGAIN = 1000, 9


class Web(Workload):
    name = "web"
    about = "http and https beside root: streams by curl, third-party copies, names, checksums"
    over_web = True
    many_names = True
    usual = {"objects": 1000, "large": 5 * GIB}

    def __init__(self, bench):
        super().__init__(bench)
        self.source = Plain(os.path.join(bench.dir, "web-source"), bench.free_port())
        self.source.open_web(bench.web_site)
        self.source.start()
        self.file = make_file(os.path.join(self.source.roots()[0], "source"), self.options.size)
        os.chmod(self.file, 0o644)

    def suits(self, subject):
        return subject.has_web and super().suits(subject)

    def title(self):
        return f"stream of {format_size(self.options.size)} over the web"

    def steps(self):
        return [("streams, ", self.streams), ("names, ", self.names), ("checksums, ", self.checksums)]

    def prepare(self, subject):
        """There and back is the same, by each way; also warms up programs and servers."""
        back = os.path.join(self.bench.dir, "back")
        for way, scheme in (("http PUT", "https"), ("https PUT", "http"), (COPY, "http")):
            self.move(way, subject, "web-check")
            self.curl("--output", back, f"{subject.web_url(scheme)}/web-check")
            same = filecmp.cmp(self.file, back, shallow=False)
            os.unlink(back)
            subject.remove("web-check")
            if not same:
                raise BenchError(f"{subject.name} gives back other bytes by {scheme} than it got by {way}")

    def close(self):
        self.source.stop()
        os.unlink(self.file)

    def curl(self, *words):
        return self.bench.web_site.curl(*words)

    # Streams.

    def streams(self, subject, turn):
        for way in ("http PUT", "http GET", "https PUT", "https GET", COPY):
            name = f"web-{way.split()[0]}-{turn}" if way != COPY else f"web-copy-{turn}"
            with self.bench.meter(subject) as cost:
                ran = self.move(way, subject, name)
            self.add(f"{way} MiB/s", subject, turn, self.options.size / MIB / ran.seconds, ratio=True)
            self.add_cost(way, subject, turn, self.options.size, ran.cpu, cost)
            if not way.endswith("PUT"):
                subject.remove(name)

    def move(self, way, subject, name):
        scheme = way.split()[0]
        url = f"{subject.web_url(scheme)}/{name}"
        if way.endswith("PUT"):
            return self.curl("--upload-file", self.file, url)
        if way.endswith("GET"):
            return self.curl("--output", "/dev/null", url)
        ran = self.curl("--request", "COPY", "--header", f"Source: {self.source.web_url('https')}/source", url)
        if not ran.out.strip().splitlines()[-1:] == ["success: Created"]:
            raise BenchError(f"{subject.name}: a third-party copy ended with {clients.last_line(ran.out)}")
        return ran

    # Names.

    def names(self, subject, turn):
        for connections in CONNECTIONS:
            each = max(1, self.scaled(self.sizes["objects"]) // connections)
            rates = {}
            for protocol in ("root", "https"):
                folder = f"web-{protocol}-{connections}-{turn}"
                subject.make_folder(folder)
                self.load(subject, "put", folder, connections, "--count", each)
                for operation in METHODS:
                    if protocol == "root" and operation == "stat by PROPFIND":
                        continue
                    rates[protocol, operation] = self.operate(subject, turn, protocol, operation, folder, connections, each)
                subject.forget(folder)
            self.add(f"stat by https over root, {plural(connections)}", subject, turn,
                     rates["https", "stat"] / rates["root", "stat"], table="web names")

    def operate(self, subject, turn, protocol, operation, folder, connections, each):
        """Operations in a second."""
        with self.bench.meter(subject) as cost:
            if protocol == "root":
                answer = self.load(subject, operation, folder, connections, "--objects", each,
                                   *(("--count", each) if operation == "stat" else ()))
            else:
                names = [[f"/{folder}/c{client:03}-{number:06}" for number in range(each)] for client in range(connections)]
                answer = self.https(subject, names, *METHODS[operation])
        row, operations = f"{operation}, {protocol}, {plural(connections)}", connections * each
        self.add(row, subject, turn, operations / answer["seconds"], ratio=True, table="web names",
                 title=f"operations/s on {self.scaled(self.sizes['objects'])} objects of {format_size(self.options.small_size)}")
        self.add(row, subject, turn, 1000 * cost.cpu / operations, table="web names cpu",
                 title="server CPU ms for each of these operations")
        self.add(row, subject, turn, 1000 * answer["cpu_seconds"] / operations, table="web names client cpu",
                 title="client CPU ms for each of these operations")
        self.add_requests(row, subject, turn, operations, cost, table="web names requests",
                          title="requests to data servers for each of these operations")
        return operations / answer["seconds"]

    def load(self, subject, operation, folder, connections, *words):
        return self.bench.load(subject, "small", "--operation", operation, "--clients", connections, "--size",
                               self.options.small_size, "--folder", "/" + folder, *words)

    def https(self, subject, names, method, *words):
        """As xec_load answers; a list of names for each connection."""
        ran = clients.run([sys.executable, os.path.join(LOAD, "https_load.py"), "--host", HOST, "--port",
                           str(subject.http_port()), "--ca", self.bench.web_site.certificate, "--method", method, *words],
                          stdin="\n".join(" ".join(some) for some in names))
        return json.loads(ran.out)

    # Checksums.

    def checksums(self, subject, turn):
        """The first question for a new object and more of them for the same one, on a connection that is there already."""
        large = self.scaled(self.sizes["large"])
        folder = f"web-checksums-{turn}"
        # The last one is there to be asked for before what is measured.
        self.write_files(subject, folder, [large, SMALL, SMALL])
        for protocol in ("root", "https"):
            first, again = {}, {}
            for size, number in ((large, 0), (SMALL, 1)):
                took = self.ask(subject, protocol, [f"/{folder}/s{which:04}" for which in [2, *[number] * (1 + ASK_AGAIN)]])
                first[size], again[size] = took[1], statistics.median(took[2:])
            # Plain xrootd computes at the first question, and keeps the answer.
            for when, found in (("first", first), ("again", again)) if protocol == "root" else (("again", again),):
                for size in (large, SMALL):
                    self.add_checksum(f"{protocol}, {when}: {format_size(size)}, ms", subject, turn, 1000 * found[size])
                self.add_checksum(f"{protocol}, {when}: large over small", subject, turn, found[large] / found[SMALL])
        subject.forget(folder)

    def add_checksum(self, row, subject, turn, value):
        self.add(row, subject, turn, value, table="web checksums", title="a question for a checksum")

    def ask(self, subject, protocol, names):
        """Seconds that each question took."""
        if protocol == "https":
            return self.https(subject, [names], "HEAD", "--header", "Want-Digest: adler32", "--wanted",
                              "digest: adler32=")["took"]
        # python3-xrootd is for Debian's python.
        python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
        return json.loads(clients.run([python, os.path.join(LOAD, "root_checksums.py"), subject.url],
                                      stdin="\n".join(names)).out)["took"]


def plural(connections):
    return f"{connections} connection{'s' if connections > 1 else ''}"
