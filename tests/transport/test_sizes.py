"""How many ranks and hosts there are, as far as variables and command lines tell."""

from __future__ import annotations

import sys

from support.job_logs import judged, nccl_lines

from ibkit.parsers.job_facts import Said, Setting
from ibkit.transport.logs.sizes import Known, Sizes


def told(*settings: tuple[str, str]) -> Sizes:
    sizes = Sizes()
    for number, (name, value) in enumerate(settings, 1):
        sizes.count(Setting(Said(number, f"{name}={value}", None, None), "job", name, value))
    return sizes


def test_what_all_say_is_known() -> None:
    sizes = told(("SLURM_NNODES", "4"), ("SLURM_NTASKS", "32"), ("nodes", "4"), ("ranks", "32"))
    assert sizes.known() == Known(32, 4)
    assert list(sizes.signs()) == ["SLURM_NNODES", "SLURM_NTASKS", "nodes", "ranks"]


def test_who_says_another_number_makes_it_unknown() -> None:
    assert told(("SLURM_NNODES", "4"), ("nodes", "5"), ("SLURM_NNODES", "4")).known() == Known()
    assert told(("SLURM_NTASKS", "8"), ("ranks", "9")).known() == Known()
    assert told(("SLURM_NTASKS", "x" * 9), ("nodes", "4" * 5000)).known() == Known()


def test_a_log_full_of_numbers_takes_no_memory() -> None:
    """It says as much as one with two of them."""
    sizes = told(*(("nodes", f"{number}") for number in range(50_000)), *(("ranks", f"{n}") for n in range(50_000)))
    assert sizes.known() == told(("nodes", "1"), ("nodes", "2"), ("ranks", "49999")).known() == Known(49_999)
    assert sum(sys.getsizeof(part) for part in vars(sizes).values()) < 5000


_ONE_HOST = "Job was executed on host(s) <m01>, in queue <normal>, as user <me> in cluster <c1>\n"


def test_a_report_of_one_host_is_not_of_ranks_on_two() -> None:
    """Two ranks that are each the first of their host: the job has started its ranks elsewhere."""
    text = (
        "libfabric provider: verbs;ofi_rxm - IB-0xfe80000000000000\n"
        "Rank: 0, Local_rank: 0, NIC: mlx5_0\nRank: 1, Local_rank: 0, NIC: mlx5_0\n"
    )
    assert judged(_ONE_HOST + text).verdict == judged(text).verdict == "rdma"


def test_two_names_are_two_hosts_for_nccl_whoever_says_that_there_is_one() -> None:
    """It hashes the name (src/misc/utils.cc, getHostHash), so that two containers of one host speak by the network."""
    text = "\n".join(nccl_lines(network=None)) + "\n"
    assert judged(_ONE_HOST + text).verdict == judged(text).verdict == "ib"
