"""Rules that compare with expectations (`ibkit expect init`, `--expect FILE`): missing, extra, moved, slower."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.display import counted, first_few
from ibkit.model.expectations import (
    ExpectedLink,
    NodeGroup,
    NodeLink,
    PortGroup,
    memberships,
)
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, UNKNOWN_TYPE, Fabric, FabricPort, Link, Node
from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided, all_of
from ibkit.model.ids import Guid
from ibkit.model.node_names import host_of
from ibkit.model.rates import rate_gbps, width_speed
from ibkit.rules.evidence import EXPECTED, FABRIC, HOSTS, MANAGERS, PARTITIONS, Evidence, host_place
from ibkit.rules.missing import missing_from
from ibkit.rules.rule import Limits, rule

_SOURCE = "leptonai/gpud threshold_default.go; Azure/azurehpc-health-checks"


@rule("R12", "missing-hosts", CRITICAL, needs=(FABRIC, EXPECTED), source=_SOURCE)
def missing_hosts(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A host or a switch that is expected is not in the fabric, by its name.

    Threshold: none. Where the cabling is written down, what is missing there by its GUID is told by that rule (R68).
    In a sweep that is not known to be complete nothing is missing.

    Why: jobs that are sent to a host that is gone fail, and a switch takes away what is behind it.

    Next: of a host look whether it is up, and whether its port is (`ibkit status` there); of a switch whether it has
    power, and whether what is linked to it is missing, too (`ibkit fabric --down`).

    Else: a node with another name than before, or a host whose rdma-ndd did not name it; one behind a router, whose
    subnet this is not.
    """
    told = {host_of(node.name) for node in _gone(evidence)}
    absent = 0
    for kind, groups in _groups(evidence):
        there = evidence.links_by_name(kind)
        for group in groups:
            for name in group.names:
                if name in there or name in told:
                    continue
                if evidence.fabric.complete:
                    what = f"no node of the fabric is called {name}"
                    yield Finding(what, (Place(name=name),), (_fact(evidence, f"{name} is expected"),))
                else:
                    absent += 1
    if absent:
        yield Undecided(f"{counted(absent, 'node')} that {'is' if absent == 1 else 'are'} expected did not show, "
                        "and the sweep is not known to be complete", _SWEEP)  # fmt: skip


@rule("R12", "missing-ports", CRITICAL, needs=(FABRIC, EXPECTED), source=_SOURCE)
def missing_ports(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A host has fewer links than are expected of it, by model of its adapters; or a switch fewer to other switches.

    Threshold: the number in its group. More than that is no finding, nor are ports without a link.

    Why: one of its rails is lost, or the fabric has less bandwidth than it was built for.

    Next: look which of its ports has no link (`ibkit status` on the host, `ibkit fabric ports`).

    Else: an adapter that was taken out on purpose, without a new expectation.
    """
    unknown = 0
    for group, name, own in _expected_nodes(evidence):
        for model, number in _numbers(group.ports).items():
            have = sum(model is None or one.model in (model, None) for one in own)
            if have >= number:
                continue
            if not evidence.fabric.complete:
                unknown += 1
                continue
            which = f" of adapters {model}" if model else ""
            what = f"{name} has {counted(have, 'link')}{which}, {number} are expected"
            yield Finding(what, _places(evidence, name), (_fact(evidence, what),))
    if unknown:
        yield Undecided(f"links of {counted(unknown, 'host')} did not show, and the sweep is not known to be complete",
                        _SWEEP)  # fmt: skip


@rule(
    "R13", "slower-than-expected", WARNING, needs=(FABRIC, EXPECTED), source=f"{_SOURCE}; scitix/sichek HCA_PORT_SPEED"
)
def slower_than_expected(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A link is slower than is expected of its host or switch.

    Threshold: width times speed of the group.

    Why: a job runs at the speed of its slowest rail.

    Next: treat it as a slow link: reseat both ends, then swap the cable, then the port.

    Else: another card or cable, without a new expectation.
    """
    told = set()
    unknown = 0
    for group, name, own in _expected_nodes(evidence):
        for link, wanted in _too_slow(group.ports, own):
            if link not in told:
                told.add(link)
                rate = width_speed(link.width, link.speed)
                what = f"the link runs at {rate}, {wanted} is expected of {name}"
                yield Finding(what, evidence.places_of(link), (_fact(evidence, what),))
        unknown += sum(rate_gbps(one.link.width, one.link.speed) is None for one in own)
    if unknown:
        yield Undecided(f"the rate of {counted(unknown, 'link')} is not known", "ibnetdiscover and iblinkinfo print it")


@rule("R12", "unexpected-hosts", INFO, needs=(FABRIC, EXPECTED), source=_SOURCE)
def unexpected_hosts(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Hosts or switches are in the fabric that nobody expects. All of them are one finding.

    Threshold: none.

    Why: they are watched by no expectation, and may be where they should not be.

    Next: add them to a group, or write new expectations (`ibkit expect init`).

    Else: hosts that were renamed.
    """
    members = []
    for kind, groups in _groups(evidence):
        expected = {name for group in groups for name in group.names}
        for name in evidence.links_by_name(kind):
            if name not in expected:
                members += [Finding(f"{name} is not expected", (place,)) for place in _places(evidence, name)[:1]]
    if members:
        names = first_few(member.what.removesuffix(" is not expected") for member in members)
        what = f"{counted(len(members), 'host or switch', 'hosts and switches')} in no group: {names}"
        yield all_of(what, tuple(members), _fact(evidence, what))


@rule(
    "R68",
    "cabling",
    CRITICAL,
    needs=(FABRIC, EXPECTED),
    source="OPA FastFabric opareport verify; Mellanox/ufm_sdk_3.0 #120",
)
def cabling(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The cabling is not what is expected: a link is missing or was moved, or a node is missing as a whole.

    Threshold: none; compared are node GUIDs and port numbers. A link that was moved is information, and so is a node
    whose name another GUID has now: a card that was replaced, which is a warning until the file is written anew.

    Why: routing is worked out for the fabric as it was built; a cable in the wrong port costs bandwidth where nobody
    looks.

    Next: put the cable where it belongs, or write new expectations (`ibkit expect init`).

    Else: work in progress.
    """
    expected = evidence.expected.links
    if expected is not None:
        yield from missing_from(evidence, _fabric_of(evidence, expected), "in the expectations")


@rule("R68", "extra-links", INFO, needs=(FABRIC, EXPECTED), source="OPA FastFabric opareport verify")
def extra_links(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Links are there that nobody expects. All of them are one finding.

    Threshold: none; a link of which one end is expected elsewhere is told as moved.

    Why: a cable too many may close a loop that the routing does not know.

    Next: write new expectations (`ibkit expect init`), or take the cable out.

    Else: hosts that were added.
    """
    expected = evidence.expected.links
    if expected is None:
        return
    known = {end for link in expected for end in (link.a, link.b)}
    members = tuple(
        Finding("the link is not expected", evidence.places_of(link), (_fact(evidence, "not in the cabling"),))
        for link in evidence.fabric.links
        if link.a not in known and link.b not in known
    )
    if members:
        what = f"{counted(len(members), 'link is', 'links are')} not in the expectations"
        yield all_of(what, members, _fact(evidence, what))


@rule("R50", "firmware-not-expected", WARNING, needs=(HOSTS, EXPECTED), source="xcat2/xcat-core tools/test_hca_state")
def firmware_not_expected(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A board runs other firmware than is expected of its kind (board id, PSID).

    Threshold: none; the versions have to be the same.

    Why: its ports behave otherwise than those that were tested.

    Next: update it (`mlxfwmanager --online -u`) and reset it, or write down the new version.

    Else: an update that is going on.
    """
    expected = evidence.expected.firmware or {}
    for host in evidence.hosts:
        for hca in host.hcas:
            version = expected.get(hca.board_id or "")
            if version is not None and hca.firmware is not None and hca.firmware != version:
                what = f"firmware {hca.firmware}, {version} is expected of boards {hca.board_id}"
                yield Finding(what, (host_place(host, hca.name),), (Fact(what, hca.source),))


@rule("R45", "partition-not-expected", WARNING, needs=(PARTITIONS, EXPECTED), source="OpenSM doc/partition-config.txt")
def partition_not_expected(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The members of a partition are not those that are expected. Each partition is one finding.

    Threshold: none; a host is a full member where all of its ports in the partition are.

    Why: hosts cannot talk that should, or can that should not.

    Next: compare partitions.conf with the expectations; `ibkit partitions` shows who is in which.

    Else: hosts that are down have no table: then they are missing here, too.
    """
    if evidence.expected.partitions is None:
        return
    there = memberships(evidence.partitions)
    whole = evidence.partitions.complete is True
    for partition in evidence.expected.partitions:
        of_it = there.get(partition.pkey, {})
        wanted = {**dict.fromkeys(partition.limited, False), **dict.fromkeys(partition.full, True)}
        missing = [name for name in wanted if name not in of_it]
        members = [Finding("is no member", (Place(name=name),)) for name in missing if whole]
        members += [Finding("is not expected", (Place(name=name),)) for name in of_it if name not in wanted]
        members += [
            Finding(f"is a {_kind(of_it[name])} member, {_kind(full)} is expected", (Place(name=name),))
            for name, full in wanted.items()
            if of_it.get(name, full) != full
        ]
        if members:
            pkey = f"{partition.pkey:#06x}"
            told = first_few(f"{member.places[0].name} {member.what}" for member in members)
            fact = Fact(f"partition {pkey}: {told}", evidence.partitions.source)
            yield all_of(f"partition {pkey}: {told}", tuple(members), fact)
        if missing and not whole:
            yield Undecided(f"{counted(len(missing), 'host')} did not show in partition {partition.pkey:#06x}, and not "
                            "all P_Key tables are known", "`ibkit partitions` says which are missing")  # fmt: skip


@rule("R44", "fewer-standbys", WARNING, needs=(MANAGERS, EXPECTED), source="OpenSM's man page (priority, standby)")
def fewer_standbys(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """There are fewer standby subnet managers than expected.

    Threshold: `standby_managers` of the expectations. Without expectations none is needed.

    Why: when the master dies there may be nobody to take over.

    Next: look at the hosts and switches that should run one; start it again.

    Else: a standby that was switched off on purpose.
    """
    expected = evidence.expected.standbys
    if expected is None:
        return
    have = sum(manager.state == "standby" for manager in evidence.managers.managers)
    if have >= expected:
        return
    if evidence.managers.complete is True:
        what = f"{counted(have, 'standby', 'standbys')}, {expected} expected"
        yield Finding(what, (), (Fact(what, "saquery SMIR"),))
    else:
        yield Undecided("whether there are other subnet managers is not known", "`saquery SMIR` lists them")


@rule("R59", "waiver-expired", WARNING, needs=(EXPECTED,), source="the expectations themselves")
def waiver_expired(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A waiver has expired: what it covered is shown again.

    Threshold: its `until`, which is the last day on which it holds; the day is that of the capture, else today.

    Why: somebody promised to mend something by then.

    Next: mend it, or write another date.
    """
    for waiver in evidence.expected.waivers:
        if waiver.until is not None and evidence.collected.day > waiver.until:
            what = f"the waiver of {waiver.rule} at {waiver.where} held until {waiver.until}: {waiver.why}"
            yield Finding(what, (), (Fact(what, evidence.expected.source, waiver.line),))


_SWEEP = "sweep on a host where ibnetdiscover ends well, and keep its stderr: `ibkit capture`"


def _groups(evidence: Evidence) -> Iterator[tuple[str, tuple[NodeGroup, ...]]]:
    """Those that are written down."""
    for kind, groups in ((CHANNEL_ADAPTER, evidence.expected.hosts), (SWITCH, evidence.expected.switches)):
        if groups is not None:
            yield kind, groups


def _expected_nodes(evidence: Evidence) -> Iterator[tuple[NodeGroup, str, list[NodeLink]]]:
    """Each expected name that is there, with its links."""
    for kind, groups in _groups(evidence):
        there = evidence.links_by_name(kind)
        for group in groups:
            for name in group.names:
                if name in there:
                    yield group, name, there[name]


def _numbers(ports: Sequence[PortGroup]) -> dict[str | None, int]:
    """How many links of each model."""
    numbers: dict[str | None, int] = {}
    for group in ports:
        numbers[group.model] = numbers.get(group.model, 0) + group.number
    return numbers


def _too_slow(ports: Sequence[PortGroup], own: Sequence[NodeLink]) -> Iterator[tuple[Link, str]]:
    """The links that fall short, each with the rate that was expected: of each model the slowest ones, as many as it
    takes.
    """
    for model in dict.fromkeys(group.model for group in ports):
        rates = sorted(
            (rate, one.link)
            for one in own
            if (model is None or one.model in (model, None))
            and (rate := rate_gbps(one.link.width, one.link.speed)) is not None
        )
        rates.reverse()
        wanted = sorted(
            (
                (rate, width_speed(group.width, group.speed) or "")
                for group in ports
                if group.model == model and (rate := rate_gbps(group.width, group.speed)) is not None
                for _ in range(group.number)
            ),
            reverse=True,
        )
        for (rate, link), (least, text) in zip(rates, wanted, strict=False):
            if rate < least:
                yield link, text


def _places(evidence: Evidence, name: str) -> tuple[Place, ...]:
    """The nodes of a name."""
    return tuple(
        Place(guid=node.guid, name=node.name) for node in evidence.fabric.nodes.values() if host_of(node.name) == name
    )


def _fabric_of(evidence: Evidence, links: Sequence[ExpectedLink]) -> Fabric:
    """The expected links as a fabric, with the names and labels that their texts tell."""
    nodes: dict[Guid, tuple[str | None, dict[int, str | None]]] = {}
    made = []
    for link in links:
        told = _told(link)
        for end, (name, label) in zip((link.a, link.b), told, strict=True):
            ports = nodes.setdefault(end.guid, (name, {}))[1]
            ports[end.port] = label
        made.append(Link(min(link.a, link.b), max(link.a, link.b)))
    found = {}
    for guid, (name, labels) in nodes.items():
        known = evidence.fabric.nodes.get(guid)
        own = tuple(FabricPort(number, label=label) for number, label in sorted(labels.items()))
        found[guid] = Node(guid, known.type if known else UNKNOWN_TYPE, known.name if known else name, None, own)
    return Fabric(found, tuple(made), True, (), evidence.expected.source)


def _told(link: ExpectedLink) -> list[tuple[str | None, str | None]]:
    """Name and label of both ends, out of the text that `ibkit expect init` writes; None where it was edited away."""
    end = r"(.{{0,200}}?) port {}(?: \((.{{1,40}}?)\))?"
    found = re.match(f"{end.format(link.a.port)} - {end.format(link.b.port)}\\Z", link.text)
    return [(found[1], found[2]), (found[3], found[4])] if found else [(None, None)] * 2


def _gone(evidence: Evidence) -> Iterator[Node]:
    """The nodes that the cabling has and the fabric has not."""
    if evidence.expected.links is not None and evidence.fabric.complete:
        for node in _fabric_of(evidence, evidence.expected.links).nodes.values():
            if node.guid not in evidence.fabric.nodes:
                yield node


def _kind(full: bool) -> str:
    return "full" if full else "limited"


def _fact(evidence: Evidence, text: str) -> Fact:
    return Fact(text, evidence.expected.source)
