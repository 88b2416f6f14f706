"""Small fabrics and counters for tests of rules, written down as people would on paper: ``h1[1]-s1[4] 4x HDR``.

Nodes that begin with h are channel adapters, with s switches, with r routers, with a aggregation nodes. A node's GUID
is 0x0c for adapters or 0x0b for others in front and its number behind; the GUID of an adapter's port is the node's and
its number. A name may follow the letter: ``h1``, ``s12``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ibkit.model.counters import ERRORS, FabricChange, FabricCounters, PortChange, PortCounters, saturated
from ibkit.model.fabric import (
    AGGREGATION_NODE,
    CHANNEL_ADAPTER,
    ROUTER,
    SWITCH,
    End,
    Fabric,
    FabricPort,
    Link,
    Node,
)
from ibkit.model.findings import Diagnosis, Finding
from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.ids import Guid
from ibkit.model.routes import NO_EXIT, ForwardingTable, Routes
from ibkit.parsers.base import Problem
from ibkit.rules import catalogue
from ibkit.rules.engine import diagnose
from ibkit.rules.evidence import PARTS, Collected, Evidence, Lack

TYPES = {"h": CHANNEL_ADAPTER, "s": SWITCH, "r": ROUTER, "a": AGGREGATION_NODE}
_CABLE = re.compile(r"(\w)(\d+)\[(\d+)\]-(\w)(\d+)\[(\d+)\](?: (\S+) (\S+))?")


def guid(name: str) -> Guid:
    """``h1`` is 0x0c00000000000100, ``s1`` 0x0b00000000000100."""
    return Guid((0x0C if name[0] == "h" else 0x0B) << 56 | int(name[1:]) << 8)


def end(text: str) -> End:
    """``h1[1]``."""
    name, _, port = text.rstrip("]").partition("[")
    return End(guid(name), int(port))


def fabric(
    *cables: str,
    complete: bool | None = True,
    ports: Mapping[str, Mapping[str, Any]] | None = None,
    nodes: Mapping[str, Mapping[str, Any]] | None = None,
    switch_ports: int = 36,
    problems: Iterable[Problem] = (),
) -> Fabric:
    """A fabric of cables; ``ports`` and ``nodes`` change fields of those that they name."""
    links = []
    found: dict[str, dict[int, FabricPort]] = {name: {} for name in nodes or {}}
    for text in cables:
        match = _CABLE.fullmatch(text)
        assert match, text
        a, b = f"{match[1]}{match[2]}", f"{match[4]}{match[5]}"
        width, speed = match[7] or "4x", match[8] or "HDR"
        ends = End(guid(a), int(match[3])), End(guid(b), int(match[6]))
        links.append(Link(*sorted(ends), width, speed))
        for name, own, peer in ((a, ends[0], ends[1]), (b, ends[1], ends[0])):
            port_guid = Guid(own.guid + own.port) if name[0] in "ha" else None
            found.setdefault(name, {})[own.port] = FabricPort(
                own.port, port_guid, None, peer, width, speed, linked=True
            )
    for text, changes in (ports or {}).items():
        name, number = text.split("[")[0], end(text).port
        port = found.setdefault(name, {}).get(number) or FabricPort(number, linked=False)
        found[name][number] = port._replace(**changes)
    made = {}
    for name, own_ports in sorted(found.items()):
        kind = TYPES[name[0]]
        if kind == SWITCH:
            for number in range(1, switch_ports + 1):
                own_ports.setdefault(number, FabricPort(number, linked=False))
        node = Node(
            guid(name), kind, f"host{name[1:]} mlx5_0" if kind == CHANNEL_ADAPTER else f"switch{name[1:]}",
            len(own_ports), tuple(own_ports[number] for number in sorted(own_ports)),
        )  # fmt: skip
        made[node.guid] = node._replace(**(nodes or {}).get(name, {}))
    return Fabric(made, tuple(sorted(links)), complete, tuple(problems), "ibnetdiscover")


def port_counters(text: str, **counters: int | None) -> PortCounters:
    """What a port counted; all error counters that are not named are 0."""
    where = end(text)
    values: dict[str, int | None] = {**dict.fromkeys(ERRORS, 0), **counters}
    return PortCounters(
        where.guid, None, None, where.port, None, values, saturated(values), 7, "ibqueryerrors --details"
    )


def counters(*ports: PortCounters, complete: bool | None = True) -> FabricCounters:
    """One sample."""
    return FabricCounters(ports, complete, (), "ibqueryerrors --details")


def change(
    seconds: float,
    *ports: PortCounters,
    at_least: tuple[str, ...] = (),
    cleared: tuple[str, ...] = (),
    complete: bool | None = True,
) -> FabricChange:
    """What ports counted in the seconds between two samples."""
    changes = tuple(PortChange(port, port.counters, at_least, cleared) for port in ports)
    return FabricChange(changes, seconds, complete, (), "ibqueryerrors --details")


def diagnosis(rule: str | None = None, **parts: Any) -> Diagnosis:
    """What the rules, or those of one number or name, say of these parts of the evidence.

    With ``change`` the counters are the later sample. Parts that are not given are absent.
    """
    if "change" in parts and "counters" not in parts:
        parts["counters"] = FabricCounters(tuple(one.port for one in parts["change"].ports), True)
    collected = Collected(**parts)
    values = {
        "hosts": collected.hosts, "host-checks": collected.checks, "fabric": collected.fabric,
        "counters": collected.counters, "two-samples": collected.change, "subnet-managers": collected.managers,
        "partitions": collected.partitions, "routes": collected.routes, "hardware": collected.hardware,
        "expectations": collected.expected, "earlier-capture": collected.earlier or collected.earlier_managers,
    }  # fmt: skip
    lacks = {part: Lack(f"no {part}", f"collect {part}") for part in PARTS if values.get(part) is None}
    rules = catalogue.find(rule) if rule else catalogue.ALL
    assert rules, rule
    return diagnose(Evidence(collected._replace(lacks={**lacks, **collected.lacks})), rules)


def told(made: Diagnosis) -> list[tuple[str, str, str]]:
    """Name, severity and place of each finding, and of the members of incidents behind a dash."""
    lines = []
    for one in made.findings:
        lines.append((one.name, one.severity, short(one)))
        lines += [(f"- {member.name}", member.severity, short(member)) for member in one.members]
    return lines


def short(finding: Finding) -> str:
    """The places as on paper: ``h1[1] s1[4]``."""
    words = []
    for place in finding.places:
        if place.host is None and place.guid is None:
            words.append(str(place.name))
            continue
        if place.guid is None or place.host is not None:
            words.append(f"{place.host}:{place.device}:{place.port}")
            continue
        name = f"{'h' if place.guid >> 56 == 0x0C else 's'}{(place.guid >> 8) & 0xFFFF}"
        words.append(name if place.port is None else f"{name}[{place.port}]")
    return " ".join(words)


def hosts(
    *ports: str,
    planes_of: Mapping[str, str] | None = None,
    error: Mapping[str, str] | None = None,
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    **changes: Any,
) -> tuple[HostHcas, ...]:
    """Hosts by their ports: ``n1: mlx5_0 1 Active LinkUp``. ``changes`` are fields of all ports, ``fields`` of devices.

    Each device has a GUID of its own, and each port that of its device and its number.
    """
    found: dict[str, dict[str, list[HcaPort]]] = {}
    for text in ports:
        host, device, number, state, physical = text.replace(":", "").split()
        lid = {"lid": 5, "reported_lid": 5} if state == "Active" else {}
        port = HcaPort(
            int(number), state, physical, "InfiniBand", transport="ib", rate_gbps=200.0 if state == "Active" else None
        )
        found.setdefault(host, {}).setdefault(device, []).append(port._replace(**{**lid, **changes}))
    made = []
    for host_number, (host, devices) in enumerate(found.items(), 1):
        hcas = []
        for device_number, (device, own) in enumerate(devices.items()):
            node = Guid(0x0C << 56 | host_number << 8 | device_number << 4)
            named = tuple(port._replace(port_guid=Guid(node + port.port)) for port in own)
            hca = Hca(
                device, named, node, source="sysfs", planes_of=(planes_of or {}).get(device),
                error=(error or {}).get(device),
            )  # fmt: skip
            hcas.append(hca._replace(**(fields or {}).get(device, {})))
        made.append(HostHcas(host, tuple(hcas)))
    return tuple(made)


def routed(*exits: dict[int, int] | None) -> dict[str, Any]:
    """Two switches, port 20 to port 20: h1 and h2 on ports 1 and 2 of the first, h3 on port 3 of the second, with the
    LIDs 1, 2 and 3. Tables as LID: exit; what is not named has no exit.
    """
    ports = {f"h{number}[1]": {"lid": number} for number in (1, 2, 3)}
    made = fabric("h1[1]-s1[1]", "h2[1]-s1[2]", "s1[20]-s2[20]", "h3[1]-s2[3]", ports=ports)
    tables = {}
    for name, table in zip(("s1", "s2"), exits, strict=True):
        if table is not None:
            row = bytes(table.get(lid, NO_EXIT) for lid in range(8))
            tables[guid(name)] = (ForwardingTable(guid(name), row, ((0, 7),), "ibroute -n 9", 1),)
    return {"fabric": made, "routes": Routes(tables, True)}
