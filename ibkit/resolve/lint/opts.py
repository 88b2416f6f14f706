"""The rules for ibacm_opts.cfg."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ibkit.model.findings import CRITICAL, INFO, WARNING, Finding
from ibkit.parsers.acm_file import atoi
from ibkit.parsers.acm_opts import MTUS, NUMBERS, OPTIONS, RATES, WORDS, Option, Settings, known, settings
from ibkit.parsers.base import Parsed
from ibkit.resolve.lint.page import Page

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}\Z")
_MENDS = {
    "acm-no-value": (WARNING, "write the option, a blank and its value, without = between"),
    "acm-long-line": (CRITICAL, "keep lines below 120 bytes"),
}
#: The value that lets ibacm read a file, by option, and what the file is called.
_PRELOADS = {
    "addr_preload": ("acm_hosts", "ibacm_hosts.data"),
    "route_preload": ("opensm_full_v1", "ibacm_route.data"),
}


def opts_findings(
    page: Page, parsed: Parsed[tuple[Option, ...]], given: Mapping[str, str], partitions: Collection[int | None]
) -> Iterator[Finding]:
    """All findings about the file. ``given`` are the names of the files that are there for addr_preload and
    route_preload, and ``partitions`` are the P_Keys of ibacm_addr.cfg.
    """
    yield from page.of_its_bytes()
    for problem in parsed.problems:
        if not (problem.kind == "acm-no-value" and page.line(problem.line).startswith("#")):
            yield from page.of_problems([problem], _MENDS)
    for option in parsed.value:
        yield from _about(page, option)
    lines = _last(parsed.value)
    yield from _twice(page, parsed.value, lines)
    yield from _of_preloads(page, parsed.value, lines, given, partitions)


def _about(page: Page, option: Option) -> Iterator[Finding]:
    name = known(option.name)
    if option.name.startswith("#"):
        return  # an indented comment is an option that ibacm does not know, and does no harm
    if name is None:
        yield _unknown(page, option)
        return
    if name == "provider":
        if not option.rest:
            what, fix = "ibacm skips the line: a provider is for a subnet", "write 'provider ibacmp default'"
            yield page.finding("acm-no-value", WARNING, what, fix, option.line)
    elif option.value == "=":
        what = f"ibacm takes {option.value!r} for the value of {name}"
        fix = f"write '{name} {(option.rest.split() or ['VALUE'])[0]}'"
        yield page.finding("acm-equals-sign", CRITICAL, what, fix, option.line)
    elif name in WORDS and option.value.lower() not in WORDS[name]:
        yield _unknown_value(page, name, option)
    elif name in NUMBERS and not _NUMBER.match(option.value):
        what = f"ibacm reads {option.value!r} as {atoi(option.value)}"
        yield page.finding("acm-no-number", CRITICAL, what, f"write a whole number behind {name}", option.line)
    elif (name == "min_mtu" and atoi(option.value) not in MTUS) or (
        name == "min_rate" and atoi(option.value) not in RATES
    ):
        used, choice = ("2048", MTUS) if name == "min_mtu" else ("10", RATES)
        what = f"ibacm does not know {name} {option.value} and takes {used}"
        fix = f"write one of {', '.join(map(str, choice))}; the same on all nodes, or they do not find each other"
        yield page.finding("acm-unknown-value", WARNING, what, fix, option.line)
    elif option.rest and not option.rest.startswith("#"):
        what = f"ibacm ignores what follows the value: {option.rest[:60]!r}"
        yield page.finding("acm-ignored-words", INFO, what, "start a remark with #, or remove it", option.line)


def _unknown(page: Page, option: Option) -> Finding:
    if option.name.lower() == "route_timeout":
        what = f"ibacm ignores {option.name}: of all options it knows this one in lower case only"
        return page.finding("acm-unknown-option", CRITICAL, what, "write route_timeout", option.line)
    near = difflib.get_close_matches(option.name.lower()[:40], OPTIONS, 1, 0.75)
    fix = f"write {near[0]}" if near else "remove the line, or look the option up in ibacm(8)"
    what = f"ibacm has no option {option.name!r} and ignores the line"
    return page.finding("acm-unknown-option", CRITICAL if near else WARNING, what, fix, option.line)


def _unknown_value(page: Page, name: str, option: Option) -> Finding:
    words = [word for word in WORDS[name] if word != "no"]
    why = ""
    if name == "route_preload" and "opensm" in option.value.lower():
        why = "ibacm's manual page calls the format full_opensm_v1; the program does not know that word"
        fix = "write route_preload opensm_full_v1"
    else:
        fix = f"write {name} {' or '.join(words)}"
    used = "takes unix" if name == "server_mode" else "leaves the setting as it was"
    what = f"ibacm does not know the value {option.value!r} of {name} and {used}"
    return page.finding("acm-unknown-value", CRITICAL, what, fix, option.line, why=why)


def _last(options: Sequence[Option]) -> dict[str, int]:
    """The line that counts, by option: a word that an option does not know changes nothing."""
    return {
        name: option.line
        for option in options
        if (name := known(option.name))
        and (name not in WORDS or name == "server_mode" or option.value.lower() in WORDS[name])
    }


def _twice(page: Page, options: Sequence[Option], last: Mapping[str, int]) -> Iterator[Finding]:
    for option in options:
        name = known(option.name)
        if name is not None and name != "provider" and last.get(name, option.line) > option.line:
            what = f"{name} stands again in line {last[name]}, which counts"
            yield page.finding("acm-option-twice", WARNING, what, "keep one of the lines", option.line, last[name])


def _of_preloads(
    page: Page,
    options: Sequence[Option],
    lines: Mapping[str, int],
    given: Mapping[str, str],
    partitions: Collection[int | None],
) -> Iterator[Finding]:
    found = settings(options)
    files = {"addr_preload": found.addr_data_file, "route_preload": found.route_data_file}
    loaded = []
    for name, (value, file) in _PRELOADS.items():
        where = (lines[name],) if name in lines else ()
        reads = os.path.basename(files[name] or file)
        if getattr(found, name) == value:
            loaded.append(reads)
        if name in given and getattr(found, name) != value:
            what = f"{os.path.basename(given[name])} is there and ibacm does not read it"
            yield page.finding("acm-not-loaded", WARNING, what, f"write {name} {value}", *where)
        elif name in given and files[name] and reads != os.path.basename(given[name]):
            what = f"ibacm reads {files[name]}, not {os.path.basename(given[name])}"
            option = name.replace("preload", "data_file")
            yield page.finding("acm-not-loaded", WARNING, what, f"name the file behind {option}", lines[option])
    yield from _timeouts(page, found, lines, loaded)
    if found.route_preload != "none" and len(partitions) > 1:
        what = "ibacm takes the paths of the route file for each P_Key of ibacm_addr.cfg, without a check"
        why = "it then answers with paths to hosts that are not in the partition, which the SA would not give"
        fix = "use the route file only where all hosts are in all partitions, or write route_preload none"
        yield page.finding("acm-routes-of-partitions", WARNING, what, fix, lines["route_preload"], why=why)


def _timeouts(page: Page, found: Settings, lines: Mapping[str, int], loaded: Sequence[str]) -> Iterator[Finding]:
    minutes = found.addr_timeout_minutes
    if not loaded or minutes < 0:
        return
    line = (lines["addr_timeout"],) if "addr_timeout" in lines else ()
    what = f"ibacm drops what it has of {' and '.join(loaded)} {minutes} minutes after its start"
    if found.addr_preload == "none":
        why = "it then asks the SA, as it does without the file"
        yield page.finding("acm-addr-timeout", INFO, what, "write addr_timeout -1 to keep it", *line, why=why)
        return
    why = "an entry that was used is deleted then and not read again: the address resolves no more until a restart"
    yield page.finding("acm-addr-timeout", CRITICAL, what, "write addr_timeout -1", *line, why=why)
