"""One node: what it is, its ports and who is at the other end of each."""

from __future__ import annotations

from ibkit.model.fabric import End, FabricPort, Link
from ibkit.model.ids import Guid
from ibkit.model.rates import width_speed
from ibkit.tui.view.level import OK, word
from ibkit.tui.view.lines import DIM, HEADING, Line, facts, span
from ibkit.tui.view.subnet import SubnetView, lids_of, other_end, type_word
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Port", right=True),
    Column("Link"),
    Column("Rate", unknown=""),
    Column("Neighbour", flexible=True, least=20, unknown=""),
    Column("Port", right=True, unknown=""),
    Column("Type", unknown="", drop=2),
    Column("Remark", flexible=True, least=20, turn=1, drop=1, unknown="", tinted=True),
    Column("LID", right=True, unknown="", drop=4),
    Column("Neighbour GUID", unknown="", drop=3),
    Column("Label", unknown="", drop=5),
)
#: ``FabricPort.linked`` in words.
LINKED = {True: "up", False: "no link", None: "?"}


def node_head(view: SubnetView, guid: Guid) -> list[Line]:
    """What the node is, in the few lines above its ports."""
    node = view.fabric.nodes.get(guid)
    if node is None:
        return facts([("node", f"{guid} is not in the fabric any more")])
    linked = len(view.remarks.links_of.get(guid, ()))
    ports = "its ports were not listed" if node.port_count is None else f"{linked} of {node.port_count} ports linked"
    lid = lids_of(node)
    about: list[tuple[str, object]] = [
        ("node", (span(node.name, HEADING) if node.name is not None else span("name not known", DIM),)),
        ("type", f"{type_word(node.type)}, {ports}"),
        ("GUID", f"{node.guid}   LID {'-' if lid is None else lid}"),
    ]
    more = {"system image": node.system_image_guid, "vendor": _hex(node.vendor_id), "device": _hex(node.device_id)}
    known = [f"{caption} {value}" for caption, value in more.items() if value is not None]
    if known:
        about.append(("also", "   ".join(known)))
    remark = view.remarks.of_node.get(guid)
    if remark:
        about.append(("remark", (span(remark.text, word(remark.level)),)))
    return facts(about)


def port_table(view: SubnetView, guid: Guid) -> Table:
    """The node's ports, each with who is at its other end. A row's key is the port's own end."""
    node = view.fabric.nodes.get(guid)
    ports = {port.number: port for port in node.ports} if node else {}
    links = {end.port: link for link in view.remarks.links_of.get(guid, ()) for end in link[:2] if end.guid == guid}
    rows = []
    for number in sorted({*ports, *links}):
        port = ports.get(number)
        link = links.get(number)
        end = End(guid, number)
        rows.append(_free_row(end, port) if link is None else _linked_row(view, end, link, port))
    return Table("port", COLUMNS, rows)


def _free_row(end: End, port: FabricPort | None) -> Row:
    linked = port.linked if port else None
    label = port.label if port else None
    return Row(end, OK, (end.port, LINKED[linked], None, None, None, None, None, None, None, label))


def _linked_row(view: SubnetView, end: End, link: Link, port: FabricPort | None) -> Row:
    other = other_end(link, end)
    neighbour = view.fabric.nodes.get(other.guid)
    remark = view.remarks.of_link.get(link)
    values = (
        end.port,
        LINKED[True],
        width_speed(link.width, link.speed) or "?",
        view.name(other.guid),
        other.port,
        type_word(neighbour.type) if neighbour else "?",
        remark and remark.text,
        lids_of(neighbour) if neighbour else None,
        str(other.guid),
        port.label if port else None,
    )
    return Row(end, remark.level if remark else OK, values)


def _hex(value: int | None) -> str | None:
    return None if value is None else f"0x{value:x}"
