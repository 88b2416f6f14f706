"""What a node description says: the host or switch that it names, or that nobody has named the node.

Hosts are named by rdma-core's ``rdma-ndd`` (``%h %d``: host and device), managed switches by their firmware
(``MF0;NAME:MODEL/CHIP``). A description is no identity: two nodes may have the same. Until somebody names it, a node
has its firmware's words: the part, with or without its number, and the vendor.
"""

from __future__ import annotations

import re

from ibkit.parsers.records import NamedTuple

#: Firmware's own words, and a host that had no name yet when it was described.
_DEFAULT = re.compile(
    r"(?:.{0,60}\s)?(?:Mellanox|NVIDIA) Technologies\b|MT\d{3,6}\b.{0,60}(?:Mellanox|NVIDIA)"
    r"|(?:ConnectX|Connect-IB|BlueField|Quantum|Switch-?IB|SwitchX|Infini[Ss]cale|InfiniHost)\S{0,20}\s.{0,60}"
    r"(?:Mellanox|NVIDIA)|localhost\b|localdomain\b|\(none\)"
)
#: How the name of a chip ends: its board in a director, its number, and whether it routes.
_CHIP = re.compile(r"(?:/(?P<board>[LS][0-9]{1,3}))?/U(?P<chip>[0-9]{1,3})(?:/RT)?\Z")
#: A device's name, which is not its host's.
_DEVICE = re.compile(r"(?:mlx[45]|ibp?\d|hfi1|qib|mthca|HCA-)\S{0,20}\Z")


def is_default(description: str | None) -> bool:
    """Whether the description is what a node has before anybody names it: firmware's words, or none."""
    text = (description or "").strip()
    return not text or _DEFAULT.match(text) is not None


def host_of(description: str | None) -> str | None:
    """The host or switch that a description names: its first word.

    >>> host_of("n01 mlx5_0"), host_of("MT4119 ConnectX5   Mellanox Technologies"), host_of("MF0;sw1:MQM8700/U1")
    ('n01', None, 'sw1')
    """
    if is_default(description):
        return None
    first = (description or "").split()[0].strip("'\"")
    if ";" in first:
        first = first.partition(";")[2].partition(":")[0]
    return None if not first or _DEVICE.match(first) else first


class Place(NamedTuple):
    """What a name hints at: the box, its model, the board in it (``L12`` a line card, ``S03`` a spine), the chip on
    that board, and of an adapter its device. A hint, for anybody may write such a name.
    """

    system: str | None = None
    model: str | None = None
    board: str | None = None
    chip: int | None = None
    device: str | None = None


def place_of(description: str | None) -> Place:
    """Where a node is by its name alone.

    Switches with management firmware are called ``MF0;NAME:MODEL/CHIP``, the chips of a director ``.../BOARD/CHIP``,
    and those of a router ``NAME/CHIP/RT`` (NVOS); hosts by rdma-ndd as :func:`host_of` says.

    >>> place_of("MF0;dir1:CS8500/L12/U2")
    Place(system='dir1', model='CS8500', board='L12', chip=2, device=None)
    >>> place_of("n01 mlx5_0")
    Place(system='n01', model=None, board=None, chip=None, device='mlx5_0')
    """
    text = (description or "").strip()
    if is_default(text):
        return Place()
    chip = _CHIP.search(text)
    if chip is None:
        words = text.split()
        device = words[1] if len(words) == 2 and _DEVICE.match(words[1]) else None
        return Place(host_of(text), device=device)
    rest = text[: chip.start()].partition(";")[2] or text[: chip.start()]
    name, _, model = rest.partition(":")
    return Place(name or None, model or None, chip["board"], int(chip["chip"]))
