"""What docs/ shows of the shipped recordings can be typed: each such command gives an answer."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ibkit.cli.main import main

ROOT = Path(__file__).parent.parent
COMMANDS = [
    line.partition("#")[0].strip()
    for page in ("paths.md", "resolve.md")
    for line in re.findall(r"^ibkit --from fixtures/.*$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
]
#: What does not end with 0: the intended partitions are those of another fabric; the first leg alone is not settled.
STATUS = {
    "ibkit --from fixtures/fat-tree partitions --intended fixtures/tools/partitions.conf/ft12.txt": 1,
    "ibkit --from fixtures/two-subnets/a resolve -v 10.20.0.3": 3,
    'ibkit --from fixtures/two-subnets/a resolve --via hosts,fabric "hostA[1-3]" --json': 3,
}


def test_there_are_some() -> None:
    assert len(COMMANDS) >= 9
    assert set(STATUS) <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_example(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)[1:]) == STATUS.get(command, 0), capsys.readouterr().err
    assert capsys.readouterr().out
