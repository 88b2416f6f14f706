"""Which answers are worth remembering, as entries of the cache. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.model.address_cache import Entry
from ibkit.model.ids import Gid
from ibkit.model.path_record import PathRecord
from ibkit.model.resolution import CACHE, RESOLVED, SA, UNKNOWN, Answer, Claim
from ibkit.resolve import queries
from ibkit.resolve.gids import is_ip_gid
from ibkit.resolve.missing import UNRESOLVED


def entries_of(answers: Iterable[Answer], now: float, host: str) -> Iterator[Entry]:
    """One entry for each source that said what an undisputed answer says, and one for what nobody knew.

    Of a name with several ports nothing is kept: the cache has one GID for a name in a partition.
    """
    asked: dict[str, list[Answer]] = {}
    for answer in answers:
        asked.setdefault(answer.query, []).append(answer)
    for text, several in asked.items():
        key = queries.cache_key(queries.read_query(text))
        if len(several) != 1 or key is None:
            continue
        answer = several[0]
        if answer.status == RESOLVED and answer.gid is not None:
            yield from _known(key, answer, answer.gid, now, host)
        elif answer.status == UNKNOWN and any(problem.kind == UNRESOLVED for problem in answer.problems):
            yield Entry(key, CACHE, None, int(now), host=host)


def prefix_of(gid: Gid) -> int | None:
    """The subnet's prefix; None for a GID that is an IPv4 address."""
    return None if is_ip_gid(gid) else gid.subnet_prefix


def _known(key: str, answer: Answer, gid: Gid, now: float, host: str) -> Iterator[Entry]:
    path = None if is_ip_gid(gid) else answer.path
    told = {claim.via: claim for claim in answer.claims if _says(claim, gid)}
    for via, claim in told.items():
        learned = int(now) - (claim.age_seconds or 0)
        yield Entry(key, via, gid, learned, prefix_of(gid), answer.pkey, claim.detail, _kept(path), host)


def _says(claim: Claim, gid: Gid) -> bool:
    """Whether it is a source's own word for this GID; what the cache says is there already."""
    if claim.via == CACHE:
        return False
    if claim.gid is None:
        return claim.via == SA and claim.path is not None and claim.path.dgid == gid
    return claim.gid == gid or (claim.gid.guid == gid.guid and not is_ip_gid(gid))


def _kept(path: PathRecord | None) -> PathRecord | None:
    """The path, if there is one."""
    return path if path is not None and path.dlid is not None else None
