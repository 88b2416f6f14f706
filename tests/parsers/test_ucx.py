"""UCX's lines, 1.7 to 1.22: the formats of its sources."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import ucx
from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.parsers.line_prefixes import to_line
from ibkit.parsers.log_lines import IGNORE, shape

HEAD = "[1796162458.599039] [nodea:89   :0] "
INFO = HEAD + "     ucp_worker.c:1763 UCX  INFO    "
ERROR = HEAD + "       ib_md.c:1   UCX  ERROR "
WARN = HEAD + " ucp_context.c:1014 UCX  WARN  "


def facts(*lines: str) -> list[ucx.UcxFact]:
    reader = ucx.Reader()
    found = []
    for number, text in enumerate(lines, 1):
        if ucx.worth(shape(text.encode())) != IGNORE:
            found += list(reader.read(to_line(number, text.encode())))
    return found


def only(*lines: str) -> ucx.UcxFact:
    (fact,) = facts(*lines)
    return fact


@pytest.mark.parametrize(
    ("text", "number", "scope", "context", "lanes"),
    [
        ("ep_cfg[1]: tag(rc_verbs/rxe0:1)", 1, None, None, [("tag", "rc_verbs", "rxe0:1")]),
        ("ep_cfg[0]: tag(self/memory0 rc_verbs/rxe0:1); rma(self/memory0); ", 0, None, None,
         [("tag", "self", "memory0"), ("tag", "rc_verbs", "rxe0:1"), ("rma", "self", "memory0")]),
        ("ep_cfg[12]: tag(tcp/ve0 tcp/ve1) rma_am(tcp/ve0) am(tcp/ve0 tcp/ve1)", 12, None, None,
         [("tag", "tcp", "ve0"), ("tag", "tcp", "ve1"), ("rma_am", "tcp", "ve0"), ("am", "tcp", "ve0"), ("am", "tcp", "ve1")]),
        ("mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1 tcp/eth0)  ka(ud_mlx5/mlx5_0:1)", 2, "inter-node", "mpi",
         [("tag", "rc_mlx5", "mlx5_0:1"), ("tag", "tcp", "eth0"), ("ka", "ud_mlx5", "mlx5_0:1")]),
        ("0x5619aa00 intra-node cfg#1 tag(sysv/memory cma/memory)", 1, "intra-node", "0x5619aa00",
         [("tag", "sysv", "memory"), ("tag", "cma", "memory")]),
        ("self cfg#0 tag(self/memory)", 0, "self", None, [("tag", "self", "memory")]),
        ("inter-node cfg#3 tag(rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1 rc_mlx5/mlx5_", 3, "inter-node", None,
         [("tag", "rc_mlx5", "mlx5_0:1"), ("tag", "rc_mlx5", "mlx5_1:1")]),  # cut at 256 bytes
        ("inter-node-exchange inter-node cfg#2 tag(tcp/ib0)", 2, "inter-node", "inter-node-exchange", [("tag", "tcp", "ib0")]),
    ],
)  # fmt: skip
def test_endpoint_kinds(
    text: str, number: int, scope: str | None, context: str | None, lanes: list[tuple[str, str, str]]
) -> None:
    fact = only(INFO + text)
    assert isinstance(fact, ucx.EndpointConfig)
    assert (fact.number, fact.scope, fact.context) == (number, scope, context)
    assert [tuple(lane) for lane in fact.lanes] == lanes
    assert (fact.said.host, fact.said.pid, fact.said.line) == ("nodea", 89, 1)


@pytest.mark.parametrize(
    "head", ["[1.2] [n01:5:a] ", "[1796162458.599039] [n01:5    :0] ", "[1,3]<stdout>:[1.2] [n01:5:0] "]
)
def test_the_speaker(head: str) -> None:
    fact = only(f"{head} x.c:1 UCX  INFO  self cfg#0 tag(self/memory)")
    assert (fact.said.host, fact.said.pid) == ("n01", 5)


def test_two_processes_on_one_line_keep_their_lanes_apart() -> None:
    first, second = facts(
        f"{INFO}ep_cfg[1]: tag(tcp/eth0 tcp/e{INFO.replace('nodea:89', 'nodeb:90')}ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)"
    )
    assert isinstance(first, ucx.EndpointConfig)
    assert isinstance(second, ucx.EndpointConfig)
    assert [lane.transport for lane in first.lanes] == ["tcp"]
    assert (second.said.host, [lane.transport for lane in second.lanes]) == ("nodeb", ["rc_mlx5"])


def test_the_environment_that_ucx_read() -> None:
    found = facts(HEAD + "  parser.c:1916 UCX  INFO  UCX_* env variables: UCX_TLS=tcp,self UCX_NET_DEVICES=mlx5_0:1")
    assert [(f.name, f.value) for f in found if isinstance(f, Setting)] == [
        ("UCX_TLS", "tcp,self"),
        ("UCX_NET_DEVICES", "mlx5_0:1"),
    ]


def test_version() -> None:
    fact = only(HEAD + " ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded from /lib/libucp.so.0)")
    assert isinstance(fact, Version)
    assert fact.version == "1.13.1"


@pytest.mark.parametrize(
    ("text", "topic", "is_fatal", "device"),
    [
        (
            WARN + "network device 'mlx5_0' is not available, please use one or more of: 'eth0'(tcp), 'lo'(tcp)",
            "device-missing",
            False,
            "mlx5_0",
        ),
        (
            WARN + "network devices 'mlx5_0:1','mlx5_1:1' are not available, please use one or more of: 'eth0'(tcp)",
            "device-missing",
            False,
            "mlx5_0:1,mlx5_1:1",
        ),
        (
            WARN + "transports 'rc','ud' are not available, please use one or more of: cma, self, tcp",
            "transport-missing",
            False,
            "rc,ud",
        ),
        (WARN + "transport 'ib' is not available", "transport-missing", False, "ib"),  # 1.6
        (
            ERROR + "no usable transports/devices (asked rc,ud on network:mlx5_9:1,mlx5_8:1 )",
            "device-missing",
            False,
            "mlx5_9:1,mlx5_8:1",
        ),
        (ERROR + "No usable transports/devices, asked network:mlx5_9:1 ", "device-missing", False, "mlx5_9:1"),  # 1.6
        (ERROR + "No matching transports/devices, using ib on network:mlx5_9:1 ", "device-missing", False, "mlx5_9:1"),
        (WARN + "device 'mlx5_0:1' is not available", "device-missing", False, "mlx5_0:1"),
        (
            ERROR + "no active messages transport to <no debug data>: self/memory - Destination is unreachable",
            "unreachable",
            True,
            None,
        ),
        (ERROR + "no remote registered memory access transport to n02:123: x", "unreachable", True, None),
        (
            ERROR
            + "ibv_create_cq(cqe=4096) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)",
            "memlock",
            False,
            None,
        ),
        (
            ERROR
            + "ibv_create_cq(cqe=4096) failed: Cannot allocate memory. Please set max locked memory (ulimit -l) to 'unlimited'",
            "memlock",
            False,
            None,
        ),
        (ERROR + "ibv_create_cq(cqe=4096) failed: Cannot allocate memory", "memlock", False, None),
        (ERROR + "ibv_open_device(mlx5_0) failed: Cannot allocate memory", "resources", False, "mlx5_0"),
        (ERROR + "ibv_open_device(mlx5_0) failed: No such device", "open-device", False, "mlx5_0"),
        (ERROR + "mlx5dv_devx_obj_create(QP) failed, syndrome 1: Cannot allocate memory", "resources", False, None),
        (ERROR + "ibv_exp_query_device(mlx5_0) returned 38: Function not implemented", "ofed-mismatch", False, None),
        (ERROR + "unable to find specified pkey 0x8001 on mlx5_0:1", "pkey", False, None),
        (ERROR + "there is no valid pkey to use on mlx5_0:1", "pkey", False, None),
        (HEAD + " ib_device.c:1 UCX  DEBUG no compatible IB ports found for flags 0x0", "no-port", False, None),
        (ERROR + "Send completion with error: transport retry counter exceeded", "broken", True, None),
        (
            "[n01:5101:0:5101] rc_verbs_iface.c:63   FATAL: send completion with error: local protection error",
            "broken",
            True,
            None,
        ),
        (
            "[n01:5101:0:5101]  ud_ep.c:278  Fatal: UD endpoint 0x1 to n02: unhandled timeout error",
            "broken",
            True,
            None,
        ),
    ],
)
def test_failures(text: str, topic: str, is_fatal: bool, device: str | None) -> None:
    fact = only(text)
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.is_fatal, fact.device) == (topic, is_fatal, device)


def test_what_a_device_lacks_is_no_dead_port() -> None:
    """ConnectX-3 has no DC and not mlx5's own way: UCX says so at level debug of ports that it uses with verbs."""
    assert not facts(HEAD + " ib_device.c:1 UCX  DEBUG no compatible IB ports found for flags 0x4")


@pytest.mark.parametrize("link", ["IB", "RoCE"])
def test_a_lost_connection_tells_the_link_layer(link: str) -> None:
    found = facts(ERROR + f"Transport retry count exceeded on mlx5_0:1/{link} (synd 0x15 vend 0x81 hw_synd 0/0)")
    assert [type(fact) for fact in found] == [ucx.DeviceLink, Failure]
    assert found[0][1:] == ("mlx5_0:1", link)


TABLE = [
    HEAD + "  +---------------------------+-------------------------------------------------------+",
    HEAD + "  |      mpi inter-node cfg#2 | tagged message by ucp_tag_send*(multi) from host memory |",
    HEAD + "  +---------------------------+-----------------------+-------------------------------+",
    HEAD + "  |                   0..8184 | short                 | rc_mlx5/mlx5_0:1              |",
    HEAD + "  |                 8185..inf | rendezvous zero-copy  | 55% on rc_mlx5/mlx5_0:1 and 45% on tcp/eth0 |",
    HEAD + "  +---------------------------+-----------------------+-------------------------------+",
]


def test_the_protocol_table() -> None:
    found = facts(*TABLE)
    assert [
        (f.number, f.scope, f.sizes, [lane.transport for lane in f.lanes])
        for f in found
        if isinstance(f, ucx.ProtocolRow)
    ] == [
        (2, "inter-node", "0..8184", ["rc_mlx5"]),
        (2, "inter-node", "8185..inf", ["rc_mlx5", "tcp"]),
    ]


def test_the_old_protocol_table_has_no_scope() -> None:
    rows = facts(HEAD + "| mpi ep_cfg[3] | tagged message by ucp_tag_send* from host memory |", TABLE[3])
    assert [(row.number, row.scope) for row in rows if isinstance(row, ucx.ProtocolRow)] == [(3, None)]


def test_tables_of_two_processes_are_kept_apart() -> None:
    other = "[1.2] [nodeb:7:0] "
    rows = facts(
        TABLE[1], other + "| mpi intra-node cfg#1 | tagged message by ucp_tag_send* from host memory |", TABLE[3]
    )
    assert [(row.said.host, row.scope) for row in rows if isinstance(row, ucx.ProtocolRow)] == [("nodea", "inter-node")]


def test_the_lane_table_of_122() -> None:
    rows = facts(
        HEAD + "  | Endpoint Config #2 (ctx: mpi, type: inter-node)       |",
        HEAD + "  | Transport | Device (Sys. dev.) | # Lanes | Lane Types |",
        HEAD + "  | rc_mlx5   | mlx5_0:1           |       2 | am, am_bw  |",
        HEAD + "  |           | mlx5_1:1 (mlx5_1)  |       1 | rma_bw     |",
        HEAD + "  | ud_mlx5   | mlx5_0:1           |       1 | keepalive  |",
    )
    assert [[tuple(lane) for lane in row.lanes] for row in rows if isinstance(row, ucx.EndpointConfig)] == [
        [("am", "rc_mlx5", "mlx5_0:1"), ("am_bw", "rc_mlx5", "mlx5_0:1")],
        [("rma_bw", "rc_mlx5", "mlx5_1:1")],
        [("keepalive", "ud_mlx5", "mlx5_0:1")],
    ]


def test_the_table_of_candidates_is_nothing() -> None:
    assert not facts(
        HEAD + "  | Available Transports and Devices                         |",
        HEAD + "  | network | ib  | + rc_mlx5  | + mlx5_0:1  + mlx5_1:1        |",
    )


@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_fail(data: bytes) -> None:
    reader = ucx.Reader()
    data = data.replace(b"\n", b" ")
    for raw in (data, INFO.encode() + data, HEAD.encode() + b"| " + data):
        list(reader.read(to_line(1, raw)))


@pytest.mark.parametrize("part", ["tag(", "rc/a ", "a(b)", "[1.2] [n:1:0] ", "| ", "x:1 UCX  INFO ", "'a',"])
def test_long_lines_take_linear_time(part: str) -> None:
    start = time.perf_counter()
    for head in (INFO + "ep_cfg[0]: ", HEAD + "|", WARN + "devices "):
        list(ucx.Reader().read(to_line(1, (head + part * (65_000 // len(part))).encode())))
    assert time.perf_counter() - start < 3


def test_the_message_by_which_a_process_ends_tells_the_link_layer() -> None:
    """ucs_fatal_error has another head than the log; the completion's device has its link layer behind it."""
    link, lost = facts(
        "[n01:5101:0:5101] ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)"
    )
    assert isinstance(link, ucx.DeviceLink) and link[1:] == ("mlx5_0:1", "IB")
    assert isinstance(lost, Failure) and (lost.topic, lost.is_fatal, lost.host) == ("broken", True, "n01")


@pytest.mark.parametrize(
    "asked", ["rc,ud on all devices", "all devices", "tcp on network:mlx5_0:1 ", "tcp on network:eth9 "]
)
def test_what_was_asked_for_may_name_no_device_of_verbs(asked: str) -> None:
    assert not facts(ERROR + f"no usable transports/devices (asked {asked})")


@pytest.mark.parametrize(
    ("text", "topic", "device"),
    [
        (
            "ibv_exp_reg_mr(address=0xf154610, length=6544, access=0xf) failed: Resource temporarily unavailable",
            "verbs-error",
            None,
        ),
        ("ibv_reg_mr(address=0x7f1, length=4096, access=0xf) failed: Input/output error", "verbs-error", None),
        (
            "failed to register address 0x7f0 mem_type bit 0x2 length 4096 on md[5]=mlx5_0: Input/output error (md reg_mem_types 0x3)",
            "verbs-error",
            "mlx5_0",
        ),
        (
            "failed to register address 0x7f0 mem_type bit 0x2 length 4096 on md[1]=cuda_cpy: Input/output error (md reg_mem_types 0x3)",
            None,
            None,
        ),
        (
            "failed to register address 0x7f0 mem_type bit 0x1 length 4096 on md[2]=sysv: Input/output error (md reg_mem_types 0x1)",
            None,
            None,
        ),
        ("ibv_modify_qp(DCI, RTR) failed : Invalid argument", "verbs-error", None),
        ("ibv_modify_qp(DCI, RTR) failed : Connection timed out", "gid", None),
        ("error modifying QP to RTR: Network is unreachable", "gid", None),
        ("error modifying QP to INIT: Network is unreachable", "verbs-error", None),  # no peer is looked up yet
        ("Failed to modify UD QP to INIT: Operation not permitted", "verbs-error", None),
        (
            "ibv_create_ah(dlid=49152 port=1 is_global=1 dgid=fe80::1 sgid_index=3) for RC DEVX QP connect on mlx5_0 failed: Connection timed out",
            "gid",
            None,
        ),
        ("mlx5dv_devx_obj_create(QP) failed on mlx5_0, syndrome 0x65b500: Remote I/O error", "verbs-error", None),
        ("connect(fd=33, dest_addr=10.0.0.1:41735) failed: Connection refused", None, None),
    ],
)
def test_errors_of_an_hca(text: str, topic: str | None, device: str | None) -> None:
    told = [(fact.topic, fact.device, fact.is_fatal) for fact in facts(ERROR + text) if isinstance(fact, Failure)]
    assert told == ([(topic, device, False)] if topic else [])
    assert facts(ERROR.replace("ERROR", "DEBUG") + text) == []  # it tries, and goes another way
