"""Small fabrics and forwarding tables as a test draws them: ``"h1/1 s1/1"`` is a cable between two ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.routes import ForwardingTable, Routes

_TYPES = {"s": SWITCH, "h": CHANNEL_ADAPTER, "r": ROUTER}
_NUMBERS = {"s": 0xA0, "h": 0xB0, "r": 0xC0}


def guid(name: str) -> Guid:
    """``s1`` is 0xa1, ``h2`` 0xb2, ``r3`` 0xc3."""
    return Guid(_NUMBERS[name[0]] + int(name[1:]))


def end(text: str) -> End:
    """``h1/1``."""
    name, _, number = text.partition("/")
    return End(guid(name), int(number))


def drawn(
    cables: Sequence[str],
    lids: Mapping[str, int],
    *,
    lmc: int = 0,
    ports: int = 4,
    complete: bool | None = True,
    **of_ports: object,
) -> Fabric:
    """Nodes by what their names begin with: s switch, h channel adapter with one port, r router.

    ``lids`` has the LID of a switch (``s1``) or of a port (``h1/1``). ``of_ports`` holds for each port with a cable.
    """
    ends = {end(one): (end(other), one) for cable in cables for one, other in _both(cable.split())}
    names = dict.fromkeys([*(name.split("/")[0] for name in lids), *(text.split("/")[0] for _, text in ends.values())])
    nodes = {}
    for name in sorted(names, key=guid):
        mine = guid(name)
        is_switch = name[0] == "s"
        count = ports if is_switch else max([1, *(one.port for one in ends if one.guid == mine)])
        made = []
        for number in range(1, count + 1):
            here = End(mine, number)
            lid = None if is_switch else lids.get(f"{name}/{number}")
            port = FabricPort(number, None if is_switch else Guid(0x1000 + mine * 16 + number), lid, lmc=lmc or None)
            if here in ends:
                port = port._replace(peer=ends[here][0], linked=True, width="4x", speed="HDR", **of_ports)
            else:
                port = port._replace(linked=False)
            made.append(port)
        nodes[mine] = Node(mine, _TYPES[name[0]], f"{name} box", count, tuple(made), lids.get(name), lmc or None)
    links = [Link(one, other, "4x", "HDR") for one, (other, _) in ends.items() if one < other]
    return Fabric(nodes, tuple(sorted(links)), complete, (), "drawn")


def tables(*lines: str, covers: tuple[int, int] | None = (0, 63)) -> Routes:
    """``"s1: 1>1 2>3 7>255"``: of switch s1 the exit of LID 1 is port 1. ``covers`` None: others are not known."""
    made = {}
    for line in lines:
        name, _, rows = line.partition(":")
        exits = bytearray([255] * 64)
        for row in rows.split():
            lid, _, port = row.partition(">")
            exits[int(lid)] = int(port)
        made[guid(name)] = (ForwardingTable(guid(name), bytes(exits), (covers,) if covers else (), name, 1),)
    return Routes(made, None)


def _both(pair: Sequence[str]) -> list[tuple[str, str]]:
    one, other = pair
    return [(one, other), (other, one)]
