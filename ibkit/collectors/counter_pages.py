"""Put pages of perfquery together: each port once, the 64-bit value of a counter before the narrow one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.model.counters import PortCounters, saturated
from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.perfquery import PORT_COUNTERS_EXTENDED, CounterPage, supports
from ibkit.parsers.records import NamedTuple

#: Settings of the port's sampling engine, not counts.
_NO_COUNTERS = "PortSamplesControl"


class LocalPort(NamedTuple):
    """The port that pages are about, where the command says so."""

    node_guid: Guid | None = None
    port_guid: Guid | None = None
    node_name: str | None = None


UNKNOWN_PORT = LocalPort()


class Pages:
    """The pages of all ports, by port and attribute."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._ports: dict[tuple[LocalPort, str, int], dict[str, tuple[CounterPage, str]]] = {}
        self._sums = 0

    def add(self, pages: Iterable[CounterPage], source: str, whose: LocalPort = UNKNOWN_PORT) -> None:
        """Pages of one text. A second page of the same kind is a later one, and takes the first one's place."""
        for page in pages:
            if page.is_sum:
                self._sums += 1
            elif page.port is not None and page.attribute != _NO_COUNTERS:
                # A page that was pasted without its header says nothing of its node: its line tells it from others.
                node = page.address or f"line {page.line}"
                kinds = self._ports.setdefault((whose, node, page.port), {})
                if page.attribute in kinds:
                    text = f"a second page of {page.attribute} for {node} port {page.port}: the later one is shown"
                    self.problems.append(Problem("repeated", text, page.line, source))
                kinds[page.attribute] = page, source

    def ports(self) -> tuple[PortCounters, ...]:
        """The ports in order of LID and number."""
        if self._sums and not self._ports:
            text = "only the sum over all ports is in the text, and that is no port: add -l to the command"
            self.problems.append(Problem("no-port", text))
        ports = [_port(whose, list(kinds.values())) for (whose, _, _), kinds in self._ports.items()]
        return tuple(sorted(ports, key=lambda port: (port.lid or 0, port.port)))


def _port(whose: LocalPort, pages: list[tuple[CounterPage, str]]) -> PortCounters:
    counters: dict[str, int | None] = {}
    wide = set()
    refused = set()
    for page, _ in sorted(pages, key=lambda entry: entry[0].attribute == PORT_COUNTERS_EXTENDED):
        for name, value in page.counters.items():
            if value is not None or name not in counters:
                counters[name] = value
            if supports(page.attribute, name, page.cap_mask, page.cap_mask2) is False:
                refused.add(name)
        if page.attribute == PORT_COUNTERS_EXTENDED:
            wide |= {name for name, value in page.counters.items() if value is not None}
    first, source = pages[0]
    assert first.port is not None
    return PortCounters(
        *whose[:2], first.lid, first.port, whose.node_name, counters, saturated(counters, frozenset(wide)), first.line,
        source, unsupported=tuple(name for name, value in counters.items() if value is None and name in refused),
    )  # fmt: skip
