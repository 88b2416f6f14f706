"""All readers together over whole streams."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import (
    allocations,
    gloo,
    horovod,
    job_log,
    job_settings,
    nccl,
    openmpi,
    other_runtimes,
    torch_distributed,
    ucx,
    verbs_messages,
)
from ibkit.parsers.job_facts import Foreign, Launch, Setting
from ibkit.parsers.job_log import JobLog
from ibkit.parsers.line_prefixes import to_line
from ibkit.parsers.log_lines import IGNORE, shape

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures")


def facts(text: str) -> list[object]:
    return list(JobLog(io.BytesIO(text.encode() + b"\n")))


def settings(text: str) -> list[tuple[str, str, str]]:
    return [fact[1:4] for fact in facts(text) if isinstance(fact, Setting)]


def test_no_telling_line_is_passed_over_by_the_quick_search() -> None:
    kept = 0
    for folder in ("jobs", "jobs-recorded"):
        for top, _, names in os.walk(os.path.join(FIXTURES, folder)):
            for name in names:
                with open(os.path.join(top, name), "rb") as file:
                    lines = file.read().replace(b"\r", b"\n").split(b"\n")
                for raw in {shape(line): line for line in lines}.values():
                    if max(worth(shape(raw)) for worth in job_log._WORTH) != IGNORE:
                        kept += 1
                        assert job_log.worths([shape(raw)]) != [IGNORE] or not said_by(raw), raw
    assert kept > 1000


def said_by(raw: bytes) -> list[object]:
    line = to_line(1, raw)
    found: list[object] = [*nccl.read(line), *openmpi.Reader().read(line), *ucx.Reader().read(line)]
    found += [*verbs_messages.read(line), *other_runtimes.read(line), *job_settings.Reader().read(line)]
    found += [*gloo.read(line), *horovod.read(line), *torch_distributed.read(line)]
    return [*found, *allocations.Reader().read(line)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("UCX_TLS=tcp,self", [("ucx", "UCX_TLS", "tcp,self")]),
        ("export NCCL_IB_DISABLE=1", [("nccl", "NCCL_IB_DISABLE", "1")]),
        ('declare -x OMPI_MCA_btl="tcp,self"', [("ompi", "btl", "tcp,self")]),
        ("setenv UCX_NET_DEVICES eth0", [("ucx", "UCX_NET_DEVICES", "eth0")]),
        ("+ export NCCL_NET=Socket", [("nccl", "NCCL_NET", "Socket")]),
        ("SLURM_NTASKS=16", [("job", "SLURM_NTASKS", "16")]),
        ("$ mpirun -np 4 --mca btl tcp,self -x UCX_TLS=tcp ./a", [("ompi", "btl", "tcp,self"), ("ucx", "UCX_TLS", "tcp"), ("job", "ranks", "4")]),
        ("mpirun -np 1 -x UCX_NET_DEVICES=a:1 x : -np 2 y", [("ucx", "UCX_NET_DEVICES", "a:1"), ("job", "ranks", "3")]),
        ("UCX_TLS=rc timeout 100 /opt/bin/mpiexec.hydra -n 2 ./a", [("ucx", "UCX_TLS", "rc"), ("job", "ranks", "2")]),
        ("srun -N2 -n16 ./a", [("job", "nodes", "2"), ("job", "tasks", "16")]),
        ("mpiexec -genv UCX_TLS tcp -n 2 ./a", [("ucx", "UCX_TLS", "tcp"), ("job", "ranks", "2")]),
        ("mpirun -np 2 \\\n  --mca btl tcp,self \\\n  ./a", [("job", "ranks", "2"), ("ompi", "btl", "tcp,self")]),
        # advice, comments and sentences are no settings
        ("# export NCCL_IB_DISABLE=1", []),
        ("Try NCCL_IB_DISABLE=1 if this fails", []),
        ("run with NCCL_DEBUG=INFO for details", []),
        ("You can set UCX_TLS=tcp to avoid it", []),
        ("to override, use mpirun --mca btl tcp,self", []),
    ],
)  # fmt: skip
def test_settings(text: str, found: list[tuple[str, str, str]]) -> None:
    assert settings(text) == found


def test_a_setting_of_a_continued_command_stands_on_its_own_line() -> None:
    found = [fact for fact in facts("mpirun -np 2 \\\n  --mca btl tcp,self \\\n  ./a") if isinstance(fact, Setting)]
    assert [(fact.name, fact.said.line) for fact in found] == [("ranks", 1), ("btl", 2)]


def test_launchers() -> None:
    text = "$ mpirun -np 2 ./a\nsome output\n$ srun -n 2 ./b\n"
    assert [fact.said.line for fact in facts(text) if isinstance(fact, Launch)] == [1, 3]


@pytest.mark.parametrize(
    ("text", "runtime"),
    [
        ("[0] MPI startup(): libfabric provider: mlx", "Intel MPI"),
        ("libfabric provider:  mlx", None),
        (" MVAPICH2-2.3.7 Parameters", "MVAPICH"),
        ("[n01:mpi_rank_0][rdma_param_handle_heterogeneity] x", "MVAPICH"),
        ("libfabric:4711:1700000000::core:core:fi_getinfo_():1<info> x", "libfabric"),
        ("==== Capability set configuration ====", "MPICH"),
    ],
)
def test_runtimes_that_are_known_by_a_line(text: str, runtime: str | None) -> None:
    found = [fact.runtime for fact in facts(text) if isinstance(fact, Foreign)]
    assert found == ([runtime] if runtime else [])


@given(st.binary(max_size=2000))
def test_arbitrary_bytes_never_fail(data: bytes) -> None:
    list(JobLog(io.BytesIO(data)))


@given(st.data())
def test_a_damaged_log_never_fails(data: st.DataObject) -> None:
    name = data.draw(
        st.sampled_from(["mpi-tcp-orted/stderr", "mpi-rxe/stdout", "mpi-rxe/stderr", "mpich-ucx-tcp/stdout"])
    )
    with open(os.path.join(FIXTURES, "jobs-recorded", name), "rb") as file:
        whole = file.read()
    at = data.draw(st.integers(0, len(whole)))
    hole = data.draw(st.integers(0, 200))
    list(JobLog(io.BytesIO(whole[:at] + data.draw(st.binary(max_size=20)) + whole[at + hole :])))
