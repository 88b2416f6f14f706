"""What each port did over the last samples, in little room: 60 samples of 73,520 ports take 22 MB."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence

from ibkit.model.counters import ERRORS, OCTETS_PER_DATA_UNIT, PortChange, PortCounters
from ibkit.model.fabric import End

#: How many samples are kept.
SAMPLES = 60
#: The share of time that a port waited is kept in hundredths. These are one that is not known, and a port that was not
#: in the sample.
_UNKNOWN_SHARE, _ABSENT = 254, 255
#: Eight heights of a line of the past; the lowest is zero.
HEIGHTS = "▁▂▃▄▅▆▇█"
#: A sample of which nothing is known.
GAP = "·"


class History:
    """The past of the ports. Each sample is one array over all of them; errors, which are few, are kept by port.

    It never changes: a sample more is a new history, so that what the screen shows of one stays as it is.
    """

    def __init__(self) -> None:
        self._places: dict[End, int] = {}
        self._gbps: tuple[array[float], ...] = ()
        self._shares: tuple[array[int], ...] = ()
        self._errors: tuple[Mapping[int, int | None], ...] = ()
        self._peaks: tuple[float, ...] = ()
        #: How far each sample is from the one before (seconds).
        self.seconds: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self._gbps)

    def with_sample(self, changes: Iterable[tuple[End, PortChange]], seconds: float) -> History:
        """The same with one sample more, and without those that are too old."""
        places = self._places
        listed = list(changes)
        if any(end not in places for end, _ in listed):
            places = dict(places)
            for end, _ in listed:
                places.setdefault(end, len(places))
        gbps = array("f", [math.nan]) * len(places)
        shares = array("B", [_ABSENT]) * len(places)
        errors: dict[int, int | None] = {}
        peak = 0.0
        for end, change in listed:
            place = places[end]
            sent = sent_gbps(change, seconds)
            if sent is not None:
                gbps[place] = sent
                peak = max(peak, sent)
            ratio = change.congestion.ratio if change.congestion is not None else None
            shares[place] = _UNKNOWN_SHARE if ratio is None else round(ratio * 100)
            grown = error_sum(change)
            if grown != 0:
                errors[place] = grown
        more = History()
        more._places = places
        more._gbps = (*self._gbps, gbps)[-SAMPLES:]
        more._shares = (*self._shares, shares)[-SAMPLES:]
        more._errors = (*self._errors, errors)[-SAMPLES:]
        more._peaks = (*self._peaks, peak)[-SAMPLES:]
        more.seconds = (*self.seconds, seconds)[-SAMPLES:]
        return more

    def sent(self, end: End) -> list[float | None]:
        """What a port sent in each sample, in Gb/s, the oldest first; None where that is not known."""
        place = self._places.get(end)
        if place is None:
            return [None] * len(self._gbps)
        rates = [sample[place] if place < len(sample) else math.nan for sample in self._gbps]
        return [None if math.isnan(rate) else rate for rate in rates]

    def waited(self, end: End) -> list[float | None]:
        """The share of each sample in which the port had data and could not send, in per cent."""
        return [None if share >= _UNKNOWN_SHARE else float(share) for share in self._shares_of(end)]

    def errors(self, end: End) -> list[float | None]:
        """How far the port's error counters moved in each sample."""
        place = self._places.get(end, -1)
        grown = (sample.get(place, 0) for sample in self._errors)
        return [
            None if share == _ABSENT or count is None else float(count)
            for share, count in zip(self._shares_of(end), grown, strict=True)
        ]

    def most_gbps(self) -> float:
        """The most that any port sent in any sample: the scale that all ports' lines share."""
        return max(self._peaks, default=0.0)

    def _shares_of(self, end: End) -> list[int]:
        place = self._places.get(end)
        if place is None:
            return [_ABSENT] * len(self._shares)
        return [sample[place] if place < len(sample) else _ABSENT for sample in self._shares]


def error_sum(counted: PortCounters | PortChange) -> int | None:
    """What the error counters counted or how far they moved, all together; None where none of them is known."""
    known = [count for name in ERRORS if (count := counted.counters.get(name)) is not None]
    return sum(known) if known or counted.zero_if_counted else None


def sent_gbps(change: PortChange, seconds: float, name: str = "PortXmitData") -> float | None:
    """What a data counter counted, in Gb/s."""
    units = change.counters.get(name)
    return None if units is None or seconds <= 0 else units * OCTETS_PER_DATA_UNIT * 8 / 1e9 / seconds


def spark(values: Sequence[float | None], most: float | None = None) -> str:
    """A line of the values, from zero to ``most`` (by default the largest of them)."""
    top = max((value for value in values if value is not None), default=0.0) if most is None else most
    last = len(HEIGHTS) - 1
    return "".join(
        GAP if value is None else HEIGHTS[min(last, round(value / top * last))] if top > 0 else HEIGHTS[0]
        for value in values
    )
