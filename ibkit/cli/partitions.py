"""Partitions of the subnet: the P_Key tables of all ports, and who can talk to whom.

Without a word each partition with its members, and which groups of ports can talk; `ports` lists each key of
each port. With --intended a partitions.conf is compared with the tables.

exit status: 0 nothing speaks against it; 1 a finding, such as a port that is not in the default partition, a
manager whom limited members cannot reach, or a table that is not as intended; 3 no table could be read, or it
is known that some are missing.
"""

from __future__ import annotations

import argparse

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.intended_partitions import compared
from ibkit.collectors.partitions import READS, collect_partitions
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED
from ibkit.export.partitions import (
    GROUP_COLUMNS,
    INTENDED_COLUMNS,
    KEY_COLUMNS,
    PARTITION_COLUMNS,
    TALK_COLUMNS,
    group_rows,
    intended_rows,
    key_rows,
    partition_rows,
    partitions_document,
    talk_rows,
)
from ibkit.model.partitions import FINDINGS, MAX_GROUPS, Partitions, groups_of
from ibkit.sources.base import to_text

OUTPUTS = ("json", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to list, and what it should be."""
    parser.add_argument("what", nargs="?", choices=("ports",), help="list the keys of each port")
    parser.add_argument("--intended", metavar="FILE", help="the partitions.conf that the tables should come from")
    add_device_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the partitions and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "partitions")
    through = through_of(args, site)
    partitions = collect_partitions(site.subnet, through=through)
    if args.intended:
        from ibkit.sources.raw import read_raw

        partitions = compared(partitions, to_text(read_raw(args.intended)), args.intended)
    if args.json:
        print_json(partitions_document(partitions))
    elif args.csv:
        print_csv(KEY_COLUMNS, key_rows(partitions))
    elif args.what:
        print_table([column.upper() for column in KEY_COLUMNS], key_rows(partitions))
    else:
        _print(partitions)
    print_problems(partitions.problems)
    return exit_status(partitions)


def exit_status(partitions: Partitions) -> int:
    """What is missing weighs more than what was found in the rest."""
    if partitions.complete is False or (not partitions.ports and partitions.intended is None):
        return EXIT_UNDECIDED
    return EXIT_FINDING if any(problem.kind in FINDINGS for problem in partitions.problems) else EXIT_OK


def _print(partitions: Partitions) -> None:
    if partitions.ports:
        print_table([column.upper() for column in PARTITION_COLUMNS], partition_rows(partitions))
        groups = groups_of(partitions.ports)
        print()
        print_table([column.upper() for column in GROUP_COLUMNS], group_rows(groups))
        if len(groups) > MAX_GROUPS:
            note(f"there are {len(groups)} groups of ports with different keys; `ibkit path A B` tells of two ports")
        else:
            print()
            print_table([column.upper() for column in TALK_COLUMNS], talk_rows(groups))
    if partitions.intended is not None:
        if partitions.ports:
            print()
        print_table([column.upper() for column in INTENDED_COLUMNS], intended_rows(partitions.intended))
