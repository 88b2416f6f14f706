"""One record of two views of a thing."""

from __future__ import annotations

from ibkit.parsers.erased import Any


def fill(speaker: Any, other: Any) -> Any:
    """The speaker's record with the other's value wherever the speaker knows nothing."""
    gaps = {field for field in speaker._fields if getattr(speaker, field) in (None, ())}
    return speaker._replace(**{field: getattr(other, field) for field in gaps})
