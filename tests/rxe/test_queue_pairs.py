"""``consumers`` against real queue pairs: who has them, which are joined, and that they go away with their owners."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.rxe

in_guest = pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1")
PROGRAM = Path(__file__).parents[1] / "support/rc_pair.py"
IBKIT = [sys.executable, "-m", "ibkit"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@contextmanager
def rc_pair(*devices: str, prefix: Sequence[str] = ()) -> Iterator[list[dict[str, Any]]]:
    """Two processes with a connected pair."""
    with subprocess.Popen(
        [*prefix, sys.executable, str(PROGRAM), *devices], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert child.stdin
        try:
            yield json.loads(child.stdout.readline())
        finally:
            child.stdin.close()
            child.wait(60)


def consumers(*words: str, prefix: list[str] | None = None) -> dict[str, Any]:
    done = subprocess.run(
        [*(prefix or []), *IBKIT, "consumers", "--json", *words], capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def ends_of(document: dict[str, Any]) -> list[set[tuple[int, str, int]]]:
    """pid, device and number of both ends of each pair."""
    return [
        {
            (document["owners"][one["owner"]]["pid"], one["device"], one["qpn"])
            for one in (document["queue_pairs"][pair[end]] for end in ("a", "b"))
        }
        for pair in document["pairs"]
    ]


@in_guest
@pytest.mark.parametrize("devices", [("rxe0", "rxe1"), ("rxe0", "rxe0")])
def test_a_pair_is_shown_with_its_pids_while_it_lives(devices: tuple[str, str]) -> None:
    with rc_pair(*devices) as told:
        document = consumers()
        assert ends_of(document) == [{(end["pid"], end["device"], end["qpn"]) for end in told}]
        assert document["pairs"][0]["basis"] == "packet-numbers"
        for end in told:
            (owner,) = [owner for owner in document["owners"] if owner["pid"] == end["pid"]]
            assert (owner["kind"], owner["confirmed"], owner["uid"]) == ("process", True, 0)
            assert owner["nodes"] == [f"/dev/infiniband/uverbs{end['device'][-1]}"]
            assert any("libibverbs" in name for name in owner["libraries"])
            assert owner["memlock"] == "unlimited"
            (use,) = [use for use in document["uses"] if document["owners"][use["owner"]] == owner]
            assert (use["qp"], use["cq"], use["pd"], use["mr"], use["ctx"], use["cm_id"]) == (1, 1, 1, 1, 1, 0)
        assert any(owner["threads"] and owner["threads"] != [owner["pid"]] for owner in document["owners"])
    after = consumers()
    assert (after["pairs"], {owner["kind"] for owner in after["owners"]}) == ([], {"kernel"})
    assert {(one["type"], one["state"]) for one in after["queue_pairs"]} == {("GSI", "RTS")}


@in_guest
def test_an_ordinary_user_sees_the_pair_and_is_told_what_he_does_not_see() -> None:
    with rc_pair("rxe0", "rxe1") as told:
        document = consumers(prefix=NOBODY)
    assert ends_of(document) == [{(end["pid"], end["device"], end["qpn"]) for end in told}]
    for owner in document["owners"]:
        if owner["kind"] == "process":
            assert (owner["nodes"], owner["libraries"], owner["environment"]) == (None, None, None)
    texts = [problem["text"] for problem in document["problems"] if problem["kind"] == "not-permitted"]
    assert {text.split(" of ")[0] for text in texts} == {"open files", "maps", "environ", "namespaces"}
    assert {owner["own_namespaces"] for owner in document["owners"] if owner["kind"] == "process"} == {None}


@in_guest
def test_processes_in_a_mount_namespace_of_their_own() -> None:
    """As Apptainer makes it, which leaves the cgroup alone."""
    with rc_pair("rxe0", "rxe1", prefix=("unshare", "--mount", "--uts")) as told:
        document = consumers()
    own = {owner["pid"]: owner for owner in document["owners"]}
    for end in told:
        assert own[end["pid"]]["own_namespaces"] == ["mnt", "uts"]
        assert own[end["pid"]]["container"] is None
        assert own[end["pid"]]["namespaces"].keys() >= {"mnt", "net", "pid", "user"}


@in_guest
def test_a_capture_replays_to_the_same_document(tmp_path: Path) -> None:
    with rc_pair("rxe0", "rxe1"):
        subprocess.run([*IBKIT, "capture", "-o", str(tmp_path / "it")], capture_output=True, timeout=300, check=True)
        live = consumers()
    again = consumers("--from", str(tmp_path / "it"))
    for document in (live, again):  # what else had a device open at that moment: ibkit's own tools
        document["owners"] = [owner for owner in document["owners"] if owner["threads"] or owner["kind"] == "kernel"]
    assert again == live
