# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a measurement costs the servers: CPU time, peak memory, and the bytes between gateway and data servers.

Where each figure comes from, and how exact it is:

CPU       the CPU clock of each process (user and system time of all its threads, in nanoseconds).
memory    VmHWM of the gateway's processes, cleared by writing 5 to /proc/PID/clear_refs before the measurement.
bytes     on a cluster the payload counters of the kernel for each TCP connection at the data servers' ports (`ss -i`:
          bytes_acked and bytes_received). They count what XRootD sends, headers of its requests included and those of TCP
          not, and are exact while a connection lives. XrdCl closes connections that were idle for five minutes: these
          moved nothing. When another one is gone afterwards, the figure is unknown. A gateway on directories has no connections: rchar and wchar of /proc/PID/io, the bytes of its read
          and write calls. They hold the answers and requests of its clients as well: reads are overstated by the
          requests (some ten bytes each), writes by the answers.
requests  what the data servers of a cluster report themselves, once a second (requests.py); only when asked for, as each
          measurement then waits for two reports.
"""
import contextlib
import os
import re
import subprocess
import time

from .errors import BenchError

COUNTERS = re.compile(r"\b(bytes_acked|bytes_received|lastsnd|lastrcv):(\d+)")
# What XrdCl's DataServerTTL is, as XrdPss and XEC leave it.
IDLE_SECONDS_MAX = 300.0


def cpu_seconds(pid):
    """CPU time of a process; 0 when it is gone."""
    try:
        # The clock id of a process, as clock_getcpuclockid(3) makes it.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def cpu_of(pids):
    return {pid: cpu_seconds(pid) for pid in pids}


def cpu_between(before, after):
    """Of the processes that are still there."""
    return sum(max(0.0, seconds - before.get(pid, 0.0)) for pid, seconds in after.items())


def clear_peak(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def peak_mib(pid):
    """Most memory the process had at once since clear_peak; 0 when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def read_and_written(pid):
    """Bytes of all read and write calls of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            fields = dict(line.split(": ") for line in file.read().splitlines())
    except OSError:
        return None
    return int(fields["rchar"]), int(fields["wchar"])


def connections(ports):
    """(server's port, client's address) -> (bytes the server sent, bytes it received, seconds it is idle), of the living
    TCP connections."""
    if not ports:
        return {}
    done = subprocess.run(["ss", "--tcp", "--info", "--numeric", "--no-header", "--oneline", "state", "established"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"ss, which counts the bytes of connections, ended with {done.returncode}: {done.stderr.strip()}")
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        port = int(words[2].rpartition(":")[2])
        if port in ports:
            counters = {name: int(value) for name, value in COUNTERS.findall(line)}
            found[port, words[3]] = (counters.get("bytes_acked", 0), counters.get("bytes_received", 0),
                                     min(counters.get("lastsnd", 0), counters.get("lastrcv", 0)) / 1000)
    return found


def moved_between(before, after, alive_ports, seconds):
    """(sent by the servers, received by them) in these `seconds`, or None when a connection of a living server ended
    meanwhile of which it is not known what it moved."""
    for key, (_, _, idle) in before.items():
        closed_idle = seconds < IDLE_SECONDS_MAX <= idle + seconds
        if key not in after and key[0] in alive_ports and not closed_idle:
            return None
    nothing = (0, 0, 0)
    return tuple(sum(counters[which] - before.get(key, nothing)[which] for key, counters in after.items())
                 for which in (0, 1))


class Meter:
    """Measures one subject between entering and leaving."""

    def __init__(self, subject, counter=None):
        self.subject = subject
        self.counter = counter if subject.server_ports() else None
        self.gateway_pids = sorted(set(subject.gateway_pids()))
        self.seconds = self.gateway_cpu = self.servers_cpu = self.peak_mib = 0.0
        self.from_servers = self.to_servers = None  # bytes; None: not known
        self.requests = None

    def __enter__(self):
        subject = self.subject
        self.requests_before = self.counter.counts(subject.server_ports()) if self.counter else {}
        for pid in self.gateway_pids:
            clear_peak(pid)
        self.gateway_before = cpu_of(self.gateway_pids)
        self.servers_before = cpu_of(subject.server_pids())
        self.moved_before = self.moved()
        self.start = time.monotonic()
        return self

    def __exit__(self, *_):
        subject = self.subject
        self.seconds = time.monotonic() - self.start
        after = self.moved()
        self.gateway_cpu = cpu_between(self.gateway_before, cpu_of(self.gateway_pids))
        self.servers_cpu = cpu_between(self.servers_before, cpu_of(subject.server_pids()))
        self.peak_mib = sum(peak_mib(pid) for pid in self.gateway_pids)
        self.compare(self.moved_before, after)
        if self.counter:
            ports = subject.server_ports()
            requests = self.counter.counts(ports)
            if set(ports) <= set(requests) & set(self.requests_before):
                self.requests = sum(requests[port] - self.requests_before[port] for port in ports)

    def moved(self):
        subject = self.subject
        if subject.server_ports():
            return connections(set(subject.server_ports()))
        return [read_and_written(pid) for pid in self.gateway_pids] if subject.has_own_directories else None

    def compare(self, before, after):
        if before is None or after is None:
            return
        if isinstance(before, dict):
            moved = moved_between(before, after, set(self.subject.server_ports()), self.seconds)
            if moved:
                self.from_servers, self.to_servers = moved
        elif None not in before and None not in after:
            self.from_servers = sum(new[0] - old[0] for old, new in zip(before, after))
            self.to_servers = sum(new[1] - old[1] for old, new in zip(before, after))

    @property
    def cpu(self):
        return self.gateway_cpu + self.servers_cpu


def file_system(directory):
    return subprocess.run(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", directory], capture_output=True,
                          text=True, check=False).stdout.strip().rpartition("\n")[2] or "an unknown file system"


def load_average():
    return os.getloadavg()[0]
