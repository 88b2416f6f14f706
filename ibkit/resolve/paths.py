"""The path to a GID that was found: from which port of the host, in which partition, and what each source says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.collectors.mad_tools import ANY_PORT
from ibkit.collectors.path_records import TOOL, PathAnswer, PathQuestion
from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.model.host import HcaPort
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import PathRecord, differences
from ibkit.model.port_state import ETHERNET
from ibkit.model.resolution import CACHE, FABRIC, HOSTS, SA, Claim, RoceChoice, SourcePort
from ibkit.model.talk import same_subnet
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.resolve import claims as sources
from ibkit.resolve.gids import is_ip_gid
from ibkit.resolve.nodes import Port
from ibkit.resolve.view import View
from ibkit.sources.base import NOT_RECORDED

#: So many partitions of a port are tried at most; few ports are in more.
MAX_PARTITIONS = 16


class Target(NamedTuple):
    """Where a path is wanted to: ``text`` is the query. ``gid`` is None where only the LID is known; ``port`` is its
    port in the fabric, ``claim`` where the GID comes from. ``is_elsewhere``: in another subnet.
    """

    text: str
    gid: Gid | None
    port: Port | None = None
    lid: int | None = None
    claim: Claim | None = None
    is_elsewhere: bool = False


class Found(NamedTuple):
    """A path, the claims that tell one, and what is wrong or missing. ``is_known``: there is enough to connect by."""

    path: PathRecord | None = None
    source: SourcePort | None = None
    claims: tuple[Claim, ...] = ()
    problems: tuple[Problem, ...] = ()
    pkey: PKey | None = None
    roce: RoceChoice | None = None
    is_known: bool = False


class Finder:
    """Finds paths from the ports of one host. ``pkey`` is the partition that the user wants, ``order`` the order of the
    sources.
    """

    def __init__(self, view: View, via: Sequence[str], pkey: PKey | None = None, order: Sequence[str] = ()) -> None:
        self._view = view
        self._via = via
        self._pkey = pkey
        self._order = order or _ORDER

    @property
    def looks_around(self) -> bool:
        """Whether any source is asked but ibkit's memory, which is meant to cost nothing."""
        return any(via != CACHE for via in self._via)

    def find(self, target: Target, claims: Iterable[Claim] = ()) -> Found:
        """The path to ``target``. ``claims`` are what the sources said of the query; some told a path, too."""
        told = [claim for claim in claims if claim.path and _is_to(claim.path, target)]
        if not self.looks_around:
            return self._remembered(target, told)
        own, hca_port = self.source_port(target)
        if (hca_port and hca_port.link_layer == ETHERNET) or (target.gid and is_ip_gid(target.gid)):
            return self._roce(target, own, hca_port)
        problems: list[Problem] = []
        if target.gid is not None and HOSTS in self._via and not any(claim.via == HOSTS for claim in told):
            told += sources.of_route_file(self._view, target.gid)
        if SA in self._via and self._view.sees_infiniband:
            asked, found = self._ask(target, own, hca_port)
            told += asked
            problems += found
        problems += _differences(target, told, self._order)
        path = _merged(target, own, told, self._order)
        pkey = path.pkey or self._partition(target, hca_port)
        known = None not in (path.dlid, path.sl, path.mtu_bytes, pkey)
        return Found(path._replace(pkey=pkey), own, tuple(told), tuple(problems), pkey, None, known)

    def ask(self, target: Target) -> PathAnswer:
        """What the SA answers in the first partition in which it has a path; or that it has none in any."""
        return self._ask_from(target, *self.source_port(target))

    def _ask_from(self, target: Target, own: SourcePort | None, hca_port: HcaPort | None) -> PathAnswer:
        untold: PathAnswer | None = None
        answer = PathAnswer()
        through = self._view.entrance_of(hca_port)
        for pkey in self._partitions(target, hca_port):
            question = _question(target, own, pkey)
            answer = self._view.administrator.path(question, through, hca_port.pkeys if hca_port else ())
            if answer.problem and answer.problem.kind == NOT_RECORDED:
                untold = untold or answer  # it may have been asked in another one
            elif not answer.is_none:
                return answer
        return untold or answer

    def _remembered(self, target: Target, told: Sequence[Claim]) -> Found:
        """The path as it was when it was remembered. Of RoCE the GID is all that there is to know."""
        if target.gid is not None and is_ip_gid(target.gid):
            return Found(PathRecord(dgid=target.gid), is_known=True)
        path = _merged(target, None, told, self._order)
        pkey = path.pkey or (target.claim.pkey if target.claim else None)
        known = None not in (path.dlid, path.sl, path.mtu_bytes, pkey)
        return Found(path._replace(pkey=pkey), None, tuple(told), (), pkey, None, known)

    def _ask(
        self, target: Target, own: SourcePort | None, hca_port: HcaPort | None
    ) -> tuple[list[Claim], list[Problem]]:
        answer = self._ask_from(target, own, hca_port)
        if answer.records:
            detail = "PathRecord of the subnet administrator"
            return [Claim(SA, None, detail, path=answer.records[0], age_seconds=0, source=TOOL)], []
        if answer.problem:
            return [], [answer.problem]
        if not answer.is_none:
            return [], []
        where = target.port or target.gid or f"LID {target.lid}"
        start = f"{own.device} port {own.port}" if own and own.device else "this host"
        partitions = [str(pkey) for pkey in self._partitions(target, hca_port) if pkey is not None]
        which = f" in partition {', '.join(partitions)}" if partitions else ""
        text = f"{target.text}: the subnet administrator has no path from {start} to {where}{which}"
        if target.is_elsewhere:
            return [], [Problem("not-routed", f"{text}: it knows no router to that subnet", None, TOOL)]
        return [], [Problem("no-path", f"{text}: no partition in common, or both are limited members", None, TOOL)]

    def source_port(self, target: Target) -> tuple[SourcePort | None, HcaPort | None]:
        """The port that the path starts from: the user's, the one that the claim came by, the one that has the
        target's own GID, one in the target's subnet or whose SA knows a router there, else the first.
        """
        view, claim, gid = self._view, target.claim, target.gid
        ports = [(hca.name, port) for hca in view.hcas.hcas for port in hca.ports]
        device, number = view.through
        if view.through == ANY_PORT and claim and claim.device:
            device, number = claim.device, claim.port
        named = [pair for pair in ports if device in (None, pair[0]) and number in (None, pair[1].port)]
        infiniband = view.infiniband_ports
        own = [pair for pair in infiniband if any(entry.gid == gid for entry in pair[1].gids)]
        near = [pair for pair in infiniband if gid is not None and _is_near(pair[1], gid)] or infiniband
        if target.port and len(view.nodes.fabrics) > 1:
            near = [pair for pair in near if view.entrance_of(pair[1]) == target.port.through] or near
        elif gid and target.port is None and SA in self._via and len({view.entrance_of(port) for _, port in near}) > 1:
            near = [pair for pair in near if self._ask_from(target, self._start(*pair), pair[1]).records] or near
        chosen = next(iter([*(named if device or number else ()), *own, *near]), None)
        if chosen is None:
            told = view.own_port[0] if SA in self._via and view.sees_infiniband else None
            return (SourcePort("", 0, told.gid, None, told.lid, "ib") if told and told.lid else None), None
        return self._start(*chosen), chosen[1]

    def _start(self, device: str, port: HcaPort) -> SourcePort:
        entry = port.gids[0] if port.gids else None
        gid = entry.gid if entry else self._own_gid(port)
        index = entry.gid_index if entry else None
        return SourcePort(device, port.port, gid, index, port.lid, port.transport)

    def _own_gid(self, port: HcaPort) -> Gid | None:
        """The GID of a port whose table was not seen: as its tools say, or by the fabric."""
        view = self._view
        if not view.sees_infiniband:
            return None
        if SA in self._via and view.own_port[0].gid and view.own_port[0].lid == port.lid:
            return view.own_port[0].gid
        seen = view.nodes.by_guid(port.port_guid) if FABRIC in self._via and port.port_guid else None
        return sources.gid_of(view, seen) if seen else None

    def _partitions(self, target: Target, port: HcaPort | None) -> list[PKey | None]:
        """The partitions to try: the user's, the one that the claim names, else all of the port's."""
        claim = target.claim if target.claim and target.claim.via != CACHE else None
        known = self._pkey or (claim.pkey if claim else None)
        if known is not None:
            return [known]
        table = list(port.pkeys if port else ())[:MAX_PARTITIONS]
        return list(table) or [None]

    def _partition(self, target: Target, port: HcaPort | None) -> PKey | None:
        """The partition where no path tells it: the one that there is to choose."""
        partitions = self._partitions(target, port)
        return partitions[0] if len(partitions) == 1 else None

    def _roce(self, target: Target, own: SourcePort | None, port: HcaPort | None) -> Found:
        """RoCE has no LIDs, and no partition but the default one: the two GIDs are all of it."""
        if own is None or port is None or port.link_layer != ETHERNET:
            text = f"{target.text}: {target.gid} is a RoCE GID, and no RoCE port of this host leads there"
            return Found(PathRecord(dgid=target.gid), None, (), (Problem("no-source-port", text),))
        from ibkit.resolve.roce import choose

        choice = choose(port, target.claim.netdev if target.claim else None, target.gid, own.device)
        own = own._replace(gid=choice.gid, gid_index=choice.gid_index)
        path = PathRecord(choice.gid, target.gid)
        return Found(path, own, roce=choice, is_known=choice.gid is not None)


def _question(target: Target, own: SourcePort | None, pkey: PKey | None) -> PathQuestion:
    """By GIDs where both are known with their subnet, else by LIDs, which only ports of this subnet have."""
    sgid, slid = (own.gid, own.lid) if own else (None, None)
    lid = target.lid if target.port is None else target.port.lid
    if target.gid is not None and (lid is None or target.gid.subnet_prefix != LINK_LOCAL_PREFIX):
        return PathQuestion(sgid, slid, target.gid, None, pkey)
    return PathQuestion(None if slid else sgid, slid, None, lid, pkey)


def _is_near(port: HcaPort, gid: Gid) -> bool:
    return any(same_subnet(entry.gid.subnet_prefix, gid.subnet_prefix) for entry in port.gids)


def _is_to(path: PathRecord, target: Target) -> bool:
    return path.dgid is None or target.gid is None or path.dgid.guid == target.gid.guid


#: Which source's path counts where two tell a field: the one that speaks of now.
_ORDER = (SA, "acm", HOSTS, "cache")


def _merged(target: Target, own: SourcePort | None, told: Sequence[Claim], order: Sequence[str]) -> PathRecord:
    """The best source's path, with the gaps filled from the others and from what is known of both ends."""
    ranked = sorted(told, key=lambda claim: (claim.is_old, order.index(claim.via) if claim.via in order else 9))
    lid = target.lid if target.port is None else target.port.lid
    ends = PathRecord(own.gid if own else None, target.gid, own.lid if own else None)
    if own and own.gid is not None and own.gid == target.gid:
        ends = ends._replace(dlid=own.lid)
    elif not target.is_elsewhere:
        ends = ends._replace(dlid=lid)
    merged = PathRecord()
    for path in [*(claim.path for claim in ranked if claim.path and not claim.is_old), ends]:
        gaps = {name: value for name, value in path._asdict().items() if getattr(merged, name) is None}
        merged = merged._replace(**gaps)
    return merged if target.gid is None else merged._replace(dgid=target.gid)


def _differences(target: Target, told: Sequence[Claim], order: Sequence[str]) -> list[Problem]:
    """Where two sources tell the path differently; and where one leads to a LID that the port does not have."""
    problems = []
    best = next((claim for via in order for claim in told if claim.via == via and not claim.is_old), None)
    for claim in told:
        if best is None or claim is best or not claim.path or not best.path or claim.is_old:
            continue
        if found := differences(best.path, claim.path):
            sides = ", ".join(f"{name} {mine} and {theirs}" for name, (mine, theirs) in found.items())
            kind = "lid-differs" if "dlid" in found else "path-differs"
            text = f"{target.text}: {best.detail} and {claim.detail} differ: {sides}"
            problems.append(Problem(kind, text, claim.line, claim.source))
    if best and best.path and target.port and not target.is_elsewhere and best.path.dlid is not None:
        lids = range(target.port.lid or 0, (target.port.lid or 0) + (1 << target.port.lmc))
        if target.port.lid is not None and best.path.dlid not in lids and not best.path.is_routed:
            text = f"{target.text}: {best.detail} leads to LID {best.path.dlid}; {target.port} has {target.port.lid}"
            problems.append(Problem("lid-differs", text, best.line, best.source))
    return problems
