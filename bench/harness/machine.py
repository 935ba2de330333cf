# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the figures depend on: the machine, and the versions of what was measured."""
import os
import platform
import subprocess

from . import meters
from .clients import REPO

GIB = 1 << 30


def first_line(argv, env=None):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    except OSError:
        return "unknown"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def describe(directory, xec):
    commit = first_line(["git", "-C", REPO, "describe", "--always", "--dirty", "--abbrev=12"])
    return {
        "cores": os.cpu_count(), "processor": processor(), "kernel": platform.release(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1),
        "file_system": meters.file_system(directory),
        "versions": {"xrootd": first_line(["xrootd", "-v"]).lstrip("v"), "xec": first_line([xec, "version"]),
                     "commit": commit},
    }


def sentence(about):
    return (f"{about['cores']} cores {about['processor']}, {about['memory_gib']:.0f} GiB, Linux {about['kernel']}, data on "
            f"{about['file_system']}, XRootD {about['versions']['xrootd']}, {about['versions']['xec']}, "
            f"commit {about['versions']['commit']}")
