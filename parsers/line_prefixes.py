"""What launchers and collectors of logs put around a job's lines: ranks, times, pods, JSON, colours."""

from __future__ import annotations

import json
import re

from ibkit.parsers.log_lines import Line

#: Where a line that is a JSON object has its message: Docker, fluent-bit, loggers of Python, journalctl, Google, Loki.
MESSAGE_KEYS = ("log", "message", "msg", "MESSAGE", "textPayload", "line")
_ANSI = re.compile(
    r"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|[\]_P^X][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_()][0-9A-Za-z]?)"
)
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[A-Z]{1,3}T(?=[ \])])|[+-]\d\d:?\d\d))?"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
#: Behind the time of a journal or of syslog: the host, who logs there, and the number of its process. Where that is
#: missing the host's name has a digit: "libfabric provider: tcp" is no host's.
_LOGGER = (
    r"(?!MPICH2 |MVAPICH2 )(?:[\w.-]{1,120}|[0-9a-f:]{2,45}) [\w./()-]{1,80}\[\d{1,10}\]: "
    r"|(?!MPICH2 |MVAPICH2 )(?=[\d.]*[A-Za-z.])(?=[^\s\d]{0,120}\d)[\w.-]{1,120} (?!\d{1,7}: )[\w./()-]{1,80}: "
)
_LAUNCHERS = (
    # Open MPI --tag-output: [job,rank]<stdout>:, 5.x --output tag: [namespace@job,rank]<stdout>:, tag-detailed: a host
    r"\[(?:[^\]\[\s,]{1,120}@)?\d{1,10},(?P<tag>\d{1,9})\](?:\[[^\]\[\s]{1,120}\])?<std(?:out|err|diag)>: ?",
    r"<std(?:out|err|diag)>: ?",
    # ... --xml
    r'<std(?:out|err|diag) rank="(?P<xml>\d{1,9})">',
    # mpiexec -l of Hydra, Intel MPI's rank, srun -l, HPE's PALS
    r"\[(?P<hydra>\d{1,7})\](?:: ?| (?!NCCL (?:INFO|WARN)))",
    r" {0,6}(?P<srun>\d{1,7}): ",
    r"(?:nid\d|x\d{1,6}c)\w{1,60} (?P<pals>\d{1,7}): ",
    # horovodrun with Gloo, SageMaker's mpirun
    r"\[(?P<horovod>\d{1,7})\]<std(?:out|err)>: ?",
    r"\[\d{1,10},mpirank:(?P<sagemaker>\d{1,9}),[^\]\s]{1,120}\]<std(?:out|err)>: ?",
    # torchrun --tee, with the role, and torch's own errors; Determined; Ray
    r"\[(?:rank(?P<torch>\d{1,7})|(?:default|trainer|worker)\d{1,5})\]: ?",
    r"(?:\[[0-9a-f]{8}\] |[0-9a-f]{8} \|\| )?\[rank=(?P<determined>\d{1,7})\] (?:\|\| )?",
    r"\([^()\n]{0,80}\bpid=\d{1,10}(?:, ip=[0-9a-fA-F.:]{1,45})?\) ?",
)
_TIMES = (
    # ISO 8601 and its relatives, in brackets or not, in a table of CloudWatch's
    rf"(?: {{0,4}}\| )?[\[(<]?(?:{_DAY} )?(?:\d{{4}}[-/]\d\d[-/]\d\d[T _]|\d\d[./-](?:\d\d|{_MONTH})[./-]\d{{4}} )"
    rf"{_CLOCK}(?: [AP]M)?{_ZONE}[\])>]?(?: ?[:,|])*[ \t]?"
    # ... and what journals, GitLab and SageMaker's streams have behind it
    rf"(?:\d\d[OE][+ ]|[\w.-]{{1,200}}/algo-\d{{1,4}}-\d{{6,13}} |{_LOGGER})?",
    # a clock alone, TeamCity's
    rf"[\[(]?{_CLOCK}[\])]?(?:[a-zA-Z]?(?: ?:)?\s{{1,4}}\[Step \d{{1,4}}/\d{{1,4}}\] |(?: ?[:|])+ ?| {{1,2}})",
    # Open MPI --timestamp-output, date, dmesg -T
    rf"\[?{_DAY} {_MONTH} [ \d]\d {_CLOCK} (?:[A-Z]{{2,5}} )?\d{{4}}\]? ?",
    # syslog, its newer form first (RFC 5424); without a logger it is the time of ts
    rf"<\d{{1,3}}>1 \d{{4}}-\d\d-\d\dT{_CLOCK}(?:Z|[+-]\d\d:\d\d) \S{{1,255}} \S{{1,48}} \S{{1,128}} \S{{1,32}} "
    r"(?:-|(?:\[(?:[^\]\\]|\\.){0,1000}\]){1,8}) ?",
    rf"(?:<\d{{1,3}}>)?{_MONTH} [ \d]\d {_CLOCK} (?:{_LOGGER})?",
    # seconds since 1970, those of a journal since the start, multilog's
    r"1\d{9}(?:\.\d{1,9})?[ \t]",
    rf"\[ {{0,8}}\d{{1,9}}\.\d{{6}}\] (?:{_LOGGER})",
    r"@4[0-9a-f]{23} ",
)
_LOGGERS = (
    # klog and glog, zap, Python's logging, DeepSpeed's launcher, loguru
    rf"[IWEF]\d{{4}}(?:\d{{4}})? {_CLOCK} {{1,8}}\d{{1,10}} [\w./-]{{1,120}}:\d{{1,7}}\] ",
    rf"{_LEVEL}\t(?:[\w./-]{{1,120}}:\d{{1,7}}\t)?",
    rf"(?:- )?[\w.]{{1,80}} - {_LEVEL} - ",
    rf"{_LEVEL}:[\w.]{{1,80}}:",
    rf"\[{_LEVEL}\] (?:\[[\w./-]{{1,120}}\.py:\d{{1,7}}(?::\w{{1,80}})?\] )?",
    rf"{_LEVEL} {{0,8}}\| [\w.<>]{{1,120}}:[\w.<>]{{1,80}}:\d{{1,7}} - ",
)
_COLLECTORS = (
    # a container runtime's log (CRI), kubectl logs --prefix
    r"std(?:out|err) [FP] ",
    r"\[pod/[^\]\s]{1,250}\] ?",
    # stern, which has only blanks between the pod, the container and the line: training operators' pods, and others in
    # front of what looks like a line of a runtime
    r"(?:[a-z0-9.-]{1,200}-)?(?:worker|launcher|master|chief)-(?:\d{1,5}|[a-z0-9]{5}) [a-z0-9][a-z0-9-]{0,62} ",
    r"[a-z0-9][a-z0-9.-]{0,200}-(?:\d{1,5}|[a-z0-9]{5}) [a-z0-9][a-z0-9-]{0,62} "
    r"(?=\[|<|\{|\d{4}-|\d{1,7}: |\S{1,253}:\d{1,10}:-?\d{1,10} \[|[NR]CCL |Host \d|libfabric|MPI startup)",
    # docker compose and swarm, pm2; Open MPI's table has a line " host | 0 1"
    r"(?!host )(?:\d{1,4}\|)?[\w.-]{1,80}(?:@[\w.-]{1,80})? +\| ",
    # a record's tag (fluentd)
    r'[\w.-]{1,250}(?:: |\t)(?=\{")',
    # CI: gh run view, Bamboo, the annotations of runners
    rf"(?! {{0,8}}\d{{1,9}}\t)(?:[^\t\n]{{1,100}}\t){{1,2}}\ufeff?(?=\d{{4}}-\d\d-\d\dT|\d\d-{_MONTH}-\d{{4}} )",
    r"##\[\w{1,20}\]",
)
_PASTED = (
    r"\ufeff",
    # where a file was emptied that a program still writes to
    r"\x00{1,65536}",
    # a mail that quotes a log; grep, with the file's name or the line's number; cat -n
    r"(?:> ?){1,8}",
    r"[\w./-]{1,120}(?:\.(?:out|err|log|txt)|mca-params\.conf):(?:\d{1,9}:(?! \S|\d\d:\d\d(?!:)))?",
    r"\d{1,9}:(?=[\[<({$+@=A-Za-z\x1b\t]|-{5}|\d{4}-\d\d-)",
    r" {0,8}\d{1,9}\t",
    # the source of a page of a mail archive
    r"</?(?:p|pre|br|code|span|div|ul|ol|li)(?: [^<>]{0,80})?/?>",
    # ctest -V, behind the test's number
    r"Test command: (?=\S)",
)
#: These stand in front of a line in any combination. Its groups tell the rank.
_PREFIX = re.compile("|".join((*_LAUNCHERS, *_TIMES, *_LOGGERS, *_COLLECTORS, *_PASTED)))
#: ... and what stands behind a line there.
_SUFFIX = re.compile(r"(?:&#010;|</?(?:p|pre|br|code|span|div|ul|ol|li|std(?:out|err|diag)) ?/?>[ \t]{0,8}){1,8}\Z")
#: A list's bullet, and the mark of code in a text. ``+`` is a shell's that prints its commands.
_BULLET = re.compile(r"[ \t]{0,12}(?:[-*] `?|`)(?=[^`])")
#: What word processors, mails and web pages make of blanks and quotation marks, and of HTML's own characters.
_TYPESET = {0xA0: " ", 0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
_ENTITIES = (
    ("&nbsp;", " "),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&amp;", "&"),
)
#: The same in shapes.
_TYPESET_SHAPES = ((b"\xc2\xa0", b" "), (b"&nsp;", b" "), (b"&lt;", b"<"), (b"&gt;", b">"))
#: So many hosts are remembered, taken away from one line, and looked for in so many characters behind a label.
_MAX_HOSTS = 100_000
_MAX_LABELS = 3
_SIGHT = 100
#: More prefixes than this are not taken away.
_MAX_PREFIXES = 16
#: In so many characters at a line's end.
_MAX_SUFFIX = 200
_COLOUR_SHAPE = re.compile(rb"\x1b\[[;?]{0,32}[A-Za-z]?|\\{1,9}u\[[;?]{0,32}m")


def to_line(number: int, line: bytes) -> Line:
    """Decode and peel."""
    raw = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
    text, rank = peel(raw)
    return Line(number, text, raw, rank)


def peel(text: str) -> tuple[str, int | None]:
    """The text without colours and what launchers and collectors put around it, and the rank that a prefix told.

    Of several ranks the innermost one is that of the job's own launcher.

    >>> peel("2024-05-01T10:00:00.123Z [1,3]<stdout>:n01:17:18 [0] NCCL INFO x")
    ('n01:17:18 [0] NCCL INFO x', 3)
    """
    text, ranks = _peeled(text)
    return text, ranks[-1][1] if ranks else None


def _peeled(text: str) -> tuple[str, list[tuple[str, int]]]:
    """The text, and the ranks that prefixes told, the innermost one last, each with its prefix's group."""
    ranks = []
    if not text.isascii():
        text = text.translate(_TYPESET)
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    for _ in range(_MAX_PREFIXES):
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        if text.endswith(">") and (end := _SUFFIX.search(text[-_MAX_SUFFIX:])):
            text = text[: len(text) - len(end[0])]
        if text.startswith("{") or _RECORD.match(text):
            message = _unwrapped(text)
            if message == text:
                break
            text = message
            continue
        found = _PREFIX.match(text)
        if not found or not found.end():
            break
        if found.lastgroup is not None:
            ranks.append((found.lastgroup, int(found[found.lastgroup])))
        text = text[found.end() :]
    return text, ranks


def without_bullet(line: Line) -> Line | None:
    """The line without a list's bullet and the marks of code, as texts about logs put them around; None where it has
    none.

    >>> without_bullet(Line(1, "- `libfabric provider: tcp`", "")).text
    'libfabric provider: tcp'
    """
    if line.text.lstrip(" \t")[:1] not in ("-", "*", "`") or not (found := _BULLET.match(line.text)):
        return None
    rest = line.text[found.end() :]
    text, rank = peel(rest.rstrip().removesuffix("`") if "`" in found[0] else rest)
    return line._replace(text=text, rank=line.rank if rank is None else rank)


#: pdsh, clush and the launchers of training frameworks put the host before each line, GNU parallel before a tab, pssh,
#: fabric and kubetail in brackets.
_HOST = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]{0,100})(?:: |\t)|\[(?P<bracketed>[A-Za-z][\w.-]{0,100})\](?: out)?:? ")
#: Names with a digit that are no hosts'.
_NO_HOST = re.compile(
    r"(?:mlx|hfi|bnxt|irdma|ib|eth|en|bond|hsn|gpu|cuda|ucx|psm|mpich|mvapich)[\w-]{0,20}\Z", re.IGNORECASE
)


#: What some tools put before all lines: the line's number (less -N, editors), a bar, a word or a host with a colon,
#: columns (CloudWatch: the group, the stream, the milliseconds, and once more behind the line).
_FRAME = re.compile(
    r" {0,8}(?:(?P<number>\d{1,9}) {1,2}|(?P<label>\||[A-Za-z][\w.-]{0,60}:"
    r"|[\w.-]{1,120}/default/[0-9a-f]{8,40}(?= )|(?:(?=[^\t]{0,200}[A-Za-z/])[\w./:$\[\]-]{1,200}\t){1,3})"
    r" ?(?:\d{13}\t)?)"
)
_FRAME_END = re.compile(r"\t\d{13}\Z")
#: How a line of a runtime begins, where nothing stands before it.
_BEGIN = re.compile(
    r"\[|\S{1,253}:\d{1,10}:-?\d{1,10} \[|[NR]CCL |Host \d|libfabric provider: |MPI startup|mpirun |mpiexec |srun "
    r"|-{20}"
)
_MAX_FRAMES = 1000


class _Frames:
    """Takes away what stands before all lines of a stream: a line's number, or a label.

    Words of messages look so, too. A label is one from the line on in which a runtime's line begins behind it; and as
    soon as a line has none, nothing is taken away any more.
    """

    def __init__(self) -> None:
        self._labels: set[str] = set()
        self._first_number: int | None = None
        self._are_on_all_lines = True

    def without(self, line: Line) -> Line:
        """The line without it and the prefixes behind that."""
        if not self._are_on_all_lines:
            return line
        found = _FRAME.match(line.text)
        if not found or not self._is_frame(found, line):
            self._are_on_all_lines = False
            return line
        text, rank = peel(_FRAME_END.sub("", line.text[found.end() :]))
        return line._replace(text=text, rank=line.rank if rank is None else rank)

    def _is_frame(self, found: re.Match[str], line: Line) -> bool:
        begins = _BEGIN.match(line.text, found.end())
        if found["number"]:
            first = int(found["number"]) - line.number
            if self._first_number is None and (begins or not first):
                self._first_number = first
            return first == self._first_number
        if begins and len(self._labels) < _MAX_FRAMES:
            self._labels.add(found["label"])
        return found["label"] in self._labels


#: Behind ``3: `` ctest tells what it runs.
_TEST_COMMAND = re.compile(r"\d{1,7}: Test command: ")
#: A line with nothing but a number before it: most of a log's are like that, or none.
_NUMBER_ALONE = re.compile(r" {0,6}(\d{1,7}): (?! {0,6}\d{1,7}: |Test command: )")
#: The group of the prefix that is a number and a colon.
_NUMBER = "srun"


class _Numbers:
    """Whether ``3: `` in front of a stream's lines is a rank (srun -l) or a test (ctest -V, which counts from 1).

    It is a rank from the line on by which rank 0 is there. Where ctest tells a test's command, or a number has another
    one behind it, the first of them is none.
    """

    def __init__(self) -> None:
        self._have_first = False
        self._are_tests = False

    def checked(self, line: Line) -> Line:
        """The line, without a rank that may be a test's number."""
        if f"{line.rank}: " not in line.raw:
            return line
        if self._have_first and not self._are_tests:
            alone = _NUMBER_ALONE.match(line.raw)
            if alone and int(alone[1]) == line.rank:
                return line
        _, ranks = _peeled(line.raw)
        if not ranks or ranks[-1] != (_NUMBER, line.rank):
            return line
        numbers = sum(1 for group, _ in ranks if group == _NUMBER)
        self._are_tests |= numbers > 1 or _TEST_COMMAND.search(line.raw) is not None
        is_test = self._are_tests and numbers == 1
        self._have_first |= line.rank == 0 and not is_test
        return line if self._have_first and not is_test else line._replace(rank=None)


class HostLabels:
    """Takes a host's name away that stands in front of a stream's lines, and a rank that may be another number.

    Other words look so, too. A name is a host's from the line on that names it again; and as long as no line was
    without one, if it has a digit.
    """

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        self._are_on_all_lines = True
        self._frames = _Frames()
        self._numbers = _Numbers()

    def without(self, line: Line) -> Line:
        """The line without its label and the prefixes behind that."""
        if line.rank is not None:
            line = self._numbers.checked(line)
        labels = 0
        while labels < _MAX_LABELS and (found := _HOST.match(line.text)):
            if not self._is_host(found["name"] or found["bracketed"], line.text[found.end() : found.end() + _SIGHT]):
                break
            labels += 1
            text, rank = peel(line.text[found.end() :])
            line = line._replace(text=text, rank=line.rank if rank is None else rank)
        self._are_on_all_lines &= labels > 0
        return line if labels else self._frames.without(line)

    def _is_host(self, name: str, rest: str) -> bool:
        if name in self._hosts:
            return True
        if re.search(rf"(?<![\w.-]){re.escape(name.partition('.')[0])}[\w.]{{0,100}} ?:\d", rest):
            if len(self._hosts) < _MAX_HOSTS:
                self._hosts.add(name)
            return True
        return self._are_on_all_lines and any(map(str.isdigit, name)) and not _NO_HOST.match(name)


def plain_shapes(forms: bytes) -> bytes:
    """Shapes, one a line, without colours and with the characters that pasting has changed.

    Prefixes stay: what a reader looks for in a shape may stand behind some.
    """
    for typeset, plain in _TYPESET_SHAPES:
        forms = forms.replace(typeset, plain)
    return _COLOUR_SHAPE.sub(b"", forms) if b"[" in forms else forms


#: Records that are no JSON objects: logfmt, fluent-bit's on its standard output.
_LOGFMT = r'(?:[\w.]{1,40}=(?:"[^"\n]{0,200}"|[^\s"]{0,200}) ){0,10}(?:msg|message)=(?P<string>"(?:[^"\\]|\\.)*")'
_FLUENT_BIT = r"\[\d{1,9}\] [\w.*-]{1,250}: \[\[?\d{1,12}\.\d{1,9},(?: \{\}\],)? (?P<object>\{.*\})\]\Z"
_RECORD = re.compile(f"{_LOGFMT}|{_FLUENT_BIT}")
#: The labels of a stream in front of its line (Loki's logcli).
_LABELS = re.compile(r'\{(?:\w{1,80}="[^"\n]{0,200}"(?:, ?)?){1,40}\} ')


def _unwrapped(text: str) -> str:
    """The message of a line that is a record as log collectors and Docker's json-file driver write them."""
    if labels := _LABELS.match(text):
        return text[labels.end() :]
    raw = text
    if record := _RECORD.match(text):
        raw = record["string"] or record["object"].replace('"=>', '":')
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, str):
        return value.rstrip("\r\n")
    found = (value.get(key) for key in MESSAGE_KEYS) if isinstance(value, dict) else ()
    return next((message.rstrip("\r\n") for message in found if isinstance(message, str)), text)
