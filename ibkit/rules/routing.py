"""Rules about the forwarding tables: does every host reach every other one?

Only what hosts need is looked at: from each switch that has hosts to each LID of a host. Subnet managers leave out ways
between root switches on purpose (OpenSM's connect_roots).
"""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.display import counted, first_few
from ibkit.model.fabric import SWITCH, End
from ibkit.model.findings import CRITICAL, Fact, Finding, Place, Undecided
from ibkit.model.ids import Guid
from ibkit.model.routes import LOOP, NO_EXIT, PORT_DOWN, UNREACHABLE, WRONG_NODE, ForwardingTable
from ibkit.parsers.records import NamedTuple
from ibkit.rules.evidence import FABRIC, ROUTES, Evidence
from ibkit.rules.rule import Limits, rule

_UNKNOWN = "unknown"
_WHAT = {
    UNREACHABLE: "has no exit for {lids}: it drops their packets",
    LOOP: "is on a loop for {lids}: their packets go round until they are too old",
    PORT_DOWN: "sends {lids} out of port {port}, which has no link",
    WRONG_NODE: "sends {lids} out of port {port}, behind which they are not",
}


class _Fault(NamedTuple):
    """Where a way ends that does not arrive."""

    result: str
    switch: Guid
    port: int | None


@rule(
    "R69", "broken-routes", CRITICAL, needs=(FABRIC, ROUTES),
    source="InfiniBand Architecture Specification volume 1, 18.2.4.3 (linear forwarding); NVIDIA ibdiagnet; OPA "
    "FastFabric opareport validateroutes",
)  # fmt: skip
def broken_routes(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The forwarding tables do not lead from each switch with hosts to each host: a table has no exit, or one without a
    link, or the way is a loop or ends elsewhere. What goes wrong at one port of one switch is one finding.

    Threshold: none. Credit loops, which take more than the tables to see, are not looked for.

    Why: packets vanish, though every link is up.

    Next: `ibkit path A B` shows the way hop by hop; let the subnet manager route anew (`kill -HUP` of opensm) and look
    into its log for switches that did not take their tables.

    Else: the tables were read while the fabric was routed anew.
    """
    lids = _lids_of_hosts(evidence)
    starts = _switches_with_hosts(evidence)
    walker = _Walker(evidence)
    faults: dict[_Fault, dict[int, Guid]] = {}
    unknown = 0
    for lid, ends in lids.items():
        for switch, fault in walker.walk(lid, ends, starts):
            if fault is None:
                unknown += 1
            else:
                faults.setdefault(fault, {}).setdefault(lid, switch)
    for fault, found in faults.items():
        yield _finding(evidence, fault, found, lids)
    if unknown:
        yield Undecided(f"{unknown:,} of {len(starts) * len(lids):,} ways cannot be followed: tables or cables are not "
                        "known", "record a capture on a host where all switches answer `ibroute`")  # fmt: skip


class _Walker:
    """Follows all ways to one LID, each switch once."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._tables = evidence.routes.tables
        self._peers = {end: evidence.peer_of(end) for end in evidence.link_at}

    def walk(self, lid: int, ends: set[End], starts: list[Guid]) -> Iterator[tuple[Guid, _Fault | None]]:
        """The starts from which the way does not arrive: with what is wrong, None where that is not known."""
        known: dict[Guid, object] = {}
        for start in starts:
            path: list[Guid] = []
            at = start
            while at not in known:
                path.append(at)
                known[at] = LOOP  # until it is known better
                step = self._step(at, lid, ends)
                if isinstance(step, Guid):
                    at = step
                    continue
                known[at] = step
                break
            result = known[at]
            if result == LOOP:
                result = _Fault(LOOP, at, None)
            for guid in path:
                known[guid] = result
            if isinstance(result, _Fault):
                yield start, result
            elif result == _UNKNOWN:
                yield start, None

    def _step(self, switch: Guid, lid: int, ends: set[End]) -> object:
        """The next switch; else True (arrived), unknown, or a fault."""
        port = _exit(self._tables.get(switch, ()), lid)
        if port is None:
            return _UNKNOWN
        if port == NO_EXIT:
            return _Fault(UNREACHABLE, switch, None)
        end = End(switch, port)
        peer = self._peers.get(end)
        if peer is None:
            seen = self._evidence.ports.get(end)
            return _Fault(PORT_DOWN, switch, port) if seen is not None and seen.linked is False else _UNKNOWN
        if peer in ends:
            return True
        return peer.guid if self._evidence.is_switch(peer) else _Fault(WRONG_NODE, switch, port)


def _exit(tables: tuple[ForwardingTable, ...], lid: int) -> int | None:
    return next((port for table in tables if (port := table.exit_of(lid)) is not None), None)


def _lids_of_hosts(evidence: Evidence) -> dict[int, set[End]]:
    lids: dict[int, set[End]] = {}
    for node in evidence.fabric.nodes.values():
        if node.type != SWITCH:
            for port in node.ports:
                if port.lid and port.peer is not None:
                    lids.setdefault(port.lid, set()).add(End(node.guid, port.number))
    return lids


def _switches_with_hosts(evidence: Evidence) -> list[Guid]:
    return [
        node.guid
        for node in evidence.nodes(SWITCH)
        if any(not evidence.is_switch(end) for end in evidence.neighbours(node.guid))
    ]


def _finding(evidence: Evidence, fault: _Fault, found: dict[int, Guid], lids: dict[int, set[End]]) -> Finding:
    node = evidence.fabric.nodes[fault.switch]
    names = first_few((_owner(evidence, lids[lid], lid) for lid in found), 3)
    what = _WHAT[fault.result].format(lids=names, port=fault.port)
    place = evidence.place(End(fault.switch, fault.port)) if fault.port else Place(guid=node.guid, name=node.name)
    table = next(iter(evidence.routes.tables.get(fault.switch, ())), None)
    start = evidence.fabric.nodes[next(iter(found.values()))]
    fact = Fact(f"{counted(len(found), 'LID')}, seen from {start.name or start.guid}",
                table.source if table else None, table.line if table else None)  # fmt: skip
    return Finding(f"{node.name or node.guid} {what}", (place,), (fact,))


def _owner(evidence: Evidence, ends: set[End], lid: int) -> str:
    node = evidence.fabric.nodes[next(iter(ends)).guid]
    return f"LID {lid} ({node.name})" if node.name else f"LID {lid}"
