"""The pages: what each screen shows of a snapshot, and where its rows lead."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ibkit.parsers.records import NamedTuple

if TYPE_CHECKING:
    from ibkit.tui.pages.page import Page


class Entry(NamedTuple):
    """A page that a digit opens: its word on the command line, its word on the screen, where its class is.

    The class comes when the page is shown: the ten of them import all that ibkit knows of fabrics, jobs and rules, and
    the first frame would wait for it.
    """

    name: str
    title: str
    module: str
    class_name: str

    def page(self) -> Page:
        """The page."""
        made: Any = getattr(import_module(f"ibkit.tui.pages.{self.module}"), self.class_name)
        page: Page = made()
        return page


#: In the order of the digits; the tenth is 0's.
PAGES = (
    Entry("overview", "Overview", "overview", "OverviewPage"),
    Entry("fabric", "Fabric", "fabric", "NodesPage"),
    Entry("counters", "Counters", "counters", "CountersPage"),
    Entry("host", "Host", "host", "HostPage"),
    Entry("subnet", "Subnet", "subnet", "SubnetPage"),
    Entry("resolve", "Resolve", "resolve", "ResolvePage"),
    Entry("jobs", "Jobs", "jobs", "JobsPage"),
    Entry("findings", "Findings", "findings", "FindingsPage"),
    Entry("problems", "Problems", "problems", "ProblemsPage"),
    Entry("links", "Links", "fabric", "LinksPage"),
)
NAMES = tuple(page.name for page in PAGES)
