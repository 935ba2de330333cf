# SPDX-License-Identifier: LGPL-3.0-or-later
"""The names that the clients of chaos use. In small groups: renames stay within one, so that the checker's searches stay
small, and a listing shows one."""
HOT_GROUPS, HOT_NAMES = 10, 3  # contended: for everybody
OWN_GROUPS, OWN_NAMES = 4, 3   # changed by one client only


def hot_group(group):
    return [f"/hot/{group}/{number}" for number in range(HOT_NAMES)]


def own_group(client, group):
    return [f"/own/{client}/{group}/{number}" for number in range(OWN_NAMES)]


def all_names(clients):
    found = [name for group in range(HOT_GROUPS) for name in hot_group(group)]
    return found + [name for client in range(clients) for group in range(OWN_GROUPS) for name in own_group(client, group)]
