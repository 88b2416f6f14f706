"""Which subnets the ports of this host are in, told apart by the prefix of their GIDs: none is mixed with another.

A subnet manager gives all ports of its subnet one prefix (InfiniBand Architecture Specification volume 1, 4.1.1 and
14.2.5.6, GidPrefix). fe80::/64 is the default one, which several subnets of a site may have: the same prefix does not
prove the same subnet; a different one proves another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.collectors.sysfs import CLASS
from ibkit.errors import IbkitError
from ibkit.model.fabric import Fabric
from ibkit.model.ids import Guid, gid_or_none, prefix_text
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source


class LocalPort(NamedTuple):
    """An active InfiniBand port of this host. Of a port with planes (XDR), two devices have the same ``guid``."""

    device: str
    port: int
    guid: Guid
    subnet_prefix: int

    @property
    def through(self) -> Through:
        """It, for a tool."""
        return Through(self.device, self.port)


def local_ports(source: Source) -> tuple[LocalPort, ...]:
    """The active InfiniBand ports, in the order in which the tools look for one; none where /sys does not tell."""
    ports = []
    for device in source.list(CLASS).names:
        for number in source.list(f"{CLASS}/{device}/ports").names:
            folder = f"{CLASS}/{device}/ports/{number}"
            layer, state = ((source.read(f"{folder}/{name}").text or "").strip() for name in ("link_layer", "state"))
            if layer != "InfiniBand" or not state.startswith("4:") or not number.isdecimal():
                continue
            gid = gid_or_none(source.read(f"{folder}/gids/0").text) or None  # an empty entry is 0
            if gid is not None:
                ports.append(LocalPort(device, int(number), gid.guid, gid.subnet_prefix))
    return tuple(ports)


def subnets_of(ports: Iterable[LocalPort]) -> list[list[LocalPort]]:
    """The ports by subnet, as far as prefixes tell: the first subnet is that of the tools' own choice."""
    subnets: dict[int, list[LocalPort]] = {}
    for port in ports:
        subnets.setdefault(port.subnet_prefix, []).append(port)
    return list(subnets.values())


def further_entrances(source: Source, seen: Fabric) -> list[Through]:
    """A port for each further subnet of this host, where ``seen`` is what the tools' own choice shows."""
    ports = local_ports(source)
    others = subnets_of(ports)[1:]
    return [group[0].through for group in others] + [port.through for port in _strangers(ports, ports[:1], seen)]


def chosen_entrance(source: Source, through: Through) -> Through:
    """The port that the user named, as the tools are asked for it.

    The tools' own choice and the same port by name are one question, so that a capture answers to both.
    Raises IbkitError for a device that the host does not have.
    """
    devices = source.list(CLASS).names
    if through.device is not None and devices and through.device not in devices:
        raise IbkitError(f"--device {through.device}: there is no such device here; there are {', '.join(devices)}")
    ports = local_ports(source)
    if through == ANY_PORT or not ports:
        return through
    matching = [port for port in ports if _fits(port, through)]
    if not matching:
        return through
    return ANY_PORT if matching[0] == ports[0] else matching[0].through


def other_subnets(source: Source, through: Through, seen: Fabric) -> tuple[Problem, ...]:
    """What to know where this host has ports in another subnet than ``seen``, which was asked through ``through``."""
    ports = local_ports(source)
    shown = [port for port in ports if _fits(port, through)][:1]
    problems = []
    others = [group for group in subnets_of(ports) if shown and group[0].subnet_prefix != shown[0].subnet_prefix]
    if others:
        text = (
            f"this host has ports in {len(others) + 1} subnets; shown is that of {_named(shown)}; "
            f"--device and --port show the others: {'; '.join(map(_named, others))}"
        )
        problems.append(Problem("other-subnet", text, None, seen.source))
    strangers = _strangers(ports, shown, seen)
    if strangers:
        text = (
            f"{_named(strangers)} has the subnet prefix of {shown[0].through}, and this subnet has no port with its "
            "GUID: it is in another subnet with the same prefix, or virtual; --device and --port show what it sees"
        )
        problems.append(Problem("same-prefix", text, None, seen.source))
    return tuple(problems)


def _strangers(ports: Sequence[LocalPort], shown: Sequence[LocalPort], seen: Fabric) -> list[LocalPort]:
    """Ports with the prefix of the one that is shown, and not among those that were seen of its subnet."""
    if seen.complete is not True or not shown:
        return []
    there = {port.guid for node in seen.nodes.values() for port in node.ports}
    if shown[0].guid not in there:  # a virtual port: no sweep shows any
        return []
    alike = [port for port in ports if port.subnet_prefix == shown[0].subnet_prefix and port.guid not in there]
    return alike[:1]


def _fits(port: LocalPort, through: Through) -> bool:
    return through.device in (None, port.device) and through.port in (None, port.port)


def _named(ports: Sequence[LocalPort]) -> str:
    """``mlx5_0 port 1, mlx5_1 port 1 (prefix fe80:0000:0000:0000)``."""
    names = ", ".join(str(port.through) for port in ports)
    return f"{names} (prefix {prefix_text(ports[0].subnet_prefix)})"
