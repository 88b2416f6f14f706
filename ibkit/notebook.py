"""Tables of a fabric for notebooks and scripts: what ``ibkit.open`` gives. See docs/notebooks.md.

pandas is imported by the first table, and by nothing else. Columns have pandas' nullable types, so that unknown is <NA>
and never 0, NaN or an empty text; GUIDs are texts in their one spelling (0x and 16 digits), so that tables join on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ibkit.collectors.counters import collect_counters
from ibkit.collectors.fabric import collect_fabric
from ibkit.export.fabric import lid_of
from ibkit.model.counters import FabricCounters
from ibkit.model.fabric import Fabric
from ibkit.model.graded_links import grade_links
from ibkit.model.rates import rate_gbps
from ibkit.parsers.base import Problem
from ibkit.sources.opening import open_site
from ibkit.sources.site import Origin, Site

if TYPE_CHECKING:
    from pandas import DataFrame

_TEXT, _NUMBER, _COUNTER, _RATE, _YES_NO = "string", "Int64", "UInt64", "Float64", "boolean"

NODE_COLUMNS = {
    "guid": _TEXT, "type": _TEXT, "name": _TEXT, "ports": _NUMBER, "linked_ports": _NUMBER, "lid": _NUMBER,
    "lmc": _NUMBER, "system_image_guid": _TEXT, "vendor_id": _NUMBER, "device_id": _NUMBER,
}  # fmt: skip
LINK_COLUMNS = {
    "a_guid": _TEXT, "a_port": _NUMBER, "a_name": _TEXT, "b_guid": _TEXT, "b_port": _NUMBER, "b_name": _TEXT,
    "width": _TEXT, "speed": _TEXT, "rate_gbps": _RATE, "seen_from": _NUMBER, "verdict": _TEXT, "cause": _TEXT,
    "text": _TEXT,
}  # fmt: skip
PORT_COLUMNS = {
    "guid": _TEXT, "port": _NUMBER, "name": _TEXT, "port_guid": _TEXT, "lid": _NUMBER, "lmc": _NUMBER,
    "sm_lid": _NUMBER, "linked": _YES_NO, "state": _TEXT, "physical_state": _TEXT, "width": _TEXT, "speed": _TEXT,
    "rate_gbps": _RATE, "peer_guid": _TEXT, "peer_port": _NUMBER, "peer_name": _TEXT, "label": _TEXT,
    "mtu_bytes": _NUMBER, "max_mtu_bytes": _NUMBER, "enabled_width": _TEXT, "supported_width": _TEXT,
    "enabled_speed": _TEXT, "supported_speed": _TEXT, "subnet_prefix": _TEXT, "plane": _NUMBER,
}  # fmt: skip
COUNTER_COLUMNS = {
    "guid": _TEXT, "port": _NUMBER, "node": _TEXT, "port_guid": _TEXT, "lid": _NUMBER, "saturated": _TEXT,
    "unsupported": _TEXT,
}  # fmt: skip


class Opened:
    """A host, a capture or a tool's output that was opened. Nothing is asked or read before it is needed."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def origin(self) -> Origin:
        """Where it comes from: live, a capture or a raw file; its label; when it was recorded."""
        return self._site.origin

    @cached_property
    def fabric(self) -> FabricTables:
        """The subnet, swept once."""
        return FabricTables(collect_fabric(self._site.subnet), self._site)


class FabricTables:
    """A fabric as tables. Each is made once; whoever changes one should copy it.

    ``model`` is the same as plain records. ``complete`` is True when the sweep reached everything, False when it is
    known to lack something, None when that cannot be told; ``problems`` says what was not seen. Each table has both in
    its ``attrs``, with the ``source`` that spoke.
    """

    def __init__(self, model: Fabric, site: Site) -> None:
        self.model = model
        self._site = site

    @property
    def complete(self) -> bool | None:
        """Whether all of the fabric was seen."""
        return self.model.complete

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be seen, and what was found to be odd."""
        return self.model.problems

    @cached_property
    def nodes(self) -> DataFrame:
        """A row per node, in order of GUID."""
        rows = (
            (
                node.guid, node.type, node.name, node.port_count, sum(port.linked is True for port in node.ports),
                lid_of(node), node.lmc, node.system_image_guid, node.vendor_id, node.device_id,
            )
            for node in self.model.nodes.values()
        )  # fmt: skip
        return _table(rows, NODE_COLUMNS, self.model)

    @cached_property
    def links(self) -> DataFrame:
        """A row per link, in order of its ends, with the grade that ``ibkit fabric --slow`` gives it."""
        names = {guid: node.name for guid, node in self.model.nodes.items()}
        rows = (
            (
                link.a.guid, link.a.port, names[link.a.guid], link.b.guid, link.b.port, names[link.b.guid], link.width,
                link.speed, rate_gbps(link.width, link.speed), link.seen_from, *grade,
            )
            for link, grade in grade_links(self.model).items()
        )  # fmt: skip
        return _table(rows, LINK_COLUMNS, self.model)

    @cached_property
    def ports(self) -> DataFrame:
        """A row per port, in order of its node's GUID and its number."""
        nodes = self.model.nodes
        rows = (
            (
                node.guid, port.number, node.name, port.guid, port.lid, port.lmc, port.sm_lid, port.linked, port.state,
                port.physical_state, port.width, port.speed, rate_gbps(port.width, port.speed),
                *((port.peer.guid, port.peer.port, nodes[port.peer.guid].name) if port.peer else (None, None, None)),
                port.label, port.mtu_bytes, port.max_mtu_bytes, port.enabled_width, port.supported_width,
                port.enabled_speed, port.supported_speed,
                None if port.subnet_prefix is None else f"0x{port.subnet_prefix:016x}", port.plane,
            )
            for node in nodes.values()
            for port in node.ports
        )  # fmt: skip
        return _table(rows, PORT_COLUMNS, self.model)

    @cached_property
    def counters(self) -> DataFrame:
        """A row per port that was asked, and a column per counter, by the names of perfquery. A second sweep: its
        ``attrs`` have its own completeness and problems.
        """
        counters = collect_counters(self._site.subnet)
        names = tuple(dict.fromkeys(name for port in counters.ports for name in port.counters))
        rows = (
            (
                port.guid, port.port, port.node_name, port.port_guid, port.lid, " ".join(port.saturated),
                " ".join(port.unsupported), *(port.counters.get(name) for name in names),
            )
            for port in counters.ports
        )  # fmt: skip
        return _table(rows, COUNTER_COLUMNS | dict.fromkeys(names, _COUNTER), counters)


def open_tables(path: str | None = None) -> Opened:
    """What ``path`` holds, or this host for None. Raises ibkit.errors.IbkitError for a file that is nothing of it."""
    return Opened(open_site(path))


def _table(rows: Iterable[Sequence[Any]], columns: Mapping[str, str], about: Fabric | FabricCounters) -> DataFrame:
    from pandas import DataFrame, array

    cells: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(columns)
    make: Any = array  # its stubs want each type spelled out
    table = DataFrame(
        {
            name: make([None if value is None else str(value) for value in values] if kind == _TEXT else values, kind)
            for (name, kind), values in zip(columns.items(), cells, strict=True)
        }
    )
    table.attrs = {
        "source": about.source,
        "complete": about.complete,
        "problems": [problem._asdict() for problem in about.problems],
    }
    return table
