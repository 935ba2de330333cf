# SPDX-License-Identifier: LGPL-3.0-or-later
"""What run_bench.py measures: a plain xrootd, the embedded gateway, a gateway on a cluster; each with its servers'
processes, so that their CPU time can be told."""
import contextlib
import os
import shutil
import signal
import subprocess
import time

import daemons
import xrootd_cluster

HOST = "127.0.0.1"
READY_SECONDS = 90.0
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of all threads of a process; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


class Setup:
    """One column of the tables. Ports `port` to `port + 299` are its own."""

    def __init__(self, name, directory, port):
        self.name = name
        self.dir = directory
        self.port = port

    @property
    def url(self):
        return f"root://{HOST}:{self.client_port()}"

    def client_port(self):
        return self.port

    def start(self):
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def processes(self):
        """The pids of all servers."""
        raise NotImplementedError

    def roots(self):
        """Where the data lies."""
        raise NotImplementedError

    def forget(self, name):
        """Removes what is still on the disks of a removed top-level name that is not used again. A store keeps removed
        archives for a time of grace; without them plain xrootd would get memory and disk space back earlier."""
        for root in self.roots():
            for entry in os.listdir(root):
                if entry == name or entry.startswith(name + "."):
                    path = os.path.join(root, entry)
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def cpu_seconds(self):
        return sum(cpu_seconds(pid) for pid in self.processes())


class Plain(Setup):
    """Stock xrootd on one directory, moving data in requests' own sizes, as the gateway and the cluster do."""

    def __init__(self, directory, port):
        super().__init__("plain", directory, port)
        self.daemon = daemons.Daemon()

    def start(self):
        user = daemons.User()
        data, admin, log = (os.path.join(self.dir, name) for name in ("data", "admin", "xrootd.log"))
        for path in (self.dir, data, admin):
            user.give(path)
        config = os.path.join(self.dir, "xrootd.cfg")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"all.role server\nall.export /\noss.localroot {data}\nall.adminpath {admin}\n"
                       f"all.pidpath {admin}\nxrd.port {self.port}\nxrootd.async off\n")
        with open(log, "ab") as out:
            process = subprocess.Popen(user.command([shutil.which("xrootd") or "xrootd", "-c", config], self.dir),
                                       cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True)
        process.returncode = 0  # reaped by daemons.wait_exit
        self.daemon = daemons.Daemon(process.pid, daemons.start_time(process.pid) or 0)
        daemons.wait_for_line(log, lambda line: " xrootd " in line and line.endswith("initialization completed."),
                              self.daemon, time.monotonic() + READY_SECONDS, "plain xrootd")

    def stop(self):
        daemons.stop_all([self.daemon])

    def processes(self):
        return [self.daemon.pid]

    def roots(self):
        return [os.path.join(self.dir, "data")]


class Embedded(Setup):
    """`xec serve` on directories of one file system."""

    def __init__(self, directory, port, xec, servers, geometry, sync):
        super().__init__(f"embedded {sync}", directory, port)
        self.argv = [xec, "serve", "--geometry", geometry, "--sync", sync, "--port", str(port),
                     "--state", os.path.join(directory, "state")]
        self.directories = [os.path.join(directory, f"d{number:02d}") for number in range(1, servers + 1)]
        for path in self.directories:
            self.argv += ["--data", path]
        self.serve = daemons.Daemon()
        self.xrootd = 0

    def start(self):
        os.makedirs(self.dir)
        log = os.path.join(self.dir, "serve.log")
        with open(log, "ab") as out:
            process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True)
        process.returncode = 0
        self.serve = daemons.Daemon(process.pid, daemons.start_time(process.pid) or 0)
        daemons.wait_for_line(log, lambda line: line.startswith("ready"), self.serve,
                              time.monotonic() + READY_SECONDS, "xec serve")
        self.xrootd = daemons.find_xrootd(process.pid)

    def stop(self):
        self.serve.signal(signal.SIGTERM)
        with contextlib.suppress(daemons.DaemonError):
            daemons.stop_all([self.serve])

    def processes(self):
        return [self.serve.pid, self.xrootd]

    def roots(self):
        return self.directories


class OnCluster(Setup):
    """A gateway in front of a redirector and stock data servers."""

    def __init__(self, directory, port, xec, servers, geometry, sync):
        super().__init__(f"cluster {sync}", directory, port)
        self.cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=directory, servers=servers, base_port=port, gateways=1, xec=xec, geometry=geometry,
            serve_options=["--sync", sync]))

    def client_port(self):
        return self.cluster.gateways[0].port

    def start(self):
        self.cluster.up()

    def stop(self):
        self.cluster.down()

    def processes(self):
        return [daemon.pid for part in self.cluster.parts() for daemon in part.daemons()]

    def roots(self):
        return [server.data for server in self.cluster.servers]
