"""`ibkit record`: frames that every command shows again; an interrupt, a count and a full disk end it cleanly."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ibkit.cli.main import main

ROOT = Path(__file__).parents[2]
FAT_TREE = str(ROOT / "fixtures/fat-tree")
ROCE = str(ROOT / "fixtures/roce-host")


@pytest.fixture
def recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "cluster.ibr")
    for capture in (FAT_TREE, ROCE):
        assert main(["record", "-o", path, "--from", capture]) == 0
    capsys.readouterr()
    return path


def out_of(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    status = main(list(argv))
    return status, capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["fabric", "--json"], ["status", "--json"], ["counters", "--json"], ["sm", "--csv"]]
)
def test_a_frame_says_what_the_capture_says(recording, capsys, command) -> None:
    for which, capture in (("@1", FAT_TREE), ("@2", ROCE), ("", ROCE)):
        assert out_of(capsys, "--from", recording + which, *command) == out_of(capsys, "--from", capture, *command)


def test_the_list_of_frames(recording, capsys) -> None:
    status, out = out_of(capsys, "record", "--list", recording)
    rows = [line.split() for line in out.splitlines()]
    assert status == 0
    assert rows[0] == ["FRAME", "TIME", "HOST"]
    assert [row[0] for row in rows[1:]] == ["1", "2"]
    assert rows[1][2] == "c001"


def test_a_live_recording_ends_with_its_count(tmp_path) -> None:
    path = tmp_path / "x.ibr"
    argv = [sys.executable, "-m", "ibkit", "record", "-o", str(path), "--interval", "1", "--count", "2"]
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0
    assert ended.stdout == ""
    assert "frame 2 of" in ended.stderr
    # A problem that stays is told once.
    lines = [line for line in ended.stderr.splitlines() if "written in" not in line]
    assert len(lines) == len(set(lines))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_cleanly(tmp_path, kind) -> None:
    path = tmp_path / "x.ibr"
    argv = [sys.executable, "-m", "ibkit", "record", "-o", str(path), "--interval", "600"]
    child = subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert child.stderr
    while "frame 1 of" not in (line := child.stderr.readline()):
        assert line, "it ended by itself"
    child.send_signal(kind)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 0
    assert "interrupted" in err
    assert os.listdir(tmp_path) == ["x.ibr"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "is required"),
        (["-o", "x", "--list", "x"], "not allowed with"),
        (["-o", "x", "--interval", "0"], "seconds from 1 to 86400"),
        (["-o", "x", "--interval", "nan"], "seconds from 1 to 86400"),
        (["-o", "x", "--count", "0"], "a whole number above 0: 0"),
        (["-o", "x", "--count", "1.5"], "a whole number above 0"),
        (["-o", "x", "--max-size", "12"], "a size from 1M"),
        (["-o", "x", "--max-size", "1e999"], "a size from 1M"),
        (["-o", "x", "--max-size", "G"], "a size from 1M"),
    ],
)
def test_wrong_usage(words, told, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["record", *words])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named_before_anything_is_recorded(capsys, tmp_path) -> None:
    assert main(["record", "-o", str(tmp_path / "no such folder/x.ibr"), "--from", FAT_TREE]) == 2
    assert "no such folder/x.ibr: cannot be written" in capsys.readouterr().err


def test_a_missing_recording_is_named(capsys, tmp_path) -> None:
    assert main(["record", "--list", str(tmp_path / "x.ibr")]) == 2
    assert "x.ibr" in capsys.readouterr().err
