#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Prints the table of bounds, with values read from the constants in the sources. docs/bounds.md holds this output
between two marker comments.

    tools/bounds.py           prints the table
    tools/bounds.py --check   fails when docs/bounds.md differs
    tools/bounds.py --write   updates docs/bounds.md
"""
import argparse
import ast
import os
import re
import sys

import source_files
from bounds_list import BOUNDS

DOCUMENT = "docs/bounds.md"
SETTINGS = "docs/configuration.md"
BEGIN = "<!-- bounds: tools/bounds.py --write makes what follows -->"
END = "<!-- end of bounds -->"

BYTE_UNITS = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
TIME_UNITS = [("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1)]  # in microseconds
NAMES = {"kKiB": 1 << 10, "kMiB": 1 << 20, "kGiB": 1 << 30, "hours": 3_600_000_000, "minutes": 60_000_000,
         "seconds": 1_000_000, "milliseconds": 1000, "microseconds": 1}


class Wrong(Exception):
    """The table and the sources do not fit together; the text says where."""


def evaluate(text):
    """The value of a constant expression of C++; a time in microseconds."""
    plain = re.sub(r"\b(?:std::chrono::|uint64_t(?=\{)|size_t(?=\{))", "", text).replace("{", "(").replace("}", ")")
    plain = re.sub(r"(?<=[0-9])(?:'(?=[0-9])|[uUlL]+\b)", "", plain)

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in NAMES:
            return NAMES[node.id]
        if isinstance(node, ast.Call) and len(node.args) == 1:
            return value(node.func) * value(node.args[0])
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.LShift, ast.Add)):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Mult):
                return left * right
            return left << right if isinstance(node.op, ast.LShift) else left + right
        raise Wrong(f"'{text}' is no number that tools/bounds.py understands")

    try:
        return value(ast.parse(plain.strip(), mode="eval").body)
    except SyntaxError:
        raise Wrong(f"'{text}' is no number that tools/bounds.py understands") from None


def find(code, name, path):
    """The initialiser of the one definition of `name`."""
    found = re.findall(rf"[\w>]\s+{name}\s*=(?!=)\s*([^;]*);", code)
    if len(found) != 1:
        raise Wrong(f"{path} has {len(found)} definitions of {name}, not one")
    return " ".join(found[0].split())


def in_largest(value, units):
    """The value in the largest unit that leaves no fraction, or, from 1 on, one digit of it."""
    for unit, size in units:
        if value and value % size == 0:
            return f"{value // size:,} {unit}"
        if value > size and value * 10 % size == 0:
            return f"{value / size:.1f} {unit}"
    return None


def told(value, unit):
    if value == 0:
        return "0"
    if unit == "time":
        return in_largest(value, TIME_UNITS)
    if unit == "bytes":
        return (value >= BYTE_UNITS[-1][1] and in_largest(value, BYTE_UNITS)) or f"{value:,} bytes"
    if unit == "seconds":
        return told(value * 1_000_000, "time")
    if unit == "milliseconds":
        return told(value * 1000, "time")
    return f"{value:,} {unit}"


def bound(row, text):
    """The value of a row, as people read it; `text` is that of its file."""
    _, path, name, unit, _ = row
    if name.startswith('"'):  # a pair {"NAME", VALUE}
        found = re.findall(rf"\{{\s*{name}\s*,\s*(\d+)\s*\}}", text)
        if len(found) != 1:
            raise Wrong(f"{path} has {len(found)} values of {name}, not one")
        return told(int(found[0]), unit)
    code = source_files.code_only(text)
    part = re.fullmatch(r"(\w+)\[(\d+)\]", name)
    if part:  # a row {first, least, most} of a table
        rows = re.findall(r"\{([^{}]+)\}", find(code, part.group(1), path))
        _, least, most = (evaluate(piece) for piece in rows[int(part.group(2))].split(","))
        return f"{told(least, unit)} to {told(most, unit)}"
    return told(evaluate(find(code, name, path)), unit)


def table(read=source_files.read):
    settings = read(SETTINGS)
    lines = []
    for title, rows in BOUNDS:
        lines += [f"### {title}", "", "| what | bound | constant | setting |", "| --- | --- | --- | --- |"]
        for row in rows:
            what, path, name, _, setting = row
            if setting and f"`{setting} " not in settings:
                raise Wrong(f"{SETTINGS} knows no setting {setting}, which tools/bounds_list.py names")
            where = name.strip('"')
            lines.append(f"| {what} | {bound(row, read(path))} | `{where}` in `{path.removeprefix('src/')}` | "
                         f"{f'`{setting}`' if setting else '–'} |")
        lines.append("")
    return "\n".join(lines)


def replaced(document, new):
    """The document with the table `new` between its marks."""
    if document.count(BEGIN) != 1 or document.count(END) != 1 or document.index(BEGIN) > document.index(END):
        raise Wrong(f"{DOCUMENT} must hold the line '{BEGIN}' once and the line '{END}' once, in this order")
    before, rest = document.split(BEGIN)
    return f"{before}{BEGIN}\n\n{new}\n{END}{rest.split(END)[1]}"


def differences(old, new):
    """The lines that only one of the two has, marked by - and +."""
    have, want = old.splitlines(), new.splitlines()
    return [f"- {line}" for line in have if line not in want] + [f"+ {line}" for line in want if line not in have]


def main():
    parser = argparse.ArgumentParser(description="The table of bounds, from the constants in the sources.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help=f"fail when {DOCUMENT} differs")
    what.add_argument("--write", action="store_true", help=f"update {DOCUMENT}")
    options = parser.parse_args()
    try:
        if not options.check and not options.write:
            print(table())
            return 0
        old = source_files.read(DOCUMENT)
        new = replaced(old, table())
    except Wrong as problem:
        print(f"bounds: {problem}")
        return 1
    if options.write:
        with open(os.path.join(source_files.REPO, DOCUMENT), "w", encoding="utf-8") as file:
            file.write(new)
    elif new != old:
        print("\n".join([f"bounds: {DOCUMENT} differs from the constants; update it by tools/bounds.py --write",
                         *differences(old, new)]))
        return 1
    else:
        print("bounds: nothing to complain about")
    return 0


if __name__ == "__main__":
    sys.exit(main())
