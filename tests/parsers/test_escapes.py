"""Escape sequences that a terminal, a pager or a colouring filter put around a tool's words."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import identify
from ibkit.parsers.escapes import plain, plain_ends

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
SAMPLES = [
    "ibstat/two-devices", "ibnetdiscover/topology", "ibnetdiscover/ports-report", "iblinkinfo/leaves", "sminfo/master",
    "perfquery/loop", "ibstatus/two-devices", "ibqueryerrors/thresholds",
]  # fmt: skip
FILTERS = {
    "a colour for each line": lambda line: f"\x1b[32m{line}\x1b[0m" if line else line,
    "grep --color=always, which erases to the end": lambda line: f"\x1b[01;31m\x1b[K{line}\x1b[m\x1b[K",
    "a title, and bracketed paste": lambda line: f"\x1b]0;root@head: ~\x07\x1b[?2004l{line}",
    "a character set": lambda line: f"\x1b(B{line}\x1b(B",
}


def read(text: str) -> object:
    form = identify(text)
    return importlib.import_module(f"ibkit.parsers.{form.module}").parse(text).value


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("how", FILTERS)
def test_a_coloured_text_is_read_as_if_it_were_not(name: str, how: str) -> None:
    text = (TOOLS / f"{name}.txt").read_text()
    coloured = "\n".join(FILTERS[how](line) for line in text.split("\n"))
    assert coloured != text
    assert read(coloured) == read(text)


def test_a_word_that_grep_found() -> None:
    text = (TOOLS / "ibstat/two-devices.txt").read_text()
    assert "State: Active" in text
    assert read(text.replace("Active", "\x1b[01;31m\x1b[KActive\x1b[m\x1b[K")) == read(text)


def test_a_name_keeps_its_own() -> None:
    """Data is raw: a node may call itself anything."""
    for name, old in (("ibnetdiscover/topology", "Hca1"), ("iblinkinfo/leaves", "leaf1")):
        evil = "\x1b[31mevil"
        assert evil in repr(read((TOOLS / f"{name}.txt").read_text().replace(old, evil))).encode().decode(
            "unicode_escape"
        )


@given(st.text(alphabet='\x1b[]()0;m"K\x07ab\n\\?', max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert plain(text).count("\n") == text.count("\n")
    assert plain(text.replace("\x1b", "")) == text.replace("\x1b", "")
    assert "\n" not in plain_ends(text.replace("\n", ""))


@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]0;", '"\x1b', "\x1b[0;" * 3 + " ", '\x1b[m"', " \x1b[m"])
def test_hostile_lines_cost_linear_time(piece: str) -> None:
    started = time.process_time()
    plain(piece * 300_000)
    plain_ends(piece * 300_000)
    assert time.process_time() - started < 5
