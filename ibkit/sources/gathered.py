"""What pdsh, clush and dshbak gathered from several hosts in one file, as the text of each host. Pure.

Formats: pdsh(1) and clush(1) put the host's name and a colon before each line; dshbak(1) and ``clush -b`` put a block
of lines below the name, or below the set of names (``n[01-16,20]``) whose lines are the same, between two lines of
dashes. Both write what went wrong on stderr: ``pdsh@head: n02: ssh exited with exit code 255``.
"""

from __future__ import annotations

import re

from ibkit.model.node_set import BadNodeSet, expand

_NAME = rb"[A-Za-z0-9][A-Za-z0-9._-]{0,252}"
_OF_A_HOST = re.compile(rb"(" + _NAME + rb"): ?(.*)\Z")
_MESSAGE = re.compile(rb"(?:pdsh@[^\s:]{1,253}|clush): (" + _NAME + rb"): (.*)\Z")
#: dshbak writes 16 dashes, clush 15 and behind the names how many they are.
_RULE = re.compile(rb"-{15,16}\Z")
_NAMES = re.compile(rb"([A-Za-z0-9][^\s()@]{0,65535})(?: \(\d{1,7}\))?\Z")
_PDSH_ITSELF = re.compile(rb"pdsh@[^\s:]{1,253}\Z")


def texts_of_hosts(data: bytes) -> dict[str, bytes]:
    """The lines of each host, in the order in which the hosts appear; nothing where the file is none of these."""
    lines = [line.rstrip(b"\r") for line in data.splitlines()]
    return {name: b"\n".join(said) + b"\n" for name, said in (_of_blocks(lines) or _of_lines(lines)).items()}


def _of_blocks(lines: list[bytes]) -> dict[str, list[bytes]]:
    """Blocks below headings. What stands before the first one belongs to nobody, but for messages about hosts."""
    found: dict[str, list[bytes]] = {}
    hosts: tuple[str, ...] = ()
    seen = False
    place = 0
    while place < len(lines):
        names = _heading(lines, place)
        if names is not None:
            seen = True
            hosts = names
            for name in hosts:
                found.setdefault(name, [])
            place += 3
            continue
        line = lines[place]
        if message := _MESSAGE.match(line) or (None if hosts else _OF_A_HOST.match(line)):
            found.setdefault(message[1].decode(), []).append(message[2])
        for name in hosts:
            found[name].append(line)
        place += 1
    return found if seen else {}


def _heading(lines: list[bytes], place: int) -> tuple[str, ...] | None:
    """The names between two rules; none, but not None, for what pdsh says of itself."""
    if place + 2 >= len(lines) or not _RULE.match(lines[place]) or not _RULE.match(lines[place + 2]):
        return None
    if _PDSH_ITSELF.match(lines[place + 1]):
        return ()
    found = _NAMES.match(lines[place + 1])
    try:
        return expand(found[1].decode()) if found else None
    except (BadNodeSet, UnicodeDecodeError):
        return None


def _of_lines(lines: list[bytes]) -> dict[str, list[bytes]]:
    """A name before each line."""
    found: dict[str, list[bytes]] = {}
    for line in lines:
        match = _MESSAGE.match(line) or _OF_A_HOST.match(line)
        if match:
            found.setdefault(match[1].decode(), []).append(match[2])
        elif line.strip():
            return {}
    return found
