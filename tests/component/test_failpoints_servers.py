#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Gateways killed at their fail points, and their clients, on stock data servers.

`./dev test` takes a sample, by a choice that XEC_TEST_SEED varies; XEC_TEST_LONG=1 takes every operation at the first and
the last passage of every point, besides the program xec and its cleaner on stock servers, and gateways on local directories
at every passage. With XEC_TEST_EVERY=1 the operations of the sample are taken at every passage on stock servers too.
"""
# needs: failpoints
# seconds: 3600
import os
import random

import failpoint_cleaner
import failpoint_gateways
import failpoint_xrdec
import failpoints
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
EVERY = os.environ.get("XEC_TEST_EVERY") == "1"
SAMPLED = ("create", "replace", "remove", "rename", "rename_directory")


def a_few(scenario, point, count):
    """One of four points of an operation."""
    if random.Random(f"{failpoints.SEED} {scenario.name} {point} taken").random() > 0.25:
        return set(), set()
    return failpoints.once(scenario, point, count)


class StockServers(xectest.TestCase):
    def store(self, sizes=None):
        cluster = self.cluster(servers=failpoints.SERVERS)
        return failpoints.Store(self, [("--server", server.url) for server in cluster.servers],
                                [server.data for server in cluster.servers], sizes, cluster)

    def local_store(self, **options):
        folders = [self.path(f"d{i}") for i in range(1, failpoints.SERVERS + 1)]
        return failpoints.Store(self, [("--data", folder) for folder in folders], folders, **options)

    def need_long(self, what):
        if not LONG:
            self.skipTest(f"{what}; with XEC_TEST_LONG=1")

    def test_gateways_on_stock_servers(self):
        scenarios = [s for s in failpoints.SCENARIOS if LONG and not EVERY or s.name in SAMPLED]
        campaign = failpoint_gateways.GatewayCampaign(self, self.store(), scenarios)
        passes = campaign.run(failpoints.alternating if EVERY else failpoints.first_and_last if LONG else a_few)
        campaign.report("gateways on stock servers", passes)

    def test_gateways_on_local_directories(self):
        self.need_long("gateways killed at every passage of every point")
        campaign = failpoint_gateways.GatewayCampaign(self, self.local_store())
        campaign.report("gateways on local directories", campaign.run(failpoints.every))

    def test_gateways_of_layout_xrdec_on_local_directories(self):
        failpoint_xrdec.need_attributes(self)
        scenarios = [s for s in failpoint_xrdec.SCENARIOS if LONG or s.name in SAMPLED]
        campaign = failpoint_xrdec.GatewayCampaign(self, self.local_store(layout="xrdec"), scenarios)
        passes = campaign.run(failpoints.alternating if LONG else a_few)
        campaign.report("gateways of layout xrdec", passes)

    def test_program_on_stock_servers(self):
        self.need_long("the program xec killed at the first and the last passage of every point")
        campaign = failpoints.Campaign(self, self.store())
        campaign.report("program on stock servers", campaign.run(failpoints.first_and_last))

    def test_cleaner_on_stock_servers(self):
        self.need_long("the cleaner killed at its points")
        campaign = failpoint_cleaner.CleanerCampaign(self, self.store())
        cleanings = campaign.run(lambda point, count: {1, count})
        print(f"cleaner on stock servers: {sum(campaign.killed.values())} kills in {cleanings} runs", flush=True)

    def test_clients_killed_while_the_gateway_is_held(self):
        def choose(scenario, root, point):
            return LONG or random.Random(f"{failpoints.SEED} {scenario.name} {root} {point}").random() < 0.15
        campaign = failpoint_gateways.ClientCampaign(self, self.store(failpoint_gateways.SIZES))
        campaign.report("clients", campaign.run(choose))


if __name__ == "__main__":
    xectest.main()
