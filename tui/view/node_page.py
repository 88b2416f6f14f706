"""One node: what it is, its ports and who is at the other end of each; one of its ports in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibkit.model.fabric import SWITCH, End, FabricPort, Link
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import PortKeys
from ibkit.model.rates import rate_gbps, width_speed
from ibkit.model.routes import port_of
from ibkit.parsers.mlxlink import TransceiverInfo
from ibkit.tui.view.counters import counter_facts, past_facts
from ibkit.tui.view.findings import LEVELS
from ibkit.tui.view.history import error_sum
from ibkit.tui.view.level import OK, UNKNOWN, WARNING, mark, word
from ibkit.tui.view.lines import BLANK, DIM, HEADING, Line, facts, heading, line, span
from ibkit.tui.view.subnet import SubnetView, lids_of, link_word, other_end, type_word
from ibkit.tui.view.table import Column, Row, Table

if TYPE_CHECKING:
    from ibkit.tui.counting import Counted
    from ibkit.tui.view.port_facts import PortFacts

COLUMNS = (
    Column("Port", right=True),
    Column("Link"),
    Column("Rate", unknown=""),
    Column("Neighbour", flexible=True, least=20, unknown=""),
    Column("Port", right=True, unknown=""),
    Column("Type", unknown="", drop=3),
    Column("Errors", right=True, drop=2, tinted=True),
    Column("Remark", flexible=True, least=20, turn=1, drop=1, unknown="", tinted=True),
    Column("LID", right=True, unknown="", drop=5),
    Column("Neighbour GUID", unknown="", drop=4),
    Column("Label", unknown="", drop=6),
    Column("P_Keys", drop=7, unknown=""),
)
#: So many findings are told above the ports.
MOST_FINDINGS = 3
#: So many keys of a port stand in one line.
MOST_KEYS = 12


def node_head(
    view: SubnetView, guid: Guid, known: PortFacts | None = None, most_findings: int = MOST_FINDINGS
) -> list[Line]:
    """What the node is, in the few lines above its ports."""
    node = view.fabric.nodes.get(guid)
    if node is None:
        return facts([("node", f"{guid} is not in the fabric any more")])
    linked = len(view.remarks.links_of.get(guid, ()))
    ports = "its ports were not listed" if node.port_count is None else f"{linked} of {node.port_count} ports linked"
    lid = lids_of(node)
    lmc = f"   LMC {node.lmc}" if node.lmc is not None else ""
    about: list[tuple[str, object]] = [
        ("node", (span(node.name, HEADING) if node.name is not None else span("name not known", DIM),)),
        ("type", f"{type_word(node.type)}, {ports}"),
        ("GUID", f"{node.guid}   LID {'-' if lid is None else lid}{lmc}"),
    ]
    more = {"system image": node.system_image_guid, "vendor": _hex(node.vendor_id), "device": _hex(node.device_id)}
    shown = [f"{caption} {value}" for caption, value in more.items() if value is not None]
    if shown and most_findings > 1:
        about.append(("also", "   ".join(shown)))
    if node.type == SWITCH and known is not None and (keys := known.keys.get(End(guid, 0))) is not None:
        about.append(("P_Keys", spell_keys(keys)))
    remark = view.remarks.of_node.get(guid)
    found = _findings(known, guid, most_findings)
    if remark and not found:  # the rules look at the same links, and at more
        about.append(("remark", (span(remark.text, word(remark.level)),)))
    if node.doubt:
        about.append(("doubt", (span(node.doubt, word(UNKNOWN)),)))
    return facts([*about, *found])


def _findings(known: PortFacts | None, guid: Guid, most: int) -> list[tuple[str, object]]:
    """The worst of what the rules say of the node and its ports."""
    found = known.findings.get(guid, ()) if known is not None else ()
    pairs: list[tuple[str, object]] = []
    for port, finding in found[:most]:
        level = LEVELS.get(finding.severity, UNKNOWN)
        where = "" if port is None else f"port {port}: "
        pairs.append(("finding", (span(f"{mark(level)} {finding.rule} {where}{finding.what}", word(level)),)))
    if len(found) > most:
        pairs.append(("", f"and {len(found) - most} more: key 8 lists all"))
    return pairs


def port_table(view: SubnetView, guid: Guid, known: PortFacts | None = None) -> Table:
    """The node's ports, each with who is at its other end. A row's key is the port's own end."""
    node = view.fabric.nodes.get(guid)
    ports = {port.number: port for port in node.ports} if node else {}
    links = {end.port: link for link in view.remarks.links_of.get(guid, ()) for end in link[:2] if end.guid == guid}
    rows = [_row(view, End(guid, number), ports.get(number), links.get(number), known)
            for number in sorted({*ports, *links})]  # fmt: skip
    return Table("port", COLUMNS, rows)


def _row(view: SubnetView, end: End, port: FabricPort | None, link: Link | None, known: PortFacts | None) -> Row:
    remark = view.port_remark(end, port)
    errors = _errors(known, end)
    other = other_end(link, end) if link is not None else None
    neighbour = view.fabric.nodes.get(other.guid) if other is not None else None
    keys = known.keys.get(end) if known is not None else None
    values = (
        end.port,
        link_word(port, link),
        (width_speed(link.width, link.speed) or "?") if link is not None else None,
        view.name(other.guid) if other is not None else None,
        other.port if other is not None else None,
        (type_word(neighbour.type) if neighbour else "?") if other is not None else None,
        errors,
        remark and remark.text,
        lids_of(neighbour) if neighbour else None,
        str(other.guid) if other is not None else None,
        port.label if port else None,
        spell_keys(keys) if keys is not None else None,
    )
    level = remark.level if remark else OK
    return Row(end, max(level, WARNING) if isinstance(errors, int) and errors else level, values)


def _errors(known: PortFacts | None, end: End) -> int | str | None:
    """How far the port's error counters moved, or stand where there is one sample; nothing where none were read."""
    if known is None or known.counters is None:
        return ""
    if known.changes is not None:
        return error_sum(known.changes[end]) if end in known.changes else None
    port = known.counters.get(end)
    return None if port is None or port.unread_errors else error_sum(port)


def port_page(view: SubnetView, end: End, counted: Counted | None, reading: str = "") -> list[Line]:
    """All that is known of a port; ``reading`` says why what the rules read is not there."""
    node = view.fabric.nodes.get(end.guid)
    port = port_of(node, end.port) if node is not None else None
    known = counted.facts if counted is not None else None
    about: list[tuple[str, object]] = [
        ("port", (span(f"{view.name(end.guid)} port {end.port}", HEADING), span(_label(port), DIM))),
        *short_facts(view, end),
        ("state", f"{_or(port and port.state)}, physical {_or(port and port.physical_state)}"),
        ("can do", _abilities(port)),
        ("LID", _lids(port, node.lid if node is not None and node.type == SWITCH else None)),
        ("GUIDs", f"port {_or(port and port.guid)}   node {end.guid}"),
        ("MTU", f"{_or(port and port.mtu_bytes)}   at most {_or(port and port.max_mtu_bytes)}"),
        ("cable", _cable(known, end, reading)),
        ("P_Keys", _keys(known, end, reading)),
    ]
    if counted is None:
        return facts([*about, ("counted", reading or "not known")])
    lines = facts([*about, *counter_facts(counted.facts, end), *past_facts(counted.history, end)])
    found = [finding for number, finding in counted.facts.findings.get(end.guid, ()) if number == end.port]
    if found:
        lines += [BLANK, heading("  Findings")]
    for finding in found:
        level = LEVELS.get(finding.severity, UNKNOWN)
        lines += [line("  ", span(f"{mark(level)} {finding.rule} {finding.what}", word(level))),
                  line("      ", span(f"next: {finding.fix}", "fix"))]  # fmt: skip
    return lines


def short_facts(view: SubnetView, end: End) -> list[tuple[str, object]]:
    """The link and who is at its other end."""
    link = view.link_at.get(end)
    node = view.fabric.nodes.get(end.guid)
    port = port_of(node, end.port) if node is not None else None
    remark = view.port_remark(end, port)
    told = (span(f"   {remark.text}", word(remark.level)),) if remark else ()
    if link is None:
        return [("link", (span(link_word(port, None)), *told))]
    other = other_end(link, end)
    peer = view.fabric.nodes.get(other.guid)
    gbps = rate_gbps(link.width, link.speed)
    rate = f"{width_speed(link.width, link.speed) or 'rate not known'}" + (f"   {gbps:g} Gb/s" if gbps else "")
    lid = lids_of(peer) if peer is not None else None
    who = f"{view.name(other.guid)} port {other.port}   {type_word(peer.type) if peer else '?'}   LID {_or(lid)}"
    return [("link", (span(rate), *told)), ("neighbour", who)]


def port_lines(view: SubnetView, end: End, counted: Counted | None, reading: str = "") -> list[Line]:
    """A port in short."""
    if counted is None:
        return facts([*short_facts(view, end), ("counted", reading or "not known")], " ")
    keys = ("P_Keys", _keys(counted.facts, end, reading))
    return facts([*short_facts(view, end), *counter_facts(counted.facts, end)[:1], keys], " ")


def spell_keys(keys: PortKeys) -> str:
    """``0x7fff full, 0x0005 limited``."""
    listed = [key for key in keys.keys if key.partition]
    more = [f"and {len(listed) - MOST_KEYS} more"] if len(listed) > MOST_KEYS else []
    missing = [] if keys.whole else ["a part of the table is missing"]
    return ", ".join([*map(_key, listed[:MOST_KEYS]), *more, *missing]) or "none"


def _key(key: PKey) -> str:
    return f"0x{key.partition:04x} {'full' if key.is_full_member else 'limited'}"


def _keys(known: PortFacts | None, end: End, reading: str) -> str:
    if known is None:
        return reading or "not known"
    keys = known.keys.get(end)
    if keys is not None:
        return spell_keys(keys) if keys.is_end else f"{spell_keys(keys)}   (a filter of the switch's)"
    lack = known.sample.collected.partitions is None
    return f"not known: {known.lack_of_keys().missing}" if lack else "not known: the table of this port was not read"


def _cable(known: PortFacts | None, end: End, reading: str) -> str:
    if known is None:
        return reading or "not known"
    module = known.modules.get(end)
    cable = known.cables.get(end)
    told = _module(module.module) if module is not None and module.module is not None else []
    told += [f"{cable.celsius:g} degrees Celsius"] if cable is not None else []
    if told:
        return "   ".join(told)
    lack = known.sample.collected.hardware is None
    return f"not known: {known.lack_of_hardware().missing}" if lack else "not known: nobody looked at this port's"


def _module(info: TransceiverInfo) -> list[str]:
    length = None if info.length_m is None else f"{info.length_m:g} m"
    named = {"": info.cable_type or info.technology, "vendor": info.vendor, "part": info.part_number,
             "serial": info.serial_number, "length": length}  # fmt: skip
    return [f"{caption} {value}".strip() for caption, value in named.items() if value]


def _abilities(port: FabricPort | None) -> str:
    enabled = f"{_or(port and port.enabled_width)} {_or(port and port.enabled_speed)}"
    supported = f"{_or(port and port.supported_width)} {_or(port and port.supported_speed)}"
    if port is None or {enabled, supported} == {"? ?"}:
        return "not known"
    return f"enabled {enabled}   supported {supported}"


def _lids(port: FabricPort | None, switch_lid: int | None) -> str:
    if switch_lid is not None:
        return f"{switch_lid}, that of the switch"
    return f"{_or(port and port.lid)}   LMC {_or(port and port.lmc)}   SM LID {_or(port and port.sm_lid)}"


def _label(port: FabricPort | None) -> str:
    return f"   {port.label}" if port is not None and port.label else ""


def _or(value: object) -> str:
    return "?" if value is None else str(value)


def _hex(value: int | None) -> str | None:
    return None if value is None else f"0x{value:x}"
