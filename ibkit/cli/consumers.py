"""Who uses the RDMA devices: processes and kernel services, their queue pairs, and which of these talk to each other.

A pair on this host stands on addresses (of the connection manager), on packet numbers that fit each other, or on
the queue pairs' numbers alone, which may be chance.

exit status: 0 the queue pairs were listed, be there any or not; 3 they could not be.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.consumers import collect_consumers
from ibkit.display import clean
from ibkit.errors import EXIT_OK, EXIT_UNDECIDED
from ibkit.export.consumers import COLUMNS, OK, consumers_document, consumers_rows, states, verdict
from ibkit.export.problems import problems_of
from ibkit.model.consumers import KERNEL, Consumers, Owner, Pair, QueuePair
from ibkit.parsers.erased import Any

OUTPUTS = ("json", "csv")

_HEADINGS = ("HOST", "OWNER", "PID", "USER", "DEVICE", "QUEUE PAIRS", "MR", "CQ", "CONTAINER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--verbose``."""
    parser.add_argument("-v", "--verbose", action="store_true", help="list each queue pair")


def run(args: argparse.Namespace) -> int:
    """Print the owners and return the exit status."""
    site = site_of(args.from_path)
    if site.origin.kind == "raw":
        from ibkit.sources.raw import require_tool

        require_tool(site, ("rdma",), "consumers", each_host=True)
    hosts = [collect_consumers(host.source, host.name) for host in site.hosts]
    if args.json:
        print_json(consumers_document(hosts))
    elif args.csv:
        print_csv(COLUMNS, consumers_rows(hosts))
    else:
        _print(hosts, verbose=args.verbose)
    print_problems(problems_of(hosts))
    return EXIT_OK if verdict(hosts) == OK else EXIT_UNDECIDED


def _print(hosts: Sequence[Consumers], *, verbose: bool) -> None:
    named = len(hosts) > 1
    if rows := [row[not named :] for host in hosts for row in _rows(host)]:
        print_table(_HEADINGS[not named :], rows)
    elif verdict(hosts) == OK:
        note("nobody uses the RDMA devices")
    for host in hosts:
        if verbose and host.queue_pairs:
            print()
            print_table(
                ("DEVICE", "PORT", "QPN", "PEER QPN", "TYPE", "STATE", "OWNER", "PID"), list(_queue_pairs(host))
            )
        if host.pairs:
            print(f"\npairs{clean(f' on {host.host}' if host.host else '')}:")
            for pair in host.pairs:
                print(clean(f"  {_pair(host, pair)}", 500))


def _rows(host: Consumers) -> Iterator[list[Any]]:
    used = set()
    for use in host.uses:
        owner = host.owners[use.owner]
        used.add(use.owner)
        yield [
            host.host, _name(owner), owner.pid or "-", _user(owner), use.device, states(host, use) or use.qp or "-",
            use.mr, use.cq, _container(owner),
        ]  # fmt: skip
    for index, owner in enumerate(host.owners):
        if index not in used:
            nodes = ", ".join(node.rpartition("/")[2] for node in owner.nodes or ())
            yield [
                host.host, _name(owner), owner.pid, _user(owner), nodes, "-", "-", "-", _container(owner),
            ]  # fmt: skip


def _queue_pairs(host: Consumers) -> Iterator[list[Any]]:
    for one in host.queue_pairs:
        owner = host.owners[one.owner]
        peer = "-" if one.remote_qpn is None else one.remote_qpn
        yield [
            one.device, "-" if one.port is None else one.port, one.qpn, peer, one.type, one.state, _name(owner),
            owner.pid or "-",
        ]  # fmt: skip


def _name(owner: Owner) -> str:
    name = owner.name or "?"
    if owner.kind == KERNEL:
        return f"[{name}] {owner.service}" if owner.service else f"[{name}]"
    return name


def _container(owner: Owner) -> str:
    """By its cgroup; Apptainer, enroot and the like leave that alone, and show in their namespaces only."""
    if owner.container or not owner.own_namespaces:
        return owner.container or "-"
    return f"own {', '.join(owner.own_namespaces)}"


def _user(owner: Owner) -> int | str | None:
    return "-" if owner.kind == KERNEL else owner.uid


def _pair(host: Consumers, pair: Pair) -> str:
    return f"{_end(host, host.queue_pairs[pair.a])} - {_end(host, host.queue_pairs[pair.b])}, by {pair.basis}"


def _end(host: Consumers, one: QueuePair) -> str:
    owner = host.owners[one.owner]
    pid = f" {owner.pid}" if owner.pid else ""
    return f"{one.device} qpn {one.qpn} ({_name(owner)}{pid})"
