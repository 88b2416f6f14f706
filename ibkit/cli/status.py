"""HCAs and ports of the host: state, link layer, LID, rate, netdev; all that is known of them with -v and --json.

exit status: 0 there is a device, and each port that has a link is Active (a port without a cable is no finding);
1 a finding, such as a port that no subnet manager has configured, or no port with a link at all;
3 no device, or a state that is not known.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.hca import collect_hcas
from ibkit.display import clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED
from ibkit.export.problems import problems_of
from ibkit.export.status import COLUMNS, FINDING, OK, UNKNOWN, status_document, status_rows, verdict
from ibkit.model.host import HcaPort, HostHcas
from ibkit.model.host_findings import Finding, findings
from ibkit.parsers.erased import Any
from ibkit.sources.site import Site

OUTPUTS = ("json", "csv")

_EXIT_OF = {OK: EXIT_OK, FINDING: EXIT_FINDING, UNKNOWN: EXIT_UNDECIDED}
_HEADINGS = ("DEVICE", "PORT", "STATE", "PHYSICAL", "LAYER", "RATE", "LID", "SM", "NETDEV", "FIRMWARE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--verbose``."""
    parser.add_argument("-v", "--verbose", action="store_true", help="show all that is known of each device and port")


def run(args: argparse.Namespace) -> int:
    """Print the ports and return the exit status."""
    site = site_of(args.from_path)
    _refuse_other_tools(site)
    hosts = [collect_hcas(host.source, host.name, whole=args.json or args.verbose) for host in site.hosts]
    if args.json:
        print_json(status_document(hosts))
    elif args.csv:
        print_csv(COLUMNS, status_rows(hosts))
    else:
        _print(hosts)
        if args.verbose:
            from ibkit.cli.status_details import details

            for line in details(hosts):
                print(clean(line, 1000))
    print_problems(problems_of(hosts))
    for finding in findings(hosts):
        note(_sentence(finding))
    return _EXIT_OF[verdict(hosts)]


def _refuse_other_tools(site: Site) -> None:
    if site.origin.kind == "raw":
        from ibkit.collectors.pasted import TOOLS
        from ibkit.sources.raw import require_tool

        require_tool(site, TOOLS, "status", each_host=True)


def _print(hosts: Sequence[HostHcas]) -> None:
    named = len(hosts) > 1
    rows = [row if named else row[1:] for host in hosts for row in _rows(host)]
    if rows:
        print_table((*(("HOST",) if named else ()), *_HEADINGS), rows)


def _rows(host: HostHcas) -> Iterator[list[Any]]:
    for hca in host.hcas:
        if not hca.ports:
            yield [host.host, hca.name or hca.bus_address, "-", *["?"] * 7, hca.firmware]
        name = f"{hca.name} (planes of {hca.planes_of})" if hca.planes_of else hca.name or hca.bus_address
        for port in hca.ports:
            yield [
                host.host, name, port.port, port.state, port.physical_state, port.link_layer,
                _rate(port), _lid(port, port.lid), _lid(port, port.sm_lid),
                ",".join(port.netdevs) or ("?" if port.tables_whole is None else "-"), hca.firmware or "-",
            ]  # fmt: skip


def _rate(port: HcaPort) -> str | None:
    if port.rate_gbps is None:
        return "-" if port.state == "Down" else None
    how = " ".join(word for word in (port.width, port.speed) if word)
    return f"{port.rate_gbps:g} Gb/s" + (f" {how}" if how else "")


def _lid(port: HcaPort, lid: int | None) -> int | str | None:
    """A dash where a LID means nothing, a question mark (None) where it should be there."""
    if lid is None and (port.link_layer == "Ethernet" or port.state != "Active"):
        return "-"
    return lid


def _sentence(finding: Finding) -> str:
    where = [finding.host, finding.device, f"port {finding.port}" if finding.port is not None else None]
    return ": ".join(clean(part, 500) for part in (" ".join(word for word in where if word), finding.text) if part)
