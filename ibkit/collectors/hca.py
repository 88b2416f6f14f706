"""The HCAs of one host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ibkit.collectors import sysfs
from ibkit.collectors.absence import NO_DEVICE, explain_absence
from ibkit.model.host import Hca, HostHcas
from ibkit.model.port_state import INFINIBAND
from ibkit.parsers.base import Problem
from ibkit.sources.base import NOT_RECORDED, Source

_DIGITS = re.compile(r"([0-9]{1,9})")


def collect_hcas(source: Source, host: str, *, whole: bool = True) -> HostHcas:
    """All RDMA devices: verbs, /sys and netlink speak where they show one that can be read, else ibstat.

    Without ``whole``, which is much cheaper, /sys is asked alone, and for the start of its GID and P_Key tables.
    """
    listing = source.list(sysfs.CLASS)
    names = sorted((entry.name for entry in listing.entries or () if entry.kind in ("link", "folder")), key=_natural)
    hcas, problems = _with_verbs(source, names) if whole else _from_sysfs(source, names)
    if whole and listing.error != NOT_RECORDED:  # one tool's output would answer for netlink, too
        hcas, problems = _with_netlink(source, hcas, problems)
    if any(hca.error is None for hca in hcas):
        hcas = with_planes(hcas)
        seen = HostHcas(host, tuple(hcas), (*problems, *_advice(hcas)))
        return _with_surroundings(source, seen) if whole else seen
    from ibkit.collectors.pasted import TOOLS, read_tools  # a start that /sys suffices for does not pay for it

    # Without /sys it is one tool's output, or a log of several; a simulator's device is ibstat's alone.
    tools = TOOLS if listing.error == NOT_RECORDED else ("ibstat",)
    told, found, has_gaps = read_tools(source, tools)
    if told:
        told = tuple(with_planes(told))
        return HostHcas(host, told, (*found, *_advice(told)), has_gaps=has_gaps)
    if hcas:
        return HostHcas(host, tuple(hcas), tuple(problems))
    if listing.error == NOT_RECORDED and found:
        return HostHcas(host, problems=tuple(found), has_gaps=True)
    # /sys knows why; and without a device there is nothing for pyverbs to open, which it calls a failure.
    found = [problem for problem in (*problems, *found) if problem.kind not in (NO_DEVICE, "verbs-failed")]
    return HostHcas(host, problems=(explain_absence(source, listing), *found))


def with_planes(hcas: Sequence[Hca]) -> list[Hca]:
    """Each device for subnet management of an XDR card with the name of the one whose planes its ports are.

    Netlink names it. Else the device's name begins with smi, and both are of one PCI function, or at least of one card.
    """
    found = []
    for hca in hcas:
        if hca.name.startswith("smi") and not hca.planes_of:
            others = [one for one in hcas if not one.name.startswith("smi")]
            same = [one.name for one in others if _is_one_card(one, hca)]
            if not same and hca.bus_address is None and hca.system_image_guid is None:
                # Of a tool that tells neither: there is an InfiniBand device that it belongs to, perhaps just one.
                same = [one.name for one in others if any(port.link_layer == INFINIBAND for port in one.ports)]
            hca = hca._replace(planes_of=same[0]) if len(same) == 1 else hca
        found.append(hca)
    return found


def _is_one_card(one: Hca, other: Hca) -> bool:
    if one.bus_address and other.bus_address:
        return one.bus_address == other.bus_address
    return bool(one.system_image_guid) and one.system_image_guid == other.system_image_guid


def _with_surroundings(source: Source, host: HostHcas) -> HostHcas:
    """The devices' PCI functions and nodes, and the host's network interfaces."""
    from ibkit.collectors.device_nodes import with_nodes
    from ibkit.collectors.interfaces import read_interfaces
    from ibkit.collectors.pci import PciBus

    bus = PciBus(source)
    hcas = tuple(hca._replace(pci=bus.function(hca.bus_address)) if hca.bus_address else hca for hca in host.hcas)
    hcas = with_nodes(source, hcas)
    interfaces, neighbours, problems = read_interfaces(source, hcas)
    return host._replace(
        hcas=hcas, interfaces=interfaces, neighbours=neighbours, problems=(*host.problems, *problems)
    )  # fmt: skip


def _from_sysfs(source: Source, names: Iterable[str]) -> tuple[list[Hca], list[Problem]]:
    found = [sysfs.read_hca(source, name, whole=False) for name in names]
    return [hca for hca, _ in found], [problem for _, problems in found for problem in problems]


def _with_netlink(source: Source, hcas: list[Hca], problems: list[Problem]) -> tuple[list[Hca], list[Problem]]:
    from ibkit.collectors.netlink import merge_all, read_netlink  # only who asks for all of it pays for it

    told, found = read_netlink(source)
    if not hcas and not told:  # a kernel without RDMA has no such netlink; that it has none is told elsewhere
        return hcas, problems
    merged, differences = merge_all(hcas, told, whole=not found)
    return merged, [*problems, *found, *differences]


def _with_verbs(source: Source, names: Iterable[str]) -> tuple[list[Hca], list[Problem]]:
    from ibkit.collectors.verbs import merge, read_verbs  # only who asks for all of it pays for it

    told, problems = read_verbs(source)
    hcas = []
    for name in names:
        verbs = told.pop(name, None)
        hca, found = sysfs.read_hca(source, name, whole=True, verbs=verbs)
        problems += found
        if verbs is None or hca.error:
            hcas.append(verbs or hca)
        else:
            both, found = merge(hca, verbs)
            hcas.append(both)
            problems += found
    return [*hcas, *told.values()], problems


def _advice(hcas: Iterable[Hca]) -> Iterator[Problem]:
    names = [hca.name for hca in hcas if any(port.transport == "opa" for port in hca.ports)]
    if names:
        text = f"{', '.join(names)}: Omni-Path, whose fabric infiniband-diags cannot read; use opainfo and opareport"
        yield Problem("omni-path", text)


def _natural(name: str) -> list[str | int]:
    """A key that puts mlx5_2 before mlx5_10."""
    return [int(part) if index % 2 else part for index, part in enumerate(_DIGITS.split(name))]
