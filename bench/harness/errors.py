# SPDX-License-Identifier: LGPL-3.0-or-later
"""What can go wrong, in one sentence for the user."""


class BenchError(Exception):
    """A measurement that cannot be made."""


class UsageError(BenchError):
    """An option that makes no sense."""
