# SPDX-License-Identifier: LGPL-3.0-or-later
"""The end of chaos: reads every name on both gateways, over root and http. Started by chaos.py, since the root client must not be
in a process that starts daemons.

    python3 census.py CENSUS.json
"""
import json
import os
import sys
import time

import history
import http_client
import root_client


def look(recorder, client, gateway, name, census):
    op = recorder.begin(history.GET, name, client=-1, gateway=gateway, protocol=client.protocol, census=census)
    outcome, fields = client.get(name, None)
    fields.pop("down", None)
    recorder.end(op, outcome, **fields)
    return outcome


def main(path):
    with open(path, encoding="utf-8") as file:
        task = json.load(file)
    with open(task["plan"], encoding="utf-8") as file:
        plan = json.load(file)
    recorder = history.Recorder(os.path.join(plan["history"], "census.jsonl"), "census")
    for number, gateway in enumerate(plan["gateways"], 1):
        # Servers that came back a moment ago are used again within seconds; the first errors count as ordinary ones.
        probe = root_client.RootClient(gateway)
        for _ in range(task["tries"]):
            if look(recorder, probe, number, task["names"][0], False) in (history.OK, history.NOT_FOUND):
                break
            time.sleep(task["pause"])
        for name in task["names"]:
            for kind in (root_client.RootClient, http_client.HttpClient):
                look(recorder, kind(gateway), number, name, True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
