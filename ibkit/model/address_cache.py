"""An entry of ibkit's cache of addresses: what a source said of an address, and when."""

from __future__ import annotations

from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.model.resolution import ACM, FABRIC, GIDS, HOSTS, IBARR, NEIGHBOURS, SA
from ibkit.parsers.records import NamedTuple

#: A list of hosts and a JSON document of a cache, which entries can come from besides the sources.
LIST, IMPORT = "list", "import"
#: How long what a source said is relied on (seconds). A GID changes when an adapter is swapped, a neighbour's address
#: when the host moves it; ibacm's own default is a day (``addr_timeout`` 1440 minutes). A file's word counts from when
#: it was read.
LIFE_SECONDS = {
    GIDS: 86_400, NEIGHBOURS: 4 * 3600, ACM: 86_400, IBARR: 4 * 3600, FABRIC: 86_400, SA: 86_400, HOSTS: 7 * 86_400,
    LIST: 7 * 86_400, IMPORT: 7 * 86_400,
}  # fmt: skip
#: That nobody knew an address is worth remembering for a run of a script, and no longer (seconds).
NEGATIVE_LIFE_SECONDS = 60
#: ``state``: to be relied on; older than its source's life; nobody knew the address, and that is fresh; it was so once;
#: the time that ages are counted against is not known.
FRESH, OLD, NEGATIVE, EXPIRED, AGELESS = "fresh", "old", "negative", "expired", "ageless"


class Entry(NamedTuple):
    """``address`` is the canonical text of an IP address or a GID, or a name as written; ``via`` who said it. ``gid``
    is None where nobody knew it. ``prefix`` is the subnet's, None where there is none (RoCE) or it is not known.
    ``learned`` is when it was said, in seconds since 1970. ``path`` starts from a port of ``host``.
    """

    address: str
    via: str
    gid: Gid | None
    learned: int
    prefix: int | None = None
    pkey: PKey | None = None
    detail: str = ""
    path: PathRecord | None = None
    host: str | None = None

    def age_seconds(self, now: float | None) -> int | None:
        """Its age; 0 for what comes from the future, as clocks differ."""
        return None if now is None else max(0, int(now) - self.learned)

    def state(self, now: float | None) -> str:
        """One of the words above."""
        age = self.age_seconds(now)
        if age is None:
            return AGELESS
        if self.gid is None:
            return NEGATIVE if age <= NEGATIVE_LIFE_SECONDS else EXPIRED
        return FRESH if age <= LIFE_SECONDS.get(self.via, 0) else OLD
