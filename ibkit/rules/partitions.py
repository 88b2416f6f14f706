"""Rules about partitions and packet sizes: what keeps two ports from talking though every link is up."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.display import counted
from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided
from ibkit.model.host import HcaPort
from ibkit.model.partitions import DEFAULT_PARTITION, PortKeys
from ibkit.rules.evidence import COUNTERS, FABRIC, HOSTS, PARTITIONS, Evidence, host_place
from ibkit.rules.rule import Limits, rule
from ibkit.rules.tallies import by_link, finding_of

_SOURCE = "InfiniBand Architecture Specification volume 1, 10.9 (partitioning); OpenSM doc/partition-config.txt"


@rule("R45", "not-in-default-partition", CRITICAL, needs=(PARTITIONS,), source=_SOURCE)
def not_in_default_partition(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Ports are no members of the default partition (0x7fff). All of them are one finding.

    Threshold: none.

    Why: the subnet administrator is reached in it; such a port cannot ask for paths nor join a multicast group.

    Next: `Default=0x7fff, ipoib: ALL=limited, SELF=full;` or ALL=full in OpenSM's partitions.conf, then
    `kill -HUP` of opensm.

    Else: a port whose table was read while the subnet manager wrote it.
    """
    lost = [table for table in evidence.partitions.ports if table.whole and table.default_index is None]
    if lost:
        yield _of_tables(lost, f"not in the default partition {DEFAULT_PARTITION:#06x}")
    yield from _unread(evidence)


@rule("R45", "manager-not-full", CRITICAL, needs=(PARTITIONS,), source=_SOURCE)
def manager_not_full(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The port of the subnet manager is a limited member of the default partition.

    Threshold: none.

    Why: limited members reach full ones only, so all that are limited, too, cannot ask it for anything.

    Next: `SELF=full` in the default partition of OpenSM's partitions.conf, then `kill -HUP` of opensm.
    """
    yield from _problems(evidence, "manager-not-full")


@rule("R45", "limited-pairs", WARNING, needs=(PARTITIONS,), source=f"{_SOURCE}; openucx/ucx #5141")
def limited_pairs(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Pairs of ports share partitions only as limited members of each, and so cannot talk to each other.

    Threshold: none.

    Why: a job with both of them in it fails, or falls back to TCP.

    Next: make one side, or all, full members in partitions.conf, then `kill -HUP` of opensm. `ibkit partitions` shows
    who can talk to whom.

    Else: clients that shall reach their servers alone, as of storage.
    """
    yield from _problems(evidence, "limited-pairs")
    yield from _unread(evidence)


@rule("R45", "default-key-not-first", INFO, needs=(PARTITIONS,), source="openucx/ucx #3639; NVIDIA/nvshmem #82")
def default_key_not_first(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The key of the default partition is not at index 0 of a port's table. All such ports are one finding.

    Threshold: none.

    Why: programs that take index 0 without looking (UCX unless UCX_IB_PKEY is set, verbs examples) use another
    partition than their peers.

    Next: list the default partition first in partitions.conf, or tell the programs which key they are to use.

    Else: it is meant so, and the programs are told.
    """
    moved = [table for table in evidence.partitions.ports if table.whole and table.default_index]
    if moved:
        yield _of_tables(moved, "the default partition's key is not at index 0")


@rule("R45", "partitions-not-as-intended", WARNING, needs=(PARTITIONS,), source=_SOURCE)
def partitions_not_as_intended(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The P_Key tables are not what partitions.conf says, or OpenSM rejects a part of it, or two reads of one table
    differ.

    Threshold: none.

    Why: the next restart of the subnet manager changes who can talk to whom.

    Next: `kill -HUP` of opensm after each change of partitions.conf; look into its log for lines it could not read.

    Else: another partitions.conf than the one that the running subnet manager reads.
    """
    yield from _problems(evidence, "not-as-intended")
    for finding in _problems(evidence, "rejected"):
        yield finding._replace(
            why="OpenSM leaves out what it cannot read, so that ports lack partitions which are written down for them",
            fix="mend that line, then `kill -HUP` of opensm; its log says what it made of the file",
        )
    for finding in _problems(evidence, "contradiction"):
        yield finding._replace(
            why="one of the two reads is not what the port has, so who can talk to whom is not known for it",
            fix="read the table again (`smpquery pkeys LID`), from the port itself",
            otherwise="the subnet manager wrote the table between the two reads",
        )


@rule("R45", "host-without-default-partition", CRITICAL, needs=(HOSTS,), source=_SOURCE)
def host_without_default_partition(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A host's active InfiniBand port has P_Keys, and none of them is that of the default partition.

    Threshold: none. Where the fabric's tables are known, they tell.

    Why: the subnet administrator is reached in it; the port cannot ask for paths nor join a multicast group.

    Next: put the port into the default partition in OpenSM's partitions.conf, then `kill -HUP` of opensm.

    Else: a virtual function that was given other keys on purpose.
    """
    known = {table.port_guid for table in evidence.partitions.ports if table.port_guid}
    for host, hca, port in evidence.host_ports():
        if not _has_table(port) or port.port_guid in known:
            continue
        if not any(key.partition == DEFAULT_PARTITION for key in port.pkeys):
            keys = ", ".join(map(str, port.pkeys))
            yield Finding(
                f"the port is not in the default partition; its keys are {keys}",
                (host_place(host, hca.name, port.port),),
                (Fact(f"P_Key table: {keys}", hca.source),),
            )


def _has_table(port: HcaPort) -> bool:
    return port.state == "Active" and port.transport == "ib" and bool(port.tables_whole) and bool(port.pkeys)


@rule(
    "R46", "mtu-differs", CRITICAL, needs=(FABRIC,),
    source="InfiniBand Architecture Specification volume 1, 14.2.5.6 (PortInfo NeighborMTU, MTUCap)",
)  # fmt: skip
def mtu_differs(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The two ends of a link have different MTUs, or a smaller one than both can do (which is a warning).

    Threshold: the smaller MTUCap of the two ends.

    Why: a packet longer than the neighbour's MTU is thrown away by the port that should send it; with a smaller MTU
    all packets of a path are smaller.

    Next: see what the subnet manager sets (`smpquery portinfo LID PORT`, OpenSM's max_mtu of a partition), and let it
    sweep anew.

    Else: a port that was looked at while the subnet manager configured it.
    """
    unread = 0
    for link in evidence.fabric.links:
        a, b = evidence.ports.get(link.a), evidence.ports.get(link.b)
        if a is None or b is None or None in (a.mtu_bytes, b.mtu_bytes):
            unread += 1
            continue
        text = f"MTU {a.mtu_bytes} and {b.mtu_bytes}, at most {a.max_mtu_bytes} and {b.max_mtu_bytes}"
        fact = Fact(text, evidence.fabric.source)
        if a.mtu_bytes != b.mtu_bytes:
            what = f"the ends of the link have the MTUs {a.mtu_bytes} and {b.mtu_bytes}"
            yield Finding(what, evidence.places_of(link), (fact,))
        elif a.max_mtu_bytes and b.max_mtu_bytes and (a.mtu_bytes or 0) < min(a.max_mtu_bytes, b.max_mtu_bytes):
            what = f"the link's MTU is {a.mtu_bytes}, both ends can do {min(a.max_mtu_bytes, b.max_mtu_bytes)}"
            yield Finding(what, evidence.places_of(link), (fact,), severity=WARNING)
    if unread:
        yield Undecided(f"the MTU of {counted(unread, 'link')} is not known",
                        "record a capture where the subnet administrator answers")  # fmt: skip


@rule(
    "R46", "mtu-discards", CRITICAL, needs=(COUNTERS,),
    source="InfiniBand Architecture Specification volume 1, 16.1.4.5 (PortXmitDiscardDetails); "
    "guilbaults/infiniband-exporter #33; OpenSM #38",
)  # fmt: skip
def mtu_discards(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port throws packets away because they are longer than its neighbour's MTU.

    Threshold: one.

    Why: short messages pass and long ones never do: jobs start, and hang.

    Next: compare MTUs along the path (`ibkit path A B`), and the MTU that the job or IPoIB was told to use.

    Else: an old subnet manager that does not know the speed of the link, and gives it a small MTU.
    """
    for group in by_link(evidence, evidence.tallies.get("PortNeighborMTUDiscards", ())):
        yield finding_of(evidence, group, 1, meaning="packets longer than the neighbour's MTU")


@rule("R47", "same-prefix-two-subnets", WARNING, needs=(FABRIC,), source="openucx/ucx #605, #11426")
def same_prefix(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port of this host has the same subnet prefix as the fabric that was seen, and is not in it.

    Threshold: none. Where the sweep is not complete there is no verdict.

    Why: programs take ports of one prefix for ports of one subnet, choose one of each, and find no path.

    Next: give each fabric a prefix of its own (OpenSM's subnet_prefix), or tell the jobs which devices to use.

    Else: a virtual function, whose GUID is not among the ports of the topology.
    """
    for problem in evidence.fabric.problems:
        if problem.kind == "same-prefix":
            yield Finding(problem.text, (), (Fact(problem.text, problem.source, problem.line),))


def _of_tables(tables: list[PortKeys], what: str) -> Finding:
    members = tuple(
        Finding(what, (_place(table),), (Fact(_keys(table), table.source, table.line),)) for table in tables
    )
    ports = f"{counted(len(tables), 'port')}: {what}"
    fact = Fact(ports, tables[0].source, tables[0].line)
    return members[0] if len(members) == 1 else Finding(ports, (), (fact,), members=members)


def _keys(table: PortKeys) -> str:
    return f"P_Key table: {', '.join(map(str, table.keys[:16])) or 'empty'}"


def _place(table: PortKeys) -> Place:
    return Place(guid=table.guid, name=table.name, port=table.port, port_guid=table.port_guid)


def _problems(evidence: Evidence, *kinds: str) -> Iterator[Finding]:
    for problem in evidence.partitions.problems:
        if problem.kind in kinds:
            yield Finding(problem.text, (), (Fact(problem.text, problem.source, problem.line),))


def _unread(evidence: Evidence) -> Iterator[Undecided]:
    if evidence.partitions.complete is not True:
        yield Undecided("the P_Key tables of some ports are not known",
                        "ask where the subnet administrator gives them (`saquery --smkey KEY PKTR`)")  # fmt: skip
