"""Whatever a log holds: no exception, a document that keeps to its words, evidence that is there, bounded cost."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.job_logs import SOCKET, bml_lines, document, judged, nccl_lines, text, ucx_lines

from ibkit.errors import UnreadableInput
from ibkit.model.mpi import EVIDENCE_CLASSES, STATUSES, VERDICTS
from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.verdict import judge

JOBS = Path(__file__).parents[2] / "fixtures" / "jobs"
NAMES = sorted(name for name in os.listdir(JOBS) if (JOBS / name / "job.log").is_file())


def check(*logs: bytes) -> None:
    """Judge them, and look at what every answer must keep to."""
    job = Job("x", tuple(Log(f"log{n}", lambda data=data: io.BytesIO(data)) for n, data in enumerate(logs)))  # type: ignore[misc]
    try:
        answer = judge(job)
    except UnreadableInput:
        return
    found = document(answer)
    ids = [evidence["id"] for evidence in found["evidence"]]
    assert ids == list(range(1, len(ids) + 1))
    assert found["verdict"] in VERDICTS
    assert found["status"] in STATUSES
    if found["status"] == "as-expected":
        told = {
            layer["verdict"] for layer in found["layers"] if layer["layer"] != "gloo"
        }  # which may coordinate by TCP
        assert not told & {"unknown", "none", "mixed", "tcp", "ipoib"}
    for evidence in found["evidence"]:
        assert evidence["class"] in EVIDENCE_CLASSES
        number = int(evidence["file"].removeprefix("log"))
        lines = logs[number].split(b"\n")
        assert 1 <= evidence["line"] <= len(lines)
    for layer in found["layers"]:
        assert layer["verdict"] in VERDICTS
        assert layer["status"] in STATUSES
        for pair in layer["pairs"]:
            assert pair["a"] <= pair["b"]
            assert pair["evidence"]
            assert set(pair["evidence"]) <= set(ids)
        for reason in layer["reasons"]:
            assert set(reason["evidence"]) <= set(ids)
        if layer["verdict"] not in ("unknown", "none"):
            assert {evidence["class"] for evidence in found["evidence"]} & {"path", "selection"}


@given(st.binary(max_size=2000))
def test_any_bytes(data: bytes) -> None:
    check(data)


_WORDS = st.sampled_from(
    [
        "n01:100:150 [0] NCCL INFO ", "n02:102:152 [0] NCCL WARN ", "[n01:00100] ", "[n02:00101] ", "[1,3]<stdout>:",
        "Channel 00/0 : 0[0] -> 1[0] [send] via NET/", "Channel 01 : 1[0] -> 0[0] [receive] via NET/", "IB/0", "Socket/1",
        "IB/0/GDRDMA(2)", "AWS Libfabric/0", "P2P/IPC", "SHM", "NET/IB : Using [0]mlx5_0:1/", "[1]mlx5_1:1/", "IB", "RoCE",
        " ; OOB eth0:10.0.0.1<0>", "Using network ", "comm 0x1 rank 0 nranks 2 ", "commId 0xabc - Init COMPLETE",
        "mca: bml: Using ", "tcp", "openib", " btl for send to [[1,1],", "0", "1", "] on node ", "n01", "n02", "\n", "\n",
        "\n", "select: component ob1 selected", "UCX  INFO  ep_cfg[2]: tag(", "rc_mlx5/mlx5_0:1", "tcp/ib0", " ", ")",
        "[1771920031.190001] [n01:200 :0] ucp_worker.c:1855 ", "mpirun -np 2 ./a", "Host 0 [n01] ranks 0 - 1",
        "Host 1 [n02] ranks 2, 3", "    0 : sm ucx[  3]", "ucx[  3]:", "    rc_verbs   mlx5_0:1", "\x1b[31m", "\r",
        "  off-host: all connections are ", "UCX_TLS=tcp", "\0", "é", "-----------------------------------------------",
    ]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=60))
@settings(max_examples=300)
def test_words_of_the_runtimes_in_any_order(words: list[str]) -> None:
    check("".join(words).encode())


@given(st.sampled_from(NAMES), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_logs(name: str, data: st.DataObject) -> None:
    """A piece of a log, with bytes cut out and put in: as copying from a terminal leaves it."""
    log = bytearray((JOBS / name / "job.log").read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(log)))
        length = data.draw(st.integers(0, 200))
        log[at : at + length] = data.draw(st.binary(max_size=12))
    check(bytes(log))


@given(st.data())
@settings(max_examples=100)
def test_cut_logs_never_turn_tcp_into_rdma(data: st.DataObject) -> None:
    """Half of a job's lines may leave the answer open. They never show what no line says."""
    lines = data.draw(st.sampled_from([nccl_lines(network="Socket", before=SOCKET), bml_lines(), _UCX_TCP]))
    kept = data.draw(st.lists(st.sampled_from(lines), unique=True, min_size=1))
    answer = judged(text(sorted(kept, key=lines.index)))
    assert answer.verdict in ("tcp", "unknown", "shm", "none")


@given(st.data())
@settings(max_examples=100)
def test_cut_logs_never_turn_rdma_into_a_fall_back(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from([nccl_lines(), bml_lines(btl="openib"), _UCX_RC]))
    kept = data.draw(st.lists(st.sampled_from(lines), unique=True, min_size=1))
    answer = judged(text(sorted(kept, key=lines.index)))
    assert answer.verdict in ("ib", "rdma", "unknown", "shm")
    assert answer.status in ("as-expected", "undecided")


_UCX_TCP = ucx_lines("ep_cfg[0]: tag(self/memory cma/memory)", "ep_cfg[2]: tag(tcp/eth0)")
_UCX_RC = ucx_lines("ep_cfg[0]: tag(self/memory cma/memory)", "ep_cfg[2]: tag(rc_mlx5/mlx5_0:1 tcp/eth0)")


@pytest.mark.parametrize("size", [2000])
@pytest.mark.parametrize("kind", ["processes", "families", "communicators", "launches", "devices", "hosts"])
def test_many_of_a_kind_cost_little(kind: str, size: int) -> None:
    """Each of these once cost the square of its number."""
    lines = {
        "processes": lambda n: f"n{n // 8:04d}:{n}:{n} [0] NCCL INFO Using network IB",
        "families": lambda n: f"[n1:{n:05d}] mca: bml: Using tcp btl for send to [[{n},1],1] on node n2",
        "communicators": lambda n: f"n1:7:7 [0] NCCL INFO comm 0x{n:x} rank 0 nranks 2 commId 0x{n:x} - Init COMPLETE",
        "launches": lambda n: (
            f"+ mpirun -np 2 --mca btl tcp,self ./a {n}\n[n1:7] mca: bml: Using tcp btl to [[1,1],1] on node n2"
        ),
        "devices": lambda n: f"n1:{n}:{n} [0] NCCL INFO NET/IB : Using [0]mlx5_{n}:1/IB ; OOB eth0:10.0.0.1<0>",
        "hosts": lambda n: f"[1.1] [h{n}:1:0] ucp_worker.c:1855 UCX  INFO  ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)",
    }[kind]
    start = time.process_time()
    check("\n".join(map(lines, range(size))).encode())
    assert time.process_time() - start < 10


def test_runs_without_end_are_one_from_some_number_on() -> None:
    lines = (f"[n1:{n:05d}] mca: bml: Using tcp btl for send to [[{n},1],1] on node n2" for n in range(1, 1200))
    answer = judged(text(lines))
    assert len(answer.layers) == 1000
    assert [problem.kind for problem in answer.problems] == ["many-runs"]
    assert answer.verdict == "tcp"
