"""Lists of cables as CSV: UFM's NDT files, and the point-to-point lists that come with a SuperPOD or a rack plan.

A row of column names says which is which; their order and number is the author's. The known ones are
``StartDevice,StartPort,EndDevice,EndPort`` with State and Domain (Mellanox/ufm_sdk_3.0, ``UFM_NDT_Plugin``),
``A-Node Name,A-Port,Z-Node Name,Z-Port`` or ``A-Node,A-Port,...`` (NVIDIA Cable Validation Tool, P2P File),
``SRC_NAME,SRC_HCA_PORT,DST_NAME,DST_PORT`` (NVIDIA Mission Control, Standard P2P Column Header), and
``Rack,U,Name,HCA/Port,Rack,U,Name,Port``, where the second of two columns with one name is the other end's. What stands
before the names is a title; a table may begin again further down, as where sheets were joined.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.cable_plans import CableEnd, ExpectedLink, each_once
from ibkit.parsers.lines import Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: A spreadsheet separates with a semicolon where the comma is for decimals.
_SEPARATORS = (",", ";", "\t")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SIDES = {
    "start": 0, "a": 0, "src": 0, "source": 0, "from": 0,
    "end": 1, "z": 1, "b": 1, "dst": 1, "dest": 1, "destination": 1, "to": 1,
}  # fmt: skip
_DEVICE, _PORT, _GUID, _TYPE, _PLACE = range(5)
_ROLES = {
    "device": _DEVICE, "name": _DEVICE, "node": _DEVICE, "node name": _DEVICE, "host": _DEVICE, "hostname": _DEVICE,
    "device name": _DEVICE, "system": _DEVICE, "": _DEVICE,
    "port": _PORT, "hca port": _PORT, "port name": _PORT, "interface": _PORT, "port num": _PORT, "port number": _PORT,
    "guid": _GUID, "node guid": _GUID,
    "type": _TYPE, "node type": _TYPE, "model": _TYPE,
    "rack": _PLACE, "device location": _PLACE, "location": _PLACE, "u": _PLACE, "ru": _PLACE,
}  # fmt: skip
_OF_THE_CABLE = {
    "speed": "speed", "link speed": "speed", "cable length": "length", "length": "length", "state": "state",
    "domain": "domain",
}  # fmt: skip
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}\Z")


class _Columns(NamedTuple):
    """Where things are: for each side the columns of each role, and those of the cable by name."""

    separator: str
    sides: tuple[dict[int, list[int]], dict[int, list[int]]]
    cable: dict[str, int]


def parse(text: str, *, source: str = "") -> Parsed[tuple[ExpectedLink, ...]]:
    """Read all cables, each once. ``complete`` is False where a row cannot be read, else None.

    Raises NotThisFormat where no line names the columns of both ends.
    """
    lines, long_lines = lines_of(text.removeprefix("\ufeff"), source)
    reader = _Reader(Problems(source, long_lines))
    links = tuple(each_once(reader.read(lines), reader.problems))
    if reader.columns is None:
        raise NotThisFormat(
            f"{source or 'input'}: not a list of cables: no line of names like StartDevice,StartPort,EndDevice,EndPort"
        )
    return Parsed(links, reader.problems.all(), False if reader.lost or long_lines else None)


class _Reader:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.columns: _Columns | None = None
        self.lost = False

    def read(self, lines: list[str]) -> Iterator[ExpectedLink]:
        """All cables, as they are listed."""
        for number, line in enumerate(lines, 1):
            if columns := _columns_of(line):
                self.columns = columns
            elif not line.strip(" ,;\t"):
                continue
            elif self.columns is None:
                self.problems.noise.add(number, line)
            elif link := self._link(self.columns, number, line):
                yield link

    def _link(self, columns: _Columns, number: int, line: str) -> ExpectedLink | None:
        cells = _cells(line, columns.separator)
        if sum(map(bool, cells)) == 1:
            self.problems.noise.add(number, line)  # a title
            return None
        a, b = (_end(cells, side) for side in columns.sides)
        told = {name: _cell(cells, [column]) or None for name, column in columns.cable.items()}
        if a is None and b is not None:
            a, b = b, a
        if a is None or not a.port or (b is not None and not b.port):
            self.lost = True
            self.problems.add("bad-line", f"no device and port: {line[:80]!r}", number)
            return None
        return ExpectedLink(a, b, number, **told)


def _columns_of(line: str) -> _Columns | None:
    """The columns that a line names; None where it does not name a device and a port for both ends."""
    for separator in _SEPARATORS:
        if line.count(separator) < 3:
            continue
        sides: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
        cable: dict[str, int] = {}
        unsided: list[tuple[int, int]] = []
        for column, cell in enumerate(_cells(line, separator)):
            words = [word.lower() for word in _WORD.findall(cell.replace("#Fields:", ""))]
            name = " ".join(words)
            if name in _OF_THE_CABLE:
                cable.setdefault(_OF_THE_CABLE[name], column)
                continue
            side, role = _meaning(words)
            if role is not None and side is not None:
                sides[side].setdefault(role, []).append(column)
            elif role is not None and words:
                unsided.append((role, column))
        if not sides[0] and not sides[1]:
            _share(unsided, sides)
        if all(_PORT in side and (_DEVICE in side or _GUID in side) for side in sides):
            return _Columns(separator, sides, cable)
    return None


def _meaning(words: Sequence[str]) -> tuple[int | None, int | None]:
    """Side and role that a column's name tells, None each where it does not."""
    if words and words[0] in _SIDES and (role := _ROLES.get(" ".join(words[1:]))) is not None:
        return _SIDES[words[0]], role
    return None, _ROLES.get(" ".join(words))


def _share(columns: Sequence[tuple[int, int]], sides: tuple[dict[int, list[int]], dict[int, list[int]]]) -> None:
    """Columns without a side: what follows the first port is the other end's."""
    side = 0
    for role, column in columns:
        sides[side].setdefault(role, []).append(column)
        if role == _PORT:
            side = 1


def _end(cells: Sequence[str], roles: dict[int, list[int]]) -> CableEnd | None:
    """One end of a row; None where it names no device."""
    # Of two columns called Name the one next to the port has the device's.
    name, guid = _cell(cells, roles.get(_DEVICE, [])[::-1]), _cell(cells, roles.get(_GUID, ()))
    if not name and not guid:
        return None
    number = next((int(text, 16) for text in (guid, name) if _HEXADECIMAL.match(text)), None)
    place = [text for column in roles.get(_PLACE, ()) if (text := _cell(cells, [column]))]
    return CableEnd(
        name or guid, _cell(cells, roles[_PORT]), number, _cell(cells, roles.get(_TYPE, ())) or None,
        " ".join(place) or None,
    )  # fmt: skip


def _cell(cells: Sequence[str], columns: Sequence[int]) -> str:
    """What is in the first of ``columns`` that is not empty."""
    return next((cells[column] for column in columns if column < len(cells) and cells[column]), "")


def _cells(line: str, separator: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []
