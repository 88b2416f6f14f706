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
