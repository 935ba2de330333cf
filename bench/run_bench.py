#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""./dev bench: XEC, plain xrootd and peers side by side in one run. harness/ has the machinery, workloads/ what is
measured, README.md how to read it."""
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile

BENCH = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [BENCH, os.path.join(os.path.dirname(BENCH), "tools")]
import daemons  # noqa: E402
import sandbox  # noqa: E402
import tables  # noqa: E402
from harness import goals, machine, meters, micro, options as command_line, report  # noqa: E402
from harness.bench import Bench, note  # noqa: E402
from harness.clients import find_program  # noqa: E402
from harness.errors import BenchError  # noqa: E402
from harness.outside import Outside  # noqa: E402
from harness.results import Results  # noqa: E402
from workloads.listing import Listing  # noqa: E402

def head(options, about, subjects):
    lines = [machine.sentence(about),
             f"{about['started']} UTC, load average {about['load_before']:.1f} before; stores of {options.geometry} on "
             f"{options.servers} directories or data servers; medians of {options.repeat}, in brackets the least and the "
             "most, xR is the median ratio to plain of the same round; - not measured, ? not known"]
    lines += [f"{subject.name}: {subject.stands_for}" for subject in first_of_each_kind(subjects)]
    return "\n".join(lines)


def first_of_each_kind(subjects):
    found = {}
    for subject in subjects:
        found.setdefault(subject.kind, subject)
    return found.values()


def text_of(results, subjects, judged, markdown):
    parts = [report.render(results, [subject.name for subject in subjects] + ["xec", "raw ISA-L"], markdown)]
    if judged:
        parts.append(tables.render("goal (* must hold)", ["wanted", "measured", "", "how"], goals.rows(judged), markdown))
    if results.failures:
        parts.append("\n".join(["Failed:", *(f"- {sentence}" for sentence in results.failures)]))
    return "\n\n".join(part for part in parts if part)


def values_of(results, options, about, judged):
    return {"machine": about, "options": command_line.as_dict(options), "tables": results.as_dict(),
            "samples": results.samples, "failures": results.failures, "goals": [vars(goal) for goal in judged]}


def write_json(path, values):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(values, file, indent=1)
        file.write("\n")


def write_output(folder, text, values, markdown):
    """Tables, values and plots; these by Debian's python, which has Debian's matplotlib."""
    path = os.path.join(folder, "values.json")
    write_json(path, values)
    with open(os.path.join(folder, "tables.md" if markdown else "tables.txt"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    subprocess.run([python, os.path.join(BENCH, "plot.py"), path, "--output", folder], check=False)
    note(f"written to {folder}")


def measure(options, directory, outside):
    about = machine.describe(directory, find_program("xec"))
    about["started"] = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}"
    about["load_before"] = meters.load_average()
    about["sync"] = {"plain": "never", "plain commit": "fsync before it counts", "none": "never", "commit": "before it counts"}
    if options.micro_alone:
        bench, results, subjects = None, Results(), []
    else:
        bench = Bench(options, directory, outside)
        results, subjects = bench.results, bench.subjects
        about["subjects"] = {subject.name: subject.stands_for for subject in subjects}
        about["entries"] = Listing(bench).entries()
    start = head(options, about, subjects)
    print(start, flush=True)
    try:
        if options.micro:
            micro.record(results, micro.measure(options.quick, options.repeat))
        if bench:
            bench.start()
            bench.run()
    finally:
        # After a failure too: what was measured until then took its time.
        about["load_after"] = meters.load_average()
        judged = goals.Judge(results, options, about).all() if options.goals or options.output else []
        text = f"{text_of(results, subjects, judged, options.markdown)}\n\nload average {about['load_after']:.1f} after"
        print(f"\n{text}", flush=True)
        values = values_of(results, options, about, judged)
        if options.json:
            write_json(options.json, values)
        if options.output:
            write_output(options.output, f"{start}\n\n{text}", values, options.markdown)
        if bench:
            bench.stop()
    return 1 if results.failures else 0


def make_places(options):
    """Now, and not after hours of measuring."""
    for folder in (options.dir, options.output):
        if folder:
            os.makedirs(folder, exist_ok=True)
    if options.json:
        with open(options.json, "a", encoding="utf-8"):
            pass


def run(options, outside):
    try:
        make_places(options)
    except OSError as error:
        print(f"bench: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    directory = tempfile.mkdtemp(prefix="xec-bench-", dir=options.dir)
    os.chmod(directory, 0o755)
    try:
        return measure(options, directory, outside)
    except (BenchError, daemons.DaemonError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        # Before the directory goes.
        sandbox.kill_descendants()
        shutil.rmtree(directory, ignore_errors=True)


def main(argv):
    options = command_line.parse(argv)
    outside = Outside() if options.s3_peer else None
    return sandbox.run_alone("bench", lambda: run(options, outside))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
