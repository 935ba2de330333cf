# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs clients to their end and tells what they cost."""
import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

from .errors import BenchError

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT_SECONDS = 1800.0
ANY_CODE = range(-64, 256)


@dataclasses.dataclass
class Ran:
    seconds: float
    cpu: float
    out: str
    errors: str
    code: int


def find_program(name):
    build = os.environ.get("XEC_BUILD", os.path.join(REPO, "build", "release"))
    for folder in ("bench", "src/cli"):
        path = os.path.join(build, folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise BenchError(f"no program {name} below {build}: build first (./dev build)")


def run(argv, env=None, discard=False, stdin="", codes=(0,), limit=CLIENT_SECONDS):
    """Runs a client to its end. What it prints goes through files: nothing waits for a full pipe."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out, \
            tempfile.TemporaryFile("w+") as errors:
        given.write(stdin)
        given.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(argv, stdin=given, stdout=subprocess.DEVNULL if discard else out, stderr=errors,
                                   env={**os.environ, **(env or {})})
        # Not Popen.kill, which would wait for the child, too.
        watch = threading.Timer(limit, os.kill, (process.pid, signal.SIGKILL))
        watch.start()
        try:
            # wait4 tells the CPU time of just this child.
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            watch.cancel()
            if process.returncode is None:
                process.kill()
        for file in (out, errors):
            file.seek(0)
        ran = Ran(seconds, usage.ru_utime + usage.ru_stime, out.read(), errors.read(), process.returncode)
    if ran.code not in codes:
        why = f"took more than {limit:.0f} s" if ran.seconds >= limit else \
            f"failed with {ran.code}: {last_line(ran.errors)}"
        raise BenchError(f"{' '.join(argv)} {why}")
    return ran


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-400:] if lines else "no word of why"


def load(subject, scenario, *options, may_fail=False):
    """What xec_load answers about a scenario. Failed operations are an error, unless `may_fail`."""
    argv = [find_program("xec_load"), scenario, "--url", subject.url, *(str(option) for option in options)]
    ran = run(argv, codes=(0, 1))
    try:
        answer = json.loads(ran.out)
    except ValueError:
        raise BenchError(f"{' '.join(argv)}: {last_line(ran.errors)}") from None
    if answer["failures"] and not may_fail:
        raise BenchError(f"{scenario} on {subject.name}: {answer['failures']} of {answer['operations']} operations failed, "
                         f"the first one: {answer['first_failure']}")
    return answer
