"""A mark is only tried where one of its words stands: so whatever a mark matches must hold one of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit import parsers
from ibkit.parsers import FORMATS, JOB_COMMAND

MARKS = [(form.mark, form.words) for form in FORMATS if form.command != JOB_COMMAND]
MARKS += [(mark, parsers._JOB_WORDS) for mark in parsers._JOB_MARKS]


@pytest.mark.parametrize(("mark", "words"), MARKS, ids=lambda value: str(value)[:30])
@given(data=st.data())
def test_a_match_holds_one_of_the_words(mark: str, words: tuple[str, ...], data: st.DataObject) -> None:
    # Each alternative for itself, or the generator would hardly come by the rarer ones.
    for alternative in alternatives(mark):
        matched = data.draw(st.from_regex(re.compile(alternative, re.MULTILINE)))
        found = re.search(alternative, matched, re.MULTILINE)
        assert found and any(word in found.group() for word in words), matched


def alternatives(mark: str) -> list[str]:
    """The mark's alternatives at its top level."""
    parts, depth, start, index = [], 0, 0, 0
    while index < len(mark):
        character = mark[index]
        if character == "\\":
            index += 1
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "|" and not depth:
            parts.append(mark[start:index])
            start = index + 1
        index += 1
    return [*parts, mark[start:]]


def test_alternatives() -> None:
    assert alternatives(r"a(?:b|c)|d\|e|[|)]f") == [r"a(?:b|c)", r"d\|e", "[|)]f"]
