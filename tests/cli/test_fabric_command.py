"""`ibkit fabric` and `ibkit sm` on files: what is printed where, exit statuses, hostile and foreign files."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from ibkit.cli.main import main

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TREE = str(TOOLS / "ibnetdiscover/tree.txt")


def test_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "--from", TREE]) == 0
    out, err = capsys.readouterr()
    cells = dict(line.rsplit("  ", 1) for line in out.splitlines()[1:])
    assert {what.strip(): count.strip() for what, count in cells.items()} == {
        "switches": "3", "channel adapters": "12", "routers": "0", "aggregation nodes": "0", "links": "29",
        "of these 4x HDR": "26", "of these 1x HDR": "2", "of these 4x EDR": "1",
        "complete": "not known: the sweep's messages are not at hand",
    }  # fmt: skip
    assert err == "ibkit: replay of tree.txt (ibnetdiscover output)\n"


@pytest.mark.parametrize(("what", "lines"), [("nodes", 15), ("links", 29), ("ports", 3 * 36 + 12)])
def test_lists(capsys: pytest.CaptureFixture[str], what: str, lines: int) -> None:
    assert main(["fabric", what, "--from", TREE]) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == lines + 1
    assert main(["fabric", what, "--csv", "--from", TREE]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == lines
    assert "c001-006 mlx5_1" in {row.get("name") or row.get("a_name") for row in rows}


def test_json_is_the_same_twice(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        assert main(["--from", TREE, "fabric", "ports", "--json"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert len(json.loads(texts[0])["ports"]) == 120


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("topology.txt", 0), ("ports-report.txt", 0), ("terminal-log.txt", 1), ("no-neighbour.txt", 1),
        ("duplicate-guid.txt", 3),
    ],
)  # fmt: skip
def test_exit_statuses(capsys: pytest.CaptureFixture[str], name: str, status: int) -> None:
    assert main(["fabric", "--from", str(TOOLS / "ibnetdiscover" / name)]) == status


def test_a_cut_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cut").write_text(Path(TREE).read_text()[:2000])
    assert main(["fabric", "--json", "--from", str(tmp_path / "cut")]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["complete"] is False
    assert "named by neighbours" in err


def test_nothing_raw_reaches_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = "\x1b[2J\x9b31m\u202e[bold]"
    (tmp_path / "t").write_text(Path(TREE).read_text().replace("c001-001 mlx5_0", evil))
    for what in ("nodes", "links", "ports"):
        for form in ((), ("--csv",)):
            assert main(["fabric", what, *form, "--from", str(tmp_path / "t")]) == 0
            out, err = capsys.readouterr()
            assert not any(character in out + err for character in "\x1b\x9b\u202e")
    assert main(["fabric", "--json", "--from", str(tmp_path / "t")]) == 0
    assert evil in {node["name"] for node in json.loads(capsys.readouterr().out)["nodes"]}, "data keeps it raw"


@pytest.mark.parametrize("command", ["fabric", "sm"])
def test_another_tools_file_is_refused(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--from", str(TOOLS / "ibstat/two-devices.txt")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "this is ibstat output" in err
    assert "`ibkit status`" in err


def test_a_failure_that_somebody_saved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "t").write_text(
        (TOOLS / "sminfo/never-a-manager.stderr.txt").read_text() + "sminfo: iberror: failed: query\n"
    )
    assert main(["sm", "--from", str(tmp_path / "t")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "no subnet manager has set up this port" in err


def test_the_manager(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(TOOLS / "sminfo/master.txt")
    assert main(["sm", "--from", file]) == 0
    assert capsys.readouterr().out.split() == [
        "GUID", "LID", "STATE", "PRIORITY", "ACTIVITY", "0x0000000000100001", "1", "master", "0", "86",
    ]  # fmt: skip
    assert main(["sm", "--csv", "--from", file]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "0x0000000000100001,1,master,0,86,,"


def test_an_answer_of_a_manager_that_is_cut_decides_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Another answer knows of the master; the one that is cut may be of a second one."""
    shutil.copytree(TOOLS.parent / "fat-tree", tmp_path / "c")
    path = tmp_path / "c/subnet/sminfo.out"
    path.write_bytes(path.read_bytes()[:48])
    assert main(["sm", "--json", "--from", str(tmp_path / "c")]) == 3
    made = json.loads(capsys.readouterr().out)
    assert (made["complete"], [manager["state"] for manager in made["managers"]]) == (False, ["master"])


def test_a_host_without_any_device_is_undecided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (TOOLS / "sminfo/no-device.stderr.txt").read_text() + (TOOLS / "sminfo/no-device.txt").read_text()
    (tmp_path / "t").write_text(text)
    assert main(["sm", "--json", "--from", str(tmp_path / "t")]) == 3
    out, err = capsys.readouterr()
    assert [problem["kind"] for problem in json.loads(out)["problems"]] == ["no-umad"]
    assert "modprobe ib_umad" in err


def test_a_failed_sweep_that_somebody_saved_is_undecided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = TOOLS / "ibnetdiscover"
    (tmp_path / "t").write_text((folder / "roce.stderr.txt").read_text() + (folder / "roce.txt").read_text())
    assert main(["fabric", "--json", "--from", str(tmp_path / "t")]) == 3
    made = json.loads(capsys.readouterr().out)
    assert [problem["kind"] for problem in made["problems"]] == ["no-infiniband"]
