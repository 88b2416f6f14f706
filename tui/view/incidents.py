"""The diagnosis on the overview: a notice for each incident, what is not whole, how bad each part is by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ibkit.display import counted
from ibkit.model.findings import SEVERITIES, Diagnosis, Finding, LookedAt
from ibkit.model.ids import Guid
from ibkit.rules import catalogue
from ibkit.rules.engine import is_decided
from ibkit.rules.evidence import CHANGE, COUNTERS, FABRIC, HARDWARE, HOST_CHECKS, HOSTS, MANAGERS
from ibkit.tui.diagnosing import Diagnosed
from ibkit.tui.view.findings import level_of
from ibkit.tui.view.level import OK, UNKNOWN
from ibkit.tui.view.notices import Notice, PartLine, Target

#: What a diagnosis looks at, as `ibkit check` counts it.
PARTS = (HOSTS, FABRIC, MANAGERS, COUNTERS)
#: More incidents of one rule than this are one line.
_MOST_ALIKE = 3


def notices(diagnosis: Diagnosis, told: Sequence[Notice] = ()) -> list[Notice]:
    """A notice for each incident, those of one rule folded where they are many; then the parts that are not whole,
    where those ``told`` already do not give the same reason.
    """
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in diagnosis.findings:
        alike.setdefault((finding.severity, finding.name), []).append(finding)
    found = []
    target = Target("findings")
    for (_, name), members in alike.items():
        if len(members) > _MOST_ALIKE:
            what = f"{members[0].rule} {name}: {len(members)} incidents, the first one: {members[0].what}"
            found.append(Notice(level_of(members[0]), what, members[0].where, target))
        else:
            found += [Notice(level_of(one), f"{one.rule} {one.what}{_more(one)}", one.where, target) for one in members]
    words = {False: "is not complete", None: "is not known to be complete"}
    for part in diagnosis.looked_at:
        if part.what in PARTS and part.complete is not True and not _is_told(part, (*told, *found)):
            what = f"{part.what.replace('-', ' ')}: {part.text}: that {words[part.complete]}"
            found.append(Notice(UNKNOWN, what, "check", target))
    return found


def places_of(diagnosis: Diagnosis) -> set[tuple[Guid | None, int | None]]:
    """The ports whose links the rules have spoken of, waived or not: not those that only count errors."""
    return {
        (place.guid, place.port)
        for finding in (*diagnosis.findings, *diagnosis.waived)
        for one in (finding, *finding.members)
        if not {COUNTERS, CHANGE} & _needs(one)
        for place in one.places
        if place.guid is not None and place.port is not None
    }


def _is_told(part: LookedAt, told: Iterable[Notice]) -> bool:
    """Whether somebody gave this reason already, or says himself that the fabric may be more than was seen."""
    return any(
        part.text in one.what or (part.what, part.complete, one.where, one.level) == (FABRIC, None, "fabric", UNKNOWN)
        for one in told
    )


def line_of(sample: Diagnosed) -> PartLine:
    """The rules in one line: incidents by severity, what is waived, what could not be decided."""
    diagnosis = sample.diagnosis
    counts = [
        f"{number} {severity}"
        for severity in SEVERITIES
        if (number := sum(one.severity == severity for one in diagnosis.findings))
    ]
    text = f"{counted(len(diagnosis.findings), 'incident')}: {', '.join(counts)}" if counts else "no incident"
    text += f"; {len(diagnosis.waived)} waived" if diagnosis.waived else ""
    undecided = open_rules(diagnosis)
    text += f"; {counted(undecided, 'rule')} not decided" if undecided else ""
    worst = max((level_of(one) for one in diagnosis.findings), default=OK)
    return PartLine("check", max(worst, OK if is_decided(diagnosis, PARTS) else UNKNOWN), text)


def open_rules(diagnosis: Diagnosis) -> int:
    """How many rules could not be decided."""
    return len({(one.rule, one.name) for one in diagnosis.undecided})


def level_of_part(part: PartLine, diagnosis: Diagnosis) -> int | None:
    """How bad a part is: by the findings about it, never better than that it was not seen."""
    if part.level is None:
        return None
    about = "host" if part.caption.startswith("host") else part.caption
    name = part.caption.removeprefix("host ") if part.caption.startswith("host ") else None
    levels = [
        level_of(one)
        for finding in diagnosis.findings
        for one in (finding._replace(members=()), *finding.members)
        if _part_of(one) == about and (name is None or _is_of(one, name))
    ]
    unseen = UNKNOWN if not part.seen or part.level == UNKNOWN else OK
    return max([*levels, unseen])


def _part_of(finding: Finding) -> str:
    """Which of the overview's lines a finding belongs to."""
    needs = _needs(finding)
    if finding.places and finding.places[0].host is not None:
        return "host"
    if MANAGERS in needs:
        return "subnet manager"
    if {HOSTS, HOST_CHECKS} & needs and not {FABRIC, COUNTERS, CHANGE, HARDWARE} & needs:
        return "host"
    return "fabric"


def _needs(finding: Finding) -> set[str]:
    return {need for rule in catalogue.ALL if rule.name == finding.name for need in rule.needs}


def _is_of(finding: Finding, host: str) -> bool:
    return not finding.places or any(place.host == host for place in finding.places)


def _more(finding: Finding) -> str:
    """What follows from the same cause, which is told nowhere else on the overview: how many of which rule."""
    kinds = Counter(f"{one.rule} {one.name}" for one in finding.members)
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    return f" (and {len(finding.members)} more of the same cause: {told})" if finding.members else ""
