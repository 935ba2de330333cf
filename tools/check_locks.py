#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Has clang's thread safety analysis look at every file that uses the locks of base/mutex.hh: whatever a lock guards is
used only while it is held. The argument is a build directory whose compile_commands.json has the flags. ninja
remembers what was looked at, and looks again at what has changed."""
import json
import os
import re
import shlex
import subprocess
import sys

import source_files

CLANG = "clang++-19"
# All other warnings are those of g++.
ANALYSIS = ["-fsyntax-only", "-Wno-everything", "-Werror=thread-safety", "-fno-caret-diagnostics"]
LOCKS = re.compile(r"\b(?:Mutex|SharedMutex|MutexLock|ReaderLock|WriterLock)\b")
TEST = re.compile(r"_test\.cc$")


def uses_locks(path):
    """Does the file, or the header of the same name?"""
    texts = [path, path.removesuffix(".cc") + ".hh"]
    return any(LOCKS.search(source_files.code_only(source_files.read(one)))
               for one in texts if os.path.exists(os.path.join(source_files.REPO, one)))


def flags_of(command):
    """What clang needs to know of a command of g++."""
    words = iter(shlex.split(command))
    flags = []
    for word in words:
        if word == "-isystem":
            flags += [word, next(words)]
        elif word.startswith(("-D", "-I", "-std=")):
            flags.append(word)
    return flags


def commands(build_dir):
    """(file, command) of each file to look at."""
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        database = json.load(file)
    for entry in database:
        path = os.path.relpath(entry["file"], source_files.REPO)
        if path.startswith("src/") and not TEST.search(path) and uses_locks(path):
            yield path, [CLANG, *flags_of(entry["command"]), *ANALYSIS, entry["file"]]


def ninja_text(all_commands, folder):
    """Rules by which ninja makes an empty file for each file that is well."""
    lines = ["rule look", "  command = $clang -MD -MF $out.d -MT $out && touch $out", "  depfile = $out.d",
             "  description = locks: $name"]
    for path, command in all_commands:
        seen = os.path.join(folder, path.replace("/", "."))
        lines += [f"build {seen}: look {os.path.join(source_files.REPO, path)}",
                  f"  clang = {shlex.join(command).replace('$', '$$')}", f"  name = {path}"]
    return "\n".join(lines) + "\n"


def main():
    folder = os.path.join(os.path.abspath(sys.argv[1]), "locks")
    os.makedirs(folder, exist_ok=True)
    all_commands = sorted(commands(sys.argv[1]))
    with open(os.path.join(folder, "build.ninja"), "w", encoding="utf-8") as file:
        file.write(ninja_text(all_commands, folder))
    done = subprocess.run(["ninja", "-C", folder, "-k", "0", "--quiet"], check=False).returncode
    print(f"locks: {len(all_commands)} files, " + ("all is well" if done == 0 else "see above"))
    return 1 if done != 0 or not all_commands else 0


if __name__ == "__main__":
    sys.exit(main())
