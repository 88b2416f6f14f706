"""Queries in, answers out: ask the sources, compare what they say, find the path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.model.ids import Gid, PKey
from ibkit.model.resolution import (
    ACM,
    CACHE,
    FABRIC,
    FINDING,
    FINDINGS,
    GIDS,
    HOSTS,
    IBARR,
    NEIGHBOURS,
    RESOLVED,
    SA,
    SOURCES,
    UNKNOWN,
    Answer,
    Claim,
    Resolution,
    Step,
)
from ibkit.model.talk import same_subnet
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.resolve import claims as sources
from ibkit.resolve import queries, routed
from ibkit.resolve.compare import ABSENT, ELSEWHERE, MOVED, PRESENT, UNSEEN, Standing, settle
from ibkit.resolve.gids import alias_lid, is_ip_gid, prefix_text
from ibkit.resolve.missing import explain
from ibkit.resolve.nodes import Port
from ibkit.resolve.paths import Finder, Target
from ibkit.resolve.queries import Query
from ibkit.resolve.view import View

#: ``kind`` of problems: a query cannot be asked for, which is wrong usage; all that is known is old; a LID is one of
#: the first subnet of several.
BAD_QUERY, OLD_ENTRY, SEVERAL_SUBNETS = "bad-query", "old-entry", "several-subnets"


class _Part(NamedTuple):
    """What the claims about one address or name come to."""

    claim: Claim | None
    claims: list[Claim]
    problems: tuple[Problem, ...]


class Resolver:
    """Answers queries from one host's view. ``via`` are the sources that may be asked; ``is_forced``: whatever they
    say, the first of them that knows an answer gives it. ``pkey`` is the partition that the user wants, ``far`` the
    view of another subnet, behind a router.
    """

    def __init__(
        self,
        view: View,
        via: Sequence[str],
        *,
        is_forced: bool = False,
        pkey: PKey | None = None,
        far: View | None = None,
    ) -> None:
        self._view = view
        self._far = far
        self._via = via
        self._order = tuple(via) if is_forced else ()
        self._finder = Finder(view, via, pkey, self._order)
        self._standings: dict[Gid, Standing] = {}

    def resolve(self, asked: Iterable[Query]) -> Resolution:
        """All answers in the order of the queries; a host with several ports may have one for each."""
        asked = list(asked)
        if CACHE in self._via:
            self._view.remember(key for query in asked if (key := queries.cache_key(query)) is not None)
        answers = tuple(answer for query in asked for answer in self._answers(query))
        return Resolution(answers, tuple(self._general_problems(answers)))

    def _answers(self, query: Query) -> list[Answer]:
        if query.bad:
            problem = Problem(BAD_QUERY, f"{query.text}: {query.bad}")
            return [Answer(query.text, query.kind, UNKNOWN, problems=(problem,))]
        if query.kind == queries.NAME:
            return self._of_name(query)
        claims = list(self._claims(query))
        if query.kind == queries.GID or (query.kind == queries.IP6 and not any(claim.gid for claim in claims)):
            return [self._of_gid(query, claims)]
        if query.kind in (queries.GUID, queries.LID):
            answers = self._of_ports(query, claims) or [self._of_number(query, claims)]
            return [answer._replace(problems=(*answer.problems, *self._which_lid(query))) for answer in answers]
        return [self._of_address(query, claims)]

    # What was asked.

    @property
    def _asks_hosts(self) -> bool:
        """Whether any source is asked that knows addresses by the host's names."""
        return bool({HOSTS, ACM, GIDS, NEIGHBOURS, IBARR} & set(self._via))

    @property
    def _sees_fabric(self) -> bool:
        return FABRIC in self._via and self._view.sees_infiniband

    def _claims(self, query: Query) -> Iterator[Claim]:
        """What the sources say of one address or name, in their order."""
        view = self._view
        key = queries.cache_key(query)
        addresses = [query.name] if query.kind in (queries.IP4, queries.IP6) else []
        if CACHE in self._via and key is not None:
            yield from sources.of_cache(view, key)
        if HOSTS in self._via:
            yield from sources.of_hosts_file(view, query)
        if ACM in self._via:
            yield from sources.of_acm(view, query)
        for address in addresses:
            if GIDS in self._via:
                yield from sources.of_own_tables(view, address)
            if NEIGHBOURS in self._via:
                yield from sources.of_neighbours(view, address)
            if IBARR in self._via:
                yield from sources.of_ibarr(view, address)

    def _fabric_claims(self, query: Query) -> list[tuple[Claim, Port]]:
        if query.kind == queries.IP4 or not self._sees_fabric:
            return []
        return list(sources.of_fabric(self._view.nodes, self._view, query))

    # What follows.

    def _of_address(self, query: Query, claims: list[Claim]) -> Answer:
        """Of an IP address: what the sources agree on."""
        names = self._view.names_of(query.name) if self._finder.looks_around else ()
        part = self._settled(query.text, claims, names, infer=True)
        if part.claim is None:
            return self._unsettled(query, part.claims, [query.name], part.problems)
        return self._answer(query, part.claim, part.claims, part.problems)

    def _of_name(self, query: Query) -> list[Answer]:
        """Of a name: what is known of the name itself and of each of its addresses, which may be of several ports of
        the host; where nothing is, the host's ports in the fabric, or those of a host at hand.
        """
        addresses = self._view.addresses_of(query.name) if self._asks_hosts else []
        keys = [query, *(queries.read_query(f"ip:{address}") for address in addresses)]
        parts = [self._settled(query.text, list(self._claims(key)), [query.name]) for key in keys]
        claims = [claim for part in parts for claim in part.claims]
        problems = tuple(dict.fromkeys(problem for part in parts for problem in part.problems))
        found = self._by_port([part for part in parts if part.claim is not None])
        if all(part.claim and _is_only_roce(part.claim) for part in found) and self._fabric_claims(query):
            found = []  # addresses of a management network, it may be: the host's InfiniBand ports are meant
        if len(found) == 1 or self._are_one_host(found):
            return [self._answer(query, part.claim, part.claims, problems) for part in found if part.claim]
        if found:
            part = self._settled(query.text, claims, [query.name])
            if part.claim is None:
                return [self._unsettled(query, part.claims, addresses, (*problems, *part.problems))]
            return [self._answer(query, part.claim, part.claims, part.problems)]
        answers: list[Answer] = []
        if not any(problem.kind == "sources-differ" for problem in problems):
            answers = self._of_ports(query, claims, problems) or self._of_own_ports(query, claims)
        return answers or [self._unsettled(query, claims, addresses, problems)]

    def _settled(self, text: str, claims: list[Claim], names: Sequence[str], *, infer: bool = False) -> _Part:
        """What the claims about one address or name come to. ``names`` are those of the host that is meant; ``infer``:
        its only port counts where nobody says anything.
        """
        view = self._view
        meant: list[Port] = []
        if self._sees_fabric and names:
            meant = [port for name in names for port in view.nodes.of_address_name(name)]
            if infer or any(claim.gid for claim in claims):
                claims = [*claims, *sources.inferred_from_names(view.nodes, view, names)]
        standings = {claim.gid: self._standing(claim.gid) for claim in claims if claim.gid is not None}
        moved = [one.port for one in standings.values() if one.state == MOVED and one.port]
        claims = [*claims, *sources.of_moved_ports(view, moved)]
        settled = settle(text, claims, standings, meant, self._order)
        return _Part(settled.claim, claims, (*settled.problems, *_unreachable(text, claims)))

    def _by_port(self, parts: Sequence[_Part]) -> list[_Part]:
        """One part for each port that is meant. A GID that RoCE would make of an address counts only where there is
        nothing else, unless a neighbour was seen there.
        """
        found: dict[object, _Part] = {}
        for part in parts:
            gid = part.claim.gid if part.claim else None
            if gid is None:
                continue
            port = self._standing(gid).port
            key = port.guid if port else gid if is_ip_gid(gid) else gid.guid
            known = found.get(key)
            found[key] = part if known is None else known._replace(claims=[*known.claims, *part.claims])
        sure = {key: part for key, part in found.items() if part.claim and not _is_only_roce(part.claim)}
        return list((sure or found).values())

    def _are_one_host(self, parts: Sequence[_Part]) -> bool:
        """Whether the fabric has all these ports, on one host."""
        ports = [self._standing(part.claim.gid).port for part in parts if part.claim and part.claim.gid]
        hosts = {port.host if port else None for port in ports}
        return len(hosts) == 1 and None not in hosts

    def _of_ports(self, query: Query, claims: Sequence[Claim], problems: Iterable[Problem] = ()) -> list[Answer]:
        """One answer for each port that a name, GUID or LID means in the fabric."""
        answers = []
        for claim, port in self._fabric_claims(query):
            lid = query.value if query.kind == queries.LID else port.lid
            target = Target(query.text, claim.gid, port, lid, claim)
            answers.append(self._to(query, target, [*claims, claim], problems))
        return answers

    def _of_own_ports(self, query: Query, claims: Sequence[Claim]) -> list[Answer]:
        """One answer for each port of a host at hand that has this name."""
        if GIDS not in self._via:
            return []
        own = list(sources.of_hosts_themselves(self._view, query.name))
        return [self._answer(query, claim, [*claims, claim], ()) for claim in own]

    def _of_gid(self, query: Query, claims: list[Claim]) -> Answer:
        """The query is the answer; whether anybody has it is what there is to find out."""
        gid = Gid(query.value)
        standing = self._standing(gid)
        problems = []
        if standing.state == ABSENT:
            text = f"{query.text}: no port of the fabric has this GID ({standing.why})"
            problems.append(Problem("gid-not-in-fabric", text, None, self._view.nodes.fabric.source))
        if standing.state == MOVED:
            text = f"{query.text}: {standing.port} has this GUID, and is in the subnet {standing.why}"
            problems.append(Problem("wrong-prefix", text, None, self._view.nodes.fabric.source))
        claims = [*claims, *(claim for claim, _ in self._fabric_claims(query))]
        return self._answer(query, Claim("query", gid, "as asked"), claims, problems)

    def _of_number(self, query: Query, claims: list[Claim]) -> Answer:
        """A LID or GUID that no port of the fabric has; where that is not sure, the SA may know it."""
        view = self._view
        if self._sees_fabric and view.sees_all:
            kind, what = ("no-such-lid", "LID") if query.kind == queries.LID else ("no-such-guid", "GUID")
            text = f"{query.text}: no port of the fabric has the {what} {query.name}"
            return self._unsettled(query, claims, (), [Problem(kind, text, None, view.nodes.fabric.source)])
        if query.kind == queries.LID:
            return self._to(query, Target(query.text, None, None, query.value), claims, ())
        if len(view.prefixes) != 1:
            return self._unsettled(query, claims, (), ())
        return self._to(query, Target(query.text, Gid(view.prefixes[0] << 64 | query.value)), claims, ())

    def _which_lid(self, query: Query) -> Iterator[Problem]:
        """Several subnets may have the same LID."""
        if query.kind == queries.LID and self._sees_fabric and len(self._view.nodes.fabrics) > 1:
            others = ", ".join(str(through) for through, _ in self._view.nodes.fabrics[1:])
            text = f"{query.text}: a LID of the first subnet of this host; --device and --port choose another: {others}"
            yield Problem(SEVERAL_SUBNETS, text)

    def _answer(self, query: Query, claim: Claim, claims: Sequence[Claim], problems: Iterable[Problem]) -> Answer:
        """The answer with this claim's GID."""
        gid = claim.gid or Gid(0)
        standing = self._standing(gid)
        target = Target(query.text, gid, standing.port, None, claim, standing.state == ELSEWHERE)
        if claim.is_old:
            text = f"{query.text}: only what is too old to rely on says {gid}: {claim.detail}"
            problems = (*problems, Problem(OLD_ENTRY, text, claim.line, claim.source))
        return self._to(query, target, claims, problems)

    def _to(self, query: Query, target: Target, claims: Sequence[Claim], problems: Iterable[Problem]) -> Answer:
        found = self._finder.find(target, claims)
        gid = target.gid or (found.path.dgid if found.path else None)
        told = sorted(dict.fromkeys([*claims, *found.claims]), key=lambda claim: SOURCES.index(claim.via))
        gone = any(problem.kind == "gid-not-in-fabric" for problem in problems) and target.port is None
        everything = (*problems, *(problem for problem in found.problems if not (gone and problem.kind == "no-path")))
        known = gid is not None and found.is_known and not any(problem.kind == OLD_ENTRY for problem in problems)
        if not known and not any(problem.kind in FINDINGS for problem in everything):
            everything += tuple(explain(self._view, self._via, query, gid, found, port=target.port))
        steps: tuple[Step, ...] = ()
        if gid is not None and target.is_elsewhere and SA in self._via and self._view.sees_infiniband:
            steps = self._cross(query, target, gid, everything)
            judged = _judged(query, gid, steps, everything)
            known = known and not judged
            everything += judged
        port = target.port or (self._standing(gid).port if gid is not None else None)
        return Answer(
            query.text,
            query.kind,
            _status(everything, known=known),
            gid,
            found.pkey,
            found.path,
            tuple(told),
            everything,
            port.guid if port else None,
            target.lid if target.lid is not None else port.lid if port else None,
            port.node.name if port else None,
            found.source,
            found.roce,
            steps,
        )

    def _cross(self, query: Query, target: Target, gid: Gid, problems: Iterable[Problem]) -> tuple[Step, ...]:
        """The tests of a path into another subnet."""
        from ibkit.resolve.crossing import gather

        own, port = self._finder.source_port(target)
        address = query.name if query.kind == queries.IP4 else None
        differs = any(problem.kind == "sources-differ" for problem in problems)
        first = self._finder.ask(target)
        case = gather(self._view, self._far, gid, own, port, first, address=address, differs=differs)
        return routed.explain(case)

    def _unsettled(
        self, query: Query, claims: Sequence[Claim], addresses: Sequence[str], problems: Iterable[Problem]
    ) -> Answer:
        everything = tuple(problems)
        if not any(problem.kind in FINDINGS for problem in everything):
            everything += tuple(explain(self._view, self._via, query, None, None, addresses))
        return Answer(
            query.text, query.kind, _status(everything, known=False), claims=tuple(claims), problems=everything
        )

    # What the fabric shows of a GID.

    def _standing(self, gid: Gid) -> Standing:
        if gid not in self._standings:
            self._standings[gid] = self._look(gid)
        return self._standings[gid]

    def _look(self, gid: Gid) -> Standing:
        view = self._view
        if is_ip_gid(gid):
            return Standing(UNSEEN)
        if not self._finder.looks_around:
            return Standing(UNSEEN)
        own_subnet = view.is_own_subnet(gid.subnet_prefix) if view.sees_infiniband else None
        if not self._sees_fabric:
            return Standing(ELSEWHERE if own_subnet is False else UNSEEN)
        lid = alias_lid(gid.guid)
        port = view.nodes.by_guid(gid.guid)
        if own_subnet is not False:
            port = port or (view.nodes.by_lid(lid) if lid else None)
        if port is not None:
            real = sources.gid_of(view, port)
            if (
                real is None
                or gid.subnet_prefix == LINK_LOCAL_PREFIX
                or same_subnet(real.subnet_prefix, gid.subnet_prefix)
            ):
                return Standing(PRESENT, port)
            return Standing(MOVED, port, prefix_text(real.subnet_prefix))
        if own_subnet is False:
            return Standing(ELSEWHERE)
        if own_subnet is None or not view.sees_all:
            return Standing(UNSEEN)
        why = f"{len(view.nodes.ports)} ports were seen"
        if SA not in self._via:
            return Standing(ABSENT, None, why)
        answer = self._finder.ask(Target(str(gid), gid))
        if answer.records:
            return Standing(PRESENT)  # a virtual port, or one that came since
        return Standing(
            ABSENT, None, f"{why}, and the subnet administrator has no path to it" if answer.is_none else why
        )

    def _general_problems(self, answers: Sequence[Answer]) -> Iterator[Problem]:
        """What is missing for all of them, and what could not be read."""
        view = self._view
        if HOSTS in self._via:
            yield from view.preloads.problems
        if view.has_seen_fabric and view.sees_infiniband:
            yield from view.nodes.problems


def _status(problems: Sequence[Problem], *, known: bool) -> str:
    if any(problem.kind in FINDINGS for problem in problems):
        return FINDING
    return RESOLVED if known else UNKNOWN


def _judged(query: Query, gid: Gid, steps: Sequence[Step], problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """What the tests of a routed path come to, where that is not well."""
    end = routed.conclusion(steps)
    if end == routed.BOTH_LEGS or any(problem.kind in FINDINGS for problem in problems):
        return ()
    if end == routed.BROKEN:
        bad = next(step for step in steps if step.state == routed.BAD)
        text = f"{query.text}: no way into the subnet of {gid}: {bad.what}: {bad.text}"
        return (Problem("not-routed", f"{text}; needed: {bad.needs}" if bad.needs else text),)
    if end == routed.FIRST_LEG:
        lacking = [step for step in steps[6:8] if step.state != routed.OK]
        what = " and ".join(f"the {step.what}" for step in lacking)
        needs = "; or ".join(dict.fromkeys(step.needs for step in lacking if step.needs))
        text = f"{query.text}: first leg only: the way to the router is shown, {what} is not; needed: {needs}"
        return (Problem("first-leg-only", text),)
    return ()


def _is_only_roce(claim: Claim) -> bool:
    """Whether it is a GID that RoCE would make of the address, and nobody was seen there."""
    return claim.via == GIDS and claim.weight < sources.LIVE and claim.gid is not None and is_ip_gid(claim.gid)


def _unreachable(text: str, claims: Sequence[Claim]) -> Iterator[Problem]:
    """The kernel looked for the neighbour, and nobody answered, though somebody says that there is one."""
    for claim in claims:
        if claim.via == NEIGHBOURS and claim.gid is None and claim.state and "FAILED" in claim.state:
            others = [other for other in claims if other.gid is not None]
            said = f", and {others[0].detail} says {others[0].gid}" if others else ""
            yield Problem("neighbour-unreachable", f"{text}: {claim.detail} (FAILED){said}", None, claim.source)
