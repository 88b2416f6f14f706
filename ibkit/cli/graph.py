"""A picture of the fabric, for Graphviz: `ibkit graph | dot -Tsvg > fabric.svg`; or as GraphML, or as JSON.

Spines above leaves above hosts. HCAs that are linked alike are one box with their names in short, parallel links one
line with count and rate. Links that are slow, or suspected to be, are drawn apart, in colour and in words; so are pairs
of switches with fewer links than others. Of more than 100 switches those of one level of a pod are one box.

exit status: 0 drawn; 3 nothing was seen, or it is known that something is missing from it.
"""

from __future__ import annotations

import argparse
import sys

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, print_json, print_problems, site_of
from ibkit.collectors.fabric import READS, collect_fabric
from ibkit.display import counted
from ibkit.errors import EXIT_OK, EXIT_UNDECIDED
from ibkit.export.dot import dot_lines
from ibkit.export.graph import graph_document
from ibkit.model.fabric import SWITCH
from ibkit.model.graded_links import grade_links
from ibkit.model.picture import NOTHING, draw

OUTPUTS = ("json",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The format, and what is not to be folded."""
    add_device_arguments(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--dot", action="store_true", help="for Graphviz (this is the default)")
    form.add_argument("--graphml", action="store_true", help="for yEd, Gephi, NetworkX")
    parser.add_argument("--hosts", action="store_true", help="a box for each HCA")
    parser.add_argument("--switches", action="store_true", help="a box for each switch, however many there are")


def run(args: argparse.Namespace) -> int:
    """Print the picture and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "graph")
    fabric = collect_fabric(site.subnet, through_of(args, site))
    picture = draw(fabric, grade_links(fabric), each_host=args.hosts, each_switch=args.switches)
    if args.json:
        print_json(graph_document(fabric, picture))
    elif args.graphml:
        from ibkit.export.graphml import graphml_lines

        sys.stdout.writelines(f"{line}\n" for line in graphml_lines(picture, fabric.complete))
    else:
        sys.stdout.writelines(f"{line}\n" for line in dot_lines(fabric, picture))
    if picture.folded != NOTHING:
        boxes = sum(box.kind == SWITCH for box in picture.boxes)
        folded = counted(fabric.number_of(SWITCH), "switch is", "switches are")
        note(f"{folded} folded into {counted(boxes, 'box', 'boxes')}; --switches draws each")
    print_problems(fabric.problems)
    return EXIT_UNDECIDED if fabric.complete is False or not fabric.nodes else EXIT_OK
