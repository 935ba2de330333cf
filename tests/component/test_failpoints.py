#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The engine is killed at every fail point of every operation (failpoints.py says what must hold then).

Here the program xec on local directories; test_failpoints_servers.py has gateways and stock servers. `./dev test` kills
once at every point of every operation, by a choice that XEC_TEST_SEED varies; XEC_TEST_LONG=1 kills at every passage.
"""
# needs: failpoints
# seconds: 7200
import collections
import os
import random

import failpoint_cleaner
import failpoint_xrdec
import failpoints
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"


def cleaner_passages(point, count):
    """In short runs only the cleaner's own steps, once each."""
    if LONG:
        return set(range(1, count + 1)) if count <= 8 else {1, 2, count // 3, count // 2, count - 1, count}
    if not point.startswith(("clean.", "state.")):
        return set()
    return {random.Random(f"{failpoints.SEED} {point}").randint(1, count)}


# Passed only when another rename seals the same name between the two looks of this one: one program at a time never gets
# there. The simulator kills gateways there ("fence: abort rename", "sweep: aborted rename" in its table). Or only when a directory is
# removed while something is put into it: the simulator does that, too (tree.cc).
IN_RACES_ONLY = {"rename.withdraw", "rename.withdrawn", "removal.withdrawn", "parent.make_above"}


class FailPoints(xectest.TestCase):
    killed = collections.Counter()

    def local_store(self, **options):
        folders = [self.path(f"d{i}") for i in range(1, failpoints.SERVERS + 1)]
        return failpoints.Store(self, [("--data", folder) for folder in folders], folders, **options)

    def test_1_operations_on_local_directories(self):
        campaign = failpoints.Campaign(self, self.local_store())
        passes = campaign.run(failpoints.every if LONG else failpoints.once, every_point=LONG)
        campaign.report("operations", passes)
        self.killed.update(campaign.killed)

    def test_2_cleaner_on_local_directories(self):
        campaign = failpoint_cleaner.CleanerCampaign(self, self.local_store())
        cleanings = campaign.run(cleaner_passages)
        print(f"cleaner: {sum(campaign.killed.values())} kills at {len(campaign.killed)} fail points in {cleanings} runs",
              flush=True)
        self.killed.update(campaign.killed)

    def test_3_operations_of_layout_xrdec_on_local_directories(self):
        failpoint_xrdec.need_attributes(self)
        campaign = failpoint_xrdec.Campaign(self, self.local_store(layout="xrdec"), failpoint_xrdec.SCENARIOS)
        passes = campaign.run(failpoints.every if LONG else failpoints.once, every_point=LONG)
        campaign.report("operations of layout xrdec", passes)
        self.killed.update(campaign.killed)

    def test_4_every_fail_point_has_killed(self):
        if not self.killed:
            self.skipTest("needs the tests before")
        never = [point for point in failpoints.all_points() if not self.killed[point] and point not in IN_RACES_ONLY]
        self.assertEqual(never, [], "no operation was killed at these")


if __name__ == "__main__":
    xectest.main()
