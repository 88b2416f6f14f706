"""Runs of HP-MPI and Platform MPI, by the table that ``mpirun -prot`` prints: one table, one run.

A table decides by itself where it is whole, or where its last sentence tells what all hosts have in common. IBV and
UDAPL are verbs of any link layer, VAPI and ITAPI those of InfiniBand alone. PSM is InfiniBand's (InfiniPath), and where
``psm2-compat`` takes its place Omni-Path's: that the word does not tell. GM and MX are Myrinet, ELAN is Quadrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ibkit.model.mpi import Layer, Pair
from ibkit.parsers.base import Problem
from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.parsers.platform_mpi import HP, NAME, ProtRow, ProtTable
from ibkit.transport import words
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.logs.mpi_paths import MAX_TABLE_HOSTS
from ibkit.transport.logs.processes import MAX_RUNS, Launches
from ibkit.transport.reasons import asked_for, reason_of, reasons

_PROTOCOLS = {
    "SHM": "shm", "TCP": "tcp", "IBV": "rdma", "UDAPL": "rdma", "IBAL": "rdma", "VAPI": "ib", "ITAPI": "ib",
}  # fmt: skip
_MAX_FACTS = 10_000
_STEP = (
    "run again with mpirun -prot (MPIRUN_OPTIONS=-prot; STAR-CCM+: -fabricverbose), which tells it for each two hosts"
)
_WHOLE_STEP = "the table of -prot is cut, or two are mixed: give the whole log of one run"
#: After what MPI_Init gave up for; no reason of the catalogue is that.
_INIT_STEPS = {
    "pkey": "several partition keys have full membership: name one, mpirun -e MPI_IB_PKEY=0x8001 (`ibkit partitions`)",
    "subnet": "the first ports are on different subnets: name the one that all hosts reach, mpirun -e MPI_IB_PORT_GID",
}
_PSM_STEP = "PSM is InfiniBand's or, by psm2-compat, Omni-Path's: `ibkit status` on a node tells its HCA"

_Why = dict[str, list[tuple[Mark, str]]]


class Evidence:
    """Takes the facts of all logs of a target."""

    def __init__(self) -> None:
        self.tables: list[tuple[ProtTable, File, Mark]] = []
        self.settings: list[tuple[Setting, Mark]] = []
        self.failures: list[tuple[Failure, Mark]] = []
        self.versions: list[tuple[Version, Mark]] = []
        self.problems: list[Problem] = []

    def add(self, fact: ProtTable | Setting | Failure | Version, file: File) -> None:
        """Take one fact."""
        mark = file.mark(fact.said)
        if isinstance(fact, ProtTable):
            if len(self.tables) < MAX_RUNS:
                self.tables.append((fact, file, mark))
            return
        if isinstance(fact, Setting):
            self.settings += [(fact, mark)] if len(self.settings) < _MAX_FACTS else []
        elif isinstance(fact, Failure):
            self.failures += [(fact, mark)] if len(self.failures) < _MAX_FACTS else []
        else:
            self.versions += [(fact, mark)] if len(self.versions) < _MAX_FACTS else []

    def layers(
        self, launches: Sequence[Mark], others: Sequence[tuple[Failure, Mark]], first: int, book: Book
    ) -> list[Layer]:
        """A layer for each run, numbered from ``first``; ``others`` are the failures that no MPI tells of itself."""
        commands = Launches(launches)
        runs = [_Run(self, commands, place, others) for place in range(len(self.tables))]
        found = [run.layer(number, book) for number, run in enumerate(runs, first)]
        self.problems += [problem for run in runs for problem in run.problems]
        found += self._ended(runs, commands, first + len(found), book)
        if not found and self.versions:
            found.append(Layer("mpi", "unknown", "undecided", first, *self._named(), next_step=_STEP))
        return found

    def _ended(self, runs: Sequence[_Run], launches: Launches, first: int, book: Book) -> list[Layer]:
        """The runs that ended and printed no table: those before it, or those that were not asked to."""
        groups: dict[tuple[int, int, int], list[tuple[Failure, Mark]]] = {}
        for failure, mark in self.failures:
            if not any(run.has_ended_by(failure, mark) for run in runs):
                tables = sum(1 for _, _, table in self.tables if table.is_before(mark))
                key = mark.order, tables, launches.between(mark.order, 0, mark.line)
                groups.setdefault(key, []).append((failure, mark))
        return [
            self._ended_layer(failures, number, book)
            for number, (_, failures) in enumerate(sorted(groups.items(), key=lambda item: item[0]), first)
        ]

    def _ended_layer(self, failures: Sequence[tuple[Failure, Mark]], number: int, book: Book) -> Layer:
        for _, mark in failures[:2]:
            book.cite(mark, "failure")
        # whoever has left MPI_Init may have sent something
        has_begun = all(failure.topic == "died" for failure, _ in failures)
        step = next((_INIT_STEPS[failure.topic] for failure, _ in failures if failure.topic in _INIT_STEPS), None)
        return Layer(
            "mpi", "unknown" if has_begun else "none", "aborted", number, *self._named(),
            next_step=_STEP if has_begun else step, evidence=book.cited(),
        )  # fmt: skip

    def _named(self) -> tuple[str, str | None]:
        told = {(version.runtime, version.version) for version, _ in self.versions}
        if len(told) == 1:
            return told.pop()
        names = {name for name, _ in told}
        return (HP if names == {HP} else NAME), None


class _Run:
    """The run of one table."""

    def __init__(
        self, evidence: Evidence, launches: Launches, place: int, others: Sequence[tuple[Failure, Mark]]
    ) -> None:
        self._evidence = evidence
        self._launches = launches
        self._others = others
        self._table, self._file, self._mark = evidence.tables[place]
        in_file = [mark.line for _, _, mark in evidence.tables if mark.order == self._mark.order]
        #: Where the tables before and behind it begin in its file.
        self._before = max((line for line in in_file if line < self._mark.line), default=0)
        self._behind = min((line for line in in_file if line > self._mark.line), default=None)
        self.problems: list[Problem] = []

    def layer(self, number: int, book: Book) -> Layer:
        """The run's layer."""
        table = self._table
        verdict, step = self._verdict()
        pairs = self._pairs(book)
        if table.inter_said is not None and verdict != "unknown":
            cited = book.cite(self._file.mark(table.inter_said), "selection", _word(table.inter or ""))
            if len(table.hosts) == 2 and not table.rows:
                a, b = sorted(host.name for host in table.hosts)
                pairs = (Pair(a, b, verdict, (), (cited,)),)
        status, why = self._status(verdict)
        ends = [*self._evidence.failures, *self._others]
        ended = [mark for failure, mark in ends if self.has_ended_by(failure, mark)]
        for mark in ended[:2]:
            book.cite(mark, "failure")
        name, version = self._named()
        return Layer(
            "mpi", verdict, "aborted" if ended else status, number, name, version,
            () if table.is_torn else tuple(dict.fromkeys(host.name for host in table.hosts)),
            self._ranks(), pairs, reasons(why, book), step, evidence=book.cited(),
        )  # fmt: skip

    def _ranks(self) -> int | None:
        """How many ranks there are, where the list of hosts is as long as a row, and tells each rank once."""
        hosts = self._table.hosts
        ranks = [rank for host in hosts for rank in host.ranks]
        is_known = all(host.ranks for host in hosts) and len(set(ranks)) == len(ranks) and not self._table.is_torn
        has_all = any(len(row.protocols) == len(hosts) for row in self._table.rows)
        return len(ranks) if ranks and is_known and has_all else None

    # -- the verdict

    def _verdict(self) -> tuple[str, str | None]:
        """The transport between hosts, of a single host that of its ranks, and where it is unknown what would tell."""
        table = self._table
        cells = {
            cell for row in table.rows for column, cell in enumerate(row.protocols) if not self._is_inner(row, column)
        }
        said = {table.inter} if table.inter is not None else set()
        word = words.combine(map(_word, cells | said))
        if not (table.is_whole or (said and not table.is_torn)):
            return ("mixed", None) if word == "mixed" and not table.is_torn else ("unknown", _WHOLE_STEP)
        if said and (len(table.hosts) == 1 or (cells and word != words.combine(map(_word, said)))):
            return "unknown", _WHOLE_STEP
        if not cells and not said:
            cells = {cell for row in table.rows for cell in row.protocols}
            word = words.combine(map(_word, cells))
        return word, self._step(cells | said) if word == "unknown" else None

    @staticmethod
    def _step(protocols: Iterable[str]) -> str:
        untold = sorted(protocol for protocol in protocols if _word(protocol) == "unknown")
        if untold == ["PSM"]:
            return _PSM_STEP
        return f"{', '.join(untold)}: no network that there is a verdict for; look at a running rank: " + (
            "ibkit check-mpi-transport pid:PID"
        )

    def _is_inner(self, row: ProtRow, column: int) -> bool:
        """Whether a cell is about one host; an appfile may list a host twice."""
        hosts = self._table.hosts
        return row.number == column or (
            max(row.number, column) < len(hosts) and hosts[row.number].name == hosts[column].name
        )

    # -- pairs

    def _pairs(self, book: Book) -> tuple[Pair, ...]:
        found: dict[tuple[str, str], dict[str, list[ProtRow]]] = {}
        ranks: dict[tuple[str, str], set[tuple[int, int]]] = {}
        for row, column, cell in self._cells():
            one, other = self._table.hosts[row.number], self._table.hosts[column]
            a, b = sorted((one.name, other.name))
            found.setdefault((a, b), {}).setdefault(_word(cell), []).append(row)
            if one.name != other.name and one.ranks and other.ranks:
                first, second = one.ranks[0], other.ranks[0]
                ranks.setdefault((a, b), set()).add((first, second) if a == one.name else (second, first))
        return tuple(
            Pair(
                a, b, words.combine(by_word), tuple(sorted(ranks.get((a, b), ()))),
                tuple(
                    dict.fromkeys(
                        book.cite(self._file.mark(row.said), "path", word)
                        for word, rows in by_word.items()
                        for row in rows[:2]
                    )
                ),
            )
            for (a, b), by_word in sorted(found.items())
        )  # fmt: skip

    def _cells(self) -> Iterator[tuple[ProtRow, int, str]]:
        """The cells that are pairs of their own: of many hosts those that differ from most, and those beside the
        diagonal. A rank that is alone on its host, beside others, sends nothing within it.
        """
        table = self._table
        if table.is_torn:
            return
        size = len(table.hosts)
        usual = self._usual() if size > MAX_TABLE_HOSTS else None
        by_number: Mapping[int, ProtRow] = {row.number: row for row in table.rows}
        folded = 0
        for row in table.rows:
            for column, cell in enumerate(row.protocols[:size]):
                if row.number >= size or (size > 1 and row.number == column and len(table.hosts[column].ranks) == 1):
                    continue
                back = by_number.get(column)
                is_usual = cell == usual and back is not None and _at(back, row.number) == usual
                if is_usual and abs(row.number - column) > 1:
                    folded += 1
                else:
                    yield row, column, cell
        if folded:
            text = f"{folded // 2} more pairs of hosts are as most are, {usual}, and are not listed"
            self.problems.append(Problem("many-pairs", text))

    def _usual(self) -> str | None:
        counts = Counter(
            cell for row in self._table.rows for column, cell in enumerate(row.protocols) if column != row.number
        )
        return max(counts, key=lambda cell: counts[cell], default=None)

    # -- what else is told of the run

    def has_ended_by(self, failure: Failure, mark: Mark) -> bool:
        """Whether a rank of this run, which all have left MPI_Init, has died."""
        return failure.topic == "died" and self._is_own(mark)

    def _is_own(self, mark: Mark) -> bool:
        """Whether a line behind the table is this run's: no other table, and no command, stands between."""
        if mark.order != self._mark.order:
            return len(self._evidence.tables) == 1
        is_before_next = self._behind is None or mark.line < self._behind
        return (
            self._mark.line < mark.line
            and is_before_next
            and not self._launches.between(mark.order, self._mark.line, mark.line)
        )

    def _status(self, verdict: str) -> tuple[str, _Why]:
        if verdict == "unknown":
            return "undecided", {}
        if verdict == "mixed":
            return "mixed", {}
        if verdict in words.RDMA or verdict == "shm":
            return "as-expected", {}
        if asked := self._asked_for_tcp():
            return "by-configuration", asked_for(asked)
        why: _Why = {}
        for failure, mark in self._others:
            if (reason := reason_of(failure)) and (
                mark.order != self._mark.order or self._before < mark.line < (self._behind or mark.line + 1)
            ):
                why.setdefault(reason, []).append((mark, "failure"))
        return "fallback", why

    def _asked_for_tcp(self) -> list[Mark]:
        """The setting that puts TCP first in the order of interconnects: the command's option, else the list. Of each
        name the last one before the table counts; those of other files where they agree.
        """
        for name in ("mpirun", "MPIRUN_OPTIONS", "MPI_IC_ORDER"):
            here = [
                (setting, mark)
                for setting, mark in self._evidence.settings
                if setting.name == name and self._may_hold(setting, mark)
            ]
            values = {setting.value for setting, _ in here}
            own = [one for one in here if one[1].order == self._mark.order]
            chosen = own[-1] if own else here[0] if len(values) == 1 else None
            if chosen is not None and (first := chosen[0].value.split(":")[0].strip().lower()):
                return [chosen[1]] if first == "tcp" else []
        return []

    def _may_hold(self, setting: Setting, mark: Mark) -> bool:
        """Whether a setting may be this run's. A command's options are, where no later command stands between."""
        if mark.order != self._mark.order:
            return setting.name != "mpirun" or len(self._evidence.tables) == 1
        if setting.name != "mpirun":
            return mark.line < self._mark.line
        return self._before < mark.line < self._mark.line and not self._launches.between(
            mark.order, mark.line, self._mark.line
        )

    def _named(self) -> tuple[str, str | None]:
        """The MPI's name and its version: STAR-CCM+ tells it behind the table, a tool before all of them."""
        near = [version for version, mark in self._evidence.versions if self._is_own(mark)]
        told = {(one.runtime, one.version) for one in near} or {
            (one.runtime, one.version) for one, _ in self._evidence.versions
        }
        if len(told) == 1:
            return told.pop()
        return (HP if {name for name, _ in told} == {HP} else NAME), None


def _word(protocol: str) -> str:
    return _PROTOCOLS.get(protocol, "unknown")


def _at(row: ProtRow, column: int) -> str | None:
    return row.protocols[column] if column < len(row.protocols) else None
