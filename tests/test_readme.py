"""README shows what ibkit prints: every ``$ ibkit ...`` in it is run, and its output compared."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```console\n\$ (.*)\n((?:.*\n)*?)```$", README, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_example(command: str, shown: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "ibkit"
    done = subprocess.run(
        [sys.executable, "-m", "ibkit", *arguments],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr
    assert re.fullmatch(pattern(shown), done.stdout), done.stdout


def pattern(shown: str) -> str:
    """A line ``...`` stands for any lines, ``...`` at a line's end for the rest of the line."""
    lines = []
    for line in shown.splitlines():
        if line == "...":
            lines.append(r"(?:.*\n)*")
        elif line.endswith("..."):
            lines.append(re.escape(line[:-3].rstrip()) + r".+\n")
        else:
            lines.append(re.escape(line) + r"\n")
    return "".join(lines)


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 5


def test_the_first_screen_has_the_two_commands_and_no_other() -> None:
    first, second = re.findall(r"^make (\w+)", "\n".join(README.splitlines()[:24]), re.MULTILINE)
    assert (first, second) == ("run", "test")


def test_ci_runs_what_readme_says() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_links_lead_somewhere() -> None:
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
