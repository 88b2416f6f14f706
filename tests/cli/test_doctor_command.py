"""`ibkit doctor` as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main
from ibkit.export.doctor import COLUMNS, doctor_document, doctor_rows, verdict
from ibkit.model.checks import Check, Fix, HostChecks
from ibkit.parsers.base import Problem

SCHEMA = strict("doctor")


def test_it_runs_on_any_host_and_its_json_fits_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert status == {"ok": 0, "finding": 1, "unknown": 3}[document["verdict"]]
    assert {"devices", "pyverbs", "memlock"} <= {check["check"] for check in document["checks"]}


def test_the_table_ends_with_the_mends(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor"])
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["CHECK", "STATE", "WHAT"]
    if status == 1:
        assert "\n\n" in out  # a paragraph per mend below the table


def test_a_pasted_output_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    recorded = Path(__file__).parents[1] / "parsers/recorded/ibstat-rxe.txt"
    assert main(["doctor", "--from", str(recorded)]) == 2
    assert "capture" in capsys.readouterr().err


def check(state: str) -> Check:
    return Check("umad", state, "text", "means", (Fix("apt", "apt install x"), Fix("any", "modprobe y")))


@pytest.mark.parametrize(
    ("states", "expected"),
    [(["ok"], "ok"), (["ok", "unknown"], "unknown"), (["unknown", "denied"], "finding"), (["limited"], "finding"),
     (["broken"], "finding"), (["missing"], "finding"), ([], "unknown")],
)  # fmt: skip
def test_verdicts(states: list[str], expected: str) -> None:
    assert verdict([HostChecks("n01", tuple(check(state) for state in states))]) == expected


def test_documents_and_rows_of_two_hosts() -> None:
    problem = Problem("unreadable-file", "x", None, "/sys/y")
    hosts = [HostChecks("n01", (check("ok"),), (problem,)), HostChecks("n02", (check("denied"),))]
    document = json.loads(json.dumps(doctor_document(hosts)))
    jsonschema.validate(document, SCHEMA)
    assert [entry["host"] for entry in document["checks"]] == ["n01", "n02"]
    assert document["problems"][0]["source"] == "n01: /sys/y"
    text = io.StringIO()
    csv.writer(text).writerows(doctor_rows(hosts))
    assert [len(row) for row in csv.reader(io.StringIO(text.getvalue()))] == [len(COLUMNS)] * 2
