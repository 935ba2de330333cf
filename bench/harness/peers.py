# SPDX-License-Identifier: LGPL-3.0-or-later
"""Others that keep objects erasure-coded: XrdEc of an XRootD built with it, and stores that speak S3."""
import glob
import os

import daemons
import xrootd_cluster

from . import clients, requests
from .errors import BenchError, UsageError
from .subject import HOST, NO_PAGES, Daemon, Subject

CHUNK_BYTES = 1 << 20


def check_prefix(prefix):
    """One sentence about a prefix that cannot be used."""
    program = os.path.join(prefix, "bin", "xrootd")
    if not os.access(program, os.X_OK):
        raise UsageError(f"--xrdec-prefix: there is no bin/xrootd in \"{prefix}\"; give the folder where an XRootD 6.1 that "
                         "was configured with -DENABLE_XRDEC=TRUE is installed")
    libraries = [path for folder in ("lib", "lib64", "lib/x86_64-linux-gnu")
                 for path in glob.glob(os.path.join(prefix, folder, "libXrdEc.so*"))]
    if not libraries:
        raise UsageError(f"--xrdec-prefix: the XRootD in \"{prefix}\" was built without XrdEc (there is no libXrdEc): "
                         "configure it with -DENABLE_XRDEC=TRUE")


class XrdecCluster:
    """A redirector and data servers of the prefix's own version, shared by gateway and direct clients."""

    def __init__(self, directory, port, prefix, options):
        self.dir = directory
        self.prefix = prefix
        self.geometry = [int(word) for word in options.geometry.split("+")]
        self.cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=os.path.join(directory, "cluster"), servers=options.servers, base_port=port, xrootd=prefix,
            server_lines=[requests.SERVER_LINE] if options.requests else []))
        self.users = 0

    def environment(self):
        """What makes a client of the prefix, or an XrdPss, keep its files with XrdEc."""
        return {**self.cluster.environment(), "XRD_PLUGINCONFDIR": os.path.join(self.dir, "plugins")}

    def start(self):
        self.users += 1
        if self.users > 1:
            return
        os.makedirs(os.path.join(self.dir, "plugins"))
        os.chmod(self.dir, 0o755)
        data, parity = self.geometry
        with open(os.path.join(self.dir, "plugins", "xrdec.conf"), "w", encoding="utf-8") as file:
            file.write(f"url = root://*\nlib = XrdEcDefault\nenable = true\nnbdta = {data}\nnbprt = {parity}\n"
                       f"chsz = {CHUNK_BYTES}\n")
        os.makedirs(self.cluster.options.dir)
        self.cluster.up()

    def stop(self):
        self.users -= 1
        if self.users == 0:
            self.cluster.down()

    def pids(self):
        return [daemon.pid for part in self.cluster.parts() for daemon in part.daemons()]

    def program(self, name):
        return os.path.join(self.prefix, "bin", name)


class Xrdec(Subject):
    page_writes = False  # it dies of them: their buffer is used after it was freed

    def __init__(self, directory, port, shared):
        super().__init__(directory, port)
        self.shared = shared
        self.stored_per_byte = sum(shared.geometry) / shared.geometry[0]

    def check_coding(self):
        """A client plug-in that cannot be loaded is passed over in silence, and what is measured is a plain cluster."""
        name = f"check-{self.kind.replace(' ', '-')}"
        file = os.path.join(self.shared.dir, name)
        with open(file, "wb") as out:
            out.write(bytes(CHUNK_BYTES))
        self.upload(file, name)
        copies = sum(os.path.lexists(os.path.join(root, name)) for root in self.roots())
        if copies < sum(self.shared.geometry):
            raise BenchError(f"{self.name}: XrdEc is not at work: a file is on {copies} data servers, not on "
                             f"{sum(self.shared.geometry)}; was the XRootD in \"{self.shared.prefix}\" built with "
                             "-DENABLE_XRDEC=TRUE?")
        self.remove(name)

    def server_pids(self):
        return self.shared.pids()

    def roots(self):
        return [server.data for server in self.shared.cluster.servers]


class XrdecGateway(Xrdec, Daemon):
    kind = "xrdec gateway"
    stands_for = "XrdPss with XrdEc in front of a redirector and stock data servers, without page writes"
    lists = False  # shows the archives of its servers

    def __init__(self, directory, port, shared):
        Xrdec.__init__(self, directory, port, shared)
        self.daemon = daemons.Daemon()

    def start(self):
        self.shared.start()
        self.spawn_xrootd(["ofs.osslib libXrdPss.so", f"pss.origin {HOST}:{self.shared.cluster.redirector.port}"],
                          program=self.shared.program("xrootd"), env=self.shared.environment())
        self.check_coding()

    def stop(self):
        daemons.stop_all([self.daemon])
        self.shared.stop()

    def server_ports(self):
        return [server.port for server in self.shared.cluster.servers]


class XrdecDirect(Xrdec):
    kind = "xrdec direct"
    stands_for = "xrdcp of that XRootD with the XrdEc client plug-in, no gateway"
    loads = False  # xec_load has the client library of this machine
    lists = False

    def client_port(self):
        return self.shared.cluster.redirector.port

    def start(self):
        self.shared.start()
        self.check_coding()

    def stop(self):
        self.shared.stop()

    def gateway_pids(self):
        return []

    def xrdcp(self, *words, pages, discard=False):
        return clients.run([self.shared.program("xrdcp"), "--nopbar", *words],
                           env={**self.shared.environment(), **({} if pages else NO_PAGES)}, discard=discard)

    def remove(self, name):
        self.forget(name)


class S3Peer(Subject):
    """A store that somebody else started. Its clients are curl processes in the network where ./dev bench was started."""
    kind = "s3"
    stands_for = "a peer that speaks S3, by curl; its own CPU time and memory are not seen"
    loads = False
    lists = False
    speaks_xrootd = False
    BUCKET = "xec-bench"

    def __init__(self, url, outside):
        super().__init__("", 0)
        self.base = url.rstrip("/")
        self.outside = outside
        self.made = []

    @property
    def url(self):
        return f"{self.base}/{self.BUCKET}"

    @staticmethod
    def keys():
        found = [os.environ.get(name, "") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
        if not all(found):
            raise UsageError("--s3-peer needs the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        return found

    def curl(self, *words):
        """One request. The keys go by standard input, where no list of processes shows them."""
        region = os.environ.get("AWS_REGION", "us-east-1")
        key, secret = (word.replace("\\", "\\\\").replace('"', '\\"') for word in self.keys())
        config = (f'user = "{key}:{secret}"\naws-sigv4 = "aws:amz:{region}:s3"\nfail\nsilent\nshow-error\n'
                  'header = "x-amz-content-sha256: UNSIGNED-PAYLOAD"\n')
        answer = self.outside.run(["curl", "--config", "-", *words], config)
        if answer["code"] != 0:
            raise BenchError(f"s3: curl {' '.join(words)} failed with {answer['code']}: {answer['errors']}")
        return answer["seconds"], answer["cpu"]

    def start(self):
        try:
            self.curl("--request", "PUT", self.url)
        except BenchError:
            self.curl("--head", "--output", "/dev/null", self.url)  # there already?

    def stop(self):
        for name in self.made:
            self.curl("--request", "DELETE", f"{self.url}/{name}")

    def gateway_pids(self):
        return []

    def roots(self):
        return []

    def upload(self, file, name, pages=True):
        self.made.append(name)
        return self.curl("--upload-file", file, f"{self.url}/{name}")

    def download(self, name, target=None):
        return self.curl("--output", target or "/dev/null", f"{self.url}/{name}")

    def make_folder(self, name):
        pass

    def remove(self, name):
        self.curl("--request", "DELETE", f"{self.url}/{name}")
        self.made.remove(name)
