"""``ibkit cache check``: the cache's own file, and the files that ibacm loads."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Iterator

from ibkit.cli.output import note, print_csv, print_json, print_problems, site_of
from ibkit.collectors.addresses import ACM_FOLDER
from ibkit.display import clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, UnreadableInput
from ibkit.export.cache_check import COLUMNS, check_document, check_rows
from ibkit.model.findings import CRITICAL, INFO, Fact, Finding
from ibkit.parsers import Format, identify
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.resolve.acm_export import ADDR_NAME, HOSTS_NAME, OPTS_NAME, ROUTE_NAME
from ibkit.resolve.cache import AddressCache
from ibkit.resolve.lint import AcmFiles, Known, lint
from ibkit.resolve.view import View, host_of
from ibkit.sources.base import NOT_RECORDED, Source, to_text
from ibkit.sources.raw import read_raw

#: How much of a text is looked at to tell whose it is.
_IDENTIFY_CHARS = 1 << 20
_KINDS = {"hosts": HOSTS_NAME, "addr": ADDR_NAME, "opts": OPTS_NAME, "routes": ROUTE_NAME}
#: What each of the files is called, in full or in part.
_NAMES = {"hosts": "hosts", "addr": "addr", "opts": "opt", "routes": r"route|path-records"}
#: What only this kind of file holds, where its name does not tell.
_CONTENT = {
    "routes": re.compile(r"^(?:Switch|Channel Adapter|Router) 0x[0-9a-fA-F]{1,16}, base LID \d", re.MULTILINE),
    "opts": re.compile(r"^(?:addr|route)_(?:prot|timeout|preload)\s", re.MULTILINE | re.IGNORECASE),
    "addr": re.compile(r"^[^#\s]\S*\s+\S+\s+\d{1,3}\s+(?:default|(?:0x)?[0-9a-fA-F]{4})\s*$", re.MULTILINE),
}


def check(args: argparse.Namespace) -> int:
    """Print the findings and return the exit status."""
    findings: list[Finding] = list(_of_cache(args.cache))
    problems: list[Problem] = []
    site = site_of(args.from_path)
    view = View(site, host_of(site, None))
    files = _named(args.files) if args.files else _installed(view.source, problems)
    if any(files):
        findings += lint(files, _known(view))
    if args.json:
        print_json(check_document(findings, problems))
    elif args.csv:
        print_csv(COLUMNS, check_rows(findings))
    else:
        for line in _lines(findings):
            print(clean(line, 1000))
    print_problems(problems)
    looked_at = [file[0] for file in files if file]
    if os.path.exists(args.cache):
        looked_at.append(args.cache)
    note(f"looked at {', '.join(looked_at)}" if looked_at else f"there is no {args.cache}, and no file of ibacm's")
    if any(finding.severity != INFO for finding in findings):
        return EXIT_FINDING
    return EXIT_OK if looked_at and not problems else EXIT_UNDECIDED


def _of_cache(path: str) -> Iterator[Finding]:
    with AddressCache(path) as cache:
        for fault in cache.faults()[:10]:
            fix = "remove the file, and build it again with `ibkit cache build`"
            yield Finding(
                f"the cache is damaged: {fault}", (), (Fact("", path),), CRITICAL, name="cache-damaged", fix=fix
            )


def _named(paths: Iterable[str]) -> AcmFiles:
    """The files that the user named, each by its name or else by what is in it. Raises UnreadableInput."""
    found: dict[str, tuple[str, str]] = {}
    for path in paths:
        if os.path.isdir(path):
            members = [os.path.join(path, name) for name in _KINDS.values() if os.path.exists(os.path.join(path, name))]
            if not members:
                raise UnreadableInput(f"{path}: no file of ibacm's in this folder ({', '.join(_KINDS.values())})")
        else:
            members = [path]
        for member in members:
            text = _text_of(member)
            kind = _kind_of(member, text)
            if kind in found:
                raise UnreadableInput(
                    f"{member}: a second file of this kind ({found[kind][0]}); check one set at a time"
                )
            found[kind] = member, text
    return AcmFiles(found.get("hosts"), found.get("addr"), found.get("opts"), found.get("routes"))


def _text_of(path: str) -> str:
    """An empty file is one, too: ibacm_addr.cfg is left empty where ib_acme found no device."""
    if path != "-" and os.path.isfile(path) and os.path.getsize(path) == 0:
        return ""
    return to_text(read_raw(path))


def _kind_of(path: str, text: str) -> str:
    name = os.path.basename(path).lower()
    kinds = [kind for kind, pattern in _NAMES.items() if re.search(pattern, name)]
    if len(kinds) == 1:
        return kinds[0]
    found = next((kind for kind, pattern in _CONTENT.items() if pattern.search(text)), None)
    if found is None and (other := _other_tool(text)):
        files = ", ".join(_KINDS.values())
        raise UnreadableInput(f"{path}: this is {other.tool} output, {other.reader}; `ibkit cache check` reads {files}")
    return found or "hosts"


def _other_tool(text: str) -> Format | None:
    """Of which other tool a text is; None for one of ibacm's, and for what nobody knows."""
    try:
        found = identify(text[:_IDENTIFY_CHARS])
    except NotThisFormat:
        return None
    return None if found.tool in _KINDS.values() else found


def _installed(source: Source, problems: list[Problem]) -> AcmFiles:
    """The files of the host, or of a capture."""
    found: dict[str, tuple[str, str]] = {}
    for kind, name in _KINDS.items():
        answer = source.read(f"{ACM_FOLDER}/{name}")
        if answer.text is not None:
            found[kind] = answer.path, answer.text
        elif answer.error not in ("ENOENT", NOT_RECORDED):
            problems.append(Problem("unreadable-file", f"it cannot be read ({answer.error})", None, answer.path))
    return AcmFiles(found.get("hosts"), found.get("addr"), found.get("opts"), found.get("routes"))


def _known(view: View) -> Known:
    """What the fabric says, where it can be seen and was seen whole."""
    if not view.sees_infiniband or not view.sees_all:
        return Known()
    lids = {int(port.guid): port.lid for port in view.nodes.ports if port.lid is not None}
    return Known(tuple(view.prefixes), lids)


def _lines(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        where = ", ".join(f"{fact.source}{f':{fact.line}' if fact.line else ''}" for fact in finding.evidence)
        yield f"{finding.severity:<8} {where}: {finding.what}"
        for fact in finding.evidence:
            if fact.text:
                yield f"         > {fact.text}"
        if finding.why:
            yield f"         why: {finding.why}"
        if finding.fix:
            yield f"         mend: {finding.fix}"
