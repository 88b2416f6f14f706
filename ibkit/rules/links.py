"""Rules about the width and speed of links: what `ibkit.model.graded_links` found, link by link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.display import counted
from ibkit.model.fabric import End, FabricPort, Link
from ibkit.model.findings import INFO, WARNING, Fact, Finding, Undecided
from ibkit.model.graded_links import PORTS_CAN_NO_MORE
from ibkit.model.link_grade import (
    BELOW_ENABLED,
    BELOW_SUPPORTED,
    BOTH_FASTER,
    HALF_RATE,
    HCAS_FASTER,
    NO_RATE,
    ONE_LANE,
    PLANES_DIFFER,
    UNKNOWN,
    enabled_is_known,
)
from ibkit.model.rates import width_choice, width_speed
from ibkit.rules.evidence import FABRIC, Evidence
from ibkit.rules.rule import Limits, rule

_ABILITIES = (
    "record a capture where the subnet administrator answers, or ask both ports: `smpquery portinfo LID PORT` shows "
    "what they have enabled and support"
)
#: What the texts of a rule say otherwise of a part of its findings.
_LESS_IN_USE = (
    "ports train to the best that both have enabled: either less is enabled, which gives bandwidth away, or cable, "
    "transceiver or port could not do it. All traffic over the link is as slow as it"
)
_SET_BY_SOMEBODY = (
    "a speed that somebody has set: `ibportstate LID PORT query` tells what is enabled; a cable too long or too simple "
    "for the speed"
)
_ONE_LANE_ENABLED = "it carries a quarter of what it could; a link has no more lanes than both ends have enabled"
_ENABLE_LANES = (
    "find out who set it; `ibportstate LID PORT width 255` enables what the port supports, `ibportstate LID PORT "
    "reset` lets it train anew. If it comes up with one lane then, reseat both ends and swap the cable"
)
_SET_FOR_A_CABLE = "it was set on purpose, as in a laboratory, or because another lane makes errors"
_SUPPORT_LESS = (
    "other ports of the same two devices have faster links; a job runs at the speed of its slowest rail. A port that "
    "says it supports less than its like has a reason: a module or cable that can do no more, or a setting"
)
_LOOK_AT_PORTS = (
    "look at the module and the cable of both ends (`mlxlink -d DEVICE -m`) and swap them for those of a faster link; "
    "then compare what the ports support with others of the device (`smpquery portinfo LID PORT`)"
)
_LESS_ON_PURPOSE = "a long-haul port, or a cable that was taken because no faster one was at hand"
_SWEEPS, _RECORDS = ("ibnetdiscover", "iblinkinfo"), "saquery PIR"
_SPECIFICATION = "InfiniBand Architecture Specification volume 1, 14.2.5.6 (PortInfo, the link's widths and speeds)"


@rule(
    "R04", "slow-link", WARNING, needs=(FABRIC,),
    source=f"{_SPECIFICATION}; infinimap health.py; infiniband-diags iblinkinfo get_max_msg",
)  # fmt: skip
def slow_link(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link runs at a lower width or speed than both of its ends have enabled.

    Threshold: the best width and the best speed that both ends have enabled; where that is not known, the best speed
    that both support. Where neither is known of an end, there is no verdict.

    Why: two ports train to the best that both can do; less means that cable, transceiver or port could not. All traffic
    over it is as slow as it, and in a fat tree so are the flows that share a spine with it.

    Next: reseat both ends, then swap the cable, then the port; look at the error counters and at `mlxlink -d DEVICE -m`
    on both ends. Let it train again with `ibportstate LID PORT reset`.

    Else: a cable too long or too simple for the speed (copper beyond its length), or a port whose firmware is older.
    """
    yield from _graded(evidence, BELOW_ENABLED)
    for finding, link in _with_links(evidence, BELOW_SUPPORTED):
        if not enabled_is_known(*_ports(evidence, link)):
            yield finding._replace(why=_LESS_IN_USE, otherwise=_SET_BY_SOMEBODY)
    yield from _not_graded(evidence)


@rule("R05", "slow-by-configuration", WARNING, needs=(FABRIC,), source=f"{_SPECIFICATION}; OPA FastFabric opareport")
def slow_by_configuration(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link runs as its ends have it enabled, and both of them support a higher speed.

    Threshold: the best speed that both ends support. A link whose ends support different speeds and which runs at the
    lesser one is so by design, and is no finding.

    Why: somebody gave away bandwidth, perhaps years ago and for a cable that is no longer there.

    Next: `ibportstate LID PORT query` on both ends, `ibportstate LID PORT espeed 31` and a reset if nothing speaks
    against it; look for force_link_speed in OpenSM's configuration and for `mlxlink --speeds`.

    Else: a port that was slowed on purpose because its cable makes errors at full speed.
    """
    for finding, link in _with_links(evidence, BELOW_SUPPORTED):
        if enabled_is_known(*_ports(evidence, link)):
            yield finding
    yield from _not_graded(evidence)


@rule("R06", "single-lane", WARNING, needs=(FABRIC,), source="infiniband-diags ibcheckport; OpenIB's ibcheckwidth")
def single_lane(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link runs on one lane.

    Threshold: 1x. XDR shows each plane of a link as a link of one lane; those are not meant.

    Why: it carries a quarter of what it should. Links fall back to one lane when another one does not train.

    Next: reseat both ends, then swap the cable, then the port.

    Else: a port that was set to 1x on purpose, as in a laboratory; where it is known that one was, the finding says so.
    """
    for finding, link in _with_links(evidence, ONE_LANE):
        ends = [end for end, port in zip((link.a, link.b), _ports(evidence, link), strict=True) if _has_one_lane(port)]
        yield _of_a_setting(evidence, finding, ends) if ends else finding


@rule("R07", "half-rate", INFO, needs=(FABRIC,), source=f"{_SPECIFICATION}; openucx/ucx #6553; xcat-core #6549")
def half_rate(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link of an adapter runs at half of what its port says it supports.

    Threshold: two lanes, or the generation before, at an end that is no split port.

    Why: an adapter of half the rate (HDR100, NDR200) looks like this, and so does a link that lost two of its lanes.

    Next: read the adapter's model off `ibv_devinfo` (board_id) or its label. If it is one of the full rate, treat the
    link as a slow one: reseat, then swap the cable.

    Else: a splitter cable on a switch that is not in split mode.
    """
    yield from _graded(evidence, HALF_RATE)


@rule("R08", "planes-differ", WARNING, needs=(FABRIC,), source="linux-rdma/rdma-core #1359")
def planes_differ(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A plane of an XDR link is slower than its other planes.

    Threshold: the fastest plane of the same link.

    Why: the link's bandwidth is the sum of its planes', and traffic is spread over them evenly.

    Next: as for a slow link: the planes of one link share a cage and a cable, so reseat, then swap the cable.

    Else: planes of several links between two devices that could not be told apart.
    """
    yield from _graded(evidence, PLANES_DIFFER)


@rule("R13", "slower-than-its-like", WARNING, needs=(FABRIC,), source="scitix/sichek HCA_PORT_SPEED")
def slower_than_its_like(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link is slower than other links that should be as fast: both of its ends have faster ones, or nearly all
    adapters of the same kind at the same switch run faster.

    Threshold: for adapters, more than half of at least three of one part at the switch; nine of ten of at least eight
    where the part is not known.

    Why: of equal links the slow one is mostly degraded; a job runs at the speed of its slowest rail.

    Next: where the finding does not tell what both ports support, ask them (`smpquery portinfo LID PORT`), then treat
    it as a slow link.

    Else: an older card, a long-haul port, an adapter of half the rate among others.
    """
    for finding, link in _with_links(evidence, BOTH_FASTER, HCAS_FASTER):
        if evidence.grades[link] == PORTS_CAN_NO_MORE:
            finding = finding._replace(why=_SUPPORT_LESS, fix=_LOOK_AT_PORTS, otherwise=_LESS_ON_PURPOSE)
        yield finding


def _graded(evidence: Evidence, *causes: str) -> Iterator[Finding]:
    return (finding for finding, _ in _with_links(evidence, *causes))


def _with_links(evidence: Evidence, *causes: str) -> Iterator[tuple[Finding, Link]]:
    for link, grade in evidence.grades.items():
        if grade.cause in causes:
            rate = width_speed(link.width, link.speed)
            facts = (Fact(f"{rate}; {grade.text}", evidence.fabric.source), *_abilities(evidence, link))
            yield Finding(f"the link runs at {rate}: {grade.text}", evidence.places_of(link), facts), link


def _abilities(evidence: Evidence, link: Link) -> Iterator[Fact]:
    """What both ends have enabled and support. A sweep's tools do not tell it, so there it is the administrator's."""
    source = evidence.fabric.source
    source = _RECORDS if source in _SWEEPS else source
    for end, port in zip((link.a, link.b), _ports(evidence, link), strict=True):
        if port is not None and (port.enabled_speed or port.supported_speed):
            enabled, supported = (
                " at ".join(filter(None, words)) or "not known"
                for words in ((port.enabled_width, port.enabled_speed), (port.supported_width, port.supported_speed))
            )
            yield Fact(f"{evidence.place(end).text}: enabled {enabled}; supported {supported}", source)


def _ports(evidence: Evidence, link: Link) -> tuple[FabricPort | None, FabricPort | None]:
    return evidence.ports.get(link.a), evidence.ports.get(link.b)


def _has_one_lane(port: FabricPort | None) -> bool:
    """Whether the port has nothing but one lane enabled, so that its link cannot have more."""
    choice = width_choice(port.enabled_width) if port else None
    return choice is not None and choice.is_whole and choice.ranks == {1}


def _of_a_setting(evidence: Evidence, finding: Finding, ends: Sequence[End]) -> Finding:
    which = "both ends have" if len(ends) > 1 else f"{evidence.place(ends[0]).text} has"
    return finding._replace(
        what=f"{finding.what}, and {which} no more enabled",
        why=_ONE_LANE_ENABLED,
        fix=_ENABLE_LANES,
        otherwise=_SET_FOR_A_CABLE,
    )


def _not_graded(evidence: Evidence) -> Iterator[Undecided]:
    unknown = [grade for grade in evidence.grades.values() if grade.verdict == UNKNOWN]
    no_rate = sum(grade.cause == NO_RATE for grade in unknown)
    if no_rate:
        text = f"the width or speed of {counted(no_rate, 'link')} is not known"
        yield Undecided(text, "sweep again: `ibnetdiscover` or `iblinkinfo` prints them")
    if len(unknown) > no_rate:
        yield Undecided(f"what both ends of {counted(len(unknown) - no_rate, 'link')} can do is not known", _ABILITIES)
