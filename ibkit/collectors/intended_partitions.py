"""What a ``partitions.conf`` makes of a subnet: its definitions put together as OpenSM does. Pure.

Source: OpenSM's ``osm_prtn.c`` and ``osm_prtn_config.c``. Definitions of one P_Key add up, and so do those of one name
where no P_Key is given; the first name stays. Of two lines that mean the same port the later one holds. Before the
file, all ports are limited members of the default partition and the manager's is a full one; a file with an error in
it counts for nothing, and all ports are full members. ``both`` is full where OpenSM's allow_both_pkeys is off.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.errors import UnreadableInput
from ibkit.model.fabric import AGGREGATION_NODE, CHANNEL_ADAPTER, ROUTER, SWITCH
from ibkit.model.ids import Guid
from ibkit.model.partitions import (
    BOTH,
    DEFAULT_PARTITION,
    FULL,
    LIMITED,
    IntendedMember,
    IntendedPartition,
    Partitions,
    PortKeys,
)
from ibkit.parsers import partitions_conf
from ibkit.parsers.base import NotThisFormat, Parsed, Problem

#: OpenSM looks a partition up by name in so many bytes, of which the last one ends it.
_NAME_LENGTH = 31
_ALL, _SELF = "ALL", "SELF"
#: A group of the file -> the types of the nodes that it means.
_TYPES = {
    "ALL_CAS": frozenset({CHANNEL_ADAPTER, AGGREGATION_NODE}), "ALL_SWITCHES": frozenset({SWITCH}),
    "ALL_ROUTERS": frozenset({ROUTER}),
}  # fmt: skip


def intended_partitions(parsed: partitions_conf.Partitions) -> tuple[IntendedPartition, ...]:
    """All partitions that OpenSM makes of the file, in the order in which they are first told of."""
    if parsed.rejected_at is not None:
        return (_default(FULL),)
    default = _default(LIMITED)
    found: list[IntendedPartition] = [default]
    for definition in parsed.partitions:
        known = _known(found, definition)
        if known is None:
            found.append(_first(definition))
        else:
            found[known] = _added(found[known], definition)
    # OpenSM removes those without a member again. Here that is told by the file alone: nobody is named.
    return tuple(partition for partition in found if partition.members)


def compared(partitions: Partitions, text: str, source: str) -> Partitions:
    """The same with what a ``partitions.conf`` intends, and where the tables differ from it.

    Raises UnreadableInput for a text that is no such file.
    """
    try:
        parsed = partitions_conf.parse(text, source=source)
    except NotThisFormat as error:
        raise UnreadableInput(str(error)) from error
    intended = intended_partitions(parsed.value)
    problems = (*partitions.problems, *parsed.problems)
    if is_cut(parsed):  # what is missing may say otherwise: the last line that means a port holds
        return partitions._replace(intended=intended, problems=problems, complete=False)
    found = _differences(intended, partitions.ports, partitions.manager, source)
    return partitions._replace(intended=intended, problems=(*problems, *found))


def is_cut(parsed: Parsed[partitions_conf.Partitions]) -> bool:
    """Whether a part of the file may be missing; one that OpenSM rejects is known for what it is."""
    return parsed.complete is False and parsed.value.rejected_at is None


def _differences(
    intended: Iterable[IntendedPartition], ports: Iterable[PortKeys], manager: Guid | None, source: str
) -> list[Problem]:
    """Where the tables are not what the file makes of them, one problem for each partition and kind of difference.

    Ports of which the node's type, the port GUID or the whole table is not known are left out, and so is SELF where
    the manager's port is not known.
    """
    known = [port for port in ports if port.whole and port.port_guid is not None and port.type is not None]
    problems = []
    for partition in intended:
        if partition.pkey is None:
            continue
        wrong: dict[tuple[str | None, str | None], list[PortKeys]] = {}
        for port in known:
            wanted = _wanted(partition, port, manager)
            has = port.membership(partition.pkey)
            if wanted != has and not (wanted == BOTH and has == FULL) and wanted != "?":
                wrong.setdefault((wanted, has), []).append(port)
        for (wanted, has), some in wrong.items():
            first = some[0].name or some[0].port_guid
            text = (
                f"partition {partition.pkey:#06x} of {source}: {len(some)} ports should be {_member(wanted)} and are "
                f"{_member(has)}, the first is {first} port {some[0].port}"
            )
            problems.append(Problem("not-as-intended", text, min(partition.lines, default=None), source))
    return problems


def _default(membership: str) -> IntendedPartition:
    members = (IntendedMember(None, _ALL, membership, None), IntendedMember(None, _SELF, FULL, None))
    return IntendedPartition(DEFAULT_PARTITION, "Default", False, members[: 1 if membership == FULL else 2], ())


def _known(found: list[IntendedPartition], definition: partitions_conf.Partition) -> int | None:
    """The place of the partition that a definition adds to."""
    for place, partition in enumerate(found):
        if definition.pkey is not None and partition.pkey == definition.pkey:
            return place
        if definition.pkey is None and definition.name and partition.name == definition.name[: _NAME_LENGTH + 1]:
            return place
    return None


def _first(definition: partitions_conf.Partition) -> IntendedPartition:
    name = definition.name[:_NAME_LENGTH] if definition.name else None
    return _added(IntendedPartition(definition.pkey, name, False, (), ()), definition)


def _added(partition: IntendedPartition, definition: partitions_conf.Partition) -> IntendedPartition:
    members = list(partition.members)
    for member in definition.members:
        guid = None if member.guid is None else Guid(member.guid)
        added = IntendedMember(guid, member.group, member.membership, member.line)
        if member.group == _ALL:
            members = []
        members = [one for one in members if (one.guid, one.group) != (added.guid, added.group)]
        members.append(added)
    return partition._replace(
        ipoib=partition.ipoib or definition.ipoib, members=tuple(members), lines=(*partition.lines, definition.line)
    )


def _wanted(partition: IntendedPartition, port: PortKeys, manager: Guid | None) -> str | None:
    """The membership that the last matching line gives a port; "?" where SELF may be meant and nobody knows."""
    for member in reversed(partition.members):
        if member.group == _SELF:
            if manager is None:
                return "?"
            matches = port.port_guid == manager
        elif member.group == _ALL:
            matches = True
        elif member.group is not None:
            matches = port.type in _TYPES[member.group]
        else:
            matches = port.port_guid == member.guid
        if matches:
            return member.membership
    return None


def _member(membership: str | None) -> str:
    return "no members" if membership is None else f"{membership} members"
