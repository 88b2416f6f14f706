"""IP address, host name, GID, GUID or LID -> GID, P_Key and path, where each comes from and how old it is.

Sources, in this order, and all of them unless --via names some:
  cache       ibkit's own (`ibkit cache`)
  hosts       ibacm_hosts.data and ibacm_route.data in /etc/rdma
  acm         the ibacm that runs on this host
  gids        this host's GID tables and IPoIB interfaces; for RoCE the GID is
              made of the address
  neighbours  the kernel's neighbour table (IPoIB: the address holds the GID)
  fabric      GUIDs, LIDs and node descriptions of a sweep
  sa          path records of the subnet administrator
  ibarr       asks the address itself by UDP; only with --via ibarr
What they say is compared; a name's addresses are those of /etc/hosts, else of
`getent ahosts`. n[01-16] is 16 names, - reads a list from stdin, and a word
before a text says what it is: name:12, lid:12, gid:fd00::1.

exit status: 0 each one has a GID and a path, and no source contradicts;
1 a finding: sources differ, a GID that is not in the fabric or belongs to
another host, no path; 3 an answer is not known, and the text says what is
missing; 2 a query that is no address, or wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence

from ibkit.cli.device import add_device_arguments, through_of
from ibkit.cli.output import print_csv, print_json, print_problems, print_table, site_of
from ibkit.collectors.mad_tools import Through
from ibkit.collectors.sysfs import CLASS
from ibkit.display import clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE, IbkitError
from ibkit.export.resolve import COLUMNS, number, resolve_document, resolve_rows
from ibkit.model.ids import PKey
from ibkit.model.path_record import PathRecord
from ibkit.model.resolution import CACHE, DEFAULT_SOURCES, FINDING, SOURCES, UNKNOWN, Answer, Resolution
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import TYPE_CHECKING, Any
from ibkit.resolve.queries import Query, read_list, read_queries
from ibkit.resolve.resolver import BAD_QUERY, Resolver
from ibkit.resolve.view import MANY_QUERIES, View, host_of, now_of
from ibkit.sources.opening import open_site
from ibkit.sources.site import Host, Site

if TYPE_CHECKING:  # sqlite3 is imported where there is a cache
    from ibkit.resolve.cache import AddressCache

OUTPUTS = ("json", "csv")

_HEADINGS = ("QUERY", "GID", "P_KEY", "DLID", "SL", "MTU", "RATE", "HOPLIMIT", "NAME", "FROM", "AGE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to resolve, and whom to ask."""
    parser.add_argument("queries", nargs="+", metavar="ADDRESS", help="what to resolve; - reads a list from stdin")
    parser.add_argument(
        "--via",
        metavar="NAME[,NAME]",
        type=_sources,
        help="ask these sources only; the first one that knows an answer gives it, and the others are held against it",
    )
    parser.add_argument("--cache", metavar="FILE", help="this cache instead of the user's own; a replay asks no other")
    parser.add_argument("--pkey", metavar="P_KEY", type=_pkey, help="in this partition, such as 0x8001")
    parser.add_argument("--host", metavar="NAME", help="from this host of a capture of several (the first)")
    parser.add_argument(
        "--far", metavar="CAPTURE", help="a capture of a host behind a router, or this host's device in that subnet"
    )
    add_device_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="what each source says, and settings for RoCE")


def run(args: argparse.Namespace) -> int:
    """Print the answers and return the exit status."""
    queries = list(_queries(args.queries))
    if not queries:
        raise IbkitError("the list on stdin names nothing to resolve")
    site = site_of(args.from_path)
    via = args.via or DEFAULT_SOURCES
    host = host_of(site, args.host)
    now = now_of(site)
    with Memory(args, site, via) as memory:
        view = View(
            site, host, through=through_of(args, site), now=now, many=len(queries) >= MANY_QUERIES, cache=memory.cache
        )
        resolution = _resolver(args, view).resolve(queries)
        resolution = resolution._replace(problems=(*resolution.problems, *memory.keep(resolution, now, host)))
    if args.json:
        print_json(resolve_document(resolution))
    elif args.csv:
        print_csv(COLUMNS, resolve_rows(resolution))
    else:
        _print(resolution, verbose=args.verbose)
    print_problems(_problems(resolution))
    return exit_status(resolution)


def _resolver(args: argparse.Namespace, view: View) -> Resolver:
    via, far = args.via or DEFAULT_SOURCES, far_view(args.far, view.site, view.host)
    return Resolver(view, via, is_forced=bool(args.via), pkey=args.pkey, far=far)


class Memory:
    """The cache beside a run: read where it was asked for, and given what a live run found out.

    The user's own cache is a help: where it cannot be used, a run that asks others, too, goes on without.
    """

    def __init__(self, args: argparse.Namespace, site: Site, via: Sequence[str]) -> None:
        self.cache: AddressCache | None = None
        self._is_live = site.origin.kind == "live"
        self._asked_all = set(via) >= set(DEFAULT_SOURCES)
        self._problems: list[Problem] = []
        if CACHE not in via or not (args.cache or self._is_live):
            return
        from ibkit.resolve.cache import AddressCache, default_path

        self._path = args.cache or default_path()
        try:
            self.cache = AddressCache(self._path)
        except IbkitError as error:
            if args.cache or via == (CACHE,):
                raise
            self._problems.append(Problem("cache-unusable", str(error)))

    def keep(self, resolution: Resolution, now: float | None, host: Host) -> list[Problem]:
        """Remember a live run's answers; what became of that."""
        if not self._is_live or now is None or self.cache is None:
            return self._problems
        from ibkit.resolve.cache import AddressCache
        from ibkit.resolve.memory import entries_of

        entries = [entry for entry in entries_of(resolution.answers, now, host.name) if entry.gid or self._asked_all]
        try:
            if entries:
                with AddressCache(self._path, make=True) as cache:
                    cache.put(entries)
        except IbkitError as error:
            self._problems.append(Problem("cache-unusable", str(error)))
        return self._problems

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        if self.cache is not None:
            self.cache.close()


def exit_status(resolution: Resolution) -> int:
    """Wrong usage, then what is known to be wrong, then what is not known."""
    answers = resolution.answers
    if any(problem.kind == BAD_QUERY for answer in answers for problem in answer.problems):
        return EXIT_USAGE
    if any(answer.status == FINDING for answer in answers):
        return EXIT_FINDING
    return EXIT_UNDECIDED if any(answer.status == UNKNOWN for answer in answers) else EXIT_OK


def far_view(text: str | None, site: Site, host: Host) -> View | None:
    """The view of the other subnet: of a capture, or by another port of this host (``mlx5_1`` or ``mlx5_1/2``)."""
    if text is None:
        return None
    device, _, port = text.partition("/")
    if not os.path.exists(text) and device in host.source.list(CLASS).names:
        number = int(port) if port.isascii() and port.isdigit() and len(port) < 4 else None
        return View(site, host, through=Through(device, number), now=now_of(site))
    other = open_site(text)
    return View(other, host_of(other, None), now=now_of(other))


def _queries(given: Sequence[str]) -> Iterable[Query]:
    for word in given:
        if word != "-":
            yield from read_queries([word])
            continue
        if sys.stdin is None or sys.stdin.isatty():
            what = "closed" if sys.stdin is None else "a terminal"
            raise IbkitError(f"stdin is {what}; pipe the list into ibkit, or name the addresses")
        yield from read_queries(read_list(sys.stdin.buffer.read().decode("utf-8", "backslashreplace")))


def _print(resolution: Resolution, *, verbose: bool) -> None:
    print_table(_HEADINGS, [_row(answer) for answer in resolution.answers])
    if verbose:
        for answer in resolution.answers:
            print(f"\n{clean(answer.query)}")
            for line in _details(answer):
                print(f"  {clean(line, 1000)}")


def _row(answer: Answer) -> list[Any]:
    path = answer.path or PathRecord()
    is_roce = answer.roce is not None
    lid, sl, hops = ("-",) * 3 if is_roce else (path.dlid, path.sl, path.hop_limit)
    return [
        answer.query, answer.gid, "-" if is_roce else answer.pkey, lid, sl, path.mtu_bytes,
        None if path.rate_gbps is None else f"{path.rate_gbps:g} Gb/s", hops, answer.name or "-",
        ",".join(answer.told_by) or "-", age_text(answer.age_seconds),
    ]  # fmt: skip


def _details(answer: Answer) -> Iterable[str]:
    path = answer.path
    if answer.source_port:
        one = answer.source_port
        index = "" if one.gid_index is None else f", GID index {one.gid_index}"
        where = f"{one.device or 'this host'} port {one.port or '?'}"
        yield f"from {where}: {one.gid or 'GID not known'}{index}, LID {one.lid or '-'}"
    if path:
        told = {**path._asdict(), "rate_gbps": number(path.rate_gbps)}
        yield "path: " + ", ".join(f"{name} {value}" for name, value in told.items() if value is not None)
    for claim in answer.claims:
        age = None if claim.age_seconds is None else age_text(claim.age_seconds)
        words = ", ".join(word for word in (claim.state, "old" if claim.is_old else None, age) if word)
        source = f"{claim.source}:{claim.line}" if claim.line else claim.source
        about = f" ({words})" if words else ""
        yield f"{claim.via}: {claim.gid or '-'} {claim.detail}{about}{f' [{source}]' if source else ''}"
    if answer.roce:
        yield f"RoCE: use GID index {'?' if (i := answer.roce.gid_index) is None else i}: {answer.roce.why}"
        for pick in answer.roce.picks:
            yield f"  {pick.runtime}: {pick.setting} ({pick.why})"
    for step in answer.routed:
        yield f"{step.number:2} {step.state:<7} {step.what}: {step.text}{f'; {step.needs}' if step.needs else ''}"


def age_text(seconds: int | None) -> str:
    """``5 s``, ``3 min``, ``2 h``, ``4 d``: whole units, rounded down."""
    if seconds is None:
        return "?"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _problems(resolution: Resolution) -> Iterable[Problem]:
    """Each once, those of the answers first."""
    return dict.fromkeys((*(p for answer in resolution.answers for p in answer.problems), *resolution.problems))


def _sources(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    unknown = [name for name in names if name not in SOURCES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no source {unknown[0][:40]!r}; there are {', '.join(SOURCES)}")
    return names


def _pkey(text: str) -> PKey:
    try:
        value = int(text, 16) if text[:2] in ("0x", "0X") and len(text) <= 6 else -1
    except ValueError:
        value = -1
    if not value & 0x7FFF or value < 0:
        raise argparse.ArgumentTypeError(f"not a P_Key such as 0x8001: {text[:40]}")
    return PKey(value)
