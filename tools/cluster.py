#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""./dev cluster: tools/xrootd_cluster.py for the shell."""
import argparse
import sys

from xrootd_cluster import Cluster, ClusterError, Options, UsageError


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """One sentence, exit code 2."""
        print(f"dev cluster: {message} (see ./dev cluster --help)", file=sys.stderr)
        sys.exit(2)


def parse(argv):
    parser = Parser(prog="./dev cluster", description="A real vanilla XRootD cluster on this machine.",
                    allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="up|down|start|stop|status")
    up = commands.add_parser("up", help="start a cluster and print where its parts are", allow_abbrev=False)
    up.add_argument("--servers", type=int, required=True, metavar="N", help="number of data servers")
    up.add_argument("--dir", required=True, help="everything of the cluster lies below this directory")
    up.add_argument("--base-port", type=int, default=21000, metavar="P",
                    help="redirector P, servers P+11 on, gateways P+200 on (default %(default)s)")
    up.add_argument("--xrootd", default="/usr", metavar="PREFIX", help="where XRootD is installed (default /usr)")
    up.add_argument("--gateways", type=int, default=0, metavar="G", help="XEC gateways to start in front (default 0)")
    up.add_argument("--spaces", type=int, default=0, metavar="S",
                    help="each server keeps files in S data spaces (oss.space) and symbolic links in its name space")
    up.add_argument("--hosts", type=int, default=0, metavar="H",
                    help="tell the gateways that server I is on host (I-1) modulo H")
    up.add_argument("--geometry", default="", metavar="K+M", help="of the gateways, as the next four")
    up.add_argument("--chunk-size", default="", metavar="S")
    up.add_argument("--layout", default="", choices=("native", "xrdec"))
    up.add_argument("--xec", default="", metavar="PATH",
                    help="the xec program (default: found below $XEC_BUILD, or build/release)")
    up.add_argument("--serve-option", action="append", default=[], dest="serve_options", metavar="OPTION",
                    help="another option for `xec serve`, as --serve-option=--sync=none; may be repeated")
    for name, text in (("down", "stop all parts; the data stays"), ("status", "print the parts and who is dead")):
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        command.add_argument("--dir", required=True)
    for name in ("start", "stop"):
        command = commands.add_parser(name, help=f"{name} single parts, by name: server.3, gateway.1, redirector",
                                      allow_abbrev=False)
        command.add_argument("--dir", required=True)
        command.add_argument("parts", nargs="+", metavar="PART")
    return parser.parse_args(argv)


def run(arguments):
    if arguments.command == "up":
        values = {key: value for key, value in vars(arguments).items() if key != "command"}
        print("\n".join(Cluster(Options(**values)).up().describe()))
        return
    cluster = Cluster.load(arguments.dir)
    if arguments.command == "down":
        cluster.down()
    elif arguments.command == "status":
        print("\n".join(cluster.describe()))
        for part in cluster.parts():
            if not all(daemon.alive() for daemon in part.daemons()):
                print(f"dead: {part.name}")
    else:
        parts = [cluster.part(name) for name in arguments.parts]
        if arguments.command == "stop":
            cluster.stop(parts)
        else:
            for part in parts:
                cluster.start(part)
            print("\n".join(cluster.describe()))


def main(argv):
    try:
        run(parse(argv))
    except ClusterError as error:
        print(f"dev cluster: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
