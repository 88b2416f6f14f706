"""What the reasons of check-mpi-transport mean: for people, as docs/reasons.md, and as a document (ibkit.reasons/1)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from ibkit.transport.catalogue import NOISE, REMARK, Entry, Fix

SCHEMA = "ibkit.reasons/1"

_HEAD = """# Why a job has no RDMA: the reasons of `ibkit check-mpi-transport`

This page is what `ibkit check-mpi-transport --explain all` prints; `--explain ID` prints a part of it, `--explain`
alone the list. A reason is only given where a line, or a process's limits, prove it. The answer takes the mend for the
runtime, its version, and what started the ranks or holds them.
"""
_KINDS = {
    REMARK: "A remark: it is told beside a verdict and is no fall-back.",
    NOISE: "Noise: it is never given as a reason.",
}


def list_lines(entries: Iterable[Entry]) -> list[str]:
    """A line for each id."""
    entries = list(entries)
    width = max(len(entry.id) for entry in entries)
    return [f"{entry.id:<{width}}  {entry.text}" for entry in entries]


def explained(entry: Entry) -> str:
    """One reason for people, as Markdown."""
    lines = [f"### {entry.id}", "", f"{_sentence(entry.text)} {entry.meaning}", ""]
    if kind := _KINDS.get(entry.kind):
        lines += [kind, ""]
    lines += ["In a log:", "", "```", *entry.lines, "```", "", "On a node:", ""]
    lines += [f"- `{check.command}`: {check.tells}" for check in entry.checks]
    lines += ["", "What mends it:", ""]
    lines += [f"- {_for(fix)}{fix.text}" for fix in entry.fixes]
    lines += ["", f"Sources: {'; '.join(entry.sources)}"]
    return "\n".join(lines) + "\n"


def explained_lines(entry: Entry, width: int) -> Iterator[str]:
    """One reason for people at a terminal of ``width`` columns: no markup, nothing wider than that."""
    yield entry.id
    for text in filter(None, (f"{_sentence(entry.text)} {entry.meaning}", _KINDS.get(entry.kind))):
        yield from _wrapped(text, width, 2, hang=0)
    yield "In a log:"
    for line in entry.lines:
        yield from _wrapped(line, width, 4)
    yield "On a node:"
    for check in entry.checks:
        yield from _wrapped(check.command, width, 4)
        yield from _wrapped(check.tells, width, 8, hang=0)
    yield "What mends it:"
    for fix in entry.fixes:
        yield from _wrapped(f"{_for(fix)}{fix.text}", width, 4)
    yield from _wrapped(f"Sources: {'; '.join(entry.sources)}", width, 0)
    yield ""


def _wrapped(text: str, width: int, indent: int, hang: int = 2) -> list[str]:
    """Lines that go on below are ``hang`` columns further in."""
    below = " " * (indent + hang)
    return textwrap.wrap(
        text, max(width, 40), initial_indent=" " * indent, subsequent_indent=below, break_on_hyphens=False
    )


def reasons_page(entries: Iterable[Entry]) -> str:
    """docs/reasons.md: all of them."""
    return f"{_HEAD}\n" + "\n".join(map(explained, entries))


def reasons_document(entries: Iterable[Entry]) -> dict[str, Any]:
    """The entries as JSON-like data."""
    return {
        "schema": SCHEMA,
        "reasons": [
            {
                "id": entry.id,
                "kind": entry.kind,
                "text": entry.text,
                "meaning": entry.meaning,
                "lines": list(entry.lines),
                "checks": [check._asdict() for check in entry.checks],
                "fixes": [fix._asdict() for fix in entry.fixes],
                "sources": list(entry.sources),
            }
            for entry in entries
        ],
    }


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _for(fix: Fix) -> str:
    """``Open MPI from 4.1.1 to below 4.1.2: ``, ``Slurm: ``; nothing for the general one."""
    words = [fix.runtime] if fix.runtime else []
    words += [f"from {fix.since}"] if fix.since else []
    words += [f"{'to ' if fix.since else ''}below {fix.before}"] if fix.before else []
    words += [_PLACES[fix.place]] if fix.place else []
    return f"{' '.join(words)}: " if words else ""


_PLACES = {
    "slurm": "Slurm", "pbs": "PBS", "lsf": "LSF", "kubernetes": "Kubernetes", "docker": "Docker, Podman",
    "apptainer": "Apptainer",
}  # fmt: skip
