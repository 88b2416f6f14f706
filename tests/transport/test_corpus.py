"""The job logs of fixtures/jobs, run as a user would, against the truths written by hand beside them.

A truth names only what is certain (its keys: fixtures/jobs/README.md). The invariants hold for every log.
"""

from __future__ import annotations

import gzip
import json
import os
import re

import pytest

from ibkit.cli.main import main
from ibkit.model.mpi import EVIDENCE_CLASSES, STATUSES, VERDICTS

JOBS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "jobs"))
NAMES = sorted(entry.name for entry in os.scandir(JOBS) if entry.is_dir())
EXIT_OF_STATUS = {"as-expected": 0, "undecided": 3}
#: ANSI escape sequences and other bytes that a printed line may lack.
UNPRINTED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0a-\x1f\x7f-\x9f\ufffd]")


def truth_of(name: str) -> dict:
    with open(os.path.join(JOBS, name, "truth.json"), encoding="utf-8") as file:
        return json.load(file)


#: One run serves the three tests of a log.
_JUDGED: dict[str, tuple[int, dict | None]] = {}


def judge(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict | None]:
    """Exit status and JSON document; no document when the input was refused (exit 2)."""
    if name not in _JUDGED:
        target = os.path.normpath(os.path.join(JOBS, name, truth_of(name)["target"]))
        status = main(["check-mpi-transport", "--json", target])
        out = capsys.readouterr().out
        _JUDGED[name] = status, json.loads(out) if out.strip() else None
    return _JUDGED[name]


def allowed(truth: dict, key: str) -> list | None:
    """The values a truth accepts for ``key``, or None when it leaves it open."""
    if key in truth and f"{key}_any" not in truth:
        return [truth[key]]
    return truth.get(f"{key}_any")


def short(host: str) -> str:
    """A host's name up to its domain; an address stays whole."""
    return host if host.replace(".", "").isdigit() else host.split(".", 1)[0].lower()


def pairs_of(layer: dict) -> dict[frozenset[str], str]:
    return {frozenset((short(p["a"]), short(p["b"]))): p["transport"] for p in layer["pairs"]}


def differences(truth: dict, status: int, document: dict) -> list[str]:
    """What the document says against the truth, one sentence each."""
    found = []
    for key in ("verdict", "status"):
        accepted = allowed(truth, key)
        if accepted is not None and document[key] not in accepted:
            found.append(f"{key} is {document[key]!r}, not {' or '.join(accepted)}")
    if document["verdict"] in truth.get("verdict_not", ()):
        found.append(f"verdict is {document['verdict']!r}, which is certainly wrong")
    accepted = allowed(truth, "exit")
    if accepted is not None and status not in accepted:
        found.append(f"exit status is {status}, not {accepted}")
    for wanted in truth.get("layers", ()):
        same = [
            layer
            for layer in document["layers"]
            if layer["layer"] == wanted["layer"] and layer.get("job", 1) == wanted.get("job", layer.get("job", 1))
        ]
        if not same:
            found.append(f"no layer {wanted['layer']} (job {wanted.get('job', 'any')})")
        for layer in same:
            found += layer_differences(wanted, layer)
    return found


def layer_differences(wanted: dict, layer: dict) -> list[str]:
    found = [
        f"{layer['layer']}: {key} is {layer[key]!r}, not {' or '.join(accepted)}"
        for key in ("verdict", "status", "runtime")
        if (accepted := allowed(wanted, key)) is not None and layer[key] not in accepted
    ]
    have = pairs_of(layer)
    for pair in wanted.get("pairs", ()):
        transport = have.get(frozenset((short(pair["a"]), short(pair["b"]))))
        if transport != pair["transport"]:
            found.append(f"{layer['layer']}: {pair['a']} - {pair['b']} is {transport!r}, not {pair['transport']!r}")
    for pair in wanted.get("not_pairs", ()):
        if have.get(frozenset((short(pair["a"]), short(pair["b"])))):
            found.append(f"{layer['layer']}: {pair['a']} - {pair['b']} is named, but no line says that they talked")
    reasons = {reason["id"] for reason in layer["reasons"]}
    found += [f"{layer['layer']}: reason {r} is missing" for r in wanted.get("reasons", ()) if r not in reasons]
    found += [f"{layer['layer']}: reason {r} is given" for r in wanted.get("not_reasons", ()) if r in reasons]
    if wanted.get("reasons_any") and not reasons & set(wanted["reasons_any"]):
        found.append(f"{layer['layer']}: none of the reasons {wanted['reasons_any']}")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_the_truth(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    truth = truth_of(name)
    status, document = judge(name, capsys)
    if status == 2 and 2 in truth.get("exit_any", ()):
        return
    assert document is not None, f"exit status {status} and no document"
    found = differences(truth, status, document)
    if found and "open" in truth:
        pytest.xfail(truth["open"])
    assert not found, f"{truth['why']}\n" + "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_document_keeps_its_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, document = judge(name, capsys)
    if document is None:
        assert status == 2
        return
    assert document["schema"] == "ibkit.mpi/1"
    assert document["verdict"] in VERDICTS
    assert document["status"] in STATUSES
    assert status == EXIT_OF_STATUS.get(document["status"], 1)
    layers = document["layers"]
    if layers:
        assert document["status"] == min((layer["status"] for layer in layers), key=STATUSES.index)
    if document["status"] == "undecided":
        assert document["next_step"], "undecided, and not told what the next run needs"
    if document["status"] == "aborted" and not document["evidence"]:
        if "open" in truth_of(name):
            pytest.xfail(truth_of(name)["open"])
        raise AssertionError("aborted, and no line that shows it")
    ids = {evidence["id"] for evidence in document["evidence"]}
    assert len(ids) == len(document["evidence"])
    for layer in layers:
        assert layer["verdict"] in VERDICTS
        assert layer["status"] in STATUSES
        for part in (*layer["pairs"], *layer["reasons"]):
            assert set(part["evidence"]) <= ids
        for pair in layer["pairs"]:
            assert pair["transport"] in VERDICTS
            assert pair["evidence"], "a pair without evidence"
        for reason in layer["reasons"]:
            assert reason["fix"].strip()
            assert reason["evidence"], "a reason without evidence"
        for pair in layer["pairs"]:
            assert pair["evidence"] or pair["transport"] == "unknown", "a pair, and no line that shows it"
        if layer["verdict"] not in ("unknown", "none"):
            shown = layer["pairs"] or any(e["class"] in ("path", "selection") for e in document["evidence"])
            if not shown and "open" in truth_of(name):
                pytest.xfail(truth_of(name)["open"])
            assert shown, "a verdict, and no line that shows it"


@pytest.mark.parametrize("name", NAMES)
def test_evidence_stands_where_it_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Line N of the named file (lines end at LF, as `sed -n Np` counts them) holds the quoted text."""
    _, document = judge(name, capsys)
    if document is None:
        return
    for evidence in document["evidence"]:
        assert evidence["class"] in EVIDENCE_CLASSES
        with open(os.path.join(JOBS, name, evidence["file"]), "rb") as file:
            data = file.read()
        lines = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).split(b"\n")
        assert 1 <= evidence["line"] <= len(lines), evidence
        line = UNPRINTED.sub("", lines[evidence["line"] - 1].decode("utf-8", "replace"))
        quoted = UNPRINTED.sub("", evidence["text"]).rstrip("….").strip()
        assert quoted, evidence
        assert quoted in line, evidence


def test_every_verdict_and_status_word_has_a_log() -> None:
    truths = [truth_of(name) for name in NAMES]
    verdicts = {verdict for truth in truths for verdict in allowed(truth, "verdict") or ()}
    statuses = {status for truth in truths for status in allowed(truth, "status") or ()}
    assert verdicts >= set(VERDICTS)
    assert statuses == set(STATUSES)


def test_the_index_names_every_log() -> None:
    with open(os.path.join(JOBS, "README.md"), encoding="utf-8") as file:
        index = file.read().split("| case |", 1)[1]
    assert re.findall(r"^\| (\w[\w.-]*) \|", index, re.MULTILINE) == NAMES
