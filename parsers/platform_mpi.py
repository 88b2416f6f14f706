"""HP-MPI's, Platform MPI's and IBM Platform MPI's lines in logs of a job: what ``mpirun -prot`` prints.

``Host 0 -- ip 10.1.1.1 -- ranks 0 - 15`` for each host; a matrix (``host | 0    1``, ``0 : SHM  IBV``) of what one
host's ranks send to another one's by; then, in later releases, ``Prot -  All Intra-node communication is: SHM`` and the
same of ``Inter-node``. STAR-CCM+ prints it with ``-fabricverbose``, and behind it the version and the hosts by their
names (``Host 0 -- n01 -- Ranks 0-15``).

Which interconnect is asked for: ``MPI_IC_ORDER`` lists them in order, an option of mpirun (``-TCP``) goes before that
list, and ``MPIRUN_OPTIONS`` holds more such options. In lower case the next one is tried where one is missing.

Sources: HP-MPI user's guide, 11th edition, "Interconnect support" and "MPI options"; HP-MPI 2.2.5 and 2.2.7 release
notes for Linux; Simcenter STAR-CCM+ documentation, "Selecting the Fabric"; public logs for the wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ibkit.parsers.job_facts import Failure, Said, Setting, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape
from ibkit.parsers.records import NamedTuple

NAME, HP = "Platform MPI", "HP-MPI"
#: How settings and failures are marked as this MPI's.
RUNTIME = "platform"
#: What a cell may say: shared memory, an interconnect by the name of its option.
PROTOCOLS = frozenset(("SHM", "IBV", "VAPI", "UDAPL", "PSM", "ITAPI", "IBAL", "ELAN", "GM", "MX", "TCP"))


class ProtHost(NamedTuple):
    """A host of the table, by its address or its name; ``ranks`` is empty where they were not read."""

    name: str
    ranks: tuple[int, ...]


class ProtRow(NamedTuple):
    """What the ranks of host ``number`` send to each host's by."""

    said: Said
    number: int
    protocols: tuple[str, ...]


class ProtTable(NamedTuple):
    """One table of ``-prot``; ``intra`` and ``inter`` are what the sentences below it say of all hosts.

    ``is_torn``: lines contradict each other, as where two jobs print into one file.
    """

    said: Said
    hosts: tuple[ProtHost, ...]
    rows: tuple[ProtRow, ...]
    intra: str | None = None
    inter: str | None = None
    intra_said: Said | None = None
    inter_said: Said | None = None
    is_torn: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether there is a row for each host, with a cell for each, in order."""
        size = len(self.hosts)
        is_square = all(row.number == number for number, row in enumerate(self.rows)) and all(
            len(row.protocols) == size for row in self.rows
        )
        return size > 0 and not self.is_torn and len(self.rows) == size and is_square


PlatformFact = ProtTable | Setting | Failure | Version

_MAX_HOSTS = 4096
#: A table's lines stand together, but for what ranks print meanwhile.
_MAX_GAP = 200
_HOST = re.compile(r"\s{0,8}Host (\d{1,7}) -- (?:ip )?(\S.{0,253}?) -- ranks (\d[\d ,-]{0,20000})\Z")
_NAMED = re.compile(r"\s{0,8}Host (\d{1,7}) -- ([A-Za-z][\w.-]{0,252}) -- Ranks (\d[\d ,-]{0,20000})\Z")
_ROW = re.compile(r"\s{0,16}(\d{1,7}) : ([A-Z][A-Z0-9/]{0,15}(?: {1,16}[A-Z-][A-Z0-9/-]{0,15}){0,4096})\s{0,16}\Z")
_ALL = re.compile(r"\s{0,8}Prot - {1,4}All (Intra|Inter)-node communication is: (\S{1,40})\Z")
_VERSIONS = (
    (re.compile(r"MPI Distribution : Platform Computing MPI-(\d[\d.]{1,20})"), NAME),
    (re.compile(r"\bPlatform MPI (\d\d\.\d[\d.]{1,20}) "), NAME),
    (re.compile(r"\bHP MPI (\d\d\.\d[\d.]{1,20}) "), HP),
)
#: ``PROGRAM: Rank 0:3: MPI_Init: ...``, the second number is the rank's.
_INIT = re.compile(
    r"\bRank \d{1,7}:(\d{1,7}): MPI_Init: (?:(?P<pkey>multiple full-membership pkey found in partition key table)"
    r"|(?P<subnet>The IB ports choosen for IB connection setup do not have the same subnet_prefix))"
)
_EXITED = re.compile(r"MPI Application rank (\d{1,7}) exited before MPI_(?:(Init)|Finalize)\(\) with status \d{1,5}\b")

_ASSIGNED = re.compile(
    r"(?:\+{1,4} )?(?:export |declare -x |setenv )?(MPI_IC_ORDER|MPIRUN_OPTIONS)(?:=| )(.{0,1000})\Z"
)
_UNSET = re.compile(r"(?:\+{1,4} )?(?:unset|unsetenv) (MPI_IC_ORDER|MPIRUN_OPTIONS)\Z")
_COMMAND = re.compile(r"(?:(?:\+{1,4}|\$|>|Command:|Running:) )?(?:\w{1,80}=\S{0,400} ){0,8}(?:\S{0,1000}/)?mpirun ")
_FABRIC = re.compile(r"\bstarccm\+ (?:\S{1,1000} ){0,200}?-fabric (\w{2,8})\b")
#: The options that choose, in either case; TCP has but one.
_OPTIONS = {f"-{name}": name for known in PROTOCOLS - {"SHM"} for name in (known, known.lower())}
_MAX_COMMAND = 20_000
#: Options that stand for themselves: what follows one of these is another option or the program.
_ALONE = frozenset(
    (*_OPTIONS, "-prot", "-v", "-d", "-j", "-T", "-srun", "-prun", "-lsf", "-ndd", "-dd", "-1sided", "-spawn", "-ha",
     "-commd", "-rdma", "-srq", "-xrc", "-cpu_bind", "-dbgspin", "-tv", "-ck")
)  # fmt: skip
_WORDS = re.compile(r"\"[^\"]{0,4000}\"|'[^']{0,4000}'|\S+")
_ON_COMMAND_LINE = re.compile(r"MPI_IC_ORDER=(\S{1,200})")

_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b" -- ranks ", b" -- Ranks ", b"-node communication is: ", b"MPI Distribution : Platform", b"Platform MPI ",
            b"HP MPI ", b": MPI_Init: multiple full-", b": MPI_Init: The IB ports", b" exited before MPI_",
            b"MPI_IC_ORDER", b"MPIRUN_OPTIONS", b"mpirun ", b" -fabric ",
        )
    )
    + rb"|\s: (?:" + b"|".join(sorted(re.escape(shape(name.encode())) for name in PROTOCOLS)) + rb")(?:\s|$)"
    + rb"|\\\s{0,4}$"  # a command that goes on
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Those of a second run may be alike."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


class Reader:
    """Reads the lines of one stream; remembers the table that is being printed."""

    def __init__(self) -> None:
        self._table: _Table | None = None
        #: The line that a command goes on in, behind a backslash.
        self._goes_on = 0

    def read(self, line: Line) -> Iterator[PlatformFact]:
        """What the line says; of a table, when it has ended. Never raises."""
        text = line.text.rstrip()
        said = Said(line.number, line.raw, None, None, line.rank)
        if self._table is not None and line.number > self._table.last + _MAX_GAP:
            yield from self.finish()
        if found := _HOST.match(text):
            number, host = int(found[1]), ProtHost(found[2], _ranks(found[3]))
            if number == 0 and not (self._table and self._table.repeats(host)):
                yield from self.finish()
                self._table = _Table(said)
            if self._table is not None:
                self._table.add_host(number, host, line.number)
        elif found := _ALL.match(text):
            if self._table is not None and self._table.has_just_said(found[1], found[2], line.number):
                return
            if self._table is None or self._table.has(found[1]):
                yield from self.finish()
                self._table = _Table(said)
            self._table.add_sentence(found[1], found[2], said)
        elif self._table is not None and (found := _ROW.match(text)):
            self._table.add_row(ProtRow(said, int(found[1]), tuple(found[2].split())))
        elif self._table is not None and (found := _NAMED.match(text)):
            self._table.add_name(int(found[1]), ProtHost(found[2], _ranks(found[3])), line.number)
        else:
            yield from _message(text, said)
            yield from self._settings(text, said)

    def _settings(self, text: str, said: Said) -> Iterator[Setting]:
        is_command = said.line == self._goes_on or _COMMAND.match(text) is not None
        if is_command:
            yield from _options(text if said.line != self._goes_on else f"mpirun {text}", said)
        else:
            yield from _variables(text, said)
        if is_command and text.endswith("\\"):
            self._goes_on = said.line + 1

    def finish(self) -> Iterator[PlatformFact]:
        """What was not ended when the stream did."""
        if self._table is not None:
            yield self._table.whole()
            self._table = None


class _Table:
    """A table as it goes on."""

    def __init__(self, said: Said) -> None:
        self._said = said
        #: Its last line so far.
        self.last = said.line
        self._hosts: list[ProtHost] = []
        self._rows: dict[int, ProtRow] = {}
        self._names: dict[int, ProtHost] = {}
        self._sentences: dict[str, tuple[str, Said]] = {}
        self._known: dict[str, str] = {}
        self._is_torn = False

    def repeats(self, host: ProtHost) -> bool:
        """Whether this first host is the one that was just named: a log in which each line stands twice."""
        return self._hosts == [host] and not self._rows

    def has(self, sentence: str) -> bool:
        """Whether that sentence was said, which ends what is said of the run within its hosts."""
        return "Inter" in self._sentences or sentence in self._sentences

    def has_just_said(self, sentence: str, protocol: str, line: int) -> bool:
        """Whether the line before was this sentence: a log in which each line stands twice."""
        known, said = self._sentences.get(sentence, ("", self._said))
        return known == protocol and line == said.line + 1

    def add_host(self, number: int, host: ProtHost, line: int) -> None:
        """The next host, or the last one again."""
        self.last = line
        if number == len(self._hosts) < _MAX_HOSTS and not self._rows:
            self._hosts.append(host)
        elif not (number == len(self._hosts) - 1 and self._hosts[-1] == host):
            self._is_torn = True

    def add_row(self, row: ProtRow) -> None:
        """A host's row; a second one that says otherwise is of another job."""
        self.last = row.said.line
        row = row._replace(protocols=tuple(self._known.setdefault(word, word) for word in row.protocols))
        known = self._rows.setdefault(row.number, row) if len(self._rows) < _MAX_HOSTS else row
        self._is_torn |= known.protocols != row.protocols

    def add_sentence(self, of: str, protocol: str, said: Said) -> None:
        """What all hosts have in common."""
        self.last = said.line
        self._sentences[of] = protocol, said

    def add_name(self, number: int, host: ProtHost, line: int) -> None:
        """A host by its name, as STAR-CCM+ lists them."""
        self.last = line
        if len(self._names) < _MAX_HOSTS:
            self._names.setdefault(number, host)

    def whole(self) -> ProtTable:
        """All of it, with the hosts' names where all of them are told, of the same ranks."""
        named = [self._names.get(number) for number in range(len(self._hosts))]
        are_theirs = all(
            other is not None and other.ranks and other.ranks == host.ranks
            for host, other in zip(self._hosts, named, strict=True)
        )
        hosts = [name for name in named if name is not None] if are_theirs else self._hosts
        rows = tuple(self._rows[number] for number in sorted(self._rows))
        intra, intra_said = self._sentences.get("Intra", (None, None))
        inter, inter_said = self._sentences.get("Inter", (None, None))
        return ProtTable(self._said, tuple(hosts), rows, intra, inter, intra_said, inter_said, self._is_torn)


def _message(text: str, said: Said) -> Iterator[Version | Failure]:
    for pattern, name in _VERSIONS:
        if found := pattern.search(text + " "):
            yield Version(said, name, found[1])
            return
    if found := _INIT.search(text):
        who = said._replace(rank=int(found[1]))
        yield Failure(who, RUNTIME, "pkey" if found["pkey"] else "subnet", True)
    elif found := _EXITED.match(text):
        topic = "not-started" if found[2] else "died"  # without all ranks in MPI_Init nobody sends anything
        yield Failure(said._replace(rank=int(found[1])), RUNTIME, topic, True)


def _variables(text: str, said: Said) -> Iterator[Setting]:
    if found := _ASSIGNED.match(text):
        name, value = found[1], found[2].strip("\"'; ")
        yield Setting(said, RUNTIME, name, value if name == "MPI_IC_ORDER" else ":".join(_asked(value.split())))
    elif found := _UNSET.match(text):
        yield Setting(said, RUNTIME, found[1], "")
    elif (found := _FABRIC.search(text[:_MAX_COMMAND])) and found[1].upper() in PROTOCOLS:
        yield Setting(said, RUNTIME, "mpirun", found[1])  # handed on to mpirun


def _options(command: str, said: Said) -> Iterator[Setting]:
    """Under the name ``mpirun`` the options that go before ``MPI_IC_ORDER``; and that one where ``-e`` sets it."""
    words = _own_words(_WORDS.findall(command[:_MAX_COMMAND]))
    if asked := _asked(words):
        yield Setting(said, RUNTIME, "mpirun", ":".join(asked))
    for word in words:
        if found := _ON_COMMAND_LINE.match(word):
            yield Setting(said, RUNTIME, "MPI_IC_ORDER", found[1].strip("\"'"))


def _own_words(words: list[str]) -> list[str]:
    """The launcher's own words: options and the one word behind each that takes one, up to the program.

    >>> _own_words("mpirun -prot -np 4 -TCP ./a -IBV".split())
    ['-prot', '-np', '4', '-TCP']
    """
    start = next((place for place, word in enumerate(words) if word.rsplit("/", 1)[-1] == "mpirun"), len(words)) + 1
    own: list[str] = []
    before = ""
    for word in words[start:]:
        if word == "\\":
            break
        if not word.startswith("-") and (not before.startswith("-") or before in _ALONE or "=" in before):
            break
        own.append(word)
        before = word
    return own


def _asked(words: Iterable[str]) -> list[str]:
    return [_OPTIONS[word.strip("\"'")] for word in words if word.strip("\"'") in _OPTIONS]


def _ranks(text: str) -> tuple[int, ...]:
    """``0 - 3, 8`` and ``0-3`` as numbers; empty where that is no list of ranks."""
    ranks: list[int] = []
    for part in text.split(","):
        low, dash, high = (word.strip() for word in part.partition("-"))
        if not low.isdigit() or len(low) > 8 or (dash and (not high.isdigit() or len(high) > 8)):
            return ()
        first, last = int(low), int(high or low)
        if not 0 <= last - first <= 100_000 or len(ranks) > 1_000_000:
            return ()
        ranks.extend(range(first, last + 1))
    return tuple(ranks)
