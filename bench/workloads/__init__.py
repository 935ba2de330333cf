# SPDX-License-Identifier: LGPL-3.0-or-later
"""The table of all workloads, in the order in which they are measured. One file for each; base.py has what they share."""
from .degraded import Degraded
from .ingest import Ingest
from .links import Links
from .listing import Listing
from .readwrite import ReadWrite
from .reread import Reread
from .small import Small
from .sparse import Sparse
from .stream import Stream
from .streams16 import Streams16
from .vector import Vector
from .web import Web

ALL = (Stream, Streams16, Reread, ReadWrite, Ingest, Small, Sparse, Vector, Listing, Degraded, Web, Links)
