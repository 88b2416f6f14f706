"""What is wrong with the files that ibacm loads: what it takes otherwise than it was meant, and what will fail later.

Pure: texts in, findings out, in the order of the files and lines. ibacm itself says next to nothing: it skips what it
cannot read, and takes for a name what it cannot take for an address. The rules come from its source (rdma-core,
``ibacm/src/acm.c``, ``ibacm/prov/acmp/src/acmp.c``) and from trials with the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.findings import Finding
from ibkit.parsers import acm_addr, acm_hosts, acm_opts, acm_routes
from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.records import NamedTuple
from ibkit.resolve.lint.addr import addr_findings
from ibkit.resolve.lint.hosts import hosts_findings
from ibkit.resolve.lint.opts import opts_findings
from ibkit.resolve.lint.page import Known, Page, limited
from ibkit.resolve.lint.routes import no_routes, routes_findings

__all__ = ["AcmFiles", "Known", "lint"]


class AcmFiles(NamedTuple):
    """ibacm's files, each as a pair of its name and its text; None is a file that there is not, or was not given."""

    hosts: tuple[str, str] | None = None
    addr: tuple[str, str] | None = None
    opts: tuple[str, str] | None = None
    routes: tuple[str, str] | None = None


def lint(files: AcmFiles, known: Known | None = None) -> tuple[Finding, ...]:
    """All findings. ``known`` is what the fabric says; without it only the files are compared with each other."""
    return limited(_findings(files, known or Known()))


def _findings(files: AcmFiles, known: Known) -> Iterator[Finding]:
    settings = options = None
    if files.opts:
        options = acm_opts.parse(files.opts[1], source=files.opts[0])
        settings = acm_opts.settings(options.value)
    addresses = acm_addr.parse(files.addr[1], source=files.addr[0]) if files.addr else None
    routes = _routes(files.routes) if files.routes else None
    if files.opts and options:
        partitions = {entry.pkey for entry in addresses.value} if addresses else set()
        there = {"addr_preload": files.hosts, "route_preload": files.routes}
        given = {name: file[0] for name, file in there.items() if file}
        yield from _by_line(opts_findings(Page(*files.opts), options, given, partitions))
    if files.addr and addresses:
        yield from _by_line(addr_findings(Page(*files.addr), addresses, settings))
    if files.hosts:
        entries = acm_hosts.parse(files.hosts[1], source=files.hosts[0])
        is_loaded = settings is None or settings.route_preload != "none"
        blocks = routes.value if routes and is_loaded else ()
        yield from _by_line(hosts_findings(Page(*files.hosts), entries, blocks, known))
    if files.routes:
        page = Page(*files.routes)
        yield from _by_line(routes_findings(page, routes, known)) if routes else no_routes(page)


def _routes(file: tuple[str, str]) -> Parsed[tuple[acm_routes.RouteBlock, ...]] | None:
    try:
        return acm_routes.parse(file[1], source=file[0])
    except NotThisFormat:
        return None


def _by_line(findings: Iterator[Finding]) -> list[Finding]:
    """In the order of the file, what is about all of it first."""
    return sorted(findings, key=lambda finding: finding.evidence[0].line or 0)
