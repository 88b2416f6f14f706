"""What is around the ports: transceivers and cables, bit errors as ports count them, the environment of switches."""

from __future__ import annotations

from ibkit.model.findings import Place
from ibkit.parsers.base import Problem
from ibkit.parsers.ibdiagnet_records import SectionFinding
from ibkit.parsers.ibswinfo import SwitchInfo
from ibkit.parsers.mlxlink import PhysicalCounters, TransceiverInfo
from ibkit.parsers.records import NamedTuple


class PortHardware(NamedTuple):
    """A port with what it tells of its module and of bit errors. ``is_up`` is None where its state is not known."""

    place: Place
    is_up: bool | None = None
    module: TransceiverInfo | None = None
    counters: PhysicalCounters | None = None
    source: str | None = None
    line: int | None = None


class CableTemperature(NamedTuple):
    """What ibdiagnet read of a cable, in degrees Celsius."""

    place: Place
    celsius: float
    source: str | None = None
    line: int | None = None


class SwitchHardware(NamedTuple):
    """A switch's environment."""

    place: Place
    info: SwitchInfo
    source: str | None = None


class BoardFirmware(NamedTuple):
    """The firmware of a node, by the id of its board (PSID)."""

    place: Place
    board_id: str
    version: str
    source: str | None = None
    line: int | None = None


class Hardware(NamedTuple):
    """All of it, as far as somebody looked. ``reports`` are ibdiagnet's own findings with their places."""

    ports: tuple[PortHardware, ...] = ()
    cables: tuple[CableTemperature, ...] = ()
    switches: tuple[SwitchHardware, ...] = ()
    firmware: tuple[BoardFirmware, ...] = ()
    reports: tuple[tuple[Place, SectionFinding], ...] = ()
    problems: tuple[Problem, ...] = ()
    source: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nobody told of any."""
        return not (self.ports or self.cables or self.switches or self.firmware or self.reports)
