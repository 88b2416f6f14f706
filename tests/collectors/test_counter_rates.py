"""Counters read again and again: changes, saturation, a clear in between, ports that come and go."""

from __future__ import annotations

from collections.abc import Mapping

from support.recorded import Recorded, said

from ibkit.collectors.counter_rates import watch_counters
from ibkit.model.counters import FabricCounters, PortChange, PortCounters, change_between, saturated
from ibkit.model.ids import Guid
from ibkit.sources.base import CommandAnswer

LEAF = Guid(0xB0001000)


def port(counters: Mapping[str, int | None], number: int = 1, guid: Guid | None = LEAF, lid: int = 2) -> PortCounters:
    return PortCounters(guid, None, lid, number, "leaf1", dict(counters), saturated(dict(counters)))


def fabric(*ports: PortCounters, complete: bool | None = True) -> FabricCounters:
    return FabricCounters(ports, complete)


def change(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> PortChange:
    (found,) = change_between(fabric(port(before)), fabric(port(after)), 2.0).ports
    return found


def test_what_was_counted() -> None:
    found = change({"SymbolErrorCounter": 35, "PortXmitPkts": 7}, {"SymbolErrorCounter": 40, "PortXmitPkts": 7})
    assert (found.counters, found.at_least, found.cleared) == ({"SymbolErrorCounter": 5, "PortXmitPkts": 0}, (), ())
    assert found.errors == {"SymbolErrorCounter": 5}


def test_reaching_the_maximum_is_that_much_or_more() -> None:
    found = change({"LinkDownedCounter": 250}, {"LinkDownedCounter": 255})
    assert (found.counters, found.at_least) == ({"LinkDownedCounter": 5}, ("LinkDownedCounter",))


def test_standing_at_the_maximum_says_nothing() -> None:
    found = change({"PortXmitData": 4294967295}, {"PortXmitData": 4294967295})
    assert (found.counters, found.at_least, found.errors) == ({"PortXmitData": None}, (), {})

    assert (found.full, found.port.saturated) == (("PortXmitData",), ("PortXmitData",))


def test_a_maximum_that_only_one_sample_shows_is_not_all_the_time() -> None:
    found = change({"VL15Dropped": None}, {"VL15Dropped": 65535})
    assert (found.counters, found.full) == ({"VL15Dropped": None}, ())
    assert change({"VL15Dropped": 1}, {"VL15Dropped": 65535}).full == ()


def test_a_lower_value_was_cleared_and_is_no_recovery() -> None:
    for before in (35, 65535):
        found = change({"SymbolErrorCounter": before}, {"SymbolErrorCounter": 2})
        assert found.counters == {"SymbolErrorCounter": 2}
        assert found.cleared == found.at_least == ("SymbolErrorCounter",)


def test_what_one_sample_does_not_know() -> None:
    found = change({"QP1Dropped": None, "VL15Dropped": 3}, {"QP1Dropped": None, "VL15Dropped": 3, "PortXmitWait": 9})
    assert found.counters == {"QP1Dropped": None, "VL15Dropped": 0, "PortXmitWait": None}


def test_ports_that_come_and_go() -> None:
    one, two, three = (port({"VL15Dropped": 1}, number) for number in (1, 2, 3))
    found = change_between(fabric(one, two), fabric(two, three), 1.0)
    assert [change.port.port for change in found.ports] == [2]
    assert found.complete is False
    assert [problem.kind for problem in found.problems] == ["one-sample"]
    assert found.problems[0].text.startswith("2 ports")


def test_ports_without_guid_are_told_apart_by_lid() -> None:
    before = fabric(port({"VL15Dropped": 1}, 1, None, 4), port({"VL15Dropped": 5}, 1, None, 5), complete=None)
    after = fabric(port({"VL15Dropped": 2}, 1, None, 4), port({"VL15Dropped": 9}, 1, None, 5), complete=None)
    found = change_between(before, after, 1.0)
    assert [change.counters["VL15Dropped"] for change in found.ports] == [1, 4]
    assert found.complete is None


class Moving(Recorded):
    """Answers perfquery with a counter that grows by 10 a time."""

    def __init__(self) -> None:
        super().__init__()
        self.value = 0

    def run(self, argv: object, *, deadline_seconds: float = 60.0) -> CommandAnswer:
        command = " ".join(argv)  # type: ignore[arg-type]
        if command == "perfquery":
            self.value += 10
            text = "# PortRcvErrorDetails counters: Lid 3 port 1\nPortSelect:......1\nPortLoopingErrors:......"
            return said(command, f"{text}{self.value}\n")
        return super().run(command.split(), deadline_seconds=deadline_seconds)


def test_intervals_follow_each_other() -> None:
    now = [100.0]
    naps = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        now[0] += seconds

    changes = list(watch_counters(Moving(), 5.0, 3, clock=lambda: now[0], sleep=sleep))
    assert [change.ports[0].counters for change in changes] == [{"PortLoopingErrors": 10}] * 3
    assert [change.seconds for change in changes] == [5.0] * 3
    assert naps == [5.0] * 3


def test_a_sweep_that_takes_longer_than_the_interval() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 4.0
        return now[0]

    (only,) = watch_counters(Moving(), 5.0, 1, clock=clock, sleep=lambda seconds: None)
    assert only.seconds > 5.0


def quiet(*, wait: int | None = None, silent: bool = True) -> PortCounters:
    """A port of a whole listing of errors, which prints PortXmitWait only above zero."""
    counters = {"SymbolErrorCounter": 0} if wait is None else {"SymbolErrorCounter": 0, "PortXmitWait": wait}
    return port(counters)._replace(zero_if_counted=("PortXmitWait",) if silent and wait is None else ())


def test_a_counter_that_is_printed_above_zero_only() -> None:
    (found,) = change_between(fabric(quiet()), fabric(quiet(wait=7)), 1.0).ports
    assert found.counters["PortXmitWait"] == 7, "it is counted, so the silence before was zero"
    (found,) = change_between(fabric(quiet(wait=7)), fabric(quiet()), 1.0).ports
    assert (found.counters["PortXmitWait"], found.cleared) == (0, ("PortXmitWait",))
    (found,) = change_between(fabric(quiet()), fabric(quiet()), 1.0).ports
    assert ("PortXmitWait" in found.counters, found.zero_if_counted) == (False, ("PortXmitWait",))
    (found,) = change_between(fabric(quiet(silent=False)), fabric(quiet(wait=7)), 1.0).ports
    assert found.counters["PortXmitWait"] is None, "nobody asked for it"
