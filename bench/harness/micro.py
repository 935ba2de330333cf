# SPDX-License-Identifier: LGPL-3.0-or-later
"""The Google Benchmark programs: coding, checksums, and the engine on memory servers; for each second of one core."""
import json

from . import clients
from .errors import BenchError

PROGRAMS = ("codec_bench", "engine_bench")
SECONDS = "0.2"
QUICK_SECONDS = "0.01"


def measure(quick, repeat):
    """Name -> what the programs say about each of `repeat` repetitions, which take turns."""
    found = {}
    for program in PROGRAMS:
        argv = [clients.find_program(program), "--benchmark_format=json", "--benchmark_enable_random_interleaving=true",
                f"--benchmark_min_time={QUICK_SECONDS if quick else SECONDS}", f"--benchmark_repetitions={repeat}"]
        for one in json.loads(clients.run(argv).out)["benchmarks"]:
            if one.get("error_occurred"):
                raise BenchError(f"{program}, {one['name']}: {one['error_message']}")
            if one["run_type"] == "iteration":
                found.setdefault(one["run_name"], []).append(one)
    return found


def record(results, found):
    for name, runs in sorted(found.items()):
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
    words = [word for word in name.split("/") if not word.isdigit() and word != "process_time"]
    numbers = [int(word) for word in name.split("/") if word.isdigit()]
    if len(numbers) >= 3:
        lost = [f"{numbers[3]} lost"] if len(numbers) > 3 else []
        return ", ".join([f"{words[0]} {numbers[0]}+{numbers[1]}", size(numbers[2]), *lost])
    return " ".join(words + [size(number) for number in numbers])


def size(number):
    return f"{number >> 20} MiB" if number >= 1 << 20 else f"{number >> 10} KiB"
