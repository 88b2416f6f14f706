"""Read iproute2's ``rdma``: links, devices, tracked objects (QPs, CQs ...) and statistics, as text or as JSON.

Format: iproute2 ``rdma/{utils,link,dev,res-*,stat}.c`` (4.16 to 6.x). What a reader must know:

- One row per object. Of a link it names device and port (``rxe0/1``; ``/-`` where the object has no port), of other
  objects the device alone.
- A user's object has ``pid``, which may be the id of a thread, and the ``comm`` of it; a kernel's has only ``comm``, in
  brackets in the text form.
- Keys in the text form are single words with one value; only ``comm`` may hold blanks.
- ``rkey``, ``lkey`` and ``local_dma_lkey`` are hexadecimal, in JSON without ``0x``.
- The JSON writer escapes an apostrophe, which JSON does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.records import NamedTuple

LINK, DEVICE, STATISTIC, QP, CM_ID, CQ, MR, PD, CTX, SRQ = (
    "link", "dev", "statistic", "qp", "cm_id", "cq", "mr", "pd", "ctx", "srq",
)  # fmt: skip
#: The key that only rows of this kind have; the first that is there tells.
_MARKS = (
    ("cm-idn", CM_ID), ("qp-type", CM_ID), ("ps", CM_ID), ("lqpn", QP), ("cqn", CQ), ("cqe", CQ), ("mrn", MR),
    ("mrlen", MR), ("srqn", SRQ), ("local_dma_lkey", PD), ("unsafe_global_rkey", PD), ("ctxn", CTX), ("pdn", PD),
    ("physical_state", LINK), ("node_guid", DEVICE), ("users", PD),
)  # fmt: skip

_ROW = re.compile(
    r"(?:(?:link|dev) ([^\s/:]{1,64})(?:/([0-9]{1,5}|-))?"
    r"|[0-9]{1,9}(?:/[0-9]{1,9})?: ([^\s/:]{1,64})(?:/([0-9]{1,5}))?:) +(\S.*)\Z"
)
_JSON = re.compile(r"^[ \t\ufeff]*(\[[ \t\r\n]{0,99}[{\]\[])", re.MULTILINE)
#: The keys that may stand behind ``comm``.
_AFTER_COMM = re.compile(r" (?:src-addr|dst-addr|drv_\w{1,40}) ")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SEPARATORS = " \t\r\n,[]"


class RdmaRow(NamedTuple):
    """One row. ``kind`` is one of the constants above, ``port`` None where the row names none.

    ``values`` are the other keys as printed: whole numbers and texts; None is JSON's null.
    """

    kind: str
    device: str
    port: int | None
    values: dict[str, int | str | None]

    def number(self, key: str) -> int | None:
        """A value that is a whole number, else None."""
        value = self.values.get(key)
        if isinstance(value, int):
            return value if 0 <= value < 1 << 64 else None
        return count_of(value) if value is not None else None

    def text(self, key: str) -> str | None:
        """A value as text; None where it is absent or empty."""
        value = self.values.get(key)
        return None if value in (None, "") else str(value)


def parse(text: str, *, source: str = "") -> Parsed[tuple[RdmaRow, ...]]:
    """Read all rows, of whatever kind. ``complete`` is False where the text is cut or damaged, True for whole JSON.

    An empty JSON list is no row, and whole. Raises NotThisFormat where there is neither.
    """
    if found := _JSON.search(text):
        return _parse_json(text[found.start(1) :], source)
    lines, problems = lines_of(text, source)
    told = Problems(source, problems)
    rows = []
    cut = False
    for number, line in enumerate(lines, 1):
        found = _ROW.match(line.strip(BEFORE))
        row = _row(found) if found else None
        if row is None:
            told.noise.add(number, line)
        elif number == len(lines):  # the tool ends each line
            cut = True
            told.add("truncated", "the text ends inside this line, so it is not taken", number)
        else:
            rows.append(row)
    if not rows and not cut:
        raise NotThisFormat(f"{source or 'input'}: no row like 'link mlx5_0/1 state ACTIVE', so not output of rdma")
    return Parsed(tuple(rows), told.all(), False if cut else None)


def _row(found: re.Match[str]) -> RdmaRow | None:
    device = found[1] or found[3]
    port = found[2] or found[4]
    values: dict[str, int | str | None] = {}
    rest = found[5]
    head, comm, tail = rest.partition("comm ") if rest.startswith("comm ") else rest.partition(" comm ")
    if comm:
        after = _AFTER_COMM.search(tail)
        values["comm"] = tail[: after.start()] if after else tail.rstrip()
        head += tail[after.start() :] if after else ""
    words = head.split()
    if len(words) % 2:
        return None
    values.update(zip(words[::2], words[1::2], strict=True))
    # Where both forms are asked for one thing, they answer alike.
    for key in ("rkey", "lkey", "local_dma_lkey"):
        if isinstance(value := values.get(key), str):
            values[key] = value.removeprefix("0x")
    return RdmaRow(_kind(values), device, int(port) if port and port != "-" else None, _tidy(values))


def _parse_json(text: str, source: str) -> Parsed[tuple[RdmaRow, ...]]:
    told = Problems(source, [])
    objects, whole = _objects(text)
    rows = [row for found in objects if (row := _json_row(found)) is not None]
    if len(rows) < len(objects):
        told.add("bad-line", f"{len(objects) - len(rows)} objects name no device", None)
    if not whole:
        told.add("truncated", "the JSON ends before its end, or is damaged", None)
    return Parsed(tuple(rows), told.all(), whole)


def _objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """All objects up to the end or to the first damage, and whether that is the end. What follows is a prompt."""
    decode = json.JSONDecoder(strict=False).raw_decode
    repaired = _ESCAPE.sub(_known_escape, text)
    for attempt in (text, repaired):
        try:
            value, _ = decode(attempt)
            return [entry for entry in value if isinstance(entry, dict)], True
        except (ValueError, RecursionError):
            pass
    return list(_scan(repaired)), False


def _scan(text: str) -> Iterator[dict[str, Any]]:
    """The objects one by one."""
    decode = json.JSONDecoder(strict=False).raw_decode
    place = 0
    while True:
        while text[place : place + 1] and text[place] in _SEPARATORS:
            place += 1
        try:
            value, place = decode(text, place)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        yield value


def _known_escape(found: re.Match[str]) -> str:
    r"""``\'`` is an apostrophe; ``\xNN`` is what reading broken UTF-8 left."""
    escaped = found[1]
    if escaped in '"\\/bfnrtu':
        return found[0]
    return "'" if escaped == "'" else f"\\\\{escaped}"


def _json_row(found: dict[str, Any]) -> RdmaRow | None:
    device, port = found.get("ifname"), found.get("port")
    if not isinstance(device, str) or not device:
        return None
    values = {
        key: value
        for key, value in found.items()
        if key not in ("ifindex", "ifname", "port") and (value is None or isinstance(value, int | str))
    }
    number = port if isinstance(port, int) and not isinstance(port, bool) and 0 <= port < 1 << 16 else None
    return RdmaRow(_kind(values), device, number, _tidy(values))


def _kind(values: dict[str, int | str | None]) -> str:
    return next((kind for key, kind in _MARKS if key in values), STATISTIC)


def _tidy(values: dict[str, int | str | None]) -> dict[str, int | str | None]:
    """The text form has the names of kernel owners in brackets, and JSON's booleans as on and off."""
    comm = values.get("comm")
    if isinstance(comm, str) and "pid" not in values and comm[:1] == "[" and comm[-1:] == "]":
        values["comm"] = comm[1:-1]
    return {key: ("on" if value else "off") if isinstance(value, bool) else value for key, value in values.items()}
