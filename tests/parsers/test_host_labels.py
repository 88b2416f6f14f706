"""The host's name that pdsh, clush, pssh and GNU parallel put in front of each line."""

from __future__ import annotations

import pytest
from support.job_logs import bml_lines, judged, nccl_lines

from ibkit.parsers.line_prefixes import HostLabels, to_line


def bare(*lines: str) -> list[str]:
    labels = HostLabels()
    return [labels.without(to_line(number, line.encode())).text for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize("label", ["{}: ", "{}\t", "[{}] ", "[{}] out: "])
@pytest.mark.parametrize("host", ["n01", "gpu-a17.example.org", "10.1.2.3"])
def test_on_all_lines(label: str, host: str) -> None:
    if host[0] == "1" and label.startswith("["):
        return  # numbers in brackets are times
    lines = ["NCCL version 2.19.3+cuda12.2", " host | 0 1", "libfabric provider: tcp - 10.149.0.0/16"]
    assert bare(*(label.format(host) + line for line in lines)) == lines


def test_a_prefix_behind_it() -> None:
    assert bare("n01: [1,3]<stdout>:libfabric provider: tcp") == ["libfabric provider: tcp"]


def test_a_name_without_a_digit_counts_where_its_line_names_the_host_again() -> None:
    assert bare("login: login:17:18 [0] NCCL INFO x", "login: NCCL version 2.19.3") == [
        "login:17:18 [0] NCCL INFO x",
        "NCCL version 2.19.3",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "backend_name: gloo",
        "Module: OpenFabrics (openib)",
        "key: A == tcp",
        "mlx5: n01: got completion with error:",
        "Rank: 0, Local_rank: 0, NIC: cxi0",
        "MPICH2 Version: 1.4",
        "[Gloo] Rank 0 is connected to 1 peer ranks.",
        "[1771920031.346898] [n01:5100 :0] ucp_worker.c:1855 UCX  INFO  x",
        "n01:17:18 [0] NCCL INFO x",
    ],
)
def test_what_a_line_says(line: str) -> None:
    assert bare(line) == [line]


def test_other_words_once_a_line_had_none() -> None:
    assert bare("+ date", "run1: NCCL version 2.19.3") == ["+ date", "run1: NCCL version 2.19.3"]


def test_the_verdict_and_the_version_stay() -> None:
    for lines in (nccl_lines(), bml_lines(btl="tcp")):
        one, other = (judged("\n".join(text) + "\n").layers for text in (lines, [f"n01: {line}" for line in lines]))
        assert [layer._replace(reasons=()) for layer in one] == [layer._replace(reasons=()) for layer in other]


def ranks(*lines: str) -> list[int | None]:
    labels = HostLabels()
    return [labels.without(to_line(number, line.encode())).rank for number, line in enumerate(lines, 1)]


def test_the_number_of_a_test_is_no_rank() -> None:
    """CMake's ctest -V: a test's number stands before all that it prints; srun's inside of it is a rank."""
    command = '1157: Test command: /usr/bin/mpiexec "-n" "2" "./hello"'
    assert bare(command) == ['/usr/bin/mpiexec "-n" "2" "./hello"']
    assert ranks(command, "1157: NCCL version 2.19.3", "1157: 0: NCCL version 2.19.3", "1158: x") == [
        None, None, 0, None,
    ]  # fmt: skip
    assert ranks("1157: libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.") == [None]


def test_a_number_is_a_rank_once_rank_0_is_there() -> None:
    assert ranks("3: a", " 0: b", "12: c", "2024-05-01T10:00:00Z 3: d", "[1,7]<stdout>:e") == [None, 0, 12, 3, 7]


def test_ctest_invents_no_ranks_and_tells_settings() -> None:
    lines = bml_lines(btl="tcp")
    start = '1157: Test command: /usr/bin/mpiexec "-n" "2" "--mca" "btl" "tcp,self" "./hello"'
    (layer,) = judged("\n".join([start, *(f"1157: {line}" for line in lines)]) + "\n").layers
    assert (layer.verdict, layer.status, [reason.id for reason in layer.reasons]) == (
        "tcp", "by-configuration", ["wrongtls"],
    )  # fmt: skip
    ucx = "1157: [1700000000.1] [n0{}:10:0] ucp_worker.c:1855 UCX  INFO  ep_cfg[2]: tag(tcp/eth0)"
    answer = judged("".join(f"{ucx.format(host)}\n" for host in (1, 2)))
    assert (answer.verdict, answer.problems) == ("tcp", ())
