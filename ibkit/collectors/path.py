"""The way between two ports and whether they can talk: what is asked for it, and no more than that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.collectors import fabric as topology
from ibkit.collectors.mad_tools import ANY_PORT, Through, label_of
from ibkit.collectors.partitions import collect_tables_of
from ibkit.collectors.port_details import counters_of, record_details, with_details
from ibkit.collectors.routing import collect_ways, record_tables
from ibkit.collectors.traces import fabric_of, route_of
from ibkit.model.counters import PortCounters
from ibkit.model.ends import EndPort, NotOne, end_port, find_end
from ibkit.model.fabric import ROUTER, End, Fabric
from ibkit.model.routes import NO_TABLE, Owners, Route, end_ports, owners_of
from ibkit.model.talk import Pair, TalkCheck, checks_of, same_subnet
from ibkit.parsers import ibtracert
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.ibtracert import Trace
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source
from ibkit.sources.raw import RawSource

TRACE_TOOL = "ibtracert"
TRACE_DEADLINE_SECONDS = 30.0
_NO_TOPOLOGY = (
    "the text tells no nodes and cables: put the output of `ibnetdiscover` before it into the same file, or that of "
    "`saquery` NR, LR and PIR"
)


class Path(NamedTuple):
    """All of it. ``lid`` is the LID of ``pair.b`` that the way leads to, None where it has none; ``counters`` are those
    that could be had of the ports on the way.
    """

    pair: Pair
    lid: int | None
    checks: tuple[TalkCheck, ...]
    counters: dict[End, PortCounters]
    problems: tuple[Problem, ...]


def collect_path(
    source: Source,
    a: str | None,
    b: str | None,
    *,
    lid: int | None = None,
    through: Through = ANY_PORT,
    counters: bool = False,
    swept: Fabric | None = None,
) -> Path:
    """Follow the ways between two ports, each given by LID, GUID, GID or name, and look at what must hold for them.

    ``lid`` is one of the LIDs of ``b``, which are several where its LMC is not 0; by default the first. ``counters``
    reads a large saved sweep of counters, too. ``swept`` is the fabric, where that is known already. Without ``a`` and
    ``b`` it is the first way of a saved output of ibtracert. Raises NotOne where an end is not exactly one port.
    """
    traces, problems = _saved_traces(source)
    traced = tuple(map(route_of, traces))
    fabric = swept if swept is not None and swept.nodes else _topology(source, through, traces)
    owners = owners_of(fabric)
    ends = _ends(fabric, owners, a, b, traced)
    fabric, asked, silence = with_details(source, fabric, [one.end for one in ends if one.end], through)
    start, goal = (end_port(fabric, one.end, one.given) if one.end else one for one in ends)
    if lid is not None and goal.end and lid not in goal.lids:
        raise NotOne(f"{goal.given!r} has not LID {lid}: it has {_range(goal.lids)}")
    router = _router(fabric, start, goal)
    target = router.lid if router else lid or goal.lid
    there, more = _way(source, fabric, owners, start.end, router or goal, target, traced, through)
    back, others = _way(source, fabric, owners, goal.end, start, start.lid, traced, through)
    pair = Pair(fabric, owners, asked, start, goal, there, back, router=router)
    fabric, more_asked, unanswered = with_details(source, fabric, pair.ports, through)
    told = collect_tables_of(source, fabric, owners, [one.end for one in pair.ends if one.end], through)
    tables = [told.of(*one.end) if one.end else None for one in pair.ends]
    pair = pair._replace(fabric=fabric, keys=(tables[0], tables[1]), sources=asked | more_asked)
    known, uncounted = counters_of(source, fabric, pair.ports, through, whole_sweep=counters)
    problems = (
        *fabric.problems, *problems, *silence, *more, *others, *unanswered, *told.problems, *uncounted,
    )  # fmt: skip
    return Path(pair, target, checks_of(pair), known, tuple(dict.fromkeys(problems)))


def record_ways(source: Source) -> tuple[Problem, ...]:
    """Ask for what ways between any two ports need beside the topology, so that a capture holds it."""
    if isinstance(source, RawSource):
        return ()
    fabric = topology.collect_fabric(source)
    return (*record_tables(source, fabric), *record_details(source, fabric))


def _ends(
    fabric: Fabric, owners: Owners, a: str | None, b: str | None, traced: Sequence[Route]
) -> tuple[EndPort, EndPort]:
    if a is not None and b is not None:
        return find_end(fabric, owners, a), find_end(fabric, owners, b)
    arrived = [route for route in traced if route.arrived]
    if not arrived:
        raise NotOne("name A and B: the text holds no way of ibtracert that arrives")
    return end_port(fabric, arrived[0].start), end_port(fabric, arrived[0].at)


def _saved_traces(source: Source) -> tuple[tuple[Trace, ...], tuple[Problem, ...]]:
    """What is in a text that somebody saved of ibtracert."""
    if not isinstance(source, RawSource) or not source.holds(TRACE_TOOL):
        return (), ()
    return _traces(source, (TRACE_TOOL,))


def _traces(source: Source, command: Sequence[str]) -> tuple[tuple[Trace, ...], tuple[Problem, ...]]:
    answer = source.run(command, deadline_seconds=TRACE_DEADLINE_SECONDS)
    try:
        parsed = ibtracert.parse(answer.out, source=label_of(source, answer))
    except NotThisFormat:
        return (), ()
    return parsed.value.traces, parsed.problems


def _topology(source: Source, through: Through, traces: Sequence[Trace]) -> Fabric:
    """Of a text that somebody saved, all that it may show: cables as such, or on the ways that were followed."""
    if isinstance(source, RawSource) and not any(map(source.holds, topology.READS)):
        fabric = Fabric({}, (), None, (Problem("no-output", _NO_TOPOLOGY, None, source.path),))
    else:
        fabric = topology.collect_fabric(source, through)
    if fabric.nodes or not traces:
        return fabric
    return fabric_of(traces, label_of(source, source.run((TRACE_TOOL,))))


def _router(fabric: Fabric, start: EndPort, goal: EndPort) -> EndPort | None:
    """The port to which packets for another subnet go first, where there is only one that it can be."""
    one, other = start.subnet_prefix, goal.subnet_prefix
    if one is None or other is None or same_subnet(one, other):
        return None
    ports = [end for end in end_ports(fabric) if fabric.nodes[end.guid].type == ROUTER]
    return end_port(fabric, ports[0]) if len(ports) == 1 else None


def _way(
    source: Source,
    fabric: Fabric,
    owners: Owners,
    start: End | None,
    goal: EndPort,
    lid: int | None,
    traced: Iterable[Route],
    through: Through,
) -> tuple[Route | None, tuple[Problem, ...]]:
    """One way: by the tables, else as ibtracert has followed it."""
    for route in traced:
        if route.start == start and route.at == goal.end and lid in (None, route.lid):
            return route, ()
    if start is None or lid is None:
        return None, ()
    (route,), problems = collect_ways(source, fabric, owners, [(start, lid)], through)
    if route.result != NO_TABLE or isinstance(source, RawSource):
        return route, problems
    own = next((owner for owner in owners.base if start in owners.base[owner]), None)
    followed, _ = _traces(source, through.command(TRACE_TOOL, str(own), str(lid))) if own else ((), ())
    for better in map(route_of, followed):
        if better.start == start and better.at == goal.end:
            return better, ()
    return route, problems


def _range(lids: range) -> str:
    return f"{lids[0]} to {lids[-1]}" if len(lids) > 1 else str(lids[0]) if lids else "none that is known"
