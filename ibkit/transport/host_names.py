"""Names of hosts: short and full ones of the same host are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Hosts:
    """Host names as one log spells them: short and full names of one host are one name, whatever their case.

    A short name that belongs to one full name is that host's; addresses are never shortened. The name of a host is its
    short one, in the spelling that came first.
    """

    def __init__(self, names: Iterable[str]) -> None:
        spellings: dict[str, dict[str, None]] = {}
        for name in names:
            spellings.setdefault(short_name(name), {})[name] = None
        self._names: dict[str, str] = {}
        for short, spelled in spellings.items():
            different = {name.lower() for name in spelled}
            if len(different) == 1 or (short in different and len(different) == 2):
                known_as = min(spelled, key=len)
                self._names.update((name, known_as) for name in spelled)

    def __getitem__(self, name: str) -> str:
        return self._names.get(name, name)

    def all(self, names: Iterable[str | None]) -> Iterator[str]:
        """The known ones, each once."""
        yield from dict.fromkeys(self[name] for name in names if name)


def short_name(name: str) -> str:
    """Without its domain, in lower case; addresses as they are.

    >>> short_name("N01.example.org"), short_name("10.0.0.1")
    ('n01', '10.0.0.1')
    """
    return name if name.replace(".", "").isdigit() else name.split(".", 1)[0].lower()
