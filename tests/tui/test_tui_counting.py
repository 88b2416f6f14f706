"""The past of ports, what they counted, and what is known of each beside the topology. Without a screen."""

from __future__ import annotations

import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_fabric import end, fabric
from support.tui_captures import FAT_TREE, MULTIRAIL, TWO_SUBNETS, showing, snapshot_of
from support.tui_pilot import SIZES

from ibkit.errors import IbkitError
from ibkit.model.congestion import with_congestion
from ibkit.model.counters import Congestion, FabricCounters, PortChange, PortCounters, change_between
from ibkit.model.fabric import End
from ibkit.model.ids import Guid
from ibkit.rules.evidence import COUNTERS, Collected, Lack
from ibkit.tui.counting import Counted, Counting
from ibkit.tui.diagnosing import NOTHING, Diagnosed
from ibkit.tui.snapshot import CHECK, FABRIC, PORTS, Reading
from ibkit.tui.view import counters
from ibkit.tui.view.history import GAP, SAMPLES, History, error_sum, spark
from ibkit.tui.view.level import OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import plain
from ibkit.tui.view.port_facts import PortFacts
from ibkit.tui.view.subnet import SubnetView

ONE, TWO = End(Guid(0x10), 1), End(Guid(0x20), 1)
#: 30 s at 100 Gb/s are 375e9 octets; the counter counts units of 4 (IBTA volume 1, 16.1.3.5).
AT_100 = 375_000_000_000 // 4
LEAF = 0xB8599F0300000000


def port(where: End, **values: int | None) -> PortCounters:
    return PortCounters(where.guid, None, None, where.port, None, dict(values))


def change(where: End, sent: int | None = 0, share: float | None = None, **errors: int) -> PortChange:
    values: dict[str, int | None] = {"PortXmitData": sent, "SymbolErrorCounter": 0, **errors}
    return PortChange(port(where), values, congestion=Congestion(share))


def test_the_past_of_a_port_oldest_first() -> None:
    history = History()
    for sent, share, errors in ((0, 0.0, 0), (AT_100, 0.25, 3), (None, None, 0)):
        history = history.with_sample([(ONE, change(ONE, sent, share, SymbolErrorCounter=errors))], 30.0)
    assert history.sent(ONE) == [0.0, 100.0, None]
    assert history.waited(ONE) == [0.0, 25.0, None]
    assert history.errors(ONE) == [0.0, 3.0, 0.0]
    assert history.most_gbps() == 100.0
    assert history.sent(TWO) == history.errors(TWO) == history.waited(TWO) == [None] * 3, "of it nothing is known"


def test_a_port_that_comes_or_goes_has_gaps_and_no_zeros() -> None:
    history = History().with_sample([(ONE, change(ONE, AT_100))], 30.0)
    history = history.with_sample([(TWO, change(TWO, AT_100, None, PortRcvErrors=2))], 30.0)
    assert history.sent(ONE) == [100.0, None]
    assert history.errors(ONE) == [0.0, None]
    assert history.sent(TWO) == [None, 100.0]
    assert history.errors(TWO) == [None, 2.0]


def test_unknown_error_counters_are_no_zeros() -> None:
    silent = PortChange(port(ONE), {"PortXmitData": 0, "SymbolErrorCounter": None})
    assert error_sum(silent) is None
    assert error_sum(silent._replace(zero_if_counted=("SymbolErrorCounter",))) == 0
    assert History().with_sample([(ONE, silent)], 30.0).errors(ONE) == [None]


def test_a_sample_more_leaves_the_history_before_as_it_was() -> None:
    first = History().with_sample([(ONE, change(ONE))], 30.0)
    first.with_sample([(TWO, change(TWO))], 30.0)
    assert len(first) == 1
    assert first.sent(ONE) == [0.0]


def test_sixty_samples_of_a_large_fabric_stay_small() -> None:
    """60 samples of 73,520 ports: less than 32 MB of arrays."""
    ends = [End(Guid(0x1000 + number // 40), number % 40) for number in range(73_520)]
    changes = [(one, change(one, number)) for number, one in enumerate(ends)]
    history = History().with_sample(changes, 30.0)
    for _ in range(70):
        history = history.with_sample(changes[:10], 30.0)
    assert len(history) == SAMPLES
    arrays = [*history._gbps, *history._shares]
    assert all(isinstance(one, array) and len(one) == 73_520 for one in arrays)
    assert sum(map(sys.getsizeof, arrays)) < 32_000_000


@pytest.mark.parametrize(
    ("values", "most", "line"),
    [
        ([0.0, 50.0, 100.0], None, "▁▅█"),
        ([0.0, 0.0], None, "▁▁"),
        ([None, 1.0], None, f"{GAP}█"),
        ([1.0], 100.0, "▁"),
        ([200.0], 100.0, "█"),
        ([], None, ""),
    ],
)
def test_spark(values: list[float | None], most: float | None, line: str) -> None:
    assert spark(values, most) == line


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12, allow_nan=False)), max_size=60))
def test_a_spark_is_as_long_as_its_values(values: list[float | None]) -> None:
    assert len(spark(values)) == len(values)


# -- counting


def taken(errors: int, units: int) -> FabricCounters:
    return FabricCounters(
        (
            port(end("s1[1]"), SymbolErrorCounter=errors, PortXmitData=units, PortRcvData=0, PortXmitWait=units),
            port(end("h1[1]"), SymbolErrorCounter=0, PortXmitData=0, PortRcvData=units, PortXmitWait=0),
        ),
        True,
    )


def counted(*samples: FabricCounters) -> Counted:
    """What the pages get after these samples, 30 s apart."""
    cables = fabric("h1[1]-s1[1] 4x HDR")
    counting, before, result = Counting(), None, None
    for sample in samples:
        moved = with_congestion(change_between(before, sample, 30.0), cables) if before is not None else None
        before = sample
        value = Diagnosed(Collected(fabric=cables, counters=sample, change=moved), NOTHING)
        readings = {CHECK: Reading(value), FABRIC: Reading(SubnetView(cables))}
        result = counting(readings)
        assert counting(readings).history is result.history, "the same sample again is no other"
    assert result is not None
    return result


def test_totals_and_growth_of_a_port() -> None:
    result = counted(taken(5, 0), taken(7, AT_100))
    lines = "\n".join(map(plain, counters.port_lines(result.facts, result.history, end("s1[1]"))))
    assert "SymbolErrorCounter 7 (+2)" in lines
    assert f"PortXmitData {AT_100} (+{AT_100})" in lines
    assert "not known: nobody tells in what unit this chip counts" in lines


def test_lines_of_the_past_state_their_scale() -> None:
    result = counted(taken(5, 0), taken(5, 0), taken(7, AT_100))
    lines = "\n".join(map(plain, counters.port_lines(result.facts, result.history, end("s1[1]"))))
    assert "▁█  0 to 100.0 Gb/s; 2 samples, 30 s apart" in lines
    assert "▁█  0 to 2 a sample" in lines
    table = result.table
    assert table is not None
    titles = [column.title for column in table.columns]
    assert table.rows[0].values[titles.index("Sent, last samples")] == "▁█"
    assert table.rows[1].values[titles.index("Sent, last samples")] == "▁▁", "all on one scale"
    assert "lines of the past: 0 to 100.0 Gb/s" in plain(counters.head(result.facts.sample, result.history)[0])


def test_rows_are_keyed_by_the_fabrics_ports() -> None:
    result = counted(taken(0, 0), taken(1, 0))
    assert result.table is not None
    assert [(row.key, row.level) for row in result.table.rows] == [(end("s1[1]"), WARNING), (end("h1[1]"), OK)]
    assert result.table.rows[0].values[-1] == "host1 mlx5_0 port 1"
    assert result.facts.erroring == {end("s1[1]")}
    assert result.facts.told_of_errors(result.facts.erroring or ()) == "1 port whose error counters moved within 30 s"


def test_old_errors_are_no_erroring_ports_once_there_are_two_samples() -> None:
    assert counted(taken(7, 0), taken(7, 0)).facts.erroring == set()
    assert counted(taken(7, 0)).facts.erroring == {end("s1[1]")}


def test_a_port_without_error_counters_is_unknown_and_not_well() -> None:
    bare = FabricCounters((port(end("s1[1]"), PortXmitData=4, SymbolErrorCounter=None),), True)
    table = counted(bare).table
    assert table is not None
    assert (table.rows[0].level, table.rows[0].values[2]) == (UNKNOWN, None)


def test_a_port_of_which_only_a_lid_is_known_has_a_row() -> None:
    alone = FabricCounters((PortCounters(None, None, 77, 1, None, {"SymbolErrorCounter": 1}),), None)
    result = counted(alone)
    assert result.table is not None
    assert result.table.rows[0].key == counters.Unplaced(77, 1)
    assert result.table.rows[0].values[:3] == ("LID 77", 1, 1)
    assert result.facts.counters == {}


def test_whether_there_are_more_errors_is_told() -> None:
    part = FabricCounters((port(end("s1[1]"), SymbolErrorCounter=1),), False)
    told = counted(part).facts.told_of_errors([end("s1[1]")])
    assert told == (
        "1 port with errors since the counters were last cleared; whether there are more cannot be told: something is "
        "known to be missing"
    )


def test_without_counters() -> None:
    lack = Lack("there is no record of the counters", "`ibkit capture`")
    facts = PortFacts(Diagnosed(Collected(lacks={COUNTERS: lack}), NOTHING))
    assert facts.erroring is None
    assert facts.counters is None
    assert counters.table(facts, History(), None) is None
    assert counters.counter_facts(facts, ONE) == [
        ("counted", "not known: there is no record of the counters; `ibkit capture`")
    ]


def test_a_collection_that_broke_off_is_the_reason() -> None:
    with pytest.raises(IbkitError, match="no sweep"):
        Counting()({CHECK: Reading(failure="no sweep")})


def test_the_index_of_the_shipped_capture() -> None:
    """fixtures/fat-tree/README.md: 4711 symbol errors and 3 link downs; all ports in one partition."""
    facts = snapshot_of(FAT_TREE).readings[PORTS].value.facts
    narrow = End(Guid(LEAF), 4)
    assert facts.erroring == {narrow, End(Guid(LEAF + 0x200), 22)}
    assert facts.counters[narrow].errors == {"SymbolErrorCounter": 4711, "LinkDownedCounter": 3}
    assert {one.finding.rule for one in facts.findings[Guid(LEAF)] if one.port == 4} >= {"R06", "R20"}
    assert sum(1 for keys in facts.keys.values() if keys.is_end) == 123


def test_the_keys_of_two_partitions() -> None:
    facts = snapshot_of(TWO_SUBNETS).readings[PORTS].value.facts
    host = facts.keys[End(Guid(0x00A1000000000010), 1)]
    assert [host.membership(number) for number in (0x7FFF, 1)] == ["full", "full"]


def test_a_host_without_a_fabric_has_its_own_counters() -> None:
    facts = snapshot_of(MULTIRAIL).readings[PORTS].value.facts
    assert facts.counters is not None
    assert len(facts.counters) == 4


# -- the page


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_keys_of_the_counters_page(size: tuple[int, int]) -> None:
    async with showing(FAT_TREE, "counters", size) as tui:
        await tui.press("b")
        assert "by Sent GB down" in tui.title
        sent = [tui.app.screen.table.table.rows[i].values[7] for i in tui.app.screen.table.shown]
        assert sent == sorted(sent, reverse=True)
        await tui.press("b")
        assert "by Sent GB   " in f"{tui.title}   "
        await tui.press("C")
        await tui.until("waits need a second sample")
        assert len(tui.lines) == size[1]


async def test_top_talkers_and_congested_ports_of_two_samples() -> None:
    result = counted(taken(0, 0), taken(0, AT_100))
    async with showing(FAT_TREE, "counters") as tui:
        tui.app._take({PORTS: Reading(result)})
        await tui.press("b")
        assert "by Sent Gb/s down" in tui.title
        assert tui.app.screen.table.key == end("s1[1]")
        await tui.press("C")
        assert "by Waits % down" in tui.title
        assert "100.00" in tui.screen


async def test_without_counters_the_keys_say_so() -> None:
    async with showing("roce-host", "counters") as tui:
        assert "no port's counters were read: the port is Ethernet (RoCE)" in tui.words
        await tui.press("b")
        await tui.until("no counters were read")
