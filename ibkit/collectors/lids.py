"""The LIDs of a fabric's ports: what follows from all statements, which ports in use have none, and which share one.

A switch has one LID, that of its port 0; so a LID's owner is a switch or another node's port. All is about owners,
as the keys of :mod:`ibkit.collectors.cabling`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from ibkit.collectors.cabling import Findings, end_text
from ibkit.parsers.records import NamedTuple

#: LIDs that say "none assigned": 0, and the permissive LID (InfiniBand Architecture Specification, 4.1.3).
NO_LIDS = frozenset({0, 0xFFFF})
MAX_LID = 0xBFFF  # what follows up to 0xFFFE is multicast
MAX_LMC = 7  # three bits of PortInfo


class Shared(NamedTuple):
    """A LID that two owners have."""

    lid: int
    first: int
    second: int


class Lids:
    """All statements. ``line_of`` tells where an owner's LID stands in the text."""

    def __init__(self, findings: Findings, line_of: Callable[[int], int | None]) -> None:
        self._findings = findings
        self._line_of = line_of
        self._stated: defaultdict[int, list[int]] = defaultdict(list)
        self._lmcs: dict[int, int] = {}  # those that are not 0
        self._settled: dict[int, int] = {}

    def state(self, owner: int, lid: int, lmc: int | None = None) -> None:
        """Its own row, its header or a neighbour says so."""
        self._stated[owner].append(lid)
        if lmc:
            self._lmcs[owner] = lmc

    def settle(self, owner: int) -> int | None:
        """The LID that most statements have; None, and a problem, where that does not decide."""
        stated = self._stated.get(owner)
        if stated is None:
            return None
        lid = stated[0]
        if stated.count(lid) < len(stated):
            counts = Counter(stated).most_common(2)
            text = f"{end_text(owner)} has the LIDs {', '.join(str(lid) for lid in sorted(set(stated))[:5])}"
            self._findings.add("contradiction", text, self._line_of(owner))
            if counts[0][1] == counts[1][1]:
                return None
            lid = counts[0][0]
        if lid in NO_LIDS:
            return None
        if lid > MAX_LID:
            text = f"{end_text(owner)} has the LID {lid}, which no port can have"
            self._findings.add("bad-lid", text, self._line_of(owner))
            return None
        self._settled[owner] = lid
        return lid

    def look_for_bare(self, in_use: Iterable[int], *, all_answered: bool | None) -> None:
        """Owners with a link and without a LID: one problem, for they mostly have one cause.

        0 is also printed for a port that did not answer; ``all_answered`` is False where some did not, None where
        that is not known.
        """
        told = [owner for owner in in_use if owner in self._stated]
        bare = [owner for owner in told if NO_LIDS.issuperset(self._stated[owner])]
        if len(bare) == len(told) > 1:
            text = f"none of the {len(told)} ports in use has a LID: no subnet manager has configured this subnet"
        else:
            if all_answered is False:
                bare = [owner for owner in bare if 0 not in self._stated[owner]]
            if not bare:
                return
            which = f"{end_text(bare[0])} is in use and has no LID"
            if len(bare) > 1:
                which = f"{len(bare)} of {len(told)} ports in use have no LID, the first is {end_text(bare[0])}"
            maybe_silent = all_answered is None and any(0 in self._stated[owner] for owner in bare)
            text = f"{which}: not configured by a subnet manager{', or no answer to the sweep' if maybe_silent else ''}"
        self._findings.add("no-lid", text, self._line_of(bare[0]))

    def look_for_shared(self, in_use: Iterable[int], may_share: Callable[[int, int], bool]) -> None:
        """Owners whose LIDs, or ranges of LIDs, overlap: packets for one reach the other.

        ``may_share`` tells of two owners that it is as it should be, as in different subnets.
        """
        known = {owner: self._settled[owner] for owner in in_use if owner in self._settled}
        for shared in shared_lids(known, self._lmcs):
            if not may_share(shared.first, shared.second):
                text = f"{end_text(shared.first)} and {end_text(shared.second)} both have the LID {shared.lid}"
                self._findings.add("duplicate-lid", text, self._line_of(shared.second))


def shared_lids(lids: Mapping[int, int], lmcs: Mapping[int, int]) -> list[Shared]:
    """The LIDs that two owners have. An LMC gives a port 2**LMC LIDs, beginning with its own."""
    holders: dict[int, int] = {}
    found = []
    for owner, first in lids.items():
        lmc = lmcs.get(owner, 0)
        for lid in range(first, first + (1 << lmc if lmc <= MAX_LMC else 1)):
            holder = holders.setdefault(lid, owner)
            if holder != owner:
                found.append(Shared(lid, holder, owner))
                break
    return found
