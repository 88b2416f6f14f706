"""What a diagnosis consists of: findings with their places and evidence, and what could not be decided."""

from __future__ import annotations

from ibkit.model.ids import Guid
from ibkit.parsers.records import NamedTuple

#: From the worst to the least.
CRITICAL, WARNING, INFO = SEVERITIES = ("critical", "warning", "info")


class Place(NamedTuple):
    """A host, a device, a node of the fabric or a port of either; None is what does not apply or is not known.

    ``guid`` is the node's, ``name`` its raw description, ``label`` what is printed on the panel.
    """

    host: str | None = None
    device: str | None = None
    guid: Guid | None = None
    name: str | None = None
    port: int | None = None
    label: str | None = None
    port_guid: Guid | None = None

    @property
    def text(self) -> str:
        """``n01: mlx5_0 port 1``, ``MF0;leaf1:MQM8700/U1 port 4 (ext 4) (0xb8599f0300000000)``."""
        who = " ".join(word for word in (f"{self.host}:" if self.host else None, self.device or self.name) if word)
        where = f" port {self.port}" if self.port is not None else ""
        label = f" ({self.label})" if self.label else ""
        if self.guid is None:
            return f"{who.removesuffix(':')}{where}{label}".strip()
        return f"{who}{where}{label} ({self.guid})" if who else f"{self.guid}{where}{label}"


class Fact(NamedTuple):
    """A piece of evidence: what was seen, in which command or file, and at which line of it."""

    text: str
    source: str | None = None
    line: int | None = None


class Finding(NamedTuple):
    """Something that is wrong. ``places`` are both ends where it is about a link, the end to look at first.

    ``rule`` is the number of the rule (R04), ``name`` its word (slow-link). ``since`` says from when on, None where
    nobody knows; ``why`` it matters, ``fix`` what to do next, ``otherwise`` what else could explain it. ``members``
    are the findings that have the same cause.
    """

    what: str
    places: tuple[Place, ...] = ()
    evidence: tuple[Fact, ...] = ()
    severity: str = ""
    rule: str = ""
    name: str = ""
    since: str | None = None
    why: str = ""
    fix: str = ""
    otherwise: str = ""
    members: tuple[Finding, ...] = ()

    @property
    def where(self) -> str:
        """Its places as a text; of a finding that is about many, the first ones of its members'. What has neither is
        about the subnet as a whole.
        """
        if self.places:
            return " <-> ".join(place.text for place in self.places)
        if not self.members:
            return "the subnet"
        more = f" and {len(self.members) - 3} more" if len(self.members) > 3 else ""
        return ", ".join(member.where for member in self.members[:3]) + more


class Undecided(NamedTuple):
    """What a rule could not decide: ``missing`` is the evidence that it lacks, ``get`` how to have it."""

    missing: str
    get: str = ""
    rule: str = ""
    name: str = ""


class LookedAt(NamedTuple):
    """A part of the evidence. ``what`` is a word for scripts (hosts, fabric ...), ``text`` counts what was seen.

    ``complete`` is True where nothing is missing in it, False where something is, None where nobody can tell.
    """

    what: str
    text: str
    complete: bool | None


class Diagnosis(NamedTuple):
    """All of it, the worst finding first. ``waived`` are findings that a waiver covers."""

    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    looked_at: tuple[LookedAt, ...]
    waived: tuple[Finding, ...] = ()


def all_of(what: str, members: tuple[Finding, ...], *evidence: Fact) -> Finding:
    """One finding for what is true of many places; of a single one it has the place itself."""
    if len(members) == 1:
        return members[0]._replace(what=what, evidence=evidence)
    return Finding(what, evidence=evidence, members=members)


def rank(severity: str) -> int:
    """0 for the worst."""
    return SEVERITIES.index(severity)
