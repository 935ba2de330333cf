# SPDX-License-Identifier: LGPL-3.0-or-later
"""Every single value, and what is made of them: medians, spreads, ratios to plain xrootd of the same round."""
import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    name: str
    ratio: bool                                             # also show the ratio to plain xrootd
    values: dict = dataclasses.field(default_factory=dict)  # subject -> {round: value}


@dataclasses.dataclass
class Table:
    key: str
    title: str
    rows: dict = dataclasses.field(default_factory=dict)


class Results:
    def __init__(self):
        self.tables = {}
        self.samples = {}   # what plots need besides: workload -> row -> subject -> list
        self.failures = []  # sentences

    def add(self, key, title, row, subject, turn, value, ratio=False):
        """The value of round `turn`; None when it is not known."""
        table = self.tables.setdefault(key, Table(key, title))
        found = table.rows.setdefault(row, Row(row, ratio))
        found.values.setdefault(subject, {})[turn] = value

    def add_samples(self, workload, row, subject, values):
        self.samples.setdefault(workload, {}).setdefault(row, {}).setdefault(subject, []).extend(values)

    def fail(self, sentence):
        self.failures.append(sentence)

    def values(self, key, row, subject):
        """Round -> value, of the rounds in which it is known."""
        table = self.tables.get(key)
        found = table.rows.get(row) if table else None
        return {turn: value for turn, value in (found.values.get(subject, {}) if found else {}).items()
                if value is not None}

    def median(self, key, row, subject):
        values = self.values(key, row, subject)
        return statistics.median(values.values()) if values else None

    def worst(self, key, row, subject):
        values = self.values(key, row, subject)
        return max(values.values()) if values else None

    def ratio(self, key, row, subject, base, base_row=None):
        """Median of the ratios in the same round, or None."""
        values = self.values(key, row, subject)
        bases = self.values(key, base_row or row, base)
        ratios = [value / bases[turn] for turn, value in values.items() if bases.get(turn)]
        return statistics.median(ratios) if ratios else None

    def as_dict(self):
        def filled(values):
            last = max(values)
            return [values.get(turn) for turn in range(1, last + 1)]
        return {table.key: {"title": table.title,
                            "rows": {row.name: {subject: filled(values) for subject, values in row.values.items()}
                                     for row in table.rows.values()}}
                for table in self.tables.values()}
