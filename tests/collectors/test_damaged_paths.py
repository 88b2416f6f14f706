"""Damaged answers about partitions and ways: nothing breaks, documents keep their form, and no damage makes a yes."""

from __future__ import annotations

from pathlib import Path

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st
from support.answers import Answers, said
from support.schemas import strict

from ibkit.collectors.partitions import collect_partitions
from ibkit.collectors.path import collect_path
from ibkit.collectors.traces import fabric_of, route_of
from ibkit.export.partitions import partitions_document
from ibkit.export.path import path_document
from ibkit.model.ends import NotOne
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibtracert import parse as parse_trace

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TREE = (TOOLS / "ibnetdiscover/tree.txt").read_text()
DUMP = (TOOLS / "ibroute/ft12/dump-fts.txt").read_text()
BULK = (TOOLS / "saquery/ft12/pkeys-15.txt").read_text()
LFTS = (TOOLS / "saquery/ft12/lfts.txt").read_text()
TRACE = (TOOLS / "ibtracert/ft12/to-switch.txt").read_text()
#: Where a text is cut out, how much, and what comes in its place.
CUTS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 60), st.text(max_size=8)), min_size=1, max_size=4)


def damaged(text: str, cuts: list[tuple[int, int, str]]) -> str:
    for place, length, instead in cuts:
        place %= len(text) + 1
        text = text[:place] + instead + text[place + length :]
    return text


@given(CUTS)
@settings(max_examples=15, deadline=None)
def test_damaged_keys(cuts: list[tuple[int, int, str]]) -> None:
    made = collect_partitions(Answers({"saquery PKTR": said(damaged(BULK, cuts)), "ibnetdiscover": said(TREE)}))
    jsonschema.validate(partitions_document(made), strict("partitions"))
    assert made.complete is not True, "one port of 15 is told"


@given(CUTS, st.booleans())
@settings(max_examples=15, deadline=None)
def test_damaged_tables(cuts: list[tuple[int, int, str]], of_sa: bool) -> None:
    answers = {"ibnetdiscover": said(TREE)}
    answers |= {"saquery LFTR": said(damaged(LFTS, cuts))} if of_sa else {"dump_fts": said(damaged(DUMP, cuts))}
    made = path_document(collect_path(Answers(answers), "15", "1"))
    jsonschema.validate(made, strict("path"))
    assert made["can_talk"] is not True


@given(CUTS)
@settings(max_examples=60, deadline=None)
def test_damaged_traces(cuts: list[tuple[int, int, str]]) -> None:
    try:
        traces = parse_trace(damaged(TRACE, cuts)).value.traces
    except NotThisFormat:
        return
    fabric = fabric_of(traces, "x")
    for trace in traces:
        route = route_of(trace)
        assert (route.result == "arrived") is (trace.end is not None)
        assert all(hop.entry.guid in fabric.nodes for hop in route.hops)


@given(st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=40, deadline=None)
def test_any_words_for_the_ends(a: str, b: str) -> None:
    try:
        made = path_document(collect_path(Answers({"ibnetdiscover": said(TREE)}), a, b))
    except NotOne:
        return
    jsonschema.validate(made, strict("path"))
