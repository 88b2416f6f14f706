"""The pages: what each screen shows of a snapshot, and where its rows lead."""

from __future__ import annotations

from ibkit.tui.pages.changes import ChangesPage
from ibkit.tui.pages.counters import CountersPage
from ibkit.tui.pages.fabric import LinksPage, NodesPage
from ibkit.tui.pages.findings import FindingPage, FindingsPage, WaivePage
from ibkit.tui.pages.host import DoctorPage, HostPage
from ibkit.tui.pages.jobs import EvidencePage, JobPage, JobsPage, LinePage, MatrixPage, PairsPage
from ibkit.tui.pages.node import NodePage, PortPage
from ibkit.tui.pages.overview import OverviewPage
from ibkit.tui.pages.page import DetailPage, Page
from ibkit.tui.pages.path import PathPage
from ibkit.tui.pages.problems import ProblemsPage
from ibkit.tui.pages.resolve import CachePage, ResolvePage
from ibkit.tui.pages.subnet import ExitsPage, PartitionsPage, RoutesPage, SubnetPage

#: The pages that a digit opens, in the order of the digits; the tenth is 0's.
PAGES: tuple[type[Page], ...] = (
    OverviewPage, NodesPage, CountersPage, HostPage, SubnetPage, ResolvePage, JobsPage, FindingsPage, ProblemsPage,
    LinksPage,
)  # fmt: skip
NAMES = tuple(page.name for page in PAGES)
#: Those that rows and keys lead to, too.
ALL_PAGES: tuple[type[Page], ...] = (
    *PAGES, NodePage, PortPage, PathPage, PartitionsPage, RoutesPage, ExitsPage, DoctorPage, FindingPage, WaivePage,
    JobPage, MatrixPage, PairsPage, EvidencePage, LinePage, CachePage, ChangesPage,
    DetailPage,
)  # fmt: skip
