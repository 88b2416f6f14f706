"""Fill a cache: what the hosts at hand know of their own addresses and of each other's, and what a list of hosts and
the node descriptions of the fabric say together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibkit.model.address_cache import LIST, Entry
from ibkit.model.addresses import ipoib_address
from ibkit.model.ids import Gid
from ibkit.model.port_state import ETHERNET
from ibkit.model.resolution import FABRIC, GIDS, HOSTS, NEIGHBOURS
from ibkit.parsers.acm_file import NAME
from ibkit.parsers.acm_hosts import HostEntry
from ibkit.parsers.base import Problem
from ibkit.parsers.etc_hosts import HostLine, canonical_address
from ibkit.parsers.records import NamedTuple
from ibkit.resolve import queries
from ibkit.resolve.claims import gid_of, number_of, partition_of, roce_gid
from ibkit.resolve.memory import prefix_of
from ibkit.resolve.nodes import Port
from ibkit.resolve.path_book import PathBook
from ibkit.resolve.queries import host_name, read_query
from ibkit.resolve.view import View


class Built(NamedTuple):
    """What was found, and what could not be put into a cache and why."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()


class HostList(NamedTuple):
    """A list of hosts: lines of addresses and names, or names alone."""

    lines: tuple[HostLine, ...]
    names: tuple[str, ...]
    source: str


def build(views: Sequence[View], hosts: HostList | None, now: float) -> Built:
    """All entries of some hosts (the first one's subnet is asked for names and paths), each source once a key."""
    problems: list[Problem] = []
    entries: list[Entry] = []
    for view in views:
        entries += _of_interfaces(view, now)
        entries += _of_neighbours(view, now)
        entries += _of_preloads(view, now, problems)
    entries += _of_nodes(views[0], now, problems)
    entries += _of_list(views[0], hosts or _own_list(views[0]), now, problems)
    return Built(tuple(_with_paths(views, entries)), tuple(problems))


def _of_interfaces(view: View, now: float) -> Iterator[Entry]:
    """The addresses of a host's own IPoIB and RoCE interfaces."""
    for one in view.own_interfaces:
        parts = ipoib_address(one.interface.hardware_address)
        for text in one.interface.addresses:
            address = canonical_address(text.partition("/")[0])
            if address is None:
                continue
            where = f"{one.interface.name} of {one.host or 'this host'}"
            if parts:
                pkey = partition_of(one)
                yield Entry(address, GIDS, parts.gid, int(now), prefix_of(parts.gid), pkey, f"IPoIB interface {where}")
            elif one.port and one.port.link_layer == ETHERNET:
                gid = roce_gid(address, number_of(address))
                if any(entry.gid == gid for entry in one.port.gids) and gid.subnet_prefix != 0xFE80 << 48:
                    yield Entry(address, GIDS, gid, int(now), prefix_of(gid), None, f"GID table, {where}")


def _of_neighbours(view: View, now: float) -> Iterator[Entry]:
    for one in view.addresses.neighbours or ():
        parts = ipoib_address(one.hardware_address)
        if parts and one.is_valid:
            interface = view.interface(one.interface)
            yield Entry(
                one.address, NEIGHBOURS, parts.gid, int(now) - (one.confirmed_seconds or 0), prefix_of(parts.gid),
                partition_of(interface), f"neighbour on {one.interface} of {view.host.name or 'this host'}",
            )  # fmt: skip


def entries_of_file(
    entries: Iterable[HostEntry], via: str, path: str, now: float, problems: list[Problem]
) -> Iterator[Entry]:
    """What ibacm believes of a hosts file, but for keys that it takes for names and that nobody meant for one."""
    for one in entries:
        query = read_query(one.key)
        if query.bad or (one.kind == NAME) != (query.kind == queries.NAME):
            text = f"{one.key} is left out: ibacm takes it for a name{f', and {query.bad}' if query.bad else ''}"
            problems.append(Problem("bad-key", text, one.line, path))
        else:
            gid = Gid(one.gid)
            yield Entry(query.name, via, gid, int(now), prefix_of(gid), None, f"{path}:{one.line}")


def _of_preloads(view: View, now: float, problems: list[Problem]) -> Iterator[Entry]:
    if view.preloads.hosts_file:
        path = view.preloads.hosts_file.path
        yield from entries_of_file(view.host_entries.all(), HOSTS, path, now, problems)


def _of_nodes(view: View, now: float, problems: list[Problem]) -> Iterator[Entry]:
    """The hosts of the fabric by name, as far as each has one port, and a name that can be asked for: a node may be
    described by anything, an address of somebody else too.
    """
    if not view.sees_infiniband:
        return
    problems += [problem for problem in view.nodes.problems if view.nodes.is_empty]
    by_host: dict[str, list[Port]] = {}
    for port in view.nodes.ports:
        if port.host and port.lid is not None and host_name(port.host) is not None:
            by_host.setdefault(port.host.lower(), []).append(port)
    for host, ports in by_host.items():
        gid = gid_of(view, ports[0])
        if len(ports) == 1 and gid is not None:
            yield Entry(ports[0].host or host, FABRIC, gid, int(now), prefix_of(gid), None, str(ports[0]))


def _of_list(view: View, hosts: HostList, now: float, problems: list[Problem]) -> Iterator[Entry]:
    """Addresses and names of a list whose hosts the fabric has under that name, with one port each."""
    if not view.sees_infiniband or view.nodes.is_empty:
        return
    wanted = [(line.address, line.names, line.line) for line in hosts.lines]
    wanted += [(name, (name,), 0) for name in hosts.names]
    for address, names, line in wanted:
        found = {port.guid: port for name in names for port in view.nodes.of_address_name(name)}
        ports = list(found.values())
        gid = gid_of(view, ports[0]) if len(ports) == 1 else None
        if gid is not None:
            detail = f"{hosts.source}{f':{line}' if line else ''}: {names[0]} is {ports[0]}"
            yield Entry(address, LIST, gid, int(now), prefix_of(gid), None, detail)
        elif len(ports) > 1:
            text = f"{address} ({names[0]}): the host has {len(ports)} ports, and the list does not say which is meant"
            problems.append(
                Problem(
                    "several-ports", f"{text}: let its neighbours or a capture of it tell", line or None, hosts.source
                )
            )


def _own_list(view: View) -> HostList:
    """/etc/hosts."""
    from ibkit.collectors.addresses import HOST_NAMES

    lines = tuple(line for line in view.name_lines if not line.address.startswith("127.") and line.address != "::1")
    return HostList(lines, (), HOST_NAMES)


def _with_paths(views: Sequence[View], entries: Iterable[Entry]) -> Iterator[Entry]:
    """The paths from the first host's port, where the SA told all of them at once."""
    view = views[0]
    books: list[PathBook] = []
    if view.sees_infiniband:
        ports = [(port.lid, view.entrance_of(port), port.pkeys) for _, port in view.infiniband_ports]
        for lid, through, pkeys in ports or [(view.own_port[0].lid, view.through, ())]:
            if lid is not None:
                books.append(view.administrator.paths_from(lid, through, pkeys))
    for entry in entries:
        found = next((path for book in books if entry.gid and (path := book.to_guid(entry.gid.guid))), None)
        if found is None or found.pkey is None or (entry.pkey and entry.pkey.partition != found.pkey.partition):
            yield entry
        else:
            yield entry._replace(pkey=entry.pkey or found.pkey, path=found, host=view.host.name)
