"""Outputs of ``mlxlink`` as sections of ``Key : value`` rows, from its text or its ``--json``.

Read off the program that prints it (mstflint 4.32, ``mlxlink/modules/printutil``): a section is a title over a ruler
as long as the title; values are coloured on a terminal. In JSON a list is an object with ``values``, and with a
``mask`` where the text has that list in brackets. What the tool complains of is a section ``Errors``, lines with
``-E-``, or in JSON the message of a ``status`` that is not 0. Neither form names the device: only the command in a
terminal's log does, and without ``-p`` it is about port 1.
"""

from __future__ import annotations

import re

from ibkit.parsers.erased import Any
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

PORT, PCIE = "Operational Info", "PCIe Operational (Enabled) Info"
SUPPORTED, TROUBLESHOOTING, TOOL = "Supported Info", "Troubleshooting Info", "Tool Information"
MODULE, COUNTERS = "Module Info", "Physical Counters and BER Info"
PCIE_COUNTERS = "Management PCIe Performance Counters Info"
#: Titles that are known without their ruler, too: a search for words leaves it out.
TITLES = frozenset({PORT, PCIE, SUPPORTED, TROUBLESHOOTING, TOOL, MODULE, COUNTERS, PCIE_COUNTERS})
_ERRORS = "Errors"
#: So many texts that begin like a document and are none end the search for more.
_MAX_BROKEN_DOCUMENTS = 1000

_COMMAND = re.compile(r".{0,200}?\b(?:mst|mlx)link\b(.{1,300})\Z")
_DEVICE = re.compile(r" (?:-d|--device)[ =](\S{1,64})")
_PORT = re.compile(r" (?:-p|--port)[ =]([0-9]{1,3})(?: |\Z)")
_ROW = re.compile(r"([A-Za-z][^:]{0,60}?) *: ?(.*)\Z")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}m")
_DOCUMENT = re.compile(r"^[ \t]{0,20}(?=\{)", re.MULTILINE)


class Output(NamedTuple):
    """What one run of the tool says of one port or PCIe link: rows by section, without those that say N/A. ``first`` is
    False for a further link of the same run.
    """

    line: int
    device: str | None
    port: int
    first: bool
    sections: dict[str, dict[str, str]]


class Outputs(NamedTuple):
    """All of a text; ``cut`` is True where it ends inside a row or a document."""

    outputs: tuple[Output, ...]
    problems: Problems
    cut: bool


def read(text: str, source: str, title: str) -> Outputs:
    """The outputs that begin with the section ``title``: PORT or PCIE."""
    lines, long_lines = lines_of(text, source)
    lines = [_COLOUR.sub("", line) for line in lines]
    problems = Problems(source, long_lines)
    form = _Json if any(line.lstrip()[:1] == "{" for line in lines) else _Text
    reader = form(problems, title)
    reader.read(lines)
    return Outputs(tuple(reader.outputs), problems, reader.cut or bool(long_lines))


class _Text:
    """The section that is being read, and all before it."""

    def __init__(self, problems: Problems, title: str) -> None:
        self.outputs: list[Output] = []
        self.cut = False
        self._problems = problems
        self._first_title = title
        self._asked: tuple[str | None, int] = (None, 1)
        self._first = True
        self._rows: dict[str, str] | None = None
        self._in_errors = False

    def read(self, lines: list[str]) -> None:
        """Each line, with the one below it in view: that may be a ruler."""
        stripped = [line.strip(BEFORE) for line in lines]
        for number, (line, below) in enumerate(zip(stripped, [*stripped[1:], ""], strict=True), 1):
            if line in TITLES or (len(line) > 2 and below == "-" * len(line) != line):
                self._title(number, line)
            elif not line.strip("-"):
                continue
            elif line.startswith("-E- ") or self._in_errors:
                self._problems.add("tool-message", line.removeprefix("-E- ")[:300], number)
            elif command := _COMMAND.match(line):
                self._asked, self._first, self._rows = _asked(command[1]), True, None
            elif self._rows is not None and (row := _ROW.match(line)):
                self._row(number, row, is_last=number == len(lines))
            else:
                self._problems.noise.add(number, line)

    def _title(self, number: int, title: str) -> None:
        self._in_errors = title == _ERRORS
        if title == self._first_title:
            self.outputs.append(Output(number, *self._asked, self._first, {}))
            self._first = False
            if title == PORT:
                self._asked, self._first = (None, 1), True
        self._rows = {}
        if self.outputs and not self._in_errors:
            self.outputs[-1].sections[title] = self._rows

    def _row(self, number: int, row: re.Match[str], *, is_last: bool) -> None:
        assert self._rows is not None
        if is_last:
            self.cut = True
            self._problems.add("truncated", "the text ends inside this line, so it is not taken", number)
        elif row[2].strip() not in ("", "N/A"):
            self._rows.setdefault(row[1], row[2].strip())


class _Json:
    """Documents, with the commands before them."""

    def __init__(self, problems: Problems, title: str) -> None:
        self.outputs: list[Output] = []
        self.cut = False
        self._problems = problems
        self._title = title

    def read(self, lines: list[str]) -> None:
        """One document after the other."""
        import json

        text = "\n".join(lines)
        decoder = json.JSONDecoder()
        place = line = broken = 0
        while (found := _DOCUMENT.search(text, place)) and broken < _MAX_BROKEN_DOCUMENTS:
            asked = _asked_last(text[place : found.end()])
            line += text.count("\n", place, found.end())
            try:
                document, end = decoder.raw_decode(text, found.end())
            except (ValueError, RecursionError):
                self.cut = True
                broken += 1
                self._problems.add("bad-json", "not a whole document of JSON", line + 1)
                place = found.end() + 1
                continue
            self._take(document, line + 1, asked)
            line += text.count("\n", found.end(), end)
            place = end

    def _take(self, document: Any, line: int, asked: tuple[str | None, int]) -> None:
        status = _member(document, "status")
        message = _member(status, "message")
        if _member(status, "code") not in (None, 0) and isinstance(message, str):
            self._problems.add("tool-message", message.strip()[:300], line)
        output = _member(_member(document, "result"), "output")
        sections = {}
        for title, rows in output.items() if isinstance(output, dict) else ():
            if isinstance(rows, dict):
                texts = {key: _text(value) for key, value in rows.items()}
                sections[title] = {key: text for key, text in texts.items() if text not in ("", "N/A")}
        if self._title in sections:
            self.outputs.append(Output(line, *asked, True, sections))


def _asked(words: str) -> tuple[str | None, int]:
    """Device and port in a command."""
    device, port = _DEVICE.search(words), _PORT.search(words)
    return device[1].rpartition("/")[2] if device else None, int(port[1]) if port else 1


def _asked_last(text: str) -> tuple[str | None, int]:
    commands = [found for line in text.split("\n") if (found := _COMMAND.match(line))]
    return _asked(commands[-1][1]) if commands else (None, 1)


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: Any) -> str:
    """A value as the text form prints it."""
    values = _member(value, "values")
    if isinstance(values, list):
        listed = ",".join(map(_text, values))
        mask = _member(value, "mask")
        return f"{mask} ({listed})" if isinstance(mask, str) else listed
    return value.strip() if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""
