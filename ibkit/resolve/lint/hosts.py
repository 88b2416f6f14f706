"""The rules for ibacm_hosts.data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.model.findings import CRITICAL, INFO, WARNING, Finding
from ibkit.model.ids import Gid
from ibkit.parsers.acm_file import NAME, gid_of, meant_address
from ibkit.parsers.acm_hosts import HostEntry
from ibkit.parsers.acm_routes import RouteBlock
from ibkit.parsers.base import Parsed, Problem
from ibkit.resolve.lint.page import Known, Page

LINK_LOCAL, SITE_LOCAL = 0xFE80 << 48, 0xFEC0 << 48
#: Subnet managers make alias GUIDs, which algorithmic routers need, with this vendor's part; the LID is in them.
ALIAS_VENDOR = 0x001405

_HEX_GID = re.compile(r"(?:0[xX])?([0-9a-fA-F]{32})\Z")
_HALF = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}\Z|[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){3}\Z")
_MENDS = {
    "acm-one-word": (WARNING, "write a key and a GID on one line, or start the line with #"),
    "acm-long-key": (CRITICAL, "give the host a name of at most 45 bytes"),
    "acm-long-line": (CRITICAL, "keep lines below 120 bytes: a remark goes on a line of its own that starts with #"),
}


def hosts_findings(
    page: Page, parsed: Parsed[tuple[HostEntry, ...]], routes: Sequence[RouteBlock], known: Known
) -> Iterator[Finding]:
    """All findings about the file."""
    yield from page.of_its_bytes()
    for problem in parsed.problems:
        if problem.kind == "acm-bad-gid":
            yield _bad_gid(page, problem)
        elif not (problem.kind == "acm-one-word" and page.line(problem.line).startswith("#")):
            yield from page.of_problems([problem], _MENDS)
    cut = {problem.line for problem in parsed.problems if problem.kind == "acm-long-line"}
    for entry in parsed.value:
        yield from _about_key(page, entry)
        if entry.rest and not entry.rest.startswith("#") and entry.line not in cut:
            yield _about_rest(page, entry)
        yield from _about_gid(page, entry)
        yield from _against_fabric(page, entry, known)
    yield from _keys_again(page, parsed.value, _reachable(routes))
    if not parsed.value:
        fix = "write lines like '10.0.0.21 fec0:0:0:1:c42:a103:0:21'"
        yield page.finding("acm-no-entry", WARNING, "ibacm learns no address from this file", fix)


def _bad_gid(page: Page, problem: Problem) -> Finding:
    text = page.line(problem.line)
    key, word, *_ = *text.split(), "", ""
    if text.startswith("#"):
        what = "an indented comment: ibacm reads it as an entry and logs an error"
        return page.finding("acm-indented-comment", INFO, what, "put the # into the first column", problem.line)
    if found := _HEX_GID.match(word):
        fix = f"write the GID with colons: {Gid(int(found[1], 16))}"
    elif "," in word or ";" in word:
        fix = "write one GID a line; an address has only one"
    elif _HALF.match(word):
        fix = "write the whole GID: the subnet prefix, then the port GUID"
    elif "%" in word or "/" in word:
        fix = "write the GID without what follows % or /"
    elif gid_of(key) is not None:
        fix = "write the key first, then the GID"
    else:
        fix = "write the GID as an IPv6 address is written, such as fe80::c42:a103:0:21"
    return page.finding("acm-bad-gid", CRITICAL, problem.text, fix, problem.line)


def _about_key(page: Page, entry: HostEntry) -> Iterator[Finding]:
    if entry.key.startswith("#"):
        what = f"an indented comment: ibacm takes {entry.key!r} for a host's name"
        yield page.finding("acm-indented-comment", WARNING, what, "put the # into the first column", entry.line)
    meant = meant_address(entry.key) if entry.kind == NAME else None
    if meant is not None:
        what = f"ibacm takes {entry.key!r} for a host's name, so the address never resolves"
        fix = (
            f"write it as {meant}" if meant else "write an IPv4 or IPv6 address, and nothing else, in front of the GID"
        )
        yield page.finding("acm-address-is-name", CRITICAL, what, fix, entry.line)


def _about_rest(page: Page, entry: HostEntry) -> Finding:
    if gid_of(entry.rest.replace("\t", " ").partition(" ")[0].rstrip(",;")) is None:
        what = f"ibacm ignores what follows the GID: {entry.rest[:60]!r}"
        return page.finding("acm-ignored-words", INFO, what, "start a remark with #, or remove it", entry.line)
    what = "two GIDs on the line: ibacm uses the first only"
    fix = "keep the GID of the port to be used; name the other port on a line of its own"
    return page.finding("acm-second-gid", CRITICAL, what, fix, entry.line)


def _about_gid(page: Page, entry: HostEntry) -> Iterator[Finding]:
    if entry.gid >> 32 == 0xFFFF:
        what = f"{entry.key} has the GID of a RoCE port; ibacm serves InfiniBand ports only and answers ENODATA"
        fix = "remove the line: the GID of a RoCE port is its IP address, and needs no look-up"
        yield page.finding("acm-roce-gid", CRITICAL, what, fix, entry.line)
    elif entry.gid >> 120 == 0xFF or not entry.gid & (1 << 64) - 1 or not entry.gid >> 64:
        what = f"{Gid(entry.gid)} is no port's GID"
        fix = "write the subnet prefix and the port GUID, as `ibaddr -g` and `ibkit status` show them"
        yield page.finding("acm-no-port-gid", CRITICAL, what, fix, entry.line)


def _against_fabric(page: Page, entry: HostEntry, known: Known) -> Iterator[Finding]:
    prefix, guid = entry.gid >> 64, entry.gid & (1 << 64) - 1
    if not known.prefixes:
        return
    own = known.prefixes[0]
    if prefix == LINK_LOCAL != own:
        what = f"{entry.key} has a link-local GID, but the subnet's prefix is 0x{own:016x}; no router forwards to it"
        yield page.finding("acm-link-local", WARNING, what, f"write {Gid(own << 64 | guid)}", entry.line)
    elif _subnet(prefix) not in map(_subnet, known.prefixes):
        what = f"{entry.key} is in a subnet that nobody knows here: prefix 0x{prefix:016x}"
        yield page.finding(
            "acm-unknown-prefix", WARNING, what, "check the GID at its host (`ibkit status`)", entry.line
        )
    if known.lids and (prefix == LINK_LOCAL or _subnet(prefix) == _subnet(own)):
        if guid >> 40 == ALIAS_VENDOR:
            yield from _alias(page, entry, known)
        elif guid not in known.lids:
            yield _unknown_guid(page, entry, known)


def _subnet(prefix: int) -> int:
    """A prefix without the floating LID that routers' GIDs hold in it (bits 16 to 31 of a site-local one)."""
    return prefix & ~(0xFFFF << 16) if prefix >> 54 == SITE_LOCAL >> 54 else prefix


def _alias(page: Page, entry: HostEntry, known: Known) -> Iterator[Finding]:
    """An alias GUID holds the LID: it is an old one where no port, or another port, has that LID."""
    guid = entry.gid & (1 << 64) - 1
    lid = known.lids.get(guid)
    if lid == guid & 0xFFFF or (lid is None and guid & 0xFFFF in known.lids.values()):
        return
    has = "no port has" if lid is None else f"the port has LID {lid}, not"
    what = f"the alias GUID of {entry.key} is of another time: {has} LID {guid & 0xFFFF}"
    fix = "take the GID from the host again, mend the file on all nodes and restart ibacm"
    why = "an alias GUID changes with the port's LID, and routers forward by it"
    yield page.finding("acm-alias-lid", CRITICAL, what, fix, entry.line, why=why)


def _unknown_guid(page: Page, entry: HostEntry, known: Known) -> Finding:
    what = f"no port of the fabric has the GUID 0x{entry.gid & (1 << 64) - 1:016x} of {entry.key}"
    if not known.with_aliases:
        what += "; whether a virtual function has it was not asked"
    why = "an adapter that was replaced has another GUID"
    fix = "take the GID from the host, mend the file on all nodes and restart ibacm: it reads it at its start only"
    severity = CRITICAL if known.with_aliases else WARNING
    return page.finding("acm-unknown-guid", severity, what, fix, entry.line, why=why)


def _reachable(routes: Sequence[RouteBlock]) -> set[int]:
    """The GUIDs of the ports to which the route file knows a path from anywhere."""
    guids = {block.lid: block.guid for block in reversed(routes)}  # of two heads with one LID ibacm keeps the first
    lids = {route.dlid for block in routes for route in block.routes}
    return {guid for lid, guid in guids.items() if lid in lids}


def _keys_again(page: Page, entries: Sequence[HostEntry], reachable: set[int]) -> Iterator[Finding]:
    by_key: dict[tuple[str, bytes], list[HostEntry]] = {}
    for entry in entries:
        by_key.setdefault((entry.kind, entry.packed), []).append(entry)
    for same in by_key.values():
        *earlier, last = same
        if not earlier:
            continue
        lines = [entry.line for entry in same][-8:]
        routed = [entry for entry in earlier if entry.gid & (1 << 64) - 1 in reachable]
        fix = f"keep one line for {last.key}"
        if all(entry.gid == last.gid for entry in earlier):
            yield page.finding("acm-same-line", INFO, f"{last.key} stands {len(same)} times", fix, *lines)
        elif routed and not _is_routed(last, routed[-1], reachable):
            what = (
                f"{last.key} gets the LID of line {routed[-1].line}, by the route file, and the GID of line {last.line}"
            )
            why = "the SA refuses that pair, and clients see EINVAL"
            yield page.finding("acm-duplicate-routed", CRITICAL, what, fix, *lines, why=why)
        else:
            what = f"{last.key} has {len({entry.gid for entry in same})} GIDs; the last line counts"
            yield page.finding("acm-duplicate-key", WARNING, what, fix, *lines)
    yield from _names_in_two_cases(page, entries)


def _is_routed(last: HostEntry, first: HostEntry, reachable: set[int]) -> bool:
    """Whether a path is known to the last GID too: those of the route file are all in the own subnet."""
    return last.gid & (1 << 64) - 1 in reachable and last.gid >> 64 == first.gid >> 64


def _names_in_two_cases(page: Page, entries: Sequence[HostEntry]) -> Iterator[Finding]:
    names: dict[str, HostEntry] = {}
    for entry in entries:
        if entry.kind != NAME:
            continue
        other = names.setdefault(entry.key.lower(), entry)
        if other.key != entry.key and other.gid != entry.gid:
            what = f"{other.key} and {entry.key} are two hosts to ibacm, which looks names up in their exact case"
            fix = "write the name as clients ask for it, once"
            yield page.finding("acm-two-cases", WARNING, what, fix, other.line, entry.line)
