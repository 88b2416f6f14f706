"""From a site to the evidence: what is not there and why, two samples, and what chosen rules need."""

from __future__ import annotations

from pathlib import Path

from support.made_fabric import counters, port_counters
from support.recorded import Recorded, said

from ibkit.model.ids import Guid
from ibkit.rules.collecting import collect, compare_with, sample_again
from ibkit.rules.evidence import CHANGE, COUNTERS, EARLIER, FABRIC, HOSTS, Collected, Lack
from ibkit.sources.opening import open_site
from ibkit.sources.site import Host, Origin, Site

FAT_TREE = str(Path(__file__).parents[2] / "fixtures/fat-tree")
SWEEP = "ibqueryerrors --counters --report-port"
ERRORS = "ibqueryerrors --details --report-port --threshold-file /dev/null"
END = """
## Summary: 1 nodes checked, 0 bad nodes found
##          1 ports checked, 0 ports have errors beyond threshold
## Thresholds:\x20
## Suppressed:
"""


def sweep(kind: str, errors: int) -> str:
    """What ibqueryerrors prints of one switch with one port."""
    counters = f"[SymbolErrorCounter == {errors}]"
    if kind == "Data Counters":
        counters = " ".join(f"[{name} == 1 (1.000)]" for name in ("PortXmitData", "PortRcvData", "PortXmitPkts"))
    return f'{kind} for 0xb000000000000001 "sw"\n   GUID 0xb000000000000001 port 1: {counters}\n{END}'


def live(*answers: object) -> Site:
    source = Recorded(*answers)  # type: ignore[arg-type]
    return Site(Origin("live", "n1"), (Host("n1", source),), source)


def test_only_what_is_wanted_is_asked_for() -> None:
    site = open_site(FAT_TREE)
    assert {part.what for part in collect(site, wanted={HOSTS}).looked_at} == {"hosts"}
    assert {part.what for part in collect(site, wanted={FABRIC}).looked_at} == {"hosts", "fabric"}
    assert {part.what for part in collect(site, wanted={COUNTERS}).looked_at} == {"hosts", "fabric", "counters"}


def test_a_second_sample_after_the_first() -> None:
    """The clock: reading takes two seconds each time, and the interval counts from the begin of the first one."""
    site = live(said(SWEEP, sweep("Data Counters", 0)), said(ERRORS, sweep("Errors", 7)))
    times = iter((100.0, 102.0, 103.0, 160.0, 162.0))
    slept: list[float] = []
    first = collect(site, wanted={COUNTERS}, clock=lambda: next(times))
    assert (first.counted_at, first.change) == ((100.0, 102.0), None)
    both = sample_again(site, first, 60.0, clock=lambda: next(times), sleep=slept.append)
    assert slept == [57.0]
    assert both.change is not None
    assert both.change.seconds == 60.0
    (port,) = both.change.ports
    assert port.counters["SymbolErrorCounter"] == 0
    assert [part.what for part in both.looked_at if part.what in (COUNTERS, CHANGE)] == [COUNTERS, CHANGE]
    assert CHANGE not in both.lacks


def test_two_captures_of_which_one_has_no_counters() -> None:
    with_counters = Collected(counters=counters(port_counters("s1[1]")))
    without = Collected(lacks={COUNTERS: Lack("there is no record of them", "record it")})
    for before, after in ((without, with_counters), (with_counters, without)):
        both = compare_with(before, after, 60.0, "since then")
        assert both.change is None
        assert both.lacks[CHANGE].missing == "there is no record of them"
        assert both.looked_at[-1] == (CHANGE, "there is no record of them", False), "it was asked for"
        assert EARLIER in both.lacks


def test_counters_of_a_host_where_the_fabric_has_none() -> None:
    collected = collect(open_site(str(Path(FAT_TREE).parent / "multirail-host")))
    assert collected.counters is not None
    names = {port.node_name for port in collected.counters.ports}
    assert names == {"gpu01 mlx5_0", "gpu01 mlx5_1", "gpu01 mlx5_2", "gpu01 mlx5_3"}, "and none of Ethernet"
    (first,) = (port for port in collected.counters.ports if port.node_name == "gpu01 mlx5_0")
    assert (first.counters["LinkDownedCounter"], first.counters["PortXmitData"]) == (1, 35184372088832)
    assert first.counters["VL15Dropped"] is None, "it has a file and no value"
    assert first.guid == Guid(0xB8CEF60300AA0000)
