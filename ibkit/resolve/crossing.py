"""Gather what the tests of a path across a router look at, from the two subnets' views."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.collectors.mad_tools import Through
from ibkit.collectors.partitions import collect_tables_of
from ibkit.collectors.path_records import PathAnswer, PathQuestion
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.model.fabric import End
from ibkit.model.host import HcaPort
from ibkit.model.ids import Gid, PKey
from ibkit.model.resolution import SourcePort
from ibkit.model.routes import owners_of
from ibkit.model.subnet_manager import MASTER, NO_SM
from ibkit.parsers import ibdiagnet_csv
from ibkit.parsers.base import NotThisFormat
from ibkit.resolve.nodes import Nodes, Port
from ibkit.resolve.routed import Case, NextHop, Side
from ibkit.resolve.routing_table import way_out
from ibkit.resolve.view import View

_TABLES = "ibdiagnet2.db_csv"
_NEXT_HOPS = "ROUTERS_NEXT_HOP_TABLE"


def gather(
    view: View,
    far: View | None,
    destination: Gid,
    source: SourcePort | None,
    port: HcaPort | None,
    first: PathAnswer | None,
    *,
    address: str | None = None,
    differs: bool = False,
) -> Case:
    """The case of one destination. ``address`` is the IP address that was asked for."""
    path = first.records[0] if first and first.records else None
    nodes = view.nodes.within(view.entrance_of(port))
    router = nodes.by_lid(path.dlid) if path and path.dlid else None
    own = nodes.by_guid(source.gid.guid) if source and source.gid else None
    near = _side(view, nodes, [router, own])
    second = back = None
    there = None
    if far is not None:
        second, back = _far_paths(far, destination, source, path.pkey if path else None)
        ends = second.records[0] if second and second.records else None
        told = (far.nodes.by_lid(lid) for lid in (ends.slid, ends.dlid) if lid) if ends else ()
        there = _side(far, far.nodes, told)
    return Case(destination, source, port, near, there, first, second, back, differs, _gateway(view, address))


def _side(view: View, nodes: Nodes, ports: Iterable[Port | None]) -> Side:
    """A subnet, with the P_Key tables of some of its ports."""
    ends = [port for port in ports if port is not None]
    through, fabric = nodes.fabrics[0]
    keys: dict[int, tuple[PKey, ...]] = {}
    if ends:
        wanted = [End(port.node.guid, port.number) for port in ends]
        tables = collect_tables_of(view.subnet, fabric, owners_of(fabric), wanted, through).ports
        by_end = {(table.guid, table.port): table.keys for table in tables}
        keys = {port.guid: by_end.get((port.node.guid, port.number), ()) for port in ends}
    return Side(nodes, _has_master(view, through), keys, _next_hops(view))


def _has_master(view: View, through: Through) -> bool | None:
    seen = collect_subnet_managers(view.subnet, through)
    if any(manager.state == MASTER for manager in seen.managers):
        return True
    return False if any(problem.kind == NO_SM for problem in seen.problems) else None


def _far_paths(
    far: View, destination: Gid, source: SourcePort | None, pkey: PKey | None
) -> tuple[PathAnswer | None, PathAnswer | None]:
    """From one of the far subnet's routers to the destination, and from there back to the source."""
    second: PathAnswer | None = None
    for router in [port for port in far.nodes.ports if port.node.type == "router" and port.lid is not None]:
        prefix = router.record.subnet_prefix if router.record else None
        prefix = destination.subnet_prefix if prefix is None else prefix
        question = PathQuestion(Gid(prefix << 64 | router.guid), router.lid, destination, None, pkey)
        second = far.administrator.path(question, far.through)
        if second.records:
            break
    if source is None or source.gid is None:
        return second, None
    back = PathQuestion(destination, None, source.gid, None, pkey)
    return second, far.administrator.path(back, far.through)


def _next_hops(view: View) -> tuple[NextHop, ...] | None:
    """Of ibdiagnet's tables, where somebody saved them."""
    if view.is_live:
        return None
    answer = view.subnet.run((_TABLES,))
    try:
        parsed = ibdiagnet_csv.parse(answer.out, source=_TABLES, sections=(_NEXT_HOPS,))
    except NotThisFormat:
        return None
    hops = []
    for section in parsed.value:
        columns = section.column("NodeGUID"), section.column("SubnetPrefix")
        for row in section.rows if None not in columns else ():
            texts = [row.values[column] or "" for column in columns if column is not None]
            try:
                hops.append(NextHop(int(texts[0], 16), int(texts[1], 16)))
            except ValueError:
                continue
    return tuple(hops) if parsed.value else None


def _gateway(view: View, address: str | None) -> str | None:
    if address is None:
        return None
    way = way_out(address, view.hcas.interfaces or (), view.addresses.routes)
    out = view.interface(way.interface) if way else None
    return way.gateway if way and out and out.interface.kind == "infiniband" else None
