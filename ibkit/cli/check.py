"""The diagnosis of hosts and fabric: all rules over all that can be seen, worst finding first.

`ibkit check --explain RULE` tells what a rule means, its limits and their source; docs/rules.md lists all. Two samples
of the counters make rates: --interval on a live host, or --since with an earlier capture. Nothing is ever cleared.

exit status: 0 no finding, and what was looked at is complete (the last lines say what that was); 1 a finding, of
whatever severity is shown; 3 no finding, but something that was asked for is missing or not complete.
With --nagios 0, 1, 2 and 3 are OK, WARNING, CRITICAL and UNKNOWN.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import print_csv, print_json, print_problems, site_of
from ibkit.cli.seconds import seconds
from ibkit.display import and_more, clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.check import (
    COLUMNS,
    NAGIOS_UNKNOWN,
    check_document,
    check_rows,
    explained,
    nagios_line,
    rules_page,
)
from ibkit.model.findings import SEVERITIES, Diagnosis, Finding, rank
from ibkit.rules import catalogue
from ibkit.rules.collecting import READS, collect, compare_with, expecting, problems_of, sample_again, seconds_between
from ibkit.rules.engine import diagnose, is_complete, is_decided
from ibkit.rules.evidence import (
    CHANGE,
    COUNTERS,
    EARLIER,
    EXPECTED,
    FABRIC,
    HOSTS,
    MANAGERS,
    PARTITIONS,
    PARTS,
    ROUTES,
    Collected,
    Evidence,
)
from ibkit.rules.expectation_file import read_expectations
from ibkit.rules.rule import Rule
from ibkit.sources.site import Site

OUTPUTS = ("json", "csv")

#: What a diagnosis of everything looks at.
_ALL_PARTS = (HOSTS, FABRIC, MANAGERS, COUNTERS)
#: What chosen rules may need beside.
_EVERY_PART = (*_ALL_PARTS, PARTITIONS, ROUTES, CHANGE)
#: Members of an incident that a person reads.
_SHOWN_MEMBERS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look for, and how to show it."""
    parser.add_argument(
        "--explain", metavar="RULE", help="tell what a rule means (R04, slow-link), and end; `all` tells all"
    )
    parser.add_argument(
        "--rule", metavar="RULE", action="append",
        help="only these rules: by number, by name, or by what they look at (hosts, fabric, counters, "
        "subnet-managers and others, see docs/check.md); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--min-severity", metavar="WORD", choices=SEVERITIES, default=SEVERITIES[-1],
        help="leave out findings below critical, warning or info",
    )  # fmt: skip
    add_device_arguments(parser)
    samples = parser.add_mutually_exclusive_group()
    samples.add_argument(
        "--interval", metavar="SECONDS", type=seconds, help="read the counters twice, so long apart, and judge rates"
    )
    samples.add_argument("--since", metavar="PATH", help="an earlier capture: judge what changed since then")
    parser.add_argument(
        "--expect",
        metavar="FILE",
        help="expectations to compare with, limits and waivers (ibkit expect)",
    )
    parser.add_argument("--nagios", action="store_true", help="one line and performance data, for monitoring")


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis and return the exit status."""
    if args.explain:
        return _explain(args.explain)
    if not args.nagios:
        return _run(args)
    if args.json or args.csv:
        raise IbkitError("--nagios prints one line for monitoring: leave out --json and --csv, or --nagios")
    try:
        return _run(args)
    except IbkitError as error:  # its exit status would be that of a critical state
        print(clean(f"IBKIT UNKNOWN - {error}", 2000))
        return NAGIOS_UNKNOWN


def _run(args: argparse.Namespace) -> int:
    rules = _chosen(args)
    expected = read_expectations(args.expect) if args.expect else None
    needed = {part for rule in rules for part in rule.needs}
    collected = expecting(_collected(args, needed), expected)
    problems = problems_of(collected)
    diagnosis = diagnose(Evidence(collected), rules)
    shown = tuple(one for one in diagnosis.findings if rank(one.severity) <= rank(args.min_severity))
    diagnosis = diagnosis._replace(findings=shown)
    parts = tuple(part for part in _EVERY_PART if part in needed) if args.rule else _ALL_PARTS
    decided = is_decided(diagnosis, parts, args.rule or ())
    if args.nagios:
        status, line = nagios_line(diagnosis, is_decided=decided)
        print(clean(line, 2000))
        return status
    if args.json:
        print_json(check_document(diagnosis, problems, complete=is_complete(diagnosis, parts)))
    elif args.csv:
        print_csv(COLUMNS, check_rows(diagnosis))
    else:
        for text in _lines(diagnosis):
            print(text)
    print_problems(problems)
    if diagnosis.findings:
        return EXIT_FINDING
    return EXIT_OK if decided else EXIT_UNDECIDED


def _collected(args: argparse.Namespace, wanted: set[str]) -> Collected:
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "check")
    if args.interval and site.origin.kind != "live":
        raise IbkitError("--interval reads the counters twice, which only a live host can answer; use --since")
    earlier = _site_before(args.since) if args.since else None
    through = through_of(args, site)
    asked = wanted if args.rule else ()
    collected = collect(site, through, wanted, asked)
    if args.interval:
        return sample_again(site, collected, args.interval, through)
    if earlier is None:
        return collected
    seconds = seconds_between(earlier.origin, site.origin)
    since = f"between {earlier.origin.time} and {site.origin.time or 'now'}"
    return compare_with(collect(earlier, through_of(args, earlier), wanted), collected, seconds, since)


def _site_before(path: str) -> Site:
    site = site_of(path)
    if site.origin.kind != "capture":
        raise IbkitError(f"--since {path}: not a capture, so nobody knows when it was read; record one: ibkit capture")
    return site


def _chosen(args: argparse.Namespace) -> tuple[Rule, ...]:
    """The rules to run. Of a part of the evidence those that need no more than the user has given."""
    if not args.rule:
        return catalogue.ALL
    given = {EXPECTED: args.expect, EARLIER: args.since, CHANGE: args.since or args.interval}
    absent = {part for part, value in given.items() if not value}
    chosen: list[Rule] = []
    for word in args.rule:
        found = catalogue.find(word)
        if not found:
            raise IbkitError(f"--rule {word}: no such rule; `ibkit check --explain all` lists them")
        chosen += [rule for rule in found if word.lower() not in PARTS or absent.isdisjoint(rule.needs)]
    if not chosen:
        raise IbkitError(f"--rule {' '.join(args.rule)}: these rules need --expect, --since or --interval")
    return tuple(rule for rule in catalogue.ALL if rule in chosen)


def _explain(word: str) -> int:
    if word == "all":
        print(rules_page(catalogue.ALL), end="")
        return EXIT_OK
    rules = catalogue.find(word)
    if not rules:
        raise IbkitError(
            f"--explain {word}: no such rule; there are {', '.join(dict.fromkeys(one.number for one in catalogue.ALL))}"
        )
    print("\n".join(explained(rule) for rule in rules), end="")
    return EXIT_OK


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    for finding in diagnosis.findings:
        yield from _finding_lines(finding)
        yield ""
    if diagnosis.waived:
        told = Counter(f"{one.rule} {one.name}" for one in diagnosis.waived)
        text = ", ".join(f"{number} of {name}" for name, number in told.items())
        yield clean(f"waived, and not shown: {text}; --json lists them", 500)
    counts = ", ".join(
        f"{count} {severity}"
        for severity in SEVERITIES
        if (count := sum(one.severity == severity for one in diagnosis.findings))
    )
    yield f"findings: {counts or 'none'}"
    for part in diagnosis.looked_at:
        state = {True: "complete", False: "not complete", None: "whether that is all of it is not known"}[part.complete]
        yield clean(f"looked at: {part.what}: {part.text} ({state})", 300)
    missing: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for one in diagnosis.undecided:
        missing.setdefault((one.missing, one.get), set()).add((one.rule, one.name))
    for (what, how), rules in missing.items():
        yield clean(f"undecided: {', '.join(_spelled(rules))}: {what}; {how}", 1000)


def _spelled(rules: set[tuple[str, str]]) -> Iterator[str]:
    """The numbers; with its name a rule of a number that other rules have, too, of which this is not said."""
    for number in sorted({number for number, _ in rules}):
        names = [rule.name for rule in catalogue.find(number)]
        if all((number, name) in rules for name in names):
            yield number
        else:
            yield from (f"{number} {name}" for name in names if (number, name) in rules)


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield clean(f"{finding.severity.upper()}  {finding.rule} {finding.name}  {finding.where}", 500)
    yield clean(f"  {finding.what}", 500)
    if finding.since:
        yield clean(f"  since: {finding.since}", 200)
    for fact in finding.evidence[:_SHOWN_MEMBERS]:
        source = f" ({fact.source}{f':{fact.line}' if fact.line is not None else ''})" if fact.source else ""
        yield clean(f"  evidence: {fact.text}{source}", 500)
    for word, text in (("why", finding.why), ("next", finding.fix), ("or else", finding.otherwise)):
        if text:
            yield f"  {word}: {text}"
    for member in finding.members[:_SHOWN_MEMBERS]:
        yield clean(f"  - {member.rule} {member.where}: {member.what}", 300)
    if len(finding.members) > _SHOWN_MEMBERS:
        yield f"  ...{and_more(len(finding.members) - _SHOWN_MEMBERS)}; --json lists all"
