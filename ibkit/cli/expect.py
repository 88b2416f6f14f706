"""Write down what a fabric should be like: `ibkit expect init` takes today's for that, as a TOML file to edit.

Hosts and switches in groups with their links, firmware by board id, partitions, cabling; limits and waivers of rules
go into the same file. `ibkit check --expect FILE` compares. What is wrong today is taken for right: run `ibkit check`
first.

exit status: 0 the file was written; 2 it could not be written; 3 nothing of a fabric or host could be seen.
"""

from __future__ import annotations

import argparse
import os

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, origin_line, print_problems, site_of
from ibkit.errors import EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.model.expectations import expectations_of
from ibkit.rules.collecting import collect, problems_of
from ibkit.rules.evidence import FABRIC, HOSTS, MANAGERS, PARTITIONS
from ibkit.rules.expectation_file import to_toml, write_expectations

OUTPUTS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and where the file goes."""
    parser.add_argument("what", choices=("init",), help="write expectations from what is there today")
    parser.add_argument("-o", "--output", metavar="FILE", help="the file (stdout)")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    add_device_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Collect, write, and say what was not seen."""
    if args.output and os.path.lexists(args.output) and not args.force:
        raise IbkitError(f"{args.output} is there already; name another file, or use --force to write over it")
    site = site_of(args.from_path)
    collected = collect(site, through_of(args, site), {HOSTS, FABRIC, MANAGERS, PARTITIONS})
    print_problems(problems_of(collected))
    if collected.fabric is None and collected.hosts is None:
        note("nothing was seen that could be expected")
        return EXIT_UNDECIDED
    if collected.fabric is not None and collected.fabric.complete is not True:
        note("the sweep is not known to be complete: what it did not show is not expected")
    expected = expectations_of(collected.fabric, collected.hosts or (), collected.partitions, collected.managers)
    text = to_toml(expected, origin_line(site.origin))
    if args.output:
        write_expectations(args.output, text)
        note(f"written to {args.output}: read it, then `ibkit check --expect {args.output}`")
    else:
        print(text, end="")
    return EXIT_OK
