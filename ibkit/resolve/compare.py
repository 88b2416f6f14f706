"""Do the sources agree, and which GID follows where they do not? Pure.

Claims that mean the same port agree, also where one spells it with the link-local prefix, with an FLID or by its alias.
A claim is refuted where a whole fabric shows that nobody has the GID, or that another host does. What is left is
settled where all of it agrees, or where the host's own table, the kernel's neighbour table or the peer itself speaks:
that is what packets are sent by now. Files and caches that differ settle nothing, and each difference is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.model.ids import Gid
from ibkit.model.resolution import FABRIC, Claim
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.resolve.claims import INFERRED, LIVE
from ibkit.resolve.gids import alias_lid, is_ip_gid
from ibkit.resolve.nodes import Port

#: What is known of a GID: some port has it; a whole fabric shows that none has; a port has its GUID, in another subnet
#: than its prefix says; it is in a subnet that was not seen; nobody knows.
PRESENT, ABSENT, MOVED, ELSEWHERE, UNSEEN = "present", "absent", "moved", "elsewhere", "unseen"


class Standing(NamedTuple):
    """What the fabric shows of a GID. ``why`` says what that stands on."""

    state: str
    port: Port | None = None
    why: str = ""


class Settled(NamedTuple):
    """The GID that follows, with the claim that it is taken from; None where nothing follows."""

    claim: Claim | None
    problems: tuple[Problem, ...] = ()


_UNSEEN = Standing(UNSEEN)


def settle(
    query: str,
    claims: Sequence[Claim],
    standings: dict[Gid, Standing],
    meant: Sequence[Port],
    order: Sequence[str] = (),
) -> Settled:
    """Which GID the claims of one query lead to. ``meant`` are the ports of the host that an address's names name.
    ``order`` is the user's: the first source of it that knows a GID gives it, whatever the others say.
    """
    left: list[Claim] = []
    problems: list[Problem] = []
    for claim in claims:
        if claim.gid is None:
            continue
        standing = standings.get(claim.gid, _UNSEEN)
        other = _other_owner(query, claim, standing, meant)
        against = _refutation(query, claim, standing) or other
        if against and not any(known[:2] == against[:2] for known in problems):
            problems.append(against)
        if not against or claim.weight >= LIVE:
            left.append(claim)
    groups = _grouped(left, standings, order)
    if len(groups) > 1:
        problems.append(_difference(query, groups))
    is_open = len(groups) > 1 and not _outweighs(groups[0][0], groups[1][0], order)
    return Settled(_spelled_best(groups[0]) if groups and not is_open else None, tuple(problems))


def _outweighs(one: Claim, other: Claim, order: Sequence[str]) -> bool:
    """Whether the first of two that differ is to be believed: by the user's order; else what speaks of now."""
    if order:
        return one.via != other.via
    return one.weight >= LIVE and one.weight > other.weight


def _refutation(query: str, claim: Claim, standing: Standing) -> Problem | None:
    """Why a claim cannot be true any more; a host's own table and the neighbour table speak of what is there now."""
    if claim.via == FABRIC or claim.weight >= LIVE or claim.gid is None:
        return None
    said = f"{query}: {claim.detail} says {claim.gid}"
    if standing.state == MOVED:
        text = f"{said}, and {standing.port} is in the subnet {standing.why}: it was moved, or the prefix was changed"
        return Problem("wrong-prefix", text, claim.line, claim.source)
    if standing.state != ABSENT:
        return None
    lid = alias_lid(claim.gid.guid)
    if lid is not None:
        text = f"{said}, the alias of LID {lid}, which no port has now ({standing.why}): LIDs were assigned anew"
        return Problem("alias-lid-differs", text, claim.line, claim.source)
    text = (
        f"{said}, and no port of the fabric has its GUID ({standing.why}): an adapter was swapped, or it was never so"
    )
    return Problem("gid-not-in-fabric", text, claim.line, claim.source)


def _other_owner(query: str, claim: Claim, standing: Standing, meant: Sequence[Port]) -> Problem | None:
    """The GID belongs to another host than the one that is meant: certain where the fabric has both."""
    port = standing.port
    if port is None or port.host is None or not meant or any(one.host == port.host for one in meant):
        return None
    text = f"{query}: {claim.detail} says {claim.gid}, which is {port}; the host that is asked for is {meant[0]}"
    return Problem("gid-of-another-host", text, claim.line, claim.source)


def _grouped(claims: Sequence[Claim], standings: dict[Gid, Standing], order: Sequence[str]) -> list[list[Claim]]:
    """The claims by the port that they mean, the group with the first claim in the user's order, or the weightiest,
    first.

    What is only inferred, as a RoCE GID of an address behind a gateway, is left out where somebody says more.
    """
    sure = [claim for claim in claims if claim.weight > INFERRED] or list(claims)
    groups: dict[object, list[Claim]] = {}
    ranks = {via: rank for rank, via in enumerate(order)}
    for claim in sorted(sure, key=lambda claim: (claim.is_old, ranks.get(claim.via, len(ranks)), -claim.weight)):
        groups.setdefault(_identity(claim.gid or Gid(0), standings), []).append(claim)
    # Entries that are too old to be relied on contradict nobody.
    fresh = [group for group in groups.values() if not group[0].is_old]
    return fresh or list(groups.values())


def _identity(gid: Gid, standings: dict[Gid, Standing]) -> object:
    """The same for GIDs of one port."""
    standing = standings.get(gid)
    if standing and standing.port:
        return standing.port.guid
    return gid if is_ip_gid(gid) else gid.guid


def _difference(query: str, groups: Sequence[Sequence[Claim]]) -> Problem:
    sides = "; ".join(f"{group[0].detail} says {group[0].gid}{_when(group[0])}" for group in groups)
    first = groups[0][0]
    return Problem("sources-differ", f"{query}: {sides}", first.line, first.source)


def _when(claim: Claim) -> str:
    return "" if claim.age_seconds is None else f" ({claim.age_seconds} s old)"


def _spelled_best(group: Sequence[Claim]) -> Claim:
    """The weightiest claim, with the GID in the spelling that says most: not with the prefix that every subnet has."""
    best = group[0]
    if best.gid is None or best.gid.subnet_prefix != LINK_LOCAL_PREFIX:
        return best
    same = [claim.gid for claim in group if claim.gid is not None and claim.gid.guid == best.gid.guid]
    return best._replace(gid=next((gid for gid in same if gid.subnet_prefix != LINK_LOCAL_PREFIX), best.gid))
