"""The link layer of HCA ports: what any line of the log, or a capture of the hosts, says about it."""

from __future__ import annotations

from ibkit.model.host import HostHcas
from ibkit.transport.evidence import Mark
from ibkit.transport.host_names import short_name

_WORDS = {"IB": "ib", "RoCE": "roce", "InfiniBand": "ib", "ib": "ib", "roce": "roce", "iwarp": "iwarp", "opa": "opa"}


class Links:
    """Link layer by host, device and port; two lines that contradict each other leave it unknown."""

    def __init__(self) -> None:
        self._words: dict[tuple[str, str], set[str]] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self.any_mark: Mark | None = None

    def add(self, host: str | None, device: str, link: str, mark: Mark | None = None) -> None:
        """Port ``device`` (``mlx5_0:1``) of ``host`` has link layer ``link`` (IB, RoCE, or a transport's word)."""
        word = _WORDS.get(link)
        if self.any_mark is None:
            self.any_mark = mark
        if word is None or host is None:
            return
        key = _key(host, device)
        self._words.setdefault(key, set()).add(word)
        if mark is not None:
            self._marks.setdefault(key, mark)

    def add_ports(self, host: HostHcas) -> None:
        """The ports of a host's HCAs, as far as their link layer is known."""
        for hca in host.hcas:
            for port in hca.ports:
                if link := port.transport or port.link_layer:
                    self.add(host.host, f"{hca.name}:{port.port}", link)

    def word(self, host: str | None, device: str) -> str | None:
        """ib, roce, iwarp or opa; None where nothing or not one thing is said."""
        words = self._words.get(_key(host or "", device), set())
        return next(iter(words)) if len(words) == 1 else None

    def mark(self, host: str | None, device: str) -> Mark | None:
        """The line that says it."""
        return self._marks.get(_key(host or "", device))


def _key(host: str, device: str) -> tuple[str, str]:
    """A log may use full names where a capture has short ones. A device without a port is its first one."""
    return short_name(host), device if ":" in device else device + ":1"
