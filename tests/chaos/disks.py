# SPDX-License-Identifier: LGPL-3.0-or-later
"""A small file system for each data server, so that it can be filled and mounted read-only without harm to this machine.
The mounts are in a namespace of this process and its children: they go when it ends."""
import ctypes
import os
import subprocess

CLONE_NEWNS, RECURSIVE_PRIVATE = 0x00020000, 0x4000 | 0x40000


def enter_mounts():
    """Returns why it can't be."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, RECURSIVE_PRIVATE, None) != 0:
        return f"needs a mount namespace of its own: {os.strerror(ctypes.get_errno())}"
    return ""


def give(cluster, mebibytes):
    """Before the cluster's first start: every server exports a folder on a disk of its own. Needs root."""
    for server in cluster.servers:
        disk = os.path.join(server.base, "disk")
        os.makedirs(disk)
        image = disk + ".img"
        with open(image, "wb") as file:
            file.truncate(mebibytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
        server.data = os.path.join(disk, "data")
