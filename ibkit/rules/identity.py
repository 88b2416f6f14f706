"""Rules about what must be unique: LIDs, GUIDs and, for people, names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.display import counted, first_few
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH, End, Node
from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided, all_of
from ibkit.model.ids import Guid
from ibkit.model.node_names import is_default
from ibkit.parsers.base import Problem
from ibkit.rules.evidence import FABRIC, Evidence
from ibkit.rules.rule import Limits, rule

#: How collectors name an end of the fabric in a problem (ibkit.collectors.cabling, end_text), or a node.
_END = re.compile(r"\b(0x[0-9a-f]{16})(?:\[(\d{1,3})\])?")


@rule(
    "R40", "duplicate-lid", CRITICAL, needs=(FABRIC,),
    source="InfiniBand Architecture Specification volume 1, 4.1.3; infiniband-diags ibidsverify; OpenSM osm_lid_mgr.c",
)  # fmt: skip
def duplicate_lid(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Two ports of one subnet have the same LID, or ranges of LIDs (LMC) that overlap.

    Threshold: none.

    Why: packets for one of them arrive at the other.

    Next: look whether two subnet managers are at work (`ibkit sm`) or two subnets were joined; let the one that is to
    stay assign LIDs anew (opensm -r).

    Else: the fabric was swept while its LIDs changed: sweep again.
    """
    yield from _problems(evidence, "duplicate-lid")


@rule("R41", "no-lid", CRITICAL, needs=(FABRIC,), source="InfiniBand Architecture Specification volume 1, 4.1.3")
def no_lid(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Ports in use have no LID, or one that no port can have (0, 65535, or the range of multicast from 0xC000).

    Threshold: none.

    Why: nothing but directed management packets reaches such a port.

    Next: see whether a subnet manager runs (`ibkit sm`) and what its log says of these ports.

    Else: the port did not answer the sweep, where 0 is printed as well.
    """
    yield from _problems(evidence, "no-lid", "bad-lid")


@rule(
    "R42", "duplicate-guid", CRITICAL, needs=(FABRIC,),
    source="InfiniBand Architecture Specification volume 1, 4.1; infiniband-diags ibidsverify; OpenSM ERR 0D01",
)  # fmt: skip
def duplicate_guid(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Two nodes or ports have the same GUID, or a GUID is zero.

    Threshold: none.

    Why: subnet managers know nodes by their GUIDs: they drop one of the two, or the fabric as a whole.

    Next: sweep again first. Then read the GUIDs off the labels and burn the right ones (`flint -d DEVICE sg`).

    Else: a cable that was moved during the sweep, 12x lanes in reverse order, or two sweeps in one text.
    """
    yield from _problems(evidence, "duplicate-guid", "bad-guid")
    owners: dict[Guid, list[End]] = {}
    for end, port in evidence.ports.items():
        if port.guid:
            owners.setdefault(port.guid, []).append(end)
    for guid, ends in owners.items():
        nodes = {end.guid for end in ends}
        if guid in evidence.fabric.nodes:
            nodes.add(guid)
        if len(nodes) > 1 and not _are_one_card([evidence.fabric.nodes[node] for node in nodes]):
            places = tuple(evidence.place(end) for end in ends)
            what = f"the port GUID {guid} is that of {counted(len(nodes), 'node')}"
            yield Finding(what, places, (Fact(what, evidence.fabric.source),))


@rule(
    "R43", "duplicate-name", WARNING, needs=(FABRIC,),
    source="Mellanox/ufm_sdk_3.0 #143; NVIDIA ibdiagnet (duplicated node description)",
)  # fmt: skip
def duplicate_name(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Two nodes have the same description.

    Threshold: none. Aggregation nodes inside switches and default names (R48) do not count, nor devices of one card.

    Why: people, and tools that join by name, take one for the other.

    Next: give the nodes their own names: hosts by rdma-ndd, switches by their console or a node-name map.

    Else: a host that names all of its adapters alike.
    """
    nodes: dict[str, list[Node]] = {}
    for node in evidence.nodes(SWITCH, CHANNEL_ADAPTER, ROUTER):
        if node.name and node.name.strip() and not is_default(node.name):
            nodes.setdefault(node.name.strip(), []).append(node)
    for name, same in nodes.items():
        if len(same) > 1 and not _are_one_card(same):
            places = tuple(Place(guid=node.guid, name=node.name) for node in same)
            what = f"{counted(len(same), 'node')} have the description {name!r}"
            yield Finding(what, places, (Fact(what, evidence.fabric.source),))


@rule(
    "R03",
    "no-neighbour",
    WARNING,
    needs=(FABRIC,),
    source="infiniband-diags ibnetdiscover, which starts at its own port",
)
def no_neighbour(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The sweep saw the host that it started from, and nobody else.

    Threshold: none.

    Why: the host is alone: its port is not cabled, not up, or its neighbour does not answer.

    Next: `ibkit status` shows the port's state; look at the cable, then at the port of the switch.

    Else: the host is cabled back to back to one that does not answer management packets.
    """
    yield from _problems(evidence, "no-neighbour")


@rule(
    "R63", "contradicting-evidence", WARNING, needs=(FABRIC,),
    source="infiniband-diags ibnetdiscover, which prints each link at both of its ends",
)  # fmt: skip
def contradicting_evidence(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Two places of the evidence say different things of the fabric: the ends of a link disagree about its rate or
    about who is linked, a LID is told twice, or a number cannot be.

    Threshold: none. What is contradicted is not believed: it counts as unknown.

    Why: either the fabric changed while it was swept, or the text is damaged, or a node answers wrongly.

    Next: sweep again; if it stays, look at the node whose two ends disagree, and at its firmware.

    Else: a saved text that was put together from several sweeps.
    """
    yield from _problems(evidence, "contradiction", "bad-port")


@rule("R48", "default-names", INFO, needs=(FABRIC,), source="linux-rdma/rdma-core #962 (rdma-ndd)")
def default_names(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Nodes have the description that their firmware gave them, none, or that of a host without a name.

    Threshold: none. All of them are one finding.

    Why: nobody knows which machine it is.

    Next: `systemctl status rdma-ndd` on hosts (it missed the event, or ran before the host had its name); name switches
    without management by a node-name map (`--node-name-map`).

    Else: nodes that nobody wants to name.
    """
    members = tuple(
        Finding(f"its description is {node.name!r}" if node.name else "it has no description", (_place(node),))
        for node in evidence.nodes(SWITCH, CHANNEL_ADAPTER, ROUTER)
        if node.port_count is not None and is_default(node.name)
    )
    if members:
        names = dict.fromkeys(member.places[0].name or "no description" for member in members)
        told = first_few(map(repr, names), 3)
        what = f"{counted(len(members), 'node has', 'nodes have')} no name of their own: {told}"
        yield all_of(what, members, Fact(what, evidence.fabric.source))


def _are_one_card(nodes: list[Node]) -> bool:
    """Whether all share a system image GUID, as the two devices of an XDR adapter and the ASICs of one box do."""
    images = {node.system_image_guid for node in nodes}
    return len(images) == 1 and None not in images


def _place(node: Node) -> Place:
    return Place(guid=node.guid, name=node.name)


def _problems(evidence: Evidence, *kinds: str) -> Iterator[Finding]:
    """What the collectors found while they put the fabric together."""
    for problem in evidence.fabric.problems:
        if problem.kind in kinds:
            yield Finding(problem.text, _places(evidence, problem), (_fact(problem),))


def _fact(problem: Problem) -> Fact:
    return Fact(problem.text, problem.source, problem.line)


def _places(evidence: Evidence, problem: Problem) -> tuple[Place, ...]:
    """The ends that a problem names."""
    places = []
    for guid, number in dict.fromkeys(_END.findall(problem.text)):
        node = evidence.fabric.nodes.get(Guid.parse(guid))
        if node and number and number != "0":
            places.append(evidence.place(End(node.guid, int(number))))
        elif node:
            places.append(_place(node))
    return tuple(places)
