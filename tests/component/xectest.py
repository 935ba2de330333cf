# SPDX-License-Identifier: LGPL-3.0-or-later
"""What component tests share: a private network, real servers, clients with time limits, and cleaning up.

    import xectest

    class Put(xectest.TestCase):
        def test_round_trip(self):
            store = self.serve(geometry="4+2")              # xec serve on directories of its own
            file = self.random_file("a", 3_000_000)
            self.xrdcp(file, store.url + "//a")
            store.kill(); store.start()
            self.xrdcp(store.url + "//a", self.path("b"))
            self.assert_same(file, self.path("b"))

    if __name__ == "__main__":
        xectest.main()

Each test prints one line: `ok NAME`, `FAIL NAME: reason` or `skip NAME: reason`. A test program runs in a network
namespace of its own, so that every port is free and nothing reaches beyond this machine; when it ends, so do all
processes it started. Nothing waits by sleeping for a fixed time: servers are ready when they say so.

The runner (./dev test) sets XEC_BUILD (the build directory) and XEC_FAILPOINTS_BUILD (that with fail points, for
files with a line `# needs: failpoints`); both have defaults, so that a file can be run by hand:
    python3 tests/component/test_house.py [PART OF A TEST'S NAME]...
XEC_KEEP=1 keeps the directories of failed tests. XEC_TEST_DIR is where they are made (default: the usual temp dir).
"""
import contextlib
import ctypes
import functools
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tools"))
import daemons  # noqa: E402
import sandbox  # noqa: E402
import xrootd_cluster  # noqa: E402

HOST = "127.0.0.1"
CLIENT_SECONDS = 120.0
READY_SECONDS = 60.0
# Client settings under which a dead server is an error after seconds, not minutes; for tests that ask for them.
QUICK_CLIENT = {"XRD_CONNECTIONWINDOW": "3", "XRD_CONNECTIONRETRY": "1", "XRD_REQUESTTIMEOUT": "30",
                "XRD_STREAMTIMEOUT": "15", "XRD_TIMEOUTRESOLUTION": "1"}

_ports = iter(range(11000, 32000))
_network_error = ""


def build_dir():
    return os.environ.get("XEC_BUILD", os.path.join(REPO, "build", "release"))


def failpoints_dir():
    return os.environ.get("XEC_FAILPOINTS_BUILD", build_dir() + "-failpoints")


@functools.cache
def find_program(name, build):
    """The program `name` somewhere below the build directory, or None."""
    for folder, _, files in os.walk(build):
        path = os.path.join(folder, name)
        if name in files and os.access(path, os.X_OK):
            return path
    return None


class Result:
    """What a program did."""

    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err

    def __str__(self):
        return f"{' '.join(self.argv)}: exit code {self.code}\n{self.out[-2000:]}\n{self.err[-2000:]}".strip()


class Process:
    """A program in the background whose output lines can be waited for. Its own process group; killed when the
    test ends."""

    def __init__(self, argv, env=None, cwd=None):
        self.argv = [str(word) for word in argv]
        self.popen = subprocess.Popen(self.argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self._lines = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self):
        return self.popen.pid

    def _read(self):
        with self.popen.stdout as lines:
            for line in lines:
                with self._changed:
                    self._lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def output(self):
        with self._changed:
            return "\n".join(self._lines)

    def wait_line(self, start, seconds=READY_SECONDS):
        """Waits for a line that starts with `start` and returns it."""
        def found():
            return next((line for line in self._lines if line.startswith(start)), None)
        with self._changed:
            self._changed.wait_for(lambda: found() is not None or self._ended, seconds)
            if found() is not None:
                return found()
        state = "ended" if self._ended else f"still running after {seconds:.0f} s"
        raise AssertionError(f"no line \"{start}...\" from {' '.join(self.argv)} ({state}):\n{self.output()[-3000:]}")

    def wait(self, seconds=CLIENT_SECONDS):
        """Waits for the end and returns the exit code."""
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{' '.join(self.argv)} still runs after {seconds:.0f} s:\n"
                                 f"{self.output()[-3000:]}") from None
        self._reader.join(seconds)
        return code

    def signal(self, number):
        """To the whole process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait()


class Serve:
    """One `xec serve`. The directories and the port stay the same over start(), so that it can be killed and
    started again."""

    def __init__(self, test, options, env, build, port, dirs, state):
        self._test, self._options, self._env, self._build = test, options, env, build
        self.port, self.dirs = port, dirs
        self.state = os.path.join(state, f"gateway-{port}")
        self.process = None
        self.xrootd = daemons.Daemon()

    @property
    def url(self):
        return f"root://{HOST}:{self.port}"

    @property
    def http(self):
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self):
        """Of the xrootd that serves."""
        return self.xrootd.pid

    def store_options(self):
        return [word for path in self.dirs for word in ("--data", path)]

    def argv(self):
        return [self._test.program("xec", self._build), "serve", *self.store_options(), "--port", str(self.port),
                "--state", os.path.dirname(self.state), *self._options]

    def start(self, seconds=READY_SECONDS, env=None):
        self.process = Process(self.argv(), env={**os.environ, **daemons.preload_environment(), **self._env,
                                                 **(env or {})})
        self._test.addCleanup(self.kill)
        self.process.wait_line("ready", seconds)
        pid = daemons.find_xrootd(self.process.pid)
        self.xrootd = daemons.Daemon(pid, daemons.start_time(pid) or 0)
        return self

    def output(self):
        return self.process.output()

    def stop(self, seconds=30.0):
        """SIGTERM as an operator would; returns the exit code."""
        os.kill(self.process.pid, signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        """kill -9 of everything that serves."""
        self.xrootd.signal(signal.SIGKILL)
        self.process.kill()
        self.xrootd.kill()

    def freeze(self):
        self.xrootd.signal(signal.SIGSTOP)

    def thaw(self):
        self.xrootd.signal(signal.SIGCONT)

    def xec(self, command, *arguments, **options):
        """Runs another command of xec on the same store, as the user the data belongs to."""
        return self._test.run_as_owner(self.dirs[0], [self._test.program("xec", self._build), command,
                                                      *self.store_options(), *arguments], **options)


class TestCase(unittest.TestCase):
    """The base of all component tests."""
    longMessage = True

    def setUp(self):
        if _network_error:
            self.skipTest(_network_error)
        self.dir = tempfile.mkdtemp(prefix="xec-test-", dir=os.environ.get("XEC_TEST_DIR"))
        os.chmod(self.dir, 0o755)
        self.addCleanup(self._remove_dir)

    def _remove_dir(self):
        if os.environ.get("XEC_KEEP") == "1" and self._failed():
            print(f"kept {self.dir}", flush=True)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def _failed(self):
        result = self._outcome.result
        return any(self in (test, getattr(test, "test_case", None)) for test, _ in result.failures + result.errors)

    # What a test needs, or else is skipped for.

    def program(self, name, build=None):
        path = find_program(name, build or build_dir())
        if path is None:
            self.skipTest(f"no program {name} below {build or build_dir()}")
        return path

    def require_root(self, why):
        if os.geteuid() != 0:
            self.skipTest(f"needs root: {why}")

    # Places and files.

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def random_file(self, name, size, seed=1):
        """A file of `size` bytes that depend on `seed` only."""
        path = self.path(name)
        generator = random.Random(seed)
        with open(path, "wb") as file:
            while size > 0:
                piece = generator.randbytes(min(size, 1 << 20))
                file.write(piece)
                size -= len(piece)
        return path

    def sha256(self, path):
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def assert_same(self, expected, actual):
        self.assertEqual(os.path.getsize(expected), os.path.getsize(actual), f"size of {actual}")
        self.assertEqual(self.sha256(expected), self.sha256(actual), f"content of {actual}")

    def flip_byte(self, path, offset):
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)
            self.assertTrue(byte, f"{path} has no byte {offset}")
            file.seek(offset)
            file.write(bytes([byte[0] ^ 0x55]))

    def files_below(self, root):
        """Relative paths of all files below `root`, sorted."""
        return sorted(os.path.relpath(os.path.join(folder, name), root)
                      for folder, _, names in os.walk(root) for name in names)

    # Servers.

    def enter_mounts(self):
        """From here on mounts belong to this process and its children alone: they go when the test does."""
        self.require_root("it mounts file systems")
        clone_newns, recursive_private = 0x00020000, 0x4000 | 0x40000
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(clone_newns) != 0 or libc.mount(b"none", b"/", None, recursive_private, None) != 0:
            self.skipTest(f"needs a mount namespace: {os.strerror(ctypes.get_errno())}")

    def mount_disk(self, path, mebibytes):
        """An ext4 on a loop device at `path`, or a tmpfs where there are none. After enter_mounts."""
        os.makedirs(path, exist_ok=True)
        image = path + ".img"
        with open(image, "wb") as file:
            file.truncate(mebibytes << 20)
        self.run_program(["mkfs.ext4", "-q", "-m", "0", image])
        if self.run_program(["mount", "-o", "loop", image, path], code=None).code != 0:
            self.run_program(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", path])
        self.addCleanup(self.run_program, ["umount", "-l", path])

    def disk(self, path, mebibytes):
        """An empty directory on a small disk of its own."""
        self.mount_disk(path, mebibytes)
        beside_lost_found = os.path.join(path, "data")
        os.makedirs(beside_lost_found)
        return beside_lost_found

    def kill_disk(self, path):
        """What lies at `path` answers nothing but errors until it is unmounted: a FUSE whose program has died."""
        libc = ctypes.CDLL(None, use_errno=True)
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"dead", path.encode(), b"fuse", 0, options.encode()) != 0:
            self.skipTest(f"needs FUSE: {os.strerror(ctypes.get_errno())}")
        os.close(device)

    def give_disks(self, cluster, mebibytes):
        """Each data server of the cluster gets a disk of its own, with what it had. After enter_mounts."""
        for server in cluster.servers:
            server.kill()
            kept = server.data + ".kept"
            os.rename(server.data, kept)
            self.mount_disk(server.data, mebibytes)
            shutil.copystat(kept, server.data)
            owner = os.stat(kept)
            os.chown(server.data, owner.st_uid, owner.st_gid)
            self.run_program(["cp", "-a", kept + "/.", server.data])
            self.run_program(["sync", "-f", server.data])
            cluster.start(server)

    def fill_disk(self, path):
        """Leaves no byte free; answers the file to remove."""
        ballast = os.path.join(path, "ballast")
        with open(ballast, "wb", buffering=0) as file:
            for piece in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(piece))
        return ballast

    def free_port(self):
        return next(_ports)

    def serve(self, dirs=None, options=(), env=None, build=None, start=True, **named):
        """Starts `xec serve` on new directories (a number or a list of paths, default k+m of the geometry).
        Named arguments are options: geometry="4+2", chunk_size="64KiB". env may set fail points."""
        geometry = named.setdefault("geometry", "8+2")
        place = tempfile.mkdtemp(prefix="serve-", dir=self.dir)
        os.chmod(place, 0o755)
        if dirs is None:
            dirs = sum(int(number) for number in geometry.split("+"))
        if isinstance(dirs, int):
            dirs = [os.path.join(place, f"d{number:02d}") for number in range(1, dirs + 1)]
        words = [word for key, value in named.items() for word in ("--" + key.replace("_", "-"), str(value))]
        server = Serve(self, [*words, *options], env or {}, build, self.free_port(), list(dirs),
                       os.path.join(place, "state"))
        return server.start() if start else server

    def cluster(self, servers=12, **options):
        """Starts a vanilla cluster; options are those of xrootd_cluster.Options."""
        place = tempfile.mkdtemp(prefix="cluster-", dir=self.dir)
        os.chmod(place, 0o755)
        if options.get("gateways"):
            options.setdefault("xec", self.program("xec"))
        base = self.free_port()
        for _ in range(400):
            next(_ports)
        cluster = xrootd_cluster.Cluster(xrootd_cluster.Options(
            dir=place, servers=servers, base_port=base, xrootd=os.environ.get("XEC_XROOTD", "/usr"), **options))
        self.addCleanup(cluster.down)
        return cluster.up()

    # Clients.

    def run_program(self, argv, seconds=CLIENT_SECONDS, code=0, env=None, stdin=None, cwd=None, binary=False):
        """Runs a program to its end and returns a Result; fails when it takes longer, or when the exit code is not
        `code` (None: any)."""
        argv = [str(word) for word in argv]
        process = subprocess.Popen(argv, env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True,
                                   stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"not finished after {seconds:.0f} s: {Result(argv, None, repr(out[-500:]), repr(err[-500:]))}")
        result = Result(argv, process.returncode, out if binary else out.decode(errors="replace"),
                        err.decode(errors="replace"))
        if code is not None and result.code != code:
            self.fail(f"expected exit code {code}: {result}")
        return result

    def run_as_owner(self, path, argv, **options):
        """As run_program, as the user to whom `path` belongs."""
        owner = os.stat(path)
        if os.geteuid() == 0 and owner.st_uid != 0:
            argv = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", *argv]
        return self.run_program(argv, **options)

    def background(self, argv, env=None):
        """Starts a program and returns its Process; it is killed at the end of the test."""
        process = Process(argv, env={**os.environ, **(env or {})})
        self.addCleanup(process.kill)
        return process

    def xrdcp(self, *arguments, **options):
        return self.run_program(["xrdcp", "--nopbar", *arguments], **options)

    def xrdfs(self, url, *arguments, **options):
        return self.run_program(["xrdfs", url, *arguments], **options)

    def curl(self, *arguments, **options):
        """Fails on HTTP errors (exit code 22)."""
        return self.run_program(["curl", "--silent", "--show-error", "--fail", *arguments], **options)

    def http_status(self, *arguments, **options):
        """The status code of a curl request, as a number."""
        result = self.run_program(["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}",
                                   *arguments], code=None, **options)
        return int(result.out or 0)

    def eventually(self, condition, seconds, what):
        """Waits until `condition()` is true and returns its value, or fails after `seconds`. For conditions of other
        processes that nothing announces."""
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                self.fail(f"not after {seconds} s: {what}")
            threading.Event().wait(0.05)


class _Reporter(unittest.TestResult):
    """One line for each test."""

    @staticmethod
    def _name(test):
        return test.id().removeprefix("__main__.")

    @staticmethod
    def _reason(error):
        kind, value, trace = error
        frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.endswith("case.py")]
        where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""
        name = "" if issubclass(kind, AssertionError) else kind.__name__ + ": "
        lines = str(value).strip().splitlines() or [kind.__name__]
        return where + name + lines[0], lines[1:]

    def _fail(self, name, error):
        first, rest = self._reason(error)
        print(f"FAIL {name}: {first}", *(f"  | {line}" for line in rest), sep="\n", flush=True)

    def addSuccess(self, test):
        print(f"ok {self._name(test)}", flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(self._name(test), err)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(self._name(test), err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._fail(self._name(subtest), err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skip {self._name(test)}: {reason}", flush=True)


def main():
    """Runs the tests of the calling program, or those whose name contains one of the arguments."""
    global _network_error
    sandbox.adopt_daemons()
    _network_error = sandbox.enter_network()
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]] or None
    suite = loader.loadTestsFromModule(sys.modules["__main__"])
    result = _Reporter()
    try:
        suite.run(result)
    finally:
        sandbox.kill_descendants()
    sys.exit(0 if result.wasSuccessful() else 1)
