"""Read iproute2's ``rdma``: links, devices, tracked objects (QPs, CQs ...) and statistics, as text or as JSON.

Format: iproute2 ``rdma/{utils,link,dev,res-*,stat}.c`` (4.16 to 6.x). What a reader must know:

- One row per object. Of a link it names device and port (``rxe0/1``; ``/-`` where the object has no port), of other
  objects the device alone.
- A user's object has ``pid``, which may be the id of a thread, and the ``comm`` of it; a kernel's has only ``comm``, in
  brackets in the text form.
- Keys in the text form are single words with one value; only ``comm`` may hold blanks.
- ``rkey``, ``lkey`` and ``local_dma_lkey`` are hexadecimal, in JSON without ``0x``.
- The JSON writer escapes an apostrophe, which JSON does not know.
- Up to version 5.4, JSON rows of tracked objects stand in brackets instead of braces (``[["ifindex":0,...],[...]]``),
  and ``rdma -j link`` names the port in ``ifname``, too (``mlx5_0/1``).
- NVIDIA's own builds write a colon behind device and port.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.endings import is_cut
from ibkit.parsers.erased import Any
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.records import NamedTuple

#: ``COUNTER`` is a set of counters bound to queue pairs (``rdma statistic qp``), ``STATISTIC`` the counters of a port,
#: ``SUMMARY`` how many objects of each kind a device has (``rdma resource``).
LINK, DEVICE, STATISTIC, COUNTER, SUMMARY, QP, CM_ID, CQ, MR, PD, CTX, SRQ = (
    "link", "dev", "statistic", "counter", "summary", "qp", "cm_id", "cq", "mr", "pd", "ctx", "srq",
)  # fmt: skip
#: The key that only rows of this kind have; the first that is there tells.
_MARKS = (
    ("cntn", COUNTER), ("cm_id", SUMMARY), ("cm-idn", CM_ID), ("qp-type", CM_ID), ("ps", CM_ID), ("lqpn", QP),
    ("cqn", CQ), ("cqe", CQ), ("mrn", MR), ("mrlen", MR), ("srqn", SRQ), ("local_dma_lkey", PD),
    ("unsafe_global_rkey", PD), ("ctxn", CTX), ("pdn", PD), ("physical_state", LINK), ("node_guid", DEVICE),
    ("users", PD),
)  # fmt: skip

_ROW = re.compile(
    r"(?:(?:link|dev) ([^\s/:]{1,64})(?:/([0-9]{1,5}|-))?:?"
    r"|[0-9]{1,9}(?:/[0-9]{1,9})?: ([^\s/:]{1,64})(?:/([0-9]{1,5}))?:) +(\S.*)\Z"
)
#: What a row begins with, or is cut to.
_START = re.compile(r"(?:link|dev) |[0-9]{1,9}(?:/[0-9]{1,9})?:|(?:l|li|lin|link|d|de|dev)\Z")
_JSON = re.compile(r"^[ \t\ufeff]*(\[[ \t\r\n]{0,99}[{\]\[])", re.MULTILINE)
#: The keys that may stand behind ``comm``.
_AFTER_COMM = re.compile(r" (?:src-addr|dst-addr|drv_\w{1,40}) ")
#: Second lines, of ``-d`` and of bound counters.
_DETAILS = ("caps: <", "LQPN: <")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SEPARATORS = " \t\r\n,[]"
_OLD_ROWS = re.compile(r"\[\s*\[\s*\"")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]]', re.DOTALL)
_BRACES = str.maketrans("[]", "{}")


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
    """Read all rows, of whatever kind; those of JSON come first. ``complete`` is False where the text is cut or
    damaged, True where it is whole JSON and no rows in the other form.

    An empty JSON list is no row, and whole. Raises NotThisFormat where there is neither.
    """
    objects, whole, text = _without_json(text)
    lines, problems = lines_of(text, source)
    is_text = whole is None
    told = Problems(source, problems if is_text else [])
    rows = [row for found in objects if (row := _json_row(found)) is not None]
    if len(rows) < len(objects):
        told.add("bad-line", f"{len(objects) - len(rows)} objects name no device", None)
    if whole is False:
        told.add("truncated", "the JSON ends before its end, or is damaged", None)
    for number, line in enumerate(lines, 1):
        line = line.strip(BEFORE)
        found = _ROW.match(line)
        row = _row(found) if found else None
        if row is not None and number < len(lines):
            rows.append(row)
            whole = whole and None
        elif row is not None or (is_text and number == len(lines) and is_cut(line) and _START.match(line)):
            whole = False  # the tool ends each line
            told.add("truncated", "the text ends inside this line, so it is not taken", number)
        elif is_text and not line.startswith(_DETAILS):
            told.noise.add(number, line)
    if not rows and is_text and whole is None:
        raise NotThisFormat(f"{source or 'input'}: no row like 'link mlx5_0/1 state ACTIVE', so not output of rdma")
    return Parsed(tuple(rows), told.all(), whole)


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


def _without_json(text: str) -> tuple[list[dict[str, Any]], bool | None, str]:
    """The objects of all JSON lists in the text, whether these are whole (None: there is none), and the text that is
    left, with as many lines. A damaged list is read up to the damage; what follows it is lost.
    """
    decode = json.JSONDecoder(strict=False).raw_decode
    objects: list[dict[str, Any]] = []
    whole = None
    left = []
    place = 0
    while found := _JSON.search(text, place):
        start = found.start(1)
        left.append(text[place:start])
        for repair in (False, True):
            if repair:
                text = text[:start] + _with_braces(_ESCAPE.sub(_known_escape, text[start:]))
            try:
                value, place = decode(text, start)
                break
            except (ValueError, RecursionError):
                pass
        else:
            return [*objects, *_scan(text[start:])], False, "".join(left)
        whole = True
        objects += (entry for entry in value if isinstance(entry, dict))
        left.append("\n" * text.count("\n", start, place))
    return objects, whole, "".join((*left, text[place:]))


def _with_braces(text: str) -> str:
    """The rows of a list that old versions wrote in brackets as objects."""
    if not _OLD_ROWS.match(text):
        return text
    depth, ended = 0, False

    def braces(found: re.Match[str]) -> str:
        nonlocal depth, ended
        mark = found[0]
        if ended or mark[0] == '"':
            return mark
        depth += mark == "["
        within = depth > 1
        depth -= mark == "]"
        ended = depth == 0
        return mark.translate(_BRACES) if within else mark

    return _TOKEN.sub(braces, text)


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
    return RdmaRow(_kind(values), device.partition("/")[0] or device, number, _tidy(values))


def _kind(values: dict[str, int | str | None]) -> str:
    return next((kind for key, kind in _MARKS if key in values), STATISTIC)


def _tidy(values: dict[str, int | str | None]) -> dict[str, int | str | None]:
    """The text form has the names of kernel owners in brackets, and JSON's booleans as on and off."""
    comm = values.get("comm")
    if isinstance(comm, str) and "pid" not in values and comm[:1] == "[" and comm[-1:] == "]":
        values["comm"] = comm[1:-1]
    return {key: ("on" if value else "off") if isinstance(value, bool) else value for key, value in values.items()}
