"""Fat trees as ibsim netlists, with the truth about them: built by rule, so that each count can be done by hand.

Two levels of radix k: leaves have k/2 HCAs below and k/2 links up, two to each of k/4 spines.
Three levels: pods of k/2 leaves and k/2 spines, each leaf linked once to each spine of its pod, and each spine to k/2
of the (k/2)^2 cores. HCA ``i`` has node GUID 0x0c42a10300000000 + 16 i, switch ``j`` 0xb8599f0300000000 + 256 j.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

HCA_BASE, SWITCH_BASE = 0x0C42A10300000000, 0xB8599F0300000000


class Cable(NamedTuple):
    """A link between two (GUID, port); ``a`` is the HCA or the lower switch."""

    a: tuple[int, int]
    b: tuple[int, int]
    width: str = "4x"
    speed: str = "HDR"


class Tree(NamedTuple):
    """A fabric's truth."""

    radix: int
    hcas: dict[int, str]  # GUID -> name, in the order of the netlist
    switches: dict[int, str]
    cables: tuple[Cable, ...]

    def degraded(self, rates: Mapping[int, tuple[str, str]]) -> Tree:
        """The same with other widths and speeds for some cables, by their index."""
        cables = list(self.cables)
        for index, (width, speed) in rates.items():
            cables[index] = cables[index]._replace(width=width, speed=speed)
        return self._replace(cables=tuple(cables))

    def without(self, indexes: Iterable[int]) -> Tree:
        """The same without some cables."""
        gone = set(indexes)
        return self._replace(cables=tuple(cable for i, cable in enumerate(self.cables) if i not in gone))

    def links(self) -> set[tuple[tuple[int, int], tuple[int, int], str, str]]:
        """Each cable once, the lesser end first."""
        return {(*sorted((cable.a, cable.b)), cable.width, cable.speed) for cable in self.cables}  # type: ignore[misc]

    def netlist(self) -> str:
        """Text for ibsim, which is what ibnetdiscover would print of the fabric without a subnet manager."""
        return "".join(self._blocks())

    def _blocks(self) -> Iterator[str]:
        ends: dict[int, dict[int, tuple[tuple[int, int], Cable]]] = {}
        for cable in self.cables:
            ends.setdefault(cable.a[0], {})[cable.a[1]] = cable.b, cable
            ends.setdefault(cable.b[0], {})[cable.b[1]] = cable.a, cable
        for guid, name in self.hcas.items():
            yield f"vendid=0x2c9\ndevid=0x101b\nsysimgguid={guid:#x}\ncaguid={guid:#x}\n"
            yield f'Ca\t1 "H-{guid:016x}"\t\t# "{name}"\n'
            for port, ((peer, peer_port), cable) in ends.get(guid, {}).items():
                yield f'[{port}]({guid + port:x}) \t"S-{peer:016x}"[{peer_port}]\t\t# lid 0 lmc 0 '
                yield f'"{self.switches[peer]}" lid 0 {cable.width}{cable.speed}\n'
            yield "\n"
        for guid, name in self.switches.items():
            yield f"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid={guid:#x}\nswitchguid={guid:#x}({guid:x})\n"
            yield f'Switch\t{self.radix} "S-{guid:016x}"\t\t# "{name}" enhanced port 0 lid 0 lmc 0\n'
            for port, ((peer, peer_port), cable) in sorted(ends.get(guid, {}).items()):
                if peer in self.hcas:
                    yield f'[{port}]\t"H-{peer:016x}"[{peer_port}]({peer + peer_port:x}) \t\t# "{self.hcas[peer]}" '
                else:
                    yield f'[{port}]\t"S-{peer:016x}"[{peer_port}]\t\t# "{self.switches[peer]}" '
                yield f"lid 0 {cable.width}{cable.speed}\n"
            yield "\n"


def two_levels(radix: int, leaves: int) -> Tree:
    """``leaves`` leaves with radix/2 HCAs each: the HCAs' cables first, then those between leaves and spines.

    Radix 36 with 6 leaves: 108 HCAs, 15 switches, 216 cables. Radix 64 with 32: 1,024 HCAs, 48 switches, 2,048 cables.
    """
    down, spines = radix // 2, radix // 4
    hcas = {_hca(i): f"c{i + 1:03} mlx5_0" for i in range(leaves * down)}
    switches = {_switch(i): f"MF0;swib-l{i + 1:03}:MQM8700/U1" for i in range(leaves)}
    switches |= {_switch(leaves + i): f"MF0;swib-s{i + 1:03}:MQM8700/U1" for i in range(spines)}
    cables = [Cable((_hca(i), 1), (_switch(i // down), i % down + 1)) for i in range(leaves * down)]
    per_spine = down // spines
    for leaf in range(leaves):
        for up in range(down):
            spine, nth = divmod(up, per_spine)
            cables.append(Cable((_switch(leaf), down + up + 1), (_switch(leaves + spine), leaf * per_spine + nth + 1)))
    return Tree(radix, hcas, switches, tuple(cables))


def three_levels(radix: int, pods: int) -> Tree:
    """``pods`` pods with (radix/2)^2 HCAs each, two HCAs in each host.

    Radix 40 with 28 pods: 11,200 HCAs, 1,520 switches, 33,600 cables.
    """
    half = radix // 2
    count = pods * half * half
    hcas = {_hca(i): f"c{i // 2 // 34 + 1:03}-{i // 2 % 34 + 1:03} mlx5_{i % 2}" for i in range(count)}
    switches = {}
    for pod in range(pods):
        for i in range(half):
            switches[_leaf(half, pod, i)] = f"MF0;swib-p{pod + 1:02}l{i + 1:02}:MQM8700/U1"
            switches[_leaf(half, pod, half + i)] = f"MF0;swib-p{pod + 1:02}s{i + 1:02}:MQM8700/U1"
    first_core = pods * radix
    switches |= {_switch(first_core + i): f"MF0;swib-c{i + 1:03}:MQM8700/U1" for i in range(half * half)}
    cables = []
    for i in range(count):
        pod, rest = divmod(i, half * half)
        cables.append(Cable((_hca(i), 1), (_leaf(half, pod, rest // half), rest % half + 1)))
    for pod in range(pods):
        for low in range(half):
            for high in range(half):
                leaf, spine = _leaf(half, pod, low), _leaf(half, pod, half + high)
                cables.append(Cable((leaf, half + high + 1), (spine, low + 1)))
                core = _switch(first_core + high * half + low)
                cables.append(Cable((spine, half + low + 1), (core, pod + 1)))
    return Tree(radix, hcas, switches, tuple(cables))


def _hca(index: int) -> int:
    return HCA_BASE + 16 * index


def _switch(index: int) -> int:
    return SWITCH_BASE + 256 * index


def _leaf(half: int, pod: int, index: int) -> int:
    return _switch(pod * 2 * half + index)
