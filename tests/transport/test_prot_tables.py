"""Runs of HP-MPI and Platform MPI, by the table of ``mpirun -prot``: what is whole decides, what is torn does not."""

from __future__ import annotations

import pytest
from support.job_logs import judged, reason_ids, text


def table(
    between: str, *, hosts: int = 2, within: str = "SHM", sentence: str | None = "", subnet: int = 1
) -> list[str]:
    """The lines of a table of hosts with four ranks each; no sentences where ``sentence`` is None."""
    lines = [
        f"Host {n} -- ip 10.{subnet}.{n // 250}.{n % 250 + 1} -- ranks {4 * n} - {4 * n + 3}" for n in range(hosts)
    ]
    lines += ["", " host | " + "".join(f"{n:<5}" for n in range(hosts)).rstrip(), "======|=" + "=" * 5 * hosts]
    for n in range(hosts):
        cells = [within if n == m else between for m in range(hosts)]
        lines.append(f"{n:5} : " + " ".join(f"{cell:<4}" for cell in cells).rstrip())
    if sentence is not None:
        lines += ["", f" Prot -  All Intra-node communication is: {within}"]
        lines += [f" Prot -  All Inter-node communication is: {sentence or between}"] * (hosts > 1)
    return [*lines, ""]


@pytest.mark.parametrize(
    ("protocol", "verdict"),
    [
        ("IBV", "rdma"), ("UDAPL", "rdma"), ("IBAL", "rdma"), ("VAPI", "ib"), ("ITAPI", "ib"), ("TCP", "tcp"),
        ("PSM", "unknown"), ("GM", "unknown"), ("MX", "unknown"), ("ELAN", "unknown"), ("PSM2", "unknown"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sentence", ["", None])
def test_each_protocol(protocol: str, verdict: str, sentence: str | None) -> None:
    answer = judged(text(table(protocol, sentence=sentence)))
    assert answer.verdict == verdict
    assert [pair.transport for pair in answer.layers[0].pairs if pair.a != pair.b] == [verdict]
    if verdict == "unknown":
        assert protocol in (answer.next_step or "")


def test_a_sentence_that_its_table_contradicts_decides_nothing() -> None:
    assert judged(text(table("TCP", sentence="IBV"))).verdict == "unknown"


def test_a_sentence_about_other_hosts_under_a_table_of_one_decides_nothing() -> None:
    lines = [*table("", hosts=1), " Prot -  All Inter-node communication is: IBV"]
    assert judged(text(lines)).verdict == "unknown"


def test_one_host_whose_ranks_use_the_hca() -> None:
    assert judged(text(table("", hosts=1, within="IBV"))).verdict == "rdma"


def test_a_host_that_an_appfile_lists_twice_is_one() -> None:
    lines = [line.replace("10.1.0.2", "10.1.0.1") for line in table("SHM", sentence=None)]
    (layer,) = judged(text(lines)).layers
    assert (layer.verdict, layer.hosts) == ("shm", ("10.1.0.1",))


def test_a_mixture_is_one_whatever_rows_are_missing() -> None:
    lines = table("IBV", hosts=4, sentence=None)
    rows = [line.replace("SHM  IBV  IBV  IBV", "SHM  IBV  TCP  IBV") for line in lines][:9]
    answer = judged(text(rows))
    assert (answer.verdict, answer.status) == ("mixed", "mixed")


def test_of_many_hosts_only_what_differs_is_a_pair() -> None:
    size = 250
    lines = table("IBV", hosts=size, sentence=None)
    first = next(n for n, line in enumerate(lines) if line.startswith("    0 : "))
    cells = lines[first].split()
    cells[2 + 200] = "TCP"
    lines[first] = "    0 : " + "  ".join(cells[2:])
    answer = judged(text(lines))
    assert answer.verdict == "mixed"
    pairs = {(pair.a, pair.b): pair.transport for pair in answer.layers[0].pairs if pair.a != pair.b}
    assert pairs["10.1.0.1", "10.1.0.201"] == "mixed"  # there by TCP, and back by IBV
    assert len(pairs) == 249 + 1  # beside the diagonal, and that one
    assert [problem.kind for problem in answer.problems] == ["many-pairs"]
    assert answer.problems[0].text.startswith("30875 more")  # of 250 * 249 / 2, without 249 and that one


def test_the_first_interconnect_that_is_asked_for_counts() -> None:
    def status(*before: str) -> tuple[str, set[str]]:
        answer = judged(text([*before, *table("TCP")]))
        return answer.status, set(reason_ids(answer.layers[0]))

    assert status("export MPI_IC_ORDER=tcp") == ("by-configuration", {"wrongtls"})
    assert status("export MPI_IC_ORDER=TCP:ibv") == ("by-configuration", {"wrongtls"})
    assert status("export MPI_IC_ORDER=ibv:tcp") == ("fallback", set())
    assert status("export MPI_IC_ORDER=tcp", "export MPI_IC_ORDER=ibv:tcp") == ("fallback", set())
    assert status("export MPI_IC_ORDER=tcp", "unset MPI_IC_ORDER") == ("fallback", set())
    assert status("export MPI_IC_ORDER=tcp", "mpirun -ibv -prot -np 8 ./a") == ("fallback", set())
    assert status("mpirun -TCP -np 8 ./other", "mpirun -prot -np 8 ./a") == ("fallback", set())


def test_a_run_that_failed_before_another_one_is_a_run() -> None:
    failed = (
        "pp.x: Rank 0:1: MPI_Init: The IB ports choosen for IB connection setup do not have the same subnet_prefix."
    )
    answer = judged(text(["mpirun -prot ./pp.x", failed, "mpirun -prot ./pp.x", *table("IBV")]))
    assert answer.status == "aborted"
    assert sorted((layer.verdict, layer.status) for layer in answer.layers) == [
        ("none", "aborted"),
        ("rdma", "as-expected"),
    ]


def test_a_rank_that_dies_is_of_the_run_before_it() -> None:
    died = "MPI Application rank 3 exited before MPI_Finalize() with status 1"
    answer = judged(text(["mpirun -prot ./a", *table("IBV"), died, "mpirun -prot ./a", *table("IBV"), "done"]))
    assert [layer.status for layer in answer.layers] == ["aborted", "as-expected"]


def test_tables_in_two_files_are_two_runs() -> None:
    answer = judged(text(table("IBV")), text(table("TCP", subnet=2)))
    assert [layer.verdict for layer in answer.layers] == ["rdma", "tcp"]


def test_a_log_that_was_cut_before_its_last_cell_does_not_tell() -> None:
    """What is missing may be the cell that makes it a mixture."""
    whole = text(table("IBV", hosts=3, sentence=None)).rstrip()
    for size in range(1, whole.rindex("IBV")):
        assert judged(whole[:size]).verdict == "unknown", whole[:size]
    assert judged(whole + "\n").verdict == "rdma"
