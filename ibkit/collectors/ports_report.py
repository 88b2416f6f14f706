"""The ports report of ``ibnetdiscover -p`` as the blocks that the topology form would have."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ibkit.parsers.ibnetdiscover import NodeBlock, PortRow, ReportEnd, ReportRow
from ibkit.parsers.records import NamedTuple

_KINDS = {"SW": ("Switch", "S"), "CA": ("Ca", "H"), "RT": ("Rt", "R"), "??": ("???", "?")}


class Unlinked(NamedTuple):
    """A port that the report lists without a neighbour."""

    guid: int
    number: int
    port_guid: int | None
    lid: int | None


def blocks_of(rows: Sequence[ReportRow]) -> tuple[list[NodeBlock], list[Unlinked]]:
    """One block for each node, and the ports without a neighbour.

    The report has port GUIDs. A switch's is its node GUID on all known hardware; an adapter's or router's node GUID
    is not told, so the GUID of its first port stands for it.
    """
    owners = _owners(rows)
    ends: dict[int, ReportRow] = {}
    port_rows: dict[int, list[PortRow]] = {}
    unlinked = []
    for row in rows:
        end = row.end
        guid = owners.get(end.guid, end.guid)
        first = ends.setdefault(guid, row)
        if first.end.name is None and end.name is not None:
            ends[guid] = first._replace(end=first.end._replace(name=end.name))
        listed = port_rows.setdefault(guid, [])
        if row.peer is None:
            unlinked.append(Unlinked(guid, end.number, _port_guid(end), None if end.kind == "SW" else end.lid))
        else:
            listed.append(_port_row(row, row.peer, owners))
    blocks = []
    for guid, row in ends.items():
        kind = _KINDS[row.end.kind][0]
        lid = row.end.lid if row.end.kind == "SW" else None
        blocks.append(NodeBlock(row.line, kind, guid, row.end.name, None, tuple(port_rows[guid]), lid=lid))
    return blocks, unlinked


def _port_row(row: ReportRow, peer: ReportEnd, owners: dict[int, int]) -> PortRow:
    end = row.end
    lid = None if end.kind == "SW" else end.lid
    return PortRow(
        row.line, end.number, _port_guid(end), _KINDS[peer.kind][1], owners.get(peer.guid, peer.guid), peer.number,
        _port_guid(peer), lid, None, peer.name, peer.lid, row.width, row.speed,
    )  # fmt: skip


def _port_guid(end: ReportEnd) -> int | None:
    """None for a switch, whose ports have no GUIDs of their own."""
    return None if end.kind == "SW" else end.guid


def _owners(rows: Sequence[ReportRow]) -> dict[int, int]:
    """Port GUID -> GUID of the first port of the same adapter, where the report shows that two ports are of one.

    The tool prints a node's ports one after the other, the highest first. Two such rows are of one adapter when its
    name is the same and the GUIDs are as far apart as the numbers, which is how port GUIDs are given out.
    """
    owners: dict[int, int] = {}
    for before, row in itertools.pairwise(rows):
        high, low = before.end, row.end
        apart = high.number - low.number
        if (
            low.kind == high.kind != "SW"
            and apart > 0
            and high.name
            and high.name == low.name
            and high.guid - low.guid == apart
        ):
            owners[high.guid] = low.guid
    for guid in list(owners):
        first = owners[guid]
        while first in owners:
            first = owners[first]
        owners[guid] = first
    return owners
