"""Put the SA's records together: the same fabric as from ibnetdiscover, with what PortInfo tells of each port. Pure.

Records name ports by LID, so NodeRecords are what gives them their GUIDs. OpenSM fills ``port_num`` of a NodeRecord
from the node's own answer, which is that of the port it was first reached by; so a port's number is taken from its
PortInfoRecord or from a link, and from there only where neither tells.

What proves that the records are not all of it: a LID that no NodeRecord has, a switch without the records of all of its
ports, a link that only one end has (``dangling``: the answer is cut, or the manager was at work); a port that is up and
has no link (its neighbour shares no partition with us, or did not answer the manager).
"""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.collectors.cabling import Findings, end_key, end_text
from ibkit.collectors.lids import NO_LIDS
from ibkit.collectors.ports_report import Unlinked
from ibkit.collectors.sa import LINKS, NODES, PORTS, SaReading
from ibkit.collectors.topology import assemble_blocks
from ibkit.display import and_more
from ibkit.model.fabric import Fabric, FabricPort, Node, lid_range
from ibkit.model.ids import Guid
from ibkit.parsers.ibnetdiscover import NodeBlock, PortRow
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.sa_records import CHANNEL_ADAPTER, DOWN, ROUTER, SWITCH, PortInfo, SaNode

_KINDS = {SWITCH: ("Switch", "S"), CHANNEL_ADAPTER: ("Ca", "H"), ROUTER: ("Rt", "R")}
_UNKNOWN = ("???", "?")
_NO_INFO = PortInfo()
_NO_NEIGHBOUR = "it is up, and the SA tells no neighbour"
#: What a record of one type is for, in the sentence that says that there is none.
_TELLS = {NODES: "nodes and names", LINKS: "links", PORTS: "the ports' states and rates"}
#: Chips that may run FDR10: vendor and device ids of Mellanox since ConnectX-3 and SwitchX (rdma-core,
#: ``infiniband-diags/ibdiag_common.c``, is_mlnx_ext_port_info_supported, which also has Bull's).
_FDR10_VENDORS = frozenset({0x2C9, 0x119F})
_FDR10_DEVICES = (range(0x1003, 0x1100), range(0x1B00, 0x1C00), range(0xA2D0, 0xA300), range(0xC738, 0x10000))


class SaPicture(NamedTuple):
    """What the SA's records show. ``is_dangling``: they refer to records that are missing, so none is to be trusted
    where a sweep tells. ``may_be_fdr10``: some links are QDR or FDR10, and only a sweep tells which.
    """

    fabric: Fabric
    is_dangling: bool
    may_be_fdr10: bool


def assemble_records(reading: SaReading) -> SaPicture:
    """The fabric that the records show."""
    draft = _Draft(reading)
    dangling = draft.look_for_gaps()
    blocks = [draft.block(guid) for guid in draft.nodes]
    unlinked = tuple(draft.unlinked())
    draft.look_for_lost_neighbours()
    may_be_fdr10 = draft.look_for_fdr10()
    fabric = assemble_blocks(
        blocks, unlinked, (*reading.problems, *draft.findings.problems()), source=reading.label,
        lacking=reading.complete is False or draft.findings.lacking, swept_clean=reading.ended_well,
    )  # fmt: skip
    nodes = {guid: draft.with_infos(node) for guid, node in fabric.nodes.items()}
    problems = fabric.problems
    if not reading.is_saved:  # lines of several texts
        problems = tuple(problem._replace(line=None) for problem in problems)
    return SaPicture(fabric._replace(nodes=nodes, problems=problems), dangling, may_be_fdr10)


class _Draft:
    """All records, by what they are about. Ports have the keys of :mod:`ibkit.collectors.cabling`."""

    def __init__(self, reading: SaReading) -> None:
        self.findings = Findings(reading.label)
        self._records = reading.records
        self._is_saved = reading.is_saved
        self.nodes: dict[int, list[SaNode]] = {}
        for node in self._records.nodes:
            self.nodes.setdefault(node.guid, []).append(node)
        self._by_lid = self._owners()
        self._strangers: set[int] = set()
        self._infos: dict[int, PortInfo] = {}
        for port in self._records.ports:
            owner = self._owner(port.lid)
            if owner is not None:
                self._infos.setdefault(end_key(owner.guid, port.port), port.info)
        self._rows: dict[int, list[PortRow]] = {}
        self._linked: set[int] = set()
        self._read_links()
        self._numbers = self._port_numbers()
        self._virtual = self._virtual_guids()

    # Whose is a LID

    def _owners(self) -> dict[int, SaNode | None]:
        """LID -> the record of the node or port that has it; all LIDs of a range that an LMC gives.

        None where several have it, as in a text with the records of two subnets.
        """
        lmcs = {port.lid: port.info.lmc for port in self._records.ports if port.info.lmc}
        owners: dict[int, SaNode | None] = {}
        for node in self._records.nodes:
            if node.lid in NO_LIDS:
                continue
            for lid in lid_range(node.lid, lmcs.get(node.lid)):
                known = owners.setdefault(lid, node)
                if known is not None and known.port_guid != node.port_guid:
                    text = (
                        f"{Guid(known.guid)} and {Guid(node.guid)} have the LID {lid}: records of two subnets in one?"
                    )
                    self.findings.add("ambiguous-lid", text, node.line, lacking=True)
                    owners[lid] = None
        return owners

    def _owner(self, lid: int) -> SaNode | None:
        if lid not in self._by_lid:
            self._strangers.add(lid)
        return self._by_lid.get(lid)

    def _port_numbers(self) -> dict[tuple[int, int], int]:
        """(Node's GUID, port GUID) -> number of the port."""
        by_lid = {port.lid: port.port for port in self._records.ports}
        for link in self._records.links:
            by_lid.setdefault(link.lid, link.port)
        numbers = {}
        for guid, records in self.nodes.items():
            for node in records:
                number = by_lid.get(node.lid, node.port if len(records) == 1 else 0)
                if node.type != SWITCH and number:
                    numbers[guid, node.port_guid] = number
        return numbers

    # Links

    def _read_links(self) -> None:
        for link in self._records.links:
            owner, peer = self._owner(link.lid), self._owner(link.peer_lid)
            if owner is None or peer is None:
                continue
            key = end_key(owner.guid, link.port)
            info = self._infos.get(key, _NO_INFO)
            switch, peer_is_switch = owner.type == SWITCH, peer.type == SWITCH
            self._linked.add(key)
            self._rows.setdefault(owner.guid, []).append(
                PortRow(
                    link.line, link.port, None if switch else owner.port_guid, _KINDS.get(peer.type, _UNKNOWN)[1],
                    peer.guid, link.peer_port, None if peer_is_switch else peer.port_guid,
                    None if switch else owner.lid, info.lmc if not switch else None, peer.name, None,
                    info.width, info.speed,
                )
            )  # fmt: skip

    def block(self, guid: int) -> NodeBlock:
        """A node with its links."""
        first = self._agreed(guid)
        port0 = self._infos.get(end_key(guid, 0), _NO_INFO)
        return NodeBlock(
            first.line, _KINDS.get(first.type, _UNKNOWN)[0], guid, first.name or None, first.port_count,
            tuple(self._rows.get(guid, ())), lid=first.lid if first.type == SWITCH else None, lmc=port0.lmc,
            system_image_guid=first.system_image_guid, vendor_id=first.vendor_id, device_id=first.device_id,
        )  # fmt: skip

    def _agreed(self, guid: int) -> SaNode:
        """The first record of a node; that its others differ is told."""
        first, *others = self.nodes[guid]
        for other in others:
            for field in ("type", "port_count", "system_image_guid", "vendor_id", "device_id"):
                if getattr(other, field) != getattr(first, field):
                    values = f"{getattr(first, field)} and {getattr(other, field)}"
                    text = f"{Guid(guid)} has two values of {field}: {values}"
                    self.findings.add("contradiction", text, other.line)
        return first

    def unlinked(self) -> Iterator[Unlinked]:
        """Ports of channel adapters and routers that have a record and no link."""
        for guid, records in self.nodes.items():
            for node in records:
                number = self._numbers.get((guid, node.port_guid))
                if number and end_key(guid, number) not in self._linked:
                    yield Unlinked(guid, number, node.port_guid, node.lid)

    # What is missing

    def look_for_gaps(self) -> bool:
        """Whether records refer to others that are not there."""
        records = self._records
        kinds = {NODES: records.nodes, LINKS: records.links, PORTS: records.ports}
        missing = [name for name, listed in kinds.items() if not listed]
        for name in missing:
            text = f"no {name} records, which tell {_TELLS[name]}: `saquery {name}`"
            self.findings.add("partial", text, lacking=True)
        gaps = list(self._gaps(missing))
        if gaps:
            text = f"the SA's records are not all of them: {'; '.join(gaps)}"
            self.findings.add("dangling", text, lacking=True)
        return bool(gaps or missing) or None in self._by_lid.values()

    def _gaps(self, missing: list[str]) -> Iterator[str]:
        if self._strangers and NODES not in missing:
            few = ", ".join(map(str, sorted(self._strangers)[:5]))
            yield f"nobody has the LID {few}" + (" and others" if len(self._strangers) > 5 else "")
        if PORTS not in missing:
            silent = [node for records in self.nodes.values() for node in records if not self._is_told(node)]
            if silent:
                more = and_more(len(silent) - 1, "node")
                yield f"not all ports of {Guid(silent[0].guid)}{more} have one"
        ends = {(link.lid, link.port): (link.peer_lid, link.peer_port) for link in self._records.links}
        one_sided = sum(ends.get(peer) != end for end, peer in ends.items())
        if one_sided:
            yield f"{one_sided} links are there from one end only"

    def _is_told(self, node: SaNode) -> bool:
        """Whether there are PortInfoRecords of a switch's ports, or of the port that the node's record is about."""
        if node.type == SWITCH:
            return all(end_key(node.guid, number) in self._infos for number in range(node.port_count + 1))
        number = self._numbers.get((node.guid, node.port_guid), 0)
        return node.lid in NO_LIDS or end_key(node.guid, number) in self._infos

    def look_for_lost_neighbours(self) -> None:
        """Ports that are up and have no link."""
        if not self._records.links:
            return
        up = [key for key, info in self._infos.items() if key & 0xFF and info.state not in (None, DOWN)]
        lost = [key for key in up if key not in self._linked]
        if lost:
            more = f"{and_more(len(lost) - 1, 'port')} {'are' if len(lost) > 1 else 'is'}"
            text = (
                f"{end_text(lost[0])}{more} up, and the SA tells no neighbour: it tells a link only where both ends "
                "share a partition, with each other and with the port that asks, and answered the subnet manager"
            )
            self.findings.add("unknown-neighbour", text, lacking=True)

    def look_for_fdr10(self) -> bool:
        """Whether a link may be faster than the records can say."""
        able = {guid for guid, (node, *_) in self.nodes.items() if _may_run_fdr10(node)}
        count = sum(
            row.speed == "QDR" and row.peer_guid in able for guid in able for row in self._rows.get(guid, ())
        )  # fmt: skip
        if count:
            text = f"{(count + 1) // 2} links at QDR may be FDR10: the SA's records do not tell, ibnetdiscover does"
            self.findings.add("qdr-or-fdr10", text)
        return bool(count)

    # PortInfo

    def with_infos(self, node: Node) -> Node:
        """The node with what PortInfo tells of its ports."""
        prefix = self._infos.get(end_key(node.guid, 0), _NO_INFO).subnet_prefix
        ports = []
        for port in node.ports:
            info = self._infos.get(end_key(node.guid, port.number))
            if info is not None:
                port = with_info(port, info, prefix)
                if port.linked and port.peer is None:
                    port = port._replace(doubt=_NO_NEIGHBOUR)
            if port.guid in self._virtual:
                port = port._replace(virtual_guids=self._virtual[port.guid])
            ports.append(port)
        told = all(map(self._is_told, self.nodes.get(node.guid, ())))
        doubt = node.doubt if told else "the SA has not the records of all of its ports"
        return node._replace(ports=tuple(ports), port0=self._port0(node, prefix), doubt=doubt)

    def _port0(self, node: Node, prefix: int | None) -> FabricPort | None:
        """A switch's management port, which has a LID and no cable."""
        info = self._infos.get(end_key(node.guid, 0))
        if info is None:
            return None
        port = with_info(FabricPort(0, node.guid, node.lid), info, prefix)
        return port._replace(linked=None, width=None, speed=None)

    def _virtual_guids(self) -> dict[int | None, tuple[Guid, ...]]:
        """Port GUID -> what its table holds behind the first entry, which is the port GUID itself."""
        tables: dict[int, dict[int, tuple[int, ...]]] = {}
        for record in self._records.guids:
            owner = self._by_lid.get(record.lid)
            if owner is not None:
                tables.setdefault(owner.port_guid, {})[record.block] = record.guids
        return {
            guid: tuple(Guid(entry) for block in sorted(blocks) for entry in blocks[block][not block :] if entry)
            for guid, blocks in tables.items()
        }


def with_info(port: FabricPort, info: PortInfo, switch_prefix: int | None) -> FabricPort:
    """A port that is not down has a link, whether or not its neighbour is known. Both ends agreed on a link's rate."""
    width, speed = (info.width, info.speed) if port.peer is None else (port.width, port.speed)
    return port._replace(
        state=info.state,
        physical_state=info.physical_state,
        linked=port.linked if info.state is None else info.state != DOWN,
        width=width,
        speed=speed,
        lmc=info.lmc,
        sm_lid=info.sm_lid,
        mtu_bytes=info.mtu_bytes,
        max_mtu_bytes=info.max_mtu_bytes,
        enabled_width=info.enabled_width,
        supported_width=info.supported_width,
        enabled_speed=info.enabled_speed,
        supported_speed=info.supported_speed,
        subnet_prefix=info.subnet_prefix or (None if info.state == DOWN else switch_prefix),
    )


def _may_run_fdr10(node: SaNode) -> bool:
    return node.vendor_id & 0xFFFFFF in _FDR10_VENDORS and any(node.device_id in some for some in _FDR10_DEVICES)
