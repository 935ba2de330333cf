#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Draws what ./dev bench --output or --json has written.

    python3 bench/plot.py VALUES.json [--output DIR]

One SVG for each table, each row of it a panel with the medians of all subjects and lines from the least to the most of the
rounds; small objects as rates over the number of clients; ingest as histograms of how long transfers took.
"""
import argparse
import json
import os
import re
import statistics
import sys

# The same for a subject in every figure, whatever else was measured.
COLOURS = {"plain": "#555555", "plain commit": "#999999", "proxy": "#c49a3a", "embedded none": "#1f6fb4",
           "embedded commit": "#7fb3dd", "embedded cache": "#123f69", "cluster none": "#2c8a4b",
           "cluster commit": "#8fcf9f", "cluster cache": "#175c30", "xrdec gateway": "#b23a48",
           "xrdec direct": "#e08a92", "s3": "#7d4fa3", "xec": "#1f6fb4", "raw ISA-L": "#555555"}
OTHER_COLOUR = "#000000"
PANELS_IN_A_ROW = 3
BINS = 30
CLIENTS = re.compile(r"(\w+), (\d+) clients?")
NOT_DRAWN = ("small p50", "small p99", "small cpu", "small client cpu", "small requests", "memory")


class Plots:
    def __init__(self, pyplot, values, folder):
        self.pyplot = pyplot
        self.values = values
        self.folder = folder
        names = list(values["machine"].get("subjects", {}))
        for table in values["tables"].values():
            for row in table["rows"].values():
                names += [name for name in row if name not in names]
        self.colours = {name: COLOURS.get(name, OTHER_COLOUR) for name in names}

    def panels(self, count, width=4.2, height=2.6):
        columns = min(PANELS_IN_A_ROW, count)
        lines = (count + columns - 1) // columns
        figure, axes = self.pyplot.subplots(lines, columns, figsize=(width * columns, height * lines), squeeze=False)
        flat = [axis for line in axes for axis in line]
        for axis in flat[count:]:
            axis.set_visible(False)
        return figure, flat[:count]

    def save(self, figure, name, title):
        machine = self.values["machine"]
        figure.suptitle(f"{title}\n{machine['cores']} cores {machine['processor']}, data on {machine['file_system']}, XRootD "
                        f"{machine['versions']['xrootd']}, {machine['started']} UTC", fontsize=9)
        figure.tight_layout()
        figure.savefig(os.path.join(self.folder, f"{name.replace(' ', '-')}.svg"))
        self.pyplot.close(figure)

    def table(self, key, table):
        rows = {name: row for name, row in table["rows"].items() if any(known(values) for values in row.values())}
        if not rows:
            return
        figure, axes = self.panels(len(rows))
        for axis, (name, row) in zip(axes, rows.items()):
            subjects = [subject for subject in self.colours if known(row.get(subject, []))]
            for place, subject in enumerate(subjects):
                values = known(row[subject])
                middle = statistics.median(values)
                axis.barh(place, middle, color=self.colours[subject])
                axis.plot([min(values), max(values)], [place, place], color="black", linewidth=1)
            axis.set_yticks(range(len(subjects)), subjects, fontsize=7)
            axis.invert_yaxis()
            axis.set_title(name, fontsize=8)
            axis.tick_params(axis="x", labelsize=7)
        self.save(figure, key, table["title"])

    def small(self, table):
        operations = {}
        for name, row in table["rows"].items():
            found = CLIENTS.fullmatch(name)
            operations.setdefault(found[1], []).append((int(found[2]), row))
        figure, axes = self.panels(len(operations), height=3.2)
        for axis, (operation, points) in zip(axes, operations.items()):
            for subject, colour in self.colours.items():
                drawn = [(clients, known(row[subject])) for clients, row in sorted(points, key=lambda point: point[0])
                         if known(row.get(subject, []))]
                if drawn:
                    middles = [statistics.median(values) for _, values in drawn]
                    spread = [[middle - min(values) for middle, (_, values) in zip(middles, drawn)],
                              [max(values) - middle for middle, (_, values) in zip(middles, drawn)]]
                    axis.errorbar([clients for clients, _ in drawn], middles, yerr=spread, marker="o", markersize=3,
                                  color=colour, label=subject, linewidth=1, capsize=2)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xticks([clients for clients, _ in points], [str(clients) for clients, _ in points])
            axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            axis.set_title(operation, fontsize=8)
            axis.set_xlabel("clients", fontsize=7)
            axis.set_ylabel("operations/s", fontsize=7)
            axis.tick_params(which="both", labelsize=7)
        axes[0].legend(fontsize=6)
        self.save(figure, "small", table["title"])

    def ingest(self, samples):
        subjects = [name for name in self.colours if any(row.get(name) for row in samples.values())]
        figure, axes = self.panels(len(samples), height=3.2)
        for axis, (what, row) in zip(axes, samples.items()):
            longest = max((max(values) for values in row.values() if values), default=1)
            for subject in subjects:
                if row.get(subject):
                    axis.hist(row[subject], bins=BINS, range=(0, longest), histtype="step", color=self.colours[subject],
                              label=subject)
            axis.set_title(what.replace("%", "% of saturation", 1), fontsize=8)
            axis.set_xlabel("s for a transfer", fontsize=7)
            axis.set_ylabel("transfers", fontsize=7)
            axis.tick_params(labelsize=7)
        axes[0].legend(fontsize=6)
        self.save(figure, "ingest histogram", self.values["tables"]["ingest"]["title"])

    def all(self):
        for key, table in self.values["tables"].items():
            if key == "small":
                self.small(table)
            elif key not in NOT_DRAWN:
                self.table(key, table)
        if self.values["samples"].get("ingest"):
            self.ingest(self.values["samples"]["ingest"])


def known(values):
    return [value for value in values if value is not None]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("values", metavar="VALUES.json")
    parser.add_argument("--output", metavar="DIR", default=".")
    options = parser.parse_args(argv)
    try:
        import matplotlib
        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        print("plot: no plots are drawn, as this python has no matplotlib: install python3-matplotlib and use /usr/bin/python3",
              file=sys.stderr)
        return 1
    try:
        with open(options.values, encoding="utf-8") as file:
            values = json.load(file)
        os.makedirs(options.output, exist_ok=True)
        Plots(pyplot, values, options.output).all()
    except (OSError, ValueError, KeyError) as error:
        print(f"plot: {options.values} cannot be drawn: {error!r}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
