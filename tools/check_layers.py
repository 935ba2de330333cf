#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Checks that every folder of src/ includes only the layers below it (the table here is the one in
ARCHITECTURE.md, "Module map"), that the sub-folders of a layer do likewise, that no components include each
other in a circle, and that XRootD's headers stay in the folders that translate to XRootD. A component is a .hh
and a .cc file with one stem. Tests may use more than the code they test: of them only the rules for unknown
folders hold."""
import os
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
    "inventory": CORE + ["api"],
    "audit": ["base", "runtime", "protocol", "api"],
    "space": ["base", "runtime", "protocol", "api"],
    "edit": ["base", "runtime", "protocol", "api"],
    "xrdcompat": ["base"],
    "server_xrootd": ["base", "runtime", "server", "xrdcompat"],
    "assembly": CORE + ["jobs", "api", "commit", "object", "xrdec", "store", "inventory", "audit", "space", "xrdcompat",
                        "server_xrootd"],
    # Front ends: what the engine is made of is none of their business.
    "plugin_access": ["base"],
    "plugin_oss": CORE + ["api", "audit", "edit", "xrdcompat", "assembly", "plugin_access"],
    "preload_crc32c": ["base", "codec"],
    "capi": CORE + ["jobs", "api", "edit", "assembly", "xec"],  # xec/xec.h is what it offers
    "mount": ["base", "runtime", "protocol", "api", "edit", "assembly"],
    "tree_xrootd": ["base", "runtime", "server", "protocol", "xrdcompat", "server_xrootd", "mount"],
    "cli": CORE + ["jobs", "api", "inventory", "assembly", "mount", "tree_xrootd"],
}
ROOT = "."  # files that lie in the layer's folder itself
# layer -> its sub-folders; each includes only those before it besides itself. A layer without a row has none.
SUBFOLDERS = {
    "server": [ROOT, "kinds", "decorators", "health"],
    "commit": ["engine", "steps", "programs", "rename", "clean", "disk", "members", ROOT],
    "object": [ROOT, "archives", "read", "write", "repair"],
    "assembly": ["servers", "configuration", "sites", "members", "maintenance", "jobs", ROOT],
}
# What lies below folders of these names is a test.
TESTS = ("test", "conformance")
XROOTD_FOLDERS = ["xrdcompat", "server_xrootd", "tree_xrootd", "plugin_access", "plugin_oss", "preload_crc32c"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEPS = re.compile(r"xec_layer\(\s*(\w+)(.*?)\)", re.DOTALL)


def is_test(path):
    return any(folder in TESTS for folder in path.split("/")[:-1])


def place(path):
    """The layer and the sub-folder of a path below src/; a test has those of what it tests: (object, read) of
    object/read/test/x_test.cc."""
    layer, *folders = path.split("/")[:-1]
    tests = [number for number, folder in enumerate(folders) if folder in TESTS]
    return layer, "/".join(folders[:tests[0]] if tests else folders) or ROOT


def check_place(path):
    layer, subfolder = place(path.removeprefix("src/"))
    if subfolder not in SUBFOLDERS.get(layer, [ROOT]):
        yield f"{path}: {layer} has no place for it; SUBFOLDERS of tools/check_layers.py has its sub-folders"
    if path.endswith("_test.cc") and not is_test(path):
        yield f"{path}: tests belong in the folder test/ beside what they test"


def check_include(path, target):
    """What is wrong with the include of `target`, a header of ours, by code that is no test; "" if nothing is."""
    layer, subfolder = place(path.removeprefix("src/"))
    other_layer, other_subfolder = place(target)
    if is_test(target):
        return "it belongs to tests"
    if other_layer != layer:
        return "" if other_layer in LAYERS[layer] else f"the layer {layer} has {other_layer} not below it"
    order = SUBFOLDERS.get(layer, [ROOT])
    below = subfolder not in order or other_subfolder in order[:order.index(subfolder) + 1]
    return "" if below else f"the sub-folder {subfolder} has {other_subfolder} not below it"


def check_source(path, text):
    layer = path.split("/")[1]
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        quote, target = include.groups()
        if re.match(r"(private/)?(Xrd|XProtocol/)", target):
            if layer not in XROOTD_FOLDERS:
                yield f"{path}:{number}: XRootD's headers belong to {', '.join(XROOTD_FOLDERS)} only"
        elif quote == '"' and "/" not in target:
            yield f'{path}:{number}: write #include "{layer}/{target}"'
        elif quote == '"' and not is_test(path) and (wrong := check_include(path, target)):
            yield f"{path}:{number}: must not include {target}: {wrong} (tools/check_layers.py has the tables)"


def check_cycles(sources):
    """`sources`: path -> text. A sentence for each circle; others of the same components show when it is gone."""
    includes = {}  # of components
    for path, text in sources.items():
        component = os.path.splitext(path.removeprefix("src/"))[0]
        matches = [INCLUDE.match(line) for line in text.splitlines()]
        targets = {os.path.splitext(match.group(2))[0] for match in matches if match and match.group(1) == '"'}
        includes.setdefault(component, set()).update(targets - {component})
    while True:
        known = set(includes)
        while leaves := [component for component in known if not includes[component] & known]:
            known.difference_update(leaves)
        if not known:
            return
        walk = [min(known)]  # each of those left includes another one
        while walk.index(walk[-1]) == len(walk) - 1:
            walk.append(min(includes[walk[-1]] & known))
        circle = walk[walk.index(walk[-1]):]
        yield (f"src: components include each other in a circle: {' -> '.join(circle)}; "
               "what they share belongs to a component of its own")
        includes = {component: targets for component, targets in includes.items() if component not in circle}


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
    sources = {}  # but for tests
    for path in source_files.ours():
        parts = path.split("/")
        if parts[0] != "src" or len(parts) < 3:
            continue
        if parts[1] not in LAYERS:
            yield f"{path}: src/{parts[1]} is in no layer; add it to tools/check_layers.py and ARCHITECTURE.md"
        elif path.endswith(source_files.CPP):
            text = source_files.read(path) or ""
            yield from check_place(path)
            yield from check_source(path, text)
            if not is_test(path):
                sources[path] = text
        elif parts[-1] == "CMakeLists.txt":
            yield from check_cmake(path, source_files.read(path) or "")
    yield from check_cycles(sources)


def main():
    found = list(problems())
    print("\n".join(found) if found else "layers: nothing to complain about")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
