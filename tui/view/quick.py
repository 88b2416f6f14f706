"""Quick views: only the ports without a link, those of slow links, those with errors. By the rules of the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ibkit.model.fabric import End
from ibkit.model.link_grade import SLOW as SLOW_LINK
from ibkit.model.link_grade import SUSPECTED
from ibkit.model.selection import is_down, told_of_links, told_of_ports
from ibkit.tui.view.subnet import SubnetView

if TYPE_CHECKING:
    from ibkit.tui.view.port_facts import PortFacts

DOWN, SLOW, ERRORING = "down", "slow", "erroring"


class Quick(NamedTuple):
    """The ports of a quick view, and what is to be said of them: how many, and of how many it is not known. ``ends`` is
    None where what it needs was not read.
    """

    name: str
    ends: frozenset[End] | None
    told: str


def quick(name: str, view: SubnetView, known: PortFacts | None, why_not: str = "") -> Quick:
    """Choose the ports. ``why_not`` says why ``known`` is None."""
    if name == DOWN:
        state = {
            End(node.guid, port.number): is_down(port) for node in view.fabric.nodes.values() for port in node.ports
        }
        ends = frozenset(end for end, down in state.items() if down)
        return Quick(name, ends, told_of_ports(state.values()))
    if name == SLOW:
        grades = view.remarks.grades
        slow = [link for link, grade in grades.items() if grade.verdict in (SLOW_LINK, SUSPECTED)]
        told = told_of_links(grade.verdict for grade in grades.values())
        return Quick(name, frozenset(end for link in slow for end in link[:2]), told)
    if known is None:
        return Quick(name, None, why_not)
    if known.erroring is None:
        lack = known.lack_of_counters()
        return Quick(name, None, f"which ports have errors is not known: {lack.missing}; {lack.get}")
    return Quick(name, known.erroring, known.told_of_errors(known.erroring))
