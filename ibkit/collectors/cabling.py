"""Which port is cabled to which: what both ends of each link say, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: Printed for a code that the tool does not know. Any other word is better, and no word contradicts it.
UNKNOWN_WORDS = (None, "??", "???")
#: Problems of one kind beyond this are counted, not listed.
MAX_OF_A_KIND = 200


def end_key(guid: int, port: int) -> int:
    """A node's port (0 to 255) as one number: cheaper than a pair, some hundred thousand times."""
    return guid << 8 | port


def end_text(key: int) -> str:
    """``0xb8599f0300000000[12]``."""
    return f"{Guid(key >> 8)}[{key & 0xFF}]"


class Claim(NamedTuple):
    """What one end says about its link. ``peer`` is the other end's key, ``line`` where it stands."""

    peer: int
    width: str | None
    speed: str | None
    line: int


class Cable(NamedTuple):
    """A link between two keys, the lesser first."""

    a: int
    b: int
    width: str | None
    speed: str | None
    seen_from: int


class Findings:
    """Problems by kind, each kind bounded, and whether they prove that something is missing."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._by_kind: dict[str, list[Problem]] = {}
        self._counts: Counter[str] = Counter()
        self.lacking = False

    def add(self, kind: str, text: str, line: int | None = None, *, lacking: bool = False) -> None:
        """Note a problem. ``lacking``: the evidence is not whole, so nothing must be taken for the whole fabric."""
        self.lacking |= lacking
        self._counts[kind] += 1
        if self._counts[kind] <= MAX_OF_A_KIND:
            self._by_kind.setdefault(kind, []).append(Problem(kind, text, line, self.source))

    def problems(self) -> tuple[Problem, ...]:
        """All of them; of the kinds that had too many, the number of those left out."""
        problems = []
        for kind, found in self._by_kind.items():
            problems += found
            if self._counts[kind] > len(found):
                text = f"{self._counts[kind] - len(found)} more problems of this kind"
                problems.append(Problem(kind, text, None, self.source))
        return tuple(problems)


class Cabling:
    """The claims of all ends."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._claims: dict[int, Claim] = {}
        self._second_claims: list[tuple[int, Claim]] = []
        self._unanswered: list[int] | None = None

    def __bool__(self) -> bool:
        return bool(self._claims)

    def add(self, key: int, claim: Claim) -> None:
        """Port ``key`` says that ``claim.peer`` is its neighbour."""
        known = self._claims.setdefault(key, claim)
        if known is claim:
            return
        if known.peer == claim.peer:
            width = self._agreed("width", key, known.width, claim)
            speed = self._agreed("speed", key, known.speed, claim)
            self._claims[key] = known._replace(width=width, speed=speed)
        else:
            self._second_claims.append((key, claim))
            text = f"{end_text(key)} is listed as linked to {end_text(known.peer)} and to {end_text(claim.peer)}"
            self._findings.add("contradiction", text, claim.line, lacking=True)

    def line_of(self, key: int) -> int | None:
        """Where a port's own row stands."""
        claim = self._claims.get(key)
        return claim.line if claim else None

    def take_strayed(self, listed: Collection[int]) -> list[int]:
        """Rows that stand below the wrong heading, because their own is lost; they are forgotten.

        Such a row is known by its neighbour: that one names the same port number of another node, which is not among
        ``listed``. What follows it is of the same node, and so may be what comes before it, up to a row that its
        neighbour confirms. Answers the lines of the rows.
        """
        first: dict[int, int] = {}
        for key in self._open_ends():
            back = self._claims.get(self._claims[key].peer)
            if back and back.peer & 0xFF == key & 0xFF and back.peer >> 8 not in listed:
                first[key >> 8] = min(key, first.get(key >> 8, key))
        strayed = []
        for node, start in first.items():
            keys = sorted(key for key in self._claims if key >> 8 == node)
            confirmed = [key for key in keys if key < start and self._is_confirmed(key)]
            strayed += [key for key in keys if not confirmed or key > confirmed[-1]]
        if strayed:
            self._unanswered = None
        return sorted(self._claims.pop(key).line for key in strayed)

    def _is_confirmed(self, key: int) -> bool:
        back = self._claims.get(self._claims[key].peer)
        return back is not None and back.peer == key

    def _open_ends(self) -> list[int]:
        """The ports whose neighbour does not name them, in the order in which they were told; looked for once, when
        all claims are there: mostly there is none.
        """
        if self._unanswered is None:
            back_of = self._claims.get
            self._unanswered = [
                key for key, claim in self._claims.items() if (back := back_of(claim[0])) is None or back[0] != key
            ]
        return self._unanswered

    def cables(self) -> list[Cable]:
        """Each link once, in order of its ends; a link that is disputed is kept, and seen from one end."""
        claims = self._claims
        open_ends = set(self._open_ends())
        cables = []
        one_sided: dict[tuple[int, int], Cable] = {}
        for key, claim in claims.items():
            peer, width, speed, _ = claim
            if open_ends and key in open_ends:
                if peer in claims:
                    self._dispute(key, claim, claims[peer])
                self._add_one_sided(one_sided, key, claim)
            elif key <= peer:
                back = claims[peer]
                if width != back[1]:
                    width = self._agreed("width", key, width, back)
                if speed != back[2]:
                    speed = self._agreed("speed", key, speed, back)
                cables.append(tuple.__new__(Cable, (key, peer, width, speed, 2)))
        for key, claim in self._second_claims:
            self._add_one_sided(one_sided, key, claim)
        return sorted([*cables, *one_sided.values()])

    def one_sided(self) -> list[tuple[int, Claim]]:
        """The ends whose neighbour says nothing about its own port."""
        claims = self._claims
        return [(key, claims[key]) for key in self._open_ends() if claims[key].peer not in claims]

    def _add_one_sided(self, cables: dict[tuple[int, int], Cable], key: int, claim: Claim) -> None:
        a, b = min(key, claim.peer), max(key, claim.peer)
        cables.setdefault((a, b), Cable(a, b, claim.width, claim.speed, 1))

    def _agreed(self, what: str, key: int, word: str | None, other: Claim) -> str | None:
        """The word that both ends have; None, and a problem, where they differ."""
        other_word: str | None = getattr(other, what)
        if word == other_word or other_word in UNKNOWN_WORDS:
            return other_word if word is None else word
        if word in UNKNOWN_WORDS:
            return other_word
        text = f"the {what} of the link from {end_text(key)} to {end_text(other.peer)} is both {word} and {other_word}"
        self._findings.add("contradiction", text, other.line)
        return None

    def _dispute(self, key: int, claim: Claim, back: Claim) -> None:
        text = (
            f"{end_text(claim.peer)} is the neighbour of {end_text(key)} and of {end_text(back.peer)}: two nodes with "
            "one GUID, or cables moved during the sweep; sweep again before you trust either"
        )
        self._findings.add("duplicate-guid", text, claim.line, lacking=True)
