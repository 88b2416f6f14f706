"""Text from outside on its way to a screen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.display import and_more, clean, csv_field, first_few


@given(st.text(max_size=50))
def test_nothing_that_moves_a_cursor_or_turns_text_round_is_left(text: str) -> None:
    shown = clean(text, 10_000)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown)
    assert not any(unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF") for character in shown)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=50))
def test_plain_text_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sw\x1b[31m1", r"sw\x1b[31m1"),
        ("a\nb\r\tc\0", r"a\nb\r\tc\x00"),
        ("a\x85b\u2028c", r"a\x85b\u2028c"),
        ("ab\u202eba", r"ab\u202eba"),
        ("c001\u200b", r"c001\u200b"),  # looks like c001, and is another name
        ("a\u061cb\u00adc\U000e0041", r"a\u061cb\xadc\U000e0041"),
        ("lost \udfff half", r"lost \udfff half"),
        ("\udcc3\udcbc.txt", r"\xc3\xbc.txt"),  # ü where the locale is C
        ("übung 節点", "übung 節点"),
        ("no\u00a0break", "no\u00a0break"),  # not printable for Python, and harmless
        ("", ""),
    ],
)
def test_examples(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_long_text_is_cut() -> None:
    assert clean("x" * 300, 10) == "xxxxxxx..."
    assert len(clean("\x00" * 10_000_000, 10)) < 100


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+2", "'+1+2"),
        ("-n01", "'-n01"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", r"\t=1"),
        ("\r=1", r"\r=1"),
        ("a=b", "a=b"),
        ("'=1", "'=1"),
        (-3, "-3"),
        (-2.5, "-2.5"),
        ("-3", "-3"),
        ("+12.5", "+12.5"),
        ("-1e-07", "-1e-07"),
        ("-1-2", "'-1-2"),
        ("-3.2 dBm", "'-3.2 dBm"),
        ("-", "-"),
        ("", ""),
        (None, ""),
    ],
)
def test_no_text_is_a_formula(value: object, field: str) -> None:
    assert csv_field(value) == field


def test_a_number_stays_one_however_it_is_shown() -> None:
    assert csv_field(-2.5, "-2.50") == "-2.50"
    assert csv_field(-2.5, "-2.50 dBm") == "-2.50 dBm"
    assert csv_field(None, "?") == ""


@given(st.text(max_size=50))
def test_no_field_begins_as_a_formula_and_is_none(text: str) -> None:
    field = csv_field(text)
    assert field[:1] not in ("\t", "\r")
    if field[:1] in ("=", "+", "-", "@") and len(field) > 1:
        float(field)  # else it raises


def test_how_many_more_there_are() -> None:
    assert [and_more(number) for number in (-1, 0, 1, 1024)] == ["", "", " and 1 more", " and 1,024 more"]
    assert [and_more(number, "link") for number in (0, 1, 2)] == ["", " and 1 more link", " and 2 more links"]
    assert first_few("abc", 2) == "a, b and 1 more"
