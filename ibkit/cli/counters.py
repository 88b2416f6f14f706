"""Port counters of the fabric since they were last cleared, or what they count in an interval. Nothing is ever cleared.

Data counters are shown in bytes. A value marked >= is that or more: the counter stopped at its maximum, or where
that is said, somebody cleared it during the interval. `full` stood at its maximum all the time, `-` is what the port
does not count, `?` what is not known. CONGESTED is the share of the interval in which a switch's port had data and
could not send. Where no sweep of the fabric is possible, the ports of this host are shown alone.

exit status: 0 the counters were read, and with --errors no port has any; 1 with --errors, some port has errors;
3 no counters could be read, or some are known to be missing, or with --errors, some error counters are not known.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.cli.seconds import seconds
from ibkit.collectors.counters import READS, collect_counters
from ibkit.display import counted
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.counters import (
    counters_columns,
    counters_document,
    counters_rows,
    rates_columns,
    rates_document,
    rates_rows,
)
from ibkit.model.congestion import NOT_COUNTED, most_congested_first
from ibkit.model.counters import (
    ERRORS,
    OCTETS_PER_DATA_UNIT,
    Counted,
    FabricChange,
    FabricCounters,
    PortChange,
    PortCounters,
    SweepSummary,
    doubt_of_no_errors,
    highest_first,
    with_errors,
)
from ibkit.sources.site import Site

OUTPUTS = ("json", "csv")

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_DATA = ("PortXmitData", "PortRcvData")
_HEADINGS = ("NODE", "PORT", "LID", "GUID", "SENT", "RECEIVED", "WAIT", "ERRORS")
_Show = Callable[[int], str]
_RATE_HEADINGS = ("NODE", "PORT", "LID", "GUID", "SENT/s", "RECEIVED/s", "WAIT/s", "CONGESTED", "NEW ERRORS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to show, and in which order."""
    parser.add_argument("--errors", action="store_true", help="only ports that have an error counter above zero")
    parser.add_argument(
        "--sort", metavar="NAME", help="highest first by this counter, such as PortXmitWait, or by congestion"
    )
    parser.add_argument(
        "--top", metavar="N", type=_positive, help="the first N of the order; without --sort, those with most errors"
    )
    parser.add_argument(
        "--interval", metavar="SECONDS", type=seconds, help="read twice, so long apart, and show what was counted"
    )
    add_device_arguments(parser)
    parser.add_argument("--count", metavar="N", type=_positive, help="so many intervals, one after the other (1)")


def run(args: argparse.Namespace) -> int:
    """Print the counters and return the exit status."""
    if args.count and not args.interval:
        raise IbkitError("--count needs --interval SECONDS")
    site = site_of(args.from_path)
    _refuse_other_tools(site)
    if args.interval:
        return _run_rates(site, args)
    fabric = collect_counters(site.subnet, through_of(args, site))
    shown = fabric._replace(ports=_chosen(fabric.ports, args))
    if args.json:
        print_json(counters_document(shown))
    elif args.csv:
        columns = counters_columns(shown)
        print_csv(columns, counters_rows(shown, columns))
    else:
        print_table(_HEADINGS, [_row(port) for port in shown.ports])
        _note_left_out(shown.ports, fabric.ports)
    print_problems(fabric.problems)
    if args.errors:
        return _verdict(fabric)
    if fabric.sweeps and not fabric.ports and fabric.complete is not False:
        note(f"{_checked(fabric.sweeps)}: no port has errors, and a listing of errors holds no others; see --errors")
    return _status(bool(fabric.ports), fabric.complete, found=False)


def _run_rates(site: Site, args: argparse.Namespace) -> int:
    if site.origin.kind != "live":
        raise IbkitError("--interval reads the counters twice, which only a live host can answer")
    from ibkit.collectors.counter_rates import watch_counters

    changes = []
    any_ports = False
    for change in watch_counters(site.subnet, args.interval, args.count or 1, through_of(args, site)):
        any_ports |= bool(change.ports)
        shown = change._replace(ports=_chosen(change.ports, args))
        changes.append(shown)
        if not args.json and not args.csv:
            note(f"in {change.seconds:.1f} s:")
            print_table(_RATE_HEADINGS, [_rate_row(port, change) for port in shown.ports])
            _note_left_out(shown.ports, change.ports)
    if args.json:
        print_json(rates_document(changes))
    elif args.csv:
        columns = rates_columns(changes)
        print_csv(columns, rates_rows(changes, columns))
    print_problems(dict.fromkeys(problem for change in changes for problem in change.problems))
    complete = all(change.complete is not False for change in changes)
    return _status(any_ports, complete, found=args.errors and any(change.ports for change in changes))


def _verdict(fabric: FabricCounters) -> int:
    """Of --errors, in a sentence and as the exit status."""
    if any(port.errors or port.unread for port in fabric.ports):
        return EXIT_FINDING
    doubt = doubt_of_no_errors(fabric)
    if doubt:
        note(f"whether no port has errors cannot be told: {doubt}")
        return EXIT_UNDECIDED
    looked_at = (
        _checked(fabric.sweeps) if fabric.sweeps else f"{counted(len(fabric.ports), 'port was', 'ports were')} read"
    )
    note(f"{looked_at}: no port has errors")
    return EXIT_OK


def _checked(sweeps: Sequence[SweepSummary]) -> str:
    """What the sweeps for errors, or else those for data, looked at."""
    told = [sweep for sweep in sweeps if sweep.form == "errors"] or sweeps
    return "; ".join(f"{sweep.nodes} nodes with {sweep.ports} ports were checked" for sweep in told[:3])


def _status(any_ports: bool, complete: bool | None, *, found: bool) -> int:
    if found:
        return EXIT_FINDING
    return EXIT_OK if any_ports and complete is not False else EXIT_UNDECIDED


def _refuse_other_tools(site: Site) -> None:
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, READS, "counters")


def _chosen(ports: Sequence[Counted], args: argparse.Namespace) -> tuple[Counted, ...]:
    chosen: Iterable[Counted] = with_errors(ports) if args.errors else ports
    if args.sort and args.sort.lower() == "congestion":
        if not args.interval:
            raise IbkitError("--sort congestion needs --interval SECONDS")
        chosen = most_congested_first(chosen)
    elif args.sort:
        names = {name for port in ports for name in port.counters}
        name = next((name for name in names if name.lower() == args.sort.lower()), None)
        if name is None and names:
            raise IbkitError(f"--sort {args.sort}: no port has such a counter; there are {', '.join(sorted(names))}")
        chosen = highest_first(chosen, name)  # of no ports by anything
    elif args.top:
        chosen = highest_first(chosen)
    return tuple(chosen)[: args.top]


def _note_left_out(shown: Sequence[object], ports: Sequence[object]) -> None:
    if len(shown) < len(ports):
        note(f"{len(shown)} of {len(ports)} ports are shown")


def _row(port: PortCounters) -> list[object]:
    def cell(name: str, show: _Show = str) -> str | None:
        least = name in port.saturated
        return _cell(port.counters.get(name), show, least=least, absent=name in port.unsupported)

    errors = ", ".join(
        [f"{name} {cell(name)}" for name in port.errors]
        + [f"{name} ?" for name in port.unread]
        + (["?"] if port.unread_errors and not port.unread else [])
    )
    return [*_whose(port), *(cell(name, _bytes) for name in _DATA), cell("PortXmitWait"), errors]


def _rate_row(change: PortChange, fabric: FabricChange) -> list[object]:
    def cell(name: str, show: _Show) -> str | None:
        if name in change.full:
            return "full"
        absent = name in change.port.unsupported
        text = _cell(change.counters.get(name), show, least=name in change.at_least, absent=absent)
        return f"{text} (cleared)" if name in change.cleared else text

    moved = [name for name in ERRORS if change.counters.get(name) or name in (*change.cleared, *change.full)]
    errors = ", ".join(f"{name} {cell(name, str)}" for name in moved)
    sent, received = (cell(name, lambda units: _bytes(units / fabric.seconds)) for name in _DATA)
    wait = cell("PortXmitWait", lambda ticks: str(round(ticks / fabric.seconds)))
    return [*_whose(change.port), sent, received, wait, _congested(change), errors]


def _congested(change: PortChange) -> str | None:
    """``12.3 %``."""
    congestion = change.congestion
    if congestion is None or congestion.ratio is None:
        return "-" if congestion and congestion.unknown == NOT_COUNTED else None
    return f"{'>= ' if congestion.at_least else ''}{congestion.ratio:.1%}".replace("%", " %")


def _whose(port: PortCounters) -> list[object]:
    return [port.node_name, port.port, port.lid, port.guid]


def _cell(value: int | None, show: _Show, *, least: bool, absent: bool) -> str | None:
    if value is None:
        return "-" if absent else None
    return f"{'>= ' if least else ''}{show(value)}"


def _bytes(units: float) -> str:
    """Units of 4 octets as ``134.5 kB``."""
    number, prefix = units * OCTETS_PER_DATA_UNIT, 0
    while number >= 1000 and prefix < len(_PREFIXES) - 1:
        number, prefix = number / 1000, prefix + 1
    return f"{number:.1f} {_PREFIXES[prefix]}B" if prefix else f"{number:.0f} B"


def _positive(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"not a number above 0: {text}")
