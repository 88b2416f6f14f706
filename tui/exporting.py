"""What is on the screen, as a file."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Sequence

from ibkit.tui.view import level as levels
from ibkit.tui.view.table import Table


def write_csv(name: str, table: Table, shown: Sequence[int], folder: str = ".") -> str:
    """Write the rows ``shown`` with all columns to ``ibkit-NAME-TIME.csv`` in ``folder``; returns its path.

    The first column is the level in words. An unknown value is an empty field. Raises OSError, also where the file
    exists: nothing is written over.
    """
    path = os.path.join(folder, f"ibkit-{name}-{time.strftime('%Y%m%d-%H%M%S')}.csv")
    with open(path, "x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["level", *(column.title for column in table.columns)])
        for index in shown:
            row, texts = table.rows[index], table.cells()[index]
            fields = ["" if value is None else text for value, text in zip(row.values, texts, strict=True)]
            writer.writerow([levels.word(row.level), *fields])
    return path
