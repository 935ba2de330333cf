# SPDX-License-Identifier: LGPL-3.0-or-later
"""A real vanilla XRootD cluster on this machine: a redirector and N data servers, each stock xrootd + cmsd,
and if wanted XEC gateways in front of it.

    cluster = Cluster(Options(dir=..., servers=12)).up()
    cluster.servers[0].kill(); cluster.start(cluster.servers[0]); cluster.down()

`./dev cluster` (tools/cluster.py) is the same as a program.

Everything lies below DIR: redirector/, server.I/ (data/ is what the server exports, space.J/ its data spaces),
gateway.I/, and cluster.json, by which a later call finds the daemons again. Daemons live in sessions of their own
and so outlive this program; they run in the caller's network namespace. xrootd refuses to run as root: then
everything runs as the user `nobody`, and the directories below DIR are given to that user.
"""
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from daemons import Daemon, DaemonError as ClusterError, UsageError, User, find_xrootd, preload_environment, \
    start_time, stop_all, wait_exit_of, wait_for_line

HOST = "127.0.0.1"
REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STATE_FILE = "cluster.json"
SERVERS_MAX = 150          # The port map below has room for so many.
GATEWAY_PORT_OFFSET = 200  # redirector: base, its cmsd: base + 1, server I: base + 10 + I, gateways from here on.
ADMIN_PATH_MAX = 70        # Unix sockets below the admin path must stay under 108 bytes.


@dataclasses.dataclass
class Options:
    """What `up` was asked for. geometry, chunk_size, layout and serve_options are handed to `xec serve` as they are."""
    dir: str
    servers: int = 12
    base_port: int = 21000
    xrootd: str = "/usr"
    gateways: int = 0
    spaces: int = 0
    hosts: int = 0
    xec: str = ""
    geometry: str = ""
    chunk_size: str = ""
    layout: str = ""
    redirector: bool = True  # with a cmsd on each server; else bare data servers, which gateways list themselves
    serve_options: list = dataclasses.field(default_factory=list)
    server_lines: list = dataclasses.field(default_factory=list)  # more of the data servers' configuration
    redirector_lines: list = dataclasses.field(default_factory=list)
    ready_seconds: float = 90.0


class Node:
    """The redirector or one data server: an xrootd and its cmsd with one configuration file."""

    def __init__(self, cluster, name, port):
        self.cluster = cluster
        self.name = name
        self.port = port
        self.base = os.path.join(cluster.options.dir, name)
        self.data = os.path.join(self.base, "data")
        self.xrootd = Daemon()
        self.cmsd = Daemon()

    @property
    def pid(self):
        return self.xrootd.pid

    @property
    def url(self):
        return f"root://{HOST}:{self.port}"

    def log(self, program):
        return os.path.join(self.base, f"{program}.log")

    def write_config(self, role_lines):
        admin = self.cluster.short_path(self.base)
        lines = [
            "# SPDX-License-Identifier: LGPL-3.0-or-later",
            "# Written by tools/cluster.py.",
            "all.export /",
            f"all.adminpath {admin}/admin",
            f"all.pidpath {admin}/admin",
        ] + role_lines
        if self.cluster.options.redirector:
            lines.append(f"all.manager {HOST}:{self.cluster.manager_port}")
        with open(os.path.join(self.base, "xrootd.cfg"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def start(self, program):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.log(program))
        # -s beside all.pidpath: else the file with the environment is one in /tmp for all on the machine.
        daemon = self.cluster.spawn([self.cluster.program(program), "-c", os.path.join(self.base, "xrootd.cfg"),
                                     "-s", os.path.join(self.base, "admin", f"{program}.pid")],
                                    self.base, self.log(program))
        setattr(self, program, daemon)

    def ready(self, program, deadline):
        wait_for_line(self.log(program),
                      lambda line: f" {program} " in line and line.endswith("initialization completed."),
                      getattr(self, program), deadline, f"{program} of {self.name}")

    def kill(self):
        """As when the machine dies: both daemons at once, without a word to anyone."""
        self.xrootd.signal(signal.SIGKILL)
        self.cmsd.kill()
        self.xrootd.kill()

    def freeze(self):
        """The server hangs: connections are accepted by the kernel, nothing is answered."""
        self.xrootd.signal(signal.SIGSTOP)

    def thaw(self):
        self.xrootd.signal(signal.SIGCONT)

    def daemons(self):
        return [self.xrootd, self.cmsd]


class DataServer(Node):
    """Number `index`, from 1 on. `data` is the directory below which its files appear."""

    def __init__(self, cluster, index):
        super().__init__(cluster, f"server.{index}", cluster.options.base_port + 10 + index)
        self.index = index
        hosts = cluster.options.hosts
        self.host = f"h{(index - 1) % hosts + 1:02d}" if hosts else ""

    def configure(self):
        options = self.cluster.options
        self.cluster.user.give(self.data)
        lines = [
            f"oss.localroot {self.data}",
            f"xrd.port {self.port}",
            # Without this line data moves in pieces of 64 KiB.
            "xrootd.async off",
        ]
        if options.redirector:
            lines += ["all.role server", "if exec cmsd", "  xrd.port any", "fi", "cms.space 100m 50m"]
        for space in range(1, options.spaces + 1):
            path = os.path.join(self.base, f"space.{space}")
            self.cluster.user.give(path)
            lines.append(f"oss.space public {path}")
        self.write_config(lines + options.server_lines)

    def server_option(self):
        """The value of --server for `xec serve`."""
        return self.url + (f",host={self.host}" if self.host else "")


class Redirector(Node):
    def __init__(self, cluster):
        super().__init__(cluster, "redirector", cluster.options.base_port)

    def configure(self):
        self.write_config([
            "all.role manager",
            f"xrd.port {self.port}",
            "if exec cmsd",
            f"  xrd.port {self.cluster.manager_port}",
            "fi",
            "cms.delay startup 2 servers 1 lookup 2 full 2",
            "cms.allow host *",
            *self.cluster.options.redirector_lines,
        ])


class Gateway:
    """`xec serve` in front of the cluster. `pid` is that of its xrootd: killing it is a crash of the gateway."""

    def __init__(self, cluster, index):
        self.cluster = cluster
        self.index = index
        self.name = f"gateway.{index}"
        self.base = os.path.join(cluster.options.dir, self.name)
        self.port = cluster.options.base_port + GATEWAY_PORT_OFFSET + 2 * (index - 1)
        self.http_port = self.port + 1
        self.serve = Daemon()
        self.xrootd = Daemon()

    @property
    def pid(self):
        return self.xrootd.pid

    @property
    def url(self):
        return f"root://{HOST}:{self.port}"

    @property
    def http_url(self):
        return f"http://{HOST}:{self.http_port}"

    def log(self):
        return os.path.join(self.base, "serve.log")

    def xrootd_log(self):
        return os.path.join(self.base, "state", f"gateway-{self.port}", "xrootd.log")

    def command(self):
        options = self.cluster.options
        argv = [self.cluster.xec(), "serve"]
        if options.redirector:
            argv += ["--origin", self.cluster.redirector.url]
        for server in self.cluster.servers:
            argv += ["--server", server.server_option()]
        for flag, value in (("--geometry", options.geometry), ("--chunk-size", options.chunk_size),
                            ("--layout", options.layout)):
            if value:
                argv += [flag, value]
        argv += ["--port", str(self.port), "--http-port", str(self.http_port),
                 "--state", os.path.join(self.base, "state")]
        if self.cluster.user.entry:
            # Stock daemons close the directories above their admin path to all but their own user.
            argv += ["--user", self.cluster.user.entry.pw_name]
        return argv + list(options.serve_options)

    def start(self):
        os.makedirs(self.base, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.log())
        # `xec serve` leaves root by itself.
        self.serve = self.cluster.spawn(self.command(), self.base, self.log(), as_caller=True)
        self.xrootd = self.serve

    def ready(self, deadline):
        wait_for_line(self.log(), lambda line: line.startswith("ready"), self.serve, deadline, self.name)
        pid = find_xrootd(self.serve.pid)
        self.xrootd = Daemon(pid, start_time(pid) or 0)

    def kill(self):
        self.xrootd.kill()
        self.serve.kill()

    def daemons(self):
        return [self.serve, self.xrootd]


class Cluster:
    def __init__(self, options):
        options.dir = os.path.abspath(options.dir)
        self.options = options
        self.user = User()
        self.manager_port = options.base_port + 1
        self.redirector = Redirector(self)
        self.servers = [DataServer(self, i) for i in range(1, options.servers + 1)]
        self.gateways = [Gateway(self, i) for i in range(1, options.gateways + 1)]

    @classmethod
    def load(cls, directory):
        """The cluster that `up` left in `directory`."""
        path = os.path.join(os.path.abspath(directory), STATE_FILE)
        try:
            with open(path, encoding="utf-8") as file:
                state = json.load(file)
            cluster = cls(Options(**state["options"]))
            for part in cluster.parts():
                for attribute, (pid, started) in state["daemons"].get(part.name, {}).items():
                    setattr(part, attribute, Daemon(pid, started))
        except FileNotFoundError:
            raise ClusterError(f"there is no cluster in {directory}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ClusterError(f"{path} cannot be read: {error}") from None
        return cluster

    def parts(self):
        return [self.redirector, *self.servers, *self.gateways]

    def part(self, name):
        for part in self.parts():
            if part.name == name:
                return part
        raise ClusterError(f"the cluster has no part named {name}")

    def save(self):
        daemons = {}
        for part in self.parts():
            daemons[part.name] = {key: (value.pid, value.started) for key, value in vars(part).items()
                                  if isinstance(value, Daemon)}
        path = os.path.join(self.options.dir, STATE_FILE)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"options": dataclasses.asdict(self.options), "daemons": daemons}, file, indent=1)
        os.replace(path + ".new", path)

    def short_path(self, path):
        """`path`, or the same through a short symbolic link when sockets below it would have too long names."""
        if len(path) <= ADMIN_PATH_MAX:
            return path
        link = self.link_path()
        if not os.path.islink(link):
            os.symlink(self.options.dir, link)
        return os.path.join(link, os.path.relpath(path, self.options.dir))

    def link_path(self):
        return os.path.join(tempfile.gettempdir(), f"xec-cluster-{os.stat(self.options.dir).st_ino:x}")

    def program(self, name):
        if self.options.xrootd == "/usr":
            return shutil.which(name, path="/usr/bin:/usr/sbin") or name
        return os.path.join(self.options.xrootd, "bin", name)

    def xec(self):
        if self.options.xec:
            return os.path.abspath(self.options.xec)
        build = os.environ.get("XEC_BUILD", os.path.join(REPO, "build", "release"))
        for folder, _, files in os.walk(build):
            path = os.path.join(folder, "xec")
            if "xec" in files and os.access(path, os.X_OK):
                return path
        raise ClusterError(f"no program xec below {build}: build first (./dev build), or say --xec PATH")

    def environment(self):
        env = {key: value for key, value in os.environ.items() if not key.startswith("XRD_")}
        if self.options.xrootd != "/usr":
            libraries = [os.path.join(self.options.xrootd, name) for name in ("lib", "lib64", "lib/x86_64-linux-gnu")]
            env["LD_LIBRARY_PATH"] = ":".join([path for path in libraries if os.path.isdir(path)])
        return env

    def spawn(self, argv, cwd, log, as_caller=False):
        if not as_caller:
            argv = self.user.command(argv, self.options.dir)
        with open(log, "ab") as out:
            try:
                # start_new_session: the daemon outlives us and gets no signal meant for our terminal.
                env = dict(self.environment(), **(preload_environment() if as_caller else {}))
                process = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           env=env, start_new_session=True)
            except OSError as error:
                raise ClusterError(f"cannot run {argv[0]}: {error.strerror}") from None
        # Reaped by wait_exit or by init; Popen's own bookkeeping would only print warnings.
        process.returncode = 0
        return Daemon(process.pid, start_time(process.pid) or 0)

    def locate(self):
        """The ports of the data servers that the redirector knows now."""
        env = dict(self.environment(), XRD_CONNECTIONWINDOW="2", XRD_CONNECTIONRETRY="1", XRD_REQUESTTIMEOUT="5",
                   XRD_STREAMTIMEOUT="5", XRD_TIMEOUTRESOLUTION="1")
        try:
            answer = subprocess.run([self.program("xrdfs"), f"{HOST}:{self.redirector.port}", "locate", "-m", "*"],
                                    env=env, capture_output=True, text=True, timeout=20, check=False).stdout
        except subprocess.TimeoutExpired:
            return set()
        return {int(line.split()[0].rpartition(":")[2]) for line in answer.splitlines() if "Server" in line}

    def wait_visible(self, deadline, wanted=None):
        """Waits until the redirector names all data servers (or those of `wanted`)."""
        ports = {server.port for server in (self.servers if wanted is None else wanted)}
        while True:
            missing = ports - self.locate()
            if not missing:
                return
            if time.monotonic() > deadline:
                raise ClusterError(f"the redirector does not see the data servers at ports {sorted(missing)}")
            wait_exit_of(self.redirector.xrootd, 0.1)

    def up(self):
        self.check()
        deadline = time.monotonic() + self.options.ready_seconds
        self.user.give(self.options.dir)
        try:
            redirectors = [self.redirector] if self.options.redirector else []
            for node in [*redirectors, *self.servers]:
                self.user.give(node.base)
                self.user.give(os.path.join(node.base, "admin"))
                node.configure()
            self.start_nodes(redirectors, deadline)
            self.start_nodes(self.servers, deadline)
            if redirectors:
                self.wait_visible(deadline)
            # The first one makes the store; the others find it.
            for gateway in self.gateways:
                self.start_gateway(gateway, deadline)
        except BaseException:
            self.down()
            raise
        return self

    def check(self):
        options = self.options
        if not 1 <= options.servers <= SERVERS_MAX:
            raise UsageError(f"--servers must be between 1 and {SERVERS_MAX}")
        for name in ("gateways", "spaces", "hosts"):
            if getattr(options, name) < 0:
                raise UsageError(f"--{name} must not be negative")
        if options.hosts > options.servers:
            raise UsageError("--hosts must not be more than --servers")
        if not 1024 <= options.base_port <= 65535 - GATEWAY_PORT_OFFSET - 2 * max(1, options.gateways):
            raise UsageError(f"--base-port {options.base_port} leaves no room for the ports of the cluster")
        for name in ("xrootd", "cmsd", "xrdfs") if options.redirector else ("xrootd",):
            if not shutil.which(self.program(name)):
                raise UsageError(f"no program {name} in {options.xrootd}/bin")
        if options.gateways:
            self.xec()
        try:
            socket.getaddrinfo(socket.gethostname(), None)
        except OSError:
            raise ClusterError(f"the name of this machine, {socket.gethostname()}, has no address, and xrootd needs one: "
                               "add it to /etc/hosts") from None
        if os.path.exists(os.path.join(options.dir, STATE_FILE)):
            if any(daemon.alive() for part in Cluster.load(options.dir).parts() for daemon in part.daemons()):
                raise ClusterError(f"a cluster is running in {options.dir} already: take it down first")

    def stop(self, parts):
        stop_all([daemon for part in parts for daemon in part.daemons()])

    def down(self):
        """Stops gateways first, then the servers; the data stays."""
        self.stop(self.gateways)
        self.stop([self.redirector, *self.servers])
        if os.path.isdir(self.options.dir):
            with contextlib.suppress(OSError):
                if os.path.islink(self.link_path()):
                    os.unlink(self.link_path())

    def start_nodes(self, nodes, deadline):
        """Managers before servers and cmsd before xrootd: who finds nobody at the first try waits 10 s for the
        second."""
        for program in ("cmsd", "xrootd") if self.options.redirector else ("xrootd",):
            for node in nodes:
                node.start(program)
            self.save()
            for node in nodes:
                node.ready(program, deadline)

    def start_gateway(self, gateway, deadline):
        gateway.start()
        self.save()
        gateway.ready(deadline)
        self.save()

    def start(self, part):
        """Starts a stopped part again, on the same port and data, and waits for it."""
        if any(daemon.alive() for daemon in part.daemons()):
            self.stop([part])
        deadline = time.monotonic() + self.options.ready_seconds
        if isinstance(part, Node):
            self.start_nodes([part], deadline)
        else:
            self.start_gateway(part, deadline)
        if part in self.servers and self.redirector.xrootd.alive():
            self.wait_visible(deadline, [part])

    def describe(self):
        lines = [f"redirector={HOST}:{self.redirector.port}"]
        lines += [f"server.{s.index}={HOST}:{s.port} {s.pid} {s.data}" for s in self.servers]
        lines += [f"gateway.{g.index}={HOST}:{g.port} {g.http_port} {g.pid}" for g in self.gateways]
        return lines
