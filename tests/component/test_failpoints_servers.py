#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Gateways killed at their fail points, and their clients, on stock data servers and on local directories.

`./dev test` takes a sample, by a choice that XEC_TEST_SEED varies; XEC_TEST_LONG=1 takes every operation on stock servers at
the first and the last passage of every point, without syncs and with them, and on local directories at every passage, and
every point of a client; besides the program xec and its cleaner on stock servers. With XEC_TEST_EVERY=1 the operations of
the sample are taken at every passage on stock servers too.
"""
# needs: failpoints
# seconds: 10800
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


# Of each operation at least one point is taken, where it is decided.
DECISIVE = (".committed", "rename_directory.logged")


def a_few(low, high):
    """Each point of an operation has a place from 0 to 1; those between the two are taken, and the decisive ones."""
    def choose(scenario, point, count):
        if point.endswith(DECISIVE) or low <= random.Random(f"{failpoints.SEED} {scenario.name} {point} taken").random() < high:
            return failpoints.once(scenario, point, count)
        return set(), set()
    return choose


class StockServers(xectest.TestCase):
    def store(self, **options):
        cluster = self.cluster(servers=failpoints.SERVERS)
        return failpoints.Store(self, [("--server", server.url) for server in cluster.servers],
                                [server.data for server in cluster.servers], cluster=cluster, **options)

    def local_store(self, **options):
        folders = [self.path(f"d{i}") for i in range(1, failpoints.SERVERS + 1)]
        return failpoints.Store(self, [("--data", folder) for folder in folders], folders, **options)

    def need_long(self, what):
        if not LONG:
            self.skipTest(f"{what}; with XEC_TEST_LONG=1")

    def test_gateways_on_stock_servers(self):
        scenarios = [s for s in failpoints.SCENARIOS if LONG and not EVERY or s.name in SAMPLED]
        campaign = failpoint_gateways.GatewayCampaign(self, self.store(), scenarios)
        choose = failpoints.alternating if EVERY else failpoints.first_and_last if LONG else a_few(0, 0.25)
        campaign.report("gateways on stock servers", campaign.run(choose, every_point=LONG or EVERY))

    def test_gateways_that_sync_on_stock_servers(self):
        self.need_long("gateways with policy commit killed at the first and the last passage of every point")
        campaign = failpoint_gateways.GatewayCampaign(self, self.store(sync="commit"))
        passes = campaign.run(failpoints.first_and_last, every_point=True)
        campaign.report("gateways that sync on stock servers", passes)

    def test_gateways_on_local_directories(self):
        scenarios = [s for s in failpoints.SCENARIOS if LONG or s.name in SAMPLED]
        campaign = failpoint_gateways.GatewayCampaign(self, self.local_store(), scenarios)
        passes = campaign.run(failpoints.every if LONG else a_few(0.25, 0.5), every_point=LONG)
        campaign.report("gateways on local directories", passes)

    def test_gateways_of_layout_xrdec_on_local_directories(self):
        failpoint_xrdec.need_attributes(self)
        scenarios = [s for s in failpoint_xrdec.SCENARIOS if LONG or s.name in SAMPLED]
        campaign = failpoint_xrdec.GatewayCampaign(self, self.local_store(layout="xrdec"), scenarios)
        passes = campaign.run(failpoints.alternating if LONG else a_few(0, 0.25), every_point=LONG)
        campaign.report("gateways of layout xrdec", passes)

    def test_program_on_stock_servers(self):
        self.need_long("the program xec killed at the first and the last passage of every point")
        campaign = failpoints.Campaign(self, self.store())
        campaign.report("program on stock servers", campaign.run(failpoints.first_and_last, every_point=True))

    def test_cleaner_on_stock_servers(self):
        self.need_long("the cleaner killed at its points")
        campaign = failpoint_cleaner.CleanerCampaign(self, self.store())
        cleanings = campaign.run(lambda point, count: {1, count})
        print(f"cleaner on stock servers: {sum(campaign.killed.values())} kills in {cleanings} runs", flush=True)

    def test_clients_killed_while_the_gateway_is_held(self):
        def choose(scenario, root, point):
            return LONG or random.Random(f"{failpoints.SEED} {scenario.name} {root} {point}").random() < 0.15
        campaign = failpoint_gateways.ClientCampaign(self, self.store(sizes=failpoint_gateways.SIZES))
        campaign.report("clients", campaign.run(choose, every_point=LONG))

    def test_clients_killed_while_the_gateway_on_local_directories_is_held(self):
        self.need_long("clients killed at every point of an upload")
        campaign = failpoint_gateways.ClientCampaign(self, self.local_store(sizes=failpoint_gateways.SIZES))
        campaign.report("clients on local directories", campaign.run(lambda *_: True, every_point=True))


if __name__ == "__main__":
    xectest.main()
