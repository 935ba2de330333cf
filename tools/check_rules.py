#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The rules of CONTRIBUTING.md that a program can check. Exceptions stand here, each with its reason."""
import ast
import os
import re
import sys

import source_files

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# (name, pattern on code without comments and strings, what to use instead, where it is allowed (beginning or end of a
# path) and why)
BANNED = [
    ("thread", r"\bstd::thread\b(?!::)", "runtime/thread_pool.hh or std::jthread", {
        "src/runtime/": "the threads of the process are made here",
    }),
    ("detach", r"\.detach\(", "std::jthread, joined by its owner", {
        "src/runtime/": "as above",
    }),
    ("rand", r"\b(?:s?rand|random)\(\)|\bsrand\(", "base/random.hh, injected", {}),
    ("handler", r"public\s+(?:XrdCl::)?ResponseHandler\b", "server_xrootd/response.hh", {
        "src/server_xrootd/response.": "the one subclass",
    }),
    ("new", r"\bnew\b\s*(?:\(std::nothrow\)\s*)?[A-Za-z_:]", "std::make_unique or std::make_shared", {
        "src/codec/reed_solomon.cc": "never destroyed: used until the process ends",
        "src/runtime/buffer.cc": "never destroyed, and a private constructor",
        "src/server_xrootd/": "handlers that XrdCl calls back delete themselves; a close callback owns its file",
        "src/plugin_oss/": "XRootD takes over what its entry points make",
        "bench/": "plain programs",
        "tests/component/": "GoogleTest takes over environments; pools live until the program ends",
    }),
    ("delete", r"(?<!=)(?<!= )(?<!operator )\bdelete\b\s*(?:\[\])?\s*[A-Za-z_(*]", "std::unique_ptr", {
        "src/server_xrootd/": "XrdCl hands over raw pointers",
        "src/plugin_oss/": "XRootD hands over raw pointers",
    }),
    ("system_clock", r"\bsystem_clock\b", "the clock of runtime/executor.hh", {
        "src/base/": "the clock itself", "src/runtime/": "the clock itself",
    }),
    ("catch", r"\bcatch\s*\(\s*\.\.\.\s*\)", "Result; only the edges catch what others throw", {
        "src/plugin_oss/": "the edge to XRootD", "src/cli/": "the edge to the user",
        "src/server_xrootd/": "the edge to XrdCl", "src/runtime/": "the edge of a thread",
    }),
    ("lock", r"\bstd::(?:(?:recursive_|shared_|timed_|shared_timed_|recursive_timed_)?mutex|condition_variable(?:_any)?|"
             r"lock_guard|scoped_lock|unique_lock|shared_lock)\b", "base/mutex.hh", {
        "src/base/mutex.hh": "made of them", "_test.cc": "tests", "tests/": "tests", "bench/": "plain programs",
        "examples/": "they show what users write",
    }),
    ("co_await", r"\bwhile\s*\([^;{}]*\bco_await\b[^;{}]*\)\s*co_await\b|\?\s*co_await\b|!\s*co_await\b",
     "a named result: g++ 12 lays out the coroutine's frame wrongly", {}),
    ("sleep", r"\bsleep_for\b|\bsleep_until\b|\busleep\(|\bnanosleep\(", "a condition, a timer, or virtual time", {
        "bench/": "plain programs",
        "tests/component/conformance_xrootd_process.cc": "polls for a daemon that announces nothing",
    }),
]
# (name, pattern on any text, what is wrong); put together from pieces so that this file does not match itself
TEXT_RULES = [
    ("path", r"(?<![\w.~\-/}])/(?:wo" r"rk|ho" r"me|ro" r"ot)/\w", "a path of one machine"),
    ("registry", r"\b(?:pypi\." r"org|crates\." r"io|registry\.npmjs|deb\.debian\." r"org|proxy\.golang\." r"org)\b",
     "the host name of a package registry"),
    ("todo", r"\b(?:TO" r"DO|FIX" r"ME)\b(?!\([^)\n]+\): \w)", "write TO" "DO(issue or condition): what and why"),
]
TEXT_EXCEPTIONS = {
    ("path", "tests/fixtures/"): "made elsewhere",
    ("todo", "CONTRIBUTING.md"): "the rule itself",
}
SPDX_SUFFIXES = (".cc", ".hh", ".py", ".sh", ".cmake", "CMakeLists.txt")
LENGTH_SUFFIXES = (".cc", ".hh", ".py", ".sh")
SPDX = "SPDX-License-Identifier: LGPL-3.0-or-later"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_text(path, text):
    for name, pattern, wrong in TEXT_RULES:
        if any(rule == name and path.startswith(prefix) for rule, prefix in TEXT_EXCEPTIONS):
            continue
        for match in re.finditer(pattern, text):
            yield f"{path}:{line_of(text, match.start())}: {name}: {wrong}: {match.group(0)!r}"


def check_links(path, text):
    """Links of Markdown to files and headings that are not there, and documents named in a text that are not."""
    if path.endswith(".md"):
        for match in re.finditer(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
            target = os.path.normpath(os.path.join(os.path.dirname(path), match.group(1))) if match.group(1) else path
            good = os.path.exists(os.path.join(source_files.REPO, target))
            if good and match.group(2):
                good = match.group(2) in headings(text if target == path else source_files.read(target))
            if not good:
                yield f"{path}:{line_of(text, match.start())}: link: {match.group(0)[1:]} leads nowhere"
    for match in re.finditer(r"\bdocs/[\w/-]+\.md\b", text):
        if not os.path.exists(os.path.join(source_files.REPO, match.group(0))):
            yield f"{path}:{line_of(text, match.start())}: link: there is no {match.group(0)}"


def headings(text):
    """The names under which links reach the headings of a document."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def check_shape(path, text):
    lines = text.splitlines()
    if path.endswith(SPDX_SUFFIXES) and not any(SPDX in line for line in lines[:2]):
        yield f"{path}:1: spdx: the first line must say {SPDX}"
    if path.endswith(LENGTH_SUFFIXES) and len(lines) > FILE_LINES_MAX:
        yield f"{path}:1: length: {len(lines)} lines, at most {FILE_LINES_MAX}: split it by what it does"
    if path.endswith(".hh") and "#pragma once" not in text:
        yield f"{path}:1: pragma: a header needs #pragma once"


def check_banned(path, code):
    for name, pattern, instead, allowed in BANNED:
        if any(path.startswith(place) or path.endswith(place) for place in allowed):
            continue
        for match in re.finditer(pattern, code):
            yield f"{path}:{line_of(code, match.start())}: {name}: use {instead}"


def check_locks(path, code):
    """A lock is held to the end of its scope, and a coroutine that awaits may go on on another thread."""
    depth = 0
    held_at = []  # the depths of scopes that hold one
    for match in re.finditer(r"[{}]|\b(?:Mutex|Reader|Writer)Lock\s+\w+\s*[({]|\bco_(?:await|yield)\b", code):
        mark = match.group(0)
        if mark.startswith("co_"):
            if held_at:
                yield f"{path}:{line_of(code, match.start())}: lock: {mark} while a lock is held: end its scope before"
        elif mark in "{}":
            depth += 1 if mark == "{" else -1
            held_at = [scope for scope in held_at if scope <= depth]
        else:
            held_at.append(depth)
            depth += mark.endswith("{")


def cpp_functions(code):
    """(first line, lines) of every function body that is in no other; good enough for code in our format. Lines of
    the preprocessor are ignored, and tables (initialisers after =) are not counted: they are data."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.MULTILINE)
    stack = []
    head_start = 0
    table_lines = 0
    for match in re.finditer(r"[{};]", code):
        mark = match.group(0)
        if mark == "{":
            head = code[head_start:match.start()]
            inside = bool(stack) and stack[-1][0] != "scope"
            scope = re.search(r"\b(?:namespace|class|struct|union|enum)\b(?![^<]*>)", head) or 'extern ""' in head
            if inside:
                is_table = head.rstrip().endswith("=") and stack[-1][0] != "table"
                stack.append(("table" if is_table or stack[-1][0] == "table" else "inner",
                              line_of(code, match.start()) if is_table else 0))
            elif ")" in head and not (scope and head.strip().startswith(("struct", "class", "namespace"))):
                stack.append(("function", line_of(code, head_start + len(head) - len(head.lstrip()))))
                table_lines = 0
            elif scope:
                stack.append(("scope", 0))
            else:
                stack.append(("inner", 0))
        elif mark == "}" and stack:
            kind, first = stack.pop()
            last = line_of(code, match.start())
            if kind == "function":
                yield first, last - first + 1 - table_lines
            elif kind == "table" and first:
                table_lines += last - first
        head_start = match.end()


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def check_functions(path, functions):
    for first, lines in functions:
        if lines > FUNCTION_LINES_MAX:
            yield f"{path}:{first}: function: {lines} lines, at most {FUNCTION_LINES_MAX}: give its parts names"


def problems():
    for path in source_files.ours():
        text = source_files.read(path)
        if text is None:
            continue
        yield from check_links(path, text)
        if path.startswith(("model/", "COPYING")):
            continue
        yield from check_text(path, text)
        yield from check_shape(path, text)
        if path.endswith(source_files.CPP):
            code = source_files.code_only(text)
            yield from check_banned(path, code)
            yield from check_locks(path, code)
            yield from check_functions(path, cpp_functions(code))
        elif path.endswith(".py"):
            yield from check_functions(path, python_functions(text))


def main():
    found = list(problems())
    print("\n".join(found) if found else "rules: nothing to complain about")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
