# SPDX-License-Identifier: LGPL-3.0-or-later
"""The engine killed at its fail points (src/base/failpoint.hh), and what must be true afterwards.

A campaign works on one store. Every case is one operation on names of its own, killed at one passage of one fail
point. Cases lie below two roots: under /read readers come first, and what they see done must stay done; under /clean
the cleaner comes first. In the end every name is as one of the operation's legal results says, byte for byte; every data
server holds exactly the archives of the versions that live; and when all is removed, nothing is left anywhere.
"""
import collections
import concurrent.futures
import contextlib
import dataclasses
import glob
import hashlib
import http.client
import json
import os
import random
import re
import signal
import time
import urllib.parse

import xectest
from failpoint_scenarios import DIRECTORY, SCENARIOS, Scenario

GEOMETRY, CHUNK_SIZE, SERVERS = "4+2", "4KiB", 8
LANES = 6
SIZES = {"old": 23_456, "new": 40_007, "small": 100, "empty": 0}
KILLED = -signal.SIGKILL
KILLED_SHARE_MIN = 0.8
ROOTS = ("read", "clean")
CLEAN_SECONDS = 600.0
SEED = os.environ.get("XEC_TEST_SEED", "1")
NO_SUCH_ATTRIBUTE = "[3027]"  # kXR_AttrNotFound


def graces(limit_ms):
    """Options of a cleaner that knows that nobody else is at work. A rename that it resumes begins anew when its
    preparation, some twenty requests, took longer than the operation limit."""
    return ["--superseded-grace", "1ms", "--upload-grace", "1ms", "--tombstone-horizon", f"{2 * limit_ms}ms",
            "--operation-limit", f"{limit_ms}ms"]


LIMIT_MS = 200
LIMIT_MS_MAX = 2_000  # longer graces would outgrow the time that the passes take, and nothing would ever be old enough


def graces_of_pass(number):
    """Of the cleaner's passes over one store, from 0. On a slow machine nothing resumed ever ends within the first
    limits, so they grow."""
    return graces(min(LIMIT_MS * 2 ** (number // 4), LIMIT_MS_MAX))


def found_nothing(report):
    """Has this pass of the cleaner found nothing to do, now or later?"""
    return report["removed"] == report["left"] == 0


def all_points():
    """Every name of the table in the header."""
    with open(os.path.join(xectest.REPO, "src", "base", "failpoint.hh"), encoding="utf-8") as file:
        table = file.read().partition("kFailPoints[] = {")[2].partition("};")[0]
    return re.findall(r'^\s*"([a-z_.]+)",$', table, re.MULTILINE)


def every(_scenario, _point, count):
    """Every passage, below both roots."""
    return (set(range(1, count + 1)),) * 2


def alternating(_scenario, _point, count):
    """Every passage, below the one or the other root."""
    return set(range(1, count + 1, 2)), set(range(2, count + 1, 2))


def first_and_last(_scenario, _point, count):
    """One below each of the roots."""
    return {1}, {count}


def once(scenario, point, count):
    """The first or the last passage, below one of the roots."""
    choice = random.Random(f"{SEED} {scenario.name} {point}")
    return choice.sample(({choice.choice((1, count))}, set()), 2)


def list_directory(path):
    try:
        return os.listdir(path)
    except FileNotFoundError:
        return []


def passed(log):
    """How often each point was passed, by the log."""
    with open(log, encoding="ascii") as file:
        return collections.Counter(file.read().split())


@dataclasses.dataclass
class Case:
    scenario: Scenario
    root: str
    point: str
    passage: int
    killed: bool = False

    @property
    def place(self):
        return f"/{self.root}/{self.scenario.name}/{self.point}-{self.passage}"

    def __str__(self):
        return f"{self.scenario.name} killed at {self.point}:{self.passage}"


class Store:
    """A store, the programs that work on it, and the folders where its data servers keep their files."""

    def __init__(self, test, servers, folders, sizes=None, cluster=None, layout="native", sync="none"):
        """`servers`: the words that name each data server on a command line. `sizes`: of the files by their labels.
        `cluster`: whose data servers these are. `sync`: the policy of gateways and programs."""
        self.test = test
        self.servers = servers
        self.folders = folders
        self.build = xectest.failpoints_dir()
        self.program = test.program("xec", self.build)
        self.files = {}
        self.sizes = sizes or SIZES
        for seed, (label, size) in enumerate(self.sizes.items()):
            self.files[label] = test.random_file(f"content-{label}", size, seed)
            os.chmod(self.files[label], 0o644)
        self.labels = {test.sha256(path): label for label, path in self.files.items()}
        self.gateway = None
        self.cluster = cluster
        self.layout = layout
        self.sync = sync
        self.left_out = None

    @contextlib.contextmanager
    def away(self, index):
        """One data server is not there. Programs find those of a cluster by themselves; directories must be named."""
        if self.cluster:
            self.cluster.servers[index].kill()
        else:
            self.left_out = index
        yield
        if self.cluster:
            self.cluster.start(self.cluster.servers[index])
        self.left_out = None

    def serve(self, env, more=()):
        """A gateway on the store, whose own cleaner stays out of the way."""
        words = [word for pair in self.servers for word in pair]
        options = (*words, "--clean-interval", "24h", "--sync", self.sync, "--chunk-size", CHUNK_SIZE,
                   "--layout", self.layout, *more)
        gateway = self.test.serve(dirs=[], options=options, build=self.build, start=False, geometry=GEOMETRY)
        return gateway.start(env=env)

    def stop_gateway(self):
        """What it answered may still have work behind it, such as a roll forward of what a reader saw."""
        if self.gateway:
            self.gateway.kill()
        self.gateway = None

    def fresh_gateway(self):
        """In place of the one that readers asked until now."""
        self.stop_gateway()
        # User attributes are "cannot tell, retry" until a rename that died is given up.
        self.gateway = self.serve(env={}, more=("--operation-limit", f"{LIMIT_MS_MAX}ms"))

    def log_file(self, name):
        """An empty file that every gateway and program may write to."""
        path = self.test.path(f"log-{name}")
        with open(path, "w", encoding="ascii"):
            os.chmod(path, 0o666)
        return path

    def words(self, command, *operands):
        options = [word for i, pair in enumerate(self.servers) if i != self.left_out for word in pair]
        return [self.program, command, *options, "--sync", self.sync, *operands]

    def xec(self, command, *operands, point=None, log=None, code=0, binary=False, seconds=xectest.CLIENT_SECONDS):
        env = {"XEC_FAILPOINT": point} if point else {}
        if log:
            env["XEC_FAILPOINT_LOG"] = log
        return self.test.run_program(self.words(command, *operands), env=env, code=code, binary=binary,
                                     seconds=seconds)

    def words_of(self, words, place):
        return [self.files[word[1:]] if word.startswith("%") else word.replace("@", place, 1) for word in words]

    # What readers see.

    def read(self, path, tagged=False):
        """The label of the object's content; None when it does not exist."""
        connection = http.client.HTTPConnection(xectest.HOST, self.gateway.port, timeout=xectest.CLIENT_SECONDS)
        try:
            connection.request("GET", urllib.parse.quote(path))
            response = connection.getresponse()
            body = response.read()
        except http.client.IncompleteRead as error:
            self.test.fail(f"{path}: {error}: {error.partial[:300]}")
        finally:
            connection.close()
        if response.status == 404:
            return None
        self.test.assertEqual(response.status, 200, f"{path}: {body[:200]}")
        label = self.labels.get(hashlib.sha256(body).hexdigest())
        self.test.assertIsNotNone(label, f"{path} is {len(body)} bytes of no known content")
        return label + (self.tag(path) if tagged else "")

    def tag(self, path):
        """"+tag" where the object has its user attribute, "" where it is told to have none."""
        give_up = time.monotonic() + xectest.CLIENT_SECONDS
        while True:
            result = self.test.xrdfs(self.gateway.url, "xattr", path, "get", "tag", code=None)
            said = result.out + result.err
            if 'tag="red"' in result.out:
                return "+tag"
            if NO_SUCH_ATTRIBUTE in said:
                return ""
            # "Cannot tell, retry" until a rename that died is given up; errors of attributes come without text.
            self.test.assertLess(time.monotonic(), give_up, f"{path}: nobody can tell its user attributes: {said}")

    def write(self, path, label):
        with open(self.files[label.partition("+")[0]], "rb") as file:
            body = file.read()
        connection = http.client.HTTPConnection(xectest.HOST, self.gateway.port, timeout=xectest.CLIENT_SECONDS)
        try:
            connection.request("PUT", urllib.parse.quote(path), body)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        self.test.assertEqual(response.status // 100, 2, f"{path}: {text[:200]}")
        if label.endswith("+tag"):
            self.test.xrdfs(self.gateway.url, "xattr", path, "set", "tag=red")

    def snapshot(self, root):
        """Every name below /root: path -> label."""
        # The first listing decides what was left open, each name at its own moment; the second must be the truth.
        self.xec("ls", "-R", f"/{root}")
        entries = json.loads(self.xec("ls", "-R", "--json", f"/{root}").out)
        seen = {}
        for entry in entries:
            path = entry["path"]
            if entry["type"] == "directory":
                seen[path] = DIRECTORY
                continue
            seen[path] = self.read(path, "/rename_tagged/" in path)
            size = self.sizes.get((seen[path] or "").partition("+")[0])
            self.test.assertEqual(size, entry["size"], f"{path}: listed with {entry['size']} bytes, is {seen[path]}")
        return seen

    # What lies on the servers.

    def entries(self):
        """{object directory: [(folder, entry)]} of everything the servers hold of names. Fails on strays."""
        found = collections.defaultdict(list)
        for folder in self.folders:
            for path, directories, files in os.walk(folder):
                name = os.path.relpath(path, folder)
                if name == ".xec":
                    directories.clear()
                elif name.endswith((".~xo", ".~xl")):
                    found[name] += [(folder, entry) for entry in directories + files]
                    directories.clear()
                else:
                    self.test.assertEqual(files, [], f"strange files in {path}")
        return found

    def age_files_of_syncs(self):
        """What was left of them is removed by whoever makes the next one there, when it is old."""
        for folder in self.folders:
            for path in glob.glob(os.path.join(folder, ".xec", "sync.*")):
                os.utime(path, (0, 0))

    def everything(self):
        """Every path on every server but those of the store itself."""
        store = (".xec", ".xec/server", ".xec/store", ".xec/moves", ".xec/clock", ".xec/probe", ".xec/probe/file",
                 ".xec/jobs")
        if self.layout == "xrdec":
            store += (".xec/names", ".xec/staged")
        paths = [os.path.join(path, name) for folder in self.folders for path, directories, files in os.walk(folder)
                 if not path.endswith(("/.xec/clock", "/.xec/jobs")) for name in directories + files]
        return [path for path in paths if not path.endswith(store)]


class Campaign:
    def __init__(self, test, store, scenarios=SCENARIOS):
        self.test, self.store, self.scenarios = test, store, scenarios
        self.cases = []
        self.discovered = set()  # (operation, fail point)
        self.killed = collections.Counter()
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2)
        test.addCleanup(self.pool.shutdown)
        store.fresh_gateway()
        self.home = self._first_home()

    def run(self, choose, every_point=False):
        """`choose(scenario, point, count)`: for each root, which passages of a point that is passed `count` times are
        killed; `every_point`: each at least once. Returns how often the cleaner had to run."""
        self.discover(choose)
        self.prepare(self.cases)
        self.each(self.kill, self.cases)
        self.expect_killed(every_point)
        self.store.fresh_gateway()
        before = self.look("read", meanwhile=True)
        passes = self.clean()
        after = {**self.look("read"), **self.look("clean")}
        for case in self.cases:
            if case.root == "read":
                self.expect_forward(case, before, after)
        self.expect_only_living()
        self.remove_all()
        return passes

    def each(self, function, items):
        return list(self.pool.map(function, items))

    # Preparation.

    def _first_home(self):
        """The data server that is asked first for the name "a", wherever that is; by what removals have marked."""
        marked = collections.Counter()
        for place in ("/probe/1", "/probe/2", "/probe/3"):
            self.store.write(f"{place}/a", "small")
            self.store.xec("rm", f"{place}/a")
            marked.update(i for i, folder in enumerate(self.store.folders)
                          for entry in list_directory(f"{folder}{place}/a.~xo") if entry.startswith("t."))
        return marked.most_common(1)[0][0]

    def prepare(self, cases):
        directories, objects = [], []
        for case in cases:
            directories.append(case.place)
            for path, label in case.scenario.before.items():
                if label == DIRECTORY:
                    directories.append(f"{case.place}/{path}")
                else:
                    objects.append((f"{case.place}/{path}", label))
        for start in range(0, len(directories), 500):
            self.store.xec("mkdir", "-p", *directories[start:start + 500])
        self.each(lambda entry: self.store.write(*entry), objects)
        earlier = [(case.place, *operation) for case in cases for operation in case.scenario.earlier]
        self.each(self._earlier, [operation for operation in earlier if not operation[-1]])
        with self.store.away(self.home):
            self.each(self._earlier, [operation for operation in earlier if operation[-1]])

    def _earlier(self, operation):
        place, words, point, _ = operation
        self.store.xec(*self.store.words_of(words, place), point=point, code=KILLED if point else 0)

    def passages(self, name, *words):
        """How often the command passes each fail point, and what it prints."""
        log = self.store.log_file(name)
        result = self.store.xec(*words, log=log, code=None)
        return passed(log), result.out

    def passages_of(self, case):
        return self.passages(case.scenario.name, *self.store.words_of(case.scenario.words, case.place))[0]

    def discover(self, choose):
        probes = [Case(scenario, "probe", "none", 1) for scenario in self.scenarios]
        self.prepare(probes)
        counted = self.each(self.passages_of, probes)
        for probe, counts in zip(probes, counted):
            for point, count in sorted(counts.items()):
                self.discovered.add((probe.scenario.name, point))
                for root, chosen in zip(ROOTS, choose(probe.scenario, point, count)):
                    self.cases += [Case(probe.scenario, root, point, passage) for passage in sorted(chosen)]

    def kill(self, case):
        words = self.store.words_of(case.scenario.words, case.place)
        result = self.store.xec(*words, point=f"{case.point}:{case.passage}", code=None)
        case.killed = result.code == KILLED
        self.test.assertTrue(case.killed or result.code >= 0, f"{case}: {result}")
        self.killed[case.point] += case.killed

    # What must hold.

    def killed_points(self):
        return {(case.scenario.name, case.point) for case in self.cases if case.killed}

    def expect_killed(self, every_point):
        """What follows shows nothing where nobody was killed. How often a point is passed varies a little."""
        self.test.assertGreater(len(self.cases), 0)
        missed = [str(case) for case in self.cases if not case.killed]
        self.test.assertGreaterEqual(len(self.cases) - len(missed), KILLED_SHARE_MIN * len(self.cases),
                                     f"of {len(self.cases)} cases these ran past their fail points: {missed}")
        if every_point:
            self.test.assertEqual(self.discovered - self.killed_points(), set(), "nothing was killed at these")

    def look(self, root, meanwhile=False):
        """Reads every name of the cases below the root and checks it; {case's place: {name: label}}."""
        cases = [case for case in self.cases if case.root == root]
        names = self.store.snapshot(root)
        seen = {case.place: {} for case in cases}
        for path, label in names.items():
            place = "/".join(path.split("/")[:4])
            if place in seen and path != place:
                seen[place][path[len(place) + 1:]] = label
        when = "before" if meanwhile else "after"
        hidden = []
        for case in cases:
            found, scenario = seen[case.place], case.scenario
            if not (meanwhile and scenario.legal_meanwhile and scenario.legal_meanwhile(found)):
                self.test.assertIn(found, scenario.results, f"{case} ({when} the cleaner)")
            hidden += [f"{case.place}/{name}" for result in scenario.results for name, label in result.items()
                       if name not in found and label != DIRECTORY]
        for path, label in zip(hidden, self.each(self.store.read, hidden)):
            self.test.assertIsNone(label, f"{path} can be read but is not listed ({when} the cleaner)")
        return seen

    def expect_forward(self, case, before, after, more=""):
        """What was seen done stays done. What was not may still be done: its client never got an answer."""
        results = case.scenario.results
        if case.scenario.legal_meanwhile is None:
            self.test.assertLessEqual(results.index(before[case.place]), results.index(after[case.place]),
                                      f"{case}{more}: seen done, then undone")

    def clean(self):
        """Runs the cleaner until it finds nothing to do; returns how often."""
        reports = []

        def done():
            report = self.store.xec("clean", "--json", *graces_of_pass(len(reports)), seconds=CLEAN_SECONDS).out
            reports.append(json.loads(report))
            return found_nothing(reports[-1])

        try:
            self.test.eventually(done, CLEAN_SECONDS, "the cleaner finds nothing more to do")
        except AssertionError as error:
            raise AssertionError(f"{error}: {reports[-1:]} after {len(reports)} passes") from None
        return len(reports)

    def expect_only_living(self):
        """Each object directory holds one version: all archives of an object, or the marks of a directory."""
        objects = 0
        for name, found in self.store.entries().items():
            entries = [(folder, entry) for folder, entry in found if entry[:2] not in ("n.", "a.")]
            states = [entry.split(".") for _, entry in entries]
            what = f"left over in {name}: {found}"
            self.test.assertEqual(len({state[1] for state in states if state[0] in "pwdt"}), 1, what)
            self.test.assertEqual(len({folder for folder, _ in entries}), len(entries), what)
            kinds = {state[0] for state in states}
            if kinds == {"d"}:
                continue
            self.test.assertLessEqual(kinds, {"p", "w"}, what)
            objects += 1
            lanes = {0: 0, SIZES["small"]: 3}.get(int(states[0][3]), LANES)
            self.test.assertGreaterEqual(sum(state[0] == "p" for state in states), lanes, f"archives of {name}: {found}")
        listed = json.loads(self.store.xec("ls", "-R", "--json", "/").out)
        self.test.assertEqual(objects, sum(entry["type"] == "object" for entry in listed), "objects on servers, listed")

    def remove_all(self):
        self.store.age_files_of_syncs()
        tops = [f"/{name}" for name in self.store.xec("ls", "/").out.replace("/", "").split()]
        self.store.xec("rm", "-r", *tops)
        self.clean()
        self.test.assertEqual(self.store.everything(), [], "left when everything was removed")

    def report(self, what, passes):
        kills = sum(case.killed for case in self.cases)
        print(f"{what}: {len(self.scenarios)} operations, {kills} kills at {len(+self.killed)} fail points "
              f"({len(self.cases) - kills} ran past theirs), {len(self.killed_points())} of the {len(self.discovered)} that "
              f"the operations pass, cleaner done after {passes} passes", flush=True)
