"""Why a job lost RDMA, as far as a line proves it. What the reasons mean, and their mends, are in ``catalogue``.

Which sentence of which runtime proves which reason was read in the runtimes' sources; see the parsers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ibkit.model.mpi import Reason
from ibkit.parsers.job_facts import Failure
from ibkit.transport.catalogue import BY_ID
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.fixes import fix_for

_TOPICS = {
    "nccl": {
        "no-verbs-library": "nolib", "no-device": "noport", "open-device": "nodev", "memlock": "memlock", "gid": "gid",
        "ofi-no-provider": "plugin", "no-such-network": "plugin", "mixed-devices": "mixed", "mixed-links": "mixed",
        "loopback": "lo",
    },
    "ucx": {
        "device-missing": "wrongdev", "transport-missing": "nolib", "memlock": "memlock", "resources": "hwlimit",
        "open-device": "nodev", "ofed-mismatch": "ofmismatch", "pkey": "pkey", "gid": "gid", "no-port": "noport",
    },
    "ompi": {
        "no-nics": "noport", "no-port": "noport", "ib-port-refused": "noucx", "memlock": "memlock", "no-cpc": "cpc",
        "device-missing": "wrongdev", "resources": "hwlimit", "psm2": "psm2", "ofed-mismatch": "ofmismatch",
        "pml-mismatch": "mixed", "no-devices": "noport", "ofi-call": "ofi", "open-device": "nodev",
        "no-library": "nolib",
    },
    "psm2": {"psm2": "psm2", "memlock": "memlock", "no-endpoint": "psm2"},
    "psm3": {"qkey": "qkey"},
    "intel": {"memlock": "memlock", "no-dat": "dat", "no-tmi": "tmi"},
    "mpich": {"no-provider": "ofi"},
    "ofi": {"no-verbs": "ofi"},
    "mvapich2": {"no-port": "noport", "memlock": "memlock"},
    "gloo": {"not-connected": "gloo", "no-device": "noport"},
    "verbs": {"stat-device": "nodev", "no-driver": "nolib", "memlock": "memlock", "ofed-mismatch": "ofmismatch"},
}  # fmt: skip


def reason_of(failure: Failure) -> str | None:
    """The reason that this failure proves by itself, None for generic ones (``error initializing an OpenFabrics
    device`` follows others) and for those that only end a connection.
    """
    return _TOPICS.get(failure.runtime, {}).get(failure.topic)


def reasons(marks: Mapping[str, Iterable[tuple[Mark, str]]], book: Book) -> tuple[Reason, ...]:
    """Reasons by id from the lines that prove them, each with its evidence class; at most five lines a reason.

    Hosts and ranks are those of all its lines, in the order in which they were hit. The mend is that for any runtime.
    """
    return tuple(_reason(id, list(lines), book) for id, lines in marks.items())


def asked_for(marks: Iterable[Mark]) -> dict[str, list[tuple[Mark, str]]]:
    """That these settings leave no RDMA: each line counts once. Empty where there is none."""
    lines = {(mark.file, mark.line): mark for mark in marks}
    return {"wrongtls": [(mark, "configuration") for mark in lines.values()]} if lines else {}


def _reason(id: str, lines: list[tuple[Mark, str]], book: Book) -> Reason:
    hosts = dict.fromkeys(mark.host for mark, _ in lines if mark.host)
    ranks = dict.fromkeys(mark.rank for mark, _ in lines if mark.rank is not None)
    cited = tuple(dict.fromkeys(book.cite(mark, kind) for mark, kind in lines[:5]))
    return Reason(id, BY_ID[id].text, fix_for(id), cited, tuple(hosts), tuple(ranks))
