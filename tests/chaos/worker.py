# SPDX-License-Identifier: LGPL-3.0-or-later
"""One client of chaos as a process: asks one thing after the other until the time is over, and records all of it.

    python3 worker.py PLAN.json CLIENT LIFE

A client may die at any time (chaos kills some); its next life goes on with new contents and another seed. Contended names are
for everybody; the others are changed by their owner only, and read by all. Renames stay within small groups of names, so that the
checker's search stays small.
"""
import json
import os
import random
import sys
import time

import content
import history
import http_client
import names
import root_client

# Kinds and how often; at least four of ten change something.
MIX = {history.PUT: 18, history.CREATE: 9, history.REMOVE: 9, history.RENAME: 9, history.GET: 24, history.RANGE: 10,
       history.STAT: 15, history.LIST: 6}
HOT_SHARE = 0.4
HOT_SIZE_MAX = 2 << 20
FOREIGN_SHARE = 0.25    # of the reads outside the contended names
HOME_SHARE = 0.8        # of the requests go to the client's own gateway
DOWN_SECONDS = 2.0      # so long a gateway is left alone that does not take connections
LARGE_AT = 25           # the first client puts the largest object at this operation
CONTENTS = 1_000_000    # of one life


class Worker:
    def __init__(self, plan, client, life):
        self.plan, self.client = plan, client
        self.random = random.Random(f"{plan['seed']} client {client} {life}")
        self.recorder = history.Recorder(os.path.join(plan["history"], f"client-{client}-{life}.jsonl"), f"c{client}.{life}")
        kinds = (root_client.RootClient, http_client.HttpClient)
        self.clients = [[kind(gateway) for kind in kinds] for gateway in plan["gateways"]]
        self.down_until = [0.0] * len(self.clients)
        self.contents = (client * 1000 + life) * CONTENTS
        self.count = 0

    def gateway(self):
        home = self.client % len(self.clients)
        chosen = home if self.random.random() < HOME_SHARE else self.random.randrange(len(self.clients))
        up = [number for number, until in enumerate(self.down_until) if until < time.monotonic()]
        if chosen not in up and up:
            chosen = self.random.choice(up)
        return chosen

    def group(self, kind):
        if self.random.random() < HOT_SHARE:
            return True, names.hot_group(self.random.randrange(names.HOT_GROUPS))
        owner = self.client
        if kind not in history.MUTATIONS and self.random.random() < FOREIGN_SHARE:
            owner = self.random.randrange(self.plan["clients"])
        return False, names.own_group(owner, self.random.randrange(names.OWN_GROUPS))

    def step(self):
        self.count += 1
        kind = self.random.choices(list(MIX), MIX.values())[0]
        hot, group = self.group(kind)
        name, to = self.random.sample(group, 2)
        size = content.pick_size(self.random, min(self.plan["size_max"], HOT_SIZE_MAX) if hot else self.plan["size_max"])
        if self.client == 0 and self.count == LARGE_AT and self.contents == 0:
            kind, name, size = history.PUT, names.own_group(0, 0)[0], self.plan["size_max"]
        number = self.gateway()
        root, over_http = self.clients[number]
        client = root if kind == history.CREATE or self.random.random() < 0.5 else over_http
        self.run(client, number, kind, name, to, size)

    def run(self, client, gateway, kind, name, to, size):
        if kind == history.LIST:
            name = os.path.dirname(name)
        fields = {"client": self.client, "gateway": gateway + 1, "protocol": client.protocol}
        content_number = self.contents + self.count
        if kind in (history.PUT, history.CREATE):
            fields |= {"content": content_number, "size": size}
            call = lambda: client.put(name, content_number, size, kind == history.CREATE)
        elif kind == history.RENAME:
            fields["to"] = to
            call = lambda: client.rename(name, to)
        elif kind == history.REMOVE:
            call = lambda: client.remove(name)
        else:
            call = lambda: getattr(client, kind)(name, self.random)
        op = self.recorder.begin(kind, name, **fields)
        try:
            outcome, answer = call()
        except root_client.Abandoned as abandoned:
            self.recorder.end(op, abandoned.outcome, text=abandoned.text)
            # Without destructors, which would close the file.
            os._exit(0)
        if answer.pop("down", False):
            self.down_until[gateway] = time.monotonic() + DOWN_SECONDS
        self.recorder.end(op, outcome, **answer)

    def work(self):
        while time.monotonic() < self.plan["until"]:
            self.step()


def main(argv):
    with open(argv[0], encoding="utf-8") as file:
        plan = json.load(file)
    Worker(plan, int(argv[1]), int(argv[2])).work()
    sys.stdout.flush()
    # The library's threads may hang on a dead gateway when they are asked to end.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
