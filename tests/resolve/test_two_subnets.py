"""`ibkit resolve` on the recorded pair of subnets, held against the truth in its README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main

FIXTURE = Path(__file__).parents[2] / "fixtures/two-subnets"
A = "fec0:0000:0000:0001:00a1:0000:0000:00"
HOST_B3 = "fec0:0000:0000:0002:00b2:0000:0000:0031"
FULL, STORAGE = "0xffff", "0x8001"


def resolve(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[dict[str, Any]]:
    assert main(["--from", str(FIXTURE / "a"), "resolve", "--json", *words]) == status
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, strict("resolve"))
    answers: list[dict[str, Any]] = document["answers"]
    return answers


def kinds(answer: dict[str, Any]) -> set[str]:
    return {problem["kind"] for problem in answer["problems"]}


@pytest.mark.parametrize(
    ("query", "end", "lid", "vias"),
    [
        ("10.10.0.1", "11", 1, ["gids", "fabric"]),
        ("10.10.0.2", "21", 5, ["hosts", "neighbours", "fabric"]),
        ("10.10.0.4", "31", 6, ["hosts"]),
        ("hostA2", "21", 5, ["hosts", "neighbours", "fabric"]),
        ("hosta2", "21", 5, ["hosts", "neighbours", "fabric"]),
        ("hostA3", "31", 6, ["fabric"]),
        ("hostA1", "11", 1, ["gids", "fabric"]),
        ("6", "31", 6, ["fabric"]),
        ("0x0006", "31", 6, ["fabric"]),
        ("0x00a1000000000021", "21", 5, ["fabric"]),
        ("0x00a1000000000020", "21", 5, ["fabric"]),  # the node's GUID
        ("fec0::1:a1:0:0:21", "21", 5, ["fabric"]),
        ("gid:fec0::1:a1:0:0:21", "21", 5, ["fabric"]),
    ],
)
def test_what_is_known(capsys: pytest.CaptureFixture[str], query: str, end: str, lid: int, vias: list[str]) -> None:
    (answer,) = resolve(capsys, query)
    assert (answer["status"], answer["gid"], answer["lid"]) == ("resolved", A + end, lid)
    assert (answer["pkey"], answer["problems"]) == (FULL, [])
    told = [source["via"] for source in answer["sources"] if source["gid"] == answer["gid"]]
    assert list(dict.fromkeys(told)) == vias
    path = answer["path"]
    assert (path["sgid"], path["dgid"], path["slid"], path["dlid"]) == (A + "11", A + end, 1, lid)
    assert (path["sl"], path["mtu_bytes"], path["rate_gbps"], path["hop_limit"]) == (0, 2048, 10, 0)
    assert (path["needs_grh"], path["pkey"], answer["source_port"]["device"]) == (False, FULL, "mlx5_0")


def test_a_switch_has_its_own_mtu(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "acm-swA1")
    assert (answer["gid"], answer["path"]["dlid"], answer["path"]["mtu_bytes"]) == (A[:-2] + "1000", 2, 1024)


def test_ages_count_against_the_time_of_the_capture(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "10.10.0.2")
    ages = {source["via"]: source["age_seconds"] for source in answer["sources"]}
    assert ages == {"hosts": 90 * 86_400, "neighbours": 7, "fabric": None, "sa": 0}


@pytest.mark.parametrize(
    ("query", "end", "kind", "sides"),
    [
        ("10.10.0.3", "31", "gid-not-in-fabric", [A + "99", "no port of the fabric"]),
        ("10.10.0.5", "31", "gid-of-another-host", [A + "21", "hostA2 mlx5_0", "hostA3 mlx5_0"]),
        ("10.10.0.6", "31", "sources-differ", [A + "21", A + "31"]),
        ("10.10.0.9", "21", "neighbour-unreachable", [A + "21", "FAILED"]),
    ],
)
def test_a_contradiction_is_a_finding_with_both_sides(
    capsys: pytest.CaptureFixture[str], query: str, end: str, kind: str, sides: list[str]
) -> None:
    (answer,) = resolve(capsys, query, status=1)
    assert (answer["status"], answer["gid"], kinds(answer)) == ("finding", A + end, {kind})
    for side in sides:
        assert side in answer["problems"][0]["text"]


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("10.10.0.77", "unresolved", "`ping -c 1 10.10.0.77`"),
        ("10.20.0.4", "unresolved", "behind the gateway 10.10.0.254"),
        ("192.0.2.7", "unresolved", "neither IPoIB nor RoCE"),
        ("nobody", "unresolved", "does not know an address of nobody"),
        ("10.10.0.13", "no-source-port", "RoCE GID"),
    ],
)
def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str], query: str, kind: str, words: str) -> None:
    (answer,) = resolve(capsys, query, status=3)
    assert (answer["status"], kinds(answer)) == ("unknown", {kind})
    assert words in answer["problems"][0]["text"]


@pytest.mark.parametrize(
    ("query", "kind"),
    [("77", "no-such-lid"), ("0x00a1000000000077", "no-such-guid"), ("fec0::1:a1:0:0:99", "gid-not-in-fabric")],
)
def test_what_a_whole_fabric_does_not_have_is_decided(
    capsys: pytest.CaptureFixture[str], query: str, kind: str
) -> None:
    (answer,) = resolve(capsys, query, status=1)
    assert (answer["status"], kinds(answer)) == ("finding", {kind})


def test_a_partition_that_the_destination_is_not_in(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "hostA2", "--pkey", STORAGE)
    assert (answer["pkey"], answer["path"]["pkey"]) == (STORAGE, STORAGE)
    (answer,) = resolve(capsys, "hostA3", "--pkey", STORAGE, status=3)
    assert answer["path"]["mtu_bytes"] is None


def test_across_the_router_the_first_leg_alone_is_no_ok(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "10.20.0.3", status=3)
    path = answer["path"]
    assert (answer["gid"], path["dlid"], path["hop_limit"], path["needs_grh"]) == (HOST_B3, 4, 255, True)
    assert kinds(answer) == {"first-leg-only"}
    assert "--far CAPTURE" in answer["problems"][0]["text"]
    states = {step["step"]: step["state"] for step in answer["routed"]}
    assert (len(states), states[1], states[4], states[5], states[7], states[8]) == (
        11,
        "ok",
        "ok",
        "ok",
        "unknown",
        "unknown",
    )


def test_both_legs_with_a_capture_of_the_other_side(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "10.20.0.3", "--far", str(FIXTURE / "b"))
    steps = {step["step"]: step for step in answer["routed"]}
    assert (answer["status"], answer["path"]["dlid"]) == ("resolved", 4)
    assert [steps[number]["state"] for number in (1, 4, 5, 6, 7, 8)] == ["ok"] * 6
    assert "ibrouter swid A" in steps[5]["text"]
    assert "LID 4 to LID 6" in steps[7]["text"]
    assert "ibrouter swid B" in steps[8]["text"]
    assert "SGID index 0" in steps[9]["text"]
    assert "10.10.0.254" in steps[11]["text"]


def test_a_second_leg_without_the_partition(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "10.20.0.3", "--pkey", STORAGE, "--far", str(FIXTURE / "b"), status=1)
    steps = {step["step"]: step for step in answer["routed"]}
    assert [steps[number]["state"] for number in (5, 7, 8)] == ["ok", "bad", "bad"]
    assert kinds(answer) == {"not-routed"}


def test_a_prefix_that_no_router_leads_to(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = resolve(capsys, "10.90.0.3", status=1)
    assert kinds(answer) == {"not-routed"}
    assert answer["path"]["dlid"] is None


@pytest.mark.parametrize(
    ("via", "status", "gid"),
    [("hosts", 3, A + "99"), ("neighbours", 3, None), ("fabric", 3, A + "31"), ("hosts,fabric", 1, A + "31")],
)
def test_via_asks_the_named_sources_only(
    capsys: pytest.CaptureFixture[str], via: str, status: int, gid: str | None
) -> None:
    (answer,) = resolve(capsys, "10.10.0.3", "--via", via, status=status)
    assert answer["gid"] == gid
    assert {source["via"] for source in answer["sources"]} <= set(via.split(","))


def test_many_at_once_are_answered_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    answers = resolve(capsys, "hostA[2-3]", "5", "10.10.0.3", status=1)
    assert [answer["query"] for answer in answers] == ["hostA2", "hostA3", "5", "10.10.0.3"]
    assert [answer["status"] for answer in answers] == ["resolved"] * 3 + ["finding"]
