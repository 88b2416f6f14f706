"""Forwarding tables from switches, dumps and the SA: who was asked, and what a table does not tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.answers import Answers, said
from support.drawn import drawn, end, guid
from support.recorded import Recorded
from support.recorded import said as heard

from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.routing import collect_routes, collect_ways, record_tables
from ibkit.model.fabric import End, Fabric
from ibkit.model.ids import Guid
from ibkit.model.routes import ARRIVED, NO_EXIT, NO_TABLE, UNREACHABLE, Route, owners_of
from ibkit.sources.base import TIMEOUT, CommandAnswer
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TREE = (TOOLS / "ibnetdiscover/tree.txt").read_text()
DUMP = (TOOLS / "ibroute/ft12/dump-fts.txt").read_text()
LFTS, FDBS = ((TOOLS / name / "ft12.txt").read_text() for name in ("opensm-lfts.dump", "opensm.fdbs"))
RECORDS = (TOOLS / "saquery/ft12/lfts.txt").read_text()
LEAF, SPINE_1, SPINE_2 = (Guid(0xB8599F0300000000 + 256 * i) for i in range(3))
#: Read off the dump by hand: the exits of LIDs 1 to 5 and 15 at the leaf, and of LID 15 and 1 at the spines.
LEAF_EXITS = {1: 1, 2: 0, 3: 19, 4: 28, 5: 2, 15: 12}


def table(switch: str, lid: int, rows: dict[int, int], *, last: int | None = None, cut: bool = False) -> str:
    """What ``ibroute -n`` prints of a switch of a drawn fabric."""
    top = max(rows) if last is None else last
    text = f"Unicast lids [0x0-0x{top:x}] of switch Lid {lid} guid 0x{int(guid(switch)):016x} ({switch} box):\n"
    text += "  Lid  Out   Destination\n       Port     Info \n"
    text += "".join(f"0x{one:04x} {port:03d} \n" for one, port in rows.items())
    return text if cut else f"{text}{len(rows)} valid lids dumped \n"


def record(lid: int, block: int, rows: dict[int, int]) -> str:
    """What ``saquery LFTR`` prints of one block."""
    lids = range(64 * block, 64 * block + 64)
    return (
        f"LFT Record dump:\n\t\tLID........................{lid}\n\t\tBlock......................{block}\n"
        "\t\tLFT:\n\t\tLID\tPort Number\n" + "".join(f"\t\t{one}\t{rows.get(one, 255)}\n" for one in lids)
    )


def line() -> Fabric:
    """h1 - s1 - s2 - s3 - h2."""
    return drawn(
        ["h1/1 s1/1", "s1/2 s2/1", "s2/2 s3/1", "h2/1 s3/2"], {"h1/1": 1, "h2/1": 2, "s1": 11, "s2": 12, "s3": 13}
    )


ROWS = {"s1": {1: 1, 2: 2, 11: 0, 12: 2, 13: 2}, "s2": {1: 1, 2: 2, 11: 1, 12: 0, 13: 2}, "s3": {1: 1, 2: 2, 13: 0}}
OF_SWITCHES = [
    heard(f"ibroute -n {lid}", table(name, lid, ROWS[name])) for name, lid in (("s1", 11), ("s2", 12), ("s3", 13))
]


def ways(source: Answers | Recorded, net: Fabric, *wanted: tuple[str, int]) -> tuple[list[Route], list[str]]:
    found, problems = collect_ways(source, net, owners_of(net), [(end(start), lid) for start, lid in wanted])
    return found, [problem.kind for problem in problems]


def test_only_the_switches_on_the_way_are_asked() -> None:
    net = drawn(
        ["h1/1 s1/1", "h2/1 s1/2", "s1/3 s2/1", "h3/1 s2/2"], {"h1/1": 1, "h2/1": 2, "h3/1": 3, "s1": 11, "s2": 12}
    )
    source = Recorded(
        heard("ibroute -n 11", table("s1", 11, {1: 1, 2: 2, 3: 3})), heard("ibroute -n 12", table("s2", 12, {3: 2}))
    )
    (route,), problems = ways(source, net, ("h1/1", 2))
    assert (route.result, problems, source.asked) == (ARRIVED, [], ["ibroute -n 11"])
    assert (route.tables[0].source, route.tables[0].line) == ("ibroute -n 11", 1)
    found, _ = ways(source, net, ("h1/1", 3), ("h2/1", 3))
    assert [one.result for one in found] == [ARRIVED, ARRIVED]
    assert source.asked[1:] == ["ibroute -n 11", "ibroute -n 12"], "each once for both ways"


def test_a_lid_beyond_the_table_has_no_exit_for_the_whole_of_it_was_asked() -> None:
    (route,), problems = ways(Recorded(*OF_SWITCHES), line(), ("h1/1", 99))
    assert (route.result, problems) == (UNREACHABLE, [])


def test_the_last_lid_is_not_read_where_it_is_a_multiple_of_64() -> None:
    """ibroute.c rounds the last block down: the header says 0x40, and the block of LID 64 is not asked for."""
    net = drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 1, "h2/1": 64, "s1": 2})
    source = Recorded(heard("ibroute -n 2", table("s1", 2, {1: 1, 2: 0}, last=64)))
    (route,), _ = ways(source, net, ("h1/1", 64))
    assert (route.result, route.arrived) == (NO_TABLE, None)
    source = Recorded(
        heard("ibroute -n 2", table("s1", 2, {1: 1, 2: 0}, last=64)), heard("saquery LFTR 2", record(2, 1, {64: 2}))
    )  # fmt: skip
    (route,), problems = ways(source, net, ("h1/1", 64))
    assert (route.result, problems) == (ARRIVED, [])
    assert [one.source for one in route.tables] == ["saquery LFTR 2"]
    source = Recorded(heard("ibroute -n 2", table("s1", 2, {1: 1, 2: 0, 63: 1}, last=63)))
    net = drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 1, "h2/1": 62, "s1": 2})
    assert ways(source, net, ("h1/1", 62))[0][0].result == UNREACHABLE, "any other last LID is read"


def test_the_sa_is_asked_where_a_switch_does_not_answer() -> None:
    silence = heard("ibroute -n 12", "", "ibwarn: [7] _do_madrpc: recv failed: Connection timed out\n", 255)
    net = line()
    source = Recorded(OF_SWITCHES[0], OF_SWITCHES[2], silence, heard("saquery LFTR 12", record(12, 0, ROWS["s2"])))
    found, problems = ways(source, net, ("h1/1", 2), ("h2/1", 1))
    assert ([one.result for one in found], problems) == ([ARRIVED, ARRIVED], [])
    assert [one.source for one in found[0].tables] == ["ibroute -n 11", "saquery LFTR 12", "ibroute -n 13"]
    assert not {"dump_fts", "saquery LFTR"} & set(source.asked), "what is heavy is not asked of a live host"
    source = Recorded(OF_SWITCHES[0], silence, heard("saquery LFTR 12", "", "x", 110))
    (route,), problems = ways(source, net, ("h1/1", 2))
    assert (route.result, route.at, problems) == (NO_TABLE, end("s2/1"), ["tool-failed"])


def test_a_table_that_is_cut_counts_as_far_as_it_goes() -> None:
    net = line()
    cut = heard(
        "ibroute -n 12", table("s2", 12, {1: 1}, last=13, cut=True), "SubnGet() failed; MAD status 0x6e AM 0x1\n", 255
    )
    source = Recorded(OF_SWITCHES[0], cut, OF_SWITCHES[2])
    found, problems = ways(source, net, ("h2/1", 1), ("h1/1", 2))
    assert [one.result for one in found] == [ARRIVED, NO_TABLE]
    assert problems == ["tool-failed"]


def test_another_switch_answers() -> None:
    source = Recorded(heard("ibroute -n 11", table("s3", 11, ROWS["s3"])))
    (route,), problems = ways(source, line(), ("h1/1", 2))
    assert (route.result, problems) == (NO_TABLE, ["wrong-switch"])


@pytest.mark.parametrize(
    ("command", "text"),
    [("dump_fts", DUMP), ("dump_lfts", DUMP), ("opensm-lfts.dump", LFTS), ("opensm.fdbs", FDBS),
     ("saquery LFTR", RECORDS)],
)  # fmt: skip
def test_a_capture_with_the_tables_of_all_switches(command: str, text: str) -> None:
    source = Answers({"ibnetdiscover": said(TREE), command: said(text)})
    made = collect_routes(source)
    assert (set(made.tables), made.complete, made.problems) == ({LEAF, SPINE_1, SPINE_2}, True, ())
    for lid, port in LEAF_EXITS.items():
        found = made.table_for(LEAF, lid)
        assert found and (found.exit_of(lid), found.source) == (port, command)
    fabric = collect_fabric(source)
    owners = owners_of(fabric)
    first, last = owners.of(1)[0], owners.of(15)[0]
    (there, to_spine), problems = collect_ways(source, fabric, owners, [(last, 1), (last, 4)])
    assert [(hop.exit.port, hop.entry) for hop in there.hops] == [(1, End(LEAF, 12)), (1, first)]
    assert [(hop.exit.port, hop.entry) for hop in to_spine.hops] == [(1, End(LEAF, 12)), (28, End(SPINE_2, 1))]
    assert problems == ()


@pytest.mark.parametrize(
    ("then", "result"),
    [({1: 1, 2: 2, 11: 0}, ARRIVED), ({1: 1, 2: 7, 11: 0}, NO_TABLE), ({1: 1, 11: 0, 13: 2}, NO_TABLE)],
)
def test_two_tables_of_one_switch_in_a_dump(then: dict[int, int], result: str) -> None:
    """Dumps of two times in one file: of a LID on which they differ nothing is known, and that is told."""
    others = "".join(table(name, lid, ROWS[name]) for name, lid in (("s2", 12), ("s3", 13)))
    text = table("s1", 11, {1: 1, 2: 2, 11: 0}) + table("s1", 11, then) + others
    net = line()
    (route,), problems = collect_ways(Answers({"dump_fts": said(text)}), net, owners_of(net), [(end("h1/1"), 2)])
    assert route.result == result
    contradictions = [(one.line, "(lines 1 and 8)" in one.text) for one in problems if one.kind == "contradiction"]
    assert contradictions == ([] if result == ARRIVED else [(8, True)])


def test_lines_of_tables_in_a_dump() -> None:
    made = collect_routes(Answers({"ibnetdiscover": said(TREE), "dump_fts": said(DUMP)}))
    lines = DUMP.splitlines()
    for switch, (one,) in made.tables.items():
        assert one.line is not None
        assert f"{int(switch):016x}" in lines[one.line - 1]


def test_a_pasted_dump_covers_what_its_header_says(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(TREE + DUMP)
    made = collect_routes(open_site(str(tmp_path / "x")).subnet)
    assert made.complete is None, "the sweep's messages are not at hand"
    (one,) = made.tables[LEAF]
    assert (one.exit_of(0), one.exit_of(15), one.exit_of(16)) == (NO_EXIT, 12, None), (
        "somebody may have asked for a range"
    )


def test_tables_of_multicast_are_none(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(TREE + DUMP + (TOOLS / "ibroute/multicast.txt").read_text())
    made = collect_routes(open_site(str(tmp_path / "x")).subnet)
    assert [len(made.tables[one]) for one in (LEAF, SPINE_1, SPINE_2)] == [1, 1, 1]


def test_missing_tables_are_told() -> None:
    head = DUMP.index("Unicast lids", 10)
    made = collect_routes(Answers({"ibnetdiscover": said(TREE), "dump_fts": said(DUMP[:head])}))
    assert (len([one for one in made.tables.values() if one]), made.complete) == (1, False)
    assert [problem.kind for problem in made.problems] == ["no-table"]
    assert "of 2 of 3 switches" in made.problems[0].text


class Counting:
    """Answers each ibroute after a time and with a size that a test sets."""

    def __init__(self, seconds: float, size: int, status: int = 0) -> None:
        self.asked: list[str] = []
        self._answer = CommandAnswer((), b"x" * size, b"", status, seconds)

    def run(self, argv: tuple[str, ...], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        self.asked.append(" ".join(argv))
        return self._answer._replace(argv=argv)


def many(count: int) -> Fabric:
    return drawn([], {f"s{i}": i for i in range(1, count + 1)})


@pytest.mark.parametrize(("seconds", "size", "asked"), [(0.05, 140_000, 100), (100.0, 1, 10), (0.0, 100 << 20, 5)])
def test_a_capture_is_bounded_in_time_and_size(seconds: float, size: int, asked: int) -> None:
    source = Counting(seconds, size)
    problems = record_tables(source, many(100))  # type: ignore[arg-type]
    assert len(source.asked) == asked
    assert [problem.kind for problem in problems] == (["not-asked"] if asked < 100 else [])
    if asked < 100:
        assert f"{100 - asked} of 100 switches were not asked" in problems[0].text


def test_a_capture_does_not_wait_for_switches_of_which_none_answers() -> None:
    source = Counting(5.0, 0, status=255)
    problems = record_tables(source, many(100))  # type: ignore[arg-type]
    assert source.asked == [
        "ibroute -n 1", "saquery LFTR 1", "ibroute -n 2", "saquery LFTR 2", "ibroute -n 3", "saquery LFTR",
    ]  # fmt: skip
    assert len(problems) == 1


def test_a_capture_holds_what_the_sa_tells_where_a_switch_does_not() -> None:
    """Of a switch that did not answer, and of a table whose last LID is not read."""
    silence = heard("ibroute -n 2", "", "x", 255)
    net = many(3)
    source = Recorded(
        heard("ibroute -n 1", table("s1", 1, {1: 0}, last=64)), silence,
        heard("ibroute -n 3", table("s3", 3, {1: 0}, last=65)),
    )  # fmt: skip
    assert len(record_tables(source, net)) == 1
    assert source.asked == ["ibroute -n 1", "saquery LFTR 1", "ibroute -n 2", "saquery LFTR 2", "ibroute -n 3"]


def test_a_capture_of_switches_of_which_none_answered() -> None:
    net = line()
    silent = [heard(f"ibroute -n {lid}", "", "x", 255) for lid in (11, 12, 13)]
    bulk = "".join(record(lid, 0, ROWS[name]) for name, lid in (("s1", 11), ("s2", 12), ("s3", 13)))
    found, problems = ways(Recorded(*silent, heard("saquery LFTR", bulk)), net, ("h1/1", 2), ("h2/1", 1))
    assert ([one.result for one in found], problems) == ([ARRIVED, ARRIVED], [])
    assert {one.source for one in found[0].tables} == {"saquery LFTR"}


def test_a_command_that_was_stopped_is_no_table() -> None:
    source = Recorded(CommandAnswer(("ibroute", "-n", "11"), b"", b"", None, 20.0, TIMEOUT))
    (route,), problems = ways(source, line(), ("h1/1", 2))
    assert (route.result, problems) == (NO_TABLE, ["timeout"])
