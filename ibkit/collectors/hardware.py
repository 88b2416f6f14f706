"""Modules, bit errors, switches' environment: from ``mlxlink`` of the host's ports, and from saved texts.

A live host asks ``mlxlink -d DEVICE -m -c``, which reads registers as root; ``mstlink`` is the same program of another
package. Nobody asks unmanaged switches (``ibswinfo`` takes seconds for each) nor runs ibdiagnet: their texts are read
where somebody saved them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.model.fabric import Fabric
from ibkit.model.findings import Place
from ibkit.model.hardware import BoardFirmware, CableTemperature, Hardware, PortHardware, SwitchHardware
from ibkit.model.host import Hca, HostHcas
from ibkit.model.ids import Guid
from ibkit.parsers import ibdiagnet_csv, ibdiagnet_records, ibswinfo, mlxlink
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.ibdiagnet_csv import Section
from ibkit.parsers.mlxlink import MlxlinkPort
from ibkit.sources.base import MISSING, NOT_RECORDED, CommandAnswer, Source
from ibkit.sources.raw import RawSource

PORT_TOOL, OTHER_PORT_TOOL = "mlxlink", "mstlink"
SWITCH_TOOL, TABLES = "ibswinfo", "ibdiagnet2.db_csv"
#: Whose outputs are read, where somebody saved one of them.
READS = (PORT_TOOL, SWITCH_TOOL, TABLES)
#: A module's EEPROM is read over a slow bus; a card that hangs does not answer at all (seconds).
DEADLINE_SECONDS = 20.0
#: Whose cards have the registers.
_DRIVERS = ("mlx5_core", "mlx5_ib")


def collect_host_hardware(source: Source, host: HostHcas) -> Hardware:
    """What the ports of a host tell; of a saved text, what is in it."""
    if isinstance(source, RawSource):
        return _of_ports(source, host.host, None, source.run((PORT_TOOL,)))
    found = Hardware()
    for hca in host.hcas:
        if hca.planes_of is None and hca.error is None and (hca.driver or "").startswith(_DRIVERS):
            told = _of_ports(source, host.host, hca, _ask(source, hca.name))
            found = found._replace(ports=found.ports + told.ports, problems=found.problems + told.problems)
    return found


def collect_fabric_hardware(source: Source, fabric: Fabric) -> Hardware:
    """What somebody saved of switches and of ibdiagnet's look at the fabric."""
    switches = source.run((SWITCH_TOOL,))
    found = Hardware()
    if switches.failure is None:
        found = _of_switches(source, switches)
    tables = source.run((TABLES,))
    if tables.failure is None:
        found = _of_tables(source, tables, fabric, found)
    return found


def _ask(source: Source, device: str) -> CommandAnswer:
    answer = source.run((PORT_TOOL, "-d", device, "-m", "-c"), deadline_seconds=DEADLINE_SECONDS)
    if answer.failure in (MISSING, NOT_RECORDED):
        other = source.run((OTHER_PORT_TOOL, "-d", device, "-m", "-c"), deadline_seconds=DEADLINE_SECONDS)
        return answer if other.failure in (MISSING, NOT_RECORDED) else other
    return answer


def _label(source: Source, answer: CommandAnswer) -> str:
    return source.path if isinstance(source, RawSource) else answer.command


def _of_ports(source: Source, host: str, hca: Hca | None, answer: CommandAnswer) -> Hardware:
    if answer.failure in (MISSING, NOT_RECORDED):
        return Hardware()
    label = _label(source, answer)
    try:
        parsed = mlxlink.parse(answer.out, source=label)
    except NotThisFormat:
        words = answer.err.strip() or answer.out.strip()
        why = words.splitlines()[0][:200] if words else answer.failure or "no output"
        return Hardware(
            problems=(
                Problem("no-modules", f"{answer.argv[0]} of {hca.name if hca else 'a port'}: {why}", None, label),
            )
        )
    ports = tuple(_port(host, hca, told, label) for told in parsed.value)
    return Hardware(ports, problems=parsed.problems, source=label)


def _port(host: str, hca: Hca | None, told: MlxlinkPort, label: str) -> PortHardware:
    known = next((port for port in hca.ports if port.port == told.port), None) if hca else None
    place = Place(
        host=host or None, device=hca.name if hca else told.device, port=told.port,
        guid=hca.node_guid if hca else None, port_guid=known.port_guid if known else None,
    )  # fmt: skip
    is_up = None if told.state is None else told.state == "Active"
    return PortHardware(place, is_up, told.module, told.counters, label, told.line)


def _of_switches(source: Source, answer: CommandAnswer) -> Hardware:
    label = _label(source, answer)
    try:
        parsed = ibswinfo.parse(answer.out, source=label)
    except NotThisFormat as error:
        return Hardware(problems=(Problem("no-output", str(error), None, label),))
    switches = []
    firmware = []
    for info in parsed.value:
        guid = None if info.guid is None else Guid(info.guid)
        place = Place(guid=guid, name=info.description, device=None if info.description else info.device)
        switches.append(SwitchHardware(place, info, label))
        if info.psid and info.firmware:
            firmware.append(BoardFirmware(place, info.psid, info.firmware, label, info.line))
    return Hardware(switches=tuple(switches), firmware=tuple(firmware), problems=parsed.problems, source=label)


def _of_tables(source: Source, answer: CommandAnswer, fabric: Fabric, found: Hardware) -> Hardware:
    label = _label(source, answer)
    try:
        sections = ibdiagnet_csv.parse(answer.out, source=label).value
    except NotThisFormat:
        return found
    cables = []
    firmware = []
    for section in sections:
        if section.name == ibdiagnet_records.CABLE_INFO:
            for cable in ibdiagnet_records.cables(section).value:
                if cable.celsius is not None:
                    place = _place(fabric, cable.guid, cable.port)
                    cables.append(CableTemperature(place, cable.celsius, label, cable.line))
        elif section.name == ibdiagnet_records.NODES_INFO:
            for node in ibdiagnet_records.firmware(section).value:
                if node.psid and node.version:
                    place = _place(fabric, node.guid)
                    firmware.append(BoardFirmware(place, node.psid, node.version, label, node.line))
    reports = tuple((_place(fabric, one.guid, one.port), one) for section in sections for one in _findings(section))
    return found._replace(
        cables=tuple(cables), firmware=found.firmware + tuple(firmware), reports=reports, source=found.source or label
    )


def _findings(section: Section) -> Sequence[ibdiagnet_records.SectionFinding]:
    if section.name.startswith(tuple(ibdiagnet_records.LEVELS)):
        return ibdiagnet_records.findings(section).value
    return ()


def _place(fabric: Fabric, guid: int | None, number: int | None = None) -> Place:
    node = fabric.nodes.get(Guid(guid)) if guid is not None else None
    port = next((port for port in node.ports if port.number == number), None) if node else None
    return Place(
        guid=None if guid is None else Guid(guid), name=node.name if node else None, port=number,
        label=port.label if port else None, port_guid=port.guid if port else None,
    )  # fmt: skip
