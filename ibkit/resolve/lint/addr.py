"""The rules for ibacm_addr.cfg."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.findings import CRITICAL, INFO, WARNING, Finding
from ibkit.parsers.acm_addr import AddrEntry
from ibkit.parsers.acm_file import NAME, meant_address
from ibkit.parsers.acm_opts import Settings
from ibkit.parsers.base import Parsed
from ibkit.resolve.lint.page import Page

_FORM = "write NAME DEVICE PORT PKEY, such as 'node01 mlx5_0 1 default'"
_MENDS = {
    "acm-skipped-line": (WARNING, f"{_FORM}, or start the line with #"),
    "acm-bad-pkey": (CRITICAL, "write the P_Key in hexadecimal digits, or the word default"),
    "acm-long-pkey": (WARNING, "write the P_Key in at most four hexadecimal digits, or the word default"),
    "acm-bad-port": (CRITICAL, "write the number of the device's port, from 1 on"),
    "acm-long-line": (CRITICAL, "keep lines below 120 bytes: a remark goes on a line of its own that starts with #"),
}


def addr_findings(page: Page, parsed: Parsed[tuple[AddrEntry, ...]], settings: Settings | None) -> Iterator[Finding]:
    """All findings about the file. ``settings`` are those of ibacm_opts.cfg, None where that is not at hand."""
    yield from page.of_its_bytes()
    for problem in parsed.problems:
        if not (problem.kind == "acm-skipped-line" and page.line(problem.line).startswith("#")):
            yield from page.of_problems([problem], _MENDS)
    cut = {problem.line for problem in parsed.problems if problem.kind == "acm-long-pkey"}
    for entry in parsed.value:
        yield from _about(page, entry, settings)
        if entry.rest and not entry.rest.startswith("#") and entry.line not in cut:
            what = f"ibacm ignores what follows the P_Key: {entry.rest[:60]!r}"
            yield page.finding("acm-ignored-words", INFO, what, "start a remark with #, or remove it", entry.line)
    yield from _names_twice(page, parsed.value)
    if not parsed.value:
        what = "the file names no endpoint, and since it is there ibacm does not write one itself"
        why = "an endpoint without a name and without an IPoIB address is not served"
        fix = "remove it, and ibacm makes one at its start; or run `ib_acme -A`"
        yield page.finding("acm-empty-addr", CRITICAL, what, fix, why=why)


def _about(page: Page, entry: AddrEntry, settings: Settings | None) -> Iterator[Finding]:
    if entry.name.startswith("#"):
        what = f"an indented comment: ibacm takes {entry.name!r} for a name"
        yield page.finding("acm-indented-comment", WARNING, what, "put the # into the first column", entry.line)
    if entry.kind != NAME and not (settings and settings.support_ips_in_addr_cfg):
        what = f"ibacm leaves out {entry.name}: it takes IP addresses from the IPoIB interfaces"
        if settings is None:
            what += ", unless ibacm_opts.cfg says support_ips_in_addr_cfg 1"
        fix = "remove the line; where there is no IPoIB interface, set support_ips_in_addr_cfg 1 in ibacm_opts.cfg"
        yield page.finding("acm-ip-in-addr", CRITICAL if settings else WARNING, what, fix, entry.line)
    meant = meant_address(entry.name) if entry.kind == NAME else None
    if meant is not None:
        what = f"ibacm takes {entry.name!r} for a name"
        fix = f"write it as {meant}" if meant else "write an IPv4 or IPv6 address, and nothing else, as the name"
        yield page.finding("acm-address-is-name", CRITICAL, what, fix, entry.line)
    if entry.pkey is not None and not entry.pkey & 0x7FFF:
        what = f"0x{entry.pkey:04x} is no P_Key"
        yield page.finding("acm-bad-pkey", CRITICAL, what, _MENDS["acm-bad-pkey"][1], entry.line)


def _names_twice(page: Page, entries: tuple[AddrEntry, ...]) -> Iterator[Finding]:
    names: dict[str, AddrEntry] = {}
    for entry in entries:
        first = names.setdefault(entry.name.lower(), entry)
        if _endpoint(first) != _endpoint(entry):
            what = f"two endpoints have the name {entry.name}: ibacm takes for it the one that it finds first"
            fix = "give each endpoint a name of its own, such as node01-1"
            yield page.finding("acm-name-twice", WARNING, what, fix, first.line, entry.line)


def _endpoint(entry: AddrEntry) -> tuple[str, int, int]:
    """As ibacm compares them; ``default`` is a port's first P_Key, which is that of the default partition."""
    return entry.device.lower(), entry.port, (0x7FFF if entry.pkey is None else entry.pkey & 0x7FFF)
