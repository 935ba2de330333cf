# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tables of what was measured, as text or markdown."""
import statistics

import tables

GIB, MIB = 1 << 30, 1 << 20
MEMORY = "memory"


def format_size(size):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1024, "KiB"), (10**6, "MB"), (1000, "KB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def base_of(subject):
    """What a subject is compared with: plain xrootd without sync; plain itself with nothing."""
    return None if subject == "plain" else "plain"


def cell(results, key, row, subject):
    """Median [least-most] and xR, the median of the ratios to plain xrootd in the same round."""
    values = results.values(key, row.name, subject)
    if not values:
        return "?" if subject in row.values else "-"
    numbers = list(values.values())
    text = tables.format_number(statistics.median(numbers))
    if len(numbers) > 1:
        text += f" [{tables.format_number(min(numbers))}-{tables.format_number(max(numbers))}]"
    base = base_of(subject)
    ratio = results.ratio(key, row.name, subject, base) if row.ratio and base else None
    return text if ratio is None else f"{text} x{ratio:.2f}"


def render(results, subjects, markdown):
    """All tables, each with the subjects that were measured for it."""
    parts = []
    # Memory gets rows from all workloads: after them.
    for table in sorted(results.tables.values(), key=lambda table: table.key == MEMORY):
        columns = [name for name in subjects if any(name in row.values for row in table.rows.values())]
        parts.append(tables.render(table.title, columns, [
            (row.name, [cell(results, table.key, row, column) for column in columns])
            for row in table.rows.values()], markdown))
    return "\n\n".join(parts)
