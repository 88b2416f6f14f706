"""Port counters from ``ibdiagnet2.db_csv``: its section PM_INFO, with names and LIDs from NODES and PORTS. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.model.counters import FabricCounters, PortCounters, saturated
from ibkit.model.ids import Guid
from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.ibdiagnet_csv import Section
from ibkit.parsers.ibdiagnet_records import PM_INFO, PortCounts, port_counts
from ibkit.parsers.lines import count_of
from ibkit.parsers.records import NamedTuple

#: The sections that are of use here.
SECTIONS = ("NODES", "PORTS", PM_INFO)
_MAX_PORT = 255
_DOWN = 1  # PortInfo.PortState


class _Port(NamedTuple):
    lid: int | None
    state: int | None


def counters_of_tables(parsed: Parsed[tuple[Section, ...]], source: str) -> FabricCounters:
    """All ports of PM_INFO. ``complete`` is False where something is missing, else None: what ibdiagnet itself could
    not reach is in its log.
    """
    sections = {section.name: section for section in reversed(parsed.value)}
    if PM_INFO not in sections:
        text = f"the file has no section {PM_INFO}, which holds the counters: was ibdiagnet told to skip it?"
        return FabricCounters((), False, (*parsed.problems, Problem("no-counters", text, None, source)), source)
    told = port_counts(sections[PM_INFO])
    names = _names(sections.get("NODES"))
    ports = _ports(sections.get("PORTS"))
    known: dict[tuple[int, int], PortCounters] = {}
    problems = [*parsed.problems, *(problem._replace(source=source) for problem in told.problems)]
    for counts in told.value:
        key = counts.guid, counts.port
        if counts.port > _MAX_PORT:
            problems.append(Problem("bad-line", f"{counts.port} is no port", counts.line, source))
        elif key in known:
            text = f"{names.get(counts.guid, 'the node')} port {counts.port} stands twice: the first row is shown"
            problems.append(Problem("repeated", text, counts.line, source))
        else:
            known[key] = _counters(counts, names, ports, source)
    silent = [key for key, port in ports.items() if key[1] and key not in known and port.state not in (None, _DOWN)]
    if silent:
        name = names.get(silent[0][0]) or "a node without a name"
        text = f"{len(silent)} ports have a link and no counters here, the first is {name} port {silent[0][1]}"
        problems.append(Problem("no-counters", text, None, source))
    lacking = parsed.complete is False or told.complete is False or bool(silent)
    shown = tuple(sorted(known.values(), key=lambda port: (port.lid or 0, port.guid or 0, port.port)))
    return FabricCounters(shown, False if lacking else None, tuple(problems), source)


def _counters(
    counts: PortCounts, names: Mapping[int, str], ports: Mapping[tuple[int, int], _Port], source: str
) -> PortCounters:
    # A switch's ports have the LID of its port 0
    own, of_switch = (ports.get((counts.guid, number), _Port(None, None)).lid for number in (counts.port, 0))
    return PortCounters(
        Guid(counts.guid), None if counts.port_guid is None else Guid(counts.port_guid), of_switch or own or None,
        counts.port, names.get(counts.guid), counts.counters, saturated(counts.counters, counts.wide), counts.line,
        source,
    )  # fmt: skip


def _names(section: Section | None) -> dict[int, str]:
    """The name of each node."""
    if section is None:
        return {}
    guid, name = section.column("NodeGUID"), section.column("NodeDesc")
    if guid is None or name is None:
        return {}
    told = ((count_of(row.values[guid] or ""), row.values[name]) for row in section.rows)
    return {number: text for number, text in told if number is not None and text}


def _ports(section: Section | None) -> dict[tuple[int, int], _Port]:
    """What each port's PortInfo tells."""
    if section is None:
        return {}
    guid, port = section.column("NodeGUID"), section.column("PortNum", "PortNumber")
    if guid is None or port is None:
        return {}
    columns = [section.column("LID"), section.column("PortState")]
    found = {}
    for row in section.rows:
        key = count_of(row.values[guid] or ""), count_of(row.values[port] or "")
        lid, state = (None if at is None else count_of(row.values[at] or "") for at in columns)
        if key[0] is not None and key[1] is not None:
            found[key[0], key[1]] = _Port(lid, state)
    return found
