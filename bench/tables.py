# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tables as plain text or as markdown."""


def format_number(value):
    """Three digits that mean something."""
    if value is None:
        return "?"
    if value >= 100:
        return f"{value:.0f}"
    if value >= 0.1 or value == 0:
        return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return f"{value:.4f}"


def render(title, columns, rows, markdown):
    """`rows` are (name, [cell...]); the first column is named `title`."""
    lines = [[title, *columns]] + [[name, *cells] for name, cells in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]

    def text(line):
        cells = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        return "| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip()

    rule = "| " + " | ".join(["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]) + " |"
    body = [text(line) for line in lines]
    return "\n".join([body[0]] + ([rule] if markdown else []) + body[1:])
