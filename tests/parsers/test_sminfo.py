"""sminfo: recorded answers, every state, damaged and foreign text."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import diag_messages as diag
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.sminfo import SmInfo, parse

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/sminfo"


def line(state: str = "3 SMINFO_MASTER") -> str:
    return f"sminfo: sm lid 7 sm guid 0xc42a1030, activity count 4294967295 priority 15 state {state}\n"


def test_an_answer_as_recorded() -> None:
    parsed = parse((FIXTURES / "master.txt").read_text())
    assert parsed.value.answers == (SmInfo(line=1, lid=1, guid=0x100001, activity=86, priority=0, state=3),)
    assert (parsed.problems, parsed.complete) == ((), None)


def test_a_failure_is_a_message() -> None:
    parsed = parse((FIXTURES / "no-sm.txt").read_text())
    assert parsed.value.answers == ()
    assert [(message.kind, message.reason) for message in parsed.value.messages] == [(diag.FAILED, "query")]


@pytest.mark.parametrize(
    ("state", "number"),
    [("0 SMINFO_NOTACT", 0), ("1 SMINFO_DISCOVER", 1), ("2 SMINFO_STANDBY", 2), ("3", 3), ("9 ???", 9)],
)
def test_states(state: str, number: int) -> None:
    (answer,) = parse(line(state)).value.answers
    assert (answer.state, answer.guid, answer.priority, answer.activity) == (number, 0xC42A1030, 15, 4294967295)


def test_a_state_that_contradicts_its_name_is_unknown() -> None:
    parsed = parse(line("2 SMINFO_MASTER"))
    assert parsed.value.answers[0].state is None
    assert [problem.kind for problem in parsed.problems] == ["contradiction"]


@pytest.mark.parametrize("length", range(len("sminfo: sm lid 7"), len(line("3")) - 2))
def test_a_cut_answer_is_none(length: int) -> None:
    parsed = parse(line("3")[:length])
    assert parsed.value.answers == ()
    assert [problem.kind for problem in parsed.problems] == ["bad-line"]
    assert parsed.complete is False


def test_around_the_answer() -> None:
    parsed = parse(
        "$ sminfo\r\n\r\n"
        + line().replace("\n", "\r\n")
        + 'ibwarn: [1] sim_connect: attached as client 0 at node "x"\r\n$'
    )
    assert len(parsed.value.answers) == 1
    assert parsed.value.answers[0].line == 3
    assert [problem.kind for problem in parsed.problems] == ["noise"]


@pytest.mark.parametrize("text", ["", "\n", "opensm: sm lid 7", "sminfo"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


@given(st.text())
def test_any_text_is_refused_or_read(text: str) -> None:
    with contextlib.suppress(NotThisFormat):
        parse(text)


@pytest.mark.parametrize("before", ["> ", "> > ", "| ", "    ", "\u2502 "])
def test_a_mails_quote(before: str) -> None:
    text = "sminfo: sm lid 1 sm guid 0x100001, activity count 86 priority 0 state 3 SMINFO_MASTER"
    (answer,) = parse(f"{before}{text}\n").value.answers
    assert (answer.guid, answer.state) == (0x100001, 3)
