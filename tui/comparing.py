"""Compares what is shown with how it was then, in a collector's thread."""

from __future__ import annotations

from ibkit.comparison.change import Comparison
from ibkit.comparison.whole import FABRIC, HOSTS, MANAGERS, PARTITIONS, View, compare
from ibkit.errors import IbkitError
from ibkit.rules.collecting import collect
from ibkit.rules.evidence import Collected
from ibkit.sources.opening import open_site
from ibkit.tui.diagnosing import Diagnosed
from ibkit.tui.snapshot import FIRST, Reading

_PARTS = (FABRIC, MANAGERS, PARTITIONS, HOSTS)


def compare_with_then(then: str, shown: Reading[Diagnosed]) -> Comparison:
    """As `ibkit diff THEN NOW`, with what the rules have collected. Raises IbkitError where either is not there."""
    if shown.value is None:
        raise IbkitError(f"nothing is read yet to compare: {shown.failure or 'press u once the check has answered'}")
    return compare(_view("then", _earlier(then, shown.value)), _view("now", shown.value.collected))


def _earlier(then: str, shown: Diagnosed) -> Collected:
    if then == FIRST:
        if shown.first is None:
            raise IbkitError("there is no sample before this one; press u after the next one")
        return shown.first
    site = open_site(then)
    if site.origin.kind == "raw":
        raise IbkitError(f"{then}: one tool's output; name a capture or a frame of a recording")
    return collect(site, wanted=_PARTS)


def _view(label: str, found: Collected) -> View:
    missing = {part: lack.missing for part, lack in found.lacks.items()}
    return View(label, found.fabric, found.managers, found.partitions, found.hosts, False, missing)
