"""Waivers that are added to a file of expectations: its text stays, and they hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.errors import IbkitError
from ibkit.model.findings import Fact, Finding, Place
from ibkit.model.ids import Guid
from ibkit.rules.expectation_file import from_toml, read_expectations
from ibkit.rules.waivers import waiver_of
from ibkit.rules.waiving import Addition, findings_of, plan, text_with, write

DAY = "2026-12-01"
LINK = Finding(
    "slow", (Place(guid=Guid(0x10), name="c004 mlx5_0", port=1), Place(guid=Guid(0x20), name="leaf1", port=4)),
    rule="R05", name="slow-link", severity="warning",
)  # fmt: skip


def of_name(name: str) -> Finding:
    return LINK._replace(places=(Place(guid=Guid(0x10), name=name, port=1),))


def rule_name() -> str:
    from ibkit.rules import catalogue

    return catalogue.ALL[0].name


LINK = LINK._replace(name=rule_name())


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = str(tmp_path / "expectations.toml")
    write(plan(path, LINK, "cable is ordered", "2027-01-31", DAY))
    (waiver,) = read_expectations(path).waivers
    assert (waiver.rule, waiver.why, waiver.until) == (LINK.name, "cable is ordered", "2027-01-31")
    assert waiver_of(LINK, (waiver,), DAY) == waiver
    assert waiver_of(LINK, (waiver,), "2027-02-01") is None, "its last day is over"
    assert waiver_of(of_name("c005 mlx5_0"), (waiver,), DAY) is None


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["# a comment at the end", 'why = "known"'])
@pytest.mark.parametrize("is_ended", [True, False])
def test_the_text_of_a_file_stays(tmp_path: Path, end: str, last: str, is_ended: bool) -> None:
    path = tmp_path / "x.toml"
    lines = ['format = "ibkit-expect/1"  # mine', "", "[[waivers]]", 'rule = "R06"', 'where = "*"']
    before = end.join([*lines, 'why = "a"', last] if last[0] == "#" else [*lines, last]) + (end if is_ended else "")
    path.write_bytes(before.encode())
    path.chmod(0o640)
    addition = plan(str(path), LINK, "b", None, DAY)
    write(addition)
    after = path.read_bytes().decode()
    assert after.startswith(before)
    assert after == text_with(addition)
    assert ("\r\n" in after) == (end == "\r\n")
    assert after.count("\n") == after.count(end)
    assert [waiver.why for waiver in read_expectations(str(path)).waivers][1:] == ["b"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["x.toml"], "nothing else is left behind"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text('format = "ibkit-expect/1"\n')
    link = tmp_path / "x.toml"
    link.symlink_to("real.toml")
    write(plan(str(link), LINK, "b", None, DAY))
    assert link.is_symlink()
    assert len(read_expectations(str(tmp_path / "real.toml")).waivers) == 1


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    addition = plan(str(path), LINK, "b", None, DAY)
    path.write_text("format = 1\n")
    with pytest.raises(IbkitError, match="was changed meanwhile"):
        write(addition)
    assert path.read_text() == "format = 1\n"


@pytest.mark.parametrize(
    ("text", "why", "until", "words"),
    [
        ("format = 1\n", "b", None, "the format is 1"),
        ("nonsense\n", "b", None, "x.toml:1: not TOML"),
        ('format = "ibkit-expect/1"\nwaivers = []\n', "b", None, "is not written as"),
        (None, " ", None, "needs a reason"),
        (None, "b", "tomorrow", "tomorrow is no day"),
        (None, "b", "2027-01-31\n[[waivers]]", "is no day"),
        (None, "b", "2026-11-30", "is over on 2026-12-01"),
    ],
)
def test_what_cannot_be_written_is_told(
    tmp_path: Path, text: str | None, why: str, until: str | None, words: str
) -> None:
    path = tmp_path / "x.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(IbkitError) as caught:
        plan(str(path), LINK, why, until, DAY)
    assert words in str(caught.value)


def test_an_incident_is_waived_with_its_members(tmp_path: Path) -> None:
    member = of_name("c009 mlx5_0")._replace(name=LINK.name)
    other = LINK._replace(places=(Place(host="n01", device="mlx5_0", port=1),))
    incident = LINK._replace(members=(member, other, other))
    addition = plan(str(tmp_path / "x"), incident, "b", None, DAY)
    waivers = from_toml(text_with(addition), "x").waivers
    assert len(waivers) == 3, "the same place is written once"
    for one in (incident, member, other):
        assert waiver_of(one, waivers, DAY)
    many = LINK._replace(members=tuple(of_name(f"c{number}") for number in range(60)))
    with pytest.raises(IbkitError, match="too many to waive one by one"):
        plan(str(tmp_path / "x"), many, "b", None, DAY)


def test_what_one_rule_says_of_many_places_is_one_finding() -> None:
    members = tuple(of_name(f"c{number}") for number in range(60))
    whole = LINK._replace(places=(), members=members, evidence=(Fact("seen"),))
    assert findings_of(whole) == [whole]


@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_any_name_and_any_reason_is_written_so_that_it_holds(name: str, why: str) -> None:
    finding = of_name(name)
    try:
        addition = plan("/nonexistent-ibkit/x", finding, why, None, DAY)
    except IbkitError:
        assert not why.strip()
        return
    assert isinstance(addition, Addition)
    waivers = from_toml(text_with(addition), "x").waivers
    assert waiver_of(finding, waivers, DAY)
    assert "*" not in waivers[0].where, "a hostile name waives no other"
