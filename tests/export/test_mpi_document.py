"""ibkit.mpi/1: its schema, over all job logs of the project, and its rows."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import pytest
from support.job_logs import SOCKET, document, judged, nccl_lines, text
from support.schemas import strict

from ibkit.errors import UnreadableInput
from ibkit.export.mpi import COLUMNS, mpi_document, mpi_rows
from ibkit.model.mpi import EVIDENCE_CLASSES, STATUSES, VERDICTS, Evidence, JobVerdict, Layer, Pair
from ibkit.transport.logs.job import open_job
from ibkit.transport.logs.verdict import judge

ROOT = Path(__file__).parents[2]
SCHEMA = strict("mpi")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORDED = sorted(path for path in (ROOT / "fixtures/jobs-recorded").iterdir() if path.is_dir())
JOBS = sorted(path for path in (ROOT / "fixtures/jobs").iterdir() if path.is_dir())


@pytest.mark.parametrize("folders", [RECORDED, JOBS], ids=["recorded", "corpus"])
def test_each_document_fits_the_schema(folders: list[Path]) -> None:
    judged_any = 0
    for folder in folders:
        truth = folder / "truth.json"
        target = folder / json.loads(truth.read_text())["target"] if truth.exists() else folder
        try:
            answer = judge(open_job(str(target)))
        except UnreadableInput:
            continue
        VALIDATOR.validate(json.loads(json.dumps(mpi_document(answer))))
        judged_any += 1
    assert judged_any >= len(folders) // 2


def test_the_schema_has_the_words_of_the_model() -> None:
    words = SCHEMA["$defs"]
    assert set(words["verdict"]["enum"]) == set(VERDICTS)
    assert set(words["status"]["enum"]) == set(STATUSES)
    assert set(SCHEMA["properties"]["evidence"]["items"]["properties"]["class"]["enum"]) == set(EVIDENCE_CLASSES)


def test_a_document_by_hand() -> None:
    lines = [
        "n01:11:21 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>",
        "n02:12:22 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>",
        "n01:11:21 [0] NCCL INFO NET/IB : No device found.",
        "n01:11:21 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
        "n02:12:22 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/Socket/0",
    ]
    found = document(judged(text(lines), names=["job.out"]))
    (layer,) = found["layers"]
    assert (found["verdict"], found["status"], found["target"]) == ("tcp", "fallback", "test")
    assert (layer["layer"], layer["job"], layer["runtime"], layer["version"]) == ("nccl", 1, "NCCL", None)
    assert (layer["hosts"], layer["ranks"]) == (["n01", "n02"], 2)
    (pair,) = layer["pairs"]
    assert (pair["a"], pair["b"], pair["ranks"], pair["transport"]) == ("n01", "n02", [[0, 1]], "tcp")
    by_id = {evidence["id"]: evidence for evidence in found["evidence"]}
    assert [by_id[id]["line"] for id in pair["evidence"]] == [4, 5]
    assert by_id[pair["evidence"][0]] == {
        "id": pair["evidence"][0], "class": "path", "file": "job.out", "line": 4, "host": "n01", "rank": None,
        "transport": "tcp", "text": lines[3], "layer": "nccl", "job": 1,
    }  # fmt: skip
    (reason,) = layer["reasons"]
    assert reason["id"] == "noport"
    assert [by_id[id]["line"] for id in reason["evidence"]] == [3]
    assert by_id[reason["evidence"][0]]["class"] == "failure"


def test_one_row_for_each_pair() -> None:
    answer = judged(text(nccl_lines()), text(nccl_lines(network="Socket", before=SOCKET, pid=500, comm_id="0xdef")))
    rows = list(mpi_rows(answer))
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert len(rows) == sum(len(layer.pairs) for layer in answer.layers) == 6
    named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    between = [row for row in named if row["a"] != row["b"]]
    assert [(row["job"], row["transport"], row["verdict"], row["status"]) for row in between] == [
        (1, "ib", "ib", "as-expected"),
        (2, "tcp", "tcp", "fallback"),
    ]
    assert between[0]["ranks"] == "0-3 1-2"
    assert all(place.startswith("log0:") for place in between[0]["evidence"].split())


def test_a_layer_without_pairs_has_a_row_too() -> None:
    (row,) = mpi_rows(judged("n01:1:1 [0] NCCL INFO Using network IB\n"))
    named = dict(zip(COLUMNS, row, strict=True))
    assert (named["layer"], named["verdict"], named["status"]) == ("nccl", "unknown", "undecided")
    assert (named["a"], named["b"], named["transport"]) == (None, None, None)


def test_an_answer_without_layers_has_a_row() -> None:
    (row,) = mpi_rows(JobVerdict("job.log", "none", "aborted"))
    assert dict(zip(COLUMNS, row, strict=True)) == {
        **dict.fromkeys(COLUMNS), "target": "job.log", "verdict": "none", "status": "aborted",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["job.log", "job 1.log", "it's.log", 'a"b c.log', "back\\slash x", "a\nb", "=1.log", "#1.log"]
)
def test_places_are_told_apart_whatever_the_files_are_called(name: str) -> None:
    evidence = tuple(Evidence(number, "path", name, number, "x", transport="ib") for number in (1, 2))
    layer = Layer("mpi", "ib", "as-expected", pairs=(Pair("a", "b", "ib", (), (1, 2)),))
    (row,) = mpi_rows(JobVerdict("x", "ib", "as-expected", (layer,), evidence))
    assert shlex.split(dict(zip(COLUMNS, row, strict=True))["evidence"]) == [f"{name}:1", f"{name}:2"]
