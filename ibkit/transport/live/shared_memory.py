"""Whether ranks of one host can only have used shared memory. It leaves no counter, so all else must be excluded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ibkit.model.job_watch import Segment
from ibkit.parsers.job_facts import Setting
from ibkit.transport.live.moves import Part
from ibkit.transport.live.pairs import is_another
from ibkit.transport.settings import denies_ucx_shared_memory, leaves_no_shared_memory, leaves_ucx_copies

_SYSTEM_V = "/SYSV"
_UCX = "/libuct"
#: What is mapped in common where it is used for other things than messages, too.
_NO_PROOF = ("/mpich_shar_tmp", "/Intel_MPI_", "/ib_shmem")


def uses_shared_memory(part: Part, settings: Iterable[Setting]) -> bool:
    """Whether all ranks, which are on this host, are joined by mapped segments and by nothing else.

    Open MPI maps its peers' segments when it starts, and none where its module for shared memory is excluded; UCX maps
    a peer's when it connects to it.
    """
    watch = part.watch
    ranks = set(part.ranks.ranks.values())
    if None in ranks or len(ranks) < 2 or watch.other_fabrics or part.has_verbs_open is not False:
        return False
    if part.is_hidden:
        return False
    if any(leaves_no_shared_memory(one) or denies_ucx_shared_memory(one) for one in settings):
        return False
    return _shows_no_socket(part) and _are_joined(part)


def have_no_common_memory(part: Part, settings: Iterable[Setting]) -> bool:
    """Whether the maps of two ranks of this host were seen, no two ranks have a segment in common, and none was told to
    read the other's memory.

    Only then are sockets between them the job's data path. A library that has shared memory sends through it: sockets
    beside it are the application's own.
    """
    if any(map(leaves_ucx_copies, settings)):
        return False
    holders = _holders(part)
    seen = {rank for pid, rank in part.ranks.ranks.items() if _has_maps(part, pid)}
    return len(seen) > 1 and all(len(ranks) < 2 for ranks in holders.values())


def _has_maps(part: Part, pid: int) -> bool:
    facts = part.watch.facts.get(pid)
    return facts is not None and facts.segments is not None


def _holders(part: Part) -> dict[tuple[str, str], set[int | None]]:
    """The ranks that have each segment mapped, by its place and name; System V's only where UCX is loaded."""
    holders: dict[tuple[str, str], set[int | None]] = defaultdict(set)
    for pid, rank in part.ranks.ranks.items():
        facts = part.watch.facts.get(pid)
        has_ucx = facts is not None and any(_UCX in library for library in facts.libraries or ())
        for segment in (facts.segments if facts else None) or ():
            if has_ucx or not segment.name.startswith(_SYSTEM_V):
                holders[segment.place, segment.name].add(rank)
    return holders


def _proving(part: Part) -> dict[tuple[str, str], set[int | None]]:
    """The segments that two ranks or more have mapped, and who has; those of which messages may be."""
    return {
        segment: ranks
        for segment, ranks in _holders(part).items()
        if len(ranks) > 1 and not any(one in segment[1] for one in _NO_PROOF)
    }


def common_segment(part: Part) -> tuple[int, Segment]:
    """A rank, by its pid, of ranks that use shared memory, and a segment of its that another one has mapped, too."""
    proving = _proving(part)
    return next(
        (pid, segment)
        for pid in sorted(part.ranks.ranks)
        for segment in part.watch.facts[pid].segments or ()
        if (segment.place, segment.name) in proving
    )


def _shows_no_socket(part: Part) -> bool:
    """Whether the ranks' sockets could be listed, and none of them leads to another rank, of whatever run."""
    watch = part.watch
    if watch.before.sockets is None or watch.after.sockets is None:
        return False
    networks = {watch.facts[pid].network for pid in part.ranks.ranks if pid in watch.facts}
    if watch.network is None or networks != {watch.network}:
        return False  # in a network namespace of their own, which ss does not show; or another user's
    ends = {(one.local, one.peer): one for one in watch.before.sockets}
    mine = ((one, pid) for one in watch.before.sockets for pid in one.pids if pid in part.ranks.ranks)
    return not any(
        is_another(part, pid, part, peer) if peer in part.ranks.ranks else peer in part.strangers
        for one, pid in mine
        if (other := ends.get((one.peer, one.local)))
        for peer in other.pids
    )


def _are_joined(part: Part) -> bool:
    """Whether segments that two ranks have mapped join all ranks."""
    if None in part.ranks.ranks.values() or any(pid not in part.watch.facts for pid in part.ranks.ranks):
        return False
    joined: set[int | None] = set()
    groups = list(_proving(part).values())
    while groups:
        touching = [ranks for ranks in groups if not joined or ranks & joined]
        if not touching:
            return False
        joined |= touching[0]
        groups.remove(touching[0])
    return joined == set(part.ranks.ranks.values())
