# SPDX-License-Identifier: LGPL-3.0-or-later
"""What is measured: a subject is a server or a cluster with its own directories and ports, and how its clients reach it."""
import os
import shutil
import subprocess
import time

import daemons

from . import clients
from .errors import BenchError

HOST = "127.0.0.1"
READY_SECONDS = 90.0
TRUST_STEP_SECONDS = 0.5
NO_PAGES = {"XRD_CPUSEPGWRTRD": "0"}  # makes xrdcp move no page checksums


class Subject:
    """One column of the tables. Ports `port` to `port + 299` are its own."""
    kind = ""
    stands_for = ""              # a line for the head of a report
    has_own_directories = False  # a gateway that keeps data in directories of its own machine
    loads = True                 # xec_load can be pointed at it
    lists = True
    speaks_xrootd = True
    cached = False               # keeps in memory what was read; measured only where that matters
    for_names = False            # differs from another one in what names cost; measured only where that matters
    has_web = False              # can be told to answer http and https
    may_lose = 0                 # data servers that may be gone without loss, where that can be measured
    stored_per_byte = 1.0        # bytes on disks for one of an object
    # Whether its clients move page checksums, as stock clients do by default.
    page_reads = True
    page_writes = True

    def __init__(self, directory, port, policy=""):
        self.dir = directory
        self.port = port
        self.policy = policy
        self.name = f"{self.kind} {policy}".strip()

    @property
    def load_options(self):
        """For scenarios of xec_load that move much."""
        return [option for option, pages in (("--no-page-reads", self.page_reads), ("--no-page-writes", self.page_writes))
                if not pages]

    @property
    def url(self):
        return f"root://{HOST}:{self.client_port()}"

    def client_port(self):
        return self.port

    def open_web(self, site):
        """Before the start: answers http and https at http_port() as well, and fetches third-party copies."""

    def http_port(self):
        raise BenchError(f"{self.name} does not speak http")

    def web_url(self, scheme):
        return f"{scheme}://{HOST}:{self.http_port()}"

    def start(self):
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def gateway_pids(self):
        """The processes that clients talk to."""
        raise NotImplementedError

    def server_pids(self):
        """The data servers behind them and what belongs to these."""
        return []

    def server_ports(self):
        """Of the data servers that are alive."""
        return []

    def roots(self):
        """Where the data lies."""
        raise NotImplementedError

    # What clients do.

    def xrdcp(self, *words, pages, discard=False):
        return clients.run(["xrdcp", "--nopbar", *words], env=None if pages else NO_PAGES, discard=discard)

    def upload(self, file, name, pages=True):
        """A new file at /NAME, without page checksums if the subject or the caller wants none; answers (seconds, CPU
        seconds of the client)."""
        ran = self.xrdcp(file, f"{self.url}//{name}", pages=pages and self.page_writes)
        return ran.seconds, ran.cpu

    def download(self, name, target=None):
        """As upload. What comes is thrown away where there is no target."""
        if target:
            ran = self.xrdcp("--force", f"{self.url}//{name}", target, pages=self.page_reads)
        else:
            ran = self.xrdcp(f"{self.url}//{name}", "-", pages=self.page_reads, discard=True)
        return ran.seconds, ran.cpu

    def make_folder(self, name):
        clients.run(["xrdfs", self.url, "mkdir", "-p", "/" + name])

    def remove(self, name):
        clients.run(["xrdfs", self.url, "rm", "/" + name])
        self.forget(name)

    def forget(self, name):
        """Removes what is on the disks of a top-level name that is not used again. A store keeps removed archives for a
        time of grace; without them plain xrootd would get memory and disk space back earlier."""
        for root in self.roots():
            with os.scandir(root) as entries:
                found = [entry for entry in entries if entry.name == name or entry.name.startswith(name + ".")]
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)

    # Losing data servers.

    def lose(self, name, count):
        """`count` data servers with data chunks of /NAME are gone."""
        raise BenchError(f"{self.name} has no data servers that could be lost")

    def restore(self):
        """All that were lost are back."""

    def settle(self, name, seconds):
        """Returned servers are not trusted at once, and learnt of only by those who ask: asks until they should be."""
        end = time.monotonic() + seconds
        while True:
            clients.run(["xrdfs", self.url, "stat", "/" + name], codes=clients.ANY_CODE)
            if time.monotonic() >= end:
                return
            time.sleep(TRUST_STEP_SECONDS)


class Daemon(Subject):
    """A subject that is one program."""

    def __init__(self, directory, port, policy=""):
        super().__init__(directory, port, policy)
        self.daemon = daemons.Daemon()

    def spawn(self, argv, log, env=None):
        with open(log, "ab") as out:
            try:
                process = subprocess.Popen(argv, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           start_new_session=True, env=None if env is None else {**os.environ, **env})
            except OSError as error:
                raise BenchError(f"cannot run {argv[0]}: {error.strerror}") from None
        process.returncode = 0  # reaped by daemons.wait_exit
        self.daemon = daemons.Daemon(process.pid, daemons.start_time(process.pid) or 0)

    def spawn_xrootd(self, lines, give=(), program="xrootd", env=None):
        """xrootd with these lines and what every one of ours has, as the user for daemons, who is given the directories
        `give`."""
        user = daemons.User()
        admin = os.path.join(self.dir, "admin")
        for path in (self.dir, admin, *give):
            user.give(path)
        config = os.path.join(self.dir, "xrootd.cfg")
        with open(config, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, "all.export /", f"all.adminpath {admin}", f"all.pidpath {admin}",
                                  f"xrd.port {self.port}", "xrootd.async off"]) + "\n")
        log = os.path.join(self.dir, "xrootd.log")
        path = shutil.which(program) or program
        # -s: else it writes a file in /tmp, one for all users of the machine.
        argv = [path, "-c", config, "-s", os.path.join(admin, f"{program}.pid")]
        self.spawn(user.command(argv, self.dir), log, env)
        daemons.wait_for_line(log, lambda line: " xrootd " in line and line.endswith("initialization completed."),
                              self.daemon, time.monotonic() + READY_SECONDS, self.name)

    def stop(self):
        daemons.stop_all([self.daemon])

    def gateway_pids(self):
        return [self.daemon.pid]
