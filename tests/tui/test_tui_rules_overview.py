"""The overview by the rules: what they say is said once, nothing is well that was not seen. The cache of addresses."""

from __future__ import annotations

from pathlib import Path

from support.tui_scenes import snapshot

from ibkit.model.address_cache import Entry
from ibkit.model.findings import CRITICAL, INFO, WARNING, Diagnosis, Finding, LookedAt, Place, Undecided
from ibkit.model.ids import Gid, Guid
from ibkit.rules.evidence import Collected
from ibkit.sources.opening import open_site
from ibkit.tui.diagnosing import Diagnosed
from ibkit.tui.snapshot import CHECK, Reading, read_all
from ibkit.tui.view import cache, incidents, level
from ibkit.tui.view.lines import plain
from ibkit.tui.view.notices import Notice, Target
from ibkit.tui.view.overview import overview

FAT_TREE = Path(__file__).parents[2] / "fixtures" / "fat-tree"
#: One HCA of it is slower than the others.
TIMEOUT = FAT_TREE.parent / "tools/ibnetdiscover/timeout-hca.txt"
WHOLE = tuple(LookedAt(part, part, True) for part in ("hosts", "fabric", "subnet-managers", "counters"))


def judged(*findings: Finding, looked_at: tuple[LookedAt, ...] = WHOLE, waived: tuple[Finding, ...] = ()):
    made = Diagnosis(findings, (Undecided("nobody told", "", "R12", "missing-hosts"),), looked_at, waived)
    return snapshot(job=RuntimeError("no")).with_reading(CHECK, Reading(Diagnosed(Collected(), made), taken=1.0))


SLOW = Finding(
    "it is slow", (Place(guid=Guid(1), name="leaf", port=1),), severity=WARNING, rule="R05", name="slow-link"
)


def test_until_the_rules_have_spoken_the_parts_speak_then_the_rules_alone() -> None:
    before = [notice.what for notice in overview(snapshot()).notices]
    assert any("one lane only" in what for what in before)
    found = overview(judged(SLOW))
    told = [notice.what for notice in found.notices]
    assert "R05 it is slow" in told
    assert not any("one lane only" in what or "no subnet manager has configured" in what for what in told)
    levels = {part.caption: part.level for part in found.parts}
    assert levels["fabric"] == level.WARNING
    assert levels["subnet manager"] == level.OK
    assert levels["host n00"] == level.OK, "the host's own remark does not contradict the rules"


def test_the_line_of_the_check_counts_by_severity_and_tells_what_is_open() -> None:
    bad = SLOW._replace(severity=CRITICAL)
    parts = {part.caption: part for part in overview(judged(bad, SLOW, waived=(SLOW,))).parts}
    assert parts["check"].text == "2 incidents: 1 critical, 1 warning; 1 waived; 1 rule not decided"
    assert parts["check"].level == level.CRITICAL


def test_a_part_that_is_not_whole_is_not_well() -> None:
    unsure = (*WHOLE[:3], LookedAt("counters", "3 ports", None))
    found = overview(judged(looked_at=unsure))
    assert {part.caption: part.level for part in found.parts}["check"] == level.UNKNOWN
    assert "counters: 3 ports: that is not known to be complete" in [notice.what for notice in found.notices]
    assert "ok" not in plain(found.headline).split()


def test_one_reason_is_told_once() -> None:
    reason = "no RDMA device: the kernel has no RDMA support loaded"
    nothing = tuple(part._replace(text=reason, complete=None) for part in WHOLE)
    told = [notice.what for notice in incidents.notices(Diagnosis((), (), nothing))]
    assert told == [f"hosts: {reason}: that is not known to be complete"]
    known = Notice(level.UNKNOWN, reason, "n00", Target("host"))
    assert incidents.notices(Diagnosis((), (), nothing), [known]) == []
    unsure = (WHOLE[0], LookedAt("fabric", "4 switches", None))
    own = Notice(level.UNKNOWN, "whether this is the whole fabric cannot be told", "fabric", Target("problems"))
    assert incidents.notices(Diagnosis((), (), unsure), [own]) == []
    assert len(incidents.notices(Diagnosis((), (), unsure), [own._replace(level=level.INFO)])) == 1


def test_a_link_that_a_rule_speaks_of_is_no_question_beside_it() -> None:
    seen = read_all(open_site(str(TIMEOUT)))
    assert seen.check is not None
    sample = seen.check.value
    assert sample is not None
    (finding,) = [one for one in sample.diagnosis.findings if one.rule == "R13"]

    def told(*findings: Finding, waived: tuple[Finding, ...] = ()) -> list[str]:
        made = sample._replace(diagnosis=sample.diagnosis._replace(findings=findings, waived=waived))
        found = overview(seen.with_reading(CHECK, Reading(made, taken=1.0))).notices
        return [one.what.split()[0] for one in found if "another card, or a fault" in one.what]

    assert told() == ["link"], "the topology's own question"
    assert told(finding) == ["R13"]
    assert told(waived=(finding,)) == [], "somebody knows it"
    assert "link" in told(finding._replace(rule="R20", name="symbol-errors")), "errors are another matter"


def test_many_incidents_of_one_rule_are_one_line_with_their_number() -> None:
    many = [SLOW._replace(places=(Place(guid=Guid(n), name=f"leaf{n}", port=1),)) for n in range(1, 8)]
    told = [notice.what for notice in overview(judged(*many)).notices if "R05" in notice.what]
    assert told == ["R05 slow-link: 7 incidents, the first one: it is slow"]


def test_what_an_incident_holds_is_told_by_rule_and_number() -> None:
    """The other findings of the same cause have no line of their own, and one of them may be what is looked for."""
    lane = SLOW._replace(what="one lane", rule="R06", name="one-lane")
    (told,) = [n.what for n in overview(judged(SLOW._replace(members=(lane, lane, SLOW)))).notices if "R05" in n.what]
    assert told == "R05 it is slow (and 3 more of the same cause: 2 R06 one-lane, 1 R05 slow-link)"


def test_information_is_no_warning() -> None:
    assert {p.caption: p.level for p in overview(judged(SLOW._replace(severity=INFO))).parts}["check"] == level.INFO


def test_the_fat_tree_is_told_as_check_tells_it() -> None:
    """fixtures/fat-tree/README.md: two slow links, two ports with injected errors."""
    found = overview(read_all(open_site(str(FAT_TREE))))
    assert [notice.what[:3] for notice in found.notices if notice.what.startswith("R")] == ["R05", "R13", "R20", "R24"]
    parts = {part.caption: part for part in found.parts}
    assert parts["check"].text.startswith("4 incidents: 4 warning;")
    assert (parts["fabric"].level, parts["host c001"].level) == (level.WARNING, level.OK)


def entry(address: str, via: str, guid: int, learned: int = 1000) -> Entry:
    return Entry(address, via, Gid((0xFE80 << 112) + guid), learned, prefix=0xFE80 << 48)


def test_entries_that_contradict_each_other_come_first() -> None:
    entries = (entry("10.0.0.1", "hosts", 1), entry("10.0.0.2", "hosts", 2), entry("10.0.0.2", "neighbours", 3))
    contents = cache.CacheContents("x", entries, 1060.0)
    rows = cache.table(contents).rows
    assert [(row.values[0], row.values[5]) for row in rows] == [
        ("10.0.0.2", "disputed"), ("10.0.0.2", "disputed"), ("10.0.0.1", "fresh"),
    ]  # fmt: skip
    assert {row.values[4] for row in rows} == {"60 s"}
    assert "neighbours says" in "\n".join(map(plain, cache.entry_lines(contents, 1)))


def test_what_is_too_old_contradicts_nobody() -> None:
    entries = (entry("a", "hosts", 1, 10_000_000), entry("A", "neighbours", 2, 0))
    assert cache.disputed(entries, 10_000_100.0) == frozenset()
