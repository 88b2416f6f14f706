"""The jobs of a site in a list: those that were given, those that run, those that somebody asked for."""

from __future__ import annotations

from typing import NamedTuple

from ibkit.collectors.running_jobs import RunningJob
from ibkit.export.mpi_sentence import sentence
from ibkit.model.mpi import JobVerdict
from ibkit.tui.snapshot import ASKED_JOB, JOB, RUNNING, WATCHED, Part, Reading, Snapshot
from ibkit.tui.view.job import status_level
from ibkit.tui.view.level import INFO, OK, UNKNOWN
from ibkit.tui.view.lines import Line, facts, line, span
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Job", flexible=True, least=18),
    Column("Is"),
    Column("Verdict", flexible=True, least=24, turn=1, tinted=True, unknown="enter judges it"),
    Column("Ranks", right=True, drop=1, unknown="-"),
    Column("User", drop=3, unknown="-"),
    Column("Launcher", drop=4, unknown="-"),
    Column("Host", drop=2, unknown="-"),
    Column("Command", flexible=True, least=16, turn=1, drop=5, unknown="-"),
)


class JobKey(NamedTuple):
    """A job: the part that its verdict is a reading of, and the host that it runs on."""

    part: Part
    running: RunningJob | None = None
    host: str = ""

    def __hash__(self) -> int:
        """A running job is its target; the table of its ranks cannot be hashed."""
        return hash((self.part, self.host))


def verdict_parts(snapshot: Snapshot) -> list[Part]:
    """The jobs that have a verdict or are being judged, in the order that they are shown."""
    own = [part for part in (JOB, WATCHED) if part in snapshot.readings]
    return own + [part for part in reversed(snapshot.readings) if part.kind == ASKED_JOB]


def table(snapshot: Snapshot) -> Table:
    """A row for each job, running ones with what is known of them."""
    rows = []
    running = {}
    for part, reading in snapshot.readings.items():
        if part.kind == RUNNING:
            running.update({asked(job): (job, part.host) for job in reading.value or ()})
    for part in verdict_parts(snapshot):
        if part in running:
            continue
        reading = snapshot.readings[part]
        ranks = max((layer.ranks or 0 for layer in reading.value.layers), default=0) if reading.value else 0
        what = "log" if part == JOB else "watched" if part == WATCHED else "asked for"
        name = reading.value.target if reading.value else part.host or part.kind
        rows.append(
            Row(JobKey(part), level(reading), (name, what, said(reading), ranks or None, None, None, None, None))
        )
    for part, (job, host) in running.items():
        reading = snapshot.readings.get(part, Reading())
        judged = part in snapshot.readings
        rows.append(
            Row(
                JobKey(part, job, host),
                level(reading) if judged else INFO,
                (
                    job.target, "running", said(reading) if judged else None, job.size or len(job.ranks),
                    job.user or job.uid, job.launcher, host, job.command,
                ),
            )
        )  # fmt: skip
    return Table("job", COLUMNS, rows)


def asked(job: RunningJob) -> Part:
    """The part that a running job's verdict is."""
    return Part(ASKED_JOB, job.target)


def level(reading: Reading[JobVerdict]) -> int:
    """How bad a job is; while it is judged nothing is known."""
    return status_level(reading.value.status) if reading.value else OK if reading.is_waiting else UNKNOWN


def said(reading: Reading[JobVerdict]) -> str:
    """The verdict in a sentence, or why there is none."""
    if reading.value is not None:
        return sentence(reading.value, with_reasons=False)
    return f"cannot be judged: {reading.failure}" if reading.failure is not None else "being judged ..."


def job_lines(snapshot: Snapshot, key: JobKey) -> list[Line]:
    """What is known of a job before it is opened."""
    lines = []
    if key.part in snapshot.readings:
        lines.append(line(" ", span(said(snapshot.readings[key.part]))))
    if key.running is not None:
        job = key.running
        first = list(job.ranks.items())[:8]
        pids = ", ".join(f"{pid}" if rank is None else f"{pid} (rank {rank})" for pid, rank in first)
        more = " ..." if len(job.ranks) > 8 else ""
        lines += facts([("processes", f"{pids}{more}"), ("command", job.command or "-")], " ")
    return lines
