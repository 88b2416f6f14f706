"""Partitions as a document for other programs (schema ibkit.partitions/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ibkit.model.ids import PKey
from ibkit.model.node_set import natural, short_names
from ibkit.model.partitions import (
    MAX_GROUPS,
    Group,
    IntendedPartition,
    Partition,
    Partitions,
    PortKeys,
    group_meeting,
    groups_of,
    partitions_of,
)

SCHEMA = "ibkit.partitions/1"

KEY_COLUMNS = ("guid", "port", "port_guid", "lid", "name", "type", "index", "pkey", "partition", "membership")
PARTITION_COLUMNS = ("partition", "name", "full", "limited", "full members", "limited members")
GROUP_COLUMNS = ("group", "ports", "pkeys", "members")
TALK_COLUMNS = ("group", "with", "talk", "in", "only limited in")
INTENDED_COLUMNS = ("intended", "name", "who", "membership", "line")

#: Of a partition's or group's members a person reads so many sets of names.
MAX_NAMES = 6
_ANSWERS = {True: "yes", False: "no", None: None}


def partitions_document(partitions: Partitions) -> dict[str, Any]:
    """All of it. ``talk`` is null where there are more groups than anybody compares pair by pair."""
    groups = groups_of(partitions.ports)
    names = _names(partitions)
    intended = partitions.intended
    return {
        "schema": SCHEMA,
        "complete": partitions.complete,
        "problems": [problem._asdict() for problem in partitions.problems],
        "partitions": [_partition(one, names) for one in partitions_of(partitions.ports)],
        "groups": [_group(number, group) for number, group in enumerate(groups)],
        "talk": None if len(groups) > MAX_GROUPS else [_talk(*pair) for pair in _pairs(groups)],
        "intended": None if intended is None else [_intended(one) for one in intended],
        "ports": [_port(port) for port in partitions.ports],
        "switch_ports": [_port(port) for port in partitions.filters],
    }


def key_rows(partitions: Partitions) -> Iterator[list[Any]]:
    """One row for each key of each end port, in the order of KEY_COLUMNS."""
    for port in partitions.ports:
        for index, key in _keys(port):
            who = [port.guid, port.port, port.port_guid, port.lid, port.name, port.type]
            yield [*who, index, key, partition_text(key.partition), _membership(key)]


def partition_rows(partitions: Partitions) -> Iterator[list[Any]]:
    """One row for each partition in the order of PARTITION_COLUMNS, the members folded by their names."""
    names = _names(partitions)
    for one in partitions_of(partitions.ports):
        members = (_some_names(one.full), _some_names(one.limited))
        yield [partition_text(one.number), names.get(one.number, ""), len(one.full), len(one.limited), *members]


def group_rows(groups: Sequence[Group]) -> Iterator[list[Any]]:
    """One row for each group in the order of GROUP_COLUMNS."""
    for number, group in enumerate(groups):
        yield [number, len(group.ports), " ".join(map(str, group.keys)) or "none", _some_names(group.ports)]


def talk_rows(groups: Sequence[Group]) -> Iterator[list[Any]]:
    """One row for each pair of groups in the order of TALK_COLUMNS; a group with itself where it has two ports."""
    for first, second in _pairs(groups):
        met = group_meeting(first[1], second[1])
        lists = (" ".join(map(partition_text, numbers)) for numbers in (met.open, met.limited))
        yield [first[0], second[0], _ANSWERS[met.can_talk], *lists]


def intended_rows(intended: Iterable[IntendedPartition]) -> Iterator[list[Any]]:
    """One row for each member in the order of INTENDED_COLUMNS; an empty line is what OpenSM does by itself."""
    for one in intended:
        number = None if one.pkey is None else partition_text(one.pkey)
        for member in one.members:
            yield [number, one.name or "", member.group or member.guid, member.membership, member.line or ""]


def partition_text(number: int) -> str:
    """The 15 bits of a P_Key."""
    return f"0x{number:04x}"


def folded_names(ports: Iterable[PortKeys]) -> list[str]:
    """The names of ports' nodes: ``c[001-108] mlx5_0``. Those without a name are told by GUID or LID."""
    sets: dict[tuple[str, str], list[str]] = {}
    for port in ports:
        name = (port.name or "").strip() or str(port.guid or "?")
        host, blank, rest = name.partition(" ")
        before, middle, behind = ("LID ", str(port.lid), "") if name == "?" and port.lid else ("", host, blank + rest)
        sets.setdefault((before, behind), []).append(middle)
    texts = []
    for (before, behind), parts in sets.items():
        texts += [f"{before}{part}{behind}" for part in short_names(parts)]
    return sorted(texts, key=natural)


def _some_names(ports: Sequence[PortKeys]) -> str:
    names = folded_names(ports)
    more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _names(partitions: Partitions) -> dict[int, str]:
    """What ``partitions.conf`` calls the partitions."""
    return {one.pkey: one.name for one in partitions.intended or () if one.pkey is not None and one.name}


def _pairs(groups: Sequence[Group]) -> Iterator[tuple[tuple[int, Group], tuple[int, Group]]]:
    for number, group in enumerate(groups):
        for other in range(number, len(groups)):
            if other != number or len(group.ports) > 1:
                yield (number, group), (other, groups[other])


def _partition(one: Partition, names: dict[int, str]) -> dict[str, Any]:
    return {
        "partition": partition_text(one.number),
        "name": names.get(one.number),
        "full_count": len(one.full),
        "limited_count": len(one.limited),
        "full": [_end(port) for port in one.full],
        "limited": [_end(port) for port in one.limited],
    }


def _group(number: int, group: Group) -> dict[str, Any]:
    return {
        "group": number, "pkeys": [str(key) for key in group.keys], "count": len(group.ports),
        "names": folded_names(group.ports),
    }  # fmt: skip


def _talk(first: tuple[int, Group], second: tuple[int, Group]) -> dict[str, Any]:
    met = group_meeting(first[1], second[1])
    return {
        "a": first[0],
        "b": second[0],
        "can_talk": met.can_talk,
        "partitions": [partition_text(one) for one in met.open],
        "limited_in": [partition_text(one) for one in met.limited],
    }


def _intended(one: IntendedPartition) -> dict[str, Any]:
    return {
        "partition": None if one.pkey is None else partition_text(one.pkey),
        "name": one.name,
        "ipoib": one.ipoib,
        "members": [
            {
                "port_guid": None if member.guid is None else str(member.guid), "group": member.group,
                "membership": member.membership, "line": member.line,
            }
            for member in one.members
        ],
        "lines": list(one.lines),
    }  # fmt: skip


def _end(port: PortKeys) -> dict[str, Any]:
    return {
        "guid": None if port.guid is None else str(port.guid), "port": port.port, "lid": port.lid, "name": port.name,
    }  # fmt: skip


def _port(port: PortKeys) -> dict[str, Any]:
    return {
        **_end(port),
        "port_guid": None if port.port_guid is None else str(port.port_guid),
        "type": port.type,
        "pkeys": [
            {
                "index": index,
                "pkey": str(key),
                "partition": partition_text(key.partition),
                "membership": _membership(key),
            }
            for index, key in _keys(port)
        ],
        "default_index": port.default_index,
        "whole": port.whole,
        "source": port.source,
        "line": port.line,
    }


def _keys(port: PortKeys) -> Iterator[tuple[int, PKey]]:
    return ((index, key) for index, key in enumerate(port.keys) if key.partition)


def _membership(key: PKey) -> str:
    return "full" if key.is_full_member else "limited"
