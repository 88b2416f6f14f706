"""`ibkit resolve` as a command: live and replayed, lists, outputs, what it remembers, wrong usage."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from support.small_cluster import fabric, gid, infiniband_port, interface, neighbour, path_record
from support.tree_source import TreeSource

from ibkit.cli.main import main
from ibkit.resolve.cache import AddressCache

SUBNET_A = str(Path(__file__).parents[2] / "fixtures/two-subnets/a")
TOOLS = {
    "ibnetdiscover": fabric({1: "n01 mlx5_0", 2: "n02 mlx5_0", 3: "n03 mlx5_0"}),
    "saquery PR --slid 17": path_record(1, 1, 17, 17) + path_record(1, 2, 17, 18) + path_record(1, 3, 17, 19),
    "saquery PR --sgid fec0::1:c42:a103:0:11 --dgid fec0::1:c42:a103:0:21 --pkey 0xffff": path_record(1, 2, 17, 18),
    "saquery PR --sgid fec0::1:c42:a103:0:11 --dgid fec0::1:c42:a103:0:11 --pkey 0xffff": path_record(1, 1, 17, 17),
    "ibaddr": f"GID {gid(1)} LID start 0x11 end 0x11\n",
    "ip -j -d addr": json.dumps([interface("ib0", "10.10.0.1/24", 1)]),
    "ip -j -s neigh": json.dumps([neighbour("10.10.0.2", "ib0", 2)]),
    "id -u": "0\n",
    "id -G": "0\n",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home/ibkit/addresses.db"


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TreeSource:
    root = tmp_path / "root"
    for path, text in infiniband_port("mlx5_0", 1, 17, "ib0").files.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (root / "sys/class/infiniband/mlx5_0/device/net/ib0").mkdir(parents=True)
    source = TreeSource(root, tools=TOOLS)
    monkeypatch.setattr("ibkit.sources.live.LiveSource", lambda **_: source)
    return source


def shown(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    assert main([*words, "--json"]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


VIA = ("--via", "hosts,acm,gids,neighbours,fabric,sa")


@pytest.mark.parametrize("query", ["10.10.0.2", "n02", "18", "10.10.0.1", "10.10.0.77", gid(2)])
def test_a_capture_says_what_the_host_said(
    live: TreeSource, capsys: pytest.CaptureFixture[str], tmp_path: Path, query: str
) -> None:
    status = main(["resolve", query, *VIA, "--json"])
    said = capsys.readouterr().out
    assert main(["capture", "-o", str(tmp_path / "c")]) == 0
    capsys.readouterr()
    assert main(["--from", str(tmp_path / "c"), "resolve", query, *VIA, "--json"]) == status
    assert capsys.readouterr().out == said


def test_an_anonymised_capture_says_the_same(
    live: TreeSource, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["capture", "-o", str(tmp_path / "c"), "--anonymise"]) == 0
    capsys.readouterr()
    (row,) = json.loads(next((tmp_path / "c").rglob("ip_-j_-s_neigh.out")).read_text())
    answer = shown(capsys, "--from", str(tmp_path / "c"), "resolve", row["dst"])["answers"][0]
    assert (answer["status"], answer["path"]["dlid"]) == ("resolved", 18)


def test_one_question_of_each_kind_is_asked(live: TreeSource, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "resolve", "10.10.0.2")
    assert {words: count for words, count in live.asked.items() if words.startswith("ib")} == {"ibnetdiscover": 1}
    assert sum(words.startswith("saquery PR") for words in live.asked) == 1
    assert not any(words.startswith("getent") for words in live.asked)


def test_the_cache_alone_asks_nobody(live: TreeSource, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "resolve", "10.10.0.2", "n02")
    live.asked.clear()
    document = shown(capsys, "resolve", "--via", "cache", "10.10.0.2", "n02")
    assert [answer["gid"] for answer in document["answers"]] == [gid(2), gid(2)]
    assert [answer["path"]["dlid"] for answer in document["answers"]] == [18, 18]
    assert [words for words in live.asked if not words.startswith("/sys/class/infiniband")] == []


def test_what_a_live_run_remembers(live: TreeSource, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    shown(capsys, "resolve", "10.10.0.2", "10.10.0.77", "18", status=3)
    with AddressCache(str(home)) as cache:
        told = {(entry.address, entry.via): entry for entry in cache.all()}
    assert set(told) == {("10.10.0.2", "neighbours"), ("10.10.0.2", "sa"), ("10.10.0.77", "cache")}
    assert str(told["10.10.0.2", "neighbours"].gid) == gid(2)
    assert told["10.10.0.77", "cache"].gid is None
    (answer,) = shown(capsys, "resolve", "--via", "cache", "10.10.0.77", status=3)["answers"]
    assert "negative" in answer["problems"][0]["text"]


def test_what_was_not_asked_of_all_is_not_remembered_as_unknown(
    live: TreeSource, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    shown(capsys, "resolve", "--via", "cache,hosts", "10.10.0.77", status=3)
    assert not home.exists()


def test_a_replay_touches_no_cache(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    shown(capsys, "--from", SUBNET_A, "resolve", "hostA3")
    assert not home.exists()


def test_a_broken_cache_costs_the_cache_only(live: TreeSource, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("no database" * 100)
    document = shown(capsys, "resolve", "10.10.0.2")
    assert document["answers"][0]["gid"] == gid(2)
    assert [problem["kind"] for problem in document["problems"]] == ["cache-unusable"]
    assert str(home) in document["problems"][0]["text"]
    for words in (["--via", "cache"], ["--cache", str(home)]):
        assert main(["resolve", "10.10.0.2", *words]) == 2
        assert f"ibkit: {home}: " in capsys.readouterr().err


def test_a_list_on_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"# all\n10.10.0.2 hostA[2-3]\r\n\n6  # the last\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    answers = shown(capsys, "--from", SUBNET_A, "resolve", "-")["answers"]
    assert [answer["query"] for answer in answers] == ["10.10.0.2", "hostA2", "hostA3", "6"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"# nothing\n")))
    assert main(["--from", SUBNET_A, "resolve", "-"]) == 2


def test_a_bad_query_spoils_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    document = shown(capsys, "--from", SUBNET_A, "resolve", "hostA3", "010.0.0.1", status=2)
    assert [(answer["kind"], answer["status"]) for answer in document["answers"]] == [
        ("name", "resolved"), ("bad", "unknown"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--via", "dns", "n01"], "no source 'dns'"),
        (["--pkey", "0x0", "n01"], "not a P_Key"),
        (["--pkey", "0x8000", "n01"], "not a P_Key"),
        (["--host", "n99", "n01"], "--host n99"),
        (["n[1"], "bracket"),
        (["--far", "/no/such/capture", "n01"], "/no/such/capture"),
        ([], "ADDRESS"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    try:
        status = main(["--from", SUBNET_A, "resolve", *words])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else -1
    assert status == 2
    assert said in capsys.readouterr().err


def test_csv_has_a_row_for_each_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", SUBNET_A, "resolve", "hostA3", "10.10.0.3", "--csv"]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["query"], row["status"], row["dlid"], row["via"]) for row in rows] == [
        ("hostA3", "resolved", "6", "fabric"), ("10.10.0.3", "finding", "6", "fabric"),
    ]  # fmt: skip


def test_the_table_and_what_each_source_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", SUBNET_A, "resolve", "-v", "10.10.0.2"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == [
        "QUERY", "GID", "P_KEY", "DLID", "SL", "MTU", "RATE", "HOPLIMIT", "NAME", "FROM", "AGE",
    ]  # fmt: skip
    assert "hosts: fec0:" in out
    assert "(90 d) [/etc/rdma/ibacm_hosts.data:2]" in out
    assert "(REACHABLE, 7 s)" in out


def test_a_raw_output_of_a_tool_is_a_source_like_any(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "fabric.txt").write_text(TOOLS["ibnetdiscover"])
    answer = shown(capsys, "--from", str(tmp_path / "fabric.txt"), "resolve", "n02", status=3)["answers"][0]
    assert (answer["gid"], answer["guid"], answer["lid"]) == (None, "0x0c42a10300000021", 18)
    assert "prefix-unknown" in {problem["kind"] for problem in answer["problems"]}
