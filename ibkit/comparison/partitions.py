"""P_Key tables of two views, port by port. Only whole ones are compared: a key may stand in what is missing."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ibkit.comparison.change import Change, Doubt, Where, changed
from ibkit.display import counted
from ibkit.model.partitions import Partitions, PortKeys


def compare_partitions(before: Partitions, after: Partitions) -> tuple[list[Change], list[Doubt]]:
    """Partitions that ports joined, left, or are in with another membership; the place of the default one's key.

    A table of which neither view knows more than the other was not looked at.
    """
    old, new = _tables(before), _tables(after)
    changes: list[Change] = []
    cut = 0
    for port in sorted(old.keys() & new.keys()):
        if old[port].whole and new[port].whole:
            changes += _differences(old[port], new[port])
        elif old[port].whole or new[port].whole or old[port].keys != new[port].keys:
            cut += 1
    if not cut:
        return changes, []
    text = f"whether the P_Keys of {counted(cut, 'port')} changed"
    return changes, [Doubt("p-keys", Where(), text, "a part of their tables is missing")]


def only_in_one(before: Partitions, after: Partitions, nodes: Container[int] | None) -> Iterator[Doubt]:
    """The ports whose tables only one of the two has. Those that came or went are told by the fabric, where it is
    known: ``nodes`` are then the GUIDs of those that are in both.
    """
    old, new = _tables(before), _tables(after)
    for only, which in ((old.keys() - new.keys(), "before"), (new.keys() - old.keys(), "now")):
        count = sum(nodes is None or node in nodes for node, _ in only)
        if count:
            text = f"whether the P_Keys of {counted(count, 'port')} changed"
            yield Doubt("p-keys", Where(), text, f"their tables are there only {which}")


def _tables(partitions: Partitions) -> dict[tuple[int, int], PortKeys]:
    """The tables by node and port, else by the port's own GUID."""
    found = {}
    for table in partitions.ports:
        if table.guid is not None and table.port is not None:
            found[int(table.guid), table.port] = table
        elif table.port_guid is not None:
            found[int(table.port_guid), -1] = table
    return found


def _differences(old: PortKeys, new: PortKeys) -> Iterator[Change]:
    where = Where(new.guid or new.port_guid, new.port, new.name)
    name = (new.name or "").strip() or str(new.guid or new.port_guid)
    port = f"{name} port {new.port}" if new.port is not None else name
    for partition in sorted({*old.partitions, *new.partitions}):
        was, is_now = old.membership(partition), new.membership(partition)
        number = f"{partition:#06x}"
        if was is None and is_now is not None:
            value = {"partition": number, "membership": is_now}
            yield Change("p-key-added", where, None, value, f"{port} is in partition {number} now ({is_now} member)")
        elif is_now is None and was is not None:
            value = {"partition": number, "membership": was}
            text = f"{port} is in partition {number} no more (it was a {was} member)"
            yield Change("p-key-removed", where, value, None, text)
        elif was != is_now:
            text = f"{port} is a {is_now} member of partition {number}, before a {was} one"
            values = [{"partition": number, "membership": one} for one in (was, is_now)]
            yield Change("membership-changed", where, values[0], values[1], text)
    what = "the default partition's key at index"
    yield from changed("default-index-changed", where, port, what, old.default_index, new.default_index)
