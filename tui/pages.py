"""The pages: what each screen shows of a snapshot, and where its rows lead. Pure; ibkit.tui.screen draws them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from ibkit.model.fabric import End, Link
from ibkit.model.findings import Finding, Undecided
from ibkit.model.ids import Guid
from ibkit.model.mpi import Evidence
from ibkit.model.resolution import Answer
from ibkit.tui.snapshot import Reading, Snapshot, problems_of
from ibkit.tui.view import counters, doctor, findings, host, job, managers, problems, resolution
from ibkit.tui.view.lines import BLANK, Line, line, span
from ibkit.tui.view.node_page import node_head, port_table
from ibkit.tui.view.notices import Notice, Target, notice_lines, notice_table
from ibkit.tui.view.overview import overview, overview_more, part_lines
from ibkit.tui.view.problems import because
from ibkit.tui.view.table import Table

#: From this height on the overview has room for more than the notices (lines).
TALL = 36


class Content(NamedTuple):
    """What a page shows of one snapshot: lines above a table, and what to say where the table has no row."""

    head: Sequence[Line] = ()
    table: Table | None = None
    empty: str = ""


class Page:
    """A page. ``name`` is its word on the command line, ``title`` its word on the screen."""

    name = ""
    title = ""
    #: The row that the cursor is on at first; None for the first row.
    cursor: Hashable = None
    #: How many lines below the table tell all about the row under the cursor; -1 for all that the table leaves.
    detail_rows = 0
    #: Whether enter on a row leads anywhere.
    opens = True
    #: Whether the content depends on the size of the screen.
    fits_size = False
    #: What the key a asks for; empty where a page asks for nothing.
    asks = ""

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The page's content, for a screen of this size (cells)."""
        raise NotImplementedError

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All about one row."""
        return []

    def open(self, snapshot: Snapshot, key: Any) -> Page | Target | None:
        """Where enter leads from a row."""
        return None


class OverviewPage(Page):
    """Is it well, what is broken and where, what was not seen."""

    name, title = "overview", "Overview"
    detail_rows = 3
    fits_size = True

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The verdict, the parts, the notices; on a large screen the ports and the rates, too."""
        seen = overview(snapshot)
        head = [seen.headline, BLANK, *part_lines(seen.parts), BLANK]
        if height >= TALL:
            head += overview_more(snapshot, width, height - TALL)
        waiting = "" if not snapshot.waiting else "reading ..."
        return Content(head, notice_table(seen.notices), waiting or "nothing to look at")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The notice in full."""
        return notice_lines(key) if isinstance(key, Notice) else []

    def open(self, snapshot: Snapshot, key: Notice) -> Target:
        """To the place that a notice is about."""
        return key.target


class NodesPage(Page):
    """The nodes of the fabric."""

    name, title = "fabric", "Fabric"
    detail_rows = 2

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of nodes."""
        view = snapshot.fabric.value
        return Content(table=view.nodes if view else None, empty=_why_empty(snapshot.fabric, "the fabric"))

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The node's whole name, and its remark."""
        view = snapshot.fabric.value
        return view.node_lines(key) if view and isinstance(key, Guid) else []

    def open(self, snapshot: Snapshot, key: Guid) -> Page:
        """To the node."""
        return NodePage(key)


class LinksPage(Page):
    """The links of the fabric."""

    name, title = "links", "Links"
    detail_rows = 2

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of links."""
        view = snapshot.fabric.value
        return Content(table=view.links if view else None, empty=_why_empty(snapshot.fabric, "the fabric"))

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """Both ends in full, and the remark."""
        view = snapshot.fabric.value
        return view.link_lines(key) if view and isinstance(key, Link) else []

    def open(self, snapshot: Snapshot, key: Link) -> Page:
        """To the node at its first end, the cursor on the link's port."""
        return NodePage(key.a.guid, key.a.port)


class NodePage(Page):
    """One node: its ports and its neighbours."""

    name = "node"

    def __init__(self, guid: Guid, port: int | None = None) -> None:
        self.guid = guid
        self.cursor = None if port is None else End(guid, port)
        self.title = str(guid)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What it is, and its ports."""
        view = snapshot.fabric.value
        if view is None:
            return Content(empty=_why_empty(snapshot.fabric, "the fabric"))
        self.title = view.name(self.guid)
        return Content(node_head(view, self.guid), port_table(view, self.guid), "none of its ports is known")

    def open(self, snapshot: Snapshot, key: End) -> Page | None:
        """To the neighbour at the other end, the cursor on its end of the link."""
        view = snapshot.fabric.value
        if view is None or key.guid != self.guid:
            return None
        other = view.peer_of(key)
        return NodePage(other.guid, other.port) if other else None


class CountersPage(Page):
    """What the ports count: rates once there are two samples."""

    name, title = "counters", "Counters"
    detail_rows = 3

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The fabric's past, and the table of ports."""
        reading = snapshot.check
        if reading is None or reading.value is None:
            return Content(empty=_why_empty(reading or Reading(), "the counters"))
        table = counters.table(reading.value, snapshot.fabric.value)
        return Content(counters.head(reading.value), table, "no port's counters were read")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All counters of the port."""
        reading = snapshot.check
        return counters.port_lines(reading.value, key) if reading and reading.value and isinstance(key, End) else []

    def open(self, snapshot: Snapshot, key: Any) -> Page | None:
        """To the node."""
        return NodePage(key.guid, key.port) if isinstance(key, End) else None


class FindingsPage(Page):
    """What is wrong, worst first, and what could not be decided."""

    name, title = "findings", "Findings"
    detail_rows = 4

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What was looked at, and the table of findings."""
        reading = snapshot.check
        if reading is None or reading.value is None:
            return Content(empty=_why_empty(reading or Reading(), "what the rules need"))
        diagnosis = reading.value.diagnosis
        return Content(findings.head(diagnosis), findings.table(diagnosis), "no finding in what was looked at")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The finding in short."""
        return findings.short_lines(key) if isinstance(key, Finding | Undecided) else []

    def open(self, snapshot: Snapshot, key: Finding | Undecided) -> Page:
        """All of it, its members, its rule."""
        return DetailPage(f"{key.rule} {key.name}", findings.full_page(key))


class ResolvePage(Page):
    """Type an address: GID, P_Key, path, where each comes from and how old it is."""

    name, title = "resolve", "Resolve"
    detail_rows = 8
    asks = "IP address, host name, GID, GUID or LID; several, or n[01-16]"

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What was asked for."""
        asked = snapshot.resolutions
        seen = [reading.value for reading in asked if reading.value is not None]
        waiting = any(reading.is_waiting for reading in asked)
        failed = next((reading.failure for reading in asked if reading.failure is not None), None)
        head: list[Line] = []
        if waiting:
            head = [line(" resolving ...")]
        elif failed:
            head = [line(" ", span(failed, "warning"))]
        return Content(head, resolution.table(seen), "key a: type an address, a host name, a GID, a GUID or a LID")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The answer."""
        return resolution.lines(key) if isinstance(key, Answer) else []

    def open(self, snapshot: Snapshot, key: Answer) -> Page:
        """The answer in full."""
        return DetailPage(key.query, resolution.lines(key))


class HostPage(Page):
    """The HCAs of the hosts: ports, GIDs, P_Keys."""

    name, title = "host", "Host"
    opens = False
    detail_rows = -1

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of ports."""
        seen = [reading.value for reading in snapshot.hosts.values() if reading.value is not None]
        reasons = [_why_empty(reading, f"host {name}".rstrip()) for name, reading in snapshot.hosts.items()]
        return Content(table=host.port_table(seen), empty="; ".join(reasons) or "no host is recorded here")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All of the port under the cursor."""
        if not isinstance(key, host.PortKey):
            return []
        reading = snapshot.hosts.get(key.host, Reading())
        return host.port_page(reading.value, key) if reading.value else []


class DoctorPage(Page):
    """What the doctor says of the hosts."""

    name, title = "doctor", "Doctor"
    opens = False
    detail_rows = 6

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of checks."""
        seen = [reading.value for reading in snapshot.doctors.values() if reading.value is not None]
        reasons = [_why_empty(reading, f"host {name}".rstrip()) for name, reading in snapshot.doctors.items()]
        empty = "; ".join(reasons) or "one tool's output says nothing about its host"
        return Content(table=doctor.check_table(seen), empty=empty)

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """What was seen, what follows, what mends it."""
        return doctor.check_lines(key.check) if isinstance(key, doctor.CheckKey) else []


class SubnetPage(Page):
    """The subnet managers."""

    name, title = "subnet", "Subnet"

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of managers."""
        value = snapshot.managers.value
        if value is None:
            return Content(empty=_why_empty(snapshot.managers, "the subnet managers"))
        view = snapshot.fabric.value
        table = managers.manager_table(value, view.owner_name if view else lambda guid: None)
        return Content(managers.head(value), table, "no subnet manager was seen")

    def open(self, snapshot: Snapshot, key: managers.ManagerKey) -> Page | None:
        """To the node that the manager runs on."""
        view = snapshot.fabric.value
        owner = view.owner_of(key.guid) if view and key.guid is not None else None
        return NodePage(owner) if owner is not None else None


class JobPage(Page):
    """The verdict of the job in the capture."""

    name, title = "jobs", "Jobs"
    detail_rows = 3

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The verdict, and the evidence under it."""
        if snapshot.job is None:
            return Content(empty="no job is in here; `ibkit check-mpi-transport LOG` judges a job's log")
        if snapshot.job.value is None:
            return Content(empty=_why_empty(snapshot.job, "the job"))
        verdict = snapshot.job.value
        return Content(job.page(verdict), job.evidence_table(verdict), "no evidence in the log")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The evidence's line, whole."""
        return job.evidence_lines(key) if isinstance(key, Evidence) else []

    def open(self, snapshot: Snapshot, key: Any) -> Page:
        """The evidence in full."""
        return DetailPage(f"evidence #{key.id}", job.evidence_page(key))


class ProblemsPage(Page):
    """What could not be read."""

    name, title = "problems", "Problems"
    detail_rows = 3

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of problems."""
        empty = "reading ..." if snapshot.waiting else "all that was asked for could be read"
        return Content(table=problems.problem_table(snapshot.problems()), empty=empty)

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The problem's sentence, whole."""
        return problems.problem_lines(key) if isinstance(key, problems.Found) else []

    def open(self, snapshot: Snapshot, key: problems.Found) -> Page:
        """The problem in full."""
        return DetailPage("problem", problems.problem_page(key))


class DetailPage(Page):
    """One thing in full."""

    name = "detail"
    opens = False

    def __init__(self, title: str, lines: list[Line]) -> None:
        self.title = title
        self._lines = lines

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The lines."""
        return Content(self._lines)


#: The pages that a digit opens, in the order of the digits; the tenth is 0's.
PAGES: tuple[type[Page], ...] = (
    OverviewPage, NodesPage, CountersPage, HostPage, SubnetPage, ResolvePage, JobPage, FindingsPage, ProblemsPage,
    LinksPage,
)  # fmt: skip
NAMES = tuple(page.name for page in PAGES)


def _why_empty(reading: Reading[Any], what: str) -> str:
    """Why there is nothing to show of a part."""
    if reading.failure is not None:
        return f"{what} could not be read: {reading.failure}"
    if reading.is_waiting:
        return f"reading {what} ..."
    return f"nothing was seen of {what}{because(problems_of(reading.value))}"
