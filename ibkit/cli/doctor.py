"""What ibkit can and cannot see on this host, and the command that mends each. It changes nothing.

exit status: 0 all is there; 1 something is missing, forbidden, too small or broken; 3 a check could not tell.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ibkit.cli.output import print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.doctor import collect_checks
from ibkit.display import clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.doctor import COLUMNS, doctor_document, doctor_rows, verdict
from ibkit.export.problems import problems_of
from ibkit.model.checks import OK, UNKNOWN, HostChecks

OUTPUTS = ("json", "csv")

_EXIT_OF = {"ok": EXIT_OK, "finding": EXIT_FINDING, "unknown": EXIT_UNDECIDED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(args: argparse.Namespace) -> int:
    """Print the checks and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        raise IbkitError(
            f"{args.from_path}: one tool's output says nothing about its host; give a capture, or no --from"
        )
    hosts = [collect_checks(host.source, host.name) for host in site.hosts]
    if args.json:
        print_json(doctor_document(hosts))
    elif args.csv:
        print_csv(COLUMNS, doctor_rows(hosts))
    else:
        _print(hosts)
    print_problems(problems_of(hosts))
    return _EXIT_OF[verdict(hosts)]


def _print(hosts: Sequence[HostChecks]) -> None:
    named = len(hosts) > 1
    rows = [(host.host, check.id, check.state, check.text) for host in hosts for check in host.checks]
    print_table(("HOST", "CHECK", "STATE", "WHAT")[not named :], [row[not named :] for row in rows])
    for host in hosts:
        for check in host.checks:
            if check.state not in (OK, UNKNOWN):
                print(f"\n{clean(f'{host.host} ' if named else '')}{check.id}: {check.means}.")
                for fix in check.fixes:
                    print(f"  {'' if fix.system == 'any' else f'{fix.system}: '}{clean(fix.command)}")
