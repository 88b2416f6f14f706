"""The overview: is it well, what is broken and where, and what was not seen.

Until the rules have spoken it says what the parts show by themselves. From then on what is wrong is what the rules say,
and the parts only add what the rules have no say in: what could not be seen or read, the job, the doctor's mends.

What a part needs to be told is imported when it has been read: the first frame has nothing to tell.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ibkit.display import clean, counted
from ibkit.parsers.records import NamedTuple
from ibkit.tui.snapshot import ON_REQUEST, Reading, Snapshot
from ibkit.tui.view.cells import padded, widest
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN, WARNING, mark, word
from ibkit.tui.view.lines import BLANK, Line, beside, facts, heading, line, span
from ibkit.tui.view.notices import Notice, PartLine, Target
from ibkit.tui.view.problems import first_text

if TYPE_CHECKING:
    from ibkit.model.host import HostHcas
    from ibkit.tui.view.subnet import SubnetView

#: What a count of each level is called (one, several).
LEVEL_COUNTS = {
    CRITICAL: ("critical", "critical"),
    WARNING: ("warning", "warnings"),
    UNKNOWN: ("unknown", "unknown"),
}
#: More hosts than this are told in one line: a capture may hold a cluster.
MANY_HOSTS = 3


class Overview(NamedTuple):
    """The overview of a snapshot."""

    headline: Line
    parts: tuple[PartLine, ...]
    notices: tuple[Notice, ...]


def overview(snapshot: Snapshot) -> Overview:
    """Everything at a glance."""
    found = _failures(snapshot)
    sample = snapshot.check.value if snapshot.check else None
    parts = [*_hosts(snapshot, found), _managers(snapshot, found), _fabric(snapshot, found)]
    if sample is not None:
        from ibkit.tui.view import incidents

        ruled = incidents.places_of(sample.diagnosis)
        found = [one for one in found if one.level == UNKNOWN and (one.target.node, one.target.port) not in ruled]
        found += incidents.notices(sample.diagnosis, found)
        parts = [part._replace(level=incidents.level_of_part(part, sample.diagnosis)) for part in parts]
        parts.append(incidents.line_of(sample))
    parts += [*_job(snapshot, found), *_changes(snapshot, found)]
    for checks in [reading.value for reading in snapshot.doctors.values() if reading.value]:
        from ibkit.tui.view import doctor

        found += doctor.notices(checks)
    return Overview(_headline(snapshot, parts, found), tuple(_once(parts)), tuple(found))


def part_lines(parts: tuple[PartLine, ...]) -> list[Line]:
    """The parts, aligned, each led by its mark."""
    lines: list[Line] = []
    width = widest([clean(part.caption) for part in parts])
    for part in parts:
        role = "dim" if part.level is None else word(part.level)
        sign = "..." if part.level is None else mark(part.level) or "ok"
        lines.append(
            (span(f" {sign:<4}", role), span(f"{padded(clean(part.caption), width)}  ", "caption"), span(part.text))
        )
    return lines


def overview_more(snapshot: Snapshot, width: int, rows: int) -> list[Line]:
    """What a large screen has room for: the hosts' ports, and how many links run at which rate."""
    ports = _port_lines(snapshot, max(4, rows - 10))
    view = snapshot.fabric.value
    rates = _rate_lines(view) if view is not None and not view.is_empty else []
    if width < 140:
        return [*ports, *rates]
    return beside(ports, rates, width // 2) if ports else rates


def _port_lines(snapshot: Snapshot, limit: int) -> list[Line]:
    values = [reading.value for reading in snapshot.hosts.values() if reading.value is not None]
    if not any(value.hcas for value in values):
        return []
    from ibkit.tui.view import host

    table = host.port_table(values)
    if not table.rows:
        return []
    lines = [heading(" Ports")]
    for row in table.rows[:limit]:
        known = dict(zip((column.title for column in table.columns), table.texts(row), strict=True))
        name = f"{known.get('Host', '')} {known['Port']}".strip()
        text = f"{known['State']:<12}  {known['Layer']:<10}  {known['Gb/s']:>5} Gb/s   LID {known['LID']}"
        lines.append(
            (span(f" {mark(row.level) or 'ok':<4}", word(row.level)), span(padded(name, 16), "caption"), span(text))
        )
    more = len(table.rows) - limit
    return [*lines, *([line(span(f"     and {more} more", "dim"))] if more > 0 else []), BLANK]


def _rate_lines(view: SubnetView, limit: int = 8) -> list[Line]:
    return [heading(" Links by rate"), *facts([(rate, f"{count:>7,}") for rate, count in view.rates()[:limit]]), BLANK]


def _once(parts: list[PartLine]) -> list[PartLine]:
    """One cause, told once: without a device neither the fabric nor its manager can be seen."""
    told: set[str] = set()
    lines = []
    for part in parts:
        lines.append(part._replace(text="not seen, for the same reason") if part.text in told else part)
        told |= set() if part.seen else {part.text}
    return lines


def _headline(snapshot: Snapshot, parts: list[PartLine], found: list[Notice]) -> Line:
    """The answer in one line, never better than what was seen."""
    counts = Counter(notice.level for notice in found)
    worst = max(counts, default=OK)
    told = ", ".join(f"{counts[n]} {words[counts[n] > 1]}" for n, words in LEVEL_COUNTS.items() if counts[n])
    reading = ", ".join(dict.fromkeys(part.kind for part in snapshot.waiting if part.kind not in ON_REQUEST))
    still = span(f"   still reading: {reading}" if reading else "", "dim")
    if worst >= WARNING:
        return line(span(f" {mark(worst)}   {told}", f"{word(worst)}-strong"), still)
    if reading:
        return line(span(" ... reading", "heading"), still)
    missing = [part.caption for part in parts if not part.seen]
    if len(missing) == len(parts):
        return line(span(" ?   nothing could be seen", "unknown-strong"))
    if worst == UNKNOWN or missing:
        lacking = [told] if told else []
        # The lines below name them: this one is to fit into 80 columns.
        lacking += [f"not seen: {missing[0]}" if len(missing) == 1 else f"{len(missing)} parts not seen"] * bool(
            missing
        )
        return line(span(f" ?   nothing wrong in what was seen; {'; '.join(lacking)}", "unknown-strong"))
    return line(span(" ok  nothing wrong in what was seen", "ok-strong"), span(_undecided(snapshot), "unknown"))


def _undecided(snapshot: Snapshot) -> str:
    """What the rules had nothing to go by for is not among what was seen."""
    sample = snapshot.check.value if snapshot.check else None
    if sample is None:
        return ""
    from ibkit.tui.view import incidents

    number = incidents.open_rules(sample.diagnosis)
    return f"; {counted(number, 'rule')} could not be decided" if number else ""


def _changes(snapshot: Snapshot, found: list[Notice]) -> list[PartLine]:
    """What changed since what it is compared with, where somebody asked for that (key T)."""
    reading = snapshot.changes
    if reading is None or snapshot.then is None:
        return []
    if reading.value is None:
        text = "comparing ..." if reading.failure is None else f"cannot be compared: {reading.failure}"
        return [PartLine("changes", None if reading.failure is None else UNKNOWN, f"since {snapshot.then}: {text}")]
    from ibkit.tui.view import changes

    found += changes.notices(reading.value, snapshot.then)
    return [changes.line_of(reading.value, snapshot.then)]


def _failures(snapshot: Snapshot) -> list[Notice]:
    return [
        Notice(UNKNOWN, f"could not be read: {reading.failure}", part.title, Target("problems"))
        for part, reading in snapshot.readings.items()
        if reading.failure is not None and part.kind not in ON_REQUEST
    ]


def _hosts(snapshot: Snapshot, found: list[Notice]) -> list[PartLine]:
    lines = []
    for name, reading in snapshot.hosts.items():
        caption = f"host {name}".rstrip()
        value = reading.value
        if value is None:
            lines.append(_pending(caption, reading))
            continue
        lines.append(_host(caption, value, found))
    return lines if len(lines) <= MANY_HOSTS else [_many_hosts(snapshot, lines)]


def _host(caption: str, value: HostHcas, found: list[Notice]) -> PartLine:
    from ibkit.tui.view import host

    notices = host.notices(value)
    found += notices
    return PartLine(caption, _worst(notices, host.is_seen(value)), host.summary(value), host.is_seen(value))


def _many_hosts(snapshot: Snapshot, lines: list[PartLine]) -> PartLine:
    """The hosts of a cluster's capture in one line."""
    from ibkit.model.port_state import ACTIVE, condition
    from ibkit.tui.view import host

    values = [reading.value for reading in snapshot.hosts.values() if reading.value is not None]
    ports = [port for value in values for hca in value.hcas for port in hca.ports]
    active = sum(1 for port in ports if condition(port) == ACTIVE)
    unseen = sum(1 for value in values if not host.is_seen(value))
    text = f"{active} of {len(ports)} ports Active on {len(lines)} hosts"
    text += f"; {counted(unseen, 'host shows', 'hosts show')} no device" if unseen else ""
    if len(values) < len(lines):
        return PartLine("hosts", None, f"{len(values)} of {len(lines)} read; {text}")
    return PartLine("hosts", max(line.level or OK for line in lines), text, unseen < len(lines))


def _managers(snapshot: Snapshot, found: list[Notice]) -> PartLine:
    value = snapshot.managers.value
    if value is None:
        return _pending("subnet manager", snapshot.managers)
    from ibkit.tui.view import managers

    notices = managers.notices(value)
    found += notices
    level = _worst(notices, bool(value.managers))
    return PartLine("subnet manager", level, managers.summary(value), bool(value.managers or notices))


def _fabric(snapshot: Snapshot, found: list[Notice]) -> PartLine:
    view = snapshot.fabric.value
    if view is None:
        return _pending("fabric", snapshot.fabric)
    if view.is_empty:
        return PartLine("fabric", UNKNOWN, first_text(view.fabric.problems), seen=False)
    notices = view.notices()
    found += notices
    sweep = {True: "all was reached", False: "not all was reached", None: "whether that is all cannot be told"}
    counts = ", ".join(f"{number:,} {noun}" for number, noun in view.counts())
    return PartLine("fabric", _worst(notices), f"{counts}; {sweep[view.fabric.complete]}")


def _job(snapshot: Snapshot, found: list[Notice]) -> list[PartLine]:
    reading = snapshot.job
    if reading is None:
        return []
    if reading.value is None:
        return [_pending("job", reading)]
    from ibkit.tui.view import job

    found += job.notices(reading.value)
    return [PartLine("job", job.status_level(reading.value.status), job.summary(reading.value))]


def _pending(caption: str, reading: Reading[Any]) -> PartLine:
    if reading.failure is not None:
        return PartLine(caption, UNKNOWN, f"could not be read: {reading.failure}", seen=False)
    return PartLine(caption, None, "reading ...")


def _worst(notices: list[Notice], seen: bool = True) -> int:
    return max([notice.level for notice in notices] + [OK if seen else UNKNOWN])
