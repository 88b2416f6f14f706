"""Node-name maps. Truth: the names that infiniband-diags 44.0 showed with them on ibsim's example net."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.node_name_map import parse

NET = (Path(__file__).parents[2] / "fixtures/tools/node-name-map/net.txt").read_text()


def names_of(text: str) -> dict[int, str]:
    return {entry.guid: entry.name for entry in parse(text).value}


def kinds(text: str) -> list[str]:
    return [problem.kind for problem in parse(text).problems]


def test_a_map() -> None:
    parsed = parse(NET)
    assert {entry.guid: entry.name for entry in parsed.value} == {
        0x200000: "leaf 1", 0x200001: "leaf 2", 0x100000: "host1", 0x100003: "host 2 'old'", 0xDEADBEEF: "not here",
    }  # fmt: skip
    assert [entry.line for entry in parsed.value] == [2, 3, 5, 6, 9]
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("repeated", 8)]
    assert parsed.complete is None


@pytest.mark.parametrize(
    ("line", "guid", "name"),
    [
        ('2097152 dec name # c', 0x200000, "dec name"),
        ('010000001 "oct"', 0x200001, "oct"),
        ('0x200001 "a#b"', 0x200001, "a"),
        ('0x200001 "open', 0x200001, "open"),
        ('0x100000 half "quoted" x', 0x100000, "half"),
        ('  0X20\tno quotes  ', 0x20, "no quotes"),
        ('0x20 "köln"', 0x20, "köln"),
    ],
)  # fmt: skip
def test_lines(line: str, guid: int, name: str) -> None:
    assert names_of(f"{line}\n") == {guid: name}


def test_a_comment_that_the_tools_take_for_a_name() -> None:
    text = "0x200000 # comment\n"
    assert names_of(text) == {0x200000: "comment"}
    assert kinds(text) == ["odd-name"]


@pytest.mark.parametrize("bad", ['nonsense "x"', '0x200000"glued"', '0xgg "x"', '0x11111111111111111 "x"', "089 x"])
def test_a_line_for_which_the_tools_refuse_the_file(bad: str) -> None:
    parsed = parse(f'0x1 "one"\n{bad}\n0x2 "two"\n')
    assert [entry.name for entry in parsed.value] == ["one", "two"]
    assert (parsed.complete, [problem.kind for problem in parsed.problems]) == (False, ["bad-line"])
    assert "nothing of this file" in parsed.problems[0].text


def test_lines_without_a_name() -> None:
    assert names_of('0x1 ""\n0x2\n0x3 "  "\n0x4 four\n') == {4: "four"}
    assert kinds('0x1 ""\n0x2\n0x3 "  "\n0x4 four\n') == ["no-name"] * 3


def test_a_line_that_the_tools_cut() -> None:
    assert kinds(f'0x1 "{"7" * 300}"\n') == ["long-line"]


@pytest.mark.parametrize("text", ["", "# only comments\n", "x\n", "Switch 36\n"])
def test_other_texts(text: str) -> None:
    with pytest.raises(NotThisFormat, match=r"^f: not a node-name map"):
        parse(text, source="f")


def test_prose_with_a_few_numbers_before_its_lines() -> None:
    with pytest.raises(NotThisFormat, match=r"2 lines like '0x0c42a10300000000 .leaf 3.', 3 others"):
        parse("Exit status:\n0 if OK,\n1 if minor problems\nor more\nSee ls(1)\n")


@given(st.text(alphabet='0x19af"# \t\n\rä\x00', max_size=200) | st.text(max_size=100))
def test_it_never_raises_anything_else(text: str) -> None:
    with suppress(NotThisFormat):
        for entry in parse(text).value:
            assert entry.name == entry.name.strip() != ""


def test_linear_time() -> None:
    start = time.process_time()
    for line in ('0x1 "' + '"' * 60_000, "0x1 " + "#" * 60_000 + "x", "0" * 60_000, "9" * 60_000):
        with suppress(NotThisFormat):
            parse(f"{line}\n" * 200)
    assert time.process_time() - start < 10
