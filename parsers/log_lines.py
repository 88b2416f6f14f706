"""Logs of jobs, line by line, in bounded memory: which lines may say something, their numbers, their prefixes.

A log of a large job is gigabytes of lines that are all alike, between training chatter. Each line is compared by its
*shape*, the bytes without digits and hexadecimal letters (ranks, process ids, pointers, times): a whole block of lines
is turned into shapes by two C-level operations, and only a shape that was not seen before is looked at by Python.
Of lines of a kind that comes in bulk (channels of 64 hosts, printed again by each communicator) those that were looked
into are remembered as they are: then a block costs a set's difference, and what is left of it is looked into, all of
it. When a log holds more different facts in bulk than memory should, only what they are about is still told
(``is_coarse``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import compress
from typing import Protocol

from ibkit.parsers.base import MAX_LINE_CHARS, Problem
from ibkit.parsers.records import NamedTuple

#: Read at once (bytes): small enough to stay in a core's cache, which is worth a third of the time.
BLOCK_BYTES = 1 << 17
#: A line that has no end within this many bytes is cut.
MAX_UNENDED_BYTES = 1 << 18
#: What is remembered of lines seen (bytes, and entries), so that a hostile log costs time and not memory.
MAX_REMEMBERED_BYTES = 16 << 20
MAX_REMEMBERED = 100_000
#: From here on (bytes) the time that it takes to import numpy is saved by it.
LARGE_BYTES = 32 << 20
#: Of _Fingerprints, a power of two: 8 MiB.
_PLACES = 1 << 20
#: Different facts of bulk lines, see Scanner.
MAX_FACTS = 200_000

_VARYING = b"0123456789abcdef"

#: What a shape is worth: nothing, a look at each such line that was not seen before, a look at each such line (a row
#: of a table, a field of a message), a look at each new fact among many lines alike.
IGNORE, KEEP, CONTEXT, BULK = 0, 1, 2, 3

_WHOLE, _DROPPED, _CONTINUED = 0, 1, 2


class Stream(Protocol):
    """A binary file, a pipe, a decompressor."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        ...


class Line(NamedTuple):
    """A line that may say something: ``number`` is 1-based, ``text`` has no prefix, ``raw`` is as in the file.

    ``rank`` is the rank in MPI_COMM_WORLD where the launcher put it in front.
    """

    number: int
    text: str
    raw: str
    rank: int | None = None


def shape(line: bytes) -> bytes:
    """What is left of a line when everything that varies is gone.

    >>> shape(b"n01:4711 [0] NCCL INFO Channel 00/0") == shape(b"n02:4712 [1] NCCL INFO Channel 31/1")
    True
    """
    return line.translate(None, _VARYING)


class Scanner:
    """The lines of one stream whose shape ``worth`` finds telling, in order, each with its number.

    ``worth(shape)`` answers IGNORE, KEEP, CONTEXT or BULK; ``fact(line)`` is what makes a line of bulk different from
    another, and what it is about, in general. Repetitions are dropped, as far as they are remembered; the time in front
    of a line makes it no other one.

    After the iteration ``lines`` and ``size`` (bytes) tell how much was read, ``problems`` what was cut,
    ``nul_bytes`` is the number of NULs in the first block; ``is_coarse`` is True where there were too many facts in
    bulk to tell all; ``is_open`` is True from the last line on where that has no end: it may be cut.
    """

    def __init__(
        self,
        stream: Stream,
        worth: Callable[[bytes], int],
        fact: Callable[[bytes], tuple[Hashable, Hashable]],
    ) -> None:
        self.lines = 0
        self.size = 0
        self.nul_bytes = 0
        self.is_coarse = False
        self.is_open = False
        self.problems: list[Problem] = []
        self._stream = stream
        self._worth = worth
        self._fact = fact
        self._shapes = _Shapes(worth)
        self._facts: set[Hashable] = set()
        self._seen = _Memory()
        self._known: _Known | _Fingerprints = _Known()
        self._clock = _Clock()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for block, end in self._blocks():
            if end == _DROPPED:
                self._long_line(self.lines + 1)
            if self.size > LARGE_BYTES and isinstance(self._known, _Known):
                self._known = _Fingerprints()
            yield from self._telling(block)
            if end == _CONTINUED:
                self.lines -= 1

    def _telling(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        first = self.lines + 1
        numbers: Sequence[int] | None = None
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
            if b"\r" in block:
                pieces, numbers = _carriage_returns(block, first)
                block = b"\n".join(pieces)
        lines = block.split(b"\n")
        bare = self._clock.without_times(lines)
        self.lines = numbers[-1] if numbers else self.lines + len(lines)
        places = self._known.places_of_others(bare)
        if not places:
            return
        fresh = [bare[place] for place in places]
        shapes = b"\n".join(fresh).translate(None, _VARYING).split(b"\n")
        telling = self._shapes.among(set(shapes))
        if not telling:
            return
        looked_into = []
        is_telling = map(telling.__contains__, shapes)
        for place, key, form in compress(zip(places, fresh, shapes, strict=True), is_telling):
            worth = telling[form]
            is_news = worth == CONTEXT
            if worth == BULK:
                is_news = self._is_news(key)
                looked_into.append(key)
            elif worth == KEEP:
                timeless = _INNER_TIME.sub(b"", key)
                is_news = self._seen.add(timeless)
                if timeless == key:
                    looked_into.append(key)
            if is_news:
                number = numbers[place] if numbers else first + place
                yield number, self._cut(number, lines[place])
        self._known.add(looked_into)

    def _is_news(self, line: bytes) -> bool:
        """Whether a line of bulk says something new."""
        fine, coarse = self._fact(line)
        thing = coarse if self.is_coarse else fine
        if thing in self._facts:
            return False
        self._facts.add(thing)
        self.is_coarse |= len(self._facts) >= MAX_FACTS
        return True

    def _cut(self, number: int, line: bytes) -> bytes:
        if len(line) > MAX_LINE_CHARS:
            self._long_line(number)
            return line[:MAX_LINE_CHARS]
        return line

    def _long_line(self, number: int) -> None:
        if len(self.problems) < 100:
            text = f"a line of more than {MAX_LINE_CHARS} bytes; only its start was looked at"
            self.problems.append(Problem("long-line", text, number))

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Whole lines without the last line's end, and how the last one ends: whole, dropped from here on, or going
        on in the next block after a carriage return.
        """
        rest, dropping = b"", False
        while data := self._stream.read(BLOCK_BYTES):
            if not self.size:
                self.nul_bytes = data.count(b"\0")
            self.size += len(data)
            if dropping:
                end = data.find(b"\n")
                if end < 0:
                    continue
                data, dropping = data[end + 1 :], False
            data = rest + data
            cut = data.rfind(b"\n")
            if cut >= 0:
                rest = data[cut + 1 :]
                yield data[:cut], _WHOLE
            else:
                rest = data
            if len(rest) > MAX_UNENDED_BYTES:
                cut = rest.rfind(b"\r", 0, len(rest) - 1)
                if cut >= 0:
                    yield rest[:cut], _CONTINUED
                    rest = rest[cut + 1 :]
                else:
                    yield rest[:MAX_LINE_CHARS], _DROPPED
                    rest, dropping = b"", True
        if rest:
            cut = rest.rstrip(b"\r").rfind(b"\r")
            if cut >= 0:
                yield rest[:cut], _CONTINUED
                rest = rest[cut + 1 :]
            self.is_open = not rest.endswith(b"\r")
            yield rest, _WHOLE


def _carriage_returns(block: bytes, number: int) -> tuple[list[bytes], list[int]]:
    """A progress bar writes its line over and over: what stands between carriage returns is a text of its own."""
    pieces: list[bytes] = []
    numbers: list[int] = []
    for at, line in enumerate(block.split(b"\n"), number):
        parts = line.split(b"\r")
        pieces += parts
        numbers += [at] * len(parts)
    return pieces, numbers


#: A date and a time: ISO 8601 and its relatives, and Open MPI's --timestamp-output.
_TIME = re.compile(
    rb"[\[(<]?\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?[ :]?"
    rb"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
)
#: UCX puts the time into its own lines.
_INNER_TIME = re.compile(rb"\[\d{9,11}\.\d{1,9}\] ")
#: Each digit is as good as another one: what is left is a time's form.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


class _Clock:
    """The time that stands in front of a log's lines, as launchers and collectors put it there."""

    def __init__(self) -> None:
        self._width = 0
        self._form = b""

    def without_times(self, lines: list[bytes]) -> list[bytes]:
        """The lines of a block without their times; those that have none, or another form of it, are as they are."""
        width, form = self._width, self._form
        if not width or lines[0][:width].translate(_ZEROS) != form:
            found = _TIME.match(lines[0])
            self._width = width = found.end() if found else 0
            self._form = form = lines[0][:width].translate(_ZEROS)
        if not width:
            return lines
        heads = [line[:width] for line in lines]
        if b"".join(heads).translate(_ZEROS) == form * len(heads):
            return [line[width:] for line in lines]
        return [
            line[width:] if head.translate(_ZEROS) == form else line for line, head in zip(lines, heads, strict=True)
        ]


class _Shapes:
    """Which shapes were looked at and what they are worth, forgotten and learned anew when they are too many."""

    def __init__(self, worth: Callable[[bytes], int]) -> None:
        self._worth = worth
        self._size = 0
        self._known: set[bytes] = set()
        self._telling: dict[bytes, int] = {}

    def among(self, shapes: set[bytes]) -> dict[bytes, int]:
        """The telling ones among these, and what each is worth."""
        if self._size > MAX_REMEMBERED_BYTES:
            self._size = 0
            self._known.clear()
            self._telling.clear()
        fresh = shapes - self._known
        if fresh:
            self._learn(fresh)
        return {form: self._telling[form] for form in shapes & self._telling.keys()}

    def _learn(self, fresh: set[bytes]) -> None:
        self._size += sum(map(len, fresh)) + 100 * len(fresh)
        self._known |= fresh
        if self._worth(b"\n".join(fresh)) != IGNORE:
            self._telling.update((form, worth) for form in fresh if (worth := self._worth(form)) != IGNORE)


class _Known:
    """Lines that were looked into and need not be again, within bounds."""

    def __init__(self) -> None:
        self._lines: set[bytes] = set()
        self._size = 0

    def places_of_others(self, lines: list[bytes]) -> list[int]:
        """Where among these the lines stand that are not known."""
        known = self._lines
        return [place for place, line in enumerate(lines) if line not in known]

    def add(self, lines: list[bytes]) -> None:
        """Lines that were looked into."""
        for line in lines:
            if self._size >= MAX_REMEMBERED_BYTES:
                return
            if line not in self._lines:
                self._lines.add(line)
                self._size += len(line) + 100


class _Fingerprints:
    """The same for large logs, by Python's 64-bit hashes of the lines (SipHash, with another key in each process).

    A set of lines costs several misses of the processor's caches for each line of the log, this table one, and numpy
    looks up a block at once. Of two lines with the same place in the table the later one is known. That a line is
    taken for another one is as likely as that 44 bits, those that its place does not say, are alike by chance.
    """

    def __init__(self) -> None:
        import numpy as np

        self._np = np
        self._table = np.zeros(_PLACES, np.int64)
        self._table[0] = 1  # which is not at home here; 0, an empty line's, would be

    def places_of_others(self, lines: list[bytes]) -> list[int]:
        """Where among these the lines stand that are not known."""
        prints = self._prints(lines)
        found: list[int] = self._np.flatnonzero(self._table[prints & (_PLACES - 1)] != prints).tolist()
        return found

    def add(self, lines: list[bytes]) -> None:
        """Lines that were looked into."""
        prints = self._prints(lines)
        self._table[prints & (_PLACES - 1)] = prints

    def _prints(self, lines: list[bytes]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return self._np.fromiter(map(hash, lines), self._np.int64, len(lines))


class _Memory:
    """What was seen, within bounds."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._size = 0

    def add(self, thing: bytes) -> bool:
        """Whether it is new, as far as is remembered."""
        if thing in self._seen:
            return False
        if self._size > MAX_REMEMBERED_BYTES or len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
            self._size = 0
        self._seen.add(thing)
        self._size += len(thing)
        return True


def to_line(number: int, line: bytes) -> Line:
    """Decode and peel."""
    raw = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
    text, rank = peel(raw)
    return Line(number, text, raw, rank)


#: Where a line that is a JSON object has its message: Docker, fluent-bit, loggers of Python, Google's, Loki's.
MESSAGE_KEYS = ("log", "message", "msg", "textPayload", "line")


def _unwrapped(raw: str) -> str:
    """The message of a line that is a JSON object, as log collectors and Docker's json-file driver write them."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    found = (value.get(key) for key in MESSAGE_KEYS) if isinstance(value, dict) else ()
    return next((text.rstrip("\r\n") for text in found if isinstance(text, str)), raw)


def segments(head: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each match of ``head`` and the text up to the next: processes that share a stream interrupt one another."""
    heads = list(head.finditer(text))
    ends = [*(found.start() for found in heads), len(text)][1:]
    for found, end in zip(heads, ends, strict=False):
        yield found, text[found.end() : end]


_ANSI = re.compile(
    r"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_()][0-9A-Za-z]?)"
)
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
#: Launchers and collectors put these in front of a line, in any combination.
_PREFIX = re.compile(
    r"\ufeff"
    # Open MPI --tag-output: [job,rank]<stdout>:, 5.x --output tag: [namespace@job,rank]<stdout>:, tag-detailed: a host
    r"|\[(?:[^\]\[\s,]{1,120}@)?\d{1,10},(?P<tag>\d{1,9})\](?:\[[^\]\[\s]{1,120}\])?<std(?:out|err|diag)>: ?"
    r"|<std(?:out|err|diag)>: ?"
    # mpiexec -l of Hydra, Intel MPI's rank, srun -l
    r"|\[(?P<hydra>\d{1,7})\](?:: ?| (?!NCCL ))"
    # horovodrun with Gloo, SageMaker's mpirun
    r"|\[(?P<horovod>\d{1,7})\]<std(?:out|err)>: ?"
    r"|\[\d{1,10},mpirank:(?P<sagemaker>\d{1,9}),[^\]\s]{1,120}\]<std(?:out|err)>: ?"
    r"| {0,6}(?P<srun>\d{1,7}): "
    # torchrun --tee and torch's own errors
    r"|\[(?:rank(?P<torch>\d{1,7})|default\d{1,5})\]: ?"
    # ISO 8601 and its relatives, in brackets or not; a clock alone
    rf"|[\[(<]?\d{{4}}[-/]\d\d[-/]\d\d[T _]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?(?: ?[:,|])* ?"
    # ... and what journalctl's short-iso has behind it
    r"(?:[\w.-]{1,80} [\w./()-]{1,80}\[\d{1,10}\]: )?"
    rf"|[\[(]?{_CLOCK}[\])]?(?:(?: ?[:|])+ ?| )"
    # Open MPI --timestamp-output
    rf"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{{2}} [ \d]\d {_CLOCK} \d{{4}} ?"
    # syslog, its newer form first (RFC 5424)
    rf"|<\d{{1,3}}>1 \d{{4}}-\d\d-\d\dT{_CLOCK}(?:Z|[+-]\d\d:\d\d) \S{{1,255}} \S{{1,48}} \S{{1,128}} \S{{1,32}} "
    r"(?:-|\[[^\]]{0,1000}\]) ?"
    rf"|(?:<\d{{1,3}}>)?[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} \S{{1,120}} [\w./()-]{{1,80}}(?:\[\d{{1,10}}\])?: "
    # a container runtime's log (CRI), kubectl logs --prefix, docker compose, Ray
    r"|std(?:out|err) [FP] "
    r"|\[pod/[^\]\s]{1,250}\] ?"
    # stern, which has only blanks between the pod, the container and the line: training operators' pods, and others in
    # front of what looks like a line of a runtime
    r"|(?:[a-z0-9.-]{1,200}-)?(?:worker|launcher|master|chief)-(?:\d{1,5}|[a-z0-9]{5}) [a-z0-9][a-z0-9-]{0,62} "
    r"|[a-z0-9][a-z0-9.-]{0,200}-(?:\d{1,5}|[a-z0-9]{5}) [a-z0-9][a-z0-9-]{0,62} "
    r"(?=\[|<|\{|\d{4}-|\d{1,7}: |\S{1,253}:\d{1,10}:-?\d{1,10} \[|[NR]CCL |Host \d|libfabric|MPI startup)"
    r"|[\w.-]{1,80}[-_]\d{1,4} +\| "
    r"|\([^()\n]{0,80}\bpid=\d{1,10}(?:, ip=[0-9a-fA-F.:]{1,45})?\) ?"
)


#: More prefixes than this are not taken away.
_MAX_PREFIXES = 16


def peel(text: str) -> tuple[str, int | None]:
    """The text without colours and what launchers and collectors put around it, and the rank that a prefix told.

    Of several ranks the innermost one is that of the job's own launcher.

    >>> peel("2024-05-01T10:00:00.123Z [1,3]<stdout>:n01:17:18 [0] NCCL INFO x")
    ('n01:17:18 [0] NCCL INFO x', 3)
    """
    rank = None
    for _ in range(_MAX_PREFIXES):
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        if text.startswith("{"):
            message = _unwrapped(text)
            if message == text:
                break
            text = message
            continue
        found = _PREFIX.match(text)
        if not found or not found.end():
            break
        told = found["tag"] or found["hydra"] or found["srun"] or found["torch"]
        told = told or found["horovod"] or found["sagemaker"]
        if told is not None:
            rank = int(told)
        text = text[found.end() :]
    return text, rank


#: The same prefixes, and a JSON object up to its message, as shapes.
_PREFIX_SHAPE = re.compile(
    rb"\[[^\]\[\s,]{0,121},\](?:\[[^\]\[\s]{0,120}\])?<st(?:out|rr|ig)>: ?|<st(?:out|rr|ig)>: ?"
    rb"|\[\](?:<st(?:out|rr)>)?: ?|\[\] |\[,mpirnk:,[^\]\s]{0,120}\]<st(?:out|rr)>: ?|\[(?:rnk|ult)\]: ?"
    # A padded number looks like the first one of a table's row, unless another prefix follows.
    rb"|: | {1,6}: (?=[\[<({\x1b:]|--|st(?:out|rr) [FP])"
    rb"|[\[(<]?[-/]{2}[T _]::[.,]?(?: ?(?:Z|UTC|[+-]:?))?[\])>]?(?: ?[:,|])* ?(?:[\w.-]{0,80} [\w./()-]{0,80}\[\]: )?"
    rb"|[\[(]?::[.,]?[\])]?(?:(?: ?[:|])+ ?| )|[A-Z][a-z]{0,2} [A-Z][a-z]{0,2} {2,3}:: {1,2}"
    rb"|<> --T::\.?(?:Z|[+-]:) \S{0,255} \S{0,48} \S{0,128} \S{0,32} (?:-|\[[^\]]{0,1000}\]) ?"
    rb"|(?:<>)?[A-Z][a-z]{0,2} {2,3}:: \S{0,120} [\w./()-]{0,80}(?:\[\])?: |[\w.-]{0,80} [\w./()-]{0,80}\[\]: "
    rb"|st(?:out|rr) [FP] |\[po/[^\]\s]{0,250}\] ?|[\w.-]{0,80}[-_] +\| |\([^()\n]{0,80}\bpi=(?:, ip=[.:]{0,45})?\) ?"
    rb"|(?:[\w.-]{0,200}-)?(?:workr|lunhr|mstr|hi)-\w{0,5} [a-z][\w-]{0,62} "
    rb"|\{[^\n]{0,400}?(?P<escape>\\{0,7})\"(?:"
    + b"|".join(shape(key.encode()) for key in MESSAGE_KEYS)
    + rb")\\{0,7}\": ?\\{0,7}\""
)


_COLOUR_SHAPE = re.compile(rb"\x1b\[[;?]{0,32}[A-Za-z]?|\\{1,9}u\[[;?]{0,32}m")


def peel_shape(form: bytes) -> bytes:
    """A line's shape without the shapes of what launchers and collectors put around it."""
    if b"[" in form:
        form = _COLOUR_SHAPE.sub(b"", form)
    for _ in range(_MAX_PREFIXES):
        found = _PREFIX_SHAPE.match(form)
        if not found or not found.end():
            break
        form = form[found.end() :]
        if (escape := found["escape"]) is not None:  # a JSON object, perhaps in another one: its end goes, too
            quote = rb"(?:\\{1,8}n|(?<!\\))" + re.escape(escape) + b'"'
            form = re.sub(quote + rb"(?:,[^\n]{0,2000})?\}\Z", b"", form)
    return form
