"""How often check-mpi-transport is right: judge all logs of fixtures/jobs and write docs/accuracy.md.

    .venv/bin/python tools/accuracy.py

The truths beside the logs were written by hand; those that leave a verdict open name the words that would be right.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections import Counter

from ibkit.cli.main import main as ibkit

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = os.path.join(ROOT, "fixtures", "jobs")
DOCUMENT = os.path.join(ROOT, "docs", "accuracy.md")

RIGHT, UNDECIDABLE, UNKNOWN, REFUSED, WRONG = (
    "right: the transport that the truth names",
    "right: `unknown`, where nothing in the log decides",
    "`unknown`, where the truth would allow a transport, too",
    "right: refused as no log (exit status 2)",
    "wrong",
)


def score() -> Counter[str]:
    """How many logs came out how."""
    return Counter(_judged(name) for name in sorted(os.listdir(JOBS)) if os.path.isdir(os.path.join(JOBS, name)))


def _judged(name: str) -> str:
    with open(os.path.join(JOBS, name, "truth.json"), encoding="utf-8") as file:
        truth = json.load(file)
    target = os.path.normpath(os.path.join(JOBS, name, truth["target"]))
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = ibkit(["check-mpi-transport", "--json", target])
    if status == 2:
        return REFUSED if 2 in (truth.get("exit"), *truth.get("exit_any", ())) else WRONG
    verdict = json.loads(out.getvalue())["verdict"]
    allowed = [truth["verdict"]] if "verdict" in truth else truth.get("verdict_any", [verdict])
    if verdict not in allowed or verdict in truth.get("verdict_not", ()):
        return UNKNOWN if verdict == "unknown" else WRONG
    if verdict != "unknown":
        return RIGHT
    return UNDECIDABLE if allowed == ["unknown"] else UNKNOWN


def document(counts: Counter[str]) -> str:
    """The page."""
    rows = "\n".join(f"| {what} | {counts[what]} |" for what in (RIGHT, UNDECIDABLE, REFUSED, UNKNOWN, WRONG))
    return f"""# How often check-mpi-transport is right

`tools/accuracy.py` writes this page. It judges the {counts.total()} logs of
[fixtures/jobs](../fixtures/jobs/README.md): all runtimes that are read, their versions, prefixes of launchers and
collectors, mixed, aborted, layered and damaged logs. Their truths were written by hand from the runtimes' sources,
most of them before the code that judges.

| verdict | logs |
| --- | --- |
{rows}

A test runs all of them, with statuses, pairs and reasons as far as a truth names them; one wrong verdict fails it.
"""


def main() -> None:
    """Write it."""
    text = document(score())
    with open(f"{DOCUMENT}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{DOCUMENT}.new", DOCUMENT)
    print(text)


if __name__ == "__main__":
    main()
