"""Look up path records by their far end: a port's table of them has one for each port of the subnet. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.collectors.path_records import PathQuestion
from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.model.ids import Gid
from ibkit.model.path_record import PathRecord
from ibkit.model.talk import same_subnet


class PathBook:
    """Some records."""

    def __init__(self, records: Iterable[PathRecord]) -> None:
        self.records = tuple(records)
        self._by_guid: dict[int, list[PathRecord]] = {}
        self._by_lid: dict[int, list[PathRecord]] = {}
        for record in self.records:
            if record.dgid is not None:
                self._by_guid.setdefault(record.dgid.guid, []).append(record)
            if record.dlid is not None:
                self._by_lid.setdefault(record.dlid, []).append(record)

    def find(self, question: PathQuestion) -> list[PathRecord]:
        """The records that answer it."""
        if question.dgid is not None:
            near = self._by_guid.get(question.dgid.guid, [])
        else:
            near = self._by_lid.get(question.dlid or 0, [])
        return [record for record in near if fits(record, question)]

    def to_guid(self, guid: int) -> PathRecord | None:
        """The first one to the port."""
        return next(iter(self._by_guid.get(guid, ())), None)


def fits(record: PathRecord, question: PathQuestion) -> bool:
    """Whether a record is an answer to the question: a file holds all that somebody asked for."""
    asked = ((record.slid, question.slid), (record.dlid, question.dlid))
    if any(wanted is not None and told != wanted for told, wanted in asked):
        return False
    if question.pkey is not None and record.pkey is not None and record.pkey.partition != question.pkey.partition:
        return False
    return all(
        wanted is None or told is None or _same_gid(told, wanted)
        for told, wanted in ((record.sgid, question.sgid), (record.dgid, question.dgid))
    )


def _same_gid(one: Gid, other: Gid) -> bool:
    """The same port's: each port has the link-local prefix, too, and the SA answers with the real one."""
    prefixes = one.subnet_prefix, other.subnet_prefix
    return one.guid == other.guid and (LINK_LOCAL_PREFIX in prefixes or same_subnet(*prefixes))
