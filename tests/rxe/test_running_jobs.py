"""``check-mpi-transport pid:N`` and ``running``: jobs over rxe, TCP and shared memory are looked at while they run.

Each job is started once for each user, and asked about in all ways, one after the other: ranks poll, and there is one
CPU. What is true of a job stands in tests/support/guest_jobs.py.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence

import pytest
from support.guest_jobs import BOUND_ROOT, FOR_LONG, JOBS, NOBODY, Answer, Programs, answer, running

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.needs("openmpi", "mpich"),
    pytest.mark.timeout(120),
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1"),
]
USERS: dict[str, Sequence[str]] = {"root": (), "nobody": NOBODY}
#: Root may lock as much as it likes; one that may not loses verbs as everybody does.
ROOT_OF = {"memlock-mpich": BOUND_ROOT, "memlock-openmpi": BOUND_ROOT}

Asked = Mapping[tuple[str, str], Answer]


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest, programs: Programs) -> Iterator[Asked]:
    """What each way of asking says of a job of a user: asked by him, and by root."""
    name, owner = request.param
    job = JOBS[name]
    prefix = ROOT_OF.get(name, ()) if owner == "root" else NOBODY
    with running((*prefix, *job.command(programs, FOR_LONG)), job.ready, **job.variables) as pid:
        yield {
            (asker, way): answer(target, "--window", "1", prefix=USERS[asker])
            for asker in dict.fromkeys((owner, "root"))
            for way, target in (("pid", f"pid:{pid}"), ("running", "running"))
        }


CELLS = [
    pytest.param((name, owner), asker, way, id=f"{name}-of-{owner}-{way}-by-{asker}")
    for name in JOBS
    for owner in USERS
    for asker in dict.fromkeys((owner, "root"))
    for way in ("pid", "running")
]


@pytest.mark.parametrize(("asked", "asker", "way"), CELLS, indirect=["asked"])
def test_a_running_job(asked: Asked, asker: str, way: str, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["asked"][0]
    job, said = JOBS[name], asked[asker, way]
    assert said.told == (job.exit_status, job.verdict, job.status, job.reasons), (said.document, said.err)
