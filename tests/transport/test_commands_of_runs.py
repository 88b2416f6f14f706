"""A log of a terminal or a script holds several commands. What one of them sets or asks for is not another one's run's.
Tried with every job log of fixtures/jobs that is one file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re

from test_corpus import truth_of
from test_corpus_variants import logs

from ibkit.cli.main import main

VARIABLES = (
    "UCX_TLS=tcp,self", "OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self", "NCCL_IB_DISABLE=1", "FI_PROVIDER=tcp",
    "I_MPI_FABRICS=shm:tcp", "GLOO_DEVICE_TRANSPORT=TCP",
)  # fmt: skip
#: The same command with variables in front of it, with options on one line and on several, and without any.
BY_VARIABLES = f"$ {' '.join(VARIABLES)} mpirun ./a\n".encode()
OVER_LINES = "$ mpirun -np 4 \\\n --bind-to core {} \\\n --report-bindings ./a\n".format(
    "".join(f" \\\n -x {one} \\\n --tag-output" for one in VARIABLES)
).encode()
BY_OPTIONS = f"$ mpirun {' '.join(f'-x {one}' for one in VARIABLES)} ./a -TCP\n".encode()
PLAIN = b"$ mpirun ./a\n"
EXPORTS = "".join(f"$ export {one}\n" for one in VARIABLES).encode()
OUTPUT = b"Hello\nresidual 1e-9\n"
ASKED, LOST = "by-configuration", "fallback"
#: Enough of them that the test means something: most logs of a fall-back change their status by these settings.
ENOUGH = 100


def layers_of(path: str, data: bytes) -> list[dict[str, object]]:
    with open(path, "wb") as file:
        file.write(data)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main(["check-mpi-transport", "--json", path])
    return json.loads(out.getvalue())["layers"] if out.getvalue().strip() else []


def statuses(path: str, data: bytes) -> list[object]:
    return [layer["status"] for layer in layers_of(path, data)]


def whole(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"


def test_settings(tmp_path: os.PathLike[str]) -> None:
    """A run that fell back did so whatever other commands of the log ask for, and where its own asks for TCP it did as
    told.
    """
    path = os.path.join(tmp_path, "job.log")
    found, tried, with_two = [], 0, 0
    for name, data in logs():
        data = whole(data)
        if truth_of(name).get("status") != LOST or statuses(path, PLAIN + data) != [LOST]:
            continue
        asking = next((one for one in (BY_VARIABLES, BY_OPTIONS) if statuses(path, one + data) == [ASKED]), None)
        if asking is None:
            continue  # its own command stands in it, or what it tells counts for more
        tried += 1
        cases = [
            (OVER_LINES + data, statuses(path, OVER_LINES.replace(b"\\\n", b"") + data)),
            (data + asking, [LOST]),
            (PLAIN + data + asking + OUTPUT, [LOST]),
            (asking + OUTPUT + PLAIN + data, [LOST]),
        ]
        if statuses(path, PLAIN + data + PLAIN + data) == [LOST, LOST]:
            with_two += 1
            cases += [
                (PLAIN + data + asking + data, [LOST, ASKED]),
                (asking + data + PLAIN + data, [ASKED, LOST]),
            ]
            if asking is BY_VARIABLES:
                cases += [
                    (EXPORTS + PLAIN + data + PLAIN + data, [ASKED, ASKED]),
                    (PLAIN + data + EXPORTS + PLAIN + data, [LOST, ASKED]),
                    (data + EXPORTS + PLAIN + data, [LOST, ASKED]),
                ]
        found += [
            f"{name}, case {n}: {got}" for n, (log, want) in enumerate(cases) if (got := statuses(path, log)) != want
        ]
    assert not found
    assert tried > ENOUGH
    assert with_two > ENOUGH // 3


#: What is installed is told of all commands.
OF_ALL = re.compile(rb"MPICH Device:|ch3:")
#: Ranks whose list, or variables, are the last that the log tells may have more lines where another command follows.
LAST_WORDS = frozenset(("intel-2021-table-cut-in-its-third-row", "intel-2021.12-one-host-ofi-only"))


def test_numbers_of_ranks_and_hosts(tmp_path: os.PathLike[str]) -> None:
    """Commands of which nothing else is told are not those of the job's runs."""
    path = os.path.join(tmp_path, "job.log")
    found, tried = [], 0
    for name, data in logs():
        data = whole(data)
        if OF_ALL.search(data) or not (alone := [said(layer) for layer in layers_of(path, PLAIN + data)]):
            continue
        tried += 1
        for other in (b"$ srun -N1 -n1 -w n01 hostname\nn01\n", b"$ mpirun -np 2 -host n01,n02 hostname\nn01\nn02\n"):
            for log in (other + PLAIN + data, PLAIN + data + other):
                if name in LAST_WORDS and log.endswith(other):
                    continue
                if (got := [said(layer) for layer in layers_of(path, log)]) != alone:
                    found.append(f"{name}: {alone} became {got}")
    assert not found
    assert tried > 5 * ENOUGH


def said(layer: dict[str, object]) -> tuple[object, ...]:
    return tuple(layer[key] for key in ("layer", "verdict", "status", "hosts", "ranks"))
