"""From a site to the evidence: which collectors speak, how complete each part is, and why a part is not there.

A part that nobody recorded was not looked at. A part that was asked for and did not answer was looked at in vain:
the first leaves the rules about it undecided, the second also the diagnosis as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.collectors.counter_rates import watch_counters
from ibkit.collectors.counters import collect_counters
from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.model import host_findings
from ibkit.model.counters import FabricCounters, change_between, doubt_of_no_errors
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH, Fabric
from ibkit.model.findings import LookedAt
from ibkit.model.host import HostHcas
from ibkit.model.subnet_manager import NO_SM, SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.rules.evidence import (
    CHANGE,
    COUNTERS,
    EARLIER,
    EXPECTED,
    FABRIC,
    HOSTS,
    MANAGERS,
    Collected,
    Lack,
    counted,
)
from ibkit.rules.host_counters import host_counters
from ibkit.rules.tallies import spell
from ibkit.sources.base import NOT_RECORDED
from ibkit.sources.site import Site

_RECORD = "record it with `ibkit capture`, or run `ibkit check` on a host of the fabric"
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


def collect(site: Site) -> Collected:
    """All parts that the site can tell of, each once."""
    parts = _Parts()
    hosts = parts.hosts(site)
    fabric = parts.fabric(collect_fabric(site.subnet))
    managers = parts.managers(collect_subnet_managers(site.subnet))
    counters = parts.counters(collect_counters(site.subnet), hosts or ())
    parts.lacks |= {CHANGE: _TWO_SAMPLES, EARLIER: _NO_EARLIER, EXPECTED: _NO_EXPECTATIONS}
    return Collected(hosts, fabric, counters, managers, lacks=parts.lacks, looked_at=tuple(parts.looked_at))


def compare_with(earlier: Collected, later: Collected, seconds: float, since: str) -> Collected:
    """The later collection with what changed since the earlier one, which is ``seconds`` older.

    An earlier one without counters, or without a fabric, leaves the rules about their change undecided.
    """
    lacks = {part: lack for part, lack in later.lacks.items() if part not in (CHANGE, EARLIER)}
    looked_at = later.looked_at
    change = None
    if earlier.counters and later.counters:
        change = change_between(earlier.counters, later.counters, seconds)
        text = f"{counted(len(change.ports), 'port')}, {spell(seconds)} apart"
        looked_at += (LookedAt(CHANGE, text, change.complete),)
    else:
        lacks[CHANGE] = (earlier if later.counters else later).lacks[COUNTERS]
    if earlier.fabric is None:
        lacks[EARLIER] = earlier.lacks[FABRIC]
    return later._replace(change=change, earlier=earlier.fabric, lacks=lacks, looked_at=looked_at, since=since)


def sample_again(site: Site, first: Collected, interval_seconds: float) -> Collected:
    """The collection with its counters read once more, ``interval_seconds`` after they were first read.

    Their change is from the middle of one sweep to that of the other, as `ibkit counters --interval` has it.
    """
    for change in watch_counters(site.subnet, interval_seconds, 1):
        if not change.ports:
            break
        looked_at = LookedAt(
            CHANGE, f"{counted(len(change.ports), 'port')}, {spell(change.seconds)} apart", change.complete
        )
        lacks = {part: lack for part, lack in first.lacks.items() if part != CHANGE}
        return first._replace(
            change=change, lacks=lacks, looked_at=(*first.looked_at, looked_at), since=f"in {spell(change.seconds)}"
        )
    return first


def problems_of(collected: Collected) -> list[Problem]:
    """What the collectors could not see, of the parts that were looked at."""
    parts = (collected.fabric, collected.managers, collected.counters, collected.change)
    problems = [problem for host in collected.hosts or () for problem in host.problems]
    problems += [problem for part in parts if part for problem in part.problems]
    return list(dict.fromkeys(problem for problem in problems if problem.kind != NOT_RECORDED))


class _Parts:
    """What was looked at and what is not there, while the collectors are asked one after the other."""

    def __init__(self) -> None:
        self.lacks: dict[str, Lack] = {}
        self.looked_at: list[LookedAt] = []

    def hosts(self, site: Site) -> tuple[HostHcas, ...] | None:
        hosts = tuple(collect_hcas(host.source, host.name) for host in site.hosts)
        told = tuple(host for host in hosts if host.hcas)
        if not told:
            self._absent(HOSTS, "the devices of a host", [p for host in hosts for p in host.problems])
            return None
        ports = sum(len(hca.ports) for host in told for hca in host.hcas)
        text = f"{counted(len(told), 'host')} with {counted(ports, 'port')}"
        self._seen(HOSTS, text, len(told) == len(hosts) and all(map(host_findings.is_decided, told)))
        return told

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
        known = all(manager.state is not None for manager in managers.managers)
        self._seen(MANAGERS, counted(len(managers.managers), "subnet manager"), known)
        return managers

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
        elif failed[0].kind == "no-infiniband":
            self.lacks[part] = Lack(failed[0].text, "run `ibkit check` on a host of an InfiniBand fabric")
        else:
            self.lacks[part] = Lack(f"{what}: {failed[0].text}", "mend that, then run it again")
            self._seen(part, failed[0].text, False)
