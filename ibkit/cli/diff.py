"""What changed between two captures, or two saved outputs of a tool; or between one of them and this host now.

Nodes and links that are lost, new or moved, adapters that were replaced, widths, speeds, LIDs, states; the subnet
managers; P_Keys; the hosts' firmware, ports, GIDs. Nothing is lost or new by the silence of a sweep that is not whole,
or of which nobody knows that it is: that is not decided, and says why.

exit status: 0 no difference; 1 a difference; 3 none is known, and of something it cannot be decided.
"""

from __future__ import annotations

import argparse

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.counters import PORT_TOOL, SWEEP_TOOL
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.comparison.change import Comparison
from ibkit.comparison.whole import FABRIC, HOSTS, MANAGERS, PARTITIONS, View, compare
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.diff import (
    COLUMNS,
    DIFFERENT,
    UNKNOWN,
    compared_text,
    diff_document,
    diff_rows,
    implied_text,
    verdict,
)
from ibkit.rules import collecting
from ibkit.sources.site import Site

OUTPUTS = ("json", "csv")

#: Whose outputs are read, where somebody saved one of them.
READS = tuple(tool for tool in collecting.READS if tool not in (SWEEP_TOOL, PORT_TOOL))
_PARTS = (FABRIC, MANAGERS, PARTITIONS, HOSTS)
_EXIT = {DIFFERENT: EXIT_FINDING, UNKNOWN: EXIT_UNDECIDED}
#: How many reasons for what is not decided are told.
_MAX_REASONS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two sides."""
    parser.add_argument("before", metavar="BEFORE", help="a capture, a frame of a recording, or a tool's saved output")
    parser.add_argument("after", metavar="AFTER", nargs="?", help="the same, later; without it this host as it is now")
    add_device_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the differences and return the exit status."""
    if args.after and args.from_path:
        raise IbkitError("two sides are given already: leave out --from, or AFTER")
    before, after = site_of(args.before), site_of(args.after or args.from_path)
    views = [_view(before, "before", ANY_PORT), _view(after, "after", through_of(args, after))]
    comparison = compare(*views)
    nothing_shared = not any(part.compared for part in comparison.parts)
    if (
        nothing_shared
        and all(map(_has_something, views))
        and all(one.kind == "part-missing" for one in comparison.doubts)
    ):
        raise IbkitError("nothing is in both that could be compared: " + "; ".join(_missing(comparison)))
    if args.json:
        print_json(diff_document(comparison, before.origin, after.origin))
    elif args.csv:
        print_csv(COLUMNS, diff_rows(comparison))
    else:
        _print(comparison)
    print_problems(comparison.problems)
    return _EXIT.get(verdict(comparison), EXIT_OK)


def _view(site: Site, label: str, through: Through) -> View:
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "diff", each_host=True)
    found = collecting.collect(site, through, _PARTS)
    missing = {part: lack.missing for part, lack in found.lacks.items()}
    is_one_text = site.origin.kind == "raw"
    return View(label, found.fabric, found.managers, found.partitions, found.hosts, is_one_text, missing)


def _has_something(view: View) -> bool:
    return any(part is not None for part in (view.fabric, view.managers, view.partitions, view.hosts))


def _print(comparison: Comparison) -> None:
    """A table of what does not follow from something else in it, then in words what it stands on."""
    rows = [(change.kind, change.text) for change in comparison.changes if not change.implied]
    rows += [(doubt.kind, f"not decided: {doubt.text}") for doubt in comparison.doubts if not doubt.implied]
    if rows:
        print_table(("KIND", "WHAT"), rows)
    compared = compared_text(comparison)
    if compared is None:
        note("the two have nothing in common that could be compared:")
        for missing in _missing(comparison):
            note(f"  {missing}")
        return
    note(compared)
    if implied := implied_text(comparison):
        note(f"{implied}; --json has them")
    for why in list(dict.fromkeys(doubt.why for doubt in comparison.doubts))[:_MAX_REASONS]:
        note(f"not decided: {why}")


def _missing(comparison: Comparison) -> list[str]:
    return [f"{part.name}: {part.missing}" for part in comparison.parts]
