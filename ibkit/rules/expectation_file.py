"""Expectations as a TOML file that people read and edit. Reading names the line of what it does not take.

``names`` are sets of nodes in short form (``c[001-108]``), links are ``GUID/PORT GUID/PORT`` and a text for people.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from ibkit.display import clean
from ibkit.errors import IbkitError
from ibkit.model.expectations import (
    Expectations,
    ExpectedLink,
    ExpectedPartition,
    NodeGroup,
    PortGroup,
    Waiver,
)
from ibkit.model.fabric import End
from ibkit.model.ids import Guid
from ibkit.model.node_set import BadNodeSet, expand, fold
from ibkit.rules.catalogue import ALL

FORMAT = "ibkit-expect/1"
#: A fabric of 40,000 HCAs has 160,000 links of 120 characters (bytes).
MAX_BYTES = 64 << 20
#: Where a long set of names is broken, and how much of a line a key is looked for in (characters).
_WIDTH, _LINE_CHARS = 110, 4000

_LINK = re.compile(r"(0x[0-9a-fA-F]{1,16})/(\d{1,3}) (0x[0-9a-fA-F]{1,16})/(\d{1,3})(?: (.*))?\Z")
_PKEY = re.compile(r"0x[0-9a-fA-F]{1,4}\Z")


# Writing


def to_toml(expectations: Expectations, origin: str) -> str:
    """The file. ``origin`` says of whom it was taken."""
    return "\n".join(_lines(expectations, origin)) + "\n"


def _lines(expectations: Expectations, origin: str) -> Iterator[str]:
    yield f"# What is expected of a fabric: taken from {clean(origin)} by `ibkit expect init`."
    yield "# What is wrong there today is written down as right: read it, and mend what is not meant so."
    yield "# `ibkit check --expect FILE` reports what is missing, extra, moved or slower; docs/check.md has the keys."
    yield ""
    yield f"format = {_quoted(FORMAT)}"
    if expectations.standbys is not None:
        yield f"standby_managers = {expectations.standbys}"
    for kind, groups in (("hosts", expectations.hosts), ("switches", expectations.switches)):
        for group in groups or ():
            yield ""
            yield f"[[{kind}]]"
            yield f"names = {_names(group.names)}"
            yield f"ports = [{', '.join(map(_port_group, group.ports))}]"
    if expectations.firmware is not None:
        yield ""
        yield "[firmware]  # by board id (PSID)"
        for board, version in expectations.firmware.items():
            yield f"{_quoted(board)} = {_quoted(version)}"
    for partition in expectations.partitions or ():
        yield ""
        yield "[[partitions]]"
        yield f"pkey = {_quoted(f'{partition.pkey:#06x}')}"
        yield f"full = {_names(partition.full)}"
        yield f"limited = {_names(partition.limited)}"
    if expectations.links is not None:
        yield ""
        yield "[cabling]  # both ends by node GUID and port, then what is there for people"
        yield "links = ["
        for link in expectations.links:
            yield f"  {_quoted(f'{link.a.guid}/{link.a.port} {link.b.guid}/{link.b.port} {clean(link.text, 300)}')},"
        yield "]"
    yield ""
    yield "# Limits of rules, by number or name; `ibkit check --explain RULE` has their names:"
    yield "# [thresholds.R20]"
    yield "# total = 50"
    yield ""
    yield "# Findings that are known. where: host, GUID or any text of the place, with * and ?:"
    yield "# [[waivers]]"
    yield '# rule = "R06"'
    yield '# where = "c004*"'
    yield "# until = 2027-01-31"
    yield '# why = "cable is ordered"'


def _port_group(group: PortGroup) -> str:
    values = [f"count = {group.number}"]
    values += [
        f"{key} = {_quoted(value)}"
        for key, value in (("model", group.model), ("width", group.width), ("speed", group.speed))
        if value is not None
    ]
    return f"{{ {', '.join(values)} }}"


def _names(names: Sequence[str]) -> str:
    """A set of names; a long one goes on in the next line, behind a backslash, after a comma."""
    text = _quoted(fold(names))
    if len(text) <= _WIDTH:
        return text
    lines = [""]
    for piece in text[1:-1].split(","):
        if len(lines[-1]) + len(piece) >= _WIDTH:
            lines.append("")
        lines[-1] += f"{piece},"
    return '"""\\\n  ' + "\\\n  ".join(lines).removesuffix(",") + '"""'


def _quoted(text: str) -> str:
    """A basic string. Nothing in it needs more than these two escapes: controls are made visible before."""
    return '"' + clean(text, MAX_BYTES).replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_expectations(path: str, text: str) -> None:
    """Write the file so that nobody ever sees half of it; one that is there keeps its mode. Raises IbkitError."""
    place = os.path.realpath(path)  # a link stays one
    part = f"{place}.{os.getpid()}.part"
    try:
        with open(part, "x", encoding="utf-8", newline="") as file:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), os.stat(place).st_mode & 0o7777)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise IbkitError(f"{path}: {error.strerror}; name a file in a folder that you may write to") from error


# Reading


def read_expectations(path: str) -> Expectations:
    """Read a file. Raises IbkitError with file, line and mend."""
    return from_toml(read_text(path), path)


def read_text(path: str) -> str:
    """The text of a file, with the ends of its lines as they are. Raises IbkitError with file, line and mend."""
    from ibkit.sources.raw import open_plain

    with open_plain(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise IbkitError(f"{path}: larger than {MAX_BYTES >> 20} MiB; write it with `ibkit expect init`")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise IbkitError(f"{path}:{line}: not UTF-8; save the file as UTF-8") from error


def from_toml(text: str, path: str) -> Expectations:
    """The expectations in a file's text. Raises IbkitError with file, line and mend."""
    import tomllib

    reader = _Reader(text, path)
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(found[1]) if found else None
        if line is not None and (bad := _no_day(reader.line(line))):
            reader.fail_at(line, f"{bad} is no day of the calendar", "write one as 2027-01-31")
        what = str(error).split(" (at ")[0]
        reader.fail_at(line, f"not TOML: {what}", "mend that line")
    except RecursionError:
        reader.fail_at(None, "not TOML that anybody wrote: nested too deep", "write it with `ibkit expect init`")
    return reader.expectations(top)


def _no_day(line: str) -> str | None:
    """A date in a line that there is not; TOML's reader says of one that the line should have ended before."""
    from datetime import date

    for found in re.finditer(r"(?<![\d\"'-])\d{4}-\d{2}-\d{2}(?![\d\"'-])", line):
        try:
            date.fromisoformat(found[0])
        except ValueError:
            return found[0]
    return None


class _Reader:
    """Takes the values out, and knows in which line they stand."""

    def __init__(self, text: str, path: str) -> None:
        self._lines = text.splitlines()
        self._path = path

    def line(self, number: int) -> str:
        """A line by its number."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def expectations(self, top: dict[str, Any]) -> Expectations:
        known = (
            "format", "standby_managers", "hosts", "switches", "firmware", "partitions", "cabling", "thresholds",
            "waivers",
        )  # fmt: skip
        self._only(top, known, "")
        if top.get("format") != FORMAT:
            self.fail("format", f"the format is {top.get('format')!r}", f'this ibkit reads format = "{FORMAT}"')
        standbys = top.get("standby_managers")
        if standbys is not None and (type(standbys) is not int or not 0 <= standbys <= 1000):
            self.fail("standby_managers", f"{standbys!r} is no number of managers", "write a whole number")
        return Expectations(
            hosts=self._groups(top, "hosts"),
            switches=self._groups(top, "switches"),
            links=self._links(top),
            partitions=self._partitions(top),
            firmware=self._texts(top["firmware"], "firmware") if "firmware" in top else None,
            standbys=standbys,
            limits=self._limits(top),
            waivers=tuple(self._waivers(top)),
            source=self._path,
        )

    # The parts

    def _groups(self, top: dict[str, Any], kind: str) -> tuple[NodeGroup, ...] | None:
        if kind not in top:
            return None
        groups = []
        seen: dict[str, int] = {}
        for number, group in enumerate(self._tables(top, kind)):
            line = self._header(kind, number)
            self._only(group, ("names", "ports"), f"[[{kind}]]", line)
            names = self._names(group, "names", line)
            for name in names:
                if seen.setdefault(name, number) != number:
                    self.fail_at(line, f"{name} is in two groups of {kind}", "leave it in one of them")
            ports = tuple(self._port_group(one, line) for one in self._list(group.get("ports", []), "ports", line))
            groups.append(NodeGroup(names, ports))
        return tuple(groups)

    def _port_group(self, value: Any, line: int | None) -> PortGroup:
        if not isinstance(value, dict):
            self.fail("ports", f"{_short(value)} is no table", 'write { count = 1, width = "4x", speed = "HDR" }', line)
        self._only(value, ("count", "model", "width", "speed"), "ports", line)
        count = value.get("count")
        if type(count) is not int or not 0 < count < 10_000:
            self.fail("count", f"count is {_short(count)}", "write how many links there are, a whole number", line)
        texts = self._texts({key: text for key, text in value.items() if key != "count"}, "ports", line)
        return PortGroup(count, texts.get("model"), texts.get("width"), texts.get("speed"))

    def _links(self, top: dict[str, Any]) -> tuple[ExpectedLink, ...] | None:
        if "cabling" not in top:
            return None
        cabling = top["cabling"]
        if not isinstance(cabling, dict):
            self.fail("cabling", "cabling is no table", "write [cabling] and links = [...] below it")
        self._only(cabling, ("links",), "[cabling]")
        links = []
        for text in self._list(cabling.get("links", []), "links", None):
            found = _LINK.match(text) if isinstance(text, str) else None
            if not found or not (int(found[2]) <= 254 and int(found[4]) <= 254):
                self.fail_text(str(text), f"{_short(text)} is no link", 'write "GUID/PORT GUID/PORT text"')
            a, b = End(Guid.parse(found[1]), int(found[2])), End(Guid.parse(found[3]), int(found[4]))
            links.append(ExpectedLink(a, b, found[5] or ""))
        return tuple(links)

    def _partitions(self, top: dict[str, Any]) -> tuple[ExpectedPartition, ...] | None:
        if "partitions" not in top:
            return None
        found = []
        for number, table in enumerate(self._tables(top, "partitions")):
            line = self._header("partitions", number)
            self._only(table, ("pkey", "full", "limited"), "[[partitions]]", line)
            pkey = table.get("pkey")
            if not isinstance(pkey, str) or not _PKEY.match(pkey):
                self.fail("pkey", f"the P_Key is {_short(pkey)}", 'write pkey = "0x8001"', line)
            found.append(
                ExpectedPartition(
                    int(pkey, 16) & 0x7FFF, self._names(table, "full", line), self._names(table, "limited", line)
                )
            )
        return tuple(found)

    def _limits(self, top: dict[str, Any]) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        thresholds = top.get("thresholds", {})
        if not isinstance(thresholds, dict):
            self.fail("thresholds", "thresholds is no table", "write [thresholds.R20] and its limits below it")
        for rule, values in thresholds.items():
            names = _limits_of(rule)
            if names is None:
                self.fail(rule, f"there is no rule {rule}", "`ibkit check --explain all` lists them")
            if not isinstance(values, dict):
                self.fail(
                    rule, f"the limits of {rule} are no table", f"write [thresholds.{rule}] and its limits below it"
                )
            line = self._line_of(rule)
            self._only(values, names, f"[thresholds.{rule}]", line)
            for name, value in values.items():
                if type(value) not in (int, float) or not 0 <= value < 1e18:
                    self.fail(name, f"{name} is {_short(value)}", "write a number", line)
            found[rule] = {name: float(value) for name, value in values.items()}
        return found

    def _waivers(self, top: dict[str, Any]) -> Iterator[Waiver]:
        for number, table in enumerate(self._tables(top, "waivers")):
            line = self._header("waivers", number)
            self._only(table, ("rule", "where", "until", "why"), "[[waivers]]", line)
            until = table.get("until")
            texts = self._texts({key: value for key, value in table.items() if key != "until"}, "waivers", line)
            for key in ("rule", "where", "why"):
                if not texts.get(key):
                    self.fail_at(line, f"a waiver without {key}", f'add {key} = "..."')
            if _limits_of(texts["rule"]) is None:
                self.fail("rule", f"there is no rule {texts['rule']}", "`ibkit check --explain all` lists them", line)
            if until is not None:
                until = _date(until)
                if until is None:
                    self.fail("until", f"until is {_short(table['until'])}", "write a date: until = 2027-01-31", line)
            yield Waiver(texts["rule"], texts["where"], texts["why"], until, line)

    # Values

    def _tables(self, top: dict[str, Any], key: str) -> list[dict[str, Any]]:
        tables = top.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self.fail(key, f"{key} is no list of tables", f"write [[{key}]] above each of them")
        return tables

    def _list(self, value: Any, key: str, line: int | None) -> list[Any]:
        if not isinstance(value, list):
            self.fail(key, f"{key} is {_short(value)}", f"write {key} = [ ... ]", line)
        return value

    def _names(self, table: dict[str, Any], key: str, line: int | None) -> tuple[str, ...]:
        text = table.get(key, "")
        if not isinstance(text, str):
            self.fail(key, f"{key} is {_short(text)}", f'write {key} = "n[01-16]"', line)
        if not text.strip():
            return ()
        try:
            return expand(text)
        except BadNodeSet as error:
            self.fail(key, str(error), 'write sets of names as "n[01-16],login1"', line)

    def _texts(self, table: Any, key: str, line: int | None = None) -> dict[str, str]:
        if not isinstance(table, dict):
            self.fail(key, f"{key} is no table", f"write [{key}] and its lines below it", line)
        for name, value in table.items():
            if not isinstance(value, str):
                self.fail(name, f"{name} is {_short(value)}, not a text", f'write {name} = "..."', line)
        return dict(table)

    def _only(self, table: Mapping[str, Any], known: Sequence[str], where: str, line: int | None = None) -> None:
        for key in table:
            if key not in known:
                there = f" in {where}" if where else ""
                allowed = f"the keys{there} are {', '.join(known)}" if known else f"there are no keys{there}"
                self.fail(key, f"unknown key {clean(key, 60)}{there}", allowed, line)

    # Telling

    def _line_of(self, key: str, start: int | None = None) -> int | None:
        """Where a key stands, after line ``start``: as a header, or before an equals sign."""
        pattern = re.compile(
            rf"""\s*\[+\s*(?:[\w"'.-]+\.)?["']?{re.escape(key)}["']?\s*(?:\]|\.)|(?:^|[\s{{,])["']?{re.escape(key)}["']?\s*[=.]"""
        )
        for number, text in enumerate(self._lines[(start or 1) - 1 :], start or 1):
            if pattern.search(text[:_LINE_CHARS]):
                return number
        return None

    def _header(self, kind: str, number: int) -> int | None:
        """The line of the n-th [[kind]]."""
        pattern = re.compile(rf"\s*\[\[\s*{kind}\s*\]\]")
        lines = [line for line, text in enumerate(self._lines, 1) if pattern.match(text)]
        return lines[number] if number < len(lines) else None

    def fail(self, key: str, what: str, mend: str, start: int | None = None) -> NoReturn:
        """Raise, naming the line where the key stands."""
        self.fail_at(self._line_of(key, start) or start, what, mend)

    def fail_text(self, text: str, what: str, mend: str) -> NoReturn:
        """Raise, naming the first line that holds the text."""
        line = next((number for number, one in enumerate(self._lines, 1) if text and text in one), None)
        self.fail_at(line, what, mend)

    def fail_at(self, line: int | None, what: str, mend: str) -> NoReturn:
        """Raise."""
        where = f"{self._path}:{line}" if line else self._path
        raise IbkitError(f"{where}: {what}; {mend}")


def _limits_of(word: str) -> list[str] | None:
    """The names of the limits of a rule, or of all rules of a number; None where there is no such rule."""
    rules = [rule for rule in ALL if word in (rule.number, rule.name)]
    return [limit.name for rule in rules for limit in rule.limits] if rules else None


def _date(value: Any) -> str | None:
    """The ISO text of a date, or of a text that is one."""
    import datetime

    if isinstance(value, datetime.datetime):
        value = value.date()
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        return datetime.date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        return None


def _short(value: Any) -> str:
    text = clean(repr(value), 80)
    return text if not isinstance(value, (dict, list)) else f"a {type(value).__name__} of {len(value)}"
