"""Whether ranks of one host can only have used shared memory. It leaves no counter, so all else must be excluded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ibkit.parsers.job_facts import Setting
from ibkit.transport.live.moves import Part
from ibkit.transport.live.pairs import is_another
from ibkit.transport.settings import leaves_no_shared_memory

#: Variables that forbid shared memory, or may do so by what they leave out.
_MAY_FORBID = ("UCX_TLS", "MPIR_CVAR_NOLOCAL", "MPIR_CVAR_ODD_EVEN_CLIQUES", "PSM2_DEVICES", "PSM3_DEVICES")
_SYSTEM_V = "/SYSV"
_UCX = "/libuct"


def uses_shared_memory(part: Part, settings: Iterable[Setting]) -> bool:
    """Whether all ranks, which are on this host, are joined by mapped segments and by nothing else.

    Open MPI maps its peers' segments when it starts, and none where its module for shared memory is excluded; UCX maps
    a peer's when it connects to it.
    """
    watch = part.watch
    ranks = set(part.ranks.ranks.values())
    if None in ranks or len(ranks) < 2 or watch.other_fabrics or part.has_verbs_open is not False:
        return False
    if any(problem.kind == "not-permitted" for problem in watch.problems):
        return False
    if any(leaves_no_shared_memory(one) or one.name in _MAY_FORBID for one in settings):
        return False
    return _shows_no_socket(part) and _are_joined(part)


def _shows_no_socket(part: Part) -> bool:
    """Whether the ranks' sockets could be listed, and none of them leads to another rank."""
    watch = part.watch
    if watch.before.sockets is None or watch.after.sockets is None:
        return False
    networks = {watch.facts[pid].network for pid in part.ranks.ranks if pid in watch.facts}
    if watch.network is None or networks != {watch.network}:
        return False  # in a network namespace of their own, which ss does not show; or another user's
    ends = {(one.local, one.peer): one for one in watch.before.sockets}
    mine = ((one, pid) for one in watch.before.sockets for pid in one.pids if pid in part.ranks.ranks)
    return not any(
        peer in part.ranks.ranks and is_another(part, pid, part, peer)
        for one, pid in mine
        if (other := ends.get((one.peer, one.local)))
        for peer in other.pids
    )


def _are_joined(part: Part) -> bool:
    """Whether segments that two ranks have mapped join all ranks."""
    holders: dict[str, set[int]] = defaultdict(set)
    for pid, rank in part.ranks.ranks.items():
        facts = part.watch.facts.get(pid)
        if facts is None or rank is None:
            return False
        has_ucx = any(_UCX in library for library in facts.libraries or ())
        for segment in facts.segments or ():
            if not segment.name.startswith(_SYSTEM_V) or has_ucx:
                holders[segment.place].add(rank)
    joined: set[int] = set()
    groups = [ranks for ranks in holders.values() if len(ranks) > 1]
    while groups:
        touching = [ranks for ranks in groups if not joined or ranks & joined]
        if not touching:
            return False
        joined |= touching[0]
        groups.remove(touching[0])
    return joined == set(part.ranks.ranks.values())
