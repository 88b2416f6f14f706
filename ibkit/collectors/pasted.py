"""HCAs from what people paste: output of the tools that print a host's ports, one of them or several in one log.

A tool that comes first in the list speaks, the later ones fill in what it did not tell, and where two contradict each
other (a log may span a change) that is a problem.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from ibkit.collectors.absence import NO_DEVICE
from ibkit.collectors.ibstat import hca_of
from ibkit.collectors.merging import fill
from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX, rate_of, word_of
from ibkit.model.host import GidEntry, Hca, HcaPort
from ibkit.model.ids import Gid, Guid, gid_or_none, guid_or_none
from ibkit.model.port_state import (
    ETHERNET,
    INFINIBAND,
    LANES,
    PHYSICAL_STATE_OF_CODE,
    SPEEDS,
    STATE_OF_CODE,
    counted,
    mtu_bytes,
)
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.erased import TYPE_CHECKING, Any
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import MISSING, NOT_RECORDED, TIMEOUT, TOO_MUCH, CommandAnswer, Source

if TYPE_CHECKING:  # a parser is imported when its tool spoke
    from ibkit.parsers.ibdev2netdev import NetdevRow
    from ibkit.parsers.ibstat import IbstatDevice
    from ibkit.parsers.ibstatus import IbstatusPort
    from ibkit.parsers.ibv_devices import ListedDevice
    from ibkit.parsers.ibv_devinfo import DevinfoDevice, DevinfoPort
    from ibkit.parsers.mlxlink import MlxlinkPort
    from ibkit.parsers.rdma import RdmaRow
    from ibkit.parsers.show_gids import GidRow

#: What two tools must agree on.
_AGREED = ("state", "physical_state", "link_layer", "lid")
#: What one tool must say again when its output is there twice.
_DEVICE_REPEATED = ("node_guid", "system_image_guid", "hca_type", "firmware", "hardware", "board_id", "error")
_PORT_REPEATED = (*_AGREED, "lmc", "sm_lid", "rate_gbps", "width", "speed", "port_guid", "capability_mask")
#: Problems of the parsers that leave a gap in the evidence.
_GAPS = ("truncated", "lost-heading", "tool-error", "more-problems")
#: The tools read some files per port and take milliseconds, unless a card hangs.
DEADLINE_SECONDS = 20.0

_MLXLINK_STATES = {"Initialize": "Initializing", "Disable": "Down", "Polling": "Down"}
_MLXLINK_PHYSICAL = {"Disable": "Disabled", "Disabled": "Disabled", "LinkUp": "LinkUp", "Polling": "Polling"}
_ETHERNET_SPEED = re.compile(r"([0-9]{1,4})G(?:bE)?(?:_[0-9]X)?\Z")
_BUS_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_LANES_OF = re.compile(r"([0-9]{1,2})x\Z")
_TRANSPORTS = {"iWARP": "RNIC", "InfiniBand": "CA", "unspecified": "unspecified", "usNIC": "usNIC"}


class Told(NamedTuple):
    """All devices that any of the tools names. ``has_gaps`` is True where the evidence itself shows that some of it is
    missing, or contradicts itself.
    """

    hcas: tuple[Hca, ...]
    problems: list[Problem]
    has_gaps: bool


def read_tools(source: Source, tools: Iterable[str]) -> Told:
    """What the tools among ``tools`` say that were run."""
    merger = _Merger()
    for tool, convert in _READERS:
        if tool in tools:
            answer = source.run((tool,), deadline_seconds=DEADLINE_SECONDS)
            if answer.failure not in (MISSING, NOT_RECORDED):
                _read(tool, convert, answer, merger)
    return Told(tuple(counted(hca) for hca in (*merger.hcas.values(), *merger.nameless)), merger.problems, merger.gaps)


def _read(tool: str, convert: Callable[[Any], Iterator[Hca]], answer: CommandAnswer, merger: _Merger) -> None:
    """Take one tool's answer."""
    failure = _failure(answer)
    # Other parsers look for their tool's complaints among its lines, so they get these where there is nothing else.
    text = answer.out if answer.stdout.strip() or tool == "ibstat" else answer.err
    if not answer.stdout.strip() and not answer.stderr.strip():
        if failure:
            merger.tell("tool-failed", f"{tool} {failure}", answer.command)
        elif tool == "ibstat" and answer.exit_status == 0:
            merger.tell(NO_DEVICE, "no RDMA device: ibstat ran and printed nothing", answer.command)
        return
    more = {"stderr": answer.err} if tool == "ibstat" else {}
    try:
        parsed = importlib.import_module(f"ibkit.parsers.{tool}").parse(text, source=tool, **more)
    except NotThisFormat:
        said = (answer.err.strip() or answer.out.strip()).splitlines()[0][:500]
        merger.tell("tool-failed", f"{tool}{f' {failure}' if failure else ''}: {said}", answer.command)
        return
    merger.problems += parsed.problems
    merger.gaps |= parsed.complete is False or any(problem.kind in _GAPS for problem in parsed.problems)
    if failure and not (tool == "ibstatus" and any(problem.kind == NO_DEVICE for problem in parsed.problems)):
        merger.tell("tool-failed", f"{tool} {failure}, so that some of its output may be missing", answer.command)
    devices = list(convert(parsed.value))
    for hca in devices:
        merger.add(hca, tool)
    if not devices and not parsed.problems:
        reader = "; `ibkit consumers` reads its queue pairs" if tool == "rdma" else ""
        merger.tell(NOT_RECORDED, f"this output of {tool} names no device{reader}", answer.command)


def _failure(answer: CommandAnswer) -> str | None:
    """How the tool failed. Where nobody knows its exit status, it is taken to have ended well."""
    if answer.failure == TIMEOUT:
        return "did not end in time"
    if answer.failure == TOO_MUCH:
        return "printed more than is kept"
    if answer.failure:
        return f"could not be run ({answer.failure})"
    if answer.exit_status is not None and answer.exit_status < 0:
        return f"was ended by signal {-answer.exit_status}"
    return f"ended with exit status {answer.exit_status}" if answer.exit_status else None


class _Merger:
    """Makes one device of all that is told of it, and finds where that differs."""

    def __init__(self) -> None:
        self.hcas: dict[str, Hca] = {}
        self.nameless: list[Hca] = []
        self.problems: list[Problem] = []
        self.gaps = False
        self._told: set[tuple[str, str, int]] = set()

    def tell(self, kind: str, text: str, source: str) -> None:
        """A problem that leaves a gap in the evidence."""
        self.gaps = True
        self.problems.append(Problem(kind, text, None, source))

    def add(self, hca: Hca, tool: str) -> None:
        """Take a device, or what else is told of one."""
        if not hca.name and hca.bus_address:
            same = (name for name, known in self.hcas.items() if known.bus_address == hca.bus_address)
            hca = hca._replace(name=next(same, ""))
        known = self.hcas.get(hca.name)
        if not hca.name:
            self.nameless.append(hca)
        elif known is None:
            self.hcas[hca.name] = hca
        else:
            self.hcas[hca.name] = self._both(known, hca, tool)
        self._told |= {(tool, hca.name, port.port) for port in hca.ports}

    def _both(self, speaker: Hca, other: Hca, tool: str) -> Hca:
        again = any((tool, other.name, port.port) in self._told for port in other.ports)
        equal = not again or self._agree(speaker.name, speaker, other, _DEVICE_REPEATED, tool, tool)
        others = {port.port: port for port in other.ports}
        ports = []
        for port in speaker.ports:
            told = others.pop(port.port, None)
            if told is not None:
                repeated = (tool, other.name, port.port) in self._told
                fields, first = (_PORT_REPEATED, tool) if repeated else (_AGREED, speaker.source)
                equal &= self._agree(f"{speaker.name} port {port.port}", port, told, fields, first, tool)
                port = fill(port, told)
            ports.append(port)
        if again and equal:
            text = f"{speaker.name}: {tool} is here more than once, and says the same"
            self.problems.append(Problem("repeated", text, None, tool))
        merged: Hca = fill(speaker, other)
        return merged._replace(ports=tuple(sorted((*ports, *others.values()), key=lambda one: one.port)))

    def _agree(self, where: str, one: Any, other: Any, fields: Iterable[str], first: str | None, second: str) -> bool:
        equal = True
        for field in fields:
            mine, theirs = getattr(one, field), getattr(other, field)
            if mine is not None and theirs is not None and mine != theirs:
                equal = False
                told = f"first {mine}, then {theirs}, by {first}" if first == second else (
                    f"{mine} by {first}, {theirs} by {second}"
                )  # fmt: skip
                self.tell("contradiction", f"{where}: {field} is {told}", second)
        return equal


def _of_ibstat(devices: Iterable[IbstatDevice]) -> Iterator[Hca]:
    return (hca_of(device) for device in devices)


def _of_ibstatus(ports: Iterable[IbstatusPort]) -> Iterator[Hca]:
    for name, group in groupby(ports, lambda port: port.device):
        told = list(group)
        if any(value is not None for port in told for value in port[2:]):
            yield Hca(name, tuple(map(_ibstatus_port, told)), source="ibstatus")
        else:
            yield Hca(name, source="ibstatus", error="ibstatus could not read its files")


def _ibstatus_port(told: IbstatusPort) -> HcaPort:
    rate, width, speed = rate_of(told.rate or "") or (None, None, None)
    gid = gid_or_none(told.default_gid)
    return HcaPort(
        told.port,
        state=word_of(told.state, STATE_OF_CODE),
        physical_state=word_of(told.physical_state, PHYSICAL_STATE_OF_CODE),
        link_layer=told.link_layer,
        lid=told.base_lid,
        sm_lid=told.sm_lid,
        rate_gbps=rate,
        width=width,
        speed=speed,
        port_guid=_port_guid(gid, told.link_layer),
        tables_whole=None,
    )


def _of_devinfo(devices: Iterable[DevinfoDevice]) -> Iterator[Hca]:
    for told in devices:
        transport = (told.transport or "").split(" ")[0]
        hca = Hca(
            told.name,
            node_guid=guid_or_none(told.node_guid),
            system_image_guid=guid_or_none(told.sys_image_guid),
            firmware=told.fw_ver if told.fw_ver != "0.0.0" else None,  # what libibverbs makes of none
            hardware=told.hw_ver,
            board_id=told.board_id,
            node_type=_TRANSPORTS.get(transport),
            vendor_id=told.vendor_id,
            vendor_part_id=told.vendor_part_id,
            source="ibv_devinfo",
        )
        yield hca._replace(ports=tuple(_devinfo_port(port) for port in told.ports))


def _devinfo_port(told: DevinfoPort) -> HcaPort:
    lanes = LANES.get(told.active_width or 0)
    speed, lane_gbps = SPEEDS.get(told.active_speed or 0, (None, None))
    gids = [(entry.gid_index, gid, entry.type) for entry in told.gids or () if (gid := gid_or_none(entry.gid))]
    first = next((gid for index, gid, _ in gids if index == 0), None)
    return HcaPort(
        told.port,
        state=None if told.state is None else STATE_OF_CODE.get(told.state),
        physical_state=None if told.phys_state is None else PHYSICAL_STATE_OF_CODE.get(told.phys_state),
        link_layer=told.link_layer if told.link_layer in (INFINIBAND, ETHERNET) else None,
        lid=told.port_lid,
        lmc=told.port_lmc,
        sm_lid=told.sm_lid,
        sm_sl=told.sm_sl,
        rate_gbps=lanes * lane_gbps if lanes and lane_gbps else None,
        width=f"{lanes}x" if lanes else None,
        speed=speed,
        port_guid=_port_guid(first, told.link_layer),
        capability_mask=told.port_cap_flags,
        gids=tuple(GidEntry(index, gid, _gid_type(kind, told.link_layer)) for index, gid, kind in gids),
        active_mtu_bytes=mtu_bytes(told.active_mtu),
        max_mtu_bytes=mtu_bytes(told.max_mtu),
        tables_whole=None,
    )


def _gid_type(kind: str | None, link_layer: str | None) -> str | None:
    """The kernel has one name for IB and RoCE v1, and the tool prints types only where they are not the usual one."""
    if link_layer == INFINIBAND:
        return "IB"
    return {"RoCE v2": "RoCE v2", "RoCE v1": "RoCE v1", "IB/RoCE v1": "RoCE v1"}.get(kind or "")


def _of_rdma(rows: Iterable[RdmaRow]) -> Iterator[Hca]:
    from ibkit.collectors.netlink import hcas_of

    return hcas_of(rows)


def _of_netdevs(rows: Iterable[NetdevRow]) -> Iterator[Hca]:
    """The state of the interface is not the port's."""
    from ibkit.collectors.netlink import STATES

    for name, group in groupby(rows, lambda row: row.device):
        told = list(group)
        ports = [
            HcaPort(
                number,
                state=STATES.get(rows_of[0].state or "", rows_of[0].state),
                netdevs=tuple(row.netdev for row in rows_of),
                tables_whole=None,
            )
            for number in dict.fromkeys(row.port for row in told)
            if (rows_of := [row for row in told if row.port == number])
        ]
        first = told[0]
        yield Hca(
            name, tuple(ports), hca_type=first.hca_type, firmware=first.firmware, bus_address=first.bus_address,
            source="ibdev2netdev",
        )  # fmt: skip


def _of_gids(rows: Iterable[GidRow]) -> Iterator[Hca]:
    for (name, number), group in groupby(rows, lambda row: (row.device, row.port)):
        told = list(group)
        is_roce = any(row.version == "v2" for row in told)  # InfiniBand's are all v1 there
        kinds = {"v1": "RoCE v1" if is_roce else None, "v2": "RoCE v2", None: None}
        port = HcaPort(
            number,
            link_layer=ETHERNET if is_roce else None,
            gids=tuple(
                GidEntry(row.gid_index, gid, kinds[row.version], row.netdev)
                for row in told
                if (gid := gid_or_none(row.gid))
            ),
            netdevs=tuple(dict.fromkeys(row.netdev for row in told if row.netdev)),
            tables_whole=None,
        )
        yield Hca(name, (port,), source="show_gids")


def _of_device_list(devices: Iterable[ListedDevice]) -> Iterator[Hca]:
    return (Hca(told.name, node_guid=guid_or_none(told.node_guid), source="ibv_devices") for told in devices)


def _of_mlxlink(ports: Iterable[MlxlinkPort]) -> Iterator[Hca]:
    """The tool takes a device's name or the address of its PCI function."""
    for told in ports:
        address = told.device if _BUS_ADDRESS.match(told.device or "") else None
        name = "" if address else told.device or ""
        yield Hca(name, (_mlxlink_port(told),), firmware=told.firmware, bus_address=address, source="mlxlink")


def _mlxlink_port(told: MlxlinkPort) -> HcaPort:
    """On Ethernet the tool has one word for both states, and below Polling the step of its autonegotiation."""
    physical = _MLXLINK_PHYSICAL.get(told.physical_state or "", told.physical_state)
    if told.state == "Polling" and physical and physical.startswith("ETH_AN_FSM_"):
        physical = "Polling"
    infiniband = (told.speed or "").startswith("IB-")
    ethernet = _ETHERNET_SPEED.match(told.speed or "")
    lanes = _LANES_OF.match(told.width or "")
    speed = (told.speed or "")[3:] if infiniband else None
    lane_gbps = next((gbps for name, gbps in SPEEDS.values() if name == speed), None)
    rate = float(ethernet[1]) if ethernet else int(lanes[1]) * lane_gbps if lanes and lane_gbps else None
    return HcaPort(
        told.port,
        state=_MLXLINK_STATES.get(told.state or "", told.state),
        physical_state=physical,
        link_layer=INFINIBAND if infiniband else ETHERNET if ethernet else None,
        rate_gbps=rate,
        width=f"{lanes[1]}x" if lanes else None,
        speed=speed,
        tables_whole=None,
    )


def _port_guid(first: Gid | None, link_layer: str | None) -> Guid | None:
    """The interface id of GID 0; on Ethernet GID 0 may be an IPv4 address instead."""
    if first is None or (first and link_layer != INFINIBAND and first.subnet_prefix != LINK_LOCAL_PREFIX):
        return None
    return first.guid


#: A tool, whose parser has its name, and what makes devices of what the parser read.
_READERS: tuple[tuple[str, Callable[[Any], Iterator[Hca]]], ...] = (
    ("ibstat", _of_ibstat),
    ("ibv_devinfo", _of_devinfo),
    ("ibstatus", _of_ibstatus),
    ("rdma", _of_rdma),
    ("ibdev2netdev", _of_netdevs),
    ("show_gids", _of_gids),
    ("mlxlink", _of_mlxlink),
    ("ibv_devices", _of_device_list),
)
#: The tools whose output `ibkit status` reads from a file.
TOOLS = tuple(tool for tool, _ in _READERS)
