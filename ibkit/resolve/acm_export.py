"""A cache as the files that ibacm loads at its start, so that all nodes can be given the same.

ibacm keeps a preloaded GID only while nothing fails and until ``addr_timeout`` is over, and then never reads the file
again; so the settings say that addresses and routes never expire. It gives the paths of a route file to every partition
of the port, whoever is in it; so there is such a file only where the port is in one partition (rdma-core,
``ibacm/prov/acmp/src/acmp.c``).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ibkit.collectors.addresses import ACM_FOLDER
from ibkit.errors import IbkitError
from ibkit.model.address_cache import LIST, NEGATIVE, OLD, Entry
from ibkit.model.fabric import ROUTER, SWITCH
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import PathRecord, code_of_mtu, code_of_rate
from ibkit.model.resolution import ACM, FABRIC, GIDS, HOSTS, IBARR, NEIGHBOURS, SA
from ibkit.parsers import acm_addr, acm_hosts, acm_opts, acm_routes
from ibkit.parsers.acm_file import fits
from ibkit.parsers.acm_routes import Route, RouteBlock
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.resolve.gids import alias_lid, is_ip_gid
from ibkit.resolve.nodes import Port
from ibkit.resolve.queries import cache_key, host_name, read_query
from ibkit.resolve.view import View

HOSTS_NAME, ADDR_NAME, OPTS_NAME, ROUTE_NAME = (
    "ibacm_hosts.data", "ibacm_addr.cfg", "ibacm_opts.cfg", "ibacm_route.data",
)  # fmt: skip
#: Whether there is a route file: if it is safe; never; with the paths from this host; with those from every port.
AUTO, NONE, OWN, ALL = "auto", "none", "own", "all"

#: Whom to believe where two sources differ, the first first.
_TRUST = (GIDS, NEIGHBOURS, IBARR, ACM, FABRIC, SA, LIST, HOSTS)
#: These speak of what is there now, so what others say that differs was so once.
_LIVE = (GIDS, NEIGHBOURS, IBARR)
_KINDS = {SWITCH: "Switch", ROUTER: "Router"}


class Exported(NamedTuple):
    """Text by file name, and what could not be put into the files and why."""

    files: dict[str, str]
    problems: tuple[Problem, ...] = ()


def export(
    view: View, entries: Sequence[Entry], now: float, *, folder: str = ACM_FOLDER, routes: str = AUTO
) -> Exported:
    """The files of one host; but for ibacm_addr.cfg, which names the host's own ports, they are good for all hosts.

    ``folder`` is where they will lie on the hosts.
    """
    problems: list[Problem] = []
    files = {HOSTS_NAME: acm_hosts.write(_keys(view, entries, now, problems))}
    blocks = _route_blocks(view, routes, problems)
    if blocks:
        try:
            files[ROUTE_NAME] = acm_routes.write(blocks)
        except ValueError as error:  # what a broken subnet says of its LIDs
            problems.append(Problem("bad-routes", f"there is no {ROUTE_NAME}: {error}"))
    own = _own_names(view)
    if isinstance(own, str):
        problems.append(Problem("no-own-port", f"there is no {ADDR_NAME}: {own}; `ib_acme -A` makes one on each host"))
    else:
        files[ADDR_NAME] = acm_addr.write(own)
    files[OPTS_NAME] = acm_opts.write(_settings(folder, with_routes=ROUTE_NAME in files))
    return Exported(files, tuple(problems))


def write_files(folder: str, files: Mapping[str, str], *, replace: bool) -> None:
    """Write all, each under another name first and renamed when all of them are on the disk. Raises IbkitError."""
    there = [name for name in files if os.path.lexists(os.path.join(folder, name))]
    if there and not replace:
        raise IbkitError(f"{os.path.join(folder, there[0])}: exists; name another folder, or say --force to replace it")
    parts: list[tuple[str, str]] = []
    try:
        os.makedirs(folder, exist_ok=True)
        try:
            for name, text in files.items():
                part = os.path.join(folder, f".{name}.{os.getpid()}.part")
                parts.append((part, os.path.join(folder, name)))
                with open(part, "x", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
            for part, target in parts:
                os.rename(part, target)
        finally:
            for part, _ in parts:
                with contextlib.suppress(OSError):
                    os.unlink(part)
    except OSError as error:
        raise IbkitError(f"{error.filename or folder}: cannot be written ({error.strerror or error})") from error


def best(entries: Iterable[Entry], now: float) -> Iterator[tuple[str, Entry | None, list[Entry]]]:
    """For each address the entry to believe, None where sources differ and none of them speaks of now; and all."""
    by_address: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.gid is not None and entry.state(now) not in (NEGATIVE, OLD):
            by_address.setdefault(_key(entry.address) or entry.address, []).append(entry)
    for address, told in sorted(by_address.items()):
        told.sort(key=lambda entry: (_rank(entry), -entry.learned))
        first = told[0]
        same = all(entry.gid == first.gid for entry in told)
        rivals = {entry.gid for entry in told if entry.via in _LIVE}
        yield address, first if same or len(rivals) == 1 else None, told


def _key(address: str) -> str | None:
    """The address or name in its one spelling, for imported files may have others; None where it is neither."""
    return cache_key(read_query(address)) or host_name(address)


def _rank(entry: Entry) -> int:
    return _TRUST.index(entry.via) if entry.via in _TRUST else len(_TRUST)


def _keys(view: View, entries: Sequence[Entry], now: float, problems: list[Problem]) -> Iterator[tuple[str, int]]:
    """Keys and GIDs of the hosts file: only what is settled, fresh, InfiniBand's, and there as far as can be seen."""
    old = {
        _key(entry.address) or entry.address for entry in entries if entry.gid is not None and entry.state(now) == OLD
    }
    for address, entry, told in best(entries, now):
        old.discard(address)
        if _key(address) is None:
            problems.append(Problem("bad-key", f"{address} is left out: it is no address and no name of a host"))
        elif entry is None or entry.gid is None:
            sides = "; ".join(f"{one.via} says {one.gid}" for one in told[:4])
            problems.append(Problem("sources-differ", f"{address} is left out: {sides}"))
        elif is_ip_gid(entry.gid):
            continue  # RoCE, which ibacm does not serve
        elif _is_gone(view, entry.gid):
            text = f"{address} is left out: no port of the fabric has the GUID of {entry.gid} (said by {entry.via})"
            problems.append(Problem("gid-not-in-fabric", text))
        else:
            try:
                acm_hosts.write([(address, entry.gid)])
            except ValueError as error:
                problems.append(Problem("bad-key", f"{address} is left out: {error}"))
            else:
                yield address, entry.gid
    text = "is left out: it is too old to rely on; `ibkit cache build`"
    problems += [Problem("old-entry", f"{address} {text}") for address in sorted(old)]


def _is_gone(view: View, gid: Gid) -> bool:
    """Whether a fabric that was seen whole shows that no port of it has the GID. Of aliases it does not tell."""
    if not view.sees_infiniband or not view.sees_all or alias_lid(gid.guid) is not None:
        return False
    return view.is_own_subnet(gid.subnet_prefix) is True and view.nodes.by_guid(gid.guid) is None


def _own_names(view: View) -> list[tuple[str, str, int, int | None]] | str:
    """As ``ib_acme -A`` names a host's ports: the host is the first one, and HOST-1, HOST-2 ... are each of them; or
    why they cannot be named.
    """
    name = view.host.name.partition(".")[0]
    ports = view.infiniband_ports
    if not name or not ports:
        return "this host has no active InfiniBand port to name"
    named = [(name, *ports[0]), *((f"{name}-{number}", *port) for number, port in enumerate(ports, 1))]
    if host_name(name) is None or not all(
        fits(text, acm_addr.MAX_NAME_BYTES) and fits(device, acm_addr.MAX_DEVICE_BYTES) for text, device, _ in named
    ):
        return f"ibacm cannot take {name} for a host's name, or one of its devices' names"
    return [(text, device, port.port, None) for text, device, port in named]


def _settings(folder: str, *, with_routes: bool) -> Iterator[tuple[str, object]]:
    yield "addr_preload", "acm_hosts"
    yield "addr_data_file", f"{folder}/{HOSTS_NAME}"
    yield "addr_timeout", -1
    if with_routes:
        yield "route_preload", "opensm_full_v1"
        yield "route_data_file", f"{folder}/{ROUTE_NAME}"
    yield "route_timeout", -1


def _route_blocks(view: View, routes: str, problems: list[Problem]) -> list[RouteBlock]:
    """The route file: a head for each port of the fabric, and the rows of this host's ports, or of all."""
    if routes == NONE:
        return []
    partitions = {pkey.partition for _, port in view.infiniband_ports for pkey in port.pkeys}
    if len(partitions) > 1 or (not partitions and routes == AUTO):
        why = f"this host is in {len(partitions)} partitions" if partitions else "this host's partitions are not known"
        text = f"there is no {ROUTE_NAME}: {why}, and ibacm would use its paths in each of them"
        problems.append(Problem("several-partitions", text))
        return []
    if not view.sees_infiniband or not view.sees_all:
        problems.append(Problem("no-fabric", f"there is no {ROUTE_NAME}: the fabric was not seen whole"))
        return []
    if len(view.nodes.fabrics) > 1:
        text = f"there is no {ROUTE_NAME}: this host is in several subnets, and the file tells ports apart by LID alone"
        problems.append(Problem("several-subnets", text))
        return []
    own = {port.lid: port.pkeys for _, port in view.infiniband_ports}
    ports = [port for port in view.nodes.ports if port.lid is not None]
    blocks = [
        _block(view, port, ports, own.get(port.lid, ()), with_rows=routes == ALL or port.lid in own) for port in ports
    ]
    if not any(block.routes for block in blocks):
        text = f"there is no {ROUTE_NAME}: the subnet administrator did not tell the paths from this host"
        problems.append(Problem("no-paths", text))
        return []
    return blocks


def _block(view: View, port: Port, ports: Sequence[Port], partitions: Sequence[PKey], *, with_rows: bool) -> RouteBlock:
    block = RouteBlock(
        _KINDS.get(port.node.type, "Channel Adapter"), port.guid, port.lid or 0, port.node.name, port.number
    )
    if not with_rows or port.lid is None:
        return block
    told = view.administrator.paths_from(port.lid, view.through, partitions)
    paths = {path.dlid: path for path in told.records}
    rows = [row for one in ports if (row := _row(paths.get(one.lid)))]
    there = {row.dlid for row in rows}
    silent = tuple(one.lid for one in ports if one.lid not in there and one.lid is not None) if rows else ()
    return block._replace(routes=tuple(rows), unreachable=() if port.node.type == SWITCH else silent)


def _row(path: PathRecord | None) -> Route | None:
    if path is None or path.dlid is None or path.sl is None or path.mtu_bytes is None or path.rate_gbps is None:
        return None
    mtu, rate = code_of_mtu(path.mtu_bytes), code_of_rate(path.rate_gbps)
    return None if mtu is None or rate is None else Route(path.dlid, path.sl, mtu, rate, 0)
