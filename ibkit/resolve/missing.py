"""Why an answer is not known, and what would make it known: a sentence for each source that might have told it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.collectors.addresses import HOSTS_FILE
from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.model.ids import Gid
from ibkit.model.resolution import CACHE, FABRIC, HOSTS, NEIGHBOURS, SA
from ibkit.parsers.base import Problem
from ibkit.resolve import queries
from ibkit.resolve.nodes import Port
from ibkit.resolve.paths import Found
from ibkit.resolve.queries import Query
from ibkit.resolve.routing_table import way_out
from ibkit.resolve.view import View

#: ``kind``: no source knows the address; the port is known and its subnet's prefix is not; the GID is known and the
#: path is not.
UNRESOLVED, NO_PREFIX, NO_PATH_KNOWN = "unresolved", "prefix-unknown", "path-unknown"


def explain(
    view: View,
    via: Sequence[str],
    query: Query,
    gid: Gid | None,
    found: Found | None,
    addresses: Sequence[str] = (),
    port: Port | None = None,
) -> Iterator[Problem]:
    """What is missing for a GID, or for the path to one."""
    if gid is None and port is not None:
        text = (
            f"{query.text}: it is {port}, and its GID is not known, for the subnet's prefix is not at hand (`ibaddr`, "
            "or a GID table in /sys, tells it); within its subnet the port has "
            f"{Gid(LINK_LOCAL_PREFIX << 64 | port.guid)}, too"
        )
        yield Problem(NO_PREFIX, text)
    elif gid is None:
        reasons = list(_no_gid(view, via, query, addresses))
        yield Problem(UNRESOLVED, f"{query.text}: no source knows it: {'; '.join(reasons)}")
    elif found is not None and not found.problems:
        yield Problem(NO_PATH_KNOWN, f"{query.text}: {_no_path(view, via, found)}")


def _no_gid(view: View, via: Sequence[str], query: Query, addresses: Sequence[str]) -> Iterator[str]:
    if CACHE in via and view.has_cache and query.kind != queries.LID and query.kind != queries.GUID:
        entries = view.remembered(queries.cache_key(query) or "")
        states = ", ".join(dict.fromkeys(entry.state(view.now) for entry in entries))
        yield f"ibkit's cache has {states} entries only" if entries else "ibkit's cache does not have it"
    if query.kind == queries.NAME and not addresses and any(one in via for one in (HOSTS, NEIGHBOURS)):
        yield f"the host does not know an address of {query.name}, loopback aside"
    if HOSTS in via and query.kind in (queries.NAME, queries.IP4, queries.IP6):
        file = view.preloads.hosts_file
        yield (
            f"{file.path} has no such key"
            if file
            else f"there is no {HOSTS_FILE} (`ibkit cache build` and `export` make one)"
        )
    if NEIGHBOURS in via and addresses:
        yield from _no_neighbour(view, addresses)
    if FABRIC in via and query.kind in (queries.NAME, queries.GUID, queries.LID):
        yield from _no_node(view, query)


def _no_neighbour(view: View, addresses: Sequence[str]) -> Iterator[str]:
    if view.addresses.neighbours is None:
        yield "the neighbour table is not at hand (`ip -j neigh`)"
        return
    for address in addresses:
        way = way_out(address, view.hcas.interfaces or (), view.addresses.routes)
        out = view.interface(way.interface) if way else None
        if way is None:
            yield f"the host has no route to {address}"
        elif way.gateway and out and out.interface.kind == "infiniband":
            yield (
                f"{address} lies behind the gateway {way.gateway}, so that the neighbour table cannot have it: "
                "a hosts file or ibarr can"
            )
        elif out and out.interface.kind == "infiniband":
            yield f"it is no neighbour on {way.interface} now (`ping -c 1 {address}` from this host makes it one)"
        else:
            yield f"{address} is reached out of {way.interface}, which is neither IPoIB nor RoCE"


def _no_node(view: View, query: Query) -> Iterator[str]:
    if not view.sees_infiniband:
        yield "this host has no InfiniBand port to look through"
    elif view.nodes.is_empty:
        yield "the fabric could not be seen"
    else:
        some = "" if view.sees_all else ", of which not all was seen"
        yield f"no node of the fabric{some} is described so"


def _no_path(view: View, via: Sequence[str], found: Found) -> str:
    if SA not in via:
        return "the path is not known: the subnet administrator was not asked (--via sa)"
    if not view.sees_infiniband:
        return "the path is not known: this host has no InfiniBand port that is up"
    return "the path is not known: nobody could be asked for it"
