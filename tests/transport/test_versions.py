"""Whose version it is: of several runs in one log, each has what its own lines tell."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial

import pytest

from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.verdict import judge

OLD, NEW = "NCCL version 2.10.3+cuda11.3", "NCCL version 2.21.5+cuda12.4"
MPIRUN = "mpirun -np 2 ./b.out"


def versions(*logs: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """The runtime and the version of each run of a job with these logs."""
    texts = ["\n".join(lines).encode() + b"\n" for lines in logs]
    files = tuple(Log(f"{number}.log", partial(io.BytesIO, text)) for number, text in enumerate(texts))
    return [(layer.runtime, layer.version) for layer in judge(Job("job", files)).layers]


def nccl(pid: int = 100, comm: str = "0x11", own: str | None = None) -> list[str]:
    """A run of two ranks on two hosts; ``own``: what its first process tells of its version, after it has begun."""
    one, two = f"n01:{pid}:{pid} [0] NCCL INFO", f"n02:{pid}:{pid} [0] NCCL INFO"
    return [
        f"{one} NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eno1:10.0.0.1<0>",
        *([f"{one} {own}"] if own else []),
        f"{one} Using network IB",
        f"{two} NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eno1:10.0.0.2<0>",
        f"{two} Using network IB",
        f"{one} comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 commId {comm} - Init START",
        f"{two} comm 0x2 rank 1 nranks 2 cudaDev 0 busId 1000 commId {comm} - Init START",
        f"{one} Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0",
        f"{two} Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0",
        f"{one} comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 commId {comm} - Init COMPLETE",
        f"{two} comm 0x2 rank 1 nranks 2 cudaDev 0 busId 1000 commId {comm} - Init COMPLETE",
    ]


FIRST, SECOND = nccl(), nccl(200, "0x33")
RESTART = (
    "W0305 10:00:00.000000 140 torch/distributed/elastic/agent/server/api.py:900] [default] Worker group FAILED. "
    "3/3 attempts left; will restart worker group"
)
REQUEUE = "slurmstepd: error: *** JOB 4711 ON n01 CANCELLED AT 2026-03-05T10:00:00 DUE TO JOB REQUEUE ***"


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ([OLD, *FIRST, MPIRUN, NEW, *SECOND], ["2.10.3+cuda11.3", "2.21.5+cuda12.4"]),
        ([*FIRST, MPIRUN, NEW, *SECOND], [None, "2.21.5+cuda12.4"]),
        ([*FIRST, MPIRUN, *nccl(200, "0x33", own=NEW)], [None, "2.21.5+cuda12.4"]),
        ([OLD, *FIRST, MPIRUN, *SECOND], ["2.10.3+cuda11.3", None]),
        ([*nccl(own=OLD), MPIRUN, *SECOND], ["2.10.3+cuda11.3", None]),
        # the second one's words may be the first one's, letter by letter
        ([OLD, *FIRST, MPIRUN, OLD, *SECOND], ["2.10.3+cuda11.3", "2.10.3+cuda11.3"]),
        # no command line between them: a version is told at a run's start
        ([OLD, *FIRST, NEW, *SECOND], ["2.10.3+cuda11.3", "2.21.5+cuda12.4"]),
        ([*FIRST, NEW, *SECOND], [None, "2.21.5+cuda12.4"]),
        # the command line behind the version: nothing of the second run's
        ([MPIRUN, *FIRST, OLD, MPIRUN, *SECOND], ["2.10.3+cuda11.3", None]),
        # a run between them that told only its version
        ([MPIRUN, *FIRST, MPIRUN, NEW, MPIRUN, *SECOND], [None, None]),
        # before the first command line
        ([OLD, MPIRUN, *FIRST, MPIRUN, *SECOND], ["2.10.3+cuda11.3", None]),
        ([RESTART, OLD, *FIRST, RESTART, *SECOND], ["2.10.3+cuda11.3", None]),
        ([*FIRST, RESTART, NEW, *SECOND], [None, "2.21.5+cuda12.4"]),
        ([OLD, *FIRST, REQUEUE, *SECOND], ["2.10.3+cuda11.3", None]),
        ([*FIRST, REQUEUE, NEW, *SECOND], [None, "2.21.5+cuda12.4"]),
        # alternating runs
        (
            [OLD, *FIRST, MPIRUN, NEW, *SECOND, MPIRUN, OLD, *nccl(300, "0x55")],
            ["2.10.3+cuda11.3", "2.21.5+cuda12.4", "2.10.3+cuda11.3"],
        ),
        ([MPIRUN, *FIRST, MPIRUN, NEW], [None]),
        # whose of two is not told
        ([OLD, NEW, *FIRST], [None]),
        (["# nccl-tests version 2.17.6 nccl-headers=22105 nccl-library=22105", NEW, *FIRST], ["2.21.5"]),
    ],
)
def test_nccl(lines: list[str], wanted: list[str | None]) -> None:
    assert versions(lines) == [("NCCL", version) for version in wanted]


def test_name_of_the_other_run_is_kept() -> None:
    """A job's GPUs are of one kind: RCCL speaks as NCCL does, and only its version line has its name."""
    assert versions(["RCCL version 2.22.3-develop:abc", *FIRST, MPIRUN, *SECOND]) == [
        ("RCCL", "2.22.3-develop:abc"),
        ("RCCL", None),
    ]


def test_of_another_file() -> None:
    """What one file tells is of the runs in it; of several runs elsewhere nobody knows whose it is."""
    assert versions([OLD, *FIRST], [NEW, *SECOND]) == [("NCCL", "2.10.3+cuda11.3"), ("NCCL", "2.21.5+cuda12.4")]
    assert versions([OLD], FIRST) == [("NCCL", "2.10.3+cuda11.3")]
    assert versions([OLD], FIRST, SECOND) == [("NCCL", None), ("NCCL", None)]


def openmpi(family: int, pid: int = 14) -> list[str]:
    """A run of Open MPI with two ranks on two hosts."""
    return [
        f"[n{rank}:{pid:05d}] mca: bml: Using {btl} btl for send to [[{family},1],{peer}] on node n{peer}"
        for rank in (0, 1)
        for peer, btl in ((rank, "self"), (1 - rank, "openib"))
    ]


TOOL = "mpirun (Open MPI) {}"


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ([TOOL.format("4.1.5"), *openmpi(1)], ["4.1.5"]),
        # what a tool tells holds until it is asked again
        ([TOOL.format("4.1.5"), "+ " + MPIRUN, *openmpi(1), "+ " + MPIRUN, *openmpi(2, 24)], ["4.1.5", "4.1.5"]),
        (
            [
                *(TOOL.format("4.1.5"), "+ " + MPIRUN, *openmpi(1)),
                *(TOOL.format("5.0.3"), "+ " + MPIRUN, *openmpi(2, 24)),
            ],
            ["4.1.5", "5.0.3"],
        ),
        (["+ " + MPIRUN, *openmpi(1), TOOL.format("5.0.3"), "+ " + MPIRUN, *openmpi(2, 24)], [None, "5.0.3"]),
        # what a rank tells (MPI_Get_library_version) is its run's
        (["+ " + MPIRUN, "Open MPI v4.1.5, package: x", *openmpi(1), "+ " + MPIRUN, *openmpi(2, 24)], ["4.1.5", None]),
        ([*openmpi(1), "+ " + MPIRUN, "Open MPI v4.1.5, package: x", *openmpi(2, 24)], [None, "4.1.5"]),
    ],
)
def test_openmpi(lines: list[str], wanted: list[str | None]) -> None:
    assert versions(lines) == [("Open MPI", version) for version in wanted]


def ucx(pid: int, version: str | None = None) -> list[str]:
    """A run of UCX with two ranks on two hosts."""
    found = []
    for host in ("n0", "n1"):
        head = f"[1733000000.{pid}00000] [{host}:{pid}   :0]"
        if version:
            found.append(
                f"{head}     ucp_context.c:2119 UCX  INFO  Version {version} (loaded from /usr/lib/libucp.so.0)"
            )
        found.append(f"{head}      ucp_worker.c:1888 UCX  INFO    0x55d0 self cfg#0 tag(self/memory cma/memory)")
        found.append(f"{head}      ucp_worker.c:1888 UCX  INFO    0x55d0 inter-node cfg#1 tag(rc_mlx5/mlx5_0:1)")
    return found


@pytest.mark.parametrize("first", [None, "1.14.1"])
@pytest.mark.parametrize("second", [None, "1.14.1", "1.15.0"])
def test_ucx(first: str | None, second: str | None) -> None:
    lines = ["+ " + MPIRUN, *ucx(14, first), "+ " + MPIRUN, *ucx(24, second)]
    assert versions(lines) == [("UCX", first), ("UCX", second)]


def intel(version: str | None) -> list[str]:
    """A run of Intel MPI with two ranks on two hosts."""
    return [
        *([f"[0] MPI startup(): Intel(R) MPI Library, Version {version}  Build 20220227"] if version else []),
        "[0] MPI startup(): libfabric provider: verbs;ofi_rxm",
        "[0] MPI startup(): Rank    Pid      Node name  Pin cpu",
        "[0] MPI startup(): 0       100      n01        {0}",
        "[0] MPI startup(): 1       200      n02        {0}",
    ]


@pytest.mark.parametrize("first", [None, "2021.6"])
@pytest.mark.parametrize("second", [None, "2021.6", "2019.8"])
def test_intel_mpi(first: str | None, second: str | None) -> None:
    lines = ["+ " + MPIRUN, *intel(first), "+ " + MPIRUN, *intel(second)]
    assert versions(lines) == [("Intel MPI", first), ("Intel MPI", second)]


MPICH = [
    "Required minimum FI_VERSION: 0, current version: 10012",
    "==== Capability set configuration ====",
    "libfabric provider: verbs;ofi_rxm - mlx5_0",
    "[0] n01 rank 0 local 0",
]


def mpich(number: str = "") -> list[str]:
    """A run of MPICH over libfabric; the version as mpichversion and MPI_Get_library_version tell it."""
    return [*([f"MPICH Version:\t{number}"] if number else []), *MPICH]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["+ " + MPIRUN, *mpich("4.1"), "+ " + MPIRUN, *mpich("4.2")], ["4.1", "4.2"]),
        (["+ " + MPIRUN, *mpich("4.1"), "+ " + MPIRUN, *mpich()], ["4.1", None]),
        (["+ " + MPIRUN, *mpich(), "+ " + MPIRUN, *mpich("4.1")], [None, "4.1"]),
        (["+ " + MPIRUN, *mpich("4.1"), "+ " + MPIRUN, *mpich("4.1")], ["4.1", "4.1"]),
        # the script's header, by mpichversion
        (["MPICH Version:\t4.1", "+ " + MPIRUN, *mpich(), "+ " + MPIRUN, *mpich()], ["4.1", "4.1"]),
        # the first run's last word, or the script's before the second one
        (["+ " + MPIRUN, *mpich(), "MPICH Version:\t4.1", "+ " + MPIRUN, *mpich()], [None, None]),
    ],
)
def test_mpich(lines: list[str], wanted: list[str | None]) -> None:
    assert [version for _, version in versions(lines)] == wanted
