"""OpenSM's log. Truth: the recorded logs were read by hand, and what was done to the fabric is known; the README of the
fixtures tells both.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import opensm_log
from ibkit.parsers import opensm_messages as osm
from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.log_times import without_year
from ibkit.parsers.opensm_log import SmLog, parse
from ibkit.parsers.opensm_messages import Event, NodePort

FOLDER = Path(__file__).parents[2] / "fixtures/tools/opensm"
HEAD = "Dec 02 02:09:29 215903 [DE6EF740] 0x01 -> "


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text()


def log_of(name: str) -> SmLog:
    return parse(text_of(name)).value


def one(text: str) -> Event:
    (event,) = parse(f"{HEAD}{text}\n").value.events
    return event


def kinds(log: SmLog) -> list[str]:
    return [event.kind for event in log.events]


def test_a_link_goes_down_and_comes_back() -> None:
    parsed = parse(text_of("log-link"))
    assert (parsed.complete, parsed.problems) == (None, ())
    log = parsed.value
    assert kinds(log) == [
        "start", "state", "state", "routed", "subnet-up",
        "trap", "notice", "notice", "lost-port", "routed", "subnet-up",
        "trap", "notice", "routed", "notice", "new-port", "subnet-up", "stop",
    ]  # fmt: skip
    assert [event.state for event in log.events if event.kind == osm.STATE] == ["DISCOVERING", "MASTER"]
    assert log.events[0].version == "3.3.23"
    trap, reported, out_of_service, lost = log.events[5:9]
    assert (trap.trap, trap.lid, trap.time, trap.line) == (128, 2, "--12-02T02:09:29.254663", 13)
    assert (reported.trap, reported.lid, reported.guid) == (128, 2, 0x200000)
    assert (out_of_service.trap, out_of_service.gid, out_of_service.guid) == (65, "fe80::10:5", None)
    assert (lost.guid, lost.lid, lost.last_lid, lost.node_name) == (0x100005, 4, 4, "Hca2")
    assert log.events[15]._replace(text="", line=0, time=None) == lost._replace(
        kind="new-port", text="", line=0, time=None, function="state_mgr_report_new_ports"
    )
    assert (log.messages, log.first_time, log.last_time) == (
        27, "--12-02T02:09:29.215903", "--12-02T02:09:29.328433",
    )  # fmt: skip


def test_one_manager_hands_over_to_another_and_takes_over_again() -> None:
    first, second = log_of("log-handover-first"), log_of("log-handover-second")
    states = [event.state for event in first.events if event.kind == osm.STATE]
    assert states == ["DISCOVERING", "MASTER", "STANDBY", "DISCOVERING", "MASTER"]
    assert [event.state for event in second.events if event.kind == osm.STATE] == ["DISCOVERING", "MASTER"]
    assert kinds(second)[-1] == "stop"
    (asked,) = [event for event in first.events if event.kind == osm.NO_ANSWER]
    assert (asked.method, asked.attribute, asked.attribute_name, asked.status) == (
        "SubnGet", 0x20, "SMInfo", "IB_TIMEOUT",
    )  # fmt: skip
    assert asked.routes == ((1, 2),), "h2's port: out of the SM's port 1, out of the switch's port 2"
    assert (asked.times, asked.line, asked.last_line, asked.last_time) == (5, 16, 36, "--12-02T02:14:03.904946")
    (trap,) = [event for event in first.events if event.kind == osm.TRAP]
    assert (trap.trap, trap.lid) == (144, 3)


def test_partitions_that_are_rejected() -> None:
    log = log_of("log-partitions")
    told = [event.text for event in log.events if event.kind == osm.PARTITION_ERROR]
    assert told == [
        "PARSE ERROR: line 2: bad PortGUID",
        "Partition configuration in error; retrying with default config",
    ]
    assert log.counts["partition-error"] == 2


def test_a_switch_that_does_not_answer() -> None:
    """Each request without an answer is one event, though it makes four messages."""
    text = text_of("log-timeout")
    log = parse(text).value
    assert log.counts["no-answer"] == len(re.findall("ERR 5411", text)) == len(re.findall("ERR 3113", text))
    assert sum(event.times for event in log.events if event.kind == osm.NO_ANSWER) == log.counts["no-answer"]
    assert all(event.routes in (((1, 3),), ((1, 4),)) for event in log.events if event.kind == osm.NO_ANSWER)
    asked = Counter(re.findall(r"error \(IB_TIMEOUT\): SubnGet\((\w+)\)", text))
    found: Counter[str | None] = Counter()
    for event in log.events:
        if event.kind == osm.NO_ANSWER:
            found[event.attribute_name] += event.times
    assert found == asked
    errors = [event for event in log.events if event.kind == osm.ERROR]
    assert {(event.code, event.routes) for event in errors} == {("3315", ((1,),))}
    assert sum(event.times for event in errors) == len(re.findall("ERR 3315", text))


def test_sweeps_in_a_verbose_log() -> None:
    log = log_of("log-verbose")
    assert kinds(log) == [
        "start", "state", "heavy-sweep", "heavy-sweep-done", "state", "routed", "subnet-up",
        "light-sweep", "light-sweep-done",
        "trap", "notice", "heavy-sweep", "heavy-sweep-done", "notice", "lost-port", "routed", "subnet-up", "stop",
    ]  # fmt: skip
    assert log.messages == len(re.findall(r"^Dec ", text_of("log-verbose"), re.MULTILINE))


def test_what_a_log_may_tell() -> None:
    log = log_of("log-notices")
    by_kind: dict[str, list[Event]] = {}
    for event in log.events:
        by_kind.setdefault(event.kind, []).append(event)

    (duplicate,) = by_kind["duplicate-guid"]
    assert (duplicate.guid, duplicate.port, duplicate.code) == (0xA000000000003000, 1, "0D01")
    assert duplicate.neighbours == (NodePort(0xB000000000001000, 7), NodePort(0xB000000000002000, 9))
    assert duplicate.routes == ((1, 7), (1, 20, 9)), "both ways are told"

    (refused,) = by_kind["mad-status"]
    assert (refused.method, refused.attribute_name, refused.modifier, refused.status, refused.routes) == (
        "SubnGetResp", "PKeyTable", 0x10000, "0x1c", ((1, 4),),
    )  # fmt: skip

    traps = [(event.trap, event.lid, event.port, event.times) for event in by_kind["trap"]]
    assert traps == [
        (129, 17, 21, 2), (130, 33, 1, 1), (131, 17, 22, 1), (257, 33, None, 1), (259, 17, None, 1), (256, 33, None, 1),
        (None, 17, None, 1),
    ]  # fmt: skip
    assert log.counts["trap"] == 8
    bad_key = by_kind["trap"][3]
    assert (bad_key.pkey, bad_key.between) == (0x8002, (41, 33)), "its second message, though another thread's between"
    assert [(e.trap, e.lid, e.guid, e.port, e.pkey, e.between) for e in by_kind["notice"]] == [
        (257, 33, 0xA000000000004001, None, 0x8002, (41, 33)),
        (259, 17, 0xB000000000001000, 5, 0x8003, (41, 33)),
        (256, 33, 0xA000000000004001, None, None, None),
    ]

    by_lid, by_route = by_kind["no-answer"]
    assert (by_lid.lid, by_lid.method, by_lid.attribute, by_lid.routes) == (41, "0x6", 2, ())
    assert (by_route.method, by_route.attribute, by_route.modifier, by_route.routes) == (
        "SubnSet", 0x15, 5, ((1, 20, 9),),
    )  # fmt: skip
    assert (by_kind["routing-failed"][0].engine, by_kind["routed"][0].engine) == ("ftree", "minhop")
    assert [event.state for event in by_kind["sm-port"]] == ["down"]
    assert len(by_kind["subnet-errors"]) == len(by_kind["subnet-up"]) == 1
    (error,) = by_kind["error"]
    assert (error.code, error.routes) == ("3315", ((1,),))
    assert "leaf1: SUBNET UP" in error.text, "a node's name is no message"


def test_the_words_of_nvidias_opensm() -> None:
    log = log_of("log-nvidia")
    assert kinds(log) == [
        "start", "state", "heavy-sweep", "state", "routed", "subnet-up",
        "trap", "notice", "heavy-sweep", "port-state", "notice", "lost-port", "routed", "subnet-up",
    ]  # fmt: skip
    down = log.events[9]
    assert (down.guid, down.port, down.state, down.node_name) == (
        0xB000000000001000, 3, "DOWN", "MF0;leaf1:MQM9700/U1",
    )  # fmt: skip
    assert (log.events[10].trap, log.events[10].gid) == (65, "fe80::a000:0:0:2001")
    assert log.events[11].node_name == "host2 mlx5_0", "the line that another part of the program printed is not its"


def test_syslog() -> None:
    parsed = parse(text_of("log-syslog"))
    assert kinds(parsed.value) == ["start", "state", "state", "subnet-up", "duplicate-guid", "state"]
    assert parsed.value.events[4].neighbours[1] == NodePort(0xB000000000002000, 9)
    assert [event.time for event in parsed.value.events] == [
        "--12-31T23:59:58", "--12-31T23:59:58", "--01-01T00:00:01", "--01-01T00:00:01", "--01-01T00:00:07",
        "2027-01-01T00:00:10.123456+01:00",
    ]  # fmt: skip
    assert [problem.kind for problem in parsed.problems] == ["noise"], "the lines of other programs are counted"
    assert "2 lines" in parsed.problems[0].text


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("log*.txt")))
def test_the_counts_are_those_of_the_events(name: str) -> None:
    log = log_of(name)
    found: Counter[str] = Counter()
    for event in log.events:
        found[event.kind] += event.times
        assert event.times == 1 or (event.last_line or 0) > event.line
    assert dict(found) == log.counts
    assert [event.line for event in log.events] == sorted(event.line for event in log.events)
    assert {event.kind for event in log.events} <= {
        value for name, value in vars(osm).items() if name.isupper() and isinstance(value, str)
    } - {osm.PATH, osm.REQUEST, osm.SAME_REQUEST, osm.BAD_KEY}


def test_a_milestone_parts_what_is_alike() -> None:
    trap = f"{HEAD}log_trap_info: Received Vendor Notice type:1 vend:0x0002C9 dev:48 from LID:2 TID:0x0\n"
    up = "Dec 02 02:09:29 215903 [DE6EF740] 0x02 -> SUBNET UP\n"
    log = parse(trap * 3 + up + trap).value
    assert [(event.kind, event.times) for event in log.events] == [("trap", 3), ("subnet-up", 1), ("trap", 1)]


def test_a_prefix_of_the_site() -> None:
    """The option log_prefix stands before each message."""
    lines = ("rail1: OpenSM 3.3.24", "rail1: SUBNET UP", "rail1: do_it: ERR 1234: why")
    log = parse("".join(f"{HEAD}{line}\n" for line in lines)).value
    assert [(event.kind, event.code) for event in log.events] == [
        ("start", None), ("subnet-up", None), ("error", "1234"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "nd_rcv_process_nd: Node 0x100000, Description = x: SUBNET UP",
        "Node called Entering MASTER state",
        "SUBNET UPSET",
        "osm_pi_rcv_process: Switch 0xzz name port 1 changed state from ACTIVE to DOWN",
    ],
)
def test_what_only_looks_like_an_event(text: str) -> None:
    head = HEAD.replace("0x01", "0x04")
    assert parse(f"{head}{text}\n").value.events == ()


def test_an_error_without_a_code_is_one() -> None:
    assert one("ucast_mgr_setup: something odd").kind == osm.ERROR
    assert (one("f_x: ERR OD0E: letter O").code, one("ERR 0101: no function").function) == ("OD0E", None)


def test_a_message_that_the_text_ends_in() -> None:
    text = text_of("log-link")
    place = text.index("from LID:2 TID") + len("from LID:2")
    parsed = parse(text[:place])
    assert kinds(parsed.value)[-1] == "subnet-up", "the LID may go on"
    assert parsed.complete is False
    assert [problem.kind for problem in parsed.problems] == ["truncated"]
    whole_words = parse(text[: text.index("SUBNET UP") + len("SUBNET UP")])
    assert (kinds(whole_words.value)[-1], whole_words.complete) == ("subnet-up", None)


def test_every_cut_is_told_or_harmless() -> None:
    text = text_of("log-notices")
    whole = {event.line: event for event in parse(text).value.events}
    # Later messages add these; a message of several lines that lost some is an error that is not understood
    later = {"text", "times", "last_line", "last_time", "routes", "pkey", "between", "attribute", "attribute_name"}
    later |= {"modifier", "method"}
    for end in range(120, len(text), 17):
        for event in parse(text[:end]).value.events:
            for field in () if event.kind == osm.ERROR else event._fields:
                assert field in later or getattr(event, field) == getattr(whole[event.line], field), (end, field)


def test_lines_with_carriage_returns_and_quotes() -> None:
    text = text_of("log-timeout")
    plain = parse(text).value
    for changed in (text.replace("\n", "\r\n"), "".join(f"> {line}\n" for line in text.splitlines())):
        assert parse(changed).value == plain


def test_more_events_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opensm_log, "MAX_EVENTS", 3)
    parsed = parse("".join(f"{HEAD}f_x: ERR 0001: error {number}\n" for number in range(9)))
    assert len(parsed.value.events) == 3
    assert parsed.value.counts == {"error": 9}
    assert (parsed.complete, [problem.kind for problem in parsed.problems]) == (False, ["more-events"])


@pytest.mark.parametrize("text", ["", "SUBNET UP\n", "Dec  1 20:41:30 host sshd[1]: OpenSM[2]: x\n", "a\nb\n"])
def test_other_texts(text: str) -> None:
    with pytest.raises(NotThisFormat, match=r"^f: not a log of OpenSM"):
        parse(text, source="f")


PIECES = st.sampled_from([
    HEAD, "Entering ", "MASTER state", "ERR 5411: ", "DR SMP Send completed with error (IB_TIMEOUT) -- dropping",
    "#012", "\n\t\t\tMethod 0x1, Attr 0x20, TID 0x1\n", 'Reporting Security Notice "Bad P_Key" from LID 3, ', "port ",
    "\ud800", "Received Generic Notice type:1 num:128 (",
    ") Producer:2 (", "from LID:", "\x00", "9" * 5000, " HEAVY SWEEP ", "\n",
    "Removed port with GUID:0x1 LID range [1, 2] of node:", "Initial path = " + "1," * 200, "*" * 66,
    "Jan  1 00:00:01 h OpenSM[1]: ",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=20), max_size=30))
def test_it_never_raises_anything_else(pieces: list[str]) -> None:
    try:
        parsed: Parsed[SmLog] = parse("".join(pieces))
    except NotThisFormat:
        return
    assert sum(parsed.value.counts.values()) <= parsed.value.messages


def test_linear_time() -> None:
    evil = (
        f"{HEAD}Reporting Security Notice type:1 num:1 (" + "(" * 3000 + ")" * 3000 + "\n",
        f"{HEAD}Switch 0x1 " + " port 1" * 5000 + " changed state from \n",
        f"{HEAD}Received Generic Notice type:1 num:1 (" + ") Producer:2 (" * 3000 + "\n",
        f"{HEAD}f:\n" + "*" * 60_000 + "\n",
        "OpenSM $ " * 7000 + "\n",
    )
    start = time.process_time()
    for line in evil:
        parse(HEAD + "x\n" + line * 200)
    assert time.process_time() - start < 10


# Times without a year


def test_times() -> None:
    assert without_year("Feb", "29", "23:59:59") == "--02-29T23:59:59"
    assert without_year("???", "01", "00:00:00") is None
    assert without_year("", "", "00:00:00") is None
