"""ibqueryerrors: recorded sweeps, the swapped details, what a summary proves, damaged and hostile text."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import diag_messages
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibqueryerrors import DATA, ERRORS, CounterRow, QueryFailure, Sweep, parse, query_failure

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "tools", "ibqueryerrors")
LEAF1, LEAF2, HOST1_PORT = 0xB0001000, 0xB0002000, 0xA0001001


def fixture(name: str) -> str:
    with open(os.path.join(FIXTURES, name)) as file:
        return file.read()


def sweep_of(text: str) -> Sweep:
    (sweep,) = parse(text).value.sweeps
    return sweep


def row_of(text: str, guid: int, port: int | None) -> CounterRow:
    (row,) = [row for row in sweep_of(text).rows if (row.guid, row.port) == (guid, port)]
    return row


def kinds(text: str) -> list[str]:
    return [problem.kind for problem in parse(text).problems]


TIMEOUT_FIRST = fixture("timeout-first.txt")


def test_the_two_groups_of_details_are_put_right() -> None:
    discards = row_of(fixture("details.txt"), LEAF1, 1)
    assert discards.counters == {"PortXmitDiscards": 8, "PortInactiveDiscards": 8}
    assert discards.printed_as == {"PortInactiveDiscards": "PortLocalPhysicalErrors"}
    received = row_of(fixture("details.txt"), LEAF1, 2)
    assert received.counters == {"PortRcvErrors": 12, "PortLocalPhysicalErrors": 5, "PortMalformedPktErrors": 7}
    both = row_of(fixture("details.txt"), LEAF2, 7)
    assert both.counters == {
        "PortRcvErrors": 6,
        "PortBufferOverrunErrors": 6,
        "PortXmitDiscards": 10,
        "PortNeighborMTUDiscards": 4,
        "PortSwHOQLifetimeLimitDiscards": 6,
        "LocalLinkIntegrityErrors": 15,
        "PortXmitWait": 4294967295,
    }


def test_a_tool_that_prints_the_details_right_is_believed() -> None:
    text = fixture("details.txt").replace("[PortLocalPhysicalErrors == 8]", "[PortInactiveDiscards == 8]")
    row = row_of(text, LEAF1, 1)
    assert row.counters == {"PortXmitDiscards": 8, "PortInactiveDiscards": 8}
    assert row.printed_as == {}


def test_details_that_belong_to_nothing_are_not_published() -> None:
    text = fixture("details.txt").replace("[PortXmitDiscards == 8] ", "")
    assert row_of(text, LEAF1, 1).counters == {}
    assert "bad-line" in kinds(text)


def test_rows_and_sums() -> None:
    sweep = sweep_of(fixture("details.txt"))
    assert sweep.form == ERRORS
    assert [(row.guid, row.port) for row in sweep.rows] == [
        (LEAF2, None), (LEAF2, 2), (LEAF2, 7), (LEAF1, None), (LEAF1, 1), (LEAF1, 2), (HOST1_PORT, 1),
    ]  # fmt: skip
    host = sweep.rows[-1]
    assert (host.node_guid, host.node_name) == (None, "host1 mlx5_0")
    assert host.counters == {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255, "VL15Dropped": 3}
    assert sweep.rows[0].node_name == "leaf2: a [b] ;c"
    assert not any(row.wide for row in sweep.rows)
    assert (sweep.nodes_checked, sweep.bad_nodes, sweep.ports_checked, sweep.bad_ports) == (4, 3, 21, 5)
    assert (sweep.thresholds, sweep.suppressed, sweep.query_failures, sweep.complete) == ({}, (), 0, True)


def test_data_of_all_ports() -> None:
    parsed = parse(fixture("counters-report.txt"))
    (sweep,) = parsed.value.sweeps
    assert parsed.complete is True
    assert parsed.problems == ()
    assert sweep.form == DATA
    assert len(sweep.rows) == 21
    assert all(len(row.counters) == 8 and row.whole for row in sweep.rows)
    host2 = row_of(fixture("counters-report.txt"), 0xA0002000, 2)  # the node's GUID
    assert host2.node_guid == 0xA0002000
    assert host2.node_name == "host2 \\"
    assert host2.link is not None
    assert (host2.link.lid, host2.link.peer_guid, host2.link.peer_port, host2.link.width) == (5, LEAF2, 2, "2x")
    down = row_of(fixture("counters-report.txt"), LEAF1, 3)
    assert down.link is not None
    assert down.link.is_down
    assert down.link.peer_port is None


def test_link_information_of_error_rows() -> None:
    row = row_of(fixture("details-data-report.txt"), LEAF2, 7)
    assert row.link is not None
    assert (row.link.lid, row.link.peer_name, row.link.speed, row.link.could_be_speed) == (3, "leaf1", "EDR", "HDR")
    assert row.counters["PortUnicastXmitPkts"] == 77


def test_the_line_of_thresholds() -> None:
    assert sweep_of(fixture("thresholds.txt")).thresholds == {"SymbolErrorCounter": 70000, "PortXmitWait": 100}
    assert sweep_of(fixture("no-threshold-file.txt")).thresholds == {}
    assert sweep_of(fixture("suppressed.txt")).suppressed == ("SymbolErrorCounter", "PortRcvSwitchRelayErrors")


def test_discovery_timeout_scaled_values_and_short_guids() -> None:
    parsed = parse(TIMEOUT_FIRST)
    assert parsed.problems == ()
    (message,) = parsed.value.messages
    assert (message.kind, message.route, message.status) == (diag_messages.NO_ANSWER, (1, 10, 19), 110)
    row = row_of(TIMEOUT_FIRST, 0x0B8599F0300383E0, 1)
    assert row.counters == {
        "SymbolErrorCounter": 35, "PortXmitDiscards": 8, "PortInactiveDiscards": 8, "PortXmitWait": 2417380683166,
    }  # fmt: skip
    assert row.wide
    assert row.node_name == "sw [255-B05] HDR-40"
    host = row_of(TIMEOUT_FIRST, 0x0C42A1030079989C, 1)
    assert not host.wide  # PortXmitData is scaled in every form
    assert sweep_of(TIMEOUT_FIRST).thresholds == {}  # explicit zeros are the default


def test_a_healthy_node_is_a_summary() -> None:
    summary = TIMEOUT_FIRST[TIMEOUT_FIRST.index("\n## Summary") :]
    sweep = sweep_of(summary.replace(" 2 bad", " 0 bad").replace(", 2 p", ", 0 p"))
    assert (sweep.form, sweep.rows, sweep.complete) == (ERRORS, (), True)


def test_failed_queries_leave_no_hole_in_the_summary() -> None:
    parsed = parse(fixture("query-failures.txt"))
    assert parsed.complete is False
    assert parsed.value.sweeps[0].query_failures == 38
    assert kinds(fixture("query-failures.txt")) == ["query-failures"]


def test_which_queries_failed() -> None:
    messages = diag_messages.parse_lines(fixture("query-failures.stderr.txt"))
    failures = [failure for failure in map(query_failure, messages) if failure]
    assert failures[0] == QueryFailure("classportinfo", "MF0;swib-s002:MQM8700/U1", 4, 0)
    assert failures[1:] == [
        QueryFailure("IB_GSI_PORT_COUNTERS", "MF0;swib-s002:MQM8700/U1", 4, port) for port in range(37)
    ]
    (all_ports,) = diag_messages.parse_lines(
        "ibwarn: [1203] print_errors: IB_GSI_PORT_COUNTERS query failed on a, Lid 7 port 1, Lid 1051 port 255"
    )
    assert query_failure(all_ports) == QueryFailure("IB_GSI_PORT_COUNTERS", "a, Lid 7 port 1", 1051, None)


def test_stderr_mixed_into_the_text_costs_nothing() -> None:
    lines = fixture("details.txt").split("\n")
    lines.insert(2, "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 4)")
    parsed = parse("\n".join(lines))
    assert parsed.complete is True
    assert len(parsed.value.sweeps[0].rows) == 7
    assert parsed.value.messages[0].kind == diag_messages.NO_ANSWER


@pytest.mark.parametrize("port", [7, 8], ids="port {}".format)
def test_rows_missing_from_the_data_form(port: int) -> None:
    lines = fixture("counters-report.txt").split("\n")
    at = next(i for i, line in enumerate(lines) if f"GUID 0xb0001000 port {port}:" in line)
    text = "\n".join(lines[:at] + lines[at + 2 :])
    parsed = parse(text)
    assert parsed.complete is False
    assert [problem.kind for problem in parsed.problems] == ["incomplete"]
    assert "20 rows" in parsed.problems[0].text


def test_a_block_missing_from_the_errors_form() -> None:
    text = fixture("details.txt").replace('Errors for "host1 mlx5_0"\n', "")
    assert parse(text).complete is False
    lone = row_of(text, HOST1_PORT, 1)
    assert lone.counters["VL15Dropped"] == 3  # its identity is its own


@pytest.mark.parametrize("end", ["## Summary", "port 7: [PortRcvErrors", "GUID 0xa0001001 port 1"])
def test_cut_text(end: str) -> None:
    text = fixture("details.txt")
    parsed = parse(text[: text.index(end) + len(end)])
    assert parsed.complete is False
    assert "incomplete" in [problem.kind for problem in parsed.problems]


def test_a_cut_number_is_no_number() -> None:
    text = fixture("details.txt")
    parsed = parse(text[: text.index("[LinkDownedCounter == 255") + len("[LinkDownedCounter == 25")])
    row = parsed.value.sweeps[0].rows[-1]
    assert row.counters == {"SymbolErrorCounter": 65535}
    assert not row.whole


@pytest.mark.parametrize("at", ["[LinkDownedCounter", "== 255", "255] [VL15", "[VL15Dropped == 3"])
def test_a_row_that_a_mail_program_broke(at: str) -> None:
    lines = fixture("details.txt").split("\n")
    (index,) = [i for i, line in enumerate(lines) if "GUID 0xa0001001 port 1" in line]
    assert at in lines[index]
    lines[index] = lines[index].replace(at, f"\n{at}").replace(" \n", "\n")
    text = "\n".join(lines)
    row = row_of(text, HOST1_PORT, 1)
    assert row.counters == {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255, "VL15Dropped": 3}
    assert row.whole
    assert parse(text).complete is True


def test_a_prompt_behind_a_row_is_none_of_it() -> None:
    lines = fixture("details.txt").split("\n")
    (index,) = [i for i, line in enumerate(lines) if "GUID 0xa0001001 port 1" in line]
    lines.insert(index + 1, "[root@head ~]# ")
    assert parse("\n".join(lines)).complete is True


@pytest.mark.parametrize("name", ["details.txt", "counters-report.txt"])
def test_a_damaged_number_makes_the_sweep_incomplete(name: str) -> None:
    text = fixture(name)
    (row,) = [line for line in text.split("\n") if "GUID 0xb0001000 port 1:" in line]
    parsed = parse(text.replace(row, row.replace("== 8]", "== 8#]").replace("[PortRcvData == ", "[PortRcvData == #")))
    assert parsed.complete is False
    (damaged,) = [row for row in parsed.value.sweeps[0].rows if not row.whole]
    assert damaged.unread in (("PortXmitDiscards",), ("PortRcvData",))
    assert not parsed.value.sweeps[0].complete


def test_which_kinds_of_nodes_have_rows() -> None:
    for name in ("details.txt", "counters-report.txt"):
        sweep = sweep_of(fixture(name))
        assert (sweep.switches, sweep.others) == (True, True)
    only = fixture("details.txt").replace('"host1 mlx5_0"', '0xa0001000 "host1 mlx5_0"')
    assert (sweep_of(only).switches, sweep_of(only).others) == (True, False)


def test_two_sweeps_in_one_file() -> None:
    parsed = parse(fixture("counters-report.txt") + fixture("details.txt") + fixture("details.txt"))
    assert [(sweep.form, len(sweep.rows)) for sweep in parsed.value.sweeps] == [(DATA, 21), (ERRORS, 7), (ERRORS, 7)]
    assert parsed.complete is True


def test_names_are_anything() -> None:
    for name in ('a"b', '"', "", "Errors for", "x" * 63, "é [ ] ( ) ==> \\", "GUID 0x1 port"):
        text = fixture("details.txt").replace("host1 mlx5_0", name)
        assert row_of(text, HOST1_PORT, 1).node_name == name
        assert parse(text).complete is True


def test_carriage_returns_and_a_prompt() -> None:
    text = "$ ibqueryerrors --details\r\n" + fixture("details.txt").replace("\n", "\r\n") + "$ "
    assert kinds(text) == ["noise"]
    assert parse(text).complete is True
    assert len(sweep_of(text).rows) == 7


def test_the_tools_last_word() -> None:
    parsed = parse("ibqueryerrors: iberror: failed: Failed to open port; (null):0\n")
    assert parsed.complete is False
    assert parsed.problems[0].kind == diag_messages.CANNOT_OPEN


@pytest.mark.parametrize("text", ["", "hello\n", fixture("no-sm.stderr.txt"), "## a markdown title\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


LINES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        TIMEOUT_FIRST.split("\n") + fixture("counters-report.txt").split("\n")[:4] + ["## ", "GUID 0x1 port 300: ["]
    ),
)


@given(st.lists(LINES, max_size=25).map("\n".join))
def test_never_raises_and_never_invents(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for sweep in parsed.value.sweeps:
        for row in sweep.rows:
            for name, value in row.counters.items():
                assert f"[{row.printed_as.get(name, name)} == " in text
                assert 0 <= value < 1 << 64


@pytest.mark.parametrize(
    "line",
    [
        "   GUID 0x1 port 1:" + " [a" * 20_000,
        "   GUID 0x1 port 1:" + "[a == 1] " * 7_000,
        "       Link info: 1 1[" + " " * 60_000,
        "       Link info: 1 1[ ] ==(" + "/" * 30_000 + " x" * 10_000 + ")==>",
        "       Link info: 1 1[ ] ==(" + ")" * 60_000,
        "ibwarn: [1] x: y query failed on " + ", Lid 1" * 8_000,
        "Errors for " + '"' * 60_000,
    ],
    ids=lambda line: line[:30],
)  # fmt: skip
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(fixture("details.txt") + f"{line}\n" * 10)
    assert time.process_time() - started < 2
