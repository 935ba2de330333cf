# SPDX-License-Identifier: LGPL-3.0-or-later
"""./dev bench fills every cell of its tables. No test here asserts how fast anything is."""
import json
import os
import re
import sys

import xectest

BENCH = os.path.join(xectest.REPO, "bench", "run_bench.py")
COLUMNS = ["plain", "embedded none", "embedded commit", "cluster none", "cluster commit"]
TIMED = ["put", "get", "stat"]
NUMBER = re.compile(r"\d+(\.\d+)?( \(\d+\.\d+\))?")


class Bench(xectest.TestCase):
    def bench(self, *options, code=0):
        return self.run_program([sys.executable, BENCH, "--quick", "--servers", "4", "--geometry", "2+1", "--size", "4MiB",
                                 "--seconds", "0.05", "--dir", self.path("data"), *options], code=code, seconds=600)

    def rows(self, out, separator):
        """Of all tables: name -> cells."""
        found = {}
        for line in out.splitlines():
            cells = [cell.strip() for cell in re.split(separator, line.strip("| "))]
            if len(cells) > 1:
                found[cells[0]] = cells[1:]
        return found

    def test_every_cell_is_filled(self):
        result = self.bench("--clients", "1,3", "--json", self.path("values.json"))
        with open(self.path("values.json"), encoding="utf-8") as file:
            tables = json.load(file)
        self.assertEqual(list(tables), ["stream of 4 MiB", "operations/s on objects of 27 KB", "median ms on objects of 27 KB",
                                        "server CPU ms per operation on objects of 27 KB"])
        stream = [f"{way} {what}" for way in ("upload", "download")
                  for what in ("MiB/s", "CPU s/GiB, client", "CPU s/GiB, servers")]
        small = [f"{operation}, {clients}" for clients in ("1 client", "3 clients") for operation in TIMED]
        for title, rows in tables.items():
            self.assertEqual(list(rows), stream if title.startswith("stream") else small, title)
            for name, values in rows.items():
                self.assertEqual(list(values), COLUMNS, f"{title}: {name}")
                for column, measured in values.items():
                    self.assertEqual(len(measured), 1, f"{title}: {name}, {column}")
                    self.assertGreaterEqual(measured[0], 0, f"{title}: {name}, {column}")
                    if not re.search("CPU", title + name):
                        self.assertGreater(measured[0], 0, f"{title}: {name}, {column}")
        printed = self.rows(result.out, r"\s{2,}")
        for title, rows in tables.items():
            self.assertEqual(printed[title], COLUMNS)
        for name in stream + small:
            self.assertEqual(len(printed[name]), len(COLUMNS), name)
            for cell in printed[name]:
                self.assertRegex(cell, f"^{NUMBER.pattern}$", name)
        self.assertRegex(result.out.splitlines()[0], r"^\d+ cores .*XRootD \d")
        self.assertIn("load average", result.out)
        self.assertEqual(os.listdir(self.path("data")), [])

    def test_markdown_of_a_part(self):
        result = self.bench("--only", "plain,embedded,small", "--sync", "none", "--clients", "2", "--markdown")
        rows = self.rows(result.out, r"\s*\|\s*")
        self.assertEqual(rows["operations/s on objects of 27 KB"], ["plain", "embedded none"])
        for operation in TIMED:
            cells = rows[f"{operation}, 2 clients"]
            self.assertEqual(len(cells), 2)
            for cell in cells:
                self.assertRegex(cell, f"^{NUMBER.pattern}$")
        self.assertNotIn("stream", result.out)

    def test_bad_options_are_told(self):
        self.assertIn("there is no tape", self.bench("--only", "tape", code=2).err)
        self.assertIn("--sync", self.bench("--sync", "often", code=2).err)
        self.assertIn("--clients", self.bench("--clients", "many", code=2).err)


if __name__ == "__main__":
    xectest.main()
