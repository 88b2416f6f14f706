"""All parts of two views compared, and what of them could not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ibkit.comparison.change import Change, Comparison, Doubt, Part, Where
from ibkit.comparison.fabrics import NO_NODE_IN_BOTH, compare_fabrics, why_not_whole
from ibkit.comparison.hosts import NO_HOST_IN_BOTH, compare_hosts
from ibkit.comparison.managers import compare_managers
from ibkit.comparison.partitions import compare_partitions, only_in_one
from ibkit.model.fabric import Fabric
from ibkit.model.host import HostHcas
from ibkit.model.partitions import Partitions
from ibkit.model.subnet_manager import SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple

#: Kinds of doubts after which a part of both was not compared.
_NOTHING_IN_BOTH = (NO_NODE_IN_BOTH, NO_HOST_IN_BOTH)
FABRIC, MANAGERS, PARTITIONS, HOSTS = "fabric", "subnet-managers", "partitions", "hosts"


class View(NamedTuple):
    """What was seen at one time. A part that is None is not there, and ``missing`` says why, by the part's name.

    ``is_one_text``: it is a tool's output, of which nobody expects all parts.
    """

    label: str
    fabric: Fabric | None = None
    managers: SubnetManagers | None = None
    partitions: Partitions | None = None
    hosts: Sequence[HostHcas] | None = None
    is_one_text: bool = False
    missing: Mapping[str, str] = MappingProxyType({})


def compare(before: View, after: View) -> Comparison:
    """The differences of all parts that both views have, in the order of parts, kinds of what they are about, places.

    What only one view has cannot be compared, which is a doubt, unless the other one is a tool's output; what neither
    has was not looked at. A part of which something is known to be missing may hold a change that nobody sees, which is
    a doubt, too. Of two fabrics, the managers and partitions are not compared, either.
    """
    changes: list[Change] = []
    doubts: list[Doubt] = []
    parts: list[Part] = []
    comparisons: tuple[tuple[str, Any, Any, Callable[[Any, Any], tuple[list[Change], list[Doubt]]]], ...] = (
        (FABRIC, before.fabric, after.fabric, compare_fabrics),
        (MANAGERS, before.managers, after.managers, compare_managers),
        (PARTITIONS, before.partitions, after.partitions, compare_partitions),
        (HOSTS, before.hosts, after.hosts, compare_hosts),
    )
    for name, old, new, compare_part in comparisons:
        if old is not None and new is not None:
            apart = next((doubt.why for doubt in doubts if doubt.kind == NO_NODE_IN_BOTH), None)
            if apart and name in (MANAGERS, PARTITIONS):
                parts.append(Part(name, False, apart))
                continue
            found, unsure = compare_part(old, new)
            changes += found
            doubts += unsure
            why = next((doubt.why for doubt in unsure if doubt.kind in _NOTHING_IN_BOTH), None)
            parts.append(Part(name, why is None, why))
            doubts += _lacking(name, before, after) if why is None else ()
            continue
        lacking = [view for view, part in ((before, old), (after, new)) if part is None]
        missing = "; ".join(f"{view.label}: {view.missing.get(name, 'not there')}" for view in lacking)
        parts.append(Part(name, False, missing))
        if len(lacking) == 1 and not lacking[0].is_one_text:
            doubts.append(Doubt("part-missing", Where(), f"what changed of the {_spelled(name)}", missing))
    if not doubts and not any(part.compared for part in parts):
        doubts.append(Doubt("part-missing", Where(), "what changed", parts[0].missing or "there is nothing to compare"))
    problems = tuple(dict.fromkeys((*_problems(before), *_problems(after))))
    return Comparison(tuple(changes), tuple(doubts), tuple(parts), problems)


def _lacking(name: str, before: View, after: View) -> Iterator[Doubt]:
    """That a part is known not to be whole on a side, whatever the comparison of the rest has found."""
    if name == PARTITIONS and before.partitions and after.partitions:
        fabrics = before.fabric and after.fabric and (before.fabric.nodes.keys() & after.fabric.nodes.keys())
        yield from only_in_one(before.partitions, after.partitions, fabrics)
    reasons = [f"{view.label}: {why}" for view in (before, after) if (why := _why_not_whole(name, view))]
    if reasons:
        yield Doubt("not-whole", Where(), f"whether something else changed of the {_spelled(name)}", "; ".join(reasons))


def _why_not_whole(name: str, view: View) -> str | None:
    """What shows that something is missing; None where nothing does, which does not prove that all is there."""
    if name == FABRIC and view.fabric and view.fabric.complete is False:
        return why_not_whole(view.fabric)
    if name == MANAGERS and view.managers and view.managers.complete is False:
        return "an answer about the subnet managers could not be read"
    gaps = [host for host in view.hosts or () if host.has_gaps] if name == HOSTS else []
    if gaps:
        told = gaps[0].problems[0].text if gaps[0].problems else "no reason is told"
        return f"the evidence of {f'host {gaps[0].host}' if gaps[0].host else 'the host'} has gaps: {told}"
    return None


def _spelled(name: str) -> str:
    return name.replace("-", " ")


def _problems(view: View) -> list[Problem]:
    parts = (view.fabric, view.managers, view.partitions, *(view.hosts or ()))
    return [problem for part in parts if part is not None for problem in part.problems]
