"""Add waivers to a file of expectations, below all that stands in it.

The file's text stays as it is, comments and all. What will be written is told before (:func:`plan`), and is written
(:func:`write`) only where the file has not become another one meanwhile.
"""

from __future__ import annotations

import os

from ibkit.display import clean
from ibkit.errors import IbkitError
from ibkit.model.findings import Finding
from ibkit.parsers.records import NamedTuple
from ibkit.rules.expectation_file import FORMAT, from_toml, read_text, write_expectations
from ibkit.rules.waivers import waiver_of

#: An incident of more findings than these is a statement about the fabric, which a person should write down.
MOST_WAIVERS = 50
#: The longest reason (characters).
_MOST_CHARS = 500


class Addition(NamedTuple):
    """What is to be added to a file: its ``lines``, below ``before``, the text that is there (None: no file yet)."""

    path: str
    lines: tuple[str, ...]
    before: str | None


def plan(path: str, finding: Finding, why: str, until: str | None, day: str) -> Addition:
    """The waivers of a finding and of its members. ``until`` is their last day (ISO), None for ever; ``day`` that of
    the evidence.

    Raises IbkitError where the file cannot be read, or the waivers would not be taken, or would not hold.
    """
    found = findings_of(finding)
    if len(found) > MOST_WAIVERS:
        raise IbkitError(
            f"{len(found)} findings have this cause, too many to waive one by one: write a waiver with * into {path}, "
            "or waive single members"
        )
    if not why.strip():
        raise IbkitError("a waiver needs a reason: say why this is known")
    if until is not None:
        until = _date(until)
        if until < day:
            raise IbkitError(f"{until} is over on {clean(day, 20)}, the day of the evidence: give a later one")
    before = read_text(path) if os.path.lexists(path) else None
    if before is not None:
        from_toml(before, path)
        if not os.access(path, os.W_OK):  # in a folder of one's own it could be replaced all the same
            raise IbkitError(f"{path}: it may not be written to: name another file, or let its owner allow it")
    addition = Addition(path, tuple(_lines(found, why, until, is_new=before is None)), before)
    try:
        waivers = from_toml(text_with(addition), path).waivers
    except IbkitError as error:
        raise IbkitError(
            f"nothing can be added at the end of {path}, where waivers is not written as [[waivers]]: {error}"
        ) from error
    missed = [one for one in found if waiver_of(one, waivers, day) is None]
    if missed:
        raise IbkitError(f"{path}: no waiver can name {clean(missed[0].where, 200)}; write it by hand")
    return addition


def text_with(addition: Addition) -> str:
    """The whole file as it will be, with the line ends that it has."""
    before = addition.before or ""
    end = "\r\n" if "\r\n" in before else "\n"
    gap = "" if not before or before.endswith("\n") else end
    return before + gap + "".join(line + end for line in addition.lines)


def write(addition: Addition) -> None:
    """Write it. Raises IbkitError, also where somebody has changed the file since."""
    now = read_text(addition.path) if os.path.lexists(addition.path) else None
    if now != addition.before:
        raise IbkitError(f"{addition.path} was changed meanwhile, nothing was written: waive it again")
    write_expectations(addition.path, text_with(addition))


def findings_of(finding: Finding) -> list[Finding]:
    """A finding and its members, each rule and place once: with the finding alone waived its members would come back.

    What a rule itself says of many places at once (it has evidence and no place of its own) is one finding.
    """
    is_one = not finding.places and bool(finding.evidence)
    members = [one for one in finding.members if not (is_one and one.name == finding.name)]
    found: dict[tuple[str, str], Finding] = {}
    for one in (finding, *members):
        found.setdefault((one.name, where_of(one)), one)
    return list(found.values())


def where_of(finding: Finding) -> str:
    """The pattern of a finding's place. Characters that mean something in a pattern, or that nobody can see, are
    matched by ``?``.
    """
    text = finding.places[0].text if finding.places else finding.where
    return "".join("?" if char in "*?" or not char.isprintable() else char for char in text)


def _lines(findings: list[Finding], why: str, until: str | None, *, is_new: bool) -> list[str]:
    lines = [f'format = "{FORMAT}"'] if is_new else []
    for one in findings:
        lines += ["", "[[waivers]]", f"rule = {_quoted(one.name)}", f"where = {_quoted(where_of(one))}"]
        lines += [f"until = {until}"] if until is not None else []
        lines.append(f"why = {_quoted(clean(why.strip(), _MOST_CHARS))}")
    return lines


def _quoted(text: str) -> str:
    """A basic string of TOML; nothing in it is a control character."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _date(text: str) -> str:
    import datetime

    try:
        return datetime.date.fromisoformat(text.strip()).isoformat()
    except ValueError as error:
        raise IbkitError(f"{clean(text, 60)} is no day: write it as 2027-01-31") from error
