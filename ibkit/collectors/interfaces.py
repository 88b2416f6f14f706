"""The host's network interfaces, and the RDMA port behind each: by ``ip -j``, which a capture records."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.collectors.sysfs import NETDEV_CLASS
from ibkit.model.host import Hca, HcaPort, Interface, Neighbour
from ibkit.model.ids import PKey
from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.erased import Any, TypeVar
from ibkit.parsers.ip_json import IpInterface, parse_addresses, parse_neighbours
from ibkit.sources.base import MISSING, NOT_RECORDED, Source

ADDRESSES = ("ip", "-j", "-d", "addr")
NEIGHBOURS = ("ip", "-j", "neigh")
#: Two netlink dumps (seconds).
DEADLINE_SECONDS = 20.0

T = TypeVar("T")


def read_interfaces(
    source: Source, hcas: Iterable[Hca]
) -> tuple[tuple[Interface, ...] | None, tuple[Neighbour, ...] | None, list[Problem]]:
    """All interfaces and neighbours, None where ``ip`` does not tell, and problems."""
    problems: list[Problem] = []
    told = _ask(source, ADDRESSES, parse_addresses, problems)
    if told is None:
        return None, None, problems
    ports = {name: (hca, port) for hca in hcas for port in hca.ports for name in port.netdevs}
    interfaces = tuple(_interface(source, one, *ports.get(one.name, (None, None))) for one in told)
    neighbours = _ask(source, NEIGHBOURS, parse_neighbours, problems)
    known = None if neighbours is None else tuple(
        Neighbour(one.device, one.address, one.lladdr) for one in neighbours if one.lladdr
    )  # fmt: skip
    return interfaces, known, problems


def _ask(source: Source, argv: tuple[str, ...], parse: Any, problems: list[Problem]) -> Any:
    answer = source.run(argv, deadline_seconds=DEADLINE_SECONDS)
    if answer.failure in (MISSING, NOT_RECORDED):  # doctor tells
        return None
    try:
        if answer.failure or answer.exit_status:
            raise NotThisFormat(answer.failure or answer.err.strip()[:500] or f"exit status {answer.exit_status}")
        parsed: Parsed[Any] = parse(answer.out, source=answer.command)
    except NotThisFormat as error:
        problems.append(Problem("tool-failed", str(error), None, answer.command))
        return None
    problems += parsed.problems
    return parsed.value


def _interface(source: Source, told: IpInterface, hca: Hca | None, port: HcaPort | None) -> Interface:
    return Interface(
        told.name,
        told.link_type,
        told.kind,
        "UP" in told.flags if told.flags else None,
        "LOWER_UP" in told.flags if told.flags else None,
        told.mtu,
        told.address,
        told.addresses,
        told.master,
        told.link,
        hca.name if hca else None,
        port.port if port else None,
        _pkey(source, told.name) if told.link_type == "infiniband" else None,
        tuple(entry.gid_index for entry in port.gids if entry.netdev == told.name) if port else (),
    )


def _pkey(source: Source, name: str) -> PKey | None:
    """IPoIB's partition: the kernel writes ``0x8001``, always with the bit of full members."""
    text = (source.read(f"{NETDEV_CLASS}/{name}/pkey").text or "").strip()
    try:
        return PKey(text, 16) if len(text) <= 6 else None
    except ValueError:
        return None
