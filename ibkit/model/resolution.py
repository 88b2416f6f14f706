"""What was asked, what each source says, and what follows from all of it."""

from __future__ import annotations

from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: The sources, in the order in which they are asked and shown. ``ibarr`` sends a packet to the address itself, so it is
#: asked only by name.
CACHE, HOSTS, ACM, GIDS, NEIGHBOURS, FABRIC, SA, IBARR = (
    "cache", "hosts", "acm", "gids", "neighbours", "fabric", "sa", "ibarr",
)  # fmt: skip
SOURCES = (CACHE, HOSTS, ACM, GIDS, NEIGHBOURS, FABRIC, SA, IBARR)
DEFAULT_SOURCES = tuple(via for via in SOURCES if via != IBARR)

#: ``status`` of an answer: GID and path are known and nothing speaks against them; something does; the evidence does
#: not settle it.
RESOLVED, FINDING, UNKNOWN = "resolved", "finding", "unknown"

#: Kinds of problems that are about the fabric or its files, not about what could be read of them.
FINDINGS = frozenset({
    "sources-differ", "gid-not-in-fabric", "gid-of-another-host", "wrong-prefix", "lid-differs", "path-differs",
    "alias-lid-differs", "no-path", "not-routed", "neighbour-unreachable", "no-such-lid", "no-such-guid",
})  # fmt: skip
#: Kinds that take nothing away from an answer.
ASIDES = frozenset({"several-ports", "rails-share-network", "stale-neighbour", "own-address", "virtual-port"})


class Claim(NamedTuple):
    """What one source says. ``via`` is one of SOURCES, ``detail`` where and how it says so, for people.

    ``gid`` is None where it says that there is none (a neighbour that does not answer, a failure that the cache
    remembers) or tells a path only. ``age_seconds`` is counted against the time of the capture, None where the source
    does not tell. ``state`` is the source's own word (REACHABLE, fresh ...). ``weight`` ranks claims that differ, see
    ibkit.resolve.claims. ``is_old``: the source itself says that it should not be relied on any more. ``device``,
    ``port`` and ``netdev`` are where the way to it leaves this host, as far as the source tells.
    """

    via: str
    gid: Gid | None
    detail: str
    pkey: PKey | None = None
    path: PathRecord | None = None
    age_seconds: int | None = None
    state: str | None = None
    weight: int = 0
    source: str | None = None
    line: int | None = None
    is_old: bool = False
    device: str | None = None
    port: int | None = None
    netdev: str | None = None


class SourcePort(NamedTuple):
    """The port of this host that the path starts from. ``gid_index`` is its GID's place in the table."""

    device: str
    port: int
    gid: Gid | None = None
    gid_index: int | None = None
    lid: int | None = None
    transport: str | None = None
    netdev: str | None = None


class Pick(NamedTuple):
    """What a library takes of a RoCE port's GID table by itself. ``gid_index`` is None where that cannot be told."""

    runtime: str
    gid_index: int | None
    setting: str | None
    why: str


class RoceChoice(NamedTuple):
    """The GID index that should be used on a RoCE port, which one libraries take by themselves, and what to set."""

    gid_index: int | None
    gid: Gid | None
    type: str | None
    why: str
    picks: tuple[Pick, ...] = ()


class Step(NamedTuple):
    """One of the tests that together show a path across a router to be sound. ``state`` is ok, bad or unknown;
    ``needs`` says what would settle it.
    """

    number: int
    what: str
    state: str
    text: str
    needs: str | None = None


class Answer(NamedTuple):
    """The answer to one query, or to one port of a query that has several.

    ``name`` is the node description of the port that has the GID, ``guid`` the port's GUID. ``addresses`` are texts by
    which the port is known.
    """

    query: str
    kind: str
    status: str
    gid: Gid | None = None
    pkey: PKey | None = None
    path: PathRecord | None = None
    claims: tuple[Claim, ...] = ()
    problems: tuple[Problem, ...] = ()
    guid: Guid | None = None
    lid: int | None = None
    name: str | None = None
    source_port: SourcePort | None = None
    roce: RoceChoice | None = None
    routed: tuple[Step, ...] = ()

    @property
    def told_by(self) -> tuple[str, ...]:
        """The sources that say this GID, each once."""
        return tuple(dict.fromkeys(claim.via for claim in self._telling))

    @property
    def age_seconds(self) -> int | None:
        """How old the youngest of their words is; None where none tells."""
        return min((claim.age_seconds for claim in self._telling if claim.age_seconds is not None), default=None)

    @property
    def _telling(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.gid is not None and claim.gid == self.gid]


class Resolution(NamedTuple):
    """All answers in the order of the queries, and what is missing for all of them."""

    answers: tuple[Answer, ...]
    problems: tuple[Problem, ...] = ()
