"""``check-mpi-transport pid:N`` and ``running``: jobs over rxe, TCP and shared memory are looked at while they run.

Each job is started once for each user, and asked about in all ways, one after the other: ranks poll, and there is one
CPU. What is true of a job stands in tests/support/guest_jobs.py.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

import pytest
from support.guest_jobs import BOUND_ROOT, FOR_LONG, JOBS, NOBODY, PAIR, Answer, Programs, answer, running

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.needs("openmpi", "mpich"),
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1"),
]
USERS: dict[str, Sequence[str]] = {"root": (), "nobody": NOBODY}
#: Root may lock as much as it likes; one that may not loses verbs as everybody does.
ROOT_OF = {"memlock-openmpi": BOUND_ROOT}
#: Those of which other runs say the same are launched only.
ASKED_ABOUT = [name for name in JOBS if name not in ("mpich-rxe", "memlock-mpich")]
#: One for each of the ways in which a verdict is found: root looks at an ordinary user's, too, and at all that run.
SEEN_BY_ROOT = ("ucx-rxe", "memlock-openmpi")

Asked = Mapping[tuple[str, str], Answer]


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest, programs: Programs) -> Asked:
    """What each way of asking says of a job of a user."""
    name, owner = request.param
    job = JOBS[name]
    prefix = ROOT_OF.get(name, ()) if owner == "root" else NOBODY
    with running((*prefix, *job.command(programs, FOR_LONG)), job.ready, **job.variables) as pid:
        return {
            (asker, way): answer(target, "--window", "1", prefix=USERS[asker])
            for asker in _askers(name, owner)
            for way, target in (("pid", f"pid:{pid}"), ("running", "running"))
            if way in _ways(name, asker)
        }


def _askers(name: str, owner: str) -> list[str]:
    return [owner, "root"] if owner != "root" and name in SEEN_BY_ROOT else [owner]


def _ways(name: str, asker: str) -> tuple[str, ...]:
    """All of a host's jobs are found in the same way whatever they are: an ordinary user asks about each, root about
    some. The guest has one slow CPU.
    """
    return ("pid", "running") if asker != "root" or name in SEEN_BY_ROOT else ("pid",)


#: pytest shares a fixture where its parameter is the same object, not an equal one.
RUNS = [(name, owner) for name in ASKED_ABOUT for owner in USERS]
CELLS = [
    pytest.param(run, asker, way, id=f"{run[0]}-of-{run[1]}-{way}-by-{asker}")
    for run in RUNS
    for asker in _askers(*run)
    for way in _ways(run[0], asker)
]


@pytest.mark.parametrize(("asked", "asker", "way"), CELLS, indirect=["asked"])
def test_a_running_job(asked: Asked, asker: str, way: str, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["asked"][0]
    job, said = JOBS[name], asked[asker, way]
    assert said.told == (job.exit_status, job.verdict, job.status, job.reasons), (said.document, said.err)
    (layer,) = said.document["layers"]
    assert layer["ranks"] == 2
    if job.verdict in ("roce", "tcp"):
        assert {one["rank"] for one in said.document["evidence"] if one["class"] == "process"} == {0, 1}


def test_roots_ranks_are_not_guessed_about_by_others(programs: Programs) -> None:
    """An ordinary user sees root's queue pairs, and not whose ranks they are."""
    job = JOBS["ucx-rxe"]
    with running(job.command(programs, FOR_LONG), job.ready, **job.variables) as pid:
        said = answer(f"pid:{pid}", "--window", "1", prefix=NOBODY)
    assert said.told[:2] in ((3, "unknown"), (0, "roce")), said.document
    assert any(problem["kind"] == "not-permitted" for problem in said.document["problems"]), said.document


def test_a_queue_pair_that_stands_still_is_no_proof(programs: Programs) -> None:
    with running(("sh", "-c", 'sleep 600 | "$0" "$@"', *PAIR), JOBS["pair"].ready) as pid:
        said = answer(f"pid:{pid}", "--window", "1")
    assert said.told == (3, "unknown", "undecided", ()), (said.document, said.err)
