"""Put sweeps of ibqueryerrors together: each port once, with the zeros that a whole sweep proves. Pure.

The tool prints only error counters over their threshold. That one is not printed means zero if, and only if, the
sweep was whole, its threshold is zero, it was not suppressed, and the port's query was answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ibkit.model.counters import PortCounters, SweepSummary, saturated
from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.ibqueryerrors import DATA, ERRORS, CounterRow, QueryFailure, Sweep
from ibkit.parsers.perfquery import CAST_COUNTERS, DATA_COUNTERS, ERROR_COUNTERS
from ibkit.parsers.records import NamedTuple

_CAST_NAMES = frozenset(CAST_COUNTERS)
_DATA_NAMES = _CAST_NAMES.union(DATA_COUNTERS)
#: Not printed where it is zero, and neither where the port does not count it.
_WAIT = "PortXmitWait"
#: The queries that error counters come from; where another one fails, they are still known.
_ERROR_QUERIES = ("IB_GSI_PORT_COUNTERS", "IB_GSI_PORT_COUNTERS_EXT")


class SweepReading(NamedTuple):
    """A sweep, and what the tool complained of meanwhile. ``lost_nodes``: its discovery did not reach everything."""

    sweep: Sweep
    failures: tuple[QueryFailure, ...]
    lost_nodes: bool
    source: str

    @property
    def is_whole(self) -> bool:
        """Everything that it asked for was answered and is here."""
        return self.sweep.complete and not (self.sweep.query_failures or self.failures or self.lost_nodes)


def summary_of(reading: SweepReading) -> SweepSummary:
    """What the sweep looked at."""
    sweep = reading.sweep
    quiet = _quiet_counters(sweep)
    hidden = () if sweep.form == DATA else tuple(name for name in ERROR_COUNTERS if name not in quiet)
    return SweepSummary(sweep.form or ERRORS, sweep.nodes_checked, sweep.ports_checked, hidden, reading.is_whole)


def repetitions(readings: Sequence[SweepReading]) -> Iterator[Problem]:
    """Several sweeps of one form in one text: what is shown of a port that they tell differently."""
    for form in (DATA, ERRORS):
        same = [reading for reading in readings if reading.sweep.form == form]
        if len(same) > 1:
            text = f"{len(same)} sweeps for {form} in one text: of a port that several list the last one's row counts"
            if form == ERRORS:
                text += "; a port that only an earlier one lists is shown as well"
            yield Problem("several-sweeps", text, same[-1].sweep.line, same[-1].source)


def doubt_of_selection(readings: Sequence[SweepReading]) -> str | None:
    """Why a saved text does not tell that all nodes were asked; None where it does.

    A sweep with rows of switches and of other nodes was restricted neither to one kind nor to one node.
    """
    proven = {reading.sweep.nodes_checked for reading in readings if reading.sweep.switches and reading.sweep.others}
    for reading in readings:
        nodes = reading.sweep.nodes_checked
        if nodes not in proven:
            return (
                f"whether the {nodes} nodes that were checked are all of the fabric is not in the text: with --switch, "
                "--ca or -G the tool asks only some, and no row shows that it asked both switches and others"
            )
    return None


def ports_of(readings: Sequence[SweepReading]) -> tuple[tuple[PortCounters, ...], tuple[Problem, ...]]:
    """All ports that have a row, in order of GUID and number, and what could not be put together."""
    ports = _Ports()
    for reading in readings:
        if reading.sweep.form == DATA:
            ports.add_data(reading)
    for reading in readings:
        if reading.sweep.form != DATA:
            ports.add_errors(reading)
    return ports.result(), tuple(ports.problems)


class _Port:
    """A port while rows about it are gathered. ``guid`` is the node's, or the port's where no row has the node's."""

    __slots__ = (
        "counters", "guid", "has_data", "lid", "line", "name", "number", "port_guid", "quiet_wait", "source",
        "unread_errors", "wide",
    )  # fmt: skip

    def __init__(self, row: CounterRow, number: int, source: str) -> None:
        self.guid = row.node_guid or row.guid
        self.port_guid: int | None = None
        self.number = number
        self.name = row.node_name
        self.lid = row.link.lid if row.link and row.link.lid else None
        self.counters: dict[str, int | None] = {}
        self.wide: set[str] = set()
        self.line = row.line
        self.source = source
        self.unread_errors = False
        self.has_data = False
        self.quiet_wait = False

    def forget_errors(self) -> None:
        """What an earlier sweep for errors said of it."""
        kept = _DATA_NAMES if self.has_data else frozenset[str]()
        self.counters = {name: value for name, value in self.counters.items() if name in kept}
        self.wide &= kept
        self.quiet_wait = False


class _Ports:
    """The ports of all sweeps."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._ports: dict[tuple[int, int], _Port] = {}
        self._data_sweeps: list[Sweep] = []
        self._listed: set[int] = set()

    def add_data(self, reading: SweepReading) -> None:
        """Data counters, whose sweep names every port that answered."""
        self._data_sweeps.append(reading.sweep)
        for row, number in _rows(reading):
            port = self._ports.setdefault((row.guid, number), _Port(row, number, reading.source))
            port.counters.update(row.counters)
            port.has_data = True
            if not _CAST_NAMES.isdisjoint(row.counters):
                port.wide |= _DATA_NAMES

    def add_errors(self, reading: SweepReading) -> None:
        """Error counters of the ports that have any, then the zeros of all the others."""
        quiet = _quiet_counters(reading.sweep)
        # With --data, the tool adds the data counters of the ports that it lists, as far as they are above zero.
        with_data = any(name in _DATA_NAMES for row in reading.sweep.rows for name in row.counters)
        zeros = dict.fromkeys(quiet, 0)
        zeros_if_listed = dict.fromkeys((*quiet, *DATA_COUNTERS), 0) if with_data else zeros
        listed = set()
        strangers = set()
        index = _Index(self._ports)
        for row, number in _rows(reading):
            port = index.find(row, number)
            if port is None:
                port = self._ports.setdefault((row.guid, number), _Port(row, number, reading.source))
                strangers.add(row.node_name)
            if id(port) in self._listed:
                port.forget_errors()
                port.line, port.source = row.line, reading.source
            listed.add(id(port))
            port.port_guid = row.guid
            for name in row.unread:
                port.counters.setdefault(name, None)
            port.unread_errors = not row.whole
            for name, value in row.counters.items():
                if name not in _DATA_NAMES or name not in port.counters:
                    port.counters[name] = value
            if row.wide:
                port.wide |= {name for name in row.counters if name in ERROR_COUNTERS or name == "PortXmitWait"}
            if row.whole:
                _fill(port, zeros_if_listed)
                port.quiet_wait = _tells(reading.sweep, _WAIT)
        self._listed |= listed
        if self._data_sweeps:
            self._fill_silent(reading, zeros, listed, strangers)

    def _fill_silent(
        self, reading: SweepReading, zeros: Mapping[str, int], listed: set[int], strangers: set[str | None]
    ) -> None:
        """The zeros of the ports that the sweep asked and found nothing to print about."""
        reason = self._doubt(reading)
        if reason:
            text = f"error counters that are not printed are unknown, not zero: {reason}"
            self.problems.append(Problem("unknown-counters", text, None, reading.source))
            return
        unanswered = _Unanswered(reading.failures)
        tells_wait = _tells(reading.sweep, _WAIT)
        for port in self._ports.values():
            if id(port) not in listed and port.name not in strangers and not unanswered.has(port):
                _fill(port, zeros)
                port.quiet_wait = tells_wait

    def _doubt(self, reading: SweepReading) -> str | None:
        """Why the silence of a port proves nothing; None where it does."""
        sweep = reading.sweep
        if not sweep.complete:
            return "the sweep is not whole"
        if reading.lost_nodes:
            return "the sweep did not reach all nodes"
        checked = sum(data.nodes_checked or 0 for data in self._data_sweeps)
        if sweep.nodes_checked != checked:
            return f"this sweep checked {sweep.nodes_checked} nodes, the one of the data counters {checked}"
        if len(reading.failures) != sweep.query_failures:
            return f"of {sweep.query_failures} queries without an answer, {len(reading.failures)} say which port"
        return None

    def result(self) -> tuple[PortCounters, ...]:
        """The ports in order."""
        return tuple(
            PortCounters(
                Guid(port.guid) if port.guid else None,
                Guid(port.port_guid) if port.port_guid else None,
                port.lid,
                number,
                port.name,
                port.counters,
                saturated(port.counters, frozenset(port.wide)),
                port.line,
                port.source,
                port.unread_errors,
                zero_if_counted=(_WAIT,) if port.quiet_wait and _WAIT not in port.counters else (),
            )
            for (_, number), port in sorted(self._ports.items())
        )


class _Index:
    """Finds the port of a row of errors. Such a row has the port's GUID, where a row of data has the node's."""

    def __init__(self, ports: dict[tuple[int, int], _Port]) -> None:
        self._by_guid = dict(ports)
        self._by_lid = {(port.lid, port.number): port for port in ports.values() if port.lid}
        names = Counter((port.name, port.number) for port in ports.values())
        self._by_name = {key: port for port in ports.values() if names[key := (port.name, port.number)] == 1}

    def find(self, row: CounterRow, number: int) -> _Port | None:
        """By LID, else by GUID; else by a name that only one node has, if the GUIDs are of one device, too."""
        if row.link and row.link.lid:
            port = self._by_lid.get((row.link.lid, number))
        else:
            port = self._by_guid.get((row.guid, number)) or self._by_name.get((row.node_name, number))
            if port and port.guid >> 8 != row.guid >> 8:
                return None
        return port if port and port.name == row.node_name else None


class _Unanswered:
    """The ports whose error counters were asked for and not answered."""

    def __init__(self, failures: Sequence[QueryFailure]) -> None:
        failures = [failure for failure in failures if failure.query in _ERROR_QUERIES]
        self._ports = {(failure.lid, failure.port) for failure in failures}
        # A query of all ports of a node names one LID of them; a node is told by its name then.
        self._names = {failure.node_name for failure in failures if failure.port is None}
        self._all_names = {failure.node_name for failure in failures}

    def has(self, port: _Port) -> bool:
        """Whether it may be one of them: for a port without a LID, all ports of nodes with that name."""
        if port.lid is None:
            return port.name in self._all_names
        return (port.lid, port.number) in self._ports or port.name in self._names


def _rows(reading: SweepReading) -> Iterator[tuple[CounterRow, int]]:
    """The rows of ports; sums are none."""
    for row in reading.sweep.rows:
        if row.port is not None:
            yield row, row.port


def _quiet_counters(sweep: Sweep) -> list[str]:
    """The counters that a port in this sweep has at zero where they are not printed.

    PortXmitWait is none of them: the tool is silent, too, where the hardware does not count it.
    """
    return [name for name in ERROR_COUNTERS if _tells(sweep, name)]


def _tells(sweep: Sweep, name: str) -> bool:
    """Whether the tool prints a counter as soon as it is above zero."""
    if sweep.thresholds is None or sweep.suppressed is None:
        return False
    return name not in sweep.thresholds and name not in sweep.suppressed


def _fill(port: _Port, zeros: Mapping[str, int]) -> None:
    """Add those of the zeros that nothing else is known of."""
    if zeros.keys().isdisjoint(port.counters):
        port.counters.update(zeros)
        return
    for name in zeros:
        port.counters.setdefault(name, 0)
