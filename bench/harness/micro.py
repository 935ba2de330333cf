# SPDX-License-Identifier: LGPL-3.0-or-later
"""The Google Benchmark programs: coding and checksums on one core."""
import json

from . import clients

SECONDS = "0.2"
QUICK_SECONDS = "0.01"


def measure(quick, repeat):
    """[(name, GB/s or None, ns for each, times)] of codec_bench, medians of `repeat` repetitions."""
    argv = [clients.find_program("codec_bench"), "--benchmark_format=json",
            f"--benchmark_min_time={QUICK_SECONDS if quick else SECONDS}", f"--benchmark_repetitions={repeat}"]
    found = {}
    for one in json.loads(clients.run(argv).out)["benchmarks"]:
        if one["run_type"] == "iteration":
            found.setdefault(one["run_name"], []).append(one)
    return found


def record(results, found):
    for name, runs in found.items():
        subject = "raw ISA-L" if name.startswith("EncodeRawIsal") else "xec"
        row = describe(name.replace("EncodeRawIsal", "Encode"))
        for turn, one in enumerate(runs, 1):
            if "bytes_per_second" in one:
                results.add("micro", "on one core", f"{row}: GB/s", subject, turn, one["bytes_per_second"] / 1e9)
            else:
                results.add("micro", "on one core", f"{row}: ns", subject, turn, to_ns(one))


def to_ns(one):
    return one["cpu_time"] * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[one["time_unit"]]


def describe(name):
    """Encode/8/2/1048576 is `Encode 8+2, 1 MiB`."""
    title, *numbers = name.split("/")
    numbers = [int(number) for number in numbers if number.isdigit()]
    if len(numbers) >= 3:
        text = f"{title} {numbers[0]}+{numbers[1]}, {size(numbers[2])}"
        return text + (f", {numbers[3]} lost" if len(numbers) > 3 else "")
    return f"{title} {size(numbers[0])}" if numbers else title


def size(number):
    return f"{number >> 20} MiB" if number >= 1 << 20 else f"{number >> 10} KiB"
