"""TCP over an interface of InfiniBand's link type, beside RDMA devices: what IPoIB is to whoever looks.

SoftRoCE's ports speak Ethernet, on which the kernel makes no IPoIB interface; a tun device has the link type that it is
given. Two hosts are two namespaces, and a job of each user is looked at in all ways.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.guest_jobs import ANSWER_SECONDS, FOR_LONG, IBKIT, NOBODY, ROOT, Answer, Programs, environment, running
from support.namespaces import Cluster, cluster

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.needs("openmpi", "iproute"),
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="makes hosts of its own"),
]
USERS = {"root": (), "nobody": NOBODY}
#: The distribution's parameter file of Open MPI leaves it no module for HCAs.
TRUTH = (1, "ipoib", "by-configuration", ("wrongtls",))


@pytest.fixture(scope="module")
def hosts() -> Iterator[Cluster]:
    folder = Path("/run/hosts")
    folder.mkdir(mode=0o755)
    with cluster(folder) as made:
        made.add_ipoib("ib0")
        (folder / "ibkit").write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m ibkit "$@"\n')
        (folder / "ibkit").chmod(0o755)
        made.environment = environment()
        made.environment["PATH"] = f"{folder}:{made.environment['PATH']}"
        yield made


@pytest.fixture(scope="module", params=list(USERS))
def user(request: pytest.FixtureRequest, hosts: Cluster) -> tuple[str, ...]:
    """He runs the job, also what of it is started on the other host, and asks."""
    hosts.user = USERS[request.param]
    return hosts.user


def job(hosts: Cluster, program: str, lasts: tuple[str, ...]) -> tuple[str, ...]:
    where = ("--host", "nodea:1,nodeb:1", "--mca", "plm_rsh_agent", str(hosts.rsh))
    return ("mpirun.openmpi", *where, "--mca", "btl_tcp_if_include", "ib0", program, "5", "0", *lasts)


def ask(hosts: Cluster, *words: str) -> Answer:
    done = subprocess.run(
        hosts.inside("nodea", *hosts.user, *IBKIT, *words), env=environment(), capture_output=True, text=True,
        timeout=ANSWER_SECONDS, check=False, stdin=subprocess.DEVNULL, errors="replace",
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    return Answer(done.returncode, json.loads(done.stdout), done.stderr[-3000:])


@pytest.fixture(scope="module")
def asked(user: tuple[str, ...], hosts: Cluster, programs: Programs) -> Mapping[str, Answer]:
    """What each way of asking says of a running job."""
    command = hosts.inside("nodea", *user, *job(hosts, programs.openmpi, FOR_LONG))
    with running(command, b"the ring goes round\n", nice=10):  # in the window of one host the other one looks, too
        (rank,) = hosts.run("nodea", "pgrep", "-f", f"^{programs.openmpi} ").stdout.split()
        both = ("--window", "4", "--hosts", "nodea,nodeb", "--rsh", str(hosts.rsh))
        return {way: ask(hosts, target, *both) for way, target in (("pid", f"pid:{rank}"), ("running", "running"))}


@pytest.mark.parametrize("way", ["pid", "running"])
def test_a_running_job(asked: Mapping[str, Answer], way: str) -> None:
    said = asked[way]
    assert said.told == TRUTH, (said.document, said.err)
    (pair,) = said.document["layers"][0]["pairs"]
    assert (pair["a"], pair["b"], pair["transport"]) == ("nodea", "nodeb", "ipoib")
    assert all("over ib0 (IPoIB)" in one["text"] for one in said.document["evidence"] if one["class"] == "process")


def test_a_launched_job(user: tuple[str, ...], hosts: Cluster, programs: Programs) -> None:
    said = ask(hosts, "--", *job(hosts, programs.openmpi, ("0",)))
    assert said.told == TRUTH, (said.document, said.err)
