"""One answer from a job's output and from what its ranks were seen to move."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair, Reason
from ibkit.parsers.base import Problem
from ibkit.transport.log_and_live import joined
from ibkit.transport.logs.job import open_job
from ibkit.transport.logs.verdict import judge

RECORDED = Path(__file__).parents[2] / "fixtures/jobs-recorded"
NOT_DECIDED = ("unknown", "none", "mixed")


def answer(
    verdict: str, status: str = "as-expected", evidence_class: str = "selection", hosts: tuple[str, ...] = ("n1",),
    layer: str = "mpi",
) -> JobVerdict:  # fmt: skip
    """One layer on one host, with one line for it where it is decided."""
    evidence: tuple[Evidence, ...] = ()
    if verdict not in NOT_DECIDED:
        evidence = (Evidence(1, evidence_class, "stderr", 7, "a line", "n1", 0, verdict),)
    ids = tuple(one.id for one in evidence)
    pairs = (Pair("n1", "n1", verdict, (), ids),) if ids else ()
    found = Layer(layer, verdict, status, hosts=hosts, ranks=2, pairs=pairs)
    return JobVerdict("job", verdict, status, (found,), evidence)


def seen(verdict: str, status: str = "as-expected", layer: str = "mpi") -> JobVerdict:
    return answer(verdict, status, "process", layer=layer)


def test_what_the_output_leaves_open_is_what_was_seen() -> None:
    told = answer("unknown", "undecided")
    told = told._replace(layers=(told.layers[0]._replace(runtime="Open MPI", next_step="..."),))
    found = joined(told, [seen("tcp", "fallback")])
    assert (found.verdict, found.status, found.next_step) == ("tcp", "fallback", None)
    assert (found.layers[0].runtime, found.layers[0].next_step) == ("Open MPI", None)
    assert [one.evidence_class for one in found.evidence] == ["process"]


def test_an_mpi_that_is_linked_into_the_program_shows_no_library() -> None:
    found = joined(answer("unknown", "undecided"), [seen("tcp", "fallback", "tasks")])
    assert [(one.layer, one.verdict, one.status) for one in found.layers] == [("mpi", "tcp", "fallback")]


def test_an_output_that_says_nothing_at_all() -> None:
    found = joined(JobVerdict("job", "unknown", "undecided", (), (), "give more"), [seen("ib")])
    assert (found.verdict, found.status, len(found.layers)) == ("ib", "as-expected", 1)


def test_where_both_agree_both_are_cited_under_their_own_numbers() -> None:
    found = joined(answer("tcp", "fallback"), [seen("tcp", "fallback")])
    assert [(one.id, one.evidence_class) for one in found.evidence] == [(1, "selection"), (2, "process")]
    assert found.layers[0].pairs[0].evidence == (1,)
    assert found.problems == ()


@pytest.mark.parametrize(("told", "live"), [("rdma", "roce"), ("rdma", "ib"), ("tcp", "ipoib")])
def test_the_more_special_word_is_taken(told: str, live: str) -> None:
    found = joined(answer(told), [seen(live)])
    assert (found.verdict, found.layers[0].pairs[0].transport) == (live, live)


def test_the_link_layer_of_one_host_is_not_that_of_others() -> None:
    assert joined(answer("rdma", hosts=("n1", "n2")), [seen("roce")]).verdict == "rdma"


@pytest.mark.parametrize("evidence_class", ["path", "selection"])
@pytest.mark.parametrize(
    ("told", "live"), [("ib", "tcp"), ("tcp", "roce"), ("shm", "tcp"), ("tcp", "shm"), ("rdma", "shm"), ("ib", "mixed")]
)
def test_a_line_about_the_path_is_stronger_and_the_contradiction_is_told(
    told: str, live: str, evidence_class: str
) -> None:
    found = joined(answer(told, evidence_class=evidence_class), [seen(live)])
    assert (found.verdict, found.status) == (told, "as-expected")
    assert [problem.kind for problem in found.problems] == ["contradiction"]
    assert told in found.problems[0].text
    assert live in found.problems[0].text


def test_a_contradicted_verdict_that_no_line_about_a_path_proves_is_open_again() -> None:
    found = joined(answer("tcp", "by-configuration", "configuration"), [seen("roce")])
    assert (found.verdict, found.status, found.layers[0].pairs) == ("unknown", "undecided", ())
    assert found.next_step
    assert [problem.kind for problem in found.problems] == ["contradiction"]


def test_a_mixture_stays_one() -> None:
    found = joined(answer("mixed", "mixed"), [seen("tcp", "fallback")])
    assert (found.verdict, found.status, found.problems) == ("mixed", "mixed", ())


def test_an_aborted_job_used_until_then_what_was_seen() -> None:
    found = joined(answer("none", "aborted"), [seen("roce")])
    assert (found.verdict, found.status) == ("roce", "aborted")


def test_looks_that_contradict_each_other_are_not_used() -> None:
    found = joined(answer("unknown", "undecided"), [seen("tcp", "fallback"), seen("roce")])
    assert (found.verdict, found.status) == ("unknown", "undecided")
    assert [problem.kind for problem in found.problems] == ["contradiction"]


def of_run(process: str, verdict: str, status: str = "as-expected") -> JobVerdict:
    """A look at the run whose first process that is."""
    found = seen(verdict, status)
    return found._replace(layers=(found.layers[0]._replace(process=process),))


def test_looks_at_several_runs_are_a_layer_each() -> None:
    """A script that starts one job after the other, and sends what both print to files."""
    looks = [of_run("pid:11", "tcp", "fallback"), of_run("pid:31", "shm"), of_run("pid:31", "shm")]
    found = joined(JobVerdict("job", "unknown", "undecided"), looks)
    assert [(one.job, one.verdict, one.process) for one in found.layers] == [(1, "tcp", "pid:11"), (2, "shm", "pid:31")]
    assert (found.verdict, found.status, found.problems) == ("tcp", "fallback", ())


def test_runs_that_agree_are_one() -> None:
    looks = [of_run("pid:11", "tcp", "fallback"), of_run("pid:31", "tcp", "fallback")]
    assert [one.verdict for one in joined(answer("unknown", "undecided"), looks).layers] == ["tcp"]


def test_several_runs_beside_an_output_that_leaves_one_open() -> None:
    looks = [of_run("pid:11", "tcp", "fallback"), of_run("pid:31", "shm")]
    found = joined(answer("unknown", "undecided"), looks)
    assert (found.verdict, [problem.kind for problem in found.problems]) == ("unknown", ["contradiction"])


@pytest.mark.parametrize(
    "line",
    [
        "[n1:31] mca: bml: Using vader btl for send to [[1,1],1] on node n1",
        "[1796236642.419113] [n1:31:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(sysv/memory)",
        "[1796236642.419113] [n1:31   :0]   ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(sysv/memory)",
        "n1:31:44 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM",
    ],
)
@pytest.mark.parametrize(("ranks", "verdicts"), [({11, 12}, ["shm", "tcp"]), ({31, 32}, ["shm"])])
def test_an_output_of_other_processes_is_of_another_run(line: str, ranks: set[int], verdicts: list[str]) -> None:
    told = answer("shm", evidence_class="path")
    told = told._replace(evidence=(told.evidence[0]._replace(text=line),))
    found = joined(told, [of_run("pid:11", "tcp", "fallback")], {"pid:11": frozenset(ranks)})
    assert [one.verdict for one in found.layers] == verdicts
    assert len(found.problems) == 2 - len(verdicts)


def test_shared_memory_seen_before_the_network_was_used_is_no_contradiction() -> None:
    assert joined(answer("unknown", "undecided"), [seen("shm"), seen("tcp", "fallback")]).verdict == "tcp"


def test_looks_that_decide_nothing_change_nothing() -> None:
    told = answer("tcp", "fallback")
    blind = seen("unknown", "undecided")._replace(problems=(Problem("not-permitted", "..."),))
    assert joined(told, [blind]) == told
    assert joined(told, []) == told
    assert [one.kind for one in joined(answer("unknown", "undecided"), [blind, blind]).problems] == ["not-permitted"]


def test_which_of_several_runs_was_seen_is_not_known() -> None:
    told = answer("tcp", "fallback")
    told = told._replace(layers=(told.layers[0], told.layers[0]._replace(job=2, verdict="unknown")))
    assert joined(told, [seen("roce")]) == told
    several = seen("roce")
    assert joined(told, [several._replace(layers=several.layers * 2)]) == told


def test_another_layer_beside_a_decided_one_is_not_added() -> None:
    """NCCL's sockets and an MPI's are not told apart from outside."""
    told = answer("ib", layer="nccl")
    assert joined(told, [seen("tcp", "fallback")]) == told


def test_reasons_that_were_seen_point_at_their_own_evidence() -> None:
    live = seen("tcp", "by-configuration")
    live = live._replace(layers=(live.layers[0]._replace(reasons=(Reason("wrongtls", "", "", (1,)),)),))
    told = answer("unknown", "undecided")
    told = told._replace(
        evidence=(Evidence(1, "candidate", "stderr", 1, ""), Evidence(2, "candidate", "stderr", 2, ""))
    )
    found = joined(told, [live])
    assert found.layers[0].reasons[0].evidence == (3,)
    assert found.layers[0].pairs[0].evidence == (3,)
    assert [one.id for one in found.evidence] == [1, 2, 3]


def test_ob1_on_one_host_is_no_line_about_the_path() -> None:
    """A parameter file that no line shows may have left TCP alone: what was seen to move settles it."""
    told = judge(open_job(str(RECORDED / "mpi-default")))
    assert (told.verdict, told.status) == ("unknown", "undecided")
    found = joined(told, [seen("tcp", "fallback")])
    assert (found.verdict, found.status) == ("tcp", "fallback")
    agreed = joined(told, [seen("shm")])
    assert (agreed.verdict, agreed.status) == ("shm", "as-expected")


def test_gloo_that_was_seen_to_carry_the_data() -> None:
    told = answer("tcp", "undecided", layer="gloo")
    found = joined(told, [seen("tcp", "by-configuration", layer="gloo")])
    assert (found.verdict, found.status, found.next_step) == ("tcp", "by-configuration", None)


def test_nccl_that_was_seen_beside_gloo() -> None:
    told = answer("tcp", "undecided", layer="gloo")
    found = joined(told, [seen("roce", layer="nccl")])
    assert (found.verdict, found.status) == ("roce", "as-expected")
    assert [(one.layer, one.verdict, one.status) for one in found.layers] == [
        ("gloo", "tcp", "as-expected"),
        ("nccl", "roce", "as-expected"),
    ]
