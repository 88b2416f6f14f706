"""HCAs as the kernel's RDMA netlink shows them, by ``rdma`` of iproute2: links, devices and statistics.

Formats: iproute2 ``rdma/{link,dev,stat}.c``; what is behind them: the kernel's ``drivers/infiniband/core/nldev.c``.
What netlink says of a port comes from the same query as what sysfs and verbs say; it adds the device that an XDR card's
planes belong to, the protocol, the netdev, and counters that are switched on one by one and have no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.collectors.merging import contradictions, fill
from ibkit.model.host import CounterTable, Hca, HcaPort
from ibkit.model.ids import guid_or_none
from ibkit.model.port_state import ETHERNET, INFINIBAND, NO_CHANGE, counted, transport_of
from ibkit.parsers import rdma
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.rdma import RdmaRow
from ibkit.sources.base import MISSING, NOT_RECORDED, CommandAnswer, Source

LINKS = ("rdma", "-j", "link")
DEVICES = ("rdma", "-j", "dev")
STATISTICS = ("rdma", "-j", "statistic")
#: Netlink dumps that ask each port's driver (seconds).
DEADLINE_SECONDS = 20.0

#: The words of ``rdma link``; ibdev2netdev has them, too.
STATES = {"NOP": NO_CHANGE, "DOWN": "Down", "INIT": "Initializing", "ARMED": "Armed", "ACTIVE": "Active"}
_PHYSICAL_STATES = {
    "NOP": NO_CHANGE, "SLEEP": "Sleep", "POLLING": "Polling", "DISABLED": "Disabled",
    "ARMED": "PortConfigurationTraining", "LINK_UP": "LinkUp", "LINK_ERROR_RECOVER": "LinkErrorRecovery",
    "PHY_TEST": "PhyTest", "OPA_OFFLINE": "Offline", "OPA_TEST": "Test", "UNKNOWN": None,
}  # fmt: skip
_NODE_TYPES = {
    "ca": "CA", "switch": "switch", "router": "router", "rnic": "RNIC", "usnic": "usNIC", "usnic_udp": "usNIC UDP",
    "unspecified": "unspecified",
}  # fmt: skip
#: Where netlink must say what the other views do. A LID follows from ``reported_lid``; counters move on between reads.
_DEVICE_FIELDS = ("node_guid", "system_image_guid", "firmware", "node_type")
_PORT_FIELDS = ("state", "physical_state", "reported_lid", "lmc", "sm_lid")
_SPEAKERS = ("by verbs and sysfs", "by rdma")


def read_netlink(source: Source) -> tuple[dict[str, Hca], list[Problem]]:
    """The devices that netlink shows, by name; none where there is no ``rdma`` (``ibkit doctor`` tells)."""
    problems: list[Problem] = []
    rows: list[RdmaRow] = []
    failed: dict[str, str] = {}
    for argv in (LINKS, DEVICES, STATISTICS):
        answer = source.run(argv, deadline_seconds=DEADLINE_SECONDS)
        if answer.failure in (MISSING, NOT_RECORDED):
            continue
        try:
            rows += _rows(answer, problems)
        except NotThisFormat as error:
            failed.setdefault(str(error), answer.command)
    problems += [Problem("tool-failed", text, None, command) for text, command in failed.items()]
    found: dict[str, Hca] = {}
    for hca in hcas_of(rows):
        known = found.get(hca.name, Hca(hca.name))
        found[hca.name] = fill(known, hca)._replace(ports=(*known.ports, *hca.ports))
    return {name: counted(hca) for name, hca in found.items()}, problems


def merge_all(hcas: Iterable[Hca], told: dict[str, Hca], *, whole: bool) -> tuple[list[Hca], list[Problem]]:
    """Each device with what netlink adds to it, then the devices that netlink alone shows; and where they differ.

    ``whole`` is whether netlink told all that it was asked: only then a device that it does not name is missing there.
    """
    merged, problems = [], []
    left = dict(told)
    for hca in hcas:
        other = left.pop(hca.name, None)
        if other is None:
            if told and whole and not hca.error:
                text = f"{hca.name}: there is a device of this name by verbs and sysfs, and none by rdma"
                problems.append(Problem("contradiction", text))
            merged.append(hca)
        elif hca.error and other.ports:  # nobody else could read it
            merged.append(other)
        else:
            both, found = _merge(hca, other)
            merged.append(both)
            problems += found
    return [*merged, *left.values()], problems


def hcas_of(rows: Iterable[RdmaRow]) -> Iterator[Hca]:
    """A record for each row of a device or a link; with counters, if there are any. Links of one device that follow
    each other are one record.
    """
    rows = list(rows)
    counters = {(row.device, row.port): row for row in rows if row.kind == rdma.STATISTIC and row.port is not None}
    name = ""
    ports: list[HcaPort] = []
    for row in rows:
        if row.kind == rdma.LINK and row.port is not None:
            if row.device != name and ports:
                yield Hca(name, tuple(ports), source="rdma")
                ports = []
            name = row.device
            ports.append(_port(row, row.port, counters.pop((row.device, row.port), None)))
        elif row.kind == rdma.DEVICE:
            yield _device(row)
    if ports:
        yield Hca(name, tuple(ports), source="rdma")
    for (device, number), row in counters.items():
        if number is not None and (table := _counters(row)):
            yield Hca(device, (HcaPort(number, hw_counters=table, tables_whole=None),), source="rdma")


def _rows(answer: CommandAnswer, problems: list[Problem]) -> tuple[RdmaRow, ...]:
    """Raises NotThisFormat with what the tool said instead."""
    if answer.failure or answer.exit_status:
        said = next(iter(answer.err.strip().splitlines()), f"exit status {answer.exit_status}")
        raise NotThisFormat(answer.failure or said[:400])
    if not answer.stdout.strip():  # versions before 5.0 print nothing for no rows
        return ()
    parsed = rdma.parse(answer.out, source=answer.command)
    problems += parsed.problems
    return parsed.value


def _merge(hca: Hca, told: Hca) -> tuple[Hca, list[Problem]]:
    problems = list(contradictions(hca.name, hca, told, _DEVICE_FIELDS, _SPEAKERS))
    others = {port.port: port for port in told.ports}
    both: Hca = fill(hca, told)
    ports = []
    for port in hca.ports:
        other = others.pop(port.port, None)
        if other is not None:
            problems += contradictions(f"{hca.name} port {port.port}", port, other, _PORT_FIELDS, _SPEAKERS)
            port = _merge_port(port, other)
        ports.append(port._replace(transport=transport_of(both, port.link_layer)))
    return both._replace(ports=(*ports, *others.values())), problems


def _merge_port(port: HcaPort, told: HcaPort) -> HcaPort:
    """Netlink names one netdev, which on a bond or on a card with representors may be any of the port's."""
    merged: HcaPort = fill(port, told)
    return merged._replace(
        netdevs=tuple(dict.fromkeys((*port.netdevs, *told.netdevs))),
        hw_counters=_both(port.hw_counters, told.hw_counters),
        tables_whole=port.tables_whole,
    )


def _both(files: CounterTable | None, told: CounterTable | None) -> CounterTable | None:
    """The counters that have files, and those that have none or do not tell their value there."""
    if files is None or told is None:
        return files or told
    values = {**files.values, **{name: value for name, value in told.values.items() if name not in files.values}}
    return CounterTable(values, {name: why for name, why in files.unreadable.items() if name not in values})


def _device(row: RdmaRow) -> Hca:
    return Hca(
        row.device,
        node_guid=guid_or_none(row.text("node_guid")),
        system_image_guid=guid_or_none(row.text("sys_image_guid")),
        firmware=row.text("fw"),
        node_type=_NODE_TYPES.get(row.text("node_type") or ""),
        protocol=row.text("protocol"),
        planes_of=row.text("parent") if row.text("type") == "smi" else None,
        source="rdma",
    )


def _port(row: RdmaRow, number: int, counters: RdmaRow | None) -> HcaPort:
    """Only ports that speak InfiniBand have LIDs, and only others name a netdev; planes of XDR have neither."""
    state, physical = row.text("state"), row.text("physical_state")
    netdev = row.text("netdev")
    return HcaPort(
        number,
        state=STATES.get(state or "", state),
        physical_state=_PHYSICAL_STATES.get(physical or "", physical),
        link_layer=INFINIBAND if "lid" in row.values else ETHERNET if netdev else None,
        lid=row.number("lid"),
        lmc=row.number("lmc"),
        sm_lid=row.number("sm_lid"),
        netdevs=(netdev,) if netdev else (),
        hw_counters=_counters(counters) if counters else None,
        tables_whole=None,
    )


def _counters(row: RdmaRow) -> CounterTable | None:
    values = {name: value for name in row.values if (value := row.number(name)) is not None}
    return CounterTable(values, {}) if values else None
