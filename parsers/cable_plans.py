"""What plans of cabling tell, whoever wrote them: which port is to be connected with which.

A plan names devices and labels of ports, not GUIDs and numbers: who compares it with a fabric has to find the node
(names are compared without regard to case by UFM's plugin for it) and the port (``port_labels.normalised``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.parsers.lines import Problems
from ibkit.parsers.records import NamedTuple


class CableEnd(NamedTuple):
    """One end as the plan has it. ``guid`` is a plain integer where the device is named by its GUID; ``type`` is the
    model of its box, or what it is; ``location`` its rack and unit.
    """

    name: str
    port: str
    guid: int | None = None
    type: str | None = None
    location: str | None = None


class ExpectedLink(NamedTuple):
    """A cable. ``b`` is None where the plan names a port that has none. ``width`` is like 4x, ``speed`` like HDR where
    it is known, else what the plan says; ``domain`` is UFM's word for whether to look at it (In-Scope, Boundary).
    """

    a: CableEnd
    b: CableEnd | None
    line: int
    width: str | None = None
    speed: str | None = None
    length: str | None = None
    state: str | None = None
    domain: str | None = None


def each_once(links: Iterable[ExpectedLink], problems: Problems) -> Iterator[ExpectedLink]:
    """Each cable once, though a plan may list it from both ends. A port with two cables is told, and both are given."""
    peers: dict[tuple[str, str], tuple[tuple[str, str] | None, int]] = {}
    for link in links:
        a, b = _key(link.a), _key(link.b) if link.b else None
        if a in peers and peers[a][0] == b:
            continue
        for end, peer in ((a, b), (b, a)):
            if end is None:
                continue
            known, line = peers.setdefault(end, (peer, link.line))
            if known != peer:
                text = f"{_text(end)} goes to {_text(peer)}, but in line {line} to {_text(known)}"
                problems.add("contradiction", text, link.line)
        yield link


def _key(end: CableEnd) -> tuple[str, str]:
    return end.name, end.port


def _text(end: tuple[str, str] | None) -> str:
    return "no port" if end is None else f"{end[0]} {end[1]}"
