"""What the infiniband-diags say: recorded lines, lines of newer versions as their source prints them, any text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import diag_messages as diag
from ibkit.parsers.diag_messages import Message, known_lines, parse_line, parse_lines

TOOLS = Path(__file__).parents[2] / "fixtures/tools"


def recorded(name: str) -> tuple[Message, ...]:
    return parse_lines((TOOLS / name).read_text())


def only(line: str) -> Message:
    message = parse_line(line)
    assert message is not None
    return message


def test_a_discovery_timeout_as_recorded() -> None:
    (message,) = recorded("ibnetdiscover/timeout-hca.stderr.txt")
    assert message == Message(
        diag.NO_ANSWER,
        "umad (DR path slid 0; dlid 0; 0,1,12 Attr 0x11:0) bad status 110; Connection timed out",
        line=1, route=(1, 12), attribute=0x11, modifier=0, status=110, reason="Connection timed out",
    )  # fmt: skip
    (message,) = recorded("ibnetdiscover/timeout-port-info.stderr.txt")
    assert (message.attribute, message.modifier, message.route) == (0x15, 1, (1, 11))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("ibnetdiscover/no-device.stderr.txt", [diag.NO_UMAD, diag.CANNOT_OPEN, diag.CANNOT_OPEN]),
        ("ibnetdiscover/roce.stderr.txt", [diag.NO_SMI, diag.CANNOT_OPEN]),
        ("ibnetdiscover/no-device.txt", [diag.FAILED]),
        ("sminfo/no-device.stderr.txt", [diag.NO_UMAD, diag.CANNOT_OPEN]),
        ("sminfo/no-device.txt", [diag.CANNOT_OPEN]),
        ("sminfo/no-sm.txt", [diag.FAILED]),
        ("sminfo/never-a-manager.stderr.txt", [diag.NO_ANSWER]),
        ("sminfo/manager-gone.stderr.txt", [diag.NO_ANSWER]),
    ],
)
def test_failures_as_recorded(name: str, kinds: list[str]) -> None:
    assert [message.kind for message in recorded(name)] == kinds


def test_who_did_not_answer() -> None:
    (never,) = recorded("sminfo/never-a-manager.stderr.txt")
    assert (never.route, never.lid) == ((), None), "the local node itself"
    (gone,) = recorded("sminfo/manager-gone.stderr.txt")
    assert (gone.route, gone.lid) == (None, 1)


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (
            "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,10,19 Attr 0x11:0) bad status 110; Connection timed"
            " out",
            diag.NO_ANSWER, {"route": (1, 10, 19), "status": 110},
        ),
        (
            "./libibnetdisc/query_smp.c:194; mad (DR path slid 0; dlid 0; 0,1 Attr 0xff90:3) bad status 0x1c",
            diag.MAD_STATUS, {"attribute": 0xFF90, "modifier": 3, "status": 0x1C, "reason": None},
        ),
        (
            "a/query_smp.c:1; umad (Lid 7 DR path slid 3; dlid 65535; 0,4 Attr 0x15:2) bad status 5; I/O error",
            diag.MAD_STATUS, {"lid": 7, "route": (4,), "status": 5},
        ),
        (
            "ibwarn: [7] mad_rpc: MAD completed with error status 0xc; dport (Lid 4)",
            diag.MAD_STATUS, {"lid": 4, "status": 0xC},
        ),
        (
            "ibwarn: [9] mad_rpc_open_port2: Can't open UMAD port (Input/output error) (mlx5_0:1)",
            diag.CANNOT_OPEN, {"device": "mlx5_0", "reason": "Input/output error"},
        ),
        ("./x/ibnetdisc.c:802; can't open MAD port ((null):0)", diag.CANNOT_OPEN, {"device": None}),
        ("ibpanic: [9] madrpc_init: can't open UMAD port ((nil):0)", diag.CANNOT_OPEN, {"reason": None}),
        ("ibwarn: [4] sa_get_handle: No SM/SA found on port mlx5_1:1", diag.NO_SM, {"device": "mlx5_1"}),
        ("ibpanic: [4] main: 'mlx5_9' IB device can't be found: Success", diag.NO_DEVICE, {"device": "mlx5_9"}),
        ("ERROR: Query result returned 0x0300,  SA(SA_ERR_REQ_INVALID)", diag.SA_STATUS, {}),
        ('ibwarn: [5] sim_connect: attached as client 0 at node "H-1"', diag.SIMULATOR, {}),
        ("ibwarn: [5] sim_init: connect failed", diag.OTHER, {"function": "sim_init"}),
        ("libibnetdisc/query_smp.c:170; Failed to find matching smp for trid (1f)", diag.LIBRARY, {}),
        ("/usr/sbin/ibnetdiscover: iberror: failed: discover failed", diag.FAILED, {"reason": "discover failed"}),
        ("smpquery: iberror: [pid 5] main: failed: operation NI: x", diag.FAILED, {"reason": "operation NI: x"}),
    ],
)  # fmt: skip
def test_lines_as_the_sources_print_them(line: str, kind: str, fields: dict[str, object]) -> None:
    message = only(line)
    assert message.kind == kind
    assert {name: getattr(message, name) for name in fields} == fields


def test_a_process_id_is_no_part_of_the_text() -> None:
    assert only("ibwarn: [1] f: x").text == only("ibwarn: [22] f: x").text


@pytest.mark.parametrize("route", ["0,1,9999", "0,,1", "0,1,", "0," + "1," * 300 + "1"])
def test_a_route_that_is_none_is_left_out(route: str) -> None:
    assert only(f"a.c:1; umad (DR path slid 0; dlid 0; {route} Attr 0x11:0) bad status 110; x").route is None


def test_other_lines() -> None:
    assert [message.kind for message in parse_lines("\nwhat: ever\r\n\n")] == [diag.OTHER]
    assert known_lines("what: ever\nx: iberror: failed: y\n") == (
        Message(diag.FAILED, "x: iberror: failed: y", 2, reason="y"),
    )


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    parse_lines(text)
    known_lines(text)
