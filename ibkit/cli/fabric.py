"""Switches, channel adapters and links of the subnet, and whether that is all of it.

Without a word a summary; `nodes`, `links` and `ports` list them. JSON has all of it but the ports, which come
with `ports`.

exit status: 0 nothing speaks against it; 1 a finding, such as a port without a LID or a GUID seen twice;
3 nothing could be seen, or it is known that something is missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ibkit.cli.output import print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.fabric import READS, collect_fabric
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED
from ibkit.export.fabric import (
    LINK_COLUMNS,
    NODE_COLUMNS,
    PORT_COLUMNS,
    fabric_document,
    link_rows,
    node_rows,
    port_rows,
    rates,
    summary,
)
from ibkit.model.fabric import FINDINGS, Fabric

OUTPUTS = ("json", "csv")

_LISTS: dict[str, tuple[Sequence[str], Callable[[Fabric], Iterator[list[Any]]]]] = {
    "nodes": (NODE_COLUMNS, node_rows),
    "links": (LINK_COLUMNS, link_rows),
    "ports": (PORT_COLUMNS, port_rows),
}
_COMPLETE = {True: "yes", False: "no", None: "not known: the sweep's messages are not at hand"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to list."""
    parser.add_argument("what", nargs="?", choices=tuple(_LISTS), help="list these instead of a summary")


def run(args: argparse.Namespace) -> int:
    """Print the fabric and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "fabric")
    fabric = collect_fabric(site.subnet)
    if args.json:
        print_json(fabric_document(fabric, with_ports=args.what == "ports"))
    elif args.what:
        columns, rows = _LISTS[args.what]
        if args.csv:
            print_csv(columns, rows(fabric))
        else:
            print_table([column.upper() for column in columns], rows(fabric))
    elif args.csv:
        print_csv(("what", "count"), summary(fabric).items())
    else:
        print_table(("FABRIC", ""), _summary(fabric))
    print_problems(fabric.problems)
    return exit_status(fabric)


def exit_status(fabric: Fabric) -> int:
    """What is missing weighs more than what was found in the rest."""
    if fabric.complete is False or not fabric.nodes:
        return EXIT_UNDECIDED
    return EXIT_FINDING if any(problem.kind in FINDINGS for problem in fabric.problems) else EXIT_OK


def _summary(fabric: Fabric) -> Iterator[tuple[str, Any]]:
    if fabric.nodes:
        for what, count in summary(fabric).items():
            yield what.replace("_", " "), count
        for rate, count in rates(fabric).items():
            yield f"  of these {rate}", count
    yield "complete", _COMPLETE[fabric.complete] if fabric.nodes else "nothing was seen"
