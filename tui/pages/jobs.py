"""The verdict of a job."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.mpi import Evidence
from ibkit.tui.pages.page import Content, DetailPage, Page, why_empty
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view import job
from ibkit.tui.view.lines import Line


class JobPage(Page):
    """The verdict of the job in the capture."""

    name, title = "jobs", "Jobs"
    detail_rows = 3

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The verdict, and the evidence under it."""
        if snapshot.job is None:
            return Content(empty="no job is in here; `ibkit check-mpi-transport LOG` judges a job's log")
        if snapshot.job.value is None:
            return Content(empty=why_empty(snapshot.job, "the job"))
        verdict = snapshot.job.value
        return Content(job.page(verdict), job.evidence_table(verdict), "no evidence in the log")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The evidence's line, whole."""
        return job.evidence_lines(key) if isinstance(key, Evidence) else []

    def open(self, snapshot: Snapshot, key: Any) -> Page:
        """The evidence in full."""
        return DetailPage(f"evidence #{key.id}", job.evidence_page(key))
