"""The filter line: words that a row must hold, words after ``!`` that it must not."""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple


class Filter(NamedTuple):
    """``wanted`` and ``unwanted`` are lower-case pieces of text."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Filter:
        """Read a filter as typed. Case does not matter, the order of the words neither.

        >>> Filter.parse("leaf !HDR")
        Filter(wanted=('leaf',), unwanted=('hdr',))
        """
        words = text.lower().split()
        return cls(
            tuple(word for word in words if not word.startswith("!")),
            tuple(word[1:] for word in words if word.startswith("!") and len(word) > 1),
        )


EVERYTHING = Filter()
