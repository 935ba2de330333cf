# SPDX-License-Identifier: LGPL-3.0-or-later
"""Contents of objects of which every byte can be checked and every piece tells whose it is.

A content is a number. Its bytes are blocks of 4 KiB, each with a header (mark, content, number of the block) and a piece of a
pool of random bytes that depends on both: so neither blocks in a wrong place nor blocks of another version pass. Objects
of 1 to 15 bytes, which could not name their content, are not made; those of 0 bytes are all the same (history.EMPTY).
"""
import random
import struct

import history

BLOCK = 4096
HEADER = struct.Struct("<IIQ")
SIZE_MIN = HEADER.size  # of an object that is not empty
MARK = 0x43454143
POOL = 1 << 20
BLOCKS_AT_ONCE = 256
KIB, MIB = 1 << 10, 1 << 20

_pool = random.Random(20261121).randbytes(POOL + BLOCK)


def _block(content, index):
    # Multiplicative hashing: neighbours in either number lie far from each other in the pool.
    start = ((content * 0x9E3779B97F4A7C15 + index * 0xC2B2AE3D27D4EB4F) >> 20) % POOL
    return HEADER.pack(MARK, index, content) + _pool[start:start + BLOCK - HEADER.size]


def piece(content, size, offset, length):
    """The bytes [offset, offset + length) of a content of `size` bytes, as far as it has them."""
    end = min(size, offset + length)
    if content == history.EMPTY or offset >= end:
        return b""
    first, last = offset // BLOCK, (end - 1) // BLOCK
    data = b"".join(_block(content, index) for index in range(first, last + 1))
    return data[offset - first * BLOCK:end - first * BLOCK]


def stream(content, size, step=BLOCK * BLOCKS_AT_ONCE):
    """All bytes, in pieces of `step`."""
    for offset in range(0, size, step):
        yield piece(content, size, offset, step)


def pick_size(generator, size_max):
    """Many small objects, since they make contention; few large ones, since they make stripes; all kinds of sizes about
    the boundaries of pages and stripes."""
    kind = generator.random()
    if kind < 0.05:
        size = 0
    elif kind < 0.60:
        size = int(2 ** generator.uniform(4, 16))
    elif kind < 0.85:
        size = int(2 ** generator.uniform(16, 20))
    elif kind < 0.93:
        size = max(SIZE_MIN, generator.choice((BLOCK, 64 * KIB, MIB)) * generator.randint(1, 9) + generator.randint(-1, 1))
    elif kind < 0.994:
        size = int(2 ** generator.uniform(20, 24))
    elif kind < 0.999:
        size = int(2 ** generator.uniform(24, 26))
    else:
        size = 256 * MIB
    return min(size, size_max)


class Reader:
    """Checks what a client reads, piece by piece, from `offset` on. `problem` is the first thing that is wrong, or "".
    A range tells whose it is only if a header lies in it: choose ranges with covers_header()."""

    def __init__(self, offset=0):
        self.begin = self.checked = offset
        self.content = None  # known after the first header
        self.problem = ""
        self._waiting = b""  # bytes from `checked` on that came before the first header

    @property
    def length(self):
        return self.checked + len(self._waiting) - self.begin

    def add(self, data):
        if self.problem:
            return
        if self.content is None:
            data = self._waiting = self._waiting + data
            header = -self.begin % BLOCK
            if len(data) < header + HEADER.size:
                return
            mark, index, content = HEADER.unpack_from(data, header)
            if mark != MARK or index != (self.begin + header) // BLOCK:
                self.problem = f"no header of a content at offset {self.begin + header}"
                return
            self.content, self._waiting = content, b""
        expected = piece(self.content, self.checked + len(data), self.checked, len(data))
        if data != expected:
            first = next(i for i, (a, b) in enumerate(zip(data, expected)) if a != b)
            found = data[first:first + 16].hex()
            self.problem = (f"content {self.content} is wrong from offset {self.checked + first} on: "
                            f"{found} instead of {expected[first:first + 16].hex()}")
            return
        self.checked += len(data)

    def finish(self):
        """Whose bytes these were; call once, after the last."""
        if not self.problem and self._waiting:
            self.problem = f"{len(self._waiting)} bytes at offset {self.begin} without the header of a content"
        if self.content is None and not self.problem:
            return history.EMPTY
        return self.content


def covers_header(size, offset, length):
    """Whether the range, cut at the object's size, has the whole header of a block in it."""
    header = offset + -offset % BLOCK
    return header + HEADER.size <= min(size, offset + length)
