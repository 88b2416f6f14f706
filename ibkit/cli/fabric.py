"""Switches, channel adapters and links of the subnet, and whether that is all of it.

Without a word a summary; `nodes`, `links` and `ports` list them. JSON has all of it but the ports, which come
with `ports`. `--slow` lists the links that do not run as both of their ends can, or are suspected not to; `--down` the
ports without a link; `--switch` what is at one switch: its ports, or with a word its neighbours or its links.

The subnet administrator is asked first. Where none answers, or its records are not whole, each node is asked.

exit status: 0 nothing speaks against it; 1 a finding, such as a port without a LID or a GUID seen twice, with
--slow a slow link; 3 nothing could be seen, or it is known that something is missing, or with --slow, of some
links it cannot be told.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.fabric import READS, collect_fabric
from ibkit.collectors.name_maps import read_names
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.fabric import (
    GRADED_LINK_COLUMNS,
    LINK_COLUMNS,
    NODE_COLUMNS,
    PORT_COLUMNS,
    fabric_document,
    graded_link_rows,
    link_rows,
    node_rows,
    port_rows,
    rates,
    summary,
)
from ibkit.model.fabric import FINDINGS, SWITCH, Fabric, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.link_grade import SLOW, SUSPECTED, UNKNOWN, LinkGrade
from ibkit.model.node_lookup import nodes_meant
from ibkit.model.renaming import renamed
from ibkit.model.selection import (
    Selection,
    at_node,
    everything,
    is_down,
    only_links,
    only_ports,
    told_of_links,
    told_of_ports,
)

OUTPUTS = ("json", "csv")

_NODES, _LINKS, _PORTS = "nodes", "links", "ports"
_COMPLETE = {True: "yes", False: "no", None: "not known: the sweep's messages are not at hand"}
#: How many switches of a name are told.
_MAX_NAMED = 8

_Grades = dict[Link, LinkGrade]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to list, and what of it."""
    parser.add_argument("what", nargs="?", choices=(_NODES, _LINKS, _PORTS), help="list these instead of a summary")
    add_device_arguments(parser)
    parser.add_argument("--sweep", action="store_true", help="ask each node, too, and compare with what the SA knows")
    parser.add_argument(
        "--switch", metavar="NAME_OR_GUID", help="only what is at this switch; a part of a name will do"
    )
    parser.add_argument(
        "--node-name-map", metavar="FILE", help="names for nodes by their GUID, as the infiniband-diags take them"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--slow", action="store_true", help="only links that are slower than both of their ends can be")
    which.add_argument("--down", action="store_true", help="only ports that have no link")


def run(args: argparse.Namespace) -> int:
    """Print the fabric and return the exit status."""
    what = _what(args)
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "fabric")
    names, doubts = read_names(args.node_name_map) if args.node_name_map else ({}, ())
    fabric = renamed(collect_fabric(site.subnet, through_of(args, site), sweep=args.sweep), names)
    fabric = fabric._replace(problems=(*fabric.problems, *doubts))
    asked = everything(fabric, with_ports=args.down or what == _PORTS)
    if args.switch and fabric.nodes:
        asked = at_node(fabric, _switch(fabric, args.switch))
    grades = _grades(fabric, asked) if args.slow else None
    shown = asked
    if grades is not None:
        shown = only_links(fabric, asked, lambda link: grades[link].verdict in (SLOW, SUSPECTED))
    elif args.down:
        shown = only_ports(fabric, asked, lambda port: is_down(port) is True)
    if args.json:
        print_json(fabric_document(fabric, shown, with_ports=what == _PORTS, grades=grades))
    elif what:
        columns, rows = _list(what, fabric, shown, grades)
        if args.csv:
            print_csv(columns, rows)
        else:
            print_table([column.upper() for column in columns], rows)
    elif args.csv:
        print_csv(("what", "count"), summary(fabric).items())
    else:
        print_table(("FABRIC", ""), _summary(fabric))
    if args.down and fabric.nodes:
        note(told_of_ports(is_down(port) for _, port in asked.ports))
    if grades:
        note(told_of_links(grade.verdict for grade in grades.values()))
    print_problems(fabric.problems)
    return exit_status(fabric, grades)


def exit_status(fabric: Fabric, grades: _Grades | None = None) -> int:
    """What is missing weighs more than what was found in the rest; what was found, more than what is not known."""
    if fabric.complete is False or not fabric.nodes:
        return EXIT_UNDECIDED
    told = {grade.verdict for grade in (grades or {}).values()}
    if SLOW in told or any(problem.kind in FINDINGS for problem in fabric.problems):
        return EXIT_FINDING
    return EXIT_UNDECIDED if told & {SUSPECTED, UNKNOWN} else EXIT_OK


def _what(args: argparse.Namespace) -> str | None:
    """What is listed. An option chooses what it is about."""
    listed: str | None = args.what
    if args.slow and listed not in (None, _LINKS):
        raise IbkitError(f"--slow is about links, not about {listed}")
    if args.down and listed not in (None, _PORTS):
        raise IbkitError(f"--down is about ports, not about {listed}")
    if args.slow:
        return _LINKS
    return listed or (_PORTS if args.down or args.switch else None)


def _switch(fabric: Fabric, text: str) -> Guid:
    """The GUID of the one switch of this name or GUID."""
    meant = nodes_meant(fabric, text)
    switches = [node for node in meant if node.type == SWITCH]
    if len(switches) == 1:
        return switches[0].guid
    if switches:
        raise IbkitError(f"--switch {text}: there are {len(switches)}: {_named(switches)}")
    if meant:
        raise IbkitError(f"--switch {text}: no switch, but {len(meant)} other nodes: {_named(meant)}")
    some = "" if fabric.complete else ", as far as the fabric was seen"
    raise IbkitError(f"--switch {text}: there is no such switch{some}; `ibkit fabric nodes` lists them")


def _named(nodes: Sequence[Node]) -> str:
    some = ", ".join(f"{node.guid} ({node.name or 'no name'})" for node in nodes[:_MAX_NAMED])
    return some + (" ..." if len(nodes) > _MAX_NAMED else "")


def _grades(fabric: Fabric, asked: Selection) -> _Grades:
    """Of the links that were asked for; all others are looked at, too."""
    from ibkit.model.graded_links import grade_links

    grades = grade_links(fabric)
    return {link: grades[link] for link in asked.links}


def _list(
    what: str, fabric: Fabric, shown: Selection, grades: _Grades | None
) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    if what == _NODES:
        return NODE_COLUMNS, node_rows(fabric, shown)
    if what == _PORTS:
        return PORT_COLUMNS, port_rows(fabric, shown)
    if grades is None:
        return LINK_COLUMNS, link_rows(fabric, shown)
    return GRADED_LINK_COLUMNS, graded_link_rows(fabric, shown, grades)


def _summary(fabric: Fabric) -> Iterator[tuple[str, Any]]:
    if fabric.nodes:
        for what, count in summary(fabric).items():
            yield what.replace("_", " "), count
        for rate, count in rates(fabric).items():
            yield f"  of these {rate}", count
    yield "complete", _COMPLETE[fabric.complete] if fabric.nodes else "nothing was seen"
