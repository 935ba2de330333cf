# SPDX-License-Identifier: LGPL-3.0-or-later
"""The goals of XEC's speed, each judged by what one run measured. A goal whose figures are not in the run is left out."""
import dataclasses

from .report import MEMORY

BUDGET_MIB = 1024        # of the gateway by default (xec.memory)
BESIDES_BUDGET_MIB = 256
# Operations/s with 8 clients on objects of 27 KB on another machine of 2 cores: plain xrootd, and XrdEc's gateway beside it.
# Figures "scaled by plain" are the ratio to plain in this run times the first.
PLAIN_THERE = {"put": 6377, "get": 7424, "stat": 26386, "delete": 17190}
XRDEC_THERE = {"put": 217, "get": 431, "stat": 829, "delete": 1178}
XRDEC = "xrdec gateway"


@dataclasses.dataclass
class Goal:
    what: str
    goal: str
    measured: float
    met: bool
    must: bool     # a floor, not only an aim
    note: str = ""


class Judge:
    def __init__(self, results, options, about):
        self.results = results
        self.options = options
        self.about = about
        self.goals = []
        data, parity = (int(word) for word in options.geometry.split("+"))
        self.stored = (data + parity) / data

    def at_least(self, what, value, bound, must=False, note=""):
        if value is not None:
            self.goals.append(Goal(what, f">= {bound:g}", value, value >= bound, must, note))

    def at_most(self, what, value, bound, must=False, note=""):
        if value is not None:
            self.goals.append(Goal(what, f"<= {bound:g}", value, value <= bound, must, note))

    def all(self):
        for part in (self.streams, self.cluster_streams, self.many, self.data_moved, self.links, self.ingest,
                     self.small_cluster, self.small_embedded, self.thousand, self.degraded, self.sparse, self.vector,
                     self.listing, self.web_streams, self.web_names, self.memory, self.codec):
            part()
        return self.goals

    def streams(self):
        ratio = self.results.ratio
        if self.about["file_system"] == "tmpfs":
            for row, bound in (("upload MiB/s", 0.9), ("download MiB/s", 0.95)):
                self.at_least(f"embedded none, stream on tmpfs: {row} over plain",
                              ratio("stream", row, "embedded none", "plain"), bound, must=True)
            for way, bound in (("upload", 1.25), ("download", 1.1)):
                self.at_most(f"embedded none, stream on tmpfs: {way} CPU s/GiB over plain",
                             ratio("stream", f"{way} CPU s/GiB, all", "embedded none", "plain"), bound, must=True)
        else:
            self.at_least(f"embedded commit on {self.about['file_system']}: upload MiB/s over plain commit",
                          ratio("stream", "upload MiB/s", "embedded commit", "plain commit"), 0.8)

    def cluster_streams(self):
        ratio = self.results.ratio
        for row, bound in (("upload MiB/s", 1.2), ("upload without page checksums MiB/s", 1.2), ("download MiB/s", 1.5)):
            self.at_least(f"cluster none, stream: {row} over XrdEc's gateway", ratio("stream", row, "cluster none", XRDEC),
                          bound, must=True)
        for way, bound in (("upload", 1.9), ("download", 1.7)):
            self.at_most(f"cluster none, stream: {way} CPU s/GiB over plain",
                         ratio("stream", f"{way} CPU s/GiB, all", "cluster none", "plain"), bound, must=True)

    def many(self):
        for subject in ("embedded none", "cluster none"):
            written = self.results.ratio("streams16", "upload MiB/s, all together", subject, "plain")
            read = self.results.ratio("streams16", "download MiB/s, all together", subject, "plain")
            copied = self.results.ratio("readwrite", "MiB/s read and written back", subject, "plain")
            note = f"times the {self.stored:g} bytes stored for each"
            self.at_least(f"{subject}, 16 streams: upload over plain at equal bytes stored",
                          written and written * self.stored, 0.9, note=note)
            self.at_least(f"{subject}, 16 streams: download over plain", read, 0.9)
            self.at_least(f"{subject}, read and write back over plain at equal bytes stored",
                          copied and copied * (1 + self.stored) / 2, 0.9, note="half read, half stored")

    def data_moved(self):
        # Smaller files are not streamed, so nothing of them is kept; larger ones do not fit.
        in_cache = 0.15 <= self.options.scale <= 2
        for subject in ("embedded cache", "cluster cache") if in_cache else ():
            self.at_most(f"{subject}, re-reading: bytes from servers for each unique one",
                         self.results.median("reread", "bytes from data servers for each unique one", subject), 1.1)
        for subject in ("embedded none", "cluster none"):
            self.at_most(f"{subject}, sequential read: bytes from servers for each",
                         self.results.median("stream", "download, bytes from data servers for each", subject), 1.02)

    def links(self):
        for subject in ("embedded none", "cluster none"):
            for way in ("upload", "download"):
                self.at_least(f"{subject}, links of 1 Gbit/s: {way} over what the wire allows",
                              self.results.median("links", f"{way}, part of what the wire allows", subject), 0.9)

    def ingest(self):
        for subject in ("embedded none", "cluster none"):
            for what, bound in (("90 %", 3), ("90 %, server killed", 4)):
                self.at_most(f"{subject}, ingest at {what}: p99 over the median",
                             self.results.median("ingest", f"{what}: p99 as a multiple of the median", subject), bound)
                self.at_most(f"{subject}, ingest at {what}: failed",
                             self.results.worst("ingest", f"{what}: failed", subject), 0)

    def small_cluster(self):
        for operation, bound in (("put", 5), ("get", 6), ("stat", 8), ("delete", 3)):
            row = f"{operation}, 8 clients"
            value, note = self.results.ratio("small", row, "cluster none", XRDEC), "XrdEc in this run"
            if value is None:
                ratio = self.results.ratio("small", row, "cluster none", "plain")
                value = ratio and ratio * PLAIN_THERE[operation] / XRDEC_THERE[operation]
                note = "XrdEc's figures of another machine, scaled by plain"
            self.at_least(f"cluster none, 8 clients: {operation} over XrdEc's gateway", value, bound, must=True, note=note)
            self.at_least(f"servers none, 8 clients: {operation} over XrdEc's gateway",
                          self.results.ratio("small", row, "servers none", XRDEC), bound, note="no cmsd beside ours")

    def small_embedded(self):
        for operation, bound in (("put", 3000), ("get", 6000), ("delete", 6000)):
            ratio = self.results.ratio("small", f"{operation}, 8 clients", "embedded none", "plain")
            self.at_least(f"embedded none, 8 clients: {operation}/s", ratio and ratio * PLAIN_THERE[operation], bound,
                          note=f"scaled by plain = {PLAIN_THERE[operation]}")

    def thousand(self):
        for subject in ("embedded none", "cluster none"):
            for operation in ("put", "get", "stat", "delete"):
                self.at_least(f"{subject}, {operation}: 1,000 clients over 8",
                              self.results.ratio("small", f"{operation}, 1000 clients", subject, subject,
                                                 base_row=f"{operation}, 8 clients"), 0.7, must=True)

    def degraded(self):
        for subject in ("embedded none", "cluster none"):
            self.at_least(f"{subject}, 2 gone: read MiB/s over healthy",
                          self.results.median("degraded", "MiB/s, ratio to all there", subject), 0.8, must=True)
            self.at_most(f"{subject}, 2 gone: CPU s/GiB over healthy",
                         self.results.median("degraded", "CPU s/GiB, ratio to all there", subject), 1.2, must=True)

    def sparse(self):
        for size, rounding in (("64 KiB", 1 + 8 / 64), ("4 KiB", 2)):
            for subject in ("embedded none", "cluster none"):
                self.at_most(f"{subject}, reads of {size}: bytes from servers for each",
                             self.results.median("sparse", f"{size}: bytes from data servers for each", subject),
                             1.1 * rounding, note=f"1.1 x {rounding:g}, whole pages at both ends")
            self.at_least(f"cluster none, reads of {size}: rate over XrdEc's gateway",
                          self.results.ratio("sparse", f"{size}: reads/s", "cluster none", XRDEC), 5)

    def vector(self):
        for subject in ("embedded none", "cluster none"):
            self.at_least(f"{subject}, vector reads: MiB/s over plain",
                          self.results.ratio("vector", "MiB/s", subject, "plain"), 0.8)
            self.at_most(f"{subject}, vector reads: bytes from servers for each (and pages)",
                         self.results.median("vector", "the same with a page for each end of a piece", subject), 1.1)
            right = self.results.median("vector", "2 gone: MiB/s", subject)
            self.at_least(f"{subject}, vector reads: right with 2 gone", None if right is None else 1, 1,
                          note="what came was compared")

    def listing(self):
        if "entries" not in self.about or self.about["entries"] != 100_000:
            return
        for subject in ("embedded none", "cluster none"):
            for row, bound in (("names: first entry, s", 0.2), ("names: all, s", 3), ("with sizes: all, s", 10),
                               ("just written, names: all, s", 3), ("just written, with sizes: all, s", 10)):
                self.at_most(f"{subject}, listing of 100,000: {row}", self.results.median("listing", row, subject), bound)

    def web_streams(self):
        for subject, put in (("embedded none", 0.7), ("cluster none", 0.5)):
            for scheme in ("http", "https"):
                for way, bound in (("PUT", put), ("GET", 0.9)):
                    self.at_least(f"{subject}, 1 stream by curl: {scheme} {way} MiB/s over plain",
                                  self.results.ratio("web", f"{scheme} {way} MiB/s", subject, "plain"), bound)

    def web_names(self):
        for subject in ("embedded none", "cluster none"):
            for connections in ("1 connection", "8 connections"):
                for protocol in ("root", "https"):
                    self.at_least(f"{subject}, {connections}: deletes/s by {protocol} over plain",
                                  self.results.ratio("web names", f"delete, {protocol}, {connections}", subject, "plain"),
                                  0.3, must=True)
                self.at_least(f"{subject}, {connections}: stats/s by https over root",
                              self.results.median("web names", f"stat by https over root, {connections}", subject), 0.8,
                              must=True)
            for row in ("root, first", "root, again", "https, again"):
                self.at_most(f"{subject}, question for a checksum, {row}: large over small",
                             self.results.median("web checksums", f"{row}: large over small", subject), 2, must=True)

    def memory(self):
        table = self.results.tables.get(MEMORY)
        for subject in ("embedded none", "embedded commit", "embedded cache", "cluster none", "cluster commit", "cluster cache"):
            peaks = [(self.results.worst(MEMORY, row, subject), row) for row in (table.rows if table else ())]
            peaks = [(peak, row) for peak, row in peaks if peak is not None]
            if peaks:
                peak, row = max(peaks)
                self.at_most(f"{subject}: peak memory of the gateway, MiB", peak, BUDGET_MIB + BESIDES_BUDGET_MIB,
                             must=True, note=row)

    def codec(self):
        self.at_least("codec: 8+2 of 1 MiB over raw ISA-L", self.results.ratio("micro", "Encode 8+2, 1 MiB: GB/s", "xec",
                                                                             "raw ISA-L"), 0.95)
        for row, bound in (("WriteObject 256 MiB: GB/s", 2.5), ("ReadObject 256 MiB: GB/s", 6)):
            self.at_least(f"engine on memory servers, one core: {row}", self.results.median("micro", row, "xec"), bound,
                          note="whatever the processor")


def rows(goals):
    """For tables.render."""
    found = []
    for goal in goals:
        digits = f"{goal.measured:.2f}" if goal.measured < 100 else f"{goal.measured:.0f}"
        found.append((("* " if goal.must else "  ") + goal.what, [goal.goal, digits, "met" if goal.met else "NOT MET",
                                                                  goal.note]))
    return found
