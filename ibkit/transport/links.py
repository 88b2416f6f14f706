"""The link layer of HCA ports: what any line of the log, or a capture of the hosts, says about it."""

from __future__ import annotations

from ibkit.transport.evidence import Mark

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
        key = host, _with_port(device)
        self._words.setdefault(key, set()).add(word)
        if mark is not None:
            self._marks.setdefault(key, mark)

    def word(self, host: str | None, device: str) -> str | None:
        """ib, roce, iwarp or opa; None where nothing or not one thing is said."""
        words = self._words.get((host or "", _with_port(device)), set())
        return next(iter(words)) if len(words) == 1 else None

    def mark(self, host: str | None, device: str) -> Mark | None:
        """The line that says it."""
        return self._marks.get((host or "", _with_port(device)))


def _with_port(device: str) -> str:
    return device if ":" in device else device + ":1"
