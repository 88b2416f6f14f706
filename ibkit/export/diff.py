"""A comparison as a document for other programs (schema ibkit.diff/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ibkit.comparison.change import Change, Comparison, Doubt, Where
from ibkit.display import counted
from ibkit.sources.site import Origin

SCHEMA = "ibkit.diff/1"
COLUMNS = (
    "kind", "decided", "guid", "port", "name", "host", "device", "before", "after", "text", "why", "implied",
)  # fmt: skip
#: What the comparison as a whole says.
DIFFERENT, SAME, UNKNOWN = "different", "same", "unknown"


def verdict(comparison: Comparison) -> str:
    """A difference is one, whatever else is not known."""
    return DIFFERENT if comparison.changes else UNKNOWN if comparison.doubts else SAME


def compared_text(comparison: Comparison) -> str | None:
    """``3 differences of fabric, hosts``; None where nothing could be compared."""
    compared = ", ".join(part.name.replace("-", " ") for part in comparison.parts if part.compared)
    return f"{counted(len(comparison.changes), 'difference')} of {compared}" if compared else None


def implied_text(comparison: Comparison) -> str | None:
    """How many of the differences follow from others; None where none does."""
    implied = sum(change.implied for change in comparison.changes)
    follow = "of them follows from others and is" if implied == 1 else "of them follow from others and are"
    return f"{implied:,} {follow} not shown" if implied else None


def diff_document(comparison: Comparison, before: Origin, after: Origin) -> dict[str, Any]:
    """All of it."""
    return {
        "schema": SCHEMA,
        "verdict": verdict(comparison),
        "before": {"label": before.label, "recorded": before.time},
        "after": {"label": after.label, "recorded": after.time},
        "parts": [part._asdict() for part in comparison.parts],
        "counts": dict(sorted(Counter(change.kind for change in comparison.changes).items())),
        "changes": [_change(change) for change in comparison.changes],
        "undecided": [_doubt(doubt) for doubt in comparison.doubts],
        "problems": [problem._asdict() for problem in comparison.problems],
    }


def diff_rows(comparison: Comparison) -> Iterator[list[Any]]:
    """One row per change and per thing that is not decided, in the order of COLUMNS."""
    for change in comparison.changes:
        values = {**_change(change), "before": _cell(change.before), "after": _cell(change.after), "decided": "yes"}
        yield [_yes_no(values.get(column)) for column in COLUMNS]
    for doubt in comparison.doubts:
        values = {**_doubt(doubt), "decided": "no"}
        yield [_yes_no(values.get(column)) for column in COLUMNS]


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        **_place(change.where),
        "before": change.before,
        "after": change.after,
        "text": change.text,
        "implied": change.implied,
    }


def _doubt(doubt: Doubt) -> dict[str, Any]:
    return {
        "kind": doubt.kind,
        **_place(doubt.where),
        "text": doubt.text,
        "why": doubt.why,
        "implied": doubt.implied,
    }


def _place(where: Where) -> dict[str, Any]:
    return where._asdict() | {"guid": None if where.guid is None else str(where.guid)}


def _cell(value: Any) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    import json

    return json.dumps(value)


def _yes_no(value: Any) -> Any:
    return ("yes" if value else "no") if isinstance(value, bool) else value
