#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Checks that every folder of src/ includes only the layers below it (the table here is the one in
ARCHITECTURE.md, "Module map"), and that XRootD's headers stay in the folders that translate to XRootD.
Tests may use more than the code they test: of them only the rule for unknown folders holds."""
import re
import sys

import source_files

CORE = ["base", "runtime", "codec", "archive", "server", "placement", "protocol"]
# folder -> what it may include besides itself
LAYERS = {
    "base": [],
    "runtime": ["base"],
    "jobs": ["base", "runtime"],
    "codec": ["base"],
    "archive": ["base", "codec"],
    "server": ["base", "runtime"],
    "placement": ["base", "codec"],
    "protocol": ["base", "runtime", "placement"],
    "api": CORE + ["jobs"],
    "commit": CORE + ["api"],
    "object": CORE + ["api", "commit"],
    "xrdec": CORE + ["api", "commit", "object"],
    "store": CORE + ["api", "commit", "object", "xrdec"],
    "xrdcompat": ["base"],
    "server_xrootd": ["base", "runtime", "server", "xrdcompat"],
    "assembly": CORE + ["jobs", "api", "commit", "object", "xrdec", "store", "xrdcompat", "server_xrootd"],
    # Front ends: what the engine is made of is none of their business.
    "plugin_oss": CORE + ["api", "xrdcompat", "assembly"],
    "preload_crc32c": ["base", "codec"],
    "capi": CORE + ["jobs", "api", "assembly", "xec"],  # xec/xec.h is what it offers
    "cli": CORE + ["jobs", "api", "assembly"],
}
XROOTD_FOLDERS = ["xrdcompat", "server_xrootd", "plugin_oss", "preload_crc32c"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEPS = re.compile(r"xec_layer\(\s*(\w+)(.*?)\)", re.DOTALL)
TEST_FILE = re.compile(r"(_test|_test_support|conformance\w*)\.(cc|hh)$")


def check_source(path, text):
    folder = path.split("/")[1]
    is_test = bool(TEST_FILE.search(path))
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        quote, target = include.groups()
        if re.match(r"(private/)?(Xrd|XProtocol/)", target):
            if folder not in XROOTD_FOLDERS:
                yield f"{path}:{number}: XRootD's headers belong to {', '.join(XROOTD_FOLDERS)} only"
        elif quote == '"' and "/" not in target:
            yield f'{path}:{number}: write #include "{folder}/{target}"'
        elif quote == '"' and not is_test and target.split("/")[0] not in LAYERS[folder] + [folder]:
            yield f"{path}:{number}: {folder} must not include {target} (tools/check_layers.py has the table)"


def check_cmake(path, text):
    for name, body in DEPS.findall(text):
        words = re.sub(r"#[^\n]*", "", body).split()
        dependencies = []
        for kind in ("DEPS", "INNER"):
            for word in words[words.index(kind) + 1:] if kind in words else []:
                if word.isupper():
                    break
                dependencies.append(word)
        for dependency in dependencies:
            if dependency not in LAYERS.get(name, []):
                yield f"{path}: the layer {name} must not depend on {dependency}"


def problems():
    for path in source_files.ours():
        parts = path.split("/")
        if parts[0] != "src" or len(parts) < 3:
            continue
        if parts[1] not in LAYERS:
            yield f"{path}: src/{parts[1]} is in no layer; add it to tools/check_layers.py and ARCHITECTURE.md"
        elif path.endswith(source_files.CPP):
            yield from check_source(path, source_files.read(path) or "")
        elif parts[-1] == "CMakeLists.txt":
            yield from check_cmake(path, source_files.read(path) or "")


def main():
    found = list(problems())
    print("\n".join(found) if found else "layers: nothing to complain about")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
