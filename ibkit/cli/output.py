"""How commands print: JSON, CSV and tables on stdout; problems, notes and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from ibkit.display import and_more, clean, csv_field
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.sources.opening import open_site
from ibkit.sources.site import Origin, Site

#: More problems than these are counted on stderr.
MOST_PROBLEMS = 20


def site_of(path: str | None) -> Site:
    """The site a command works on; says on stderr when it is a replay, and shows progress of slow live tools."""
    site = open_site(path, tick=progress if sys.stderr.isatty() else Patience().tick)
    if site.origin.kind != "live":
        note(origin_line(site.origin))
    return site


def origin_line(origin: Origin) -> str:
    """``replay of X, recorded at T``, or ``live on HOST``."""
    if origin.kind == "live":
        return f"live on {clean(origin.label)}"
    when = f", recorded {clean(origin.time)}" if origin.time else ""
    about = f": {clean(origin.note)}" if origin.note else ""
    return f"replay of {clean(origin.label)}{when}{about}"


def progress(command: str, seconds: float) -> None:
    """One line on the terminal, written over by the next one."""
    print(f"\r\x1b[K{clean(command)} ... {seconds:.0f} s", end="\r\x1b[K", file=sys.stderr, flush=True)


class Patience:
    """A word in a log about a tool that takes long: once after half a minute, then each time its age has doubled."""

    FIRST_SECONDS = 30.0

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def tick(self, command: str, seconds: float) -> None:
        """``command`` has been running for ``seconds``."""
        if seconds < 2:
            self._next[command] = self.FIRST_SECONDS  # it is run again
        if seconds >= self._next.setdefault(command, self.FIRST_SECONDS):
            note(f"{clean(command)} has been running for {seconds:.0f} s")
            self._next[command] = seconds * 2


def note(text: str) -> None:
    """A line of narration on stderr. Whatever names it holds, it is made safe here."""
    print(f"ibkit: {clean(text, 2000)}", file=sys.stderr)


def print_problems(problems: Iterable[Problem]) -> None:
    """The problems on stderr, as many as a person reads."""
    problems = list(problems)
    for problem in problems[:MOST_PROBLEMS]:
        note(problem_line(problem))
    if len(problems) > MOST_PROBLEMS:
        note(f"...{and_more(len(problems) - MOST_PROBLEMS, 'problem')}; --json lists all")
    if problems:
        from ibkit.collectors.absence import NO_DEVICE

        if any(problem.kind == NO_DEVICE for problem in problems):
            note("`ibkit doctor` tells how to get one; --from PATH looks at a capture of another host")


def problem_line(problem: Problem) -> str:
    """``source:line: text``."""
    where = clean(problem.source or "")
    if problem.line is not None:
        where += f":{problem.line}" if where else f"line {problem.line}"
    return f"{where}: {clean(problem.text, 500)}" if where else clean(problem.text, 500)


def print_json(document: dict[str, Any]) -> None:
    """One JSON document in the order that the schema names its keys, each item of its lists on a line of its own.

    An indented dump would cost four times the CPU, and a system call per token where Python's stdout is unbuffered.
    """
    import json

    encode = json.JSONEncoder().encode
    entries = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            entries.append(f" {encode(key)}: [\n  " + ",\n  ".join(map(encode, value)) + "\n ]")
        else:
            entries.append(f" {encode(key)}: {encode(value)}")
    sys.stdout.write("{\n" + ",\n".join(entries) + "\n}\n")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """RFC 4180 with a header; an unknown value is an empty field, and no text is a formula."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(csv_field, columns))
    for row in rows:
        writer.writerow(map(csv_field, row))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Columns as wide as they need; on a terminal each line is cut at its width. An unknown value is ``?``."""
    texts = [["?" if value is None else clean(str(value)) for value in row] for row in rows]
    widths = [max(len(column), *(len(row[i]) for row in texts), 0) for i, column in enumerate(columns)]
    cut = (os.get_terminal_size().columns or None) if sys.stdout.isatty() else None  # a serial console tells 0
    for row in [list(columns), *texts]:
        line = "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        print(line[:cut])
