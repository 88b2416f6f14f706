"""PathRecords of the subnet administrator, by ``saquery``; and the asking port's own GID and LID, by ``ibaddr``.

What saquery leaves unsaid (rdma-core, ``infiniband-diags/saquery.c``): an answer without a record is an empty text and
exit status 0. So it is, too, for a GID that nobody has, for two ports without a partition in common, for a source of
another subnet and for a destination behind no router.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from socket import AF_INET6, inet_ntop

from ibkit.collectors.local_ports import local_ports
from ibkit.collectors.mad_tools import ANY_PORT, Through, explain_failure, label_of
from ibkit.collectors.sysfs import CLASS
from ibkit.model.ids import Gid, Guid, PKey, gid_or_none
from ibkit.model.path_record import PathRecord, of_fields
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import ibaddr, saquery
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source

TOOL, OWN_ADDRESS_TOOL = "saquery", "ibaddr"
#: One answer takes milliseconds; a table of all paths of a port in a subnet of 11,200 HCAs some seconds.
DEADLINE_SECONDS, TABLE_DEADLINE_SECONDS = 20.0, 120.0


_PKEY = re.compile(r"0x[0-9a-fA-F]{1,4}\Z")


class PathQuestion(NamedTuple):
    """Ends by GID or by LID, whatever is known, and the partition. The SA answers for any source of its subnet."""

    sgid: Gid | None = None
    slid: int | None = None
    dgid: Gid | None = None
    dlid: int | None = None
    pkey: PKey | None = None

    def words(self) -> tuple[str, ...]:
        """Saquery's words for it. A GID is asked for alone: one that does not fit the LID beside it is refused."""
        source = ("--sgid", gid_text(self.sgid)) if self.sgid else ("--slid", str(self.slid)) if self.slid else ()
        target = ("--dgid", gid_text(self.dgid)) if self.dgid else ("--dlid", str(self.dlid)) if self.dlid else ()
        return ("PR", *source, *target, *(() if self.pkey is None else ("--pkey", str(self.pkey))))

    def other_words(self) -> Iterator[tuple[str, ...]]:
        """How people ask the same: by the other kind of address, and in any partition."""
        by_lid = self._replace(sgid=None, dgid=None) if self.slid and self.dlid else self
        yield by_lid.words()
        if self.sgid and self.dgid:
            yield "--sgid-to-dgid", f"{gid_text(self.sgid)}-{gid_text(self.dgid)}"
        if self.slid and self.dlid:
            yield "--src-to-dst", f"{self.slid}:{self.dlid}"
        yield self._replace(pkey=None).words()
        yield by_lid._replace(pkey=None).words()


class PathAnswer(NamedTuple):
    """What the SA answered. ``is_none``: it was asked, it ended well, and it has no such path. Else, without records,
    ``problem`` says why there is no answer.
    """

    records: tuple[PathRecord, ...] = ()
    is_none: bool = False
    problem: Problem | None = None


class OwnPort(NamedTuple):
    """The port that the tools ask through: its GID with the subnet's prefix, and its LID."""

    gid: Gid | None
    lid: int | None


def gid_text(gid: Gid) -> str:
    """The short form, in which tools print a GID (inet_ntop)."""
    return inet_ntop(AF_INET6, int(gid).to_bytes(16, "big"))


def ask_path(source: Source, question: PathQuestion, through: Through = ANY_PORT) -> PathAnswer:
    """Ask for one path. A source that holds answers only may hold this one to the same question in other words."""
    answer = source.run(through.command(TOOL, *question.words()), deadline_seconds=DEADLINE_SECONDS)
    for words in question.other_words() if answer.failure == NOT_RECORDED else ():
        other = source.run(through.command(TOOL, *words), deadline_seconds=DEADLINE_SECONDS)
        if other.failure != NOT_RECORDED:
            return _answer(source, other)
    return _answer(source, answer)


def ask_paths_from(
    source: Source, lid: int, through: Through = ANY_PORT, partitions: Sequence[PKey] = ()
) -> PathAnswer:
    """Ask for all paths from a port. The SA tells each in one partition of its choice, so of a port in several of them
    the others are asked for, too.
    """
    records: dict[PathRecord, None] = {}
    problem = None
    for pkey in (None, *(partitions if len(partitions) > 1 else ())):
        words = ("--slid", str(lid), *(() if pkey is None else ("--pkey", str(pkey))))
        answer = source.run(through.command(TOOL, "PR", *words), deadline_seconds=TABLE_DEADLINE_SECONDS)
        told = _answer(source, answer)
        records.update(dict.fromkeys(told.records))
        problem = problem or told.problem
    return PathAnswer(tuple(records), problem=problem)


def saved_paths(source: Source) -> PathAnswer:
    """All paths that somebody recorded, in the forms in which people ask for them. Nothing is run on a live host."""
    records: dict[PathRecord, None] = {}
    for words in (("PR",), ("-p",), ("PathRecord",)):
        answer = source.run((TOOL, *words), deadline_seconds=TABLE_DEADLINE_SECONDS)
        if answer.failure != NOT_RECORDED:
            records.update(dict.fromkeys(_answer(source, answer).records))
    return PathAnswer(tuple(records))


def ask_own_port(source: Source, through: Through = ANY_PORT) -> tuple[OwnPort, Problem | None]:
    """GID and LID of the asking port, and why they are not known."""
    answer = source.run(through.command(OWN_ADDRESS_TOOL), deadline_seconds=DEADLINE_SECONDS)
    try:
        parsed = ibaddr.parse(answer.out, source=label_of(source, answer))
    except NotThisFormat:
        messages = (*diag.parse_lines(answer.err), *diag.known_lines(answer.out))
        return OwnPort(None, None), explain_failure(source, answer, messages)
    told = next(iter(parsed.value), None)
    if told is None:
        return OwnPort(None, None), explain_failure(source, answer, diag.parse_lines(answer.err))
    return OwnPort(gid_or_none(told.gid), told.lid or None), None


def collect_path_records(source: Source, through: Through = ANY_PORT) -> tuple[Problem, ...]:
    """All paths from a port, so that a capture holds each of them."""
    own, _ = ask_own_port(source, through)
    if own.lid is None:
        return ()
    partitions = own_partitions(source, own.gid.guid if own.gid else None)
    problem = ask_paths_from(source, own.lid, through, partitions).problem
    return () if problem is None else (problem,)


def own_partitions(source: Source, guid: Guid | None) -> tuple[PKey, ...]:
    """The P_Keys of this host's port with this GUID, by /sys; none where it does not tell."""
    for port in local_ports(source):
        if port.guid == guid:
            told = (source.read(f"{CLASS}/{port.device}/ports/{port.port}/pkeys/{index}").text for index in count())
            keys = takewhile(lambda text: text is not None and _PKEY.match(text.strip()), told)
            return tuple(pkey for text in keys if (pkey := PKey(int(text or "0", 16))).partition)
    return ()


def _answer(source: Source, answer: CommandAnswer) -> PathAnswer:
    label = label_of(source, answer)
    if answer.failure is None and answer.exit_status == 0 and not answer.stdout.strip() and not answer.stderr.strip():
        return PathAnswer(is_none=True)
    messages = diag.parse_lines(answer.err)
    try:
        parsed = saquery.parse(answer.out, source=label)
    except NotThisFormat:
        return PathAnswer(problem=explain_failure(source, answer, (*messages, *diag.known_lines(answer.out))))
    found = [of_fields(record.fields) for record in parsed.value.records if record.type == "PathRecord"]
    records = tuple(record for record in found if record is not None)
    if records:
        return PathAnswer(records)
    messages = (*messages, *parsed.value.messages)
    no_record = any(message.kind == diag.SA_STATUS and "NO_RECORDS" in message.text for message in messages)
    return PathAnswer(is_none=True) if no_record else PathAnswer(problem=explain_failure(source, answer, messages))
