"""What a host knows of other hosts' addresses: the kernel's neighbours and routes, /etc/hosts, and ibacm's files."""

from __future__ import annotations

from collections.abc import Callable

from ibkit.collectors.interfaces import ADDRESSES, NEIGHBOURS
from ibkit.model.addresses import HostAddresses, KernelNeighbour, PreloadFile, Preloads
from ibkit.parsers import acm_hosts, acm_opts, acm_routes, etc_hosts, ip_route
from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.etc_hosts import canonical_address
from ibkit.parsers.ip_json import parse_addresses, parse_neighbours
from ibkit.sources.base import MISSING, NOT_RECORDED, Source

#: With ``-s`` the kernel tells how long ago it knew of each neighbour.
AGED_NEIGHBOURS = ("ip", "-j", "-s", "neigh")
ROUTES, ROUTES6 = ("ip", "-j", "route"), ("ip", "-j", "-6", "route")
DEADLINE_SECONDS = 20.0
HOST_NAMES = "/etc/hosts"
#: Where distributions let ibacm look for its files (rdma-core, ``CMakeLists.txt``: CMAKE_INSTALL_SYSCONFDIR/rdma).
ACM_FOLDER = "/etc/rdma"
OPTIONS_FILE, HOSTS_FILE, ROUTES_FILE = (
    f"{ACM_FOLDER}/{name}" for name in ("ibacm_opts.cfg", "ibacm_hosts.data", "ibacm_route.data")
)


def collect_addresses(source: Source) -> HostAddresses:
    """Neighbours, routes and names. What is missing is None; a tool that failed is a problem, too."""
    problems: list[Problem] = []
    rows = _ask(source, AGED_NEIGHBOURS, parse_neighbours, problems)
    if rows is None:
        rows = _ask(source, NEIGHBOURS, parse_neighbours, problems)
    neighbours = None if rows is None else tuple(
        KernelNeighbour(
            row.device, canonical_address(row.address) or row.address, row.lladdr, row.states, row.confirmed_seconds
        )
        for row in rows
    )  # fmt: skip
    routes = [_ask(source, command, ip_route.parse, problems) for command in (ROUTES, ROUTES6)]
    known = None if routes == [None, None] else tuple(route for some in routes for route in some or ())
    interfaces = _ask(source, ADDRESSES, parse_addresses, problems) or ()
    vlans = {one.name: one.vlan for one in interfaces if one.vlan is not None}
    names, found = read_names(source, HOST_NAMES)
    return HostAddresses(neighbours, known, names, vlans, (*problems, *found))


def collect_address_problems(source: Source) -> tuple[Problem, ...]:
    """All of it, for a capture."""
    return (*collect_addresses(source).problems, *collect_preloads(source).problems)


def read_names(source: Source, path: str) -> tuple[tuple[etc_hosts.HostLine, ...] | None, tuple[Problem, ...]]:
    """A list of addresses and names; None where it cannot be read."""
    answer = source.read(path)
    if answer.text is None:
        if answer.error in ("ENOENT", NOT_RECORDED):
            return None, ()
        return None, (Problem("unreadable-file", f"it cannot be read ({answer.error})", None, path),)
    parsed = etc_hosts.parse(answer.text, source=path)
    return parsed.value, parsed.problems


def collect_preloads(source: Source) -> Preloads:
    """Ibacm's files: where ibacm_opts.cfg says that they are, else where ibacm looks for them by itself."""
    problems: list[Problem] = []
    options = _read(source, OPTIONS_FILE, acm_opts.parse, problems)
    settings = None if options is None else acm_opts.settings(options)
    paths = [HOSTS_FILE, ROUTES_FILE]
    if settings:
        paths = [settings.addr_data_file or HOSTS_FILE, settings.route_data_file or ROUTES_FILE]
    hosts = _read(source, paths[0], acm_hosts.parse, problems)
    routes = _read(source, paths[1], acm_routes.parse, problems)
    there = [path for path, what in zip(paths, (hosts, routes), strict=True) if what is not None]
    changed = _modified(source, there)
    return Preloads(
        settings,
        hosts,
        PreloadFile(paths[0], changed.get(paths[0])) if hosts is not None else None,
        routes,
        PreloadFile(paths[1], changed.get(paths[1])) if routes is not None else None,
        tuple(problems),
    )


def _ask(source: Source, argv: tuple[str, ...], parse: Callable[..., Parsed[Any]], problems: list[Problem]) -> Any:
    answer = source.run(argv, deadline_seconds=DEADLINE_SECONDS)
    if answer.failure in (MISSING, NOT_RECORDED):
        return None
    try:
        if answer.failure or answer.exit_status:
            raise NotThisFormat(answer.failure or answer.err.strip()[:500] or f"exit status {answer.exit_status}")
        if not answer.out.strip():  # what ip prints of an empty table
            return ()
        parsed = parse(answer.out, source=answer.command)
    except NotThisFormat as error:
        problems.append(Problem("tool-failed", str(error), None, answer.command))
        return None
    problems += parsed.problems
    return parsed.value


def _read(source: Source, path: str, parse: Callable[..., Parsed[Any]], problems: list[Problem]) -> Any:
    answer = source.read(path)
    if answer.text is None:
        if answer.error not in ("ENOENT", NOT_RECORDED):
            problems.append(Problem("unreadable-file", f"it cannot be read ({answer.error})", None, path))
        return None
    try:
        parsed = parse(answer.text, source=path)
    except NotThisFormat as error:
        problems.append(Problem("bad-file", str(error), None, path))
        return None
    problems += parsed.problems
    return parsed.value


def _modified(source: Source, paths: list[str]) -> dict[str, int]:
    """When each file was changed last, in seconds since 1970, as far as ``stat`` tells."""
    if not paths:
        return {}
    found = {}
    for line in source.run(("stat", "-c", "%Y %n", *paths), deadline_seconds=DEADLINE_SECONDS).out.splitlines():
        seconds, _, path = line.partition(" ")
        if seconds.isascii() and seconds.isdigit() and len(seconds) < 12:
            found[path] = int(seconds)
    return found
