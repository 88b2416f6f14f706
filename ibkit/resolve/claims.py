"""What each source says of an address, one function a source; nothing is compared here.

What a source is worth where two differ, in that order (``weight``): a host's own table of the address; the kernel's
neighbour table, by which packets are sent now, and ibarr, which is the peer's own word; ibacm and the names in the
fabric; files, which somebody wrote at some time; ibkit's cache; what is only inferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.model.address_cache import EXPIRED, NEGATIVE, OLD
from ibkit.model.addresses import PreloadFile, ipoib_address
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import MTU_BYTES, RATE_GBPS, PathRecord
from ibkit.model.port_state import ETHERNET
from ibkit.model.resolution import ACM, CACHE, FABRIC, GIDS, HOSTS, IBARR, NEIGHBOURS, Claim
from ibkit.parsers.acm_file import key_of
from ibkit.resolve import queries
from ibkit.resolve.nodes import Nodes, Port
from ibkit.resolve.queries import Query
from ibkit.resolve.routing_table import way_out
from ibkit.resolve.view import OwnInterface, View

OWN_TABLE, LIVE, TOLD, FILE, CACHED, INFERRED = 6, 5, 4, 3, 2, 1
IP4_MAPPED = 0xFFFF << 32


def of_own_tables(view: View, address: str) -> Iterator[Claim]:
    """The GID tables and IPoIB interfaces of the host, or of another host of the capture, that has the address; and the
    GID that an address has by itself where the way to it leads out of a RoCE port.
    """
    for one in view.owners_of(address):
        yield from _of_own_interface(one, address, view.host.name)
    if not view.owners_of(address):
        yield from _of_roce(view, address)


def of_hosts_themselves(view: View, name: str) -> Iterator[Claim]:
    """The ports of a host at hand, by the host's name."""
    for host, device, port in view.ports_of_host(name):
        if port.gids:
            own = host == view.host.name
            yield Claim(
                GIDS, port.gids[0].gid, f"GID table of {device} port {port.port} of {host}", age_seconds=0,
                weight=OWN_TABLE, device=device if own else None, port=port.port if own else None,
            )  # fmt: skip


def of_neighbours(view: View, address: str) -> Iterator[Claim]:
    """The kernel's neighbour table, where the neighbour is an IPoIB one."""
    for one in view.neighbours_at(address):
        state = " ".join(one.states) or None
        parts = ipoib_address(one.hardware_address)
        interface = view.interface(one.interface)
        where = f"neighbour on {one.interface}"
        if parts and one.is_valid:
            yield Claim(
                NEIGHBOURS, parts.gid, f"{where}, QPN {parts.qpn:#08x}", partition_of(interface), None,
                one.confirmed_seconds, state, LIVE, "ip neigh",
                device=interface.device if interface else None,
                port=interface.port.port if interface and interface.port else None,
            )  # fmt: skip
        elif interface and interface.interface.kind == "infiniband" and one.hardware_address is None:
            yield Claim(
                NEIGHBOURS,
                None,
                f"{where}: nobody answers",
                partition_of(interface),
                None,
                None,
                state,
                LIVE,
                "ip neigh",
            )


def of_cache(view: View, key: str) -> Iterator[Claim]:
    """What ibkit remembers. A path counts only from the host that it was found on."""
    for entry in view.remembered(key):
        state = entry.state(view.now)
        if state == EXPIRED:
            continue
        what = f"said by {entry.via}" if entry.gid is not None else "nobody knew it"
        yield Claim(
            CACHE, entry.gid, f"{what}: {entry.detail}" if entry.detail else what, entry.pkey,
            entry.path if entry.host == view.host.name else None, entry.age_seconds(view.now), state, CACHED,
            is_old=state in (OLD, NEGATIVE),
        )  # fmt: skip


def of_hosts_file(view: View, query: Query) -> Iterator[Claim]:
    """ibacm_hosts.data, by address or name, with the path of ibacm_route.data for its GID."""
    file = view.preloads.hosts_file
    if file is None:
        return
    index = view.host_entries
    found = index.of_name(query.name) if query.kind == queries.NAME else []
    if query.kind in (queries.IP4, queries.IP6):
        found = index.of_address(query.name)
    for entry in found:
        yield Claim(
            HOSTS, Gid(entry.gid), f"{entry.key} in {file.path}", None, route_of(view, Gid(entry.gid)),
            _age(view, file), None, FILE, file.path, entry.line,
        )  # fmt: skip


def of_acm(view: View, query: Query) -> Iterator[Claim]:
    """What the running ibacm has in its caches, one for each of its endpoints. It tells no ages: an entry may be as old
    as the service, or come from its hosts file.
    """
    from ibkit.collectors.acm import PATH_SECONDS, ask_acm

    if view.acm.address is None or query.kind not in (queries.NAME, queries.IP4, queries.IP6):
        return
    word = query.name.partition("%")[0]
    seconds = 0 if view.many else PATH_SECONDS  # a thousand unknown names must not cost half a second each
    for answer in ask_acm(view.source, view.acm, *key_of(word), seconds=seconds):
        path = answer.path
        if path and path.dgid:
            where = f"endpoint {answer.endpoint.number}" if answer.endpoint else "an endpoint"
            detail = f"{word} in the cache of ibacm's {where}"
            yield Claim(ACM, path.dgid, detail, path.pkey, path, None, None, TOLD, view.acm.address)


def of_ibarr(view: View, address: str) -> Iterator[Claim]:
    """What the peer itself says."""
    from ibkit.collectors.ibarr import ask_ibarr

    answer = ask_ibarr(view.source, address)
    text = f"ibarr at {address}" if answer.gid else f"ibarr: {answer.error}"
    yield Claim(IBARR, answer.gid, text, None, None, 0 if answer.gid else None, None, LIVE)


def of_route_file(view: View, gid: Gid) -> Iterator[Claim]:
    """The path of ibacm_route.data for a GID that was found elsewhere."""
    path = route_of(view, gid)
    file = view.preloads.routes_file
    if path is not None and file is not None:
        yield Claim(HOSTS, None, f"path in {file.path}", None, path, _age(view, file), None, FILE, file.path)


def of_fabric(nodes: Nodes, view: View, query: Query) -> Iterator[tuple[Claim, Port]]:
    """The ports that a name, GUID, LID or GID means in the fabric."""
    for port in _meant(nodes, query):
        gid = gid_of(view, port)
        text = str(port) if gid else f"{port}: the subnet's prefix is not known"
        yield Claim(FABRIC, gid, text, weight=TOLD, source=nodes.source_of(port)), port


def inferred_from_names(nodes: Nodes, view: View, names: Sequence[str]) -> Iterator[Claim]:
    """The port of the host that an address's name names, if the host has only one."""
    for name in names:
        ports = nodes.of_address_name(name)
        if len(ports) == 1 and (gid := gid_of(view, ports[0])):
            text = f"{ports[0]}: the only port of the host that {name} names"
            yield Claim(FABRIC, gid, text, weight=INFERRED, source=nodes.source_of(ports[0]))


def of_moved_ports(view: View, ports: Sequence[Port]) -> Iterator[Claim]:
    """The GIDs that ports have which a source knows by the prefix of another subnet."""
    for port in ports:
        gid = gid_of(view, port)
        if gid is not None:
            yield Claim(FABRIC, gid, f"{port}, by its GUID", weight=INFERRED, source=view.nodes.source_of(port))


def gid_of(view: View, port: Port) -> Gid | None:
    """The port's GID in its subnet; None where no prefix is known, for fe80::/64 need not be the real one."""
    prefix = view.prefix_of(port)
    return None if prefix is None else Gid(prefix << 64 | port.guid)


def route_of(view: View, gid: Gid) -> PathRecord | None:
    """What ibacm makes of its route file for this GID: the block of its own port, and the LID of the block whose GUID
    the GID has. The file knows no other subnet and no partition.
    """
    target = view.route_blocks.get(gid.guid)
    if target is None or view.is_own_subnet(gid.subnet_prefix) is False:
        return None
    for port, rows in view.own_routes:
        if row := rows.get(target.lid):
            own_gid = port.gids[0].gid if port.gids else None
            return PathRecord(
                own_gid, gid, port.lid, target.lid, None, row.sl, MTU_BYTES.get(row.mtu_code),
                RATE_GBPS.get(row.rate_code),
            )  # fmt: skip
    return None


def roce_gid(address: str, number: int) -> Gid:
    """The GID that RoCE makes of an address: an IPv4 one is mapped, an IPv6 one is it."""
    return Gid(number if ":" in address else IP4_MAPPED | number)


def _of_own_interface(one: OwnInterface, address: str, host: str) -> Iterator[Claim]:
    interface = one.interface
    whose = f"{interface.name} of {one.host or host or 'this host'}"
    parts = ipoib_address(interface.hardware_address)
    port = one.port.port if one.port else None
    if parts:
        yield Claim(
            GIDS, parts.gid, f"IPoIB interface {whose}", partition_of(one), None, 0, None, OWN_TABLE,
            device=one.device, port=port,
        )  # fmt: skip
        return
    if one.port is None or one.port.link_layer != ETHERNET:
        return
    wanted = roce_gid(address, number_of(address))
    entries = [entry for entry in one.port.gids if entry.gid == wanted]
    if entries:
        rows = ", ".join(f"index {entry.gid_index} {entry.type or '?'}" for entry in entries)
        vlan = next((entry.netdev for entry in entries if entry.netdev), interface.name)
        text = f"GID table of {one.device} port {port} ({whose}): {rows}, on {vlan}"
        yield Claim(GIDS, wanted, text, None, None, 0, None, OWN_TABLE, device=one.device, port=port)


def _of_roce(view: View, address: str) -> Iterator[Claim]:
    """An address that is reached out of a RoCE port has its GID by itself; whether anybody there speaks RoCE is not
    seen from here.
    """
    way = way_out(address, view.hcas.interfaces or (), view.addresses.routes)
    out = view.interface(way.interface) if way else None
    if way is None or out is None or out.port is None or out.port.link_layer != ETHERNET or out.device is None:
        return
    if out.port.transport not in (None, "roce"):
        return
    plain = address.partition("%")[0]
    mac = next((one for one in view.neighbours_at(plain) if one.interface == way.interface), None)
    text = f"RoCE out of {way.interface} ({out.device} port {out.port.port}): the GID is made of the address"
    if way.gateway:
        text += f"; it lies behind the gateway {way.gateway}, where it may be another network's"
    elif mac and mac.is_valid:
        text += f"; its neighbour entry is {mac.hardware_address}"
    vlan = view.addresses.vlans.get(way.interface)
    if vlan is not None:
        text += f"; VLAN {vlan}"
    weight = INFERRED if way.gateway else LIVE if mac and mac.is_valid else TOLD
    yield Claim(
        GIDS, roce_gid(plain, number_of(plain)), text, age_seconds=0, weight=weight, device=out.device,
        port=out.port.port, netdev=way.interface,
    )  # fmt: skip


def _meant(nodes: Nodes, query: Query) -> list[Port]:
    if query.kind == queries.LID:
        port = nodes.by_lid(query.value)
        return [port] if port else []
    if query.kind == queries.GUID:
        port = nodes.by_guid(query.value)
        return [port] if port else nodes.of_node(query.value)
    if query.kind in (queries.GID, queries.IP6):
        port = nodes.by_guid(Gid(query.value).guid)
        return [port] if port else []
    return nodes.named(query.name) if query.kind == queries.NAME else []


def partition_of(one: OwnInterface | None) -> PKey | None:
    """An IPoIB interface's P_Key with the membership of the port's table: the kernel shows it always as a full one."""
    pkey = one.interface.pkey if one else None
    if pkey is None or one is None or one.port is None:
        return pkey
    return next((known for known in one.port.pkeys if known.partition == pkey.partition), pkey)


def _age(view: View, file: PreloadFile) -> int | None:
    if file.modified is None or view.now is None:
        return None
    return max(0, int(view.now) - file.modified)


def number_of(address: str) -> int:
    """An IP address as a number."""
    from socket import AF_INET, AF_INET6, inet_pton

    plain = address.partition("%")[0]
    return int.from_bytes(inet_pton(AF_INET6 if ":" in plain else AF_INET, plain), "big")
