"""ibaddr: its four forms, failures, damaged and hostile text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibaddr import Address, parse

#: ``ibaddr 15``, ``-g``, ``-l``, ``-L`` and ``-L`` of LMC 2: infiniband-diags 44.0 on ibsim, the last one by hand.
FORMS = {
    "GID fe80::c42:a103:0:b1 LID start 0xf end 0xf\n": Address("fe80::c42:a103:0:b1", 15, 15, 1),
    "GID fe80::c42:a103:0:b1 \n": Address("fe80::c42:a103:0:b1", None, None, 1),
    "LID start 0xf end 0xf\n": Address(None, 15, 15, 1),
    "GID fe80::c42:a103:0:b1 LID start 15 end 15\n": Address("fe80::c42:a103:0:b1", 15, 15, 1),
    "LID start 8 end 11\n": Address(None, 8, 11, 1),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    parsed = parse(text)
    assert (parsed.value, parsed.problems, parsed.complete) == ((FORMS[text],), (), None)


def test_several_answers_and_a_failure() -> None:
    text = "".join(FORMS) + "ibaddr: iberror: failed: can't resolve requested address\n"
    parsed = parse(text)
    assert [address.line for address in parsed.value] == [1, 2, 3, 4, 5]
    assert parsed.complete is False
    assert [problem.kind for problem in parsed.problems] == ["failed"]


def test_a_failure_alone() -> None:
    parsed = parse("ibaddr: iberror: failed: can't resolve destination port 77\n")
    assert (parsed.value, parsed.complete) == ((), False)


def test_a_cut_line_costs_itself() -> None:
    first, *_ = FORMS
    parsed = parse(first + first[:-8])
    assert len(parsed.value) == 1
    assert len(parsed.problems) == 1


@pytest.mark.parametrize("text", ["", "\n", "GID \n", "LID start end\n", "hello\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(list(FORMS))), max_size=20).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parse(text)
    except NotThisFormat:
        assert "LID start 0xf end 0xf\n" not in text.split("\n")


@pytest.mark.parametrize("line", [" " * 60_000 + "x", "GID " + ":" * 60_000, "GID 1" + " " * 60_000 + "x"])
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse("".join(FORMS) + f"{line}\n" * 10)
    assert time.process_time() - started < 2
