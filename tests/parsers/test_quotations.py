"""What a log quotes of another job: lines that are set off from those that processes of its own have said."""

from __future__ import annotations

import pytest

from ibkit.parsers.log_lines import Line
from ibkit.parsers.quotations import Speakers


def _heard(log: list[str]) -> list[str]:
    """What of a log is no quotation. Each line is ``PROCESS WORDS``, perhaps behind blanks or a mail's marks."""
    speakers = Speakers()
    found: list[Line] = []
    for number, raw in enumerate(log, 1):
        text = raw.lstrip(">").lstrip(" ") if raw.startswith(">") else raw  # the marks are taken away before
        before = text[: len(text) - len(text.lstrip())]
        found += speakers.spoken(Line(number, text, raw), before, (text.split()[0], "1"))
    return [line.text.strip() for line in (*found, *speakers.rest())]


OWN = ["a tcp", "b tcp", "a again", "b again"]


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("mark", ["    ", "\t", "> ", ">> "])
def test_few_lines_that_are_set_off_are_quotations(mark: str, place: int) -> None:
    assert _heard([*OWN[:place], f"{mark}old ib", *OWN[place:]]) == OWN


@pytest.mark.parametrize("mark", ["    ", "> "])
def test_a_process_that_stands_alone_too_is_none(mark: str) -> None:
    assert sorted(_heard([f"{mark}a first", *OWN])) == sorted(["a first", *OWN])


@pytest.mark.parametrize("mark", ["    ", "> "])
def test_a_log_that_was_pasted_without_its_first_blanks_is_none(mark: str) -> None:
    log = [OWN[0], *(f"{mark}{line}" for line in OWN[1:])]
    assert sorted(_heard(log)) == sorted(OWN)


@pytest.mark.parametrize("mark", ["    ", "> "])
def test_where_as_many_are_set_off_none_is(mark: str) -> None:
    others = [f"{mark}c ib", f"{mark}d ib", f"{mark}c again", f"{mark}d again"]
    assert len(_heard([*OWN, *others])) == 8


def test_where_all_are_set_off_all_are_read() -> None:
    assert _heard([f"    {line}" for line in OWN]) == OWN


def test_more_than_a_thousand_are_the_log() -> None:
    many = [f"  p{number} tcp" for number in range(1500)]
    assert len(_heard([*OWN, *many])) == 1504
