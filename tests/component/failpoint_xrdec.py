# SPDX-License-Identifier: LGPL-3.0-or-later
"""Layout xrdec killed at its fail points. What must be true is what docs/configuration.md, "Layout xrdec", promises:
every name as an operation's legal results say, no archive but those of objects, none of these missing."""
import collections
import json
import os

import failpoint_gateways
import failpoints
from failpoint_scenarios import DIRECTORY, LONG, Scenario

ARCHIVES = 6
QUORUM = 3

# Those of "_stock" find an object of a stock client: the register does not know it.
SCENARIOS = (
    Scenario("create", ("put", "%new", "@/a"), {}, ({}, {"a": "new"})),
    Scenario("create_empty", ("put", "%empty", "@/a"), {}, ({}, {"a": "empty"})),
    Scenario("create_long", ("put", "%small", f"@/{LONG}"), {}, ({}, {LONG: "small"})),
    Scenario("create_existing", ("put", "%new", "@/a"), {"a": "old"}, ({"a": "old"},)),
    Scenario("remove", ("rm", "@/a"), {"a": "old"}, ({"a": "old"}, {})),
    Scenario("remove_stock", ("rm", "@/a"), {"a": "old"}, ({"a": "old"}, {})),
    Scenario("rename", ("mv", "@/a", "@/b"), {"a": "old"}, ({"a": "old"}, {"b": "old"})),
    Scenario("rename_stock", ("mv", "@/a", f"@/{LONG}"), {"a": "old"}, ({"a": "old"}, {LONG: "old"})),
    Scenario("mkdir", ("mkdir", "-p", "@/d/e"), {}, ({}, {"d": DIRECTORY}, {"d": DIRECTORY, "d/e": DIRECTORY})),
    Scenario("rmdir", ("rm", "-r", "@/d"), {"d": DIRECTORY}, ({"d": DIRECTORY}, {})),
)


def need_attributes(test):
    """Skips the test where the file system keeps none."""
    try:
        os.setxattr(test.dir, "user.xec", b"1")
    except OSError as error:
        test.skipTest(f"{test.dir} keeps no attributes: {error}")


class Rules:
    """What is different from a campaign in layout native."""

    def _first_home(self):
        """No operation here was begun while a home was away."""
        return None

    def prepare(self, cases):
        super().prepare(cases)
        entries = [f"{folder}/.xec/names{case.place}/a.~xo" for case in cases for folder in self.store.folders
                   if case.scenario.name.endswith("_stock")]
        if entries:
            self.test.run_program(["rm", "-rf", *entries])

    def expect_only_living(self):
        archives, register, others = collections.Counter(), collections.defaultdict(list), []
        for folder in self.store.folders:
            for path, directories, files in os.walk(folder):
                name = "/" + os.path.relpath(path, folder)
                if name.startswith("/.xec/names/") and name.endswith((".~xo", ".~xl")):
                    register[name] += [entry for entry in directories + files if not entry.startswith("n.")]
                elif name.startswith(("/.xec/names", "/.xec/staged")):
                    others += [f"{path}/{file}" for file in files]
                elif not name.startswith("/.xec"):
                    archives.update(os.path.normpath(f"{name}/{file}") for file in files)
        self.test.assertEqual(others, [], "left over in the reserved area")
        listed = json.loads(self.store.xec("ls", "-R", "--json", "/").out)
        objects = {entry["path"]: ARCHIVES for entry in listed if entry["type"] == "object"}
        self.test.assertEqual(archives, objects, "archives of each name, and names of objects")
        self.test.assertLessEqual(len(register), len(objects), "entries in the register, and objects")
        for name, entries in register.items():
            states = [entry.split(".") for entry in entries]
            self.test.assertEqual(len({tuple(state[1:3]) for state in states}), 1, f"left over in {name}: {entries}")
            self.test.assertLessEqual({state[0] for state in states}, {"p", "w"}, f"left over in {name}: {entries}")
            self.test.assertGreaterEqual(len(states), QUORUM, f"{name}: {entries}")


class Campaign(Rules, failpoints.Campaign):
    """The program xec is killed."""


class GatewayCampaign(Rules, failpoint_gateways.GatewayCampaign):
    """Gateways are killed."""
