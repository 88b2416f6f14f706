"""From a site to the evidence: which collectors speak, how complete each part is, and why a part is not there.

A part that nobody recorded was not looked at. A part that was asked for and did not answer was looked at in vain:
the first leaves the rules about it undecided, the second also the diagnosis as a whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType

from ibkit.collectors import counters as counter_collector
from ibkit.collectors import fabric as fabric_collector
from ibkit.collectors import hardware as hardware_collector
from ibkit.collectors import partitions as partition_collector
from ibkit.collectors import pasted
from ibkit.collectors import subnet_manager as manager_collector
from ibkit.collectors.counters import collect_counters
from ibkit.collectors.doctor import collect_checks
from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.hardware import collect_fabric_hardware, collect_host_hardware
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.collectors.partitions import collect_partitions
from ibkit.collectors.routing import collect_routes
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.display import counted
from ibkit.errors import IbkitError
from ibkit.model import fabric as fabric_model
from ibkit.model import host_findings
from ibkit.model import partitions as partition_model
from ibkit.model import subnet_manager as manager_model
from ibkit.model.checks import HostChecks
from ibkit.model.counters import FabricCounters, change_between, doubt_of_no_errors
from ibkit.model.expectations import Expectations
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH, Fabric
from ibkit.model.findings import LookedAt
from ibkit.model.hardware import Hardware
from ibkit.model.host import HostHcas
from ibkit.model.partitions import Partitions
from ibkit.model.routes import Routes
from ibkit.model.subnet_manager import NO_SM, SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Protocol
from ibkit.parsers.records import NamedTuple
from ibkit.rules.evidence import (
    CHANGE,
    COUNTERS,
    EARLIER,
    EXPECTED,
    FABRIC,
    HARDWARE,
    HOST_CHECKS,
    HOSTS,
    MANAGERS,
    PARTITIONS,
    PARTS,
    ROUTES,
    Collected,
    Lack,
)
from ibkit.rules.host_counters import host_counters
from ibkit.rules.tallies import spell
from ibkit.sources.base import NOT_RECORDED
from ibkit.sources.site import Origin, Site

#: Whose outputs are read, where somebody saved one of them.
READS = tuple(
    dict.fromkeys(
        (*pasted.TOOLS, *fabric_collector.READS, *manager_collector.READS, *counter_collector.READS,
         *partition_collector.READS, *hardware_collector.READS)
    )
)  # fmt: skip

#: The kind of the problem that the host's ports are Ethernet.
NO_INFINIBAND = "no-infiniband"
_ELSEWHERE = "run `ibkit check` on a host of an InfiniBand fabric"
_MEND = "mend that, then run it again"
_RECORD = "record it with `ibkit capture`, or run `ibkit check` on a host of the fabric"
#: More switches than these are not asked for their forwarding tables without a word: each takes a tenth of a second.
MAX_SWITCHES = 48
#: Of more pairs of switch and host than these nobody follows the ways: it takes some seconds.
MAX_WAYS = 3_000_000

_HARDWARE = "`mlxlink` as root for modules; ibswinfo's output, or ibdiagnet's db_csv, saved as a file"
_TWO_SAMPLES = Lack(
    "there is one sample of the counters, which tells no rates",
    "`ibkit check --interval 60` on a live host, or `ibkit check --from LATER --since EARLIER` with two captures",
)
_NO_EARLIER = Lack(
    "there is no record of the fabric as it was before", "`ibkit check --from LATER --since EARLIER` with two captures"
)
_NO_EXPECTATIONS = Lack(
    "nobody told what is expected of this fabric", "`ibkit expect init` writes it, `--expect FILE` reads it"
)


class Given(NamedTuple):
    """What somebody collected of the same site already, so that nothing is asked twice; None is still to be read.

    ``checks`` and ``hosts`` are by the host's name.
    """

    fabric: Fabric | None = None
    managers: SubnetManagers | None = None
    checks: Mapping[str, HostChecks] = MappingProxyType({})
    hosts: Mapping[str, HostHcas] = MappingProxyType({})


_NOTHING = Given()


def collect(
    site: Site,
    through: Through = ANY_PORT,
    wanted: Container[str] = PARTS,
    asked: Container[str] = (),
    *,
    given: Given = _NOTHING,
    clock: Callable[[], float] = time.monotonic,
) -> Collected:
    """The ``wanted`` parts as far as the site can tell of them; the counters last, for a second sample may follow.

    ``asked`` are those that the user asked for by name, among them what takes long to read of a live fabric. The
    topology says where something was counted or which partitions a port is in, so it comes with these.
    """
    parts = _Parts()
    hosts = parts.hosts(site, given.hosts)
    checks = parts.checks(site, given.checks) if hosts and HOST_CHECKS in wanted else None
    swept = Fabric({}, (), None)
    fabric = None
    if any(part in wanted for part in (FABRIC, PARTITIONS, ROUTES, COUNTERS, CHANGE, EARLIER)):
        swept = given.fabric or collect_fabric(site.subnet, through)
        fabric = parts.fabric(swept)
    managers = None
    if MANAGERS in wanted:
        managers = parts.managers(given.managers or collect_subnet_managers(site.subnet, through))
    partitions = parts.partitions(collect_partitions(site.subnet, swept, through)) if PARTITIONS in wanted else None
    routes = parts.routes(site, swept, through, asked=ROUTES in asked) if ROUTES in wanted else None
    hardware = parts.hardware(site, hosts or (), swept) if HARDWARE in wanted else None
    begun = clock()
    counters = None
    if COUNTERS in wanted or CHANGE in wanted:
        counters = parts.counters(collect_counters(site.subnet, through), hosts or ())
    parts.lacks |= {CHANGE: _TWO_SAMPLES, EARLIER: _NO_EARLIER, EXPECTED: _NO_EXPECTATIONS}
    return Collected(
        hosts, checks, fabric, counters, managers, partitions, routes, hardware,
        counted_at=(begun, clock()), day=_day(site), lacks=parts.lacks, looked_at=tuple(parts.looked_at),
    )  # fmt: skip


def expecting(collected: Collected, expected: Expectations | None) -> Collected:
    """The collection with what is expected of it."""
    if expected is None:
        return collected
    lacks = {part: lack for part, lack in collected.lacks.items() if part != EXPECTED}
    return collected._replace(expected=expected, lacks=lacks)


def compare_with(earlier: Collected, later: Collected, seconds: float, since: str) -> Collected:
    """The later collection with what changed since the earlier one, which is ``seconds`` older.

    An earlier one without counters, or without a fabric, leaves the rules about their change undecided.
    """
    compared = _with_change(earlier, later, seconds, since)
    lacks = {part: lack for part, lack in compared.lacks.items() if part != EARLIER}
    if earlier.fabric is None:
        lacks[EARLIER] = earlier.lacks.get(FABRIC, _NO_EARLIER)
    return compared._replace(
        earlier=earlier.fabric, earlier_managers=earlier.managers, earlier_hardware=earlier.hardware, seconds=seconds,
        lacks=lacks,
    )  # fmt: skip


def seconds_between(earlier: Origin, later: Origin) -> float:
    """Seconds from one recording to the other, or to now for a live host. Raises IbkitError where none tells."""
    from datetime import UTC, datetime

    times = []
    for origin in (earlier, later):
        if origin.kind == "live":
            times.append(datetime.now(UTC))
            continue
        try:
            times.append(datetime.fromisoformat(origin.time or ""))
        except ValueError as error:
            raise IbkitError(f"{origin.label}: the manifest has no time; give captures that have one") from error
    if any(time.tzinfo is None for time in times):
        raise IbkitError("the time in a manifest has no zone, so captures cannot be compared; add it, such as +00:00")
    seconds = (times[1] - times[0]).total_seconds()
    if seconds == 0:
        raise IbkitError(
            f"--since {earlier.label} and what it is compared with were recorded at the same time, {later.time}: "
            "between two captures, time must have passed"
        )
    if seconds < 0:
        raise IbkitError(f"--since {earlier.label} is not earlier than {later.label}: exchange --from and --since")
    return seconds


def _with_change(earlier: Collected, later: Collected, seconds: float, since: str) -> Collected:
    """What the counters of both count; why that is not known where one has none."""
    lacks = {part: lack for part, lack in later.lacks.items() if part != CHANGE}
    if not earlier.counters or not later.counters:
        lack = (earlier if later.counters else later).lacks.get(COUNTERS, _TWO_SAMPLES)
        seen = LookedAt(CHANGE, lack.missing, False)
        return later._replace(lacks=lacks | {CHANGE: lack}, looked_at=(*later.looked_at, seen))
    change = change_between(earlier.counters, later.counters, seconds)
    seen = LookedAt(CHANGE, f"{counted(len(change.ports), 'port')}, {spell(seconds)} apart", change.complete)
    return later._replace(change=change, lacks=lacks, looked_at=(*later.looked_at, seen), since=since)


def sample_again(
    site: Site,
    first: Collected,
    interval_seconds: float,
    through: Through = ANY_PORT,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Collected:
    """The collection with its counters read once more, ``interval_seconds`` after they were first read.

    Their change is from the middle of one sweep to that of the other, as `ibkit counters --interval` has it.
    """
    begun, ended = first.counted_at
    sleep(max(0.0, begun + interval_seconds - clock()))
    again = clock()
    parts = _Parts()
    hosts = tuple(collect_hcas(host.source, host.name) for host in site.hosts)
    counters = parts.counters(collect_counters(site.subnet, through), hosts)
    seconds = (again + clock() - begun - ended) / 2
    kept = tuple(part for part in first.looked_at if part.what != COUNTERS)
    lacks = {part: lack for part, lack in first.lacks.items() if part not in (COUNTERS, CHANGE)} | parts.lacks
    looked_at = (*kept, *parts.looked_at)
    later = first._replace(counters=counters, lacks=lacks, looked_at=looked_at)
    return _with_change(first, later, seconds, f"in the {spell(seconds)} of this run")


def _day(site: Site) -> str:
    """The date of a capture, else today's: what waivers are held against."""
    return (site.origin.time or time.strftime("%Y-%m-%d"))[:10]


def problems_of(collected: Collected) -> list[Problem]:
    """What the collectors could not see, of the parts that were looked at."""
    parts: tuple[tuple[HasProblems | None, frozenset[str]], ...] = (
        (collected.fabric, fabric_model.FINDINGS | {"same-prefix"}),
        (collected.managers, manager_model.FINDINGS),
        (collected.partitions, partition_model.FINDINGS),
        (collected.counters, frozenset()),
        (collected.change, frozenset()),
    )
    problems = [problem for host in collected.hosts or () for problem in host.problems]
    # What is told as a finding, or among what was not looked at, is no problem besides.
    problems += [problem for part, told in parts if part for problem in part.problems if problem.kind not in told]
    return list(dict.fromkeys(problem for problem in problems if problem.kind != NOT_RECORDED))


class HasProblems(Protocol):
    """A part of the evidence."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be seen of it."""


class _Parts:
    """What was looked at and what is not there, while the collectors are asked one after the other."""

    def __init__(self) -> None:
        self.lacks: dict[str, Lack] = {}
        self.looked_at: list[LookedAt] = []

    def hosts(self, site: Site, given: Mapping[str, HostHcas]) -> tuple[HostHcas, ...] | None:
        hosts = tuple(given.get(host.name) or collect_hcas(host.source, host.name) for host in site.hosts)
        told = tuple(host for host in hosts if host.hcas)
        if not told:
            self.lacks[HOST_CHECKS] = Lack("there is no host with devices", _RECORD)
            self._absent(HOSTS, "the devices of a host", [p for host in hosts for p in host.problems])
            return None
        ports = sum(len(hca.ports) for host in told for hca in host.hcas)
        text = f"{counted(len(told), 'host')} with {counted(ports, 'port')}"
        self._seen(HOSTS, text, len(told) == len(hosts) and all(map(host_findings.is_decided, told)))
        return told

    def checks(self, site: Site, given: Mapping[str, HostChecks]) -> tuple[HostChecks, ...] | None:
        """What `ibkit doctor` looks at; one tool's saved output says nothing of its host."""
        if site.origin.kind == "raw":
            self.lacks[HOST_CHECKS] = Lack("there is no record of the hosts' own state", _RECORD)
            return None
        return tuple(given.get(host.name) or collect_checks(host.source, host.name) for host in site.hosts)

    def fabric(self, fabric: Fabric) -> Fabric | None:
        if not fabric.nodes:
            self._absent(FABRIC, "the topology of the fabric", fabric.problems)
            return None
        text = (
            f"{counted(fabric.number_of(SWITCH), 'switch', 'switches')}, "
            f"{counted(fabric.number_of(CHANNEL_ADAPTER), 'channel adapter')}, "
            f"{counted(fabric.number_of(ROUTER), 'router')}, {counted(len(fabric.links), 'link')}"
        )
        self._seen(FABRIC, text, fabric.complete)
        return fabric

    def managers(self, managers: SubnetManagers) -> SubnetManagers | None:
        decided = managers.managers or any(problem.kind == NO_SM for problem in managers.problems)
        if not decided:
            self._absent(MANAGERS, "the subnet manager's answer", managers.problems)
            return None
        known = all(manager.state is not None for manager in managers.managers) and managers.complete is not False
        self._seen(MANAGERS, counted(len(managers.managers), "subnet manager"), known)
        return managers

    def partitions(self, partitions: Partitions) -> Partitions | None:
        """The P_Key tables. That nobody may read them is usual, so it makes no diagnosis incomplete."""
        if not partitions.ports:
            told = next((one for one in partitions.problems if one.kind != NOT_RECORDED), None)
            if told is None:
                self.lacks[PARTITIONS] = Lack("the P_Key tables of the ports: there is no record of them", _RECORD)
            elif told.kind == NO_INFINIBAND:
                self.lacks[PARTITIONS] = Lack(told.text, _ELSEWHERE)
            else:
                self.lacks[PARTITIONS] = Lack(f"the P_Key tables of the ports: {told.text}", _MEND)
            return None
        self._seen(PARTITIONS, f"P_Key tables of {counted(len(partitions.ports), 'port')}", partitions.complete)
        return partitions

    def routes(self, site: Site, fabric: Fabric, through: Through, *, asked: bool) -> Routes | None:
        """The forwarding tables. Each switch is asked for its own, so those of many are looked at only where somebody
        asks for them; in a capture, too, for it shall show what the live run showed.
        """
        if not fabric.nodes and FABRIC in self.lacks:
            self.lacks[ROUTES] = self.lacks[FABRIC]
            return None
        if fabric.number_of(SWITCH) > MAX_SWITCHES and not asked:
            why = f"the forwarding tables of {fabric.number_of(SWITCH)} switches were not asked for"
            self.lacks[ROUTES] = Lack(why, "`ibkit check --rule routes`")
            return None
        ways = fabric.number_of(SWITCH) * fabric.number_of(CHANNEL_ADAPTER)
        if ways > MAX_WAYS:
            why = f"{ways:,} ways from switches to hosts are too many to follow"
            self.lacks[ROUTES] = Lack(why, "`ibkit path A B` follows single ones")
            return None
        routes = collect_routes(site.subnet, fabric, through)
        known = sum(bool(tables) for tables in routes.tables.values())
        if not known:
            self.lacks[ROUTES] = Lack("there is no record of the forwarding tables", _RECORD)
            return None
        self._seen(ROUTES, f"forwarding tables of {counted(known, 'switch', 'switches')}", routes.complete)
        return routes

    def hardware(self, site: Site, hosts: Sequence[HostHcas], fabric: Fabric) -> Hardware | None:
        """Modules and switches, of whom mostly nobody tells: that makes no diagnosis incomplete."""
        by_name = {host.host: host for host in hosts}
        told = [collect_fabric_hardware(site.subnet, fabric)]
        told += [collect_host_hardware(one.source, by_name.get(one.name, HostHcas(one.name))) for one in site.hosts]
        found = Hardware(
            tuple(port for one in told for port in one.ports), told[0].cables, told[0].switches, told[0].firmware,
            told[0].reports, tuple(problem for one in told for problem in one.problems),
            next((one.source for one in told if one.source), None),
        )  # fmt: skip
        if found.is_empty:
            why = f": {found.problems[0].text}" if found.problems else ""
            self.lacks[HARDWARE] = Lack(f"there is no record of modules and switches{why}", _HARDWARE)
            return None
        text = f"{counted(len(found.ports), 'port')} with modules, {counted(len(found.switches), 'switch', 'switches')}"
        whole = bool(found.switches) and not found.ports and all(one.info.complete for one in found.switches)
        self._seen(HARDWARE, text, True if whole else None)
        return found

    def counters(self, counters: FabricCounters, hosts: Sequence[HostHcas]) -> FabricCounters | None:
        """The fabric's, and those that hosts count themselves, as far as they are not among these."""
        asked = bool(counters.ports or counters.sweeps)
        known = {guid for port in counters.ports for guid in (port.guid, port.port_guid) if guid}
        more = tuple(port for port in host_counters(hosts) if port.port_guid not in known and port.guid not in known)
        if asked:
            whole = None if counters.complete is None else counters.complete and doubt_of_no_errors(counters) is None
            ports = len(counters.ports) or sum(sweep.ports or 0 for sweep in counters.sweeps)
            self._seen(COUNTERS, counted(ports, "port"), whole)
        else:
            self._absent(COUNTERS, "the counters of the ports", counters.problems)
            if not more:
                return None
            if COUNTERS not in {part.what for part in self.looked_at}:
                self._seen(COUNTERS, f"{counted(len(more), 'port')} of hosts", True)
            del self.lacks[COUNTERS]
        return counters._replace(ports=counters.ports + more)

    def _seen(self, part: str, text: str, complete: bool | None) -> None:
        self.looked_at.append(LookedAt(part, text, complete))

    def _absent(self, part: str, what: str, problems: Sequence[Problem]) -> None:
        """Nobody recorded it, or it was asked for in vain, which is a part that was looked at and is not whole."""
        failed = [problem for problem in problems if problem.kind != NOT_RECORDED]
        if not failed:
            self.lacks[part] = Lack(f"there is no record of {what}", _RECORD)
        elif failed[0].kind == NO_INFINIBAND:
            self.lacks[part] = Lack(failed[0].text, _ELSEWHERE)
        else:
            self.lacks[part] = Lack(f"{what}: {failed[0].text}", _MEND)
            self._seen(part, failed[0].text, False)
