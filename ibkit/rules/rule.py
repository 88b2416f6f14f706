"""What a rule is: a function from the evidence to findings, and what people must know about it.

The function's docstring is what `ibkit check --explain` and docs/rules.md show. Its first paragraph says what is
wrong; after that, paragraphs that begin with one of these words tell the rest: ``Threshold:``, ``Why:`` (it matters),
``Next:`` (what to do), ``Else:`` (what else could explain it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ibkit.model.findings import Finding, Undecided
from ibkit.parsers.records import NamedTuple
from ibkit.rules.evidence import Evidence

#: Limits by their names.
Limits = Mapping[str, float]
Check = Callable[[Evidence, Limits], Iterator[Finding | Undecided]]

_HEADINGS = ("Threshold", "Why", "Next", "Else")


class Limit(NamedTuple):
    """A number that a rule compares with. ``unit`` is a plural noun."""

    name: str
    default: float
    unit: str


class Rule(NamedTuple):
    """``number`` (R44) may be shared by rules of one subject, ``name`` is its own.

    ``needs`` are the parts of the evidence without which it has nothing to say. ``severity`` is that of most of its
    findings. ``source`` is where rule and threshold come from.
    """

    number: str
    name: str
    severity: str
    needs: tuple[str, ...]
    source: str
    limits: tuple[Limit, ...]
    check: Check

    def paragraph(self, heading: str | None = None) -> str:
        """A paragraph of the docstring in one line, without its heading; the first one for None."""
        return _paragraphs(self.check.__doc__ or "").get(heading, "")


def rule(
    number: str, name: str, severity: str, *, needs: tuple[str, ...], source: str, limits: tuple[Limit, ...] = ()
) -> Callable[[Check], Rule]:
    """Make a rule of a function."""
    return lambda check: Rule(number, name, severity, needs, source, limits, check)


def _paragraphs(docstring: str) -> dict[str | None, str]:
    texts: dict[str | None, str] = {}
    heading: str | None = None
    for block in docstring.split("\n\n"):
        text = " ".join(block.split())
        first, colon, rest = text.partition(": ")
        if colon and first in _HEADINGS:
            heading, text = first, rest
        texts[heading] = f"{texts[heading]} {text}" if heading in texts else text
    return texts
