"""Read what a cache is filled from by hand: ibacm's hosts file, ibkit's own JSON, a list of hosts. Pure."""

from __future__ import annotations

from ibkit.errors import UnreadableInput
from ibkit.model.address_cache import IMPORT, Entry
from ibkit.model.node_set import BadNodeSet, expand
from ibkit.parsers import acm_hosts, etc_hosts
from ibkit.parsers.base import Problem
from ibkit.parsers.etc_hosts import canonical_address
from ibkit.resolve.build import HostList, entries_of_file


def read_hosts_file(text: str, path: str, now: float) -> tuple[list[Entry], list[Problem]]:
    """The entries that ibacm would believe. Raises UnreadableInput where there are none."""
    parsed = acm_hosts.parse(text, source=path)
    if not parsed.value:
        raise UnreadableInput(
            f"{path}: neither an ibacm_hosts.data (lines of an address and a GID) nor JSON of a cache"
        )
    problems = list(parsed.problems)
    believed = acm_hosts.by_key(parsed.value).values()
    return list(entries_of_file(believed, IMPORT, path, now, problems)), problems


def read_list(text: str, path: str) -> HostList:
    """A list of hosts: lines as in /etc/hosts, or names and sets of names (``n[01-16]``). Raises UnreadableInput."""
    names: list[str] = []
    rows = []
    for line in text.split("\n"):
        words = line.partition("#")[0].split()
        is_row = bool(words) and canonical_address(words[0]) is not None
        rows.append(line if is_row else "")
        try:
            names += () if is_row else [name for word in words for name in expand(word)]
        except BadNodeSet as error:
            raise UnreadableInput(f"{path}: {error}") from error
    lines = etc_hosts.parse("\n".join(rows), source=path).value
    if not lines and not names:
        raise UnreadableInput(f"{path}: no host in it: it should have lines of an address and names, or names")
    return HostList(lines, tuple(dict.fromkeys(names)), path)
