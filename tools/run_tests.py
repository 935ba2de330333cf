#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""./dev test: builds, runs everything CTest knows and the component tests in tests/component and tests/chaos, and
counts.

A GoogleTest program counts by its cases, any other CTest test as one. Component tests print one line for each test:
`ok NAME`, `FAIL NAME: reason`, `skip NAME: reason` (tests/component/xectest.py does). The last line of all is
`N passed, N failed`; the exit code is 1 when anything failed, when nothing ran, or when the build failed.
"""
import argparse
import concurrent.futures
import ctypes
import fnmatch
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPONENT_FOLDERS = [os.path.join(REPO, "tests", name) for name in ("component", "chaos")]
PRESETS = ("release", "asan", "tsan")
FAILPOINTS_MARK = re.compile(r"^# needs: failpoints$", re.MULTILINE)
WAITS_MARK = re.compile(r"^# waits$", re.MULTILINE)
WAITING_FILES_MAX = 2  # At the same time, of those with the mark.
COMPONENT_SECONDS = 900  # For one file, unless it says more with a line `# seconds: N`.
SECONDS_MARK = re.compile(r"^# seconds: (\d+)$", re.MULTILINE)
PR_SET_CHILD_SUBREAPER = 36
# g++ makes no tail calls with sanitizers: coroutines that do not suspend pile up on the stack, stripe by stripe.
SANITIZER_STACK_BYTES = 1 << 30


class Counts:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures = []

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


def count_gtest(name, output, succeeded):
    """Counts the cases in the output of a GoogleTest program; None when it is not one."""
    if not re.search(r"^\[={10}\] Running \d+ test", output, re.MULTILINE):
        return None
    counts = Counts()
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)", output, re.MULTILINE))
    counts.skipped = len(skipped)
    counts.passed = len(re.findall(r"^\[       OK \] ", output, re.MULTILINE))
    for case in sorted(set(re.findall(r"^\[  FAILED  \] ([^\s,]+)(?:, where .*)? \(\d+ ms\)", output, re.MULTILINE))):
        counts.fail(f"{name}: {case}")
    if not succeeded and counts.failed == 0:
        started = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
        counts.fail(f"{name}: ended abnormally" + (f" in or after {started[-1]}" if started else ""))
    return counts


def count_junit(path):
    """Counts the tests in CTest's JUnit file."""
    total = Counts()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        status = case.get("status")
        output = case.findtext("system-out") or ""
        if status in ("disabled", "notrun") and case.find("skipped") is not None:
            total.skipped += 1
            continue
        counts = count_gtest(name, output, status == "run")
        if counts is None:
            counts = Counts()
            if status == "run":
                counts.passed = 1
            else:
                counts.fail(name)
        total.add(counts)
    return total


def report_dir(build_dir):
    return os.path.join(build_dir, "sanitizer-reports")


def environment(build_dir, preset):
    """For all tests. Sanitizers report into files, because the output of a daemon is read by nobody."""
    env = dict(os.environ, XEC_BUILD=build_dir, XEC_PRESET=preset, XEC_REPO=REPO)
    if preset not in ("asan", "tsan"):
        return env
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = SANITIZER_STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, SANITIZER_STACK_BYTES)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    reports = report_dir(build_dir)
    shutil.rmtree(reports, ignore_errors=True)
    os.makedirs(reports)
    os.chmod(reports, 0o1777)
    common = f"log_path={reports}/report:halt_on_error=1"
    env["ASAN_OPTIONS"] = f"{common}:detect_stack_use_after_return=1:strict_string_checks=1"
    env["UBSAN_OPTIONS"] = f"{common}:print_stacktrace=1"
    env["TSAN_OPTIONS"] = f"{common}:second_deadlock_stack=1"
    if preset == "asan":
        # Stock xrootd, which is not instrumented, loads our plug-in, which is (xectest.py, xrootd_cluster.py).
        library = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        env["XEC_SERVER_PRELOAD"] = os.path.realpath(library.stdout.strip())
    return env


def count_reports(build_dir):
    total = Counts()
    for path in sorted(glob.glob(os.path.join(report_dir(build_dir), "*"))):
        text = read_text(path)
        print(f"--- {path}\n{text[:6000]}")
        total.fail(next((line for line in text.splitlines() if "ERROR" in line or "WARNING" in line
                         or "runtime error" in line), f"sanitizer report {path}"))
    return total


def run_ctest(build_dir, arguments, env):
    junit = os.path.join(build_dir, "dev-test.xml")
    if os.path.exists(junit):
        os.unlink(junit)
    command = ["ctest", "--test-dir", build_dir, "-j", str(arguments.jobs), "--output-on-failure", "--no-tests=ignore",
               "--output-junit", junit, "--test-output-size-passed", "100000000",
               "--test-output-size-failed", "100000000"]
    if arguments.label:
        command += ["-L", "^(" + "|".join(arguments.label) + ")$"]
    code = subprocess.run(command, env=env, check=False).returncode
    total = Counts()
    if os.path.exists(junit):
        total = count_junit(junit)
    if code != 0 and total.failed == 0:
        total.fail("ctest itself")
    return total


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def component_files(pattern):
    files = sorted(path for folder in COMPONENT_FOLDERS for path in glob.glob(os.path.join(folder, "test_*.py")))
    if pattern:
        files = [file for file in files if fnmatch.fnmatch(os.path.basename(file), f"*{pattern}*")]
    return files


def children_of(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(child) for child in read_text(f"/proc/{pid}/task/{task}/children").split()]
    except OSError:
        pass
    return found


def kill_tree(pid):
    for child in children_of(pid):
        kill_tree(child)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def become_subreaper():
    """In the child: daemons of a test stay below its process, where they are found when it must be killed."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_component(path, env, print_lock):
    """Runs one file of component tests; its lines appear as they come."""
    name = os.path.basename(path)[:-3]
    limit = SECONDS_MARK.search(read_text(path))
    seconds = int(limit.group(1)) if limit else COMPONENT_SECONDS
    counts = Counts()
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, path], env=env, cwd=REPO, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               preexec_fn=become_subreaper)
    timed_out = threading.Event()

    def give_up():
        timed_out.set()
        kill_tree(process.pid)

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        for line in process.stdout:
            with print_lock:
                print(f"{name}: {line}", end="", flush=True)
            if line.startswith("ok "):
                counts.passed += 1
            elif line.startswith("FAIL "):
                counts.fail(f"{name}: {line[5:].strip()}")
            elif line.startswith("skip "):
                counts.skipped += 1
        # As Popen.wait, but it tells the CPU time of the process and of all daemons that it has waited for as well.
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        timer.cancel()
    if timed_out.is_set():
        counts.fail(f"{name}: not finished after {seconds} s")
    elif code != 0 and counts.failed == 0:
        counts.fail(f"{name}: ended with code {code}")
    with print_lock:
        print(f"{name}: {time.monotonic() - start:.1f} s, CPU {usage.ru_utime + usage.ru_stime:.1f} s", flush=True)
    return counts


def run_components(files, env, jobs, first):
    """Files that say that they mostly wait run beside `first`, which counts too, and then beside the rest, `jobs` at a time."""
    lock = threading.Lock()
    waiting = [path for path in files if WAITS_MARK.search(read_text(path))]
    rest = [path for path in files if path not in waiting]
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool, \
            concurrent.futures.ThreadPoolExecutor(max_workers=WAITING_FILES_MAX) as beside:
        runs = [beside.submit(run_component, path, env, lock) for path in waiting]
        total = first()
        runs += [pool.submit(run_component, path, env, lock) for path in rest]
        for run in runs:
            total.add(run.result())
    return total


def build(arguments, build_dir, preset, targets=()):
    command = [os.path.join(REPO, "tools", "build.sh"), "--preset", preset, "--build-dir", build_dir, "--quiet",
               *(["--xrootd", arguments.xrootd] if arguments.xrootd else []), *targets]
    return subprocess.run(command, check=False).returncode == 0


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"dev test: {message} (see ./dev help)", file=sys.stderr)
        sys.exit(2)


def parse(argv):
    parser = Parser(prog="./dev test", description="Builds and runs all tests.", allow_abbrev=False)
    parser.add_argument("--label", action="append", default=[],
                        help="only tests of this CTest label (unit, lint, golden, simulation, simulation_short, fuzz), "
                             "or `component`")
    parser.add_argument("--component", default="", metavar="PATTERN",
                        help="only the component tests in files of this name")
    parser.add_argument("--preset", default="release", choices=PRESETS)
    parser.add_argument("--build-dir", default="", metavar="DIR", help="default: build/PRESET")
    parser.add_argument("--xrootd", default="", metavar="PREFIX", help="build against this XRootD")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, metavar="N")
    parser.add_argument("--component-jobs", type=int, default=1, metavar="N",
                        help="files of component tests that run at the same time (default %(default)s)")
    parser.add_argument("--no-build", action="store_true", help="test what is built already")
    return parser.parse_args(argv)


def run(arguments, total):
    build_dir = os.path.abspath(arguments.build_dir or os.path.join(REPO, "build", arguments.preset))
    if arguments.preset == "tsan" and not arguments.label and not arguments.component:
        # XRootD's libraries are not instrumented: what happens inside them would be reported as races.
        arguments.label = ["unit", "simulation"]
    wants_ctest = not arguments.component
    wants_component = bool(arguments.component) or not arguments.label or "component" in arguments.label
    files = component_files(arguments.component) if wants_component else []
    env = environment(build_dir, arguments.preset)
    env["XEC_XROOTD"] = arguments.xrootd or "/usr"

    if not arguments.no_build and not build(arguments, build_dir, arguments.preset):
        total.fail("build")
        return
    if any(FAILPOINTS_MARK.search(read_text(path)) for path in files):
        env["XEC_FAILPOINTS_BUILD"] = build_dir + "-failpoints"
        if not arguments.no_build and not build(arguments, build_dir, arguments.preset, ["failpoint_programs"]):
            total.fail("build of the programs with fail points")
            return
    component_env = dict(env)
    # Who has put root's rights away cannot be looked into for leaks, and xrootd has its own.
    if "ASAN_OPTIONS" in env:
        component_env["ASAN_OPTIONS"] += ":detect_leaks=0"
    total.add(run_components(files, component_env, arguments.component_jobs,
                             lambda: run_ctest(build_dir, arguments, env) if wants_ctest else Counts()))
    total.add(count_reports(build_dir))


def main(argv):
    arguments = parse(argv)
    total = Counts()
    start = time.monotonic()
    run(arguments, total)
    if total.passed + total.failed + total.skipped == 0:
        total.fail("no test was found")
    for failure in total.failures:
        print(f"failed: {failure}")
    print(f"{time.monotonic() - start:.0f} s, {total.skipped} skipped")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
