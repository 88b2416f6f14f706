"""Replace host names, GUIDs, GIDs, IP and MAC addresses, paths and users in a recording, so that it can be given away.

Addresses are recognised wherever they stand. Names are learnt where tools and runtimes print them and then replaced
everywhere; running text is not understood, so a name that stands nowhere else stays. In a job's files the values of
environment variables stay only if the variable is a runtime's.
"""

from __future__ import annotations

import ipaddress
import re
import tempfile
from functools import partial
from typing import Any, BinaryIO, cast

from ibkit.sources.base import (
    CommandAnswer,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    SavedText,
    VerbsAnswer,
)
from ibkit.sources.messages import scrubbed
from ibkit.sources.names import NOBODYS, chunks, names_of
from ibkit.sources.pseudonyms import Pseudonyms
from ibkit.sources.recording import RecordingSource
from ibkit.sources.site import JobFile
from ibkit.sources.writer import Recorded

#: Variables that say how a job shall communicate, and where it runs; all others lose their values.
_HARMLESS = re.compile(
    r"(?:UCX|NCCL|RCCL|OMPI|OPAL|PMIX|PRTE|PMI|I_MPI|FI|MV2|MVP|MPICH|MPIR|HCOLL|SHARP|GLOO|HOROVOD|SLURM|PSM2|PSM3|HFI"
    r"|DAPL|TMI|OMP|IBKIT)_\w+|(?:LOCAL_)?(?:RANK|WORLD_SIZE)|MASTER_(?:ADDR|PORT)|(?:CUDA|ROCR)_VISIBLE_DEVICES"
    r"|MPI_IC_ORDER|MPIRUN_OPTIONS|LD_LIBRARY_PATH|LD_PRELOAD|HOSTNAME|USER|LOGNAME"
)
_SECRET = re.compile(r"\w*(?:PASS|TOKEN|SECRET|CREDENTIAL|COOKIE|AUTH)\w*")
#: The serial numbers of cards and boards that ``devlink -j dev info`` prints, and of modules that ``mlxlink`` does.
_SERIAL = re.compile(
    rb'("(?:board\.)?serial_number":\s{0,9}"|Vendor Serial Number\s{0,40}: |"Vendor Serial Number" ?: ?")[^"\n]{1,200}'
)
_VARIABLE = re.compile(r"([+ \t]{0,20}(?:export |declare -x |setenv )?)([A-Za-z_]\w{0,99})=")
#: In a log only these are taken for variables; in a dump of an environment all are.
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]{2,}")

_X = "[0-9a-fA-F]"
#: Not inside of a word or of a dotted one; dots that only fill up a line do not count.
_START = r"(?<!\w)(?<!\w\.)"
_TOKEN = re.compile(
    rf"(?P<bytes>(?<![\w:])(?:{_X}{{2}}:){{5,19}}{_X}{{2}}(?![\w:]))"
    rf"|(?P<colons>{_START}(?<!:)(?={_X}{{0,4}}:{_X}{{0,4}}:)[0-9a-fA-F:]{{2,39}}"
    r"(?:(?<=:)\d{1,3}(?:\.\d{1,3}){3})?(?![\w:]|\.\d))"
    rf"|(?P<id>(?<![\w-])[SHR]-{_X}{{11,16}}(?!\w))"
    rf"|(?P<hex>(?<!\w)0[xX]{_X}{{11,16}}(?!\w))"
    rf"|(?P<bare>{_START}(?=\d{{0,15}}[a-fA-F]|(?<=\()\d{{16}}\)){_X}{{11,16}}(?![\w.]))"
    # Cray MPICH's version 8.1.25.17 is none.
    rf"|(?P<ipv4>{_START}(?<!version )\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!\.?\w))"
    r"|(?P<path>(?<![\w./)\]])/[\w.+@%~=-]+(?:/[\w.+@%~=-]+)*)"
    r"|(?P<word>[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*(?:\[[0-9,-]{1,999}\])?)"
)
#: A host's name with its domain has no more characters (RFC 1035); longer words are somebody's noise.
_MAX_NAME = 255
_FULL = re.compile(rf"{_X}{{4}}(?::{_X}{{4}}){{7}}")
_FOUR_GROUPS = re.compile(rf"{_X}{{4}}(?::{_X}{{4}}){{3}}")
_LETTERS = re.compile(r"[A-Za-z]+")
_NUMBER_BEFORE = re.compile(r"[\d.]+(?=[A-Za-z])")
#: Parts of paths that are the system's or a library's, and say which.
_SYSTEM_ROOTS = frozenset(("bin", "dev", "etc", "lib", "lib32", "lib64", "opt", "proc", "run", "sbin", "sys", "usr"))
_KEPT_PARTS = re.compile(
    r"tmp|home|scratch|bin|sbin|lib\w{0,3}|share|include|src|[\w+-]+\.so[\d.]*|python[\d.]*"
    r"|(?:openmpi|ompi|ucx|mpich|mvapich\d?|libfabric|nccl|rccl|cuda|rocm|hpcx|hcoll|sharp|pmix|prrte|torch|gloo)[\w.+-]*"
    # Gloo's sources, whose lines tell what failed (gloo/transport/tcp/pair.cc)
    r"|pytorch|third_party|transport|rendezvous|common|tcp|uv|ibverbs"
    r"|(?:address|buffer|context|device|error|helpers|listener|logging|loop|pair|socket|store)\.(?:cc|h)"
)


def anonymised(recorded: Recorded, key: bytes) -> Recorded:
    """The same recording with other names and addresses; ``key`` decides which."""
    scrub = Anonymiser(names_of(recorded), key)
    return Recorded(
        scrub.text(recorded.host),
        recorded.time,
        tuple((scrub.text(name), _source(scrub, source)) for name, source in recorded.hosts),
        _source(scrub, recorded.subnet),
        tuple(JobFile(scrub.text(log.name), partial(_log, scrub, log)) for log in recorded.job),
        None if recorded.note is None else scrub.text(recorded.note),
    )


def _source(scrub: Anonymiser, source: RecordingSource) -> RecordingSource:
    new = RecordingSource(source)
    if look := source.watched:
        new.watched = look._replace(target=scrub.text(look.target), later=_source(scrub, look.later))
    if source.text is not None:
        new.text = SavedText(scrub.text(source.text.path), scrub.data(source.text.data))
    for command in source.commands.values():
        argv = tuple(scrub.text(word) for word in command.argv)
        out, err = scrub.data(_SERIAL.sub(rb"\1removed", command.stdout)), scrub.data(command.stderr)
        new.commands[argv] = CommandAnswer(argv, out, err, *command[3:])
    for file in source.files.values():
        path = _asked(scrub, file.path)
        new.files[path] = FileAnswer(
            path, None if file.data is None else scrub.data(file.data, variables=path.endswith("/environ")), file.error
        )
    for folder in source.folders.values():
        path = _asked(scrub, folder.path)
        new.folders[path] = FolderAnswer(path, folder.entries, folder.error)
    if source.verbs_answer is not None:
        new.verbs_answer = VerbsAnswer(scrub.value(source.verbs_answer.devices), source.verbs_answer.error)
    if source.interfaces_answer is not None:
        interfaces, gateways, error = source.interfaces_answer
        new.interfaces_answer = InterfacesAnswer(scrub.value(interfaces), scrub.value(gateways), error)
    for asked in source.exchanges.values():
        if exchange := scrub.exchange(asked):
            new.exchanges[exchange.address, exchange.request] = exchange
    return new


def _asked(scrub: Anonymiser, path: str) -> str:
    """What the kernel calls things has no names of ours, and must go on matching what will be asked for."""
    return path if path.startswith(("/sys/", "/proc/", "/dev/")) else scrub.text(path)


def _log(scrub: Anonymiser, log: JobFile) -> BinaryIO:
    """A log, piece by piece into a file of its own: it may be larger than the memory."""
    copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - the reader closes it
    with log.open() as file:
        for data in chunks(file):
            copy.write(scrub.data(data, variables=True))
    copy.seek(0)
    return copy


class Anonymiser:
    """Replaces addresses, and the names that it was told."""

    def __init__(self, names: set[str], key: bytes) -> None:
        self._names = names
        stems = {name.rstrip("0123456789") for name in names}
        self._stems = {stem for stem in stems if len(stem) > 1 and not NOBODYS.fullmatch(stem)}
        self._pseudonyms = Pseudonyms(key)

    def data(self, data: bytes, *, variables: bool = False) -> bytes:
        """Any output; bytes that are no UTF-8 stay. ``variables``: take the values of those that are no runtime's."""
        text = data.decode("utf-8", "surrogateescape")
        if variables:
            separator = "\0" if text.count("\0") > text.count("\n") else "\n"  # /proc/PID/environ
            lines = text.split(separator)
            is_dump = sum(_is_variable(line) for line in lines) * 2 > sum(map(bool, lines))
            text = separator.join(_without_value(line, is_dump) for line in lines)
        return self.text(text).encode("utf-8", "surrogateescape")

    def text(self, text: str) -> str:
        """Any text."""
        return _TOKEN.sub(self._token, text)

    def value(self, value: Any) -> Any:
        """JSON-like data."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        return [self.value(part) for part in value] if isinstance(value, list | tuple) else value

    def exchange(self, answer: ExchangeAnswer) -> ExchangeAnswer | None:
        """What a service was asked and replied; None where that cannot be told from names and addresses."""
        return scrubbed(answer, self._pseudonyms, self.text)

    def _token(self, found: re.Match[str]) -> str:
        text, kind = found[0], found.lastgroup
        if kind == "word":
            return self._word(text)
        if kind == "path":
            return self._path(text)
        if kind == "ipv4":
            return self._ipv4(text)
        if kind == "bytes":
            return _in_case(self._bytes(text), text)
        if kind == "colons":
            return _in_case(self._colons(text), text)
        mark = text[:2] if kind in ("id", "hex") else ""
        return mark + _in_case(self._guid(text[len(mark) :]), text[len(mark) :])

    def _guid(self, digits: str) -> str:
        """The vendor's bits come first and stay, so a GUID without its leading zeros stays as long as it was."""
        return f"{self._pseudonyms.guid(int(digits, 16)):0{len(digits)}x}"

    def _bytes(self, text: str) -> str:
        digits = text.replace(":", "").lower()
        if len(digits) == 12:
            digits = f"{self._pseudonyms.mac(int(digits, 16)):012x}"
        elif len(digits) == 16:
            digits = self._guid(digits)
        elif len(digits) == 40:  # IPoIB: flags, QP number, GID
            digits = digits[:8] + self._guid(digits[8:24]) + self._guid(digits[24:])
        return ":".join(digits[i : i + 2] for i in range(0, len(digits), 2))

    def _colons(self, text: str) -> str:
        """A GUID or a prefix as sysfs prints it, a GID, an IPv6 address, or a time of day and its like."""
        if _FOUR_GROUPS.fullmatch(text):
            digits = self._guid(text.replace(":", ""))
            return ":".join(digits[i : i + 4] for i in range(0, 16, 4))
        try:
            old = ipaddress.IPv6Address(text)
        except ValueError:
            return re.sub(r"\w+", lambda word: self._word(word[0]), text)
        new = ipaddress.IPv6Address(self._pseudonyms.ipv6(int(old)))
        if new == old:
            return text
        if _FULL.fullmatch(text):
            return new.exploded
        if "." in text and new.ipv4_mapped:
            return f"{text[: text.rindex(':')]}:{new.ipv4_mapped}"
        return new.compressed

    def _ipv4(self, text: str) -> str:
        try:
            address = ipaddress.IPv4Address(text)
        except ValueError:
            return text
        return str(ipaddress.IPv4Address(self._pseudonyms.ipv4(int(address))))

    def _path(self, path: str) -> str:
        parts = path[1:].split("/")
        replace = self._word if parts[0] in _SYSTEM_ROOTS else self._part
        return "/" + "/".join(map(replace, parts))

    def _part(self, part: str) -> str:
        """One part of a path outside of the system's folders: all of it is somebody's, but for a file's ending."""
        if _KEPT_PARTS.fullmatch(part):
            return part
        stem, dot, ending = part.rpartition(".")
        if stem and ending.isalnum() and len(ending) < 5:
            return self._pseudonym(stem) + dot + ending
        return self._pseudonym(part)

    def _word(self, word: str) -> str:
        """A name, one with something behind it (n01-ib0), or a list of hosts (n[01-04])."""
        if len(word) > _MAX_NAME:
            return word
        stem, bracket, numbers = word.partition("[")
        if bracket:
            return (self._pseudonym(stem) if stem in self._stems else self._word(stem)) + bracket + numbers
        for end in (len(word), *(mark.start() for mark in re.finditer(r"[._-]", word))):
            head, rest = word[:end], word[end:]
            stem = head.rstrip("0123456789")
            if head in self._names or (stem != head and stem in self._stems):
                return self._pseudonym(head) + re.sub(r"[^._-]+", lambda piece: self._piece(piece[0]), rest)
        glued = _NUMBER_BEFORE.match(word)  # a program's number without a line end, then a runtime's line
        return glued[0] + self._word(word[glued.end() :]) if glued else word

    def _piece(self, text: str) -> str:
        return text if NOBODYS.fullmatch(text.lstrip("0123456789") or text) else self._pseudonym(text)

    def _pseudonym(self, name: str) -> str:
        return _LETTERS.sub(lambda run: self._pseudonyms.letters(run[0]), name)


def _is_variable(line: str) -> bool:
    found = _VARIABLE.match(line)
    return found is not None and _CAPITALS.fullmatch(found[2]) is not None


def _without_value(line: str, is_dump: bool) -> str:
    found = _VARIABLE.match(line)
    if found is None or not (is_dump or _CAPITALS.fullmatch(found[2])):
        return line
    if _HARMLESS.fullmatch(found[2]) and not _SECRET.fullmatch(found[2]):
        return line
    return found[0] + "removed"


def _in_case(new: str, old: str) -> str:
    return new.upper() if old == old.upper() != old.lower() else new
