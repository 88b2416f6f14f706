"""What launchers and collectors of logs put around a job's lines: ranks, times, pods, JSON, colours."""

from __future__ import annotations

import json
import re

from ibkit.parsers.log_lines import Line, shape

#: Where a line that is a JSON object has its message: Docker, fluent-bit, loggers of Python, Google's, Loki's.
MESSAGE_KEYS = ("log", "message", "msg", "textPayload", "line")
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
    # ISO 8601 and its relatives, in brackets or not, in a table of CloudWatch's; a clock alone
    rf"|(?: {{0,4}}\| )?[\[(<]?\d{{4}}[-/]\d\d[-/]\d\d[T _]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?(?: ?[:,|])* ?"
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
    # a mail that quotes a log; grep, with the file's name or the line's number; cat -n
    r"|(?:> ?){1,8}"
    r"|[\w./-]{1,120}\.(?:out|err|log|txt):(?:\d{1,9}:(?! \S|\d\d:\d\d(?!:)))?"
    r"|\d{1,9}:(?=[\[<({$+A-Za-z\x1b])"
    r"| {0,8}\d{1,9}\t"
    # the source of a page of a mail archive
    r"|</?(?:p|pre|br|code|span|div|ul|ol|li)(?: [^<>]{0,80})?/?>"
    r"|\([^()\n]{0,80}\bpid=\d{1,10}(?:, ip=[0-9a-fA-F.:]{1,45})?\) ?"
)
#: ... and what stands behind a line there.
_SUFFIX = re.compile(r"(?:</?(?:p|pre|br|code|span|div|ul|ol|li) ?/?>[ \t]{0,8}){1,8}\Z")
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
#: More prefixes than this are not taken away.
_MAX_PREFIXES = 16
#: In so many characters at a line's end.
_MAX_SUFFIX = 200
#: The same prefixes, and a JSON object up to its message, as shapes.
_PREFIX_SHAPE = re.compile(
    rb"\[[^\]\[\s,]{0,121},\](?:\[[^\]\[\s]{0,120}\])?<st(?:out|rr|ig)>: ?|<st(?:out|rr|ig)>: ?"
    rb"|\[\](?:<st(?:out|rr)>)?: ?|\[\] |\[,mpirnk:,[^\]\s]{0,120}\]<st(?:out|rr)>: ?|\[(?:rnk|ult)\]: ?"
    # A padded number looks like the first one of a table's row, unless another prefix follows.
    rb"|: | {1,6}: (?=[\[<({\x1b:]|--|st(?:out|rr) [FP])"
    rb"|(?: {0,4}\| )?[\[(<]?[-/]{2}[T _]::[.,]?(?: ?(?:Z|UTC|[+-]:?))?[\])>]?(?: ?[:,|])* ?"
    rb"(?:[\w.-]{0,80} [\w./()-]{0,80}\[\]: )?"
    rb"|[\[(]?::[.,]?[\])]?(?:(?: ?[:|])+ ?| )|[A-Z][a-z]{0,2} [A-Z][a-z]{0,2} {2,3}:: {1,2}"
    rb"|<> --T::\.?(?:Z|[+-]:) \S{0,255} \S{0,48} \S{0,128} \S{0,32} (?:-|\[[^\]]{0,1000}\]) ?"
    rb"|(?:<>)?[A-Z][a-z]{0,2} {2,3}:: \S{0,120} [\w./()-]{0,80}(?:\[\])?: |[\w.-]{0,80} [\w./()-]{0,80}\[\]: "
    rb"|st(?:out|rr) [FP] |\[po/[^\]\s]{0,250}\] ?|[\w.-]{0,80}[-_] +\| |\([^()\n]{0,80}\bpi=(?:, ip=[.:]{0,45})?\) ?"
    rb"|(?:> ?){1,8}|[\w./-]{0,120}\.(?:out|rr|log|txt)::?|:(?=[\[<({$+A-Za-z\x1b])| {0,8}(?:\t|\\{1,4}t)"
    rb"|</?(?:p|pr|r|o|spn|iv|ul|ol|li)(?: [^<>]{0,80})?/?>|[ \t]{0,12}(?:[-*] `?|`)"
    rb"|(?:[\w.-]{0,200}-)?(?:workr|lunhr|mstr|hi)-\w{0,5} [a-z][\w-]{0,62} "
    rb"|\{[^\n]{0,400}?(?P<escape>\\{0,7})\"(?:"
    + b"|".join(shape(key.encode()) for key in MESSAGE_KEYS)
    + rb")\\{0,7}\": ?\\{0,7}\""
)
_SUFFIX_SHAPE = re.compile(rb"`?(?:</?(?:p|pr|r|o|spn|iv|ul|ol|li) ?/?>[ \t]{0,8}){0,8}\Z")
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
    rank = None
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


def without_bullet(line: Line) -> Line | None:
    """The line without a list's bullet and the marks of code, as texts about logs put them around; None where it has
    none.

    >>> without_bullet(Line(1, "- `libfabric provider: tcp`", "")).text
    'libfabric provider: tcp'
    """
    if line.text.lstrip(" \t")[:1] not in ("-", "*", "`") or not (found := _BULLET.match(line.text)):
        return None
    text, rank = peel(line.text[found.end() :].removesuffix("`" if "`" in found[0] else ""))
    return line._replace(text=text, rank=line.rank if rank is None else rank)


def peel_shape(form: bytes) -> bytes:
    """A line's shape without the shapes of what launchers and collectors put around it."""
    for typeset, plain in _TYPESET_SHAPES:
        form = form.replace(typeset, plain)
    if b"[" in form:
        form = _COLOUR_SHAPE.sub(b"", form)
    for _ in range(_MAX_PREFIXES):
        if form.endswith((b">", b"`")) and (end := _SUFFIX_SHAPE.search(form[-_MAX_SUFFIX:])):
            form = form[: len(form) - len(end[0])]
        found = _PREFIX_SHAPE.match(form)
        if not found or not found.end():
            break
        form = form[found.end() :]
        if (escape := found["escape"]) is not None:  # a JSON object, perhaps in another one: its end goes, too
            quote = rb"(?:\\{1,8}n|(?<!\\))" + re.escape(escape) + b'"'
            form = re.sub(quote + rb"(?:,[^\n]{0,2000})?\}\Z", b"", form)
    return form


def _unwrapped(raw: str) -> str:
    """The message of a line that is a JSON object, as log collectors and Docker's json-file driver write them."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    found = (value.get(key) for key in MESSAGE_KEYS) if isinstance(value, dict) else ()
    return next((text.rstrip("\r\n") for text in found if isinstance(text, str)), raw)
