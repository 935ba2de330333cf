# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tests that mount by FUSE."""
import os

import xectest


class TestCase(xectest.TestCase):
    """In a mount namespace of its own; skipped where there is no /dev/fuse."""

    def setUp(self):
        super().setUp()
        self.enter_mounts()
        try:
            os.close(os.open("/dev/fuse", os.O_RDWR))
        except OSError as error:
            self.skipTest(f"needs /dev/fuse: {os.strerror(error.errno)}")
