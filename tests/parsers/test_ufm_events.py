"""UFM's event log. Truth: read off the lines by hand; labels and numbers as UFM pairs them (17/1 is 33)."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ufm_events import Burst, EventPort, parse

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/ufm-events"
LINKS = (FIXTURES / "links.txt").read_text()
SYSLOG = (FIXTURES / "syslog.txt").read_text()

LEAF = EventPort("Switch", "T3-E21-N-U47", "17/1", 33, 0x9C05910300001000)
SPINE = EventPort("Switch", "T4-E45-L-U51", "4/2", 8, 0xFC6A1C0300002000)


def test_links_and_ports() -> None:
    parsed = parse(LINKS)
    assert [event.code for event in parsed.value.events] == [329, 329, 328, 702, 917, 110, 908]
    down, host, up, unhealthy, errors, rate, switch = parsed.value.events
    assert (down.line, down.time, down.number, down.severity) == (1, "2024-06-21 07:46:24.442", 80211, "WARNING")
    assert (down.category, down.type) == ("Fabric_Topology", "Link")
    assert down.text.startswith("Link went down: (Switch:T3-")
    assert down.ports == up.ports == (LEAF, SPINE)
    # A vendor's default name has no colon and no label
    assert host.ports == (
        EventPort("Switch", "T3-E21-N-U47", "3/1", 5, 0x9C05910300001000),
        EventPort("Computer", "MT4129 ConnectX7   Mellanox Technologies", None, 1, 0x0C42A10300003000),
    )
    # 1/20/1 in one event and 20/1 in the next are one port
    assert (
        unhealthy.ports[0] == errors.ports[0] == EventPort("Switch", "T2-E63-L-U36", "20/1", None, 0xFC6A1C0300004000)
    )
    assert unhealthy.ports[1:] == (EventPort(None, "T2-E63-L-U37", "19/2"),)
    assert rate.ports == (
        EventPort("Switch", "leaf01", None, 16, 0x248A070300005000),
        EventPort("Computer", "c931f03p08 HCA-1", None, 1),
    )
    assert (switch.subject, switch.ports, switch.time) == ("default / Switch: leaf01", (), "2024-06-21 07:51:14")
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 8)]
    assert parsed.complete is False
    assert parsed.value.bursts == ()


def test_lines_of_syslog() -> None:
    parsed = parse(SYSLOG)
    downed, link, grid = parsed.value.events
    assert [event.time for event in parsed.value.events] == [
        "2016-10-17 15:56:33.245", "2016-10-17 15:56:34.001", "2016-10-17 16:23:09.423",
    ]  # fmt: skip
    assert downed.ports[1] == EventPort("Computer", "f03p08 HCA-1", None, 1)
    assert link.ports == (
        EventPort("Switch", "mellanox-SX6036", None, 12, 0xF452140300001700),
        EventPort("Computer", "fsgb001 HCA-1", None, 1, 0xE41D2D0300002400),
    )
    assert (grid.subject, grid.ports) == ("Grid", ())
    assert [problem.kind for problem in parsed.problems] == ["noise"]
    assert parsed.complete is None


def storm(events: int, first_milliseconds: int = 0) -> str:
    return "".join(
        f"2024-06-21 08:00:{at // 1000:02}.{at % 1000:03} [{number}] [{329 if number % 3 else 64}] WARNING [Hardware] "
        "IBPort [default / Switch: leaf1 / 1/1/1] [dev_id: fc6a1c0300004000]: Link went down.\n"
        for number in range(events)
        for at in (first_milliseconds + 10 * number,)
    )


def test_a_reboot_is_one_burst_and_no_event_is_lost() -> None:
    parsed = parse(LINKS + storm(300) + storm(49, 20_000))
    assert len(parsed.value.events) == 7 + 300 + 49
    assert parsed.value.bursts == (
        Burst(9, 308, "2024-06-21 08:00:00.000", "2024-06-21 08:00:02.990", {329: 200, 64: 100}),
    )


@pytest.mark.parametrize("stamp", ["2024-99-99 99:99:99.000", "0000-00-00 00:00:00"])
def test_a_time_that_is_none(stamp: str) -> None:
    text = storm(3).replace("2024-06-21 08:00:00.010", stamp)
    assert [event.time for event in parse(text).value.events][1] == stamp


@pytest.mark.parametrize(
    "text", ["", "2024-06-21 07:46:24.442 [1] [329] no event\n", "[1] [329] WARNING [x] Link [a]: b\n"]
)
def test_other_texts(text: str) -> None:
    with pytest.raises(NotThisFormat, match=r"^f: not UFM's event log"):
        parse(text, source="f")


PIECES = [
    "2024-06-21 07:46:24.442 [1] [329] WARNING [Hardware] IBPort [", "default / Switch: leaf1 / 1/1/1", "]: ", "]",
    " [dev_id: fc6a1c0300004000", "(Switch:", "leaf:1/17/1)9c05910300001000:33", " / ", ":", "Peer info: Computer: ",
    "Peer Port ", "\n", "9c05910300001000 (Switch: a) : 12", "1/1", " ", "\0", "ä", "٣",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=200))
def test_it_never_raises_anything_else(text: str) -> None:
    with suppress(NotThisFormat):
        for event in parse(text).value.events:
            assert all(port.guid is None or port.guid < 1 << 64 for port in event.ports)


def test_cut_anywhere_it_gives_the_events_before() -> None:
    whole = parse(LINKS).value.events
    for end in range(300, len(LINKS), 97):
        events = parse(LINKS[:end]).value.events
        assert events[:-1] == whole[: len(events) - 1]


def test_linear_time() -> None:
    head = "2024-06-21 07:46:24.442 [1] [329] WARNING [Hardware] IBPort ["
    start = time.process_time()
    for tail in (
        "(Switch:" * 7_000,
        "]: " + "(A" * 30_000,
        " / " * 20_000,
        "]: " + "Peer info: Aa: " * 4_000,
        "[" * 60_000,
    ):
        with suppress(NotThisFormat):
            parse(f"{head}{tail}\n" * 50 + f"{tail}\n" * 50)
    assert time.process_time() - start < 10
