# SPDX-License-Identifier: LGPL-3.0-or-later
"""Stock xrootd without erasure coding, and XEC."""
import contextlib
import json
import os
import signal
import time

import daemons
import xrootd_cluster

from . import clients, requests
from .errors import BenchError
from .subject import HOST, READY_SECONDS, Daemon, Subject

PORTS_EACH = 300
CACHE = "512MiB"  # of the stores whose gateway keeps what was read; half of its memory


class Plain(Daemon):
    """Moves data in requests' own sizes, as the gateway and the cluster do. With policy `commit` it is the same server,
    and whoever writes waits until the kernel says that the file is on the disk: stock xrootd has no setting for that."""
    kind = "plain"
    stands_for = "stock xrootd on one directory, no erasure coding; `plain commit`: the file is synced before it counts"
    has_web = True

    def __init__(self, directory, port, policy=""):
        super().__init__(directory, port, policy)
        self.loads = not policy  # the load generator does not wait for the disk
        self.web_lines = []

    def open_web(self, site):
        self.web_lines = site.plain_lines(self.http_port())

    def http_port(self):
        return self.port + 1

    def start(self):
        self.spawn_xrootd([f"oss.localroot {self.roots()[0]}", *self.web_lines], give=self.roots())

    def roots(self):
        return [os.path.join(self.dir, "data")]

    def upload(self, file, name, pages=True):
        seconds, cpu = super().upload(file, name, pages)
        if self.policy == "commit":
            start = time.monotonic()
            descriptor = os.open(os.path.join(self.roots()[0], name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            seconds += time.monotonic() - start
        return seconds, cpu


class Proxy(Daemon):
    """What a second hop costs without erasure coding."""
    kind = "proxy"
    stands_for = "stock XrdPss proxy in front of one plain xrootd, no erasure coding"

    def __init__(self, directory, port):
        super().__init__(directory, port)
        self.origin = Plain(os.path.join(directory, "origin"), port + 1)

    def start(self):
        os.makedirs(self.dir)
        os.chmod(self.dir, 0o755)
        self.origin.start()
        self.spawn_xrootd(["ofs.osslib libXrdPss.so", f"pss.origin {HOST}:{self.origin.port}"])

    def stop(self):
        daemons.stop_all([self.daemon, self.origin.daemon])

    def server_pids(self):
        return self.origin.gateway_pids()

    def server_ports(self):
        return [self.origin.port]

    def roots(self):
        return self.origin.roots()


class Store(Subject):
    """A gateway of XEC; `geometry` is K+M."""
    has_web = True

    def __init__(self, directory, port, policy, options, cached=False):
        super().__init__(directory, port, policy)
        self.cached = cached
        self.xec = clients.find_program("xec")
        data, parity = (int(word) for word in options.geometry.split("+"))
        self.geometry = options.geometry
        self.stored_per_byte = (data + parity) / data
        self.data_chunks = data
        self.members = options.servers
        self.serve_options = ["--sync", policy, *options.serve_options]
        if cached:
            self.name = f"{self.kind} cache"
            self.serve_options += ["--cache", CACHE]
        self.may_lose = parity
        self.lost = []
        self.turn = 0

    def open_web(self, site):
        self.serve_options += ["-c", site.gateway_file]

    def store_options(self):
        """How `xec` is told about the data servers."""
        raise NotImplementedError

    def holders(self, name):
        """Addresses of the data servers that hold data chunks of at least half of the stripes of /NAME."""
        told = clients.run([self.xec, "locate", "--json", *self.store_options(), "/" + name])
        chunks = [chunk for chunk in json.loads(told.out)[0]["chunks"] if chunk["chunk"] < self.data_chunks]
        stripes = 1 + max(chunk["stripe"] for chunk in chunks)
        held = {}
        for chunk in chunks:
            address = chunk["address"].rstrip("/")
            held[address] = held.get(address, 0) + 1
        found = sorted(address for address, count in held.items() if 2 * count >= stripes)
        return found or sorted(held, key=held.get, reverse=True)

    def lose(self, name, count):
        """Others than the last time, as long as there are any."""
        holders = self.holders(name)
        start = self.turn * count % len(holders)
        self.turn += 1
        for address in (holders + holders)[start:start + count]:
            self.lose_one(address)
            self.lost.append(address)

    def lose_one(self, address):
        raise NotImplementedError


class Embedded(Store):
    kind = "embedded"
    stands_for = "`xec serve` on directories of this machine"
    has_own_directories = True

    def __init__(self, directory, port, policy, options, cached=False):
        super().__init__(directory, port, policy, options, cached)
        self.directories = [os.path.join(directory, f"d{number:02d}") for number in range(1, self.members + 1)]
        self.serve = daemons.Daemon()
        self.xrootd = 0

    def open_web(self, site):
        super().open_web(site)
        if site.user:
            self.serve_options += ["--user", site.user.pw_name]

    def http_port(self):
        return self.port

    def store_options(self):
        return [word for path in self.directories for word in ("--data", path)]

    def start(self):
        os.makedirs(self.dir)
        log = os.path.join(self.dir, "serve.log")
        argv = [self.xec, "serve", "--geometry", self.geometry, "--port", str(self.port),
                "--state", os.path.join(self.dir, "state"), *self.store_options(), *self.serve_options]
        starter = Daemon(self.dir, self.port)
        starter.spawn(argv, log, daemons.preload_environment())
        self.serve = starter.daemon
        daemons.wait_for_line(log, lambda line: line.startswith("ready"), self.serve,
                              time.monotonic() + READY_SECONDS, "xec serve")
        self.xrootd = daemons.find_xrootd(self.serve.pid)

    def stop(self):
        self.serve.signal(signal.SIGTERM)
        with contextlib.suppress(daemons.DaemonError):
            daemons.stop_all([self.serve])

    def gateway_pids(self):
        return [self.serve.pid, self.xrootd]

    def roots(self):
        return self.directories

    def lose_one(self, address):
        os.rename(address, address + ".lost")

    def restore(self):
        for address in self.lost:
            os.rename(address + ".lost", address)
        self.lost = []


class OnCluster(Store):
    kind = "cluster"
    stands_for = "a gateway of XEC in front of a redirector and stock data servers, each with its cmsd"
    redirector = True

    def __init__(self, directory, port, policy, options, cached=False):
        super().__init__(directory, port, policy, options, cached)
        self.cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=directory, servers=self.members, base_port=port, gateways=1, xec=self.xec, geometry=self.geometry,
            redirector=self.redirector, serve_options=self.serve_options,
            server_lines=[requests.SERVER_LINE] if options.requests else []))

    def open_web(self, site):
        super().open_web(site)
        self.cluster.options.serve_options = self.serve_options

    def client_port(self):
        return self.cluster.gateways[0].port

    def http_port(self):
        return self.cluster.gateways[0].http_port

    def store_options(self):
        return [word for server in self.cluster.servers for word in ("--server", server.server_option())]

    def start(self):
        self.cluster.up()

    def stop(self):
        self.cluster.down()

    def gateway_pids(self):
        return [daemon.pid for gateway in self.cluster.gateways for daemon in gateway.daemons()]

    def server_pids(self):
        return [daemon.pid for part in (self.cluster.redirector, *self.cluster.servers) for daemon in part.daemons()]

    def server_ports(self):
        return [server.port for server in self.cluster.servers if server.xrootd.alive()]

    def roots(self):
        return [server.data for server in self.cluster.servers]

    def lose_one(self, address):
        self.server_at(address).kill()

    def server_at(self, address):
        for server in self.cluster.servers:
            if server.url == address:
                return server
        raise BenchError(f"{self.name} has no data server {address}")

    def restore(self):
        for address in self.lost:
            self.cluster.start(self.server_at(address))
        self.lost = []


class OnServers(OnCluster):
    """As docs/installation.md sets data servers up: XEC needs neither, and each change of a name is told to them."""
    kind = "servers"
    for_names = True
    stands_for = "a gateway of XEC in front of the same data servers without redirector and cmsd"
    redirector = False
