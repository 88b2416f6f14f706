"""``manifest.json`` of a capture: what was asked, what was answered, and in which file. See docs/capture.md.

The text is other people's, so every entry is checked before anything relies on it; a finding names the entry.
"""

from __future__ import annotations

import json

from ibkit.parsers.erased import Any, NoReturn
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Entry, ExchangeAnswer, InterfacesAnswer

FORMAT = "ibkit-capture/1"
MANIFEST = "manifest.json"
#: 30 hosts with eight HCAs each; JSON takes about ten times its size in memory (bytes).
MAX_MANIFEST_BYTES = 32 << 20


class BadManifest(ValueError):
    """What is wrong, and in which entry."""


class RecordedCommand(NamedTuple):
    """``stdout`` and ``stderr`` are file names, None for nothing printed."""

    argv: tuple[str, ...]
    stdout: str | None
    stderr: str | None
    exit_status: int | None
    seconds: float
    failure: str | None


class RecordedFile(NamedTuple):
    """Its bytes as written in the manifest, or the name of the file that holds them, or an error."""

    path: str
    data: bytes | None
    file: str | None
    error: str | None


class RecordedFolder(NamedTuple):
    """Its entries, or an error."""

    path: str
    entries: tuple[Entry, ...] | None
    error: str | None


class RecordedVerbs(NamedTuple):
    """What pyverbs returned."""

    devices: Any
    error: str | None


class RecordedText(NamedTuple):
    """What somebody saved of a tool: the file as it was named then, and the name of the file that holds it."""

    path: str
    file: str


class Answers(NamedTuple):
    """All answers of one source by what was asked; or a saved ``text``, which stands in the place of answers."""

    commands: dict[tuple[str, ...], RecordedCommand]
    files: dict[str, RecordedFile]
    folders: dict[str, RecordedFolder]
    verbs: RecordedVerbs | None
    exchanges: dict[tuple[str, bytes], ExchangeAnswer]
    text: RecordedText | None = None
    interfaces: InterfacesAnswer | None = None


class RecordedLook(NamedTuple):
    """A second look at a host, ``seconds`` after the first one, at a job's processes."""

    target: str
    seconds: float
    answers: Answers


class RecordedHost(NamedTuple):
    """A host's answers; ``watched`` where it was looked at twice."""

    name: str
    answers: Answers
    watched: RecordedLook | None


class Manifest(NamedTuple):
    """The whole of it. ``job`` names the job's files."""

    time: str | None
    note: str | None
    hosts: tuple[RecordedHost, ...]
    subnet: Answers
    job: tuple[str, ...]


def read_manifest(data: bytes) -> Manifest:
    """Check and take over a manifest. Raises BadManifest."""
    try:
        top = json.loads(data, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise BadManifest(f"line {error.lineno}: not JSON ({error.msg})") from error
    except RecursionError as error:
        raise BadManifest("not JSON that anybody wrote: nested too deep") from error
    except ValueError as error:  # broken UTF-8, NaN, a number of 5,000 digits
        raise BadManifest(f"not JSON ({error})") from error
    if not isinstance(top, dict) or top.get("format") != FORMAT:
        found = top.get("format") if isinstance(top, dict) else None
        raise BadManifest(f"its format is {_short(found)}, this ibkit reads {FORMAT!r}")
    hosts = []
    for index, host in enumerate(_list(top.get("hosts", []), "hosts")):
        where = f"hosts[{index}]"
        name = _text(_dict(host, where).get("name"), f"{where}.name")
        answers = _answers(host.get("answers"), f"{where}.answers")
        hosts.append(RecordedHost(name, answers, _look(host.get("watched"), f"{where}.watched")))
    return Manifest(
        _text_or_none(top.get("time"), "time"),
        _text_or_none(top.get("note"), "note"),
        tuple(hosts),
        _answers(top.get("subnet", []), "subnet"),
        tuple(_file_name(name, "job") for name in _list(top.get("job", []), "job")),
    )


def _answers(values: Any, where: str) -> Answers:
    answers = Answers({}, {}, {}, None, {})
    for index, value in enumerate(_list(values, where)):
        at = f"{where}[{index}]"
        kind = _dict(value, at).get("kind")
        if kind == "command":
            command = _command(value, at)
            _add(answers.commands, command.argv, command, at)
        elif kind == "file":
            file = _file(value, at)
            _add(answers.files, file.path, file, at)
        elif kind == "folder":
            folder = _folder(value, at)
            _add(answers.folders, folder.path, folder, at)
        elif kind == "exchange":
            exchange = _exchange(value, at)
            _add(answers.exchanges, (exchange.address, exchange.request), exchange, at)
        elif kind == "verbs" and answers.verbs is None:
            answers = answers._replace(
                verbs=RecordedVerbs(value.get("devices"), _text_or_none(value.get("error"), f"{at}.error"))
            )
        elif kind == "interfaces" and answers.interfaces is None:
            error = _text_or_none(value.get("error"), f"{at}.error")
            told = InterfacesAnswer(value.get("interfaces"), value.get("gateways"), error)
            answers = answers._replace(interfaces=told)
        elif kind == "text" and answers.text is None:
            text = RecordedText(_text(value.get("path"), f"{at}.path"), _file_name(value.get("file"), f"{at}.file"))
            answers = answers._replace(text=text)
        else:
            raise BadManifest(
                f"{at}.kind is {_short(kind)}, not command, file, folder, exchange or (once) verbs, interfaces or text"
            )
    if answers.text and any((*answers[:5], answers.interfaces)):
        raise BadManifest(f"{where} holds a saved text and other answers, which would contradict each other")
    return answers


def _look(value: Any, at: str) -> RecordedLook | None:
    if value is None:
        return None
    target = _text(_dict(value, at).get("target"), f"{at}.target")
    answers = _answers(value.get("answers"), f"{at}.answers")
    if answers.text:
        raise BadManifest(f"{at} holds a saved text, which is no second look")
    return RecordedLook(target, _seconds(value.get("seconds"), at), answers)


def _seconds(value: Any, at: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise BadManifest(f"{at}.seconds is {_short(value)}, not a time")
    return float(value)


def _add(answers: dict[Any, Any], key: Any, answer: Any, at: str) -> None:
    if key in answers:
        raise BadManifest(f"{at}: a second answer for {_short(key)}")
    answers[key] = answer


def _command(value: dict[str, Any], at: str) -> RecordedCommand:
    argv = tuple(_text(word, f"{at}.argv") for word in _list(value.get("argv"), f"{at}.argv"))
    if not argv:
        raise BadManifest(f"{at}.argv is empty")
    return RecordedCommand(
        argv,
        _file_name_or_none(value.get("stdout"), f"{at}.stdout"),
        _file_name_or_none(value.get("stderr"), f"{at}.stderr"),
        _number_or_none(value.get("exit_status"), -255, 255, f"{at}.exit_status"),
        _seconds(value.get("seconds", 0), at),
        _text_or_none(value.get("failure"), f"{at}.failure"),
    )


def _file(value: dict[str, Any], at: str) -> RecordedFile:
    text = _text_or_none(value.get("text"), f"{at}.text")
    try:
        data = None if text is None else text.encode()
    except UnicodeEncodeError as error:
        raise BadManifest(f"{at}.text holds half a character") from error
    answer = RecordedFile(
        _text(value.get("path"), f"{at}.path"),
        data,
        _file_name_or_none(value.get("file"), f"{at}.file"),
        _text_or_none(value.get("error"), f"{at}.error"),
    )
    if answer[1:].count(None) != 2:
        raise BadManifest(f"{at} has to hold exactly one of text, file and error")
    return answer


def _folder(value: dict[str, Any], at: str) -> RecordedFolder:
    path = _text(value.get("path"), f"{at}.path")
    error = _text_or_none(value.get("error"), f"{at}.error")
    if error is not None:
        return RecordedFolder(path, None, error)
    at = f"{at}.entries"
    return RecordedFolder(path, tuple(_entry(entry, at) for entry in _list(value.get("entries"), at)), None)


def _exchange(value: dict[str, Any], at: str) -> ExchangeAnswer:
    return ExchangeAnswer(
        _text(value.get("address"), f"{at}.address"),
        _bytes(value.get("request"), f"{at}.request"),
        _bytes(value.get("reply", ""), f"{at}.reply"),
        _text_or_none(value.get("error"), f"{at}.error"),
    )


def _entry(value: Any, at: str) -> Entry:
    if not isinstance(value, list) or not 2 <= len(value) <= len(Entry._fields):
        raise BadManifest(f"{at} holds {_short(value)}, not [name, kind, target, mode, uid, gid]")
    name, kind, target, *numbers = value + [None] * (len(Entry._fields) - len(value))
    if "/" in _text(name, at):
        raise BadManifest(f"{at} holds {_short(name)}, which is no name")
    mode, uid, gid = (_number_or_none(number, 0, (1 << 32) - 1, at) for number in numbers)
    return Entry(name, _text(kind, at), _text_or_none(target, at), mode, uid, gid)


def _file_name(value: Any, at: str) -> str:
    """A file of the capture. Whoever opens it relies on this check."""
    parts = _text(value, at).split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in value:
        raise BadManifest(f"{at} is {_short(value)}, which leads out of the capture or names no file in it")
    return "/".join(parts)


def _file_name_or_none(value: Any, at: str) -> str | None:
    return None if value is None else _file_name(value, at)


def _bytes(value: Any, at: str) -> bytes:
    """Bytes as hexadecimal digits."""
    try:
        return bytes.fromhex(_text(value, at))
    except ValueError as error:
        raise BadManifest(f"{at} is {_short(value)}, not pairs of hexadecimal digits") from error


def _text(value: Any, at: str) -> str:
    if isinstance(value, str):
        return value
    raise BadManifest(f"{at} is {_short(value)}, not a text")


def _text_or_none(value: Any, at: str) -> str | None:
    return None if value is None else _text(value, at)


def _list(value: Any, at: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise BadManifest(f"{at} is {_short(value)}, not a list")


def _dict(value: Any, at: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise BadManifest(f"{at} is {_short(value)}, not an object")


def _number_or_none(value: Any, low: int, high: int, at: str) -> int | None:
    if value is None or (type(value) is int and low <= value <= high):
        return value
    raise BadManifest(f"{at} is {_short(value)}, not a number from {low} to {high}")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
