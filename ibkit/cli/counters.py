"""Port counters of the fabric since they were last cleared. Nothing is ever cleared here.

Data counters are shown in bytes. A value marked >= stands at its counter's maximum: it is that or more.
Where no sweep of the fabric is possible, the ports of this host are shown alone.

exit status: 0 the counters were read, and with --errors no port has any; 1 with --errors, some port has errors;
3 no counters could be read, or some are known to be missing.
"""

from __future__ import annotations

import argparse

from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.counters import PORT_TOOL, SWEEP_TOOL, collect_counters
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.counters import counters_columns, counters_document, counters_rows
from ibkit.model.counters import OCTETS_PER_DATA_UNIT, FabricCounters, PortCounters, highest_first, with_errors
from ibkit.sources.site import Site

OUTPUTS = ("json", "csv")

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_HEADINGS = ("NODE", "PORT", "LID", "GUID", "SENT", "RECEIVED", "WAIT", "ERRORS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to show, and in which order."""
    parser.add_argument("--errors", action="store_true", help="only ports that have an error counter above zero")
    parser.add_argument("--sort", metavar="NAME", help="highest first by this counter, such as PortXmitWait")
    parser.add_argument(
        "--top", metavar="N", type=_positive, help="the first N of the order; without --sort, those with most errors"
    )


def run(args: argparse.Namespace) -> int:
    """Print the counters and return the exit status."""
    site = site_of(args.from_path)
    _refuse_other_tools(site)
    fabric = collect_counters(site.subnet)
    shown = fabric._replace(ports=_chosen(fabric, args))
    if args.json:
        print_json(counters_document(shown))
    elif args.csv:
        columns = counters_columns(shown)
        print_csv(columns, counters_rows(shown, columns))
    else:
        print_table(_HEADINGS, [_row(port) for port in shown.ports])
        if len(shown.ports) < len(fabric.ports):
            note(f"{len(shown.ports)} of {len(fabric.ports)} ports are shown")
    print_problems(fabric.problems)
    if args.errors and shown.ports:
        return EXIT_FINDING
    return EXIT_OK if fabric.ports and fabric.complete is not False else EXIT_UNDECIDED


def _refuse_other_tools(site: Site) -> None:
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, (SWEEP_TOOL, PORT_TOOL), "counters")


def _chosen(fabric: FabricCounters, args: argparse.Namespace) -> tuple[PortCounters, ...]:
    ports = with_errors(fabric.ports) if args.errors else fabric.ports
    if args.sort:
        names = {name for port in fabric.ports for name in port.counters}
        name = next((name for name in names if name.lower() == args.sort.lower()), None)
        if name is None:
            raise IbkitError(f"--sort {args.sort}: no port has such a counter; there are {', '.join(sorted(names))}")
        ports = highest_first(ports, name)
    elif args.top:
        ports = highest_first(ports)
    return ports[: args.top]


def _row(port: PortCounters) -> list[object]:
    errors = ", ".join(f"{name} {_value(port, name)}" for name in port.errors)
    return [
        port.node_name, port.port, port.lid, port.guid, _bytes(port, "PortXmitData"), _bytes(port, "PortRcvData"),
        _value(port, "PortXmitWait"), errors,
    ]  # fmt: skip


def _value(port: PortCounters, name: str) -> str | None:
    value = port.counters.get(name)
    return None if value is None else f"{'>= ' if name in port.saturated else ''}{value}"


def _bytes(port: PortCounters, name: str) -> str | None:
    units = port.counters.get(name)
    if units is None:
        return None
    number, prefix = float(units * OCTETS_PER_DATA_UNIT), 0
    while number >= 1000 and prefix < len(_PREFIXES) - 1:
        number, prefix = number / 1000, prefix + 1
    least = ">= " if name in port.saturated else ""
    return f"{least}{number:.1f} {_PREFIXES[prefix]}B" if prefix else f"{least}{number:.0f} B"


def _positive(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"not a number above 0: {text}")
