# SPDX-License-Identifier: LGPL-3.0-or-later
"""Programs that were made to find faults of file systems."""
import fnmatch
import os
import re

from place import Failed, Missing

HERE = os.path.dirname(os.path.abspath(__file__))

PJDFSTEST_SECONDS = 1800
PJDFSTEST_CONFIGURATION = """
[features]
posix_fallocate = {}
rename_ctime = {}
utime_now = {}
utimensat = {}

[settings]
naptime = 0.01

[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"""


def expected_failures(path):
    """Patterns by name, each with the reason of its family: a line that begins with a blank is a pattern, another one
    the reason of those that follow."""
    reasons, reason = {}, ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            if line[0].isspace():
                reasons[line.strip()] = reason
            else:
                reason = line.strip()
    return reasons


def judge_cases(text, reasons):
    """Compares what pjdfstest printed with what may fail; answers one line for what went well."""
    results = dict(re.findall(r"^(\S+::\S+)\s+(ok|FAILED|skipped)$", text, re.MULTILINE))
    failed = [name for name, result in results.items() if result == "FAILED"]
    words = dict(re.findall(r"^(\S+::\S+)\s+FAILED\n\t(.*)$", text, re.MULTILINE))
    surprises = [f"{name}: {words.get(name, '')}" for name in failed
                 if not any(fnmatch.fnmatchcase(name, pattern) for pattern in reasons)]
    idle = [f"{pattern} is listed and nothing of it fails" for pattern in reasons
            if not fnmatch.filter(failed, pattern)]
    skipped = sum(result == "skipped" for result in results.values())
    counts = f"{len(results)} cases, {skipped} not for this system, {len(failed)} fail"
    if not results:
        raise Failed("pjdfstest told of no case")
    if surprises or idle:
        raise Failed("\n".join([f"{counts}, of which {len(surprises)} are not in the list", *surprises, *idle]))
    return f"{counts} as listed"


def case_pjdfstest(place, tools):
    """All cases of pjdfstest, compared with expected_failures.txt."""
    program = tools.program("pjdfstest")
    if os.geteuid() != 0:
        raise Missing("it needs root, to be other users")
    configuration = os.path.join(place.local, "pjdfstest.toml")
    with open(configuration, "w", encoding="ascii") as file:
        file.write(PJDFSTEST_CONFIGURATION)
    text = place.run([program, "-c", configuration, "-p", place.mount], seconds=PJDFSTEST_SECONDS, accepted=None)
    return judge_cases(text, expected_failures(os.path.join(HERE, "expected_failures.txt")))


FSX_CONFIGURATION = """
flen = 4194304
[opsize]
max = 262144
min = 1
align = 1
[weights]
close_open = 1.0
invalidate = 1.0
mapread = 10.0
mapwrite = {mapped}
read = 10.0
write = 10.0
truncate = 2.0
fsync = 0.5
fdatasync = 0.5
"""


def run_fsx(place, tools, mapped, seeds, operations):
    program = tools.program("fsx")
    configuration = os.path.join(place.local, "fsx.toml")
    with open(configuration, "w", encoding="ascii") as file:
        file.write(FSX_CONFIGURATION.format(mapped=mapped))
    for seed in seeds:
        place.run([program, "-f", configuration, "-N", operations, "-S", seed, "-P", place.local, f"fsx{seed}"],
                  seconds=900)
    return f"{len(seeds)} times {operations} operations"


def case_fsx(place, tools):
    """Random reads, writes, truncations and reopening of one file."""
    return run_fsx(place, tools, 0.0, (1, 2), 5000)


def case_fsx_mapped(place, tools):
    """The same with writes by mmap."""
    return run_fsx(place, tools, 10.0, (3, 4), 5000)


# Exit code of stress-ng where the file system or the machine does not have what it wants.
STRESS_NOT_OFFERED = 3


def fio(place, tools, name, *options):
    program = tools.program("fio")
    place.run([program, f"--name={name}", f"--directory={place.mount}", "--verify=crc32c", "--verify_fatal=1",
               "--do_verify=1", "--randrepeat=1", "--fallocate=none", "--thread", *options], seconds=900)
    return None


def case_fio_stream(place, tools):
    """fio writes files from their start to their end and verifies them."""
    return fio(place, tools, "stream", "--rw=write", "--bs=256k", "--size=64m", "--numjobs=4")


def case_fio_random(place, tools):
    """fio writes blocks in random order, and verifies them."""
    return fio(place, tools, "random", "--rw=randwrite", "--bs=4k", "--size=16m", "--numjobs=2", "--end_fsync=1")


def case_fio_mixed(place, tools):
    """fio reads and writes at random by mmap."""
    return fio(place, tools, "mixed", "--rw=randwrite", "--bs=4k", "--size=8m", "--ioengine=mmap", "--numjobs=2")


def stress(place, tools, operations, *kinds):
    """Each kind of work alone, so that the one that fails is known. Answers what is not offered."""
    program, wrong, idle = tools.program("stress-ng"), [], []
    for kind, *options in kinds:
        try:
            out = place.run([program, "--temp-path", place.mount, "--verify", "--timeout", "60", f"--{kind}", "2",
                             f"--{kind}-ops", operations, *options], accepted=(0, STRESS_NOT_OFFERED))
            if "skipping stressor" in out:
                idle.append(kind)
        except Failed as failure:
            wrong.append(f"{kind}: {failure}")
    if wrong:
        raise Failed("\n".join(wrong))
    return f"not offered: {', '.join(idle)}" if idle else None


def case_stress_names(place, tools):
    """stress-ng makes, renames and removes names by many processes at once."""
    return stress(place, tools, 100, ("dir",), ("dentry", "--dentries", "64"), ("filename",), ("rename",), ("getdent",),
           ("touch",), ("dirmany",), ("open",), ("inotify",), ("link",), ("symlink",), ("chmod",))


def case_stress_files(place, tools):
    """stress-ng reads, writes, maps, truncates and locks files."""
    return stress(place, tools, 200, ("hdd", "--hdd-bytes", "8m"), ("seek", "--seek-size", "4m"),
           ("readahead", "--readahead-bytes", "8m"), ("sync-file", "--sync-file-bytes", "4m"),
           ("fallocate", "--fallocate-bytes", "8m"), ("copy-file",),
           ("sendfile", "--sendfile-size", "4m"), ("flock",), ("lockf",), ("xattr",), ("fpunch",), ("utime",))
