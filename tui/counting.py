"""What the counters and the node pages stand on: the last sample by port, and each port's past."""

from __future__ import annotations

from typing import NamedTuple

from ibkit.errors import IbkitError
from ibkit.model.counters import FabricChange
from ibkit.tui.snapshot import CHECK, FABRIC, Reading, Readings
from ibkit.tui.view import counters
from ibkit.tui.view.history import History
from ibkit.tui.view.port_facts import PortFacts
from ibkit.tui.view.table import Table


class Counted(NamedTuple):
    """One sample. ``table`` is None where no counters were read."""

    facts: PortFacts
    history: History
    table: Table | None


class Counting:
    """Makes the indexes and the table of each sample, so that the screen does not wait for them."""

    def __init__(self) -> None:
        self._history = History()
        self._last: FabricChange | None = None

    def __call__(self, readings: Readings) -> Counted:
        """The next sample. Raises IbkitError where nothing was read."""
        reading = readings.get(CHECK, Reading())
        if reading.value is None:
            raise IbkitError(reading.failure or "the counters were not read")
        facts = PortFacts(reading.value)
        if facts.change is not None and facts.changes is not None and facts.change is not self._last:
            self._last = facts.change
            self._history = self._history.with_sample(facts.changes.items(), facts.change.seconds)
        view = readings.get(FABRIC, Reading()).value
        table = counters.table(facts, self._history, view)
        return Counted(facts, self._history, table.prepare() if table is not None else None)
