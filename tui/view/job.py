"""The verdict of a job: what moved its data, why it was not InfiniBand, what to change, and on what that stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ibkit.display import first_few
from ibkit.export.mpi_evidence import names_of_runs, telling_first
from ibkit.export.mpi_sentence import said, sentence
from ibkit.model.host_matrix import fold
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Reason
from ibkit.model.node_set import short_names
from ibkit.tui.view import matrix
from ibkit.tui.view.level import CRITICAL, INFO, OK, UNKNOWN, WARNING, word
from ibkit.tui.view.lines import BLANK, Line, facts, line, marked, span
from ibkit.tui.view.notices import Notice, Target
from ibkit.tui.view.problems import told
from ibkit.tui.view.table import Column, Row, Table

#: Status words of ibkit.model.mpi as levels. A job that fell back works, badly: no less than a critical finding.
STATUS_LEVELS = {
    "as-expected": OK,
    "by-configuration": INFO,
    "undecided": UNKNOWN,
    "mixed": WARNING,
    "fallback": CRITICAL,
    "aborted": CRITICAL,
}
#: More hosts of a layer are told in short, and of what that leaves no more than so many.
MAX_NAMES = 8
EVIDENCE_COLUMNS = (
    Column("#", right=True),
    Column("Class", drop=1),
    Column("Where", flexible=True, least=24),
    Column("Host", drop=3, unknown=""),
    Column("Rank", right=True, drop=4, unknown=""),
    Column("Transport", drop=2, unknown=""),
    Column("Line", flexible=True, least=24, turn=1),
)


#: Of several runs; stands before the place.
_RUN_COLUMN = Column("Run", drop=5, unknown="")


def status_level(status: str) -> int:
    """How bad a status is."""
    return STATUS_LEVELS.get(status, UNKNOWN)


def page(verdict: JobVerdict) -> list[Line]:
    """The verdict, layer by layer: pairs, reasons, fixes, the next step."""
    level = status_level(verdict.status)
    lines = [
        marked(level, span(sentence(verdict, with_reasons=False), word(level))),
        line(span(f"   {verdict.target}", "dim")),
    ]
    if verdict.next_step:
        lines += [line(span("   next step  ", "caption"), span(verdict.next_step))]
    for layer in verdict.layers:
        lines += [BLANK, *_layer(layer, verdict)]
    return lines


def _layer(layer: Layer, verdict: JobVerdict) -> list[Line]:
    level = status_level(layer.status)
    runtime = " ".join(part for part in (layer.runtime, layer.version) if part) or "runtime not known"
    lines = [marked(level, span(name_of(layer, verdict.layers), "heading"))]
    if len(verdict.layers) > 1:
        lines = [(*lines[0], span(f"  {said(layer, with_reasons=False)}", word(level)))]
    about: list[tuple[str, object]] = [("runtime", runtime)]
    if layer.hosts:
        about.append(("hosts", f"{len(layer.hosts):,}: {_few(layer.hosts)}"))
    if layer.ranks is not None:
        about.append(("ranks", layer.ranks))
    why: list[tuple[str, object]] = [pair for reason in layer.reasons for pair in _reason(reason)]
    if layer.next_step:
        why.append(("next step", layer.next_step))
    told = facts([*about, *why], indent="   ")
    return [*lines, *told[: len(about)], *matrix.drawn(fold(layer)), *told[len(about) :]]


def name_of(layer: Layer, layers: Sequence[Layer]) -> str:
    """A layer's name, with its run where there are several, or with a process of a running job."""
    if not any(other.job != layer.job for other in layers):
        return layer.layer
    return f"{f'job {layer.process}' if layer.process is not None else f'run {layer.job}'}, {layer.layer}"


def _few(hosts: Sequence[str]) -> str:
    """Some hosts: each one by its name, many in their short form."""
    return first_few(hosts if len(hosts) <= MAX_NAMES else short_names(hosts), MAX_NAMES)


def _reason(reason: Reason) -> list[tuple[str, object]]:
    stands_on = "".join(f" #{number}" for number in reason.evidence)
    return [
        ("reason", f"{reason.text} ({reason.id}){stands_on and '  evidence' + stands_on}"),
        ("fix", (span(reason.fix, "fix"),)),
    ]


def evidence_table(verdict: JobVerdict) -> Table:
    """What the verdict stands on, what differs first."""
    return evidence_rows(telling_first(verdict.evidence), names_of_runs(verdict.layers))


def evidence_rows(evidence: Iterable[Evidence], runs: Mapping[int, str] | None = None) -> Table:
    """A row for each piece of evidence; ``runs`` are the names of whose it is, where there are several."""
    columns = (*EVIDENCE_COLUMNS[:2], _RUN_COLUMN, *EVIDENCE_COLUMNS[2:]) if runs else EVIDENCE_COLUMNS
    rows = [
        Row(
            item,
            OK,
            (
                item.id,
                item.evidence_class,
                *((runs.get(item.id),) if runs else ()),
                item.place,
                item.host,
                item.rank,
                item.transport,
                item.text.strip(),
            ),
        )
        for item in evidence
    ]
    return Table("piece of evidence", columns, rows, plural="pieces of evidence")


def evidence_page(item: Evidence) -> list[Line]:
    """One piece of evidence in full."""
    return facts(
        [
            ("evidence", f"#{item.id}, class {item.evidence_class}"),
            ("where", item.place),
            ("host", item.host or "-"),
            ("rank", "-" if item.rank is None else item.rank),
            ("transport", item.transport or "-"),
            ("line", (span(item.text.strip(), "heading"),)),
        ]
    )


def evidence_lines(item: Evidence) -> list[Line]:
    """A piece of evidence in short: where it is, and its line."""
    return [line(span(f" {item.place}  ", "caption"), span(item.text.strip()))]


def notices(verdict: JobVerdict) -> list[Notice]:
    """The job, where it is not as expected."""
    level = status_level(verdict.status)
    found = told("job", verdict.problems)
    if level >= UNKNOWN:
        reasons = [reason.text for layer in verdict.layers for reason in layer.reasons]
        why = f": {reasons[0]}" if reasons else ""
        found.append(
            Notice(level, f"job: {sentence(verdict, with_reasons=False)}{why}", verdict.target, Target("jobs"))
        )
    return found


def summary(verdict: JobVerdict) -> str:
    """The job in one line."""
    return f"{sentence(verdict, with_reasons=False)} ({verdict.target})"
