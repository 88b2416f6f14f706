"""What the interpreters that ibkit supports get wrong in regular expressions is not used."""

from __future__ import annotations

import pathlib
import re

import pytest

import ibkit.parsers

SOURCES = pathlib.Path(ibkit.parsers.__file__).parent
GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_no_group_is_repeated_possessively(source: pathlib.Path) -> None:
    """Python before 3.11.5 takes half of an iteration into such a match (gh-106052): ``(?:ab?c)*+`` matches ``aca``."""
    assert GROUP.search(source.read_text()) is None
