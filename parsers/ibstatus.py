"""Read ``ibstatus``: a block of files of /sys for each port.

Format: infiniband-diags' ``scripts/ibstatus``. Values are the kernel's (``4: ACTIVE``); LIDs are hexadecimal. Where the
host has no device, the script names one ``*`` or says ``Fatal error``.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.endings import is_fragment
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.records import NamedTuple

_HEADING = re.compile(r"Infiniband device '([^'\n]{1,80})' port ([0-9]{1,3}|\*) status:")
_KEYS = ("default gid", "base lid", "sm lid", "state", "phys state", "rate", "link_layer")
_VALUE = re.compile(rf"({'|'.join(_KEYS)}):[ \t]*(.*)\Z")
_STARTS = ("Infiniband device '", *_KEYS)
#: The last line, if it says one of these, has its end.
WHOLE_LINK_LAYERS = ("InfiniBand", "Ethernet")
_FATAL = re.compile(r"Fatal error: {1,2}(.*)\Z")
_NO_DEVICE = re.compile(r"No devices|device '\*': sys files not found")


class IbstatusPort(NamedTuple):
    """One port as printed; ``state``, ``physical_state`` and ``rate`` are the kernel's texts."""

    device: str
    port: int
    default_gid: str | None = None
    base_lid: int | None = None
    sm_lid: int | None = None
    state: str | None = None
    physical_state: str | None = None
    rate: str | None = None
    link_layer: str | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[IbstatusPort, ...]]:
    """Read all ports. A host without a device gives none and the problem ``no-rdma-device``.

    Raises NotThisFormat where no line is the script's.
    """
    lines, first = lines_of(text, source)
    problems = Problems(source, first)
    ports: list[dict[str, object]] = []
    at: list[int] = []  # where each port's block begins
    met: list[set[str]] = []  # the keys of each block
    known = None
    seen = False
    for number, line in enumerate(lines, 1):
        line = line.strip(BEFORE)
        if found := _HEADING.match(line):
            seen = True
            known = None
            if "*" in (found[1], found[2]):
                problems.add("no-rdma-device", "no RDMA device: ibstatus found none, and names it *", number)
            else:
                known = {"device": found[1], "port": int(found[2])}
                ports.append(known)
                at.append(number)
                met.append(set())
        elif found := _FATAL.match(line):
            seen = True
            kind = "no-rdma-device" if _NO_DEVICE.match(found[1]) else "tool-error"
            problems.add(kind, f"ibstatus: {found[1]}", number)
        elif known is not None and (found := _VALUE.match(line)):
            if number == len(lines) and found[2].strip() not in WHOLE_LINK_LAYERS:
                problems.add("truncated", "the text ends inside this line, so it is not taken", number)
            else:
                met[-1].add(found[1])
                _take(known, found[1], found[2].strip(), number, problems)
        elif seen and line and number == len(lines) and is_fragment(line, _STARTS):
            problems.add("truncated", f"the text ends inside this line: {line[:120]!r}", number)
        elif seen and line and known is not None:
            problems.add("bad-line", f"not a line of ibstatus: {line[:120]!r}", number)
    if not seen:
        raise NotThisFormat(f"{source or 'input'}: no line like \"Infiniband device 'mlx5_0' port 1 status:\"")
    layered = any("link_layer" in keys for keys in met)  # kernels before 2.6.37 do not tell it
    for known, line_number, keys in zip(ports, at, met, strict=True):
        lost = [key for key in _KEYS if key not in keys and (layered or key != "link_layer")]
        if lost:
            problems.add("truncated", f"{known['device']} port {known['port']}: no {', '.join(lost)}", line_number)
    return Parsed(tuple(IbstatusPort(**known) for known in ports), problems.all())  # type: ignore[arg-type]


_FIELDS = {
    "default gid": "default_gid", "state": "state", "phys state": "physical_state", "rate": "rate",
    "link_layer": "link_layer",
}  # fmt: skip


def _take(known: dict[str, object], key: str, value: str, number: int, problems: Problems) -> None:
    if not value:  # cat could not read the file
        problems.add("bad-value", f"{key} is empty", number)
    elif key in _FIELDS:
        known[_FIELDS[key]] = value
    elif (lid := count_of(value)) is not None:
        known[key.replace(" ", "_")] = lid
    else:
        problems.add("bad-value", f"{key}: {value[:80]!r} is no LID", number)
