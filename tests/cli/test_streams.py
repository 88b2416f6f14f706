"""What a command prints is on stdout whole, or the exit status and a line say that it is not. Each in a process."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.fattree import two_levels

from ibkit.cli import main as cli
from ibkit.cli import output
from ibkit.cli.output import Patience

ROOT = Path(__file__).parents[2]
TREE = ROOT / "fixtures/tools/ibnetdiscover/tree.txt"
IBKIT = [sys.executable, "-m", "ibkit"]
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def run(*words: object, unbuffered: str = "", **how: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(
        [*IBKIT, *map(str, words)], cwd=ROOT, env=environment, timeout=60, check=False, stderr=subprocess.PIPE, **how
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topology whose JSON is larger than a pipe holds."""
    path = tmp_path_factory.mktemp("large") / "topology.txt"
    path.write_text(two_levels(32, 16).netlist())
    return path


@UNBUFFERED
def test_a_limit_of_the_file_size(tmp_path: Path, large: Path, unbuffered: str) -> None:
    """The kernel takes the first bytes of a large text and no more: neither half an answer nor a traceback."""
    with open(tmp_path / "o", "wb") as out:
        done = run(
            "fabric", "ports", "--json", "--from", large, unbuffered=unbuffered, stdout=out,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)),
        )  # fmt: skip
    assert (tmp_path / "o").stat().st_size == 16384
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == "ibkit: the output could not be written: File too large"


@UNBUFFERED
def test_a_pipe_that_does_not_block(large: Path, unbuffered: str) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, fcntl.fcntl(writing, fcntl.F_GETFL) | os.O_NONBLOCK)
    running = subprocess.Popen(
        [*IBKIT, "fabric", "ports", "--json", "--from", large], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(writing)
    time.sleep(1.0)  # it is full long since
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    assert running.wait(60) == 1  # nobody gave it LIDs
    assert len(data) > 65536
    assert data == run("fabric", "ports", "--json", "--from", large, stdout=subprocess.PIPE).stdout


@UNBUFFERED
@pytest.mark.parametrize("words", [("fabric", "--from", TREE), ("sm", "--json"), ("--help",)])
def test_a_full_disk(words: tuple[object, ...], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = run(*words, unbuffered=unbuffered, stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == "ibkit: the output could not be written: No space left on device"


@pytest.mark.parametrize("words", ["fabric", "status --json", "capture -o never", "parse", "--help"])
def test_a_closed_stdout(tmp_path: Path, words: str) -> None:
    """Nothing is done whose result nobody could see."""
    done = subprocess.run(
        f"{sys.executable} -m ibkit --from {TREE} {words} >&-", shell=True, stderr=subprocess.PIPE, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, "ibkit: stdout is closed; if nothing is to be seen, send it to /dev/null\n",
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
@UNBUFFERED
def test_an_stderr_that_takes_nothing(how: str, unbuffered: str) -> None:
    """The answer and the exit status stay what they are; above all, no problem lands between the lines of the data."""
    command = f"{sys.executable} -m ibkit fabric --csv --from {TREE}"
    texts = [
        subprocess.run(
            line, shell=True, capture_output=True, cwd=ROOT, check=True, timeout=60,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        ).stdout
        for line in (command, f"{command} {how}")
    ]  # fmt: skip
    assert texts[0] == texts[1] != b""


def test_too_little_memory(large: Path) -> None:
    done = run(
        "fabric", "--from", large, stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (40 << 20, 40 << 20)),
    )  # fmt: skip
    if b"error while loading" in done.stderr or b"init_sys_streams" in done.stderr:
        pytest.skip("the interpreter itself needs more")
    assert done.returncode == 2
    assert b"ibkit: not enough memory" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_read_that_fails_is_no_write_that_fails() -> None:
    """The memory of a process begins with what nobody can read: EIO."""
    done = run("fabric", "--from", "/proc/self/mem", stdout=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"ibkit: /proc/self/mem: Input/output error\n"


class TestDefects:
    """An exception that nobody expected."""

    @pytest.fixture
    def broken(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
        self.raise_(monkeypatch, ZeroDivisionError("division by zero"))
        return monkeypatch

    def raise_(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        def read(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("ibkit.cli.fabric.collect_fabric", read)

    def test_it_is_told_in_two_lines_and_reported(
        self, broken: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["fabric", "--from", str(TREE)]) == 2, "1 would be a finding"
        _, told, report = capsys.readouterr().err.splitlines()
        assert told == "ibkit: something broke (ZeroDivisionError); this is a defect of ibkit"
        (path,) = (tmp_path / "ibkit").iterdir()
        assert report == f"ibkit: please send the report {path}"
        assert "ZeroDivisionError: division by zero" in path.read_text()

    def test_it_raises_for_those_who_look_for_it(self, broken: pytest.MonkeyPatch) -> None:
        broken.setenv(cli.DEBUG_VARIABLE, "1")
        with pytest.raises(ZeroDivisionError):
            cli.main(["fabric", "--from", str(TREE)])

    def test_a_state_folder_that_cannot_be_written(
        self, broken: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        broken.setenv("XDG_STATE_HOME", "/dev/null/state")
        assert cli.main(["fabric", "--from", str(TREE)]) == 2
        assert "no report of it could be written: Not a directory" in capsys.readouterr().err

    def test_what_the_system_refuses_is_no_defect(
        self, broken: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.raise_(broken, OSError(24, "Too many open files", "/x"))
        assert cli.main(["fabric", "--from", str(TREE)]) == 2
        assert capsys.readouterr().err.splitlines()[1:] == ["ibkit: /x: Too many open files"]
        assert not (tmp_path / "ibkit").exists()


def test_a_log_hears_of_a_tool_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(output, "note", told.append)
    patience = Patience()
    for seconds in range(1, 601):
        patience.tick("ibnetdiscover", seconds + 0.4)
    assert [text.split()[-2] for text in told] == ["30", "61", "122", "244", "488"] or len(told) == 5
    patience.tick("ibnetdiscover", 1.0)
    patience.tick("ibnetdiscover", 31.0)
    assert told[-1] == "ibnetdiscover has been running for 31 s"
