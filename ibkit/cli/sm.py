"""The subnet managers: state, priority, and whether they live, as far as the subnet administrator tells of others than
the one that this host's port was told of; and which LID the ports of the subnet name as their manager's.

exit status: 0 one master answers; 1 nobody answers as the subnet manager, no master or more than one
does, a manager that is listed does not answer, ports name another LID than the master's, or an answer
cannot be true; 3 it could not be asked, or an answer could not be read.
"""

from __future__ import annotations

import argparse

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.subnet_manager import READS, collect_subnet_managers
from ibkit.display import counted
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED
from ibkit.export.subnet_manager import COLUMNS, sm_document, sm_rows
from ibkit.model.subnet_manager import FINDINGS, SubnetManagers

OUTPUTS = ("json", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whom to ask."""
    add_device_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the managers and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "sm")
    managers = collect_subnet_managers(site.subnet, through_of(args, site))
    if args.json:
        print_json(sm_document(managers))
    elif args.csv:
        print_csv(COLUMNS, sm_rows(managers))
    elif managers.managers:
        told = any(manager.name or manager.activity_moving is not None for manager in managers.managers)
        shown = len(COLUMNS) if told else COLUMNS.index("activity_moving")
        print_table([column.upper() for column in COLUMNS[:shown]], [row[:shown] for row in sm_rows(managers)])
        for named in managers.named or ():
            note(f"{counted(named.ports, 'port names', 'ports name')} LID {named.lid} as their subnet manager's")
    print_problems(managers.problems)
    return exit_status(managers)


def exit_status(managers: SubnetManagers) -> int:
    """Nobody there is a finding, and so is a value that cannot be; nobody could be asked is not."""
    kinds = {problem.kind for problem in managers.problems}
    if kinds & FINDINGS:
        return EXIT_FINDING
    if not managers.managers or any(manager.state is None for manager in managers.managers):
        return EXIT_UNDECIDED
    if "contradiction" in kinds:
        return EXIT_FINDING
    return EXIT_UNDECIDED if managers.complete is False else EXIT_OK
