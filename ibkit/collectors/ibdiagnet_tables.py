"""Put the tables of ``ibdiagnet2.db_csv`` together: the same fabric as from ibnetdiscover, with states. Pure.

NODES has the nodes, PORTS their ports with all codes as they are, LINKS each link once. PORT_HIERARCHY_INFO, of newer
versions, has the ports' labels and planes (XDR), which UFM's plugin for cabling reads (Mellanox/ufm_sdk_3.0, ndt).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.collectors.cabling import end_key
from ibkit.collectors.lids import MAX_LMC
from ibkit.collectors.ports_report import Unlinked
from ibkit.collectors.topology import assemble_blocks
from ibkit.display import and_more
from ibkit.model.fabric import Fabric, FabricPort, Node
from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.ibdiagnet_csv import Row, Section
from ibkit.parsers.ibnetdiscover import MAX_PORT, NodeBlock, PortRow
from ibkit.parsers.records import NamedTuple

#: The sections that are of use here.
SECTIONS = ("NODES", "PORTS", "LINKS", "PORT_HIERARCHY_INFO")
_NEEDED = SECTIONS[:3]

_KINDS = {1: ("Ca", "H"), 2: ("Switch", "S"), 3: ("Rt", "R")}
_UNKNOWN = ("???", "?")
#: Codes of InfiniBand Architecture Specification volume 1, section 14.2.5.6 (PortInfo).
_STATES = {1: "Down", 2: "Initialize", 3: "Armed", 4: "Active"}
_PHYSICAL_STATES = {
    1: "Sleep", 2: "Polling", 3: "Disabled", 4: "PortConfigurationTraining", 5: "LinkUp", 6: "LinkErrorRecovery",
    7: "PhyTest",
}  # fmt: skip
_WIDTHS = {1: "1x", 2: "4x", 4: "8x", 8: "12x", 16: "2x"}
#: ibdiagnet has all fields of the speed in one number: a byte each for LinkSpeedActive, LinkSpeedExtActive, NVIDIA's
#: own speeds and LinkSpeedExtActive2.
_SPEEDS = {
    1: "SDR", 2: "DDR", 4: "QDR", 1 << 8: "FDR", 2 << 8: "EDR", 4 << 8: "HDR", 8 << 8: "NDR", 1 << 16: "FDR10",
    1 << 24: "XDR",
}  # fmt: skip
_MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}


class _Port(NamedTuple):
    guid: int | None
    lid: int | None
    lmc: int | None
    width: str | None
    speed: str | None
    state: str | None
    physical_state: str | None
    details: dict[str, Any]  # further fields of FabricPort

    @property
    def is_down(self) -> bool:
        return self.state == "Down"


_NO_PORT = _Port(None, None, None, None, None, None, None, {})


def assemble_tables(parsed: Parsed[tuple[Section, ...]], *, source: str) -> Fabric:
    """The fabric that one file shows. What ibdiagnet itself could not reach is in its log, not here."""
    tables = _Tables(parsed.value, source)
    nodes = _nodes_of(tables)
    ports = _ports_of(tables)
    rows: dict[int, list[PortRow]] = {guid: [] for guid in nodes}
    cabled = set()
    for line, *ends in _links_of(tables):
        for end, peer in (ends, ends[::-1]):
            cabled.add(end_key(*end))
            if end[0] in rows:
                rows[end[0]].append(_row(tables, nodes, ports, end, peer, line))
    blocks = [_block(tables, guid, row, rows[guid], ports) for guid, row in nodes.items()]
    unlinked = [
        Unlinked(key >> 8, key & 0xFF, port.guid, port.lid)
        for key, port in ports.items()
        if key & 0xFF and key not in cabled and key >> 8 in nodes
    ]
    lost = [key for key, port in ports.items() if key & 0xFF and key not in cabled and port.state not in (None, "Down")]
    problems = (*parsed.problems, *tables.problems(), *_remarks(tables, nodes, lost))
    lacking = parsed.complete is False or tables.damaged or bool(tables.missing) or bool(lost)
    fabric = assemble_blocks(blocks, unlinked, problems, source=source, lacking=lacking, swept_clean=None)
    hierarchy = _hierarchy(tables)
    return fabric._replace(nodes={guid: _with_states(node, ports, hierarchy) for guid, node in fabric.nodes.items()})


class _Tables:
    """The sections, and the rows of them that make no sense."""

    def __init__(self, sections: Iterable[Section], source: str) -> None:
        self._sections: dict[str, Section] = {}
        for section in sections:
            self._sections.setdefault(section.name, section)
        self.source = source
        self._columns: dict[tuple[str, ...], int | None] = {}
        self._bad: dict[str, int] = {}

    @property
    def missing(self) -> list[str]:
        return [name for name in _NEEDED if name not in self._sections]

    @property
    def damaged(self) -> bool:
        return bool(self._bad)

    def rows(self, section: str, *key: str) -> Iterator[tuple[int, Row]]:
        """The rows whose key column holds a number, with it."""
        table = self._sections.get(section)
        for row in table.rows if table else ():
            number = self.number(section, row, *key)
            if number is None:
                self.bad(section)
            else:
                yield number, row

    def number(self, section: str, row: Row, *names: str) -> int | None:
        """The number in a column; None where there is no such column or no number in it."""
        return _number(self.text(section, row, *names))

    def text(self, section: str, row: Row, *names: str) -> str | None:
        """What is in a column, under any of its names."""
        wanted = (section, *names)
        if wanted not in self._columns:
            self._columns[wanted] = self._sections[section].column(*names)
        column = self._columns[wanted]
        return None if column is None else row.values[column]

    def bad(self, section: str) -> None:
        """Count a row that could not be used."""
        self._bad[section] = self._bad.get(section, 0) + 1

    def problems(self) -> Iterator[Problem]:
        """One for each section with such rows."""
        for section, count in self._bad.items():
            yield Problem("bad-line", f"{count} rows of {section} make no sense", None, self.source)


def _nodes_of(tables: _Tables) -> dict[int, Row]:
    nodes: dict[int, Row] = {}
    for guid, row in tables.rows("NODES", "NodeGUID"):
        if nodes.setdefault(guid, row) is not row:
            tables.bad("NODES")
    return nodes


def _ports_of(tables: _Tables) -> dict[int, _Port]:
    ports = {}
    for guid, row in tables.rows("PORTS", "NodeGUID"):
        number = tables.number("PORTS", row, "PortNum", "PortNumber")
        if number is None or number > MAX_PORT:
            tables.bad("PORTS")
            continue
        state = tables.number("PORTS", row, "PortState")
        physical = tables.number("PORTS", row, "PortPhyState")
        # A port that is down may have anything in the fields of its link
        up = state != 1
        if up and (tables.number("PORTS", row, "LMC") or 0) > MAX_LMC:
            tables.bad("PORTS")
        ports[end_key(guid, number)] = _Port(
            tables.number("PORTS", row, "PortGUID"), tables.number("PORTS", row, "LID"),
            _lmc(tables, row),
            _WIDTHS.get(tables.number("PORTS", row, "LinkWidthActv") or 0) if up else None,
            _speed(tables.number("PORTS", row, "LinkSpeedActv") or 0) if up else None,
            _STATES.get(state or 0), _PHYSICAL_STATES.get(physical or 0), _details(tables, row) if up else {},
        )  # fmt: skip
    return ports


def _lmc(tables: _Tables, row: Row) -> int | None:
    """One that has more bits than PortInfo's is none: nobody could go through so many LIDs."""
    lmc = tables.number("PORTS", row, "LMC")
    return lmc if lmc is None or lmc <= MAX_LMC else None


def _details(tables: _Tables, row: Row) -> dict[str, Any]:
    """What else PortInfo tells of a port that is not down. 0 is no LID, no prefix and no MTU."""

    def number(name: str) -> int:
        return tables.number("PORTS", row, name) or 0

    return {
        "lmc": _lmc(tables, row),
        "sm_lid": number("MSMLID") or None,
        "subnet_prefix": number("GIDPrfx") or None,
        "mtu_bytes": _MTUS.get(number("NMTU")),
        "max_mtu_bytes": _MTUS.get(number("MTUCap")),
        "enabled_width": _words(number("LinkWidthEn"), _WIDTHS),
        "supported_width": _words(number("LinkWidthSup"), _WIDTHS),
        "enabled_speed": _words(number("LinkSpeedEn"), _SPEEDS),
        "supported_speed": _words(number("LinkSpeedSup"), _SPEEDS),
    }


def _hierarchy(tables: _Tables) -> dict[int, dict[str, Any]]:
    """Label and plane of ports; a label that only repeats the port's number says nothing."""
    told = {}
    for guid, row in tables.rows("PORT_HIERARCHY_INFO", "NodeGUID"):
        number = tables.number("PORT_HIERARCHY_INFO", row, "PortNum", "PortNumber")
        if number is None or number > MAX_PORT:
            tables.bad("PORT_HIERARCHY_INFO")
            continue
        label = tables.text("PORT_HIERARCHY_INFO", row, "ExtendedLabel", "Label", "PortLabel") or None
        plane = tables.number("PORT_HIERARCHY_INFO", row, "Plane", "PlaneNum", "PlaneNumber")
        told[end_key(guid, number)] = {
            "label": None if label in ("N/A", str(number)) else label,
            "plane": plane or None,
        }
    return told


def _links_of(tables: _Tables) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Line and both ends of each link."""
    for guid, row in tables.rows("LINKS", "NodeGUID1"):
        number = tables.number("LINKS", row, "PortNum1", "PortNumber1")
        peer = tables.number("LINKS", row, "NodeGUID2")
        peer_number = tables.number("LINKS", row, "PortNum2", "PortNumber2")
        if number is None or peer is None or peer_number is None or max(number, peer_number) > MAX_PORT:
            tables.bad("LINKS")
        else:
            yield row.line, (guid, number), (peer, peer_number)


def _kind(tables: _Tables, row: Row | None) -> tuple[str, str]:
    if row is None:
        return _UNKNOWN
    return _KINDS.get(tables.number("NODES", row, "NodeType") or 0, _UNKNOWN)


def _row(
    tables: _Tables,
    nodes: dict[int, Row],
    ports: dict[int, _Port],
    end: tuple[int, int],
    peer: tuple[int, int],
    line: int,
) -> PortRow:
    port, peer_port = ports.get(end_key(*end), _NO_PORT), ports.get(end_key(*peer), _NO_PORT)
    is_switch = _kind(tables, nodes[end[0]])[0] == "Switch"
    peer_letter = _kind(tables, nodes.get(peer[0]))[1]
    name = tables.text("NODES", nodes[peer[0]], "NodeDesc") if peer[0] in nodes else None
    return PortRow(
        line, end[1], None if is_switch else port.guid, peer_letter, peer[0], peer[1],
        None if peer_letter == "S" else peer_port.guid, None if is_switch else port.lid,
        None if is_switch else port.lmc, name, None, port.width, port.speed,
    )  # fmt: skip


def _block(tables: _Tables, guid: int, row: Row, rows: list[PortRow], ports: dict[int, _Port]) -> NodeBlock:
    kind = _kind(tables, row)[0]
    port0 = ports.get(end_key(guid, 0), _NO_PORT) if kind == "Switch" else _NO_PORT
    return NodeBlock(
        row.line, kind, guid, tables.text("NODES", row, "NodeDesc"), tables.number("NODES", row, "NumPorts"),
        tuple(rows), lid=port0.lid, lmc=port0.lmc, system_image_guid=tables.number("NODES", row, "SystemImageGUID"),
        vendor_id=tables.number("NODES", row, "VendorID"), device_id=tables.number("NODES", row, "DeviceID"),
    )  # fmt: skip


def _remarks(tables: _Tables, nodes: dict[int, Row], lost: list[int]) -> Iterator[Problem]:
    source = tables.source
    if tables.missing:
        yield Problem("partial", f"the file has no section {' and no '.join(tables.missing)}", None, source)
    if lost and "LINKS" not in tables.missing:
        row = nodes.get(lost[0] >> 8)
        name = tables.text("NODES", row, "NodeDesc") if row else None
        more = f"{and_more(len(lost) - 1, 'port')} {'have' if len(lost) > 1 else 'has'}"
        text = f"port {lost[0] & 0xFF} of {name or 'a node without name'}{more} a link, but no neighbour in LINKS"
        yield Problem("unknown-neighbour", text, None, source)


def _with_states(node: Node, ports: dict[int, _Port], hierarchy: dict[int, dict[str, Any]]) -> Node:
    return node._replace(
        ports=tuple(
            _with_state(port, ports.get(key, _NO_PORT))._replace(**hierarchy.get(key, {}))
            for port in node.ports
            for key in (end_key(node.guid, port.number),)
        )
    )


def _with_state(port: FabricPort, known: _Port) -> FabricPort:
    """A port that is not down has a link, whether or not its neighbour is known."""
    port = port._replace(physical_state=known.physical_state, **known.details)
    if known.state is None:
        return port
    width, speed = (known.width, known.speed) if port.peer is None else (port.width, port.speed)
    return port._replace(state=known.state, linked=not known.is_down, width=width, speed=speed)


def _speed(code: int) -> str | None:
    """The fastest that is set: a port names the base speed beside the extended one."""
    return next((name for bit, name in sorted(_SPEEDS.items(), reverse=True) if code & bit), None)


def _words(code: int, names: dict[int, str]) -> str | None:
    """All that are set, the least first; None where a bit is not known: it might be the best."""
    if not code or code & ~sum(names):
        return None
    order = sorted(names, key=lambda bit: (int(names[bit][:-1]) if names is _WIDTHS else 0, bit))
    return " or ".join(names[bit] for bit in order if code & bit)


def _number(text: str | None) -> int | None:
    """Decimal or ``0x``; None for what is neither."""
    try:
        number = int(text or "", 16 if (text or "")[:2] in ("0x", "0X") else 10)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None
