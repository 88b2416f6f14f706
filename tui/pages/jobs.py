"""Jobs: what is known of them, the verdict of each, its transports as a matrix, and the evidence in its file."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any

from ibkit.model.host_matrix import Matrix, fold
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair
from ibkit.sources.site import Site
from ibkit.tui.pages.page import AGAIN, Ask, Content, DetailPage, Outcome, Page, PageKey, why_empty
from ibkit.tui.snapshot import (
    ASKED_JOB,
    JOB,
    LINE,
    RUNNING,
    Part,
    Reading,
    Snapshot,
    Task,
    asked_job_task,
    line_part,
    line_task,
)
from ibkit.tui.view import excerpt, job, jobs, matrix
from ibkit.tui.view.lines import Line, line, span

OPEN = PageKey("o", "log", "judge a log, a job's folder, pid:N or slurm:JOBID; with nodes behind it over ssh", "log",
               is_private=True)  # fmt: skip
MATRIX = PageKey("M", "matrix", "the transports between groups of hosts; again the next layer", "matrix")
ANEW = PageKey("u", "anew", "judge the job, or compare, once more", "anew")


class JobPage(Page):
    """The verdict of one job, which is a reading of the snapshot."""

    name = "job"
    shows = (ASKED_JOB,)
    detail_rows = 3
    keys = (MATRIX, ANEW)

    def __init__(self, part: Part = JOB) -> None:
        self.part = part
        self.title = part.host or part.title

    def task(self, site: Site) -> Task | None:
        """Judge it, where that is not done already."""
        return asked_job_task(site, self.part.host) if self.part.kind == ASKED_JOB else None

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The verdict, a small matrix, and the evidence under it."""
        reading: Reading[JobVerdict] = snapshot.readings.get(self.part, Reading())
        if reading.value is None:
            what = f"the job{', which is watched for some seconds' if _runs(self.part) else ''}"
            return Content(empty=why_empty(reading, what))
        verdict = reading.value
        return Content(job.page(verdict), job.evidence_table(verdict), "no evidence was found")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The evidence's line, whole."""
        return job.evidence_lines(key) if isinstance(key, Evidence) else []

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """The evidence in its file; of what was watched, the evidence in full."""
        return _evidence(self.part, key)

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """The matrix, or judge it anew."""
        if name == ANEW.name:
            return AGAIN if self.part.kind == ASKED_JOB else "the job of a capture is what it is"
        value = snapshot.readings.get(self.part, Reading()).value
        return MatrixPage(self.part) if value and value.layers else "no transport is known of it"


class JobsPage(Page):
    """All jobs: that of the capture, those that run here, those that were asked for."""

    name, title = "jobs", "Jobs"
    shows = (ASKED_JOB,)
    detail_rows = 3
    keys = (OPEN, MATRIX)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """A list; where there is only the capture's own job, that."""
        if _only(snapshot):
            return JobPage().content(snapshot, width, height)
        reasons = [
            why_empty(reading, "the processes of the host")
            for part, reading in snapshot.readings.items()
            if part.kind == RUNNING and reading.value is None
        ]
        is_live = any(part.kind == RUNNING for part in snapshot.readings)
        none = "no job of MPI, NCCL or Gloo runs here" if is_live else "no job is in here"
        empty = "; ".join(reasons) or none
        return Content(table=jobs.table(snapshot), empty=f"{empty}; key o judges a log or a job's folder")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The job in short."""
        if isinstance(key, Evidence):
            return JobPage().detail(snapshot, key)
        return jobs.job_lines(snapshot, key) if isinstance(key, jobs.JobKey) else []

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """The job's verdict: one that runs is watched now."""
        return JobPage(key.part) if isinstance(key, jobs.JobKey) else JobPage().open(snapshot, key)

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Ask for a log; or the matrix of the job."""
        if name == OPEN.name:
            hint = "a log, a job's folder, or slurm:JOBID n[01-16]"
            return Ask(hint, lambda text: JobPage(Part(ASKED_JOB, os.path.expanduser(text))))
        part = key.part if isinstance(key, jobs.JobKey) else JOB
        return JobPage(part).press(name, snapshot, key)


class MatrixPage(Page):
    """The transports of a job between groups of hosts, one layer at a time."""

    name = "matrix"
    shows = (ASKED_JOB,)
    detail_rows = 4
    keys = (MATRIX,)

    def __init__(self, part: Part, number: int = 0) -> None:
        self.part = part
        self.number = number
        self.title = "matrix"
        self._folded: tuple[Layer, Matrix] | None = None

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The matrix of one layer."""
        found = self._matrix(snapshot)
        if found is None:
            return Content(empty="the job is being judged")
        layer, folded = found
        value: JobVerdict | None = snapshot.readings[self.part].value
        name = job.name_of(layer, value.layers if value else ())
        self.title = f"{name} matrix"
        return Content(matrix.group_lines(folded, layer, name), matrix.table(folded), "no host is known")

    def detail(self, snapshot: Snapshot, key: Any) -> list[Line]:
        """The cell in words."""
        found = self._matrix(snapshot)
        return matrix.cell_lines(found[1], key[0], key[1] - 1) if found and isinstance(key, tuple) else []

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """The pairs of the cell."""
        found = self._matrix(snapshot)
        row, column = key[0], key[1] - 1
        if found is None or column < 0:
            return "choose a cell with left and right"
        layer, folded = found
        pairs = list(folded.pairs_of(folded.cell(row, column), layer))
        if row == column:
            pairs += [pair for cell in folded.on_host if cell.row == row for pair in folded.pairs_of(cell, layer)]
        if not pairs:
            return "no pair of this cell is known"
        return PairsPage(self.part, f"{folded.groups[row].name} x {folded.groups[column].name}", tuple(pairs))

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """The next layer."""
        value: JobVerdict | None = snapshot.readings.get(self.part, Reading()).value
        if value is None or len(value.layers) < 2:
            return "it has no other layer"
        return MatrixPage(self.part, (self.number + 1) % len(value.layers))

    def _matrix(self, snapshot: Snapshot) -> tuple[Layer, Matrix] | None:
        """The layer and its matrix, folded once."""
        value: JobVerdict | None = snapshot.readings.get(self.part, Reading()).value
        if value is None or self.number >= len(value.layers):
            return None
        layer = value.layers[self.number]
        if self._folded is None or self._folded[0] is not layer:
            self._folded = layer, fold(layer)
        return self._folded


class _PartOfJob(Page):
    """What a job's verdict stands on: the matrix is a key away."""

    part: Part
    keys = (MATRIX,)

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """The job's matrix."""
        return JobPage(self.part).press(name, snapshot, key)


class PairsPage(_PartOfJob):
    """The pairs of hosts of one cell of the matrix."""

    name = "pairs"
    shows = (ASKED_JOB,)
    detail_rows = 3

    def __init__(self, part: Part, title: str, pairs: tuple[Pair, ...]) -> None:
        self.part = part
        self.title = title if len(title) <= 40 else f"{title[:37]}..."
        self.pairs = pairs

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of pairs."""
        return Content(table=matrix.pair_table(self.pairs, self._evidence(snapshot)))

    def detail(self, snapshot: Snapshot, key: Any) -> list[Line]:
        """The pair's ranks."""
        return matrix.pair_lines(self.pairs[key]) if isinstance(key, int) and key < len(self.pairs) else []

    def open(self, snapshot: Snapshot, key: int) -> Outcome:
        """Its evidence: the only line of it in its file, or all of them in a list."""
        known = self._evidence(snapshot)
        found = tuple(known[number] for number in self.pairs[key].evidence if number in known)
        if not found:
            return "the log names no line for this pair"
        pair = self.pairs[key]
        if len(found) == 1:
            return _evidence(self.part, found[0])
        return EvidencePage(self.part, f"{pair.a} - {pair.b}", found)

    def _evidence(self, snapshot: Snapshot) -> dict[int, Evidence]:
        value: JobVerdict | None = snapshot.readings.get(self.part, Reading()).value
        return {item.id: item for item in value.evidence} if value else {}


class EvidencePage(_PartOfJob):
    """The lines that one thing stands on."""

    name = "evidence"
    shows = (ASKED_JOB,)
    detail_rows = 3

    def __init__(self, part: Part, title: str, found: tuple[Evidence, ...]) -> None:
        self.part = part
        self.title = title
        self.found = found

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of evidence."""
        return Content(table=job.evidence_rows(self.found))

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The line, whole."""
        return job.evidence_lines(key) if isinstance(key, Evidence) else []

    def open(self, snapshot: Snapshot, key: Evidence) -> Outcome:
        """The line in its file."""
        return _evidence(self.part, key)


class LinePage(_PartOfJob):
    """A line of a log in its file."""

    name = "line"
    shows = (LINE,)
    opens = False
    detail_rows = 4

    def __init__(self, part: Part, evidence: Evidence) -> None:
        self.part = part
        self.evidence = evidence
        self.cursor = evidence.line
        self.title = evidence.place

    def task(self, site: Site) -> Task:
        """Read the file up to there."""
        return line_task(site, self.part, self.evidence.file, self.evidence.line)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The lines around it, with their numbers."""
        reading = self._reading(snapshot)
        if reading.value is None:
            return Content(empty=why_empty(reading, self.evidence.file))
        one = self.evidence
        where = f"line {one.line} of {one.file}" if one.line else one.file
        about = f" evidence #{one.id}, {one.evidence_class}: {where}"
        return Content([line(span(about, "caption"))], excerpt.table(reading.value))

    def detail(self, snapshot: Snapshot, key: Any) -> list[Line]:
        """The line under the cursor, whole."""
        reading = self._reading(snapshot)
        return excerpt.line_lines(reading.value, key) if reading.value and isinstance(key, int) else []

    def _reading(self, snapshot: Snapshot) -> Reading[excerpt.Excerpt]:
        return snapshot.readings.get(line_part(self.part, self.evidence.file, self.evidence.line), Reading())


def _evidence(part: Part, item: Evidence) -> Outcome:
    """A line of a log in its file; what was seen of processes stands in no file."""
    if part == JOB or (part.kind == ASKED_JOB and not _runs(part)):
        return LinePage(part, item)
    return DetailPage(f"evidence #{item.id}", job.evidence_page(item))


def _runs(part: Part) -> bool:
    """Whether a job's target names processes."""
    return part.kind == ASKED_JOB and part.host.startswith(("pid:", "slurm:", "run:", "running"))


def _only(snapshot: Snapshot) -> bool:
    """Whether there is nothing but the capture's own job."""
    return jobs.verdict_parts(snapshot) == [JOB] and not any(
        reading.value for part, reading in snapshot.readings.items() if part.kind == RUNNING
    )
