"""What is on the screen, as a file: the rows as CSV or JSON, the screen as a picture."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from ibkit.display import csv_field
from ibkit.sources.site import Origin
from ibkit.tui.view import level as levels
from ibkit.tui.view.table import Table
from ibkit.tui.view.title import Shown

#: How many files of one second may have the same page.
MOST_OF_A_NAME = 100
#: What rich puts into a picture to fetch a font from elsewhere.
_FONT_FACES = re.compile(r"\s*@font-face\s*\{[^}]*\}")


def csv_text(table: Table, shown: Sequence[int]) -> str:
    """The rows ``shown`` with all columns, the level in words first. An unknown value is an empty field, no text is a
    formula, and the titles are escaped as the cells are: those of a matrix are hosts' names.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["level", *(csv_field(column.title) for column in table.columns)])
    for index in shown:
        row, texts = table.rows[index], table.cells()[index]
        writer.writerow([levels.word(row.level), *map(csv_field, row.values, texts)])
    return buffer.getvalue()


def json_text(page: str, origin: Origin, shown: Shown, rows: Sequence[int]) -> str:
    """The document ``ibkit.screen/1``: the same rows with their values as they are, and what chose and ordered them.

    It holds no clock: of a capture it is the same each time. Names of columns may come twice, so that a row is a list.
    """
    table = shown.table
    assert table is not None
    order = shown.order
    document = {
        "schema": "ibkit.screen/1",
        "page": page,
        "of": {"kind": origin.kind, "label": origin.label, "time": origin.time},
        "filter": shown.filter_text,
        "faults_only": shown.faults_only,
        "sorted_by": None if order.column is None else table.columns[order.column].title,
        "descending": order.descending,
        "total": len(table.rows),
        "columns": [column.title for column in table.columns],
        "rows": [
            {"level": levels.word(table.rows[i].level), "values": [_value(value) for value in table.rows[i].values]}
            for i in rows
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _value(value: Any) -> Any:
    """A number, a text or null; a GUID or a P_Key, which are numbers of a kind, in their own spelling."""
    return value if value is None or type(value) in (bool, int, float, str) else str(value)


def picture(svg: str) -> str:
    """The picture that textual makes of the screen, without the fonts that a viewer would fetch from elsewhere."""
    return _FONT_FACES.sub("", svg)


def write_new(name: str, ending: str, text: str, folder: str = ".", now: Callable[[], float] = time.time) -> str:
    """Write ``ibkit-NAME-TIME.ENDING`` in ``folder``; returns its path. Raises OSError.

    Nobody ever sees half of it, and nothing is written over: a second file of the same second gets a number.
    """
    stem = os.path.join(folder, f"ibkit-{name}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now()))}")
    part = f"{stem}.{os.getpid()}.part"
    try:
        with open(part, "x", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        for number in range(1, MOST_OF_A_NAME):
            path = f"{stem}-{number}.{ending}" if number > 1 else f"{stem}.{ending}"
            with contextlib.suppress(FileExistsError):
                _rename_new(part, path)
                return path
        raise FileExistsError(17, "there are too many of this second", path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def _rename_new(part: str, path: str) -> None:
    """rename(2) writes over what is there, link(2) does not; where there are no links an empty file goes first.

    Raises FileExistsError.
    """
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        with open(path, "x", encoding="utf-8"):
            pass
        os.replace(part, path)
