"""``ibdiagnet2.db_csv``: tables between ``START_<name>`` and ``END_<name>``, each with a row of column names.

ibdiagnet is closed source: which sections and columns there are differs by version and options, so nothing is known
here but the shape. Names of columns come in several spellings (NodeGUID, NodeGuid; PortNum, PortNumber), hence
``Section.column``. ``N/A`` is None. Texts are quoted, quotes in them are not escaped: a node's name, the first column,
and a finding's summary, the last, are read from the outside in. The file's shape is that of OpenSM's
``opensm-smdb.dump`` too.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: ``ERRORS_PORTS_COUNTERS_DIFFERENCE_CHECK_(DURING_RUN)`` is a name, too.
_START = re.compile(r"START_([A-Z][A-Z0-9_()]{1,100})\s*\Z")
_END = re.compile(r"END_([A-Z][A-Z0-9_()]{1,100})\s*\Z")


class Row(NamedTuple):
    """A row: its values as printed, None for N/A, one for each column."""

    line: int
    values: tuple[str | None, ...]


class Section(NamedTuple):
    """A table. ``complete`` is whether its END line was there and no row of it was lost."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    complete: bool
    line: int

    def column(self, *names: str) -> int | None:
        """The index of the first of ``names`` that is there, however it is spelled; None where none is."""
        known = {column.lower(): index for index, column in reversed(list(enumerate(self.columns)))}
        return next((known[name.lower()] for name in names if name.lower() in known), None)


def parse(text: str, *, source: str = "", sections: Collection[str] | None = None) -> Parsed[tuple[Section, ...]]:
    """Read all sections, or those named in ``sections`` only: the file of a large fabric has some ten million values.

    ``complete`` is False where a section lacks its end or a row, else None: nothing marks the end of the file. Raises
    NotThisFormat where there is no section.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines), sections)
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE))
    reader.close()
    if not reader.started:
        raise NotThisFormat(f"{source or 'input'}: not ibdiagnet's db_csv: no line like START_NODES")
    complete = None if all(section.complete for section in reader.sections) and not long_lines else False
    return Parsed(tuple(reader.sections), reader.problems.all(), complete)


class _Reader:
    """The section that is being read, and the finished ones."""

    def __init__(self, problems: Problems, wanted: Collection[str] | None) -> None:
        self.problems = problems
        self.sections: list[Section] = []
        self.started = False
        self._wanted = wanted
        self._name: str | None = None
        self._skips = False
        self._columns: tuple[str, ...] = ()
        self._rows: list[Row] = []
        self._line = 0
        self._lost = False

    def feed(self, number: int, line: str) -> None:
        if line[:6] == "START_" or line[:4] == "END_" or self._name is None:
            self._edge(number, line)
        elif self._skips or not line.strip():
            return
        elif not self._columns:
            self._columns = tuple(name.strip().strip('"') for name in line.split(","))
        else:
            values = _values(line, len(self._columns))
            if values is None:
                self._lost = True
                text = f"{self._name}: not a row of {len(self._columns)} columns: {line[:120]!r}"
                self.problems.add("bad-line", text, number)
            else:
                self._rows.append(Row(number, values))

    def _edge(self, number: int, line: str) -> None:
        if start := _START.match(line):
            self.close()
            self._name, self._line, self.started = start[1], number, True
            self._skips = self._wanted is not None and start[1] not in self._wanted
        elif end := _END.match(line):
            if end[1] == self._name:
                self.close(ended=True)
            else:
                self.problems.add("bad-line", f"the end of {end[1]}, whose start is lost", number)
        elif line and not line.startswith("#"):
            self.problems.noise.add(number, line)

    def close(self, *, ended: bool = False) -> None:
        """Finish the section."""
        if self._name is not None and not self._skips:
            if not ended:
                self.problems.add("cut-section", f"{self._name} without its end", self._line)
            complete = ended and not self._lost
            self.sections.append(Section(self._name, self._columns, tuple(self._rows), complete, self._line))
        self._name, self._columns, self._rows, self._lost = None, (), [], False


def _values(line: str, count: int) -> tuple[str | None, ...] | None:
    if '"' not in line:
        values = line.split(",")
    elif line.startswith('"'):
        # From the right: whatever is in the first column stays there
        values = line.rsplit(",", count - 1)
        first = values[0]
        if len(first) < 2 or not first.endswith('"') or any('"' in value for value in values[1:]):
            values = _quoted(line)
        else:
            values[0] = first[1:-1]
    else:
        # From the left, where the last column alone is a text: the summary of a finding
        values = line.split(",", count - 1)
        last = values[-1].rstrip()
        if len(last) < 2 or last[0] != '"' or last[-1] != '"' or any('"' in value for value in values[:-1]):
            values = _quoted(line)
        else:
            values[-1] = last[1:-1]
    if len(values) != count:
        return None
    return tuple([None if value == "N/A" else value for value in map(str.strip, values)])


def _quoted(line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return []
