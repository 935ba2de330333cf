# SPDX-License-Identifier: LGPL-3.0-or-later
"""The cleaner killed at its fail points. What must be true afterwards is in failpoints.py."""
import json
import os

import failpoints

PASSES_MAX = 100  # a tombstone is collected only when it is old enough

# What a cleaner finds in the store when it is killed itself: operations killed at these points.
DEBRIS = (("create", "put.opened_one", 3), ("create", "put.sealed", 1), ("create", "promote.home", 1),
          ("create_small", "put.committed", 1), ("create_long", "put.sealed", 1), ("create_exclusive", "put.look", 1),
          ("replace", "put.committed", 1), ("remove", "mark.home", 1), ("mkdir", "mkdir.sealed", 1),
          ("mkdir", "promote.home", 1),
          ("rename", "rename.sealed_target", 1), ("rename", "rename.looked", 1), ("rename", "rename.committed", 1),
          ("rename_over", "rename.target", 1), ("rename_tagged", "rename.promote", 1),
          ("rename_directory", "rename_directory.step", 1), ("rename_directory", "rename_directory.logged", 1),
          ("read_witness", "roll.unproved", 1), ("read_moved", "roll.moved_draft", 1),
          ("read_removed", "state.mark", 1))


class CleanerCampaign(failpoints.Campaign):
    """The cleaner is killed over the debris, and started again."""

    def run(self, choose):
        """`choose(point, count)`: which passages of a point are killed."""
        by_name = {scenario.name: scenario for scenario in self.scenarios}
        self.cases = [failpoints.Case(by_name[name], "clean", point, passage) for name, point, passage in DEBRIS]
        self.prepare(self.cases)
        self.each(self.kill, self.cases)
        for case in self.cases:
            self.test.assertTrue(case.killed, str(case))
        self.killed.clear()
        cleanings = 0
        # A gateway that still works behind its last answer writes into what is saved or put back.
        self.store.stop_gateway()
        passes = self.discover_passes(choose)
        for point, passage, graces, before in passes:
            self.store.stop_gateway()
            # What a pass finds old enough varies; the first passage is always there.
            for tried in (passage, 1):
                self.restore(before)
                result = self.store.xec("clean", *graces, point=f"{point}:{tried}", code=None)
                self.killed[point] += result.code == failpoints.KILLED
                if self.killed[point]:
                    break
            self.store.fresh_gateway()
            seen = self.look("clean", meanwhile=True)
            self.clean()
            after = self.look("clean")
            for case in self.cases:
                self.expect_forward(case, seen, after, f", then the cleaner at {point}:{passage}")
            self.expect_only_living()
            cleanings += 1
        self.test.assertEqual({point for point, *_ in passes} - set(+self.killed), set(), "the cleaner was never killed at these")
        self.remove_all()
        return cleanings

    def discover_passes(self, choose):
        """(point, passage, graces, state of the store before) for passes of the cleaner until one finds nothing."""
        chosen, known = [], set()
        for number in range(PASSES_MAX):
            before = self.test.path(f"before-pass-{number}")
            self.save(before)
            graces = failpoints.graces_of_pass(number)
            counts, report = self.passages(f"clean-{number}", "clean", "--json", *graces)
            for point, count in sorted(counts.items()):
                if point not in known:
                    chosen += [(point, passage, graces, before) for passage in sorted(choose(point, count))]
            if failpoints.found_nothing(json.loads(report)):
                return chosen
            if known >= set(counts):
                self.test.run_program(["rm", "-rf", before])
            known |= set(counts)
        self.test.fail(f"the cleaner has still something to do after {PASSES_MAX} passes: {report}")

    def save(self, place):
        for i, folder in enumerate(self.store.folders):
            os.makedirs(f"{place}/{i}")
            self.test.run_program(["cp", "-a", f"{folder}/.", f"{place}/{i}"])

    def restore(self, place):
        """Names only: the store's own files stay as they are."""
        gone = [os.path.join(folder, name) for folder in self.store.folders for name in os.listdir(folder)
                if name != ".xec"]
        gone += [os.path.join(folder, ".xec", "moves") for folder in self.store.folders]
        self.test.run_program(["rm", "-rf", *gone])
        for i, folder in enumerate(self.store.folders):
            self.test.run_program(["cp", "-a", f"{place}/{i}/.", folder])
