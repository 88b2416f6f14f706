"""All parts of two views compared, and what of them could not be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ibkit.comparison.change import Change, Comparison, Doubt, Part, Where
from ibkit.comparison.fabrics import compare_fabrics
from ibkit.comparison.hosts import compare_hosts
from ibkit.comparison.managers import compare_managers
from ibkit.comparison.partitions import compare_partitions
from ibkit.model.fabric import Fabric
from ibkit.model.host import HostHcas
from ibkit.model.partitions import Partitions
from ibkit.model.subnet_manager import SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple

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
    has was not looked at.
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
            found, unsure = compare_part(old, new)
            changes += found
            doubts += unsure
            parts.append(Part(name, True))
            continue
        lacking = [view for view, part in ((before, old), (after, new)) if part is None]
        missing = "; ".join(f"{view.label}: {view.missing.get(name, 'not there')}" for view in lacking)
        parts.append(Part(name, False, missing))
        if len(lacking) == 1 and not lacking[0].is_one_text:
            doubts.append(Doubt("part-missing", Where(), f"what changed of the {name.replace('-', ' ')}", missing))
    if not doubts and not any(part.compared for part in parts):
        doubts.append(Doubt("part-missing", Where(), "what changed", parts[0].missing or "there is nothing to compare"))
    problems = tuple(dict.fromkeys((*_problems(before), *_problems(after))))
    return Comparison(tuple(changes), tuple(doubts), tuple(parts), problems)


def _problems(view: View) -> list[Problem]:
    parts = (view.fabric, view.managers, view.partitions, *(view.hosts or ()))
    return [problem for part in parts if part is not None for problem in part.problems]
