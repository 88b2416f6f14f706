"""The bulk answers of ``saquery`` that describe a whole subnet, as typed records: of 10,000 hosts they are 200 MB.

``saquery NR`` (nodes), ``PIR`` (ports), ``LR`` (links), ``GIR`` (GUIDs of ports) and ``SMIR`` (managers), in one text
or several. The format is that of :mod:`ibkit.parsers.saquery`, which reads whatever is not exactly as the tool prints
it, so that this module may look at the common form alone. Fields: InfiniBand Architecture Specification volume 1,
15.2.5 (records) and 14.2.5.6 (PortInfo); words: rdma-core, ``libibmad/dump.c``.

What a reader must know:

* Of a port that is down only the two states mean anything (C14-24.2.1), so nothing else is told of it.
* A switch's GID prefix, LID and SM's LID are port 0's; its other ports have zeros there.
* ``LinkSpeedActive`` counts only where ``LinkSpeedExtActive`` (and ``LinkSpeedExtActive2``, XDR, where it is printed)
  has nothing. FDR10 is in none of them: such a port says 10.0 Gbps, like QDR.
* Old versions print LIDs as hexadecimal numbers.
* ``port_num`` of a NodeRecord is what the node said to the SM's question, also in the record of its other port: of a
  channel adapter with two ports it proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ibkit.parsers import saquery
from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Message
from ibkit.parsers.erased import Any
from ibkit.parsers.lines import count_of
from ibkit.parsers.link_row import SPEEDS, width_of
from ibkit.parsers.records import NamedTuple

#: ``node_type`` as printed.
SWITCH, CHANNEL_ADAPTER, ROUTER = "Switch", "Channel Adapter", "Router"
DOWN = "Down"
#: PortInfo's CapabilityMask: a subnet manager runs on the port (volume 1, table 146, IsSM).
IS_SM = 1 << 1

_NODES, _PORTS, _LINKS = "NodeRecord dump:\n", "PortInfoRecord dump:\n", "LinkRecord dump:\n"
_NUMBER = r"(0x[0-9A-Fa-f]{1,16}|[0-9]{1,10})"
# Quantifiers next to each other are possessive: else a damaged record would be tried in each of millions of ways.
_NODE = re.compile(
    rf"\t\tlid\.++{_NUMBER}\n\t\treserved.*+\n\t\tbase_version.*+\n\t\tclass_version.*+\n"
    rf"\t\tnode_type\.++(.*+)\n\t\tnum_ports\.++{_NUMBER}\n\t\tsys_guid\.++{_NUMBER}\n\t\tnode_guid\.++{_NUMBER}\n"
    rf"\t\tport_guid\.++{_NUMBER}\n\t\tpartition_cap.*+\n\t\tdevice_id\.++{_NUMBER}\n\t\trevision.*+\n"
    rf"\t\tport_num\.++{_NUMBER}\n\t\tvendor_id\.++{_NUMBER}\n\t\tNodeDescription\.{{9}}(.*+)\n\Z"
)
_LINK = re.compile(
    rf"\t\tFromLID\.++{_NUMBER}\n\t\tFromPort\.++{_NUMBER}\n\t\tToPort\.++{_NUMBER}\n\t\tToLID\.++{_NUMBER}\n\Z"
)
_PORT = re.compile(rf"\tRID\n\t\tEndPortLid\.++{_NUMBER}\n\t\tPortNum\.++{_NUMBER}\n\t\tOptions.*+\n\tPortInfo dump:\n")
_NODE_NUMBERS = (
    "lid", "num_ports", "sys_guid", "node_guid", "port_guid", "device_id", "port_num", "vendor_id",
)  # fmt: skip
#: A line of PortInfo: a field, or a flag of a capability mask.
_FIELD = re.compile(r"\t\t(?:([A-Z]\w*):\.++(.*)|\t\tIs[A-Z]\w+)\n")
#: The last field that every version prints (libibmad, ``fields.c``), which a whole PortInfo has.
_LAST_FIELD = "RoundTrip"
_TITLES = {_NODES: "nodes", _PORTS: "ports", _LINKS: "links"}
#: Words for "none of these", and a remark of the tool's behind a list.
_NO_SPEED = frozenset({"", "0", "No Extended Speed", "No Extended Speed 2", "Extended speed", "undefined (0)"})
_REMARK = " (IBA extension)"
_MTUS = frozenset({"256", "512", "1024", "2048", "4096"})
_MAX_LID, _MAX_PORT, _MAX_LMC = 0xFFFF, 0xFF, 7
#: So many different PortInfos are kept: those of one switch's ports are alike.
_MEMORY = 1 << 12


class PortInfo(NamedTuple):
    """What means something of a PortInfo; the words are the tool's, but widths like ``4x`` and speeds like ``HDR``.

    ``mtu_bytes`` is NeighborMTU. ``lid`` and ``sm_lid`` are None for 0. ``guid_capacity`` is the length of the port's
    table of GUIDs. The short form (``saquery -s``) has ``lid``, ``sm_lid`` and ``is_sm`` alone.
    """

    state: str | None = None
    physical_state: str | None = None
    lid: int | None = None
    lmc: int | None = None
    sm_lid: int | None = None
    subnet_prefix: int | None = None
    width: str | None = None
    enabled_width: str | None = None
    supported_width: str | None = None
    speed: str | None = None
    enabled_speed: str | None = None
    supported_speed: str | None = None
    mtu_bytes: int | None = None
    max_mtu_bytes: int | None = None
    is_sm: bool | None = None
    guid_capacity: int | None = None


class SaNode(NamedTuple):
    """A NodeRecord: of a switch one, of another node one for each port that the SM has set up. GUIDs are integers."""

    line: int
    lid: int
    type: str
    port_count: int
    system_image_guid: int
    guid: int
    port_guid: int
    device_id: int
    port: int
    vendor_id: int
    name: str


class SaPort(NamedTuple):
    """A PortInfoRecord: of a switch one for each port and one for port 0, all under its LID."""

    line: int
    lid: int
    port: int
    info: PortInfo


class SaLink(NamedTuple):
    """A LinkRecord; each link is there from both of its ends."""

    line: int
    lid: int
    port: int
    peer_port: int
    peer_lid: int


class SaGuids(NamedTuple):
    """A GUIDInfoRecord: eight entries of the table of GUIDs of the port at ``lid``; 0 is an empty one."""

    line: int
    lid: int
    block: int
    guids: tuple[int, ...]


class SaManager(NamedTuple):
    """An SMInfoRecord. ``state`` is the number of the state."""

    line: int
    lid: int
    guid: int
    activity: int
    priority: int
    state: int


class SaRecords(NamedTuple):
    """All of a text. ``others`` are the types of records that are not read here."""

    nodes: tuple[SaNode, ...] = ()
    ports: tuple[SaPort, ...] = ()
    links: tuple[SaLink, ...] = ()
    guids: tuple[SaGuids, ...] = ()
    managers: tuple[SaManager, ...] = ()
    others: frozenset[str] = frozenset()
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[SaRecords]:
    """Read all records. ``complete`` is False where one is cut or makes no sense, else None: there is no end mark.

    Raises NotThisFormat where there is neither a record nor a refusal of the SA.
    """
    with no_cyclic_gc():
        return _common_form(text) or _any_form(text, source)


# The common form


def _common_form(text: str) -> Parsed[SaRecords] | None:
    """A text that is exactly what ``saquery NR``, ``PIR`` or ``LR`` prints; None for any other."""
    title = next((title for title in _TITLES if text.startswith(title)), None)
    if title is None:
        return None
    read: Callable[[int, str], Any] = {_NODES: _node, _PORTS: _Ports().read, _LINKS: _link}[title]
    made = []
    line, start = 1, len(title)
    while True:
        stop = text.find(f"\n{title}", start) + 1  # a name may end with a title's words
        chunk = text[start : stop or len(text)]
        record = read(line, chunk)
        if record is None or not _is_plausible(record):
            return None
        made.append(record)
        if not stop:
            of_one_type: dict[str, Any] = {_TITLES[title]: tuple(made)}
            return Parsed(SaRecords(**of_one_type))
        line += chunk.count("\n") + 1
        start = stop + len(title)


def _node(line: int, chunk: str) -> SaNode | None:
    found = _NODE.match(chunk)
    if found is None:
        return None
    lid, kind, count, system, guid, port_guid, device, port, vendor, name = found.groups()
    return SaNode(
        line, _value(lid), kind, _value(count), _value(system), _value(guid), _value(port_guid), _value(device),
        _value(port), _value(vendor), name,
    )  # fmt: skip


def _link(line: int, chunk: str) -> SaLink | None:
    found = _LINK.match(chunk)
    return SaLink(line, *map(_value, found.groups())) if found else None


class _Ports:
    """Reads PortInfoRecords; a PortInfo that was there before, word for word, is known."""

    def __init__(self) -> None:
        self._known: dict[str, PortInfo | None] = {}

    def read(self, line: int, chunk: str) -> SaPort | None:
        """The record behind a title."""
        head = _PORT.match(chunk)
        if head is None:
            return None
        tail = chunk[head.end() :]
        if tail not in self._known:
            if len(self._known) >= _MEMORY:
                self._known.clear()
            self._known[tail] = _port_info_of(tail)
        info = self._known[tail]
        return None if info is None else SaPort(line, _value(head[1]), _value(head[2]), info)


def _port_info_of(tail: str) -> PortInfo | None:
    """None where a line is none of the tool's, a field is there twice, or the end is missing."""
    fields: dict[str, str] = {}
    position = 0
    while position < len(tail):
        found = _FIELD.match(tail, position)
        if found is None or found[1] in fields:
            return None
        if found[1] is not None:
            fields[found[1]] = found[2]
        position = found.end()
    return port_info(fields) if _LAST_FIELD in fields else None


# Any form


def _any_form(text: str, source: str) -> Parsed[SaRecords]:
    answer = saquery.parse(text, source=source)
    found: dict[str, list[Any]] = {kind: [] for kind in _READERS}
    others = set()
    bad = []
    for record in answer.value.records:
        if record.type not in _READERS:
            others.add(record.type)
            continue
        made = _made(record)
        if made is None:
            bad.append(record)
        else:
            found[record.type].append(made)
    problems = answer.problems
    if bad:
        count = "a record" if len(bad) == 1 else f"{len(bad)} records"
        told = f"{count} that cannot be used, the first a {bad[0].type}: cut, or its numbers make no sense"
        problems += (Problem("bad-record", told, bad[0].line, source or None),)
    nodes, ports, links, guids, managers = map(tuple, found.values())
    records = SaRecords(nodes, ports, links, guids, managers, frozenset(others), answer.value.messages)
    return Parsed(records, problems, False if bad or answer.complete is False else None)


def _made(record: saquery.Record) -> Any:
    """The typed record; None where it lacks a field or makes no sense."""
    try:
        made = _READERS[record.type](record)
    except (KeyError, ValueError):
        return None
    return made if _is_plausible(made) else None


def _node_of(record: saquery.Record) -> SaNode:
    fields = record.fields
    numbers = {name: _int(fields[name]) for name in _NODE_NUMBERS}
    return SaNode(
        record.line, numbers["lid"], fields["node_type"], numbers["num_ports"], numbers["sys_guid"],
        numbers["node_guid"], numbers["port_guid"], numbers["device_id"], numbers["port_num"], numbers["vendor_id"],
        fields["NodeDescription"],
    )  # fmt: skip


def _port_of(record: saquery.Record) -> SaPort:
    fields = record.fields
    lid, number = _int(fields["EndPortLid"]), _int(fields["PortNum"])
    if "base_lid" not in fields:
        return SaPort(record.line, lid, number, port_info(fields))
    capabilities = _int(fields["capability_mask"])
    info = PortInfo(
        lid=_int(fields["base_lid"]) or None, sm_lid=_int(fields["master_sm_base_lid"]) or None,
        is_sm=bool(capabilities & IS_SM),
    )  # fmt: skip
    return SaPort(record.line, lid, number, info)


def _link_of(record: saquery.Record) -> SaLink:
    return SaLink(record.line, *(_int(record.fields[name]) for name in ("FromLID", "FromPort", "ToPort", "ToLID")))


def _guids_of(record: saquery.Record) -> SaGuids:
    guids = tuple(_int(record.fields[f"GUID {index}"]) for index in range(8))
    return SaGuids(record.line, _int(record.fields["LID"]), _int(record.fields["Block"]), guids)


def _manager_of(record: saquery.Record) -> SaManager:
    names = ("LID", "GUID", "ActCount", "Priority", "SMState")
    return SaManager(record.line, *(_int(record.fields[name]) for name in names))


_READERS: dict[str, Callable[[saquery.Record], Any]] = {
    "NodeRecord": _node_of, "PortInfoRecord": _port_of, "LinkRecord": _link_of, "GUIDInfoRecord": _guids_of,
    "SMInfoRecord": _manager_of,
}  # fmt: skip


# Both


def _is_plausible(record: Any) -> bool:
    """Whether LIDs have 16 bits and port numbers eight."""
    lids = [record.lid]
    ports = []
    if isinstance(record, SaLink):
        lids.append(record.peer_lid)
        ports += [record.port, record.peer_port]
    elif isinstance(record, SaPort):
        if not is_sound(record.info):
            return False
        ports.append(record.port)
    elif isinstance(record, SaNode):
        ports.append(record.port_count)
    return max(lids) <= _MAX_LID and max(ports, default=0) <= _MAX_PORT


def is_sound(info: PortInfo) -> bool:
    """Whether the LMC has three bits: one that is higher would give a port more LIDs than anybody could go through."""
    return info.lmc is None or info.lmc <= _MAX_LMC


def port_info(fields: dict[str, str]) -> PortInfo:
    """Of the fields as ``saquery PIR`` and ``smpquery portinfo`` print them; unknown words stay as they are."""
    state = fields.get("LinkState")
    physical_state = fields.get("PhysLinkState")
    if state == DOWN:
        return PortInfo(state, physical_state)
    return PortInfo(
        state,
        physical_state,
        _number(fields, "Lid") or None,
        _number(fields, "LMC"),
        _number(fields, "SMLid") or None,
        _number(fields, "GidPrefix") or None,
        _width(fields.get("LinkWidthActive")),
        _widths(fields.get("LinkWidthEnabled")),
        _widths(fields.get("LinkWidthSupported")),
        _active_speed(fields),
        _speeds(fields, "Enabled"),
        _speeds(fields, "Supported"),
        _bytes(fields.get("NeighborMTU")),
        _bytes(fields.get("MtuCap")),
        _flag(fields.get("CapMask")),
        _number(fields, "GuidCap"),
    )


def _active_speed(fields: dict[str, str]) -> str | None:
    """XDR's field, else the extended one, else the base one, whichever has a speed."""
    for name in ("LinkSpeedExtActive2", "LinkSpeedExtActive", "LinkSpeedActive"):
        word = fields.get(name, "")
        if word not in _NO_SPEED:
            return SPEEDS.get(word, word)
    return None


def _speeds(fields: dict[str, str], what: str) -> str | None:
    """The words of all three fields in one list, the slowest first."""
    words: list[str] = []
    for name in (f"LinkSpeed{what}", f"LinkSpeedExt{what}", f"LinkSpeedExt{what}2"):
        text = fields.get(name, "").removesuffix(_REMARK)
        words += [SPEEDS.get(word, word) for word in text.split(" or ") if word not in _NO_SPEED]
    return " or ".join(words) or None


def _widths(text: str | None) -> str | None:
    """``1X or 4X`` as ``1x or 4x``."""
    words = [width_of(word) for word in (text or "").removesuffix(_REMARK).split(" or ")]
    return " or ".join(words) or None


def _width(word: str | None) -> str | None:
    return None if word is None else width_of(word)


def _bytes(word: str | None) -> int | None:
    """256 to 4096; None for ``?(7)``."""
    return int(word) if word in _MTUS else None


def _flag(mask: str | None) -> bool | None:
    number = count_of(mask or "")
    return None if number is None else bool(number & IS_SM)


def _number(fields: dict[str, str], name: str) -> int | None:
    return count_of(fields.get(name, ""))


def _value(text: str) -> int:
    """Of digits that an expression let through."""
    return int(text, 16 if text[:2] == "0x" else 10)


def _int(text: str) -> int:
    """Raises ValueError."""
    number = count_of(text)
    if number is None:
        raise ValueError(text[:40])
    return number
