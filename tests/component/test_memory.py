# SPDX-License-Identifier: LGPL-3.0-or-later
"""Promise P7 on stock servers: many streams of a large geometry through one gateway while one data server has a slow
link and two clients stand still. Memory stays within the budget, and everybody else gets on.

The form of ./dev test is a sixteenth of the full one in chunk size, objects and budget; XEC_TEST_LONG=1 runs that
(64 + 64 streams of 128 MiB at 16+4 x 16 MiB with the default budget; 20 GiB of memory, a quarter of an hour)."""
# seconds: 3000
import concurrent.futures
import hashlib
import os
import signal
import subprocess
import tempfile
import time

import xectest

MIB = 1 << 20
LONG = os.environ.get("XEC_TEST_LONG") == "1"
STREAMS = 64
SCALE = 16 if LONG else 1
CHUNK = 1 * MIB * SCALE
OBJECT = 8 * MIB * SCALE
BUDGET = 64 * MIB * SCALE
DAEMON_ROOM = 256 * MIB  # what stock xrootd may need besides, for its own buffers
SLOW_BYTES_PER_SECOND = MIB if LONG else 2 * MIB
FINISH_SECONDS = 2400 if LONG else 120
SOURCES = 4
AT_ONCE = 4  # of those who look at the end whether all is right
# Clients give a connection up that is silent for a minute. The short form takes half a minute in all.
CLIENT = {} if LONG else {"XRD_STREAMTIMEOUT": "15", "XRD_TIMEOUTRESOLUTION": "1"}


class Memory(xectest.TestCase):
    def setUp(self):
        super().setUp()
        # Real disks would decide how long this takes, and fill up.
        if not LONG and os.path.isdir("/dev/shm") and not os.environ.get("XEC_TEST_DIR"):
            self._remove_dir()
            self.dir = tempfile.mkdtemp(prefix="xec-test-", dir="/dev/shm")
            os.chmod(self.dir, 0o755)

    def limit_link(self, port):
        """What goes to and comes from a port of this network namespace gets SLOW_BYTES_PER_SECOND each way."""
        rate = f"{SLOW_BYTES_PER_SECOND * 8}bit"
        commands = ["qdisc add dev lo root handle 1: htb"]
        for number, side in enumerate(("dport", "sport"), 1):
            commands += [f"class add dev lo parent 1: classid 1:{number} htb rate {rate} burst 128k cburst 128k",
                         f"filter add dev lo parent 1: protocol ip prio 1 u32 match ip {side} {port} 0xffff "
                         f"flowid 1:{number}"]
        for command in commands:
            self.run_program(["tc", *command.split()])

    def peak_memory(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))

    def download(self, gateway, name):
        """Prints the SHA-256 of what comes."""
        return self.background(["bash", "-c", "set -o pipefail; xrdcp --nopbar \"$0\" - | sha256sum",
                                f"{gateway.url}//{name}"], env=CLIENT)

    def check_downloads(self, gateway, digests):
        def check(name):
            client = self.download(gateway, name)
            code = client.wait(FINISH_SECONDS)
            return [] if code == 0 and client.output().split()[:1] == [digests[name]] else [f"{name}: {client.output()}"]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            self.assertEqual([problem for problems in pool.map(check, digests) for problem in problems], [])

    def stalled_upload(self, gateway, name, content):
        """A client that has sent half and then stands still; returns a function that lets it end."""
        client = subprocess.Popen(["xrdcp", "--nopbar", "-", f"{gateway.url}//{name}"], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        client.stdin.write(content[:len(content) // 2])
        client.stdin.flush()
        client.send_signal(signal.SIGSTOP)

        def end():
            client.send_signal(signal.SIGCONT)
            _, error = client.communicate(content[len(content) // 2:], timeout=FINISH_SECONDS)
            self.assertEqual(client.returncode, 0, error)
        return end

    def stalled_download(self, gateway, name, digest):
        client = subprocess.Popen(["xrdcp", "--nopbar", f"{gateway.url}//{name}", "-"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        begin = client.stdout.read(MIB)
        client.send_signal(signal.SIGSTOP)

        def end():
            client.send_signal(signal.SIGCONT)
            rest, error = client.communicate(timeout=FINISH_SECONDS)
            self.assertEqual(client.returncode, 0, error)
            self.assertEqual(hashlib.sha256(begin + rest).hexdigest(), digest)
        return end

    def test_many_streams_with_a_slow_server_and_stalled_clients(self):
        if os.environ.get("XEC_PRESET") in ("asan", "tsan"):
            self.skipTest("sanitizers need memory of their own")
        cluster = self.cluster(servers=20, geometry="16+4", chunk_size=str(CHUNK), gateways=1,
                               serve_options=["--memory", str(BUDGET)])
        gateway = cluster.gateways[0]
        files = [self.random_file(f"source-{i}", OBJECT, i) for i in range(SOURCES)]
        digests = [self.sha256(file) for file in files]
        for number, file in enumerate(files):
            self.xrdcp(file, f"{gateway.url}//old-{number}")
        self.limit_link(cluster.servers[0].port)

        with open(files[0], "rb") as file:
            stalled = [self.stalled_upload(gateway, "stalled", file.read()),
                       self.stalled_download(gateway, "old-1", digests[1])]
        start = time.monotonic()
        uploads = [self.background(["xrdcp", "--nopbar", files[i % SOURCES], f"{gateway.url}//new-{i}"], env=CLIENT)
                   for i in range(STREAMS)]
        downloads = [self.download(gateway, f"old-{i % SOURCES}") for i in range(STREAMS)]
        problems = []
        for number, client in enumerate(downloads):
            code = client.wait(FINISH_SECONDS)
            if code != 0 or client.output().split()[:1] != [digests[number % SOURCES]]:
                problems.append(f"download {number} ended with {code}: {client.output()}")
        down_seconds = time.monotonic() - start
        for number, client in enumerate(uploads):
            code = client.wait(FINISH_SECONDS)
            if code != 0:
                problems.append(f"upload {number} ended with {code}: {client.output()}")
        up_seconds = time.monotonic() - start
        peak = self.peak_memory(gateway.pid)
        summary = (f"downloads {down_seconds:.0f} s, uploads {up_seconds:.0f} s, peak {peak / MIB:.0f} MiB, "
                   f"budget {BUDGET / MIB:.0f} MiB, {len(problems)} problems")
        print(summary, flush=True)
        self.assertEqual(problems, [], summary)
        for end in stalled:
            end()
        self.assertLessEqual(self.peak_memory(gateway.pid), BUDGET + DAEMON_ROOM, summary)
        self.run_program(["tc", "qdisc", "del", "dev", "lo", "root"])
        self.check_downloads(gateway, {f"new-{i}": digests[i % SOURCES] for i in range(STREAMS)} | {"stalled": digests[0]})

    def test_more_uploads_over_one_connection_than_have_memory(self):
        """A server takes the requests of a connection one by one: none may wait for what lies behind it."""
        chunk, files_at_once, size = MIB // 4, 12, 12 * MIB
        cluster = self.cluster(servers=6, geometry="4+2", chunk_size=str(chunk), gateways=1,
                               serve_options=["--memory", str(4 * 6 * chunk + 2 * MIB)])
        gateway = cluster.gateways[0]
        folder = os.path.join(self.dir, "files")
        os.mkdir(folder)
        for number in range(2 * files_at_once):
            os.rename(self.random_file(f"file-{number}", size, number), os.path.join(folder, f"file-{number}"))
        self.xrdfs(gateway.url, "mkdir", "/up")
        files = [os.path.join(folder, name) for name in os.listdir(folder)]
        self.xrdcp("--parallel", files_at_once, *files, f"{gateway.url}//up/", env=CLIENT, seconds=FINISH_SECONDS)
        digests = {f"up/{os.path.basename(file)}": self.sha256(file) for file in files}
        self.check_downloads(gateway, digests)


if __name__ == "__main__":
    xectest.main()
