"""Who may talk to whom: the P_Key tables of a fabric's ports. Pure.

Two ports talk in a partition if both have its P_Key (15 bits), and at least one of them with the bit of full members
(InfiniBand Architecture Specification volume 1, 10.9.1 to 10.9.3). A key whose 15 bits are 0 is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.model.ids import Guid, PKey
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: The partition that every port is in from the start, and that reaches the subnet manager (same source, 10.9.1.1).
DEFAULT_PARTITION = 0x7FFF
FULL, LIMITED, BOTH = "full", "limited", "both"
#: Of more groups than this nobody looks at who can talk to whom, pair by pair.
MAX_GROUPS = 300

#: Kinds of problems that are about the partitions, not about what could be read of them.
FINDINGS = frozenset({"no-default", "manager-not-full", "contradiction", "not-as-intended", "rejected"})


class PortKeys(NamedTuple):
    """A port's P_Key table. ``keys`` is the table from index 0 on, empty entries (0) in between kept, those behind
    the last key left out. ``is_end`` is False for an outer port of a switch, whose table is its filter and not a
    membership. ``whole`` is False where a part of the table is missing. ``guid`` is the node's; ``port`` is None where
    the text does not say whose table it is.
    """

    guid: Guid | None
    port: int | None
    keys: tuple[PKey, ...]
    port_guid: Guid | None = None
    lid: int | None = None
    name: str | None = None
    type: str | None = None
    is_end: bool = True
    whole: bool = True
    source: str | None = None
    line: int | None = None

    @property
    def default_index(self) -> int | None:
        """Where the key of the default partition stands; None where it is not in the table."""
        return next((index for index, key in enumerate(self.keys) if key.partition == DEFAULT_PARTITION), None)

    def membership(self, partition: int) -> str | None:
        """FULL, LIMITED, BOTH, or None for no member as far as the table is known."""
        kinds = {key.is_full_member for key in self.keys if key.partition == partition and partition}
        return BOTH if len(kinds) == 2 else FULL if True in kinds else LIMITED if kinds else None

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that the port is in, in the order of its table."""
        return tuple(dict.fromkeys(key.partition for key in self.keys if key.partition))


class Meeting(NamedTuple):
    """What two tables have in common: the ``open`` partitions in which the ports can talk, and the ``limited`` ones,
    in which both are limited members. ``can_talk`` is None where a part of a table is missing that might settle it.
    """

    can_talk: bool | None
    open: tuple[int, ...]
    limited: tuple[int, ...]


def meeting(a: PortKeys, b: PortKeys) -> Meeting:
    """Whether two ports can talk by their P_Keys."""
    common = [partition for partition in a.partitions if b.membership(partition)]
    shared = [one for one in common if {a.membership(one), b.membership(one)} != {LIMITED}]
    limited = tuple(one for one in common if one not in shared)
    if shared:
        return Meeting(True, tuple(shared), limited)
    return Meeting(False if a.whole and b.whole else None, (), limited)


class Partition(NamedTuple):
    """A partition with its members. A port that has both keys is a full member."""

    number: int
    full: tuple[PortKeys, ...]
    limited: tuple[PortKeys, ...]


class Group(NamedTuple):
    """Ports that are in the same partitions in the same way. ``keys`` are sorted; both keys of a partition are its
    full one.
    """

    keys: tuple[PKey, ...]
    ports: tuple[PortKeys, ...]


class IntendedMember(NamedTuple):
    """A line of ``partitions.conf``: a port GUID or a ``group`` (ALL, ALL_CAS ...), and the membership it gets.
    ``line`` is None where OpenSM does so by itself.
    """

    guid: Guid | None
    group: str | None
    membership: str
    line: int | None


class IntendedPartition(NamedTuple):
    """What ``partitions.conf`` makes of a partition, all definitions of it together. ``pkey`` has 15 bits; None is
    for OpenSM to choose. Of the members a later one overrides an earlier one for the ports that both mean.
    """

    pkey: int | None
    name: str | None
    ipoib: bool
    members: tuple[IntendedMember, ...]
    lines: tuple[int, ...]


class Partitions(NamedTuple):
    """The tables in order of name and port, those of switches' outer ports in ``filters``; ``intended`` is what a
    ``partitions.conf`` says, None where none was read. ``manager`` is the port GUID of the master subnet manager.

    ``complete`` is True where the table of each end port of the fabric is known, False where some are known to be
    missing, None where nobody knows which ports there are.
    """

    ports: tuple[PortKeys, ...]
    filters: tuple[PortKeys, ...] = ()
    intended: tuple[IntendedPartition, ...] | None = None
    complete: bool | None = None
    problems: tuple[Problem, ...] = ()
    source: str | None = None
    manager: Guid | None = None

    def of(self, guid: Guid, port: int) -> PortKeys | None:
        """The table of a node's port."""
        return next((table for table in self.ports if (table.guid, table.port) == (guid, port)), None)


def partitions_of(ports: Iterable[PortKeys]) -> tuple[Partition, ...]:
    """The partitions in order of number, with their members."""
    full: dict[int, list[PortKeys]] = {}
    limited: dict[int, list[PortKeys]] = {}
    for port in ports:
        for partition in port.partitions:
            kind = limited if port.membership(partition) == LIMITED else full
            kind.setdefault(partition, []).append(port)
    numbers = sorted({*full, *limited})
    return tuple(Partition(one, tuple(full.get(one, ())), tuple(limited.get(one, ()))) for one in numbers)


def groups_of(ports: Iterable[PortKeys]) -> tuple[Group, ...]:
    """The ports by what they are members of, the largest group first. Ports whose table is not whole are in none."""
    groups: dict[tuple[PKey, ...], list[PortKeys]] = {}
    known: dict[tuple[PKey, ...], tuple[PKey, ...]] = {}
    for port in ports:
        if not port.whole:
            continue
        keys = known.get(port.keys)
        if keys is None:
            memberships = {partition: port.membership(partition) for partition in port.partitions}
            full_or_not = (PKey(one if kind == LIMITED else one | 0x8000) for one, kind in memberships.items())
            keys = known[port.keys] = tuple(sorted(full_or_not, key=lambda key: (key.partition, key)))
        groups.setdefault(keys, []).append(port)
    found = (Group(keys, tuple(members)) for keys, members in groups.items())
    return tuple(sorted(found, key=lambda group: (-len(group.ports), group.keys)))


def look_at(partitions: Partitions) -> tuple[Problem, ...]:
    """What is not as it should be, or worth a word, in tables that are whole."""
    source = partitions.source
    whole = [port for port in partitions.ports if port.whole]
    lost = [port for port in whole if port.default_index is None]
    moved = [port for port in whole if port.default_index]
    found = []
    if lost:
        text = f"{described(lost)} not in the default partition {DEFAULT_PARTITION:#06x}: no way to the subnet manager"
        found.append(Problem("no-default", text, lost[0].line, lost[0].source))
    for port in whole:
        is_manager = partitions.manager is not None and port.port_guid == partitions.manager
        if is_manager and port.membership(DEFAULT_PARTITION) == LIMITED:
            text = f"{described([port])} where the subnet manager runs, a limited member of the default partition"
            found.append(
                Problem("manager-not-full", f"{text}: limited members cannot reach it", port.line, port.source)
            )
    if moved:
        text = (
            f"{described(moved)} with the default partition's key not at index 0 (the first has it at "
            f"{moved[0].default_index}): programs that take index 0 use another partition"
        )
        found.append(Problem("default-not-first", text, moved[0].line, moved[0].source))
    groups = groups_of(whole)
    if len(groups) <= MAX_GROUPS and (count := mute_pairs(groups)):
        text = f"{count} pairs of ports share partitions only as limited members, and so cannot talk to each other"
        found.append(Problem("limited-pairs", text, None, source))
    return tuple(found)


def group_meeting(a: Group, b: Group) -> Meeting:
    """Whether the ports of two groups, or two ports of one group, can talk."""
    return meeting(a.ports[0], b.ports[0])


def mute_pairs(groups: Sequence[Group]) -> int:
    """How many pairs of ports share partitions, but in each of them both are limited members."""
    count = 0
    for index, a in enumerate(groups):
        for b in groups[index:]:
            met = group_meeting(a, b)
            if met.can_talk is False and met.limited:
                size = len(a.ports)
                count += size * (size - 1) // 2 if a is b else size * len(b.ports)
    return count


def described(ports: Sequence[PortKeys]) -> str:
    """``c001 mlx5_0 port 1 is``, ``3 ports, the first c001 mlx5_0 port 1, are``."""
    first = ports[0]
    where = first.name or (str(first.guid) if first.guid else f"LID {first.lid}" if first.lid else "a port")
    name = f"{where} port {first.port}" if first.port is not None else where
    return f"{name} is" if len(ports) == 1 else f"{len(ports)} ports, the first {name}, are"
