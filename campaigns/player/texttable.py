# SPDX-License-Identifier: Apache-2.0
"""Tables of texts."""


def lines(rows):
    """A line for each row of cells: the first column to the left, the others to
    the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([first.ljust(widths[0]),
                       *map(str.rjust, others, widths[1:])]).rstrip()
            for first, *others in rows]
