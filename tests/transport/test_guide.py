"""The examples in docs/check-mpi-transport.md are what the command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ibkit.cli.main import main
from ibkit.transport.catalogue import BY_ID

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "check-mpi-transport.md").read_text()
EXAMPLES = re.findall(r"^```\n\$ ibkit (.*?)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize(("command", "printed"), EXAMPLES)
def test_an_example(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    main(shlex.split(command))
    assert capsys.readouterr().out == printed


def test_the_guide_names_each_reason() -> None:
    assert [id for id in BY_ID if f"`{id}`" not in GUIDE] == []
