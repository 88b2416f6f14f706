"""The line above a table: where one is, how many rows there are, and what hides or orders them."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.parsers.records import NamedTuple
from ibkit.tui.view.lines import Line, Span, span
from ibkit.tui.view.table import AS_THEY_CAME, Order, Table


class Shown(NamedTuple):
    """How a table is being shown. ``rows`` are the numbers of those that are."""

    table: Table | None
    rows: Sequence[int] = ()
    filter_text: str = ""
    faults_only: bool = False
    order: Order = AS_THEY_CAME
    hidden_columns: int = 0


def title(crumbs: list[str], shown: Shown) -> Line:
    """``Nodes > leaf-3   12 of 40 ports   filter: hdr   faults only   by Rate, descending``."""
    parts = [span(" " + " > ".join(crumbs), "heading")]
    table = shown.table
    if table is None:
        return tuple(parts)
    parts.append(span(f"   {table.counted(shown.rows)}", "caption"))
    if shown.filter_text:
        parts += [Span("   filter: ", "caption"), span(shown.filter_text, "key")]
    if shown.faults_only:
        parts += [Span("   "), span("faults only", "key")]
    if shown.order.column is not None:
        direction = " down" if shown.order.descending else ""
        parts += [span(f"   by {table.columns[shown.order.column].title}{direction}", "caption")]
    if shown.hidden_columns:
        more = "column" if shown.hidden_columns == 1 else "columns"
        parts.append(span(f"   w: {shown.hidden_columns} more {more}", "dim"))
    return tuple(parts)
