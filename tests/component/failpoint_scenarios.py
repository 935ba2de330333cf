# SPDX-License-Identifier: LGPL-3.0-or-later
"""The operations that are killed at their fail points (failpoints.py), and the results that are legal then."""
import dataclasses

DIRECTORY = "directory"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """`@` in a word stands for the case's directory, a word like `%new` for a local file with that content."""
    name: str
    words: tuple
    # What is there before: relative path -> content or DIRECTORY.
    before: dict
    # Legal outcomes, the later the more was done.
    results: tuple
    # Operations before, each killed where the second says, with the home of "a" away if the third does.
    earlier: tuple = ()
    # More results that a reader may see before the cleaner has run (a logged rename of a directory under way).
    legal_meanwhile: object = None


def directory_rename_meanwhile(seen):
    """Each object under exactly one of its two names."""
    objects = {path.partition("/")[2]: [] for path in ("d/a", "d/s/b")}
    for path, label in seen.items():
        top, _, rest = path.partition("/")
        if top not in ("d", "e") or (label == DIRECTORY) == (rest in objects):
            return False
        if rest in objects:
            objects[rest].append(label)
    return objects == {"a": ["old"], "s/b": ["small"]}


TREE = {"d": DIRECTORY, "d/a": "old", "d/s": DIRECTORY, "d/s/b": "small"}
MOVED_TREE = {"e" + path[1:]: label for path, label in TREE.items()}
# Too long for the name of an object directory: it is kept in parts.
LONG = "l" * 255

SCENARIOS = (
    Scenario("create", ("put", "%new", "@/a"), {}, ({}, {"a": "new"})),
    Scenario("create_small", ("put", "%small", "@/a"), {}, ({}, {"a": "small"})),
    Scenario("create_long", ("put", "%small", f"@/{LONG}"), {}, ({}, {LONG: "small"})),
    Scenario("create_exclusive", ("put", "--exclusive", "%new", "@/a"), {}, ({}, {"a": "new"})),
    Scenario("create_busy", ("put", "--exclusive", "%new", "@/a"), {}, ({},),
             earlier=((("put", "%old", "@/a"), "put.sealed", False),)),
    Scenario("replace", ("put", "%new", "@/a"), {"a": "old"}, ({"a": "old"}, {"a": "new"})),
    Scenario("replace_by_empty", ("put", "%empty", "@/a"), {"a": "old"}, ({"a": "old"}, {"a": "empty"})),
    Scenario("remove", ("rm", "@/a"), {"a": "old"}, ({"a": "old"}, {})),
    Scenario("mkdir", ("mkdir", "-p", f"@/d/{LONG}"), {},
             ({}, {"d": DIRECTORY}, {"d": DIRECTORY, f"d/{LONG}": DIRECTORY})),
    Scenario("mkdir_busy", ("mkdir", "@/a"), {}, ({},), earlier=((("put", "%old", "@/a"), "put.sealed", False),)),
    Scenario("rmdir", ("rm", "-r", "@/d"), {"d": DIRECTORY}, ({"d": DIRECTORY}, {})),
    Scenario("rename", ("mv", "@/a", "@/b"), {"a": "old"}, ({"a": "old"}, {"b": "old"})),
    Scenario("rename_over", ("mv", "@/a", "@/b"), {"a": "small", "b": "old"},
             ({"a": "small", "b": "old"}, {"b": "small"})),
    Scenario("rename_tagged", ("mv", "@/a", f"@/{LONG}"), {"a": "new+tag"},
             ({"a": "new+tag"}, {LONG: "new+tag"})),
    Scenario("rename_busy", ("mv", "@/a", "@/c"), {"a": "old"}, ({"a": "old"},),
             earlier=((("mv", "@/a", "@/b"), "rename.sealed_source", False),)),
    Scenario("rename_directory", ("mv", "@/d", "@/e"), TREE, (TREE, MOVED_TREE),
             legal_meanwhile=directory_rename_meanwhile),
    # Readers that find work half done, or a home that was away.
    Scenario("read_half", ("cat", "@/a"), {}, ({"a": "new"},),
             earlier=((("put", "%new", "@/a"), "put.committed", False),)),
    Scenario("read_witness", ("cat", "@/a"), {}, ({"a": "small"},), earlier=((("put", "%small", "@/a"), None, True),)),
    Scenario("read_removed", ("stat", "@/a"), {"a": "old"}, ({},), earlier=((("rm", "@/a"), None, True),)),
    Scenario("read_directory", ("stat", "@/a"), {}, ({"a": DIRECTORY},), earlier=((("mkdir", "@/a"), None, True),)),
    Scenario("read_moved", ("stat", "@/a"), {"a": "old"}, ({"b": "old"},),
             earlier=((("mv", "@/a", "@/b"), "rename.target", True),)),
    Scenario("read_renaming", ("stat", "@/a"), {"a": "old"}, ({"b": "old"},),
             earlier=((("mv", "@/a", "@/b"), "rename.committed", False),)),
)
