"""ibkit's own cache of addresses: show, fill, check, and give it to ibacm.

  show    what it holds: GID, P_Key, who said so, how old it is
  build   fill it: from this host's interfaces, neighbours and hosts files,
          captures of other hosts, a list of hosts with the fabric's names
  check   is the file whole; and what is wrong with ibacm's own files
  export  the files that ibacm loads: ibacm_hosts.data, ibacm_addr.cfg,
          ibacm_opts.cfg, ibacm_route.data
  import  from an ibacm_hosts.data or from `ibkit cache show --json`
  clear   forget all, or what is too old to rely on
Nothing is written but the cache, and the folder that export is given.
`ibkit cache show --help` tells the rest of an action.

exit status: 0 done, and nothing is wrong; 1 a finding: something in a file is
wrong, or sources differ; 2 wrong usage, or a file that cannot be used;
3 nothing was found.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from ibkit.cli.output import note, print_csv, print_json, print_problems, print_table, site_of
from ibkit.cli.resolve import age_text
from ibkit.display import counted
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError, UnreadableInput
from ibkit.export.cache import COLUMNS, cache_document, cache_rows
from ibkit.model.address_cache import EXPIRED, NEGATIVE, OLD, Entry
from ibkit.model.resolution import FINDINGS
from ibkit.parsers.base import Problem
from ibkit.resolve.cache import AddressCache, default_path
from ibkit.resolve.gids import prefix_text
from ibkit.resolve.view import host_of, now_of

OUTPUTS = ("json", "csv")

_HEADINGS = ("ADDRESS", "GID", "P_KEY", "SUBNET", "SAID BY", "AGE", "STATE", "DLID")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-parser for each action, all with the same outputs and the same cache."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--from", dest="from_path", metavar="PATH", help="a capture instead of this host")
    common.add_argument("--json", action="store_true", help="print JSON, see docs/json.md")
    common.add_argument("--csv", action="store_true", help="print CSV, see docs/json.md")
    common.add_argument("--cache", metavar="FILE", help="this file instead of the user's own")
    for name, (run_action, about, more) in _ACTIONS.items():
        action = actions.add_parser(
            name, help=about, description=about, parents=[common], allow_abbrev=False,
            formatter_class=parser.formatter_class,
        )  # fmt: skip
        action.set_defaults(act=run_action)
        more(action)


def run(args: argparse.Namespace) -> int:
    """Do what was asked for and return the exit status."""
    args.cache = getattr(args, "cache", None) or default_path()
    if args.from_path and args.act not in _OF_A_CAPTURE:
        raise IbkitError(f"ibkit cache {args.action} looks at the cache alone, at no capture: leave --from out, or "
                         "name another cache with --cache FILE")  # fmt: skip
    status: int = args.act(args)
    return status


def _show(args: argparse.Namespace) -> int:
    with AddressCache(args.cache) as cache:
        entries = cache.all()
    if args.addresses:
        wanted = {text.lower() for text in args.addresses}
        entries = [entry for entry in entries if {entry.address.lower(), str(entry.gid)} & wanted]
    _print(args, entries, time.time())
    if not entries:
        note(f"{args.cache}: {'no such entry' if args.addresses else 'empty; `ibkit cache build` fills it'}")
    return EXIT_OK if entries else EXIT_UNDECIDED


def _print(args: argparse.Namespace, entries: Sequence[Entry], now: float, problems: Sequence[Problem] = ()) -> None:
    if args.json:
        print_json(cache_document(args.cache, entries, now, problems))
    elif args.csv:
        print_csv(COLUMNS, cache_rows(entries, now))
    else:
        print_table(_HEADINGS, [_row(entry, now) for entry in entries])


def _row(entry: Entry, now: float) -> list[object]:
    return [
        entry.address, entry.gid or "-", entry.pkey, "-" if entry.prefix is None else prefix_text(entry.prefix),
        entry.via, age_text(entry.age_seconds(now)), entry.state(now), entry.path.dlid if entry.path else "-",
    ]  # fmt: skip


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("addresses", nargs="*", metavar="ADDRESS", help="only these addresses, names or GIDs")


def _build(args: argparse.Namespace) -> int:
    from ibkit.resolve.build import build
    from ibkit.resolve.importing import read_list
    from ibkit.resolve.view import View
    from ibkit.sources.base import to_text
    from ibkit.sources.raw import read_raw

    paths = args.captures or [args.from_path]
    views = []
    for path in paths:
        site = site_of(path)
        now = now_of(site)
        views += [View(site, host, now=now, many=True) for host in site.hosts or (host_of(site, None),)]
    now = views[0].now or time.time()
    hosts = read_list(to_text(read_raw(args.hosts)), args.hosts) if args.hosts else None
    built = build(views, hosts, now)
    with AddressCache(args.cache, make=True) as cache:
        cache.put(built.entries)
    _print(args, sorted(built.entries), now, built.problems)
    print_problems(built.problems)
    note(f"{counted(len(built.entries), 'entry was', 'entries were')} written to {args.cache}")
    return EXIT_OK if built.entries else EXIT_UNDECIDED


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="*", metavar="CAPTURE", help="captures of hosts, instead of this host alone")
    parser.add_argument("--hosts", metavar="FILE", help="a list of hosts: as /etc/hosts, or names; else /etc/hosts")


def _check(args: argparse.Namespace) -> int:
    from ibkit.cli.cache_check import check

    return check(args)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="ibacm's files, or a folder of them; else those of /etc/rdma"
    )


def _export(args: argparse.Namespace) -> int:
    from ibkit.resolve.acm_export import export, write_files
    from ibkit.resolve.view import View

    site = site_of(args.from_path)
    host = host_of(site, args.host)
    with AddressCache(args.cache) as cache:
        entries = cache.all()
    now = now_of(site) or time.time()
    view = View(site, host, now=now, many=True)
    made = export(view, entries, now, folder=args.installed_in.rstrip("/") or "/", routes=args.routes)
    if not made.files["ibacm_hosts.data"]:
        raise IbkitError(f"{args.cache}: nothing to export; `ibkit cache build` fills it, `show` tells what is too old")
    write_files(args.ibacm, made.files, replace=args.force)
    for name, text in made.files.items():
        print(f"{args.ibacm.rstrip('/')}/{name}: {_count(text)}")
    print_problems(made.problems)
    note("all hosts may be given the same files, but for ibacm_addr.cfg, which names this host's own ports")
    note("ibacm reads them at its start only: restart it on each host after a change")
    return EXIT_FINDING if any(problem.kind in FINDINGS for problem in made.problems) else EXIT_OK


def _count(text: str) -> str:
    lines = sum(bool(line) and not line.startswith("#") for line in text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}"


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ibacm", metavar="FOLDER", required=True, help="where to write ibacm's files")
    parser.add_argument("--installed-in", metavar="FOLDER", default="/etc/rdma", help="where they will lie (/etc/rdma)")
    parser.add_argument("--host", metavar="NAME", help="whose ibacm_addr.cfg to write, of a capture of several hosts")
    parser.add_argument(
        "--routes", choices=("auto", "none", "own", "all"), default="auto",
        help="ibacm_route.data: if it is safe (auto), never, with this host's paths, with those of every port",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace files that are there")


def _import(args: argparse.Namespace) -> int:
    from ibkit.export.cache import entries_of_document
    from ibkit.resolve.importing import read_hosts_file
    from ibkit.sources.base import to_text
    from ibkit.sources.raw import read_raw

    now = time.time()
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in args.files:
        text = to_text(read_raw(path))
        if text.lstrip().startswith("{"):
            try:
                found, wrong = entries_of_document(text, now)
            except ValueError as error:
                raise UnreadableInput(f"{path}: not what `ibkit cache show --json` prints: {error}") from error
        else:
            found, wrong = read_hosts_file(text, path, now)
        entries += found
        problems += wrong
    with AddressCache(args.cache, make=True) as cache:
        cache.put(entries)
    print_problems(problems)
    note(f"{counted(len(entries), 'entry was', 'entries were')} written to {args.cache}")
    if args.json or args.csv:
        _print(args, entries, now, problems)
    return EXIT_OK if entries else EXIT_UNDECIDED


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="ibacm_hosts.data, or JSON of `ibkit cache show`")


def _clear(args: argparse.Namespace) -> int:
    with AddressCache(args.cache) as cache:
        if args.old:
            now = time.time()
            gone = cache.remove(entry for entry in cache.all() if entry.state(now) in (OLD, EXPIRED, NEGATIVE))
        else:
            gone = cache.clear()
    note(f"{counted(gone, 'entry was', 'entries were')} removed from {args.cache}")
    return EXIT_OK


def _add_clear(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--old", action="store_true", help="only what is too old to rely on")


_Action = tuple[Callable[[argparse.Namespace], int], str, Callable[[argparse.ArgumentParser], None]]
_ACTIONS: dict[str, _Action] = {
    "show": (_show, "what the cache holds", _add_show),
    "build": (_build, "fill it from what is at hand", _add_build),
    "check": (_check, "what is wrong with the cache and with ibacm's files", _add_check),
    "export": (_export, "write the files that ibacm loads", _add_export),
    "import": (_import, "take over ibacm_hosts.data or JSON", _add_import),
    "clear": (_clear, "forget", _add_clear),
}
#: The actions that look at a host as well, or at a capture of one.
_OF_A_CAPTURE = frozenset((_build, _check, _export))
