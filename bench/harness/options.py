# SPDX-License-Identifier: LGPL-3.0-or-later
"""The command line of ./dev bench."""
import argparse
import datetime
import os
import re
import sys

import workloads

from . import peers
from .clients import REPO
from .errors import UsageError
from .subjects import Embedded, OnCluster, OnServers, Plain, Proxy

KINDS = {"plain": Plain, "proxy": Proxy, "embedded": Embedded, "cluster": OnCluster, "servers": OnServers}
PEERS = {"xrdec": (peers.XrdecGateway, peers.XrdecDirect), "s3": (peers.S3Peer,)}
GIB, MIB = 1 << 30, 1 << 20
UNITS = {"GiB": GIB, "MiB": MIB, "KiB": 1024, "GB": 10**9, "MB": 10**6, "KB": 1000}

EXAMPLES = """
What it does: starts every subject, each with directories and ports of its own, in a network namespace of this run alone, and
measures them in turn, round after round, so that whatever else the machine does meets all of them. A cell of the tables is
  MEDIAN [LEAST-MOST] xRATIO     over the rounds; the ratio is the median of those to plain xrootd of the same round.
Trust ratios more than figures: figures change with the machine's other work, which meets every subject of a round.

Examples:
  ./dev bench --quick                              minutes: that everything works, not how fast
  ./dev bench --goals --output                     everything, hours; tables, JSON and plots in bench/results/DATE-HHMM
  ./dev bench --only stream --dir /dev/shm         1 GiB with xrdcp, data in memory: what the software costs without disks
  ./dev bench --only small,plain,cluster --clients 8,64 --sync none --repeat 3
  ./dev bench --only ingest,cluster --scale 0.25   files of 50 MB
  ./dev bench --xrdec-prefix /opt/xrootd-6.1       beside XrdEc, gateway and direct
  AWS_ACCESS_KEY_ID=K AWS_SECRET_ACCESS_KEY=S ./dev bench --only stream,s3,cluster --s3-peer http://localhost:9000
  ./dev bench --micro                              coding, checksums and the engine on one core, beside raw ISA-L
  ./dev bench reads | ./dev bench metadata         other programs: reads and look-ups while servers fail (--help)
bench/README.md tells how each figure is measured and how to read it."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """One sentence, exit code 2."""
        print(f"bench: {message} (see ./dev bench --help)", file=sys.stderr)
        sys.exit(2)


def parse_size(text):
    found = re.fullmatch(r"(\d+)\s*([KMG]i?B)?", text)
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no size, like 1GiB, 27KB or 4096")
    return int(found[1]) * UNITS.get(found[2], 1)


def positive(kind):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not value > 0 or value == float("inf"):
            raise argparse.ArgumentTypeError(f"\"{text}\" is no number above 0")
        return value
    return parse


def client_counts(text):
    counts = [word for word in text.split(",") if word.isdigit() and 1 <= int(word) <= 1000]
    if not counts or len(counts) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"\"{text}\" are no numbers from 1 to 1000 with commas between")
    return [int(word) for word in counts]


def sync_policies(text):
    words = text.split(",")
    if not set(words) <= {"none", "commit"}:
        raise argparse.ArgumentTypeError("none, commit, or both with a comma between")
    return [policy for policy in ("none", "commit") if policy in words]


def geometry(text):
    found = re.fullmatch(r"([1-9]\d?)\+([1-9]\d?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no geometry, like 8+2")
    return text


def make_parser():
    listing = "\n".join(f"  {work.name:<11}{work.about}" for work in workloads.ALL)
    kinds = "\n".join(f"  {name:<11}{kind.stands_for}" for name, kind in KINDS.items())
    others = "\n".join(f"  {name:<11}{'; '.join(kind.stands_for for kind in found)}" for name, found in PEERS.items())
    parser = Parser(prog="./dev bench", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
                    description="Measures plain xrootd, XEC and its peers side by side on this machine.",
                    epilog=f"Subjects:\n{kinds}\n{others}\n\nWorkloads:\n{listing}\n{EXAMPLES}")
    what = parser.add_argument_group("what is measured")
    what.add_argument("--only", default="", metavar="WORD,...", help="only these subjects and these workloads (below)")
    what.add_argument("--sync", type=sync_policies, default=["none", "commit"], metavar="POLICY,...",
                      help="sync policies of the stores: none,commit (default both); plain never syncs, `plain commit` does")
    what.add_argument("--geometry", type=geometry, default="8+2", metavar="K+M", help="of the stores (default %(default)s)")
    what.add_argument("--servers", type=positive(int), default=12, metavar="N", help="directories, data servers (default 12)")
    what.add_argument("--serve-option", action="append", default=[], dest="serve_options", metavar="OPTION",
                      help="another one for every `xec serve`, as --serve-option=--memory=256MiB; may be repeated")
    what.add_argument("--xrdec-prefix", metavar="DIR", help="also XrdEc: an XRootD 6.1 built with -DENABLE_XRDEC=TRUE")
    what.add_argument("--s3-peer", metavar="URL", help="also a running store that speaks S3 (keys from AWS_ACCESS_KEY_ID and "
                      "AWS_SECRET_ACCESS_KEY; what is stored there stays below the bucket xec-bench and is deleted)")
    how = parser.add_argument_group("how")
    how.add_argument("--repeat", type=positive(int), metavar="N", help="rounds (default 5; with --quick 1)")
    how.add_argument("--seconds", type=positive(float), metavar="S",
                     help="of each measurement that goes by time (default 5; with --quick 0.2)")
    how.add_argument("--size", type=parse_size, metavar="S", help="of the single stream (default 1GiB; with --quick 16MiB)")
    how.add_argument("--scale", type=positive(float), metavar="F",
                     help="sizes of all other files, and numbers of entries, times F (default 1; with --quick 0.01)")
    how.add_argument("--clients", type=client_counts, metavar="N,...",
                     help="numbers of clients with small objects (default 1,8,64,300,1000; with --quick 1,8)")
    how.add_argument("--small-size", type=parse_size, default=27_000, metavar="S", help="of small objects (default 27KB)")
    how.add_argument("--settle", type=positive(float), metavar="S",
                     help="how long returned data servers get to be trusted again (default 45; with --quick 2)")
    how.add_argument("--requests", action="store_true",
                     help="also count requests to the data servers of clusters; two seconds more for each measurement")
    how.add_argument("--no-pages", action="store_true", help="all clients without page reads and writes (checksums of 4 KiB)")
    how.add_argument("--quick", action="store_true", help="small and short: shows that it works, not how fast")
    how.add_argument("--dir", metavar="DIR", help="where the data lies meanwhile (default: the temp directory)")
    out = parser.add_argument_group("what comes out")
    out.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    out.add_argument("--json", metavar="FILE", help="write every single value to FILE")
    out.add_argument("--output", nargs="?", const="", metavar="DIR",
                     help="write tables, values and plots (SVG) into DIR (without a name: bench/results/DATE-HHMM)")
    out.add_argument("--goals", action="store_true", help="at the end: each goal that was measured, and whether it is met")
    out.add_argument("--micro", action="store_true", help="also coding, checksums and the engine (on memory servers) on one core; alone: only these")
    return parser


USUAL = {"repeat": (5, 1), "seconds": (5.0, 0.2), "size": (GIB, 16 * MIB), "scale": (1.0, 0.01), "settle": (45.0, 2.0),
         "clients": ([1, 8, 64, 300, 1000], [1, 8])}


def parse(argv):
    parser = make_parser()
    options = parser.parse_args(argv)
    words = [word for word in options.only.split(",") if word]
    for word in words:
        if word not in [*KINDS, *PEERS, *(work.name for work in workloads.ALL)]:
            parser.error(f"--only: there is no subject and no workload \"{word}\"")
    options.kinds = [kind for kind in (*KINDS, *PEERS) if kind in words] or list((*KINDS, *PEERS))
    options.workloads = [work for work in workloads.ALL if work.name in words] or list(workloads.ALL)
    options.micro_alone = options.micro and not words
    for name, (usual, quick) in USUAL.items():
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else usual)
    data, parity = (int(word) for word in options.geometry.split("+"))
    if options.servers < data + parity:
        parser.error(f"--geometry {options.geometry} needs {data + parity} data servers; --servers is {options.servers}")
    try:
        if options.xrdec_prefix:
            options.xrdec_prefix = os.path.abspath(options.xrdec_prefix)
            peers.check_prefix(options.xrdec_prefix)
        if options.s3_peer:
            if not re.match(r"https?://[^/]+", options.s3_peer):
                parser.error(f"--s3-peer: \"{options.s3_peer}\" is no URL, like http://localhost:9000")
            peers.S3Peer.keys()
    except UsageError as error:
        parser.error(str(error))
    for word, given in (("xrdec", options.xrdec_prefix), ("s3", options.s3_peer)):
        if word in words and not given:
            parser.error(f"--only {word} needs --{'xrdec-prefix DIR' if word == 'xrdec' else 's3-peer URL'}")
    if options.output == "":
        options.output = os.path.join(REPO, "bench", "results", f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d-%H%M}")
    return options


def as_dict(options):
    """What of the options belongs to the values."""
    return {"sync": options.sync, "geometry": options.geometry, "servers": options.servers, "repeat": options.repeat,
            "seconds": options.seconds, "size": options.size, "scale": options.scale, "clients": options.clients,
            "small_size": options.small_size, "serve_options": options.serve_options, "pages": not options.no_pages,
            "settle": options.settle, "requests": options.requests, "quick": options.quick, "workloads": [work.name for work in options.workloads]}
