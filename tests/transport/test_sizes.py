"""How many ranks and hosts there are, as far as variables and command lines tell."""

from __future__ import annotations

import sys

import pytest
from support.job_logs import judged, nccl_lines

from ibkit.parsers.hostfile import Hosts
from ibkit.parsers.job_facts import Allocation, Said, Setting
from ibkit.transport.logs.sizes import Known, Sizes


def told(*settings: tuple[str, str]) -> Sizes:
    sizes = Sizes()
    for number, (name, value) in enumerate(settings, 1):
        sizes.count(Setting(Said(number, f"{name}={value}", None, None), "job", name, value))
    return sizes


def test_what_all_say_is_known() -> None:
    sizes = told(("SLURM_NNODES", "4"), ("SLURM_NTASKS", "32"), ("nodes", "4"), ("ranks", "32"))
    assert sizes.known(fills_cores=False) == Known(32, 4)
    assert list(sizes.signs()) == ["SLURM_NNODES", "SLURM_NTASKS", "nodes", "ranks"]


NODES = ("SLURM_JOB_NUM_NODES", "2")
ROOM = ("SLURM_TASKS_PER_NODE", "32(x2)")


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [
        ([NODES], 2),
        ([("SLURM_JOB_NUM_NODES", "1"), ("ranks", "2")], 1),
        ([NODES, ("ranks", "2")], None),  # both may be on the first node
        ([NODES, ("ranks", "2"), ("SLURM_NTASKS", "2")], 2),
        ([NODES, ("ranks", "32"), ROOM], None),
        ([NODES, ("ranks", "33"), ROOM], 2),
        ([("SLURM_JOB_NUM_NODES", "3"), ("ranks", "5"), ("SLURM_TASKS_PER_NODE", "4,2,1")], None),
        ([("SLURM_JOB_NUM_NODES", "3"), ("ranks", "7"), ("SLURM_TASKS_PER_NODE", "4,2,1")], 3),
        ([NODES, ("tasks", "2")], 2),  # srun(1): SLURM_JOB_NUM_NODES is --nodes
        ([NODES, ("tasks", "1")], None),
        ([NODES, ("tasks", "2"), ("per-node", "2")], None),
        ([NODES, ("tasks", "3"), ("per-node", "2")], 2),
        ([NODES, ("nodes", "1"), ("tasks", "2")], None),
        ([("nodes", "1"), ("nodes", "2")], None),
        ([("nodes", "2"), ("ranks", "2")], 2),
    ],
)
def test_on_how_many_hosts_ranks_are(settings: list[tuple[str, str]], hosts: int | None) -> None:
    """By hand: srun uses all nodes of its step, other launchers fill a node before they take the next one."""
    assert told(*settings).known(fills_cores=False).hosts == hosts
    assert told(*reversed(settings)).known(fills_cores=True).hosts == hosts


@pytest.mark.parametrize(
    ("hosts", "settings", "by_slots", "by_cores"),
    [
        (Hosts(("n1", "n2")), [("ranks", "2")], 2, None),
        (Hosts(("n1", "n2")), [("ranks", "2"), ("per-node", "1")], 2, 2),
        (Hosts(("n1", "n2")), [("ranks", "2"), ("per-node", "2")], None, None),
        (Hosts(("n1", "n2")), [("ranks", "3"), ("per-node", "2")], 2, 2),
        (Hosts(("n1", "n2"), 2), [("ranks", "2")], 2, 2),
        (Hosts(("n1", "n2"), 8), [("ranks", "2"), NODES], None, None),
        (Hosts(("n1", "n2")), [("ranks", "2"), NODES], 2, None),
        (Hosts(("n1",)), [("ranks", "2")], 1, 1),
        (Hosts(("n1", "n2")), [], 2, 2),
    ],
)
def test_which_hosts_of_a_list_have_ranks(
    hosts: Hosts, settings: list[tuple[str, str]], by_slots: int | None, by_cores: int | None
) -> None:
    """Intel MPI takes a host to have as many slots as cores, Hydra and Open MPI to have one."""
    for fills_cores, used in ((False, by_slots), (True, by_cores)):
        sizes = told(*settings)
        sizes.list_hosts(Allocation(Said(1, "", None, None), "command", hosts.names, hosts.slots))
        assert sizes.known(fills_cores=fills_cores).hosts == used


def test_who_says_another_number_makes_it_unknown() -> None:
    assert told(("SLURM_NNODES", "4"), ("nodes", "5"), ("SLURM_NNODES", "4")).known(fills_cores=False) == Known()
    assert told(("SLURM_NTASKS", "8"), ("ranks", "9")).known(fills_cores=False) == Known()
    assert told(("SLURM_NTASKS", "x" * 9), ("nodes", "4" * 5000)).known(fills_cores=False) == Known()


def test_a_log_full_of_numbers_takes_no_memory() -> None:
    """It says as much as one with two of them."""
    sizes = told(*(("nodes", f"{number}") for number in range(50_000)), *(("ranks", f"{n}") for n in range(50_000)))
    assert (
        sizes.known(fills_cores=False)
        == told(("nodes", "1"), ("nodes", "2"), ("ranks", "49999")).known(fills_cores=False)
        == Known(49_999)
    )
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


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ("srun -N1 -n2 ./a", "unknown"),  # one host, of which nothing tells that its ranks share memory
        ("srun -N2 -n2 ./a", "tcp"),
        ("srun -N2 -n2 ./a\nsrun -N2 -n2 ./b", "tcp"),
        ("srun -N2 -n2 ./a\nsrun ./b", "unknown"),  # which of them wrote the log?
    ],
)
def test_a_script_s_commands_count_where_all_ask_for_the_same(script: str, verdict: str) -> None:
    log = (
        "[0] MPI startup(): Intel(R) MPI Library, Version 2021.9\n[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n"
    )
    assert judged(log, script + "\n", names=["job.out", "job.sh"]).verdict == verdict
