"""The way from port A to port B through the forwarding tables, the way back, and whether A can talk to B.

A and B are a LID (decimal or 0x), a GUID of a port or node, a GID, or the name of a node: all of it, its host, or
a part that no other node has. NAME/2 is the second port; lid:, guid:, gid: and name: before it say what it is.
With a saved output of ibtracert, A and B may be left out.
Where B is a GID of another subnet and A a port of this host, the tests of `ibkit resolve` for paths across IB
routers follow; --far CAPTURE shows them the other subnet, too.

exit status: 0 they can talk: each check is known to hold; 1 they cannot; 2 A or B is not exactly one port;
3 something that must hold is not known.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors import fabric as topology
from ibkit.collectors import routing
from ibkit.collectors.path import TRACE_TOOL, Path, collect_path
from ibkit.display import clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.path import (
    CHECK_COLUMNS,
    HOP_COLUMNS,
    STEP_COLUMNS,
    check_rows,
    end_row,
    hop_rows,
    path_document,
    sentence,
    step_rows,
)
from ibkit.model.ends import NotOne
from ibkit.model.resolution import Step
from ibkit.model.routes import Route, describe
from ibkit.model.talk import can_talk, same_way
from ibkit.sources.site import Site

OUTPUTS = ("json", "csv")
_READS = tuple(dict.fromkeys((TRACE_TOOL, *topology.READS, *routing.READS)))
_STATUS = {True: EXIT_OK, False: EXIT_FINDING, None: EXIT_UNDECIDED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two ports."""
    parser.add_argument("a", nargs="?", metavar="A", help="where packets start")
    parser.add_argument("b", nargs="?", metavar="B", help="where they shall go")
    parser.add_argument("--lid", type=_lid, metavar="N", help="one of B's LIDs, where it has several (LMC)")
    parser.add_argument(
        "--counters", action="store_true", help="read the errors of the ports on the way from a large capture, too"
    )
    parser.add_argument(
        "--far", metavar="CAPTURE", help="a capture of a host behind the router, or this host's device in that subnet"
    )
    add_device_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the way and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import RawSource, require_tool

        require_tool(site, _READS, "path")
        is_trace = isinstance(site.subnet, RawSource) and site.subnet.holds(TRACE_TOOL)
    else:
        is_trace = False
    if (args.b is None and not is_trace) or (args.a is None) != (args.b is None):
        raise IbkitError("name two ports: `ibkit path A B`, each by LID, GUID, GID or name")
    try:
        path = collect_path(
            site.subnet, args.a, args.b, lid=args.lid, through=through_of(args, site), counters=args.counters
        )
    except NotOne as error:
        raise IbkitError(str(error)) from error
    steps = _across_routers(path, site, args) if path.pair.router else ()
    if args.json:
        print_json(path_document(path, steps))
    elif args.csv:
        print_csv(HOP_COLUMNS, hop_rows(path))
    else:
        _print(path, steps)
    print_problems(path.problems)
    return _STATUS[can_talk(path.checks)]


def _across_routers(path: Path, site: Site, args: argparse.Namespace) -> Sequence[Step]:
    """What resolve tests of a path to another subnet. It looks from this host's port, so A must be that."""
    from ibkit.cli.resolve import far_view
    from ibkit.model.resolution import DEFAULT_SOURCES
    from ibkit.resolve.queries import read_queries
    from ibkit.resolve.resolver import Resolver
    from ibkit.resolve.view import View, host_of, now_of

    host = host_of(site, None)
    view = View(site, host, through=through_of(args, site), now=now_of(site))
    far = far_view(args.far, site, host)
    (answer, *_) = Resolver(view, DEFAULT_SOURCES, far=far).resolve(read_queries([path.pair.b.given])).answers
    port = answer.source_port
    is_from_a = port is not None and port.gid is not None and port.gid.guid == path.pair.a.port_guid
    return answer.routed if is_from_a else ()


def _print(path: Path, steps: Sequence[Step]) -> None:
    pair = path.pair
    print_table(("", "NODE", "PORT", "LID", "PORT GUID", "TYPE"), [["A", *end_row(pair.a)], ["B", *end_row(pair.b)]])
    _print_way(path, "A to B", pair.there)
    if same_way(pair):
        print("\nB to A: back over the same cables")
    else:
        _print_way(path, "B to A", pair.back)
    print()
    print_table([column.upper() for column in CHECK_COLUMNS], check_rows(path))
    if steps:
        print("\nAcross the router, from this host's port")
        print_table(("#", "TEST", "STATE", "WHAT WAS SEEN"), map(_step_row, steps))
    print(f"\n{clean(sentence(path), 1000)}")


def _print_way(path: Path, title: str, route: Route | None) -> None:
    if route is None:
        print(f"\n{title}: cannot be followed")
        return
    print(f"\n{title}: {clean(describe(path.pair.fabric, route), 1000)}")
    if route.hops:
        print_table([column.upper() for column in STEP_COLUMNS], step_rows(path, route))


def _step_row(step: Step) -> tuple[object, ...]:
    return step.number, step.what, step.state, f"{step.text}; {step.needs}" if step.needs else step.text


def _lid(text: str) -> int:
    """Decimal or ``0x``."""
    if len(text) <= 6 and text.isascii():
        try:
            return int(text, 16 if text[:2].lower() == "0x" else 10)
        except ValueError:
            pass
    raise argparse.ArgumentTypeError(f"not a LID: {text[:40]!r}")
