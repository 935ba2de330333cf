# SPDX-License-Identifier: LGPL-3.0-or-later
"""What chaos writes into objects: every piece tells which content it is of and where it belongs."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "component"))
import content  # noqa: E402
import history  # noqa: E402
import xectest  # noqa: E402


class Contents(xectest.TestCase):
    SIZES = (16, 17, 4095, 4096, 4097, 100_000, 1 << 20)

    def read(self, data, offset=0, step=1000):
        reader = content.Reader(offset)
        for start in range(0, len(data), step):
            reader.add(data[start:start + step])
        return reader.finish(), reader.problem, reader.length

    def test_right_bytes(self):
        for size in self.SIZES:
            data = b"".join(content.stream(9, size))
            self.assertEqual(self.read(data), (9, "", size))
            for offset in (1, 4000, 4096, size // 2):
                if content.covers_header(size, offset, 9000):
                    self.assertEqual(self.read(data[offset:offset + 9000], offset, 700), (9, "", len(data[offset:offset + 9000])))
        self.assertEqual(self.read(b""), (history.EMPTY, "", 0))

    def test_every_flipped_byte_is_seen(self):
        data = bytearray(b"".join(content.stream(9, 9000)))
        for offset in (*range(0, 40), 4095, 4096, 8999):
            data[offset] ^= 1
            self.assertTrue(self.read(bytes(data))[1] or self.read(bytes(data))[0] != 9, offset)
            data[offset] ^= 1

    def test_mixed_versions_and_moved_blocks(self):
        one, two = (b"".join(content.stream(number, 20_000)) for number in (9, 10))
        for data in (one[:8192] + two[8192:], one[4096:8192] + one[:4096] + one[8192:], one[:5000] + one[:15_000],
                     one[:10_000] + bytes(10_000)):
            self.assertTrue(self.read(data)[1])


if __name__ == "__main__":
    xectest.main()
