# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs cases of programs.py and suites.py and prints a table."""
import argparse
import os
import shutil
import sys
import tempfile
import time

import place
import programs
import suites
import tools

REPO = programs.REPO


def cases():
    """By name, in the order of the files."""
    return {name.removeprefix("case_"): function for module in (programs, suites)
            for name, function in vars(module).items() if name.startswith("case_")}


def run_case(function, folder, options, kit):
    """(result, seconds, what there is to say)"""
    begun, said = time.monotonic(), None
    try:
        with place.Place(folder, options.xec, kit, options.directory) as where:
            said = function(where, kit)
        result = "ok"
    except place.Missing as missing:
        result, said = "missing", str(missing)
    except place.Failed as failure:
        result, said = "FAILED", str(failure)
    except Exception as error:  # what a program's library met in the mount, e.g. sqlite3's errors
        result, said = "FAILED", f"{type(error).__name__}: {error}"
    return result, time.monotonic() - begun, said


def parse(arguments, known):
    parser = argparse.ArgumentParser(
        prog="tests/mount/run", description="Tries other people's programs on a store that is mounted, each on a new one."
        " Exit code: 1 if one fails, 2 if one is missing and none fails.",
        epilog="Cases:\n" + "\n".join(f"  {name:14}{function.__doc__.splitlines()[0]}"
                                      for name, function in known.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(known), metavar="NAME", help="may be repeated")
    parser.add_argument("--xec", default=os.path.join(REPO, "build", "release", "src", "cli", "xec"), help="the program")
    parser.add_argument("--tools", default=os.path.join(tempfile.gettempdir(), f"xec-mount-tools-{os.getuid()}"),
                        help="folder for programs that this machine lacks, used again by the next run")
    parser.add_argument("--directory", help="try this directory in place of a mount: what fails there too is no fault"
                        " of a mount's")
    parser.add_argument("--keep", action="store_true", help="leave the folders of cases that fail")
    return parser.parse_args(arguments)


def main(arguments=None):
    known = cases()
    options = parse(arguments, known)
    place.enter_mounts()
    kit = tools.Tools(options.tools)
    # Other users enter it too.
    folder = tempfile.mkdtemp(prefix="xm-", dir=os.environ.get("XEC_TEST_DIR"))
    os.chmod(folder, 0o755)
    results = set()
    for name in options.only or known:
        case_folder = os.path.join(folder, name)
        result, seconds, said = run_case(known[name], case_folder, options, kit)
        results.add(result)
        print(f"{name:14}{result:9}{seconds:7.1f} s", flush=True)
        for line in (said or "").splitlines():
            print(f"    {line}", flush=True)
        if options.keep and result == "FAILED":
            print(f"    kept {case_folder}", flush=True)
        else:
            shutil.rmtree(case_folder, ignore_errors=True)
    if not os.listdir(folder):
        os.rmdir(folder)
    return 1 if "FAILED" in results else 2 if "missing" in results else 0


if __name__ == "__main__":
    sys.exit(main())
