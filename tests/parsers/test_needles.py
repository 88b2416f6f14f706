"""All lines with a word are found, whichever way they are looked for, and no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import job_log, needles
from ibkit.parsers.needles import Needles

#: Few letters, so that words overlap one another and the ends of lines.
LETTERS = st.text("ab :", max_size=9).map(str.encode)


@given(st.lists(LETTERS.filter(bool), min_size=1, max_size=6), st.lists(LETTERS, max_size=12), st.booleans())
def test_the_lines_with_a_word_are_found(words: list[bytes], lines: list[bytes], is_large: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(needles, "LARGE_BYTES", -1 if is_large else 1 << 40)
        found = Needles(words).places(lines)
    assert found == [place for place, line in enumerate(lines) if any(word in line for word in words)]


@pytest.mark.parametrize("large", [-1, 1 << 40])
def test_each_anchor_of_logs_is_found_between_other_words(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needles, "LARGE_BYTES", large)
    words = job_log._ANCHORS._words
    assert len(words) > 100
    lines = [text for word in words for text in (b"step", word, b"\xff|" + word + b"|\0")]
    assert Needles(words).places(lines) == [place for place in range(len(lines)) if place % 3]
