"""Who holds what on a host's RDMA devices, by the kernel's resource tracking (``rdma resource show``) and /proc.

What the kernel shows (``drivers/infiniband/core/{nldev,restrack}.c``): the objects of processes in the reader's PID
namespace or below, and those of the kernel only to readers in the first one. Names of kernel owners are module names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from ibkit.collectors.absence import explain_absence
from ibkit.collectors.pairing import pair_up
from ibkit.collectors.pasted import read_tools
from ibkit.collectors.processes import ProcessTable
from ibkit.collectors.sysfs import CLASS
from ibkit.model.consumers import KERNEL, PROCESS, UNKNOWN, Connection, Consumers, Owner, QueuePair, Use
from ibkit.parsers import rdma
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.rdma import RdmaRow
from ibkit.sources.base import MISSING, NOT_RECORDED, CommandAnswer, FolderAnswer, Source

KINDS = (rdma.QP, rdma.CM_ID, rdma.CTX, rdma.PD, rdma.MR, rdma.CQ)
#: One netlink dump; 100,000 queue pairs take a second.
DEADLINE_SECONDS = 30.0

#: The kernel modules that open queue pairs of their own (``KBUILD_MODNAME`` is what the kernel names).
SERVICES = {
    "ib_core": "management datagrams",
    "ib_mad": "management datagrams",
    "ib_cm": "connection manager",
    "rdma_cm": "connection manager",
    "iw_cm": "connection manager",
    "ib_ipoib": "IPoIB",
    "ib_iser": "iSER initiator",
    "ib_isert": "iSER target",
    "ib_srp": "SRP initiator",
    "ib_srpt": "SRP target",
    "nvme_rdma": "NVMe-oF host",
    "nvmet_rdma": "NVMe-oF target",
    "rpcrdma": "NFS/RDMA",
    "xprtrdma": "NFS/RDMA",
    "svcrdma": "NFS/RDMA",
    "ko2iblnd": "Lustre",
    "smc": "SMC",
    "rds_rdma": "RDS",
    "rtrs_client": "RTRS client",
    "rtrs_server": "RTRS server",
    "cifs": "SMB Direct client",
    "smbdirect": "SMB Direct",
    "ksmbd": "SMB Direct server",
    "9pnet_rdma": "9P over RDMA",
    "beegfs": "BeeGFS client",
    "drbd_transport_rdma": "DRBD",
    "mlx5_ib": "driver",
    "mlx4_ib": "driver",
    "opa_vnic": "OPA virtual NIC",
}  # fmt: skip
_NOT_CONNECTED = ("RESET", "INIT")


def command_of(kind: str) -> tuple[str, ...]:
    """The command that lists the tracked objects of a kind."""
    return ("rdma", "-j", "-d", "resource", "show", kind)


def collect_consumers(source: Source, host: str) -> Consumers:
    """All owners of RDMA objects on a host, their queue pairs and connections."""
    listing = source.list(CLASS)
    if not listing.names and listing.error != NOT_RECORDED:
        return Consumers(host, problems=(_why_none(source, listing),), listed=False)
    problems: list[Problem] = []
    rows, cut = _all_rows(source, problems)
    if not any(found is not None for found in rows.values()):
        return _counted_only(source, host, problems)
    owners = _Owners(source)
    queue_pairs = [made for row in rows[rdma.QP] or () if (made := _queue_pair(row, owners.index_of(row), problems))]
    connections = [_connection(row, owners.index_of(row)) for row in rows[rdma.CM_ID] or ()]
    uses = _uses({kind: None if kind in cut else found for kind, found in rows.items()}, rows, owners)
    described = owners.described()
    problems += owners.problems()
    problems += _hidden(source, rows, described)
    pairs = pair_up(queue_pairs, connections)
    return Consumers(
        host, described, tuple(queue_pairs), tuple(connections), tuple(pairs), tuple(uses), tuple(problems),
        listed=rows[rdma.QP] is not None and rdma.QP not in cut,
    )  # fmt: skip


def _why_none(source: Source, listing: FolderAnswer) -> Problem:
    """Why the kernel shows no device. One that ibstat shows all the same is a simulator's; its users nobody knows."""
    told, _, _ = read_tools(source, ("ibstat",))
    if not told:
        return explain_absence(source, listing)
    text = (
        f"who uses {' and '.join(device.name for device in told)} is not known: ibstat shows it, and /sys of the same "
        "host does not, as with a simulated fabric; run `ibkit consumers` or `ibkit capture` where the kernel has it"
    )
    return Problem("not-in-kernel", text, None, CLASS)


def _counted_only(source: Source, host: str, problems: list[Problem]) -> Consumers:
    """Of a saved output of ``rdma resource``, how many objects each device has: nobody knows whose."""
    answer = source.run(("rdma", "resource"), deadline_seconds=DEADLINE_SECONDS)
    rows = []
    if not answer.failure:
        with suppress(NotThisFormat):
            rows = [row for row in rdma.parse(answer.out).value if row.kind == rdma.SUMMARY]
    uses = tuple(Use(0, row.device, *map(row.number, KINDS)) for row in rows)
    owners = (Owner(UNKNOWN),) if uses else ()
    return Consumers(host, owners, uses=uses, problems=tuple(problems), listed=False)


class _Owners:
    """The owners in the order in which rows name them."""

    def __init__(self, source: Source) -> None:
        self._table = ProcessTable(source)
        self._index: dict[tuple[str, int | str | None], int] = {}
        self._pids: dict[int, dict[int, None]] = {}
        self._names: dict[int, str | None] = {}
        self._nodes = self._table.open_nodes()

    def index_of(self, row: RdmaRow) -> int:
        """The owner of a row. A pid is the process's or that of one of its threads."""
        pid, name = row.number("pid"), row.text("comm")
        if pid:
            seen = self._table.process_of(pid)
            index = self._place(PROCESS, seen.pid if seen else pid)
            self._pids.setdefault(index, {})[pid] = None
        else:
            index = self._place(KERNEL, name) if name else self._place(UNKNOWN, None)
        self._names.setdefault(index, name)
        return index

    def described(self) -> tuple[Owner, ...]:
        """All owners, and behind them the processes that hold a device node open and nothing else."""
        for pid, nodes in self._nodes.items():
            if nodes and self._table.process_of(pid):
                self._place(PROCESS, pid)
        return tuple(self._describe(kind, key, index) for (kind, key), index in self._index.items())

    def problems(self) -> list[Problem]:
        """What of the processes could not be seen."""
        return self._table.all_problems()

    def _place(self, kind: str, key: int | str | None) -> int:
        return self._index.setdefault((kind, key), len(self._index))

    def _describe(self, kind: str, key: int | str | None, index: int) -> Owner:
        name = self._names.get(index)
        if kind != PROCESS or not isinstance(key, int):
            return Owner(kind, name=name, service=SERVICES.get(name or ""))
        seen = self._table.process_of(key)
        named = tuple(self._pids.get(index, ()))
        if seen is None:
            return Owner(kind, key, name, threads=named)
        return self._table.describe(seen, named, self._nodes.get(key, ()))


def _all_rows(source: Source, problems: list[Problem]) -> tuple[dict[str, list[RdmaRow] | None], set[str]]:
    """The rows of each kind, None where nobody could list them, and the kinds of which some are missing. Kinds that
    fail for one reason are one problem.
    """
    rows: dict[str, list[RdmaRow] | None] = {}
    cut: set[str] = set()
    failed: dict[tuple[str, str], list[str]] = {}
    for kind in KINDS:
        answer = source.run(command_of(kind), deadline_seconds=DEADLINE_SECONDS)
        if answer.failure or answer.exit_status not in (0, None):
            failed.setdefault(_reason(answer), []).append(kind)
            rows[kind] = None
        else:
            rows[kind], whole = _rows(answer, kind, problems)
            if not whole:
                cut.add(kind)
    for (what, reason), kinds in failed.items():
        text = f"objects of kind {', '.join(kinds)} cannot be listed: {reason}"
        problems.append(Problem(what, text, None, " ".join(command_of(kinds[0]))))
    return rows, cut


def _rows(answer: CommandAnswer, kind: str, problems: list[Problem]) -> tuple[list[RdmaRow] | None, bool]:
    """The rows of a kind, and whether nothing shows that some are missing."""
    try:
        parsed = rdma.parse(answer.out, source=answer.command)
    except NotThisFormat as error:
        if not answer.stdout.strip():  # versions before 5.0 print nothing for no rows
            return [], True
        problems.append(Problem("tool-failed", str(error), None, answer.command))
        return None, False
    problems += parsed.problems
    found = [row for row in parsed.value if row.kind == kind]
    whole = parsed.complete is not False
    # One pasted file answers every question: what it does not hold was not asked, or is in the part that is missing.
    return None if (parsed.value or not whole) and not found else found, whole


def _reason(answer: CommandAnswer) -> tuple[str, str]:
    """Kind of problem, and what the tool said."""
    if answer.failure == MISSING:
        return "tool-missing", "rdma is not installed (package iproute2)"
    if answer.failure == NOT_RECORDED:
        return NOT_RECORDED, "no output of rdma is recorded here: record it with `ibkit capture` on the host"
    if answer.failure:
        return "tool-failed", answer.failure
    said = next(iter(answer.err.strip().splitlines()), f"exit status {answer.exit_status}")
    return "tool-failed", said[:400]


def _queue_pair(row: RdmaRow, owner: int, problems: list[Problem]) -> QueuePair | None:
    qpn = row.number("lqpn")
    if qpn is None:
        problems.append(Problem("bad-value", f"{row.device}: a queue pair without a number", None, "rdma"))
        return None
    state = row.text("state")
    remote = row.number("rqpn")
    return QueuePair(
        row.device,
        row.port,
        qpn,
        owner,
        remote_qpn=None if state in _NOT_CONNECTED else remote,
        type=row.text("type"),
        state=state,
        rq_psn=row.number("rq-psn"),
        sq_psn=row.number("sq-psn"),
    )


def _connection(row: RdmaRow, owner: int) -> Connection:
    return Connection(
        row.device, row.port, owner, row.number("lqpn"), row.text("qp-type"), row.text("state"), row.text("ps"),
        row.text("src-addr"), row.text("dst-addr"),
    )  # fmt: skip


def _uses(whole: dict[str, list[RdmaRow] | None], rows: dict[str, list[RdmaRow] | None], owners: _Owners) -> list[Use]:
    """How many objects each owner has on each device; of kinds of which not all rows are known, nobody knows."""
    counts: Counter[tuple[int, str, str]] = Counter()
    for kind, found in rows.items():
        counts.update((owners.index_of(row), row.device, kind) for row in found or ())
    places = dict.fromkeys((owner, device) for owner, device, _ in counts)
    return [
        Use(owner, device, *(None if whole[kind] is None else counts[owner, device, kind] for kind in KINDS))
        for owner, device in sorted(places)
    ]


def _hidden(source: Source, rows: dict[str, list[RdmaRow] | None], owners: Iterable[Owner]) -> Iterable[Problem]:
    """Every device with management datagrams has queue pairs of the kernel; where none is shown, they are hidden."""
    if rows[rdma.QP] is None or any(owner.kind == KERNEL for owner in owners):
        return
    if source.list("/sys/class/infiniband_mad").names:
        text = "no queue pair of the kernel is shown: this is a PID namespace of its own (a container), where the "
        yield Problem("hidden-rows", f"{text}kernel shows only that namespace's processes", None, "rdma")
