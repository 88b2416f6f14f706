"""ibtracert: recorded ways, other forms, ways that do not arrive, damaged and hostile text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibtracert import Stop, Trace, parse

FIXTURES = Path(__file__).parents[2] / "fixtures" / "tools" / "ibtracert"
NAMES = (FIXTURES / "names.txt").read_text()
NUMBERS = (FIXTURES / "numbers.txt").read_text()
TO_SWITCH = (FIXTURES / "ft12" / "to-switch.txt").read_text()


def trace_of(text: str) -> Trace:
    parsed = parse(text)
    assert (parsed.problems, parsed.complete) == ((), True)
    (trace,) = parsed.value.traces
    return trace


def test_with_names() -> None:
    trace = trace_of(NAMES)
    assert trace.start == Stop(0x100003, 2, None, "ca", 4, 4, "Hca2")
    assert trace.steps == (
        Stop(0x200000, 2, 2, "switch", 2, 2, "Switch1"),
        Stop(0x100001, 1, 1, "ca", 1, 1, "Hca1"),
    )
    assert trace.end == Stop(0x100000, 1, None, "ca", 1, 1, "Hca1")


def test_numbers_only() -> None:
    named, bare = trace_of(NAMES), trace_of(NUMBERS)
    assert [(step.exit_port, step.guid, step.port) for step in bare.steps] == [
        (step.exit_port, step.guid, step.port) for step in named.steps
    ]
    assert bare.start == Stop(0x100003, 2)


def test_a_way_that_ends_in_a_switch() -> None:
    trace = trace_of(TO_SWITCH)
    assert [(step.exit_port, step.lid, step.port) for step in trace.steps] == [(1, 2, 12), (28, 4, 1)]
    assert trace.end is not None
    assert (trace.end.type, trace.end.port, trace.end.lid) == ("switch", 0, 4)


def test_a_multicast_way_has_no_braces() -> None:
    """The form of ``-m``: node GUIDs, no ``port`` before them."""
    text = (
        'From ca 0x0000000000100003 port 2 lid 4-4 "Hca2"\n'
        '[2] -> switch 0x0000000000200000[2] lid 2-2 "Switch1"\n'
        '[1] -> ca 0x0000000000100000[1] lid 1-1 "Hca1"\n'
        'To ca 0x0000000000100000 port 1 lid 1-1 "Hca1"\n'
    )
    trace = trace_of(text)
    assert [step.guid for step in trace.steps] == [0x200000, 0x100000]


@pytest.mark.parametrize("name", ["", '"', 'a" lid 1-1 "b', "x [1] -> y", "\u00e9\u4e2d", " "])
def test_names_with_anything(name: str) -> None:
    assert trace_of(NAMES.replace("Switch1", name)).steps[0].name == name


def test_several_ways() -> None:
    parsed = parse(NAMES + TO_SWITCH + NUMBERS)
    assert (parsed.problems, parsed.complete) == ((), True)
    assert [trace.line for trace in parsed.value.traces] == [1, 5, 9]


def test_a_way_that_does_not_arrive() -> None:
    text = "".join(NAMES.splitlines(keepends=True)[:2])
    parsed = parse(text + "ibtracert: iberror: failed: can't find a route to the dest\n")
    (trace,) = parsed.value.traces
    assert (len(trace.steps), trace.end, parsed.complete) == (1, None, False)
    assert {problem.kind for problem in parsed.problems} == {"failed", "incomplete"}


def test_a_damaged_step_is_no_shorter_way() -> None:
    parsed = parse(NAMES.replace("[1] -> ca port {0x", "[1] -> ca po{0x"))
    (trace,) = parsed.value.traces
    assert (trace.end, parsed.complete) == (None, False)
    assert [problem.kind for problem in parsed.problems] == ["bad-line"]


def test_an_end_without_its_start() -> None:
    rest = NAMES.split("\n", 1)[1]
    with pytest.raises(NotThisFormat):
        parse(rest)
    parsed = parse(rest + NAMES)
    assert len(parsed.value.traces) == 1
    assert "bad-line" in {problem.kind for problem in parsed.problems}


@pytest.mark.parametrize("text", ["", "hello\n", "[1] -> x\n", "From me to you\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [*NAMES.split("\n"), *NUMBERS.split("\n"), "ibtracert: iberror: failed: x", "[1] -> ", "To ca"]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    assert parsed.complete is all(trace.end for trace in parsed.value.traces) or "failed" in text


@pytest.mark.parametrize(
    "line",
    ["From ca {0x1} portnum 1 lid 1-1 " + '"' * 60_000, "[1] -> " * 9_000, "From " * 12_000, " " * 60_000 + "x"],
    ids=lambda line: line[:12],
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(NAMES + f"{line}\n" * 10)
    assert time.process_time() - started < 2
