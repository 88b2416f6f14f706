"""What is known of each port and node beside the topology: counters, P_Keys, modules, findings. Indexes, made once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ibkit.display import counted
from ibkit.model.counters import FabricChange, FabricCounters, PortChange, PortCounters, doubt_of_no_errors, with_errors
from ibkit.model.fabric import End
from ibkit.model.findings import Finding, Place
from ibkit.model.hardware import CableTemperature, PortHardware
from ibkit.model.ids import Guid
from ibkit.model.partitions import PortKeys
from ibkit.rules.evidence import COUNTERS, HARDWARE, PARTITIONS, Evidence, Lack
from ibkit.tui.diagnosing import Diagnosed

_NOBODY = Lack("there is no record", "record a capture with `ibkit capture`")


class PortFacts:
    """Of one sample. ``counters`` is None where none were read, ``changes`` where there is only one sample."""

    def __init__(self, sample: Diagnosed) -> None:
        collected = sample.collected
        evidence = Evidence(collected)
        self._evidence = evidence
        self.sample = sample
        self.all_counters: FabricCounters | None = collected.counters
        self.change: FabricChange | None = collected.change
        self.counters: dict[End, PortCounters] | None = None
        if collected.counters is not None:
            self.counters = {evidence.end_of(port): port for port in collected.counters.ports if self.end_of(port)}
        self.changes: dict[End, PortChange] | None = None
        if collected.change is not None:
            ports = (change for change in collected.change.ports if self.end_of(change.port))
            self.changes = {evidence.end_of(change.port): change for change in ports}
        self.keys: dict[End, PortKeys] = {}
        if collected.partitions is not None:
            tables = (*collected.partitions.filters, *collected.partitions.ports)
            self.keys = {
                End(one.guid, one.port): one for one in tables if one.guid is not None and one.port is not None
            }
        self.modules: dict[End, PortHardware] = {}
        self.cables: dict[End, CableTemperature] = {}
        for module in evidence.hardware.ports:
            if (end := _end_of(evidence, module.place)) is not None:
                self.modules[end] = module
        for cable in evidence.hardware.cables:
            if (end := _end_of(evidence, cable.place)) is not None:
                self.cables[end] = cable
        #: The ports whose error counters moved between the two samples, else those that counted any since they were
        #: cleared, or may have; None where no counters were read.
        self.erroring: frozenset[End] | None = None
        if self.changes is not None:
            self.erroring = frozenset(end for end, change in self.changes.items() if change.errors)
        elif self.counters is not None:
            self.erroring = frozenset(end for end, port in self.counters.items() if with_errors((port,)))
        self._doubt = doubt_of_no_errors(collected.counters) if collected.counters is not None else None
        self.findings = _findings_by_node(evidence, sample.diagnosis.findings)

    def end_of(self, port: PortCounters) -> End | None:
        """The fabric's port that counted this; None where not even a GUID of it is known."""
        end = self._evidence.end_of(port)
        return end if end.guid else None

    def lack_of_counters(self) -> Lack:
        """Why no counters were read, and how to have them."""
        return self.sample.collected.lacks.get(COUNTERS, _NOBODY)

    def lack_of_keys(self) -> Lack:
        """Why no P_Key tables were read."""
        return self.sample.collected.lacks.get(PARTITIONS, _NOBODY)

    def lack_of_hardware(self) -> Lack:
        """Why nothing is known of cables."""
        return self.sample.collected.lacks.get(HARDWARE, _NOBODY)

    def told_of_errors(self, erroring: Iterable[End]) -> str:
        """How many ports have errors, since when, and whether that is all."""
        count = len(set(erroring))
        if self.change is not None:
            text = f"{counted(count, 'port')} whose error counters moved within {self.change.seconds:.0f} s"
            return text if self.change.complete else f"{text}; not all ports are known"
        text = f"{counted(count, 'port')} with errors since the counters were last cleared"
        return f"{text}; whether there are more cannot be told: {self._doubt}" if self._doubt else text


class PortFinding(NamedTuple):
    """What the rules say of one node, and of which of its ports; None of the node as a whole."""

    port: int | None
    finding: Finding


def _findings_by_node(evidence: Evidence, findings: Iterable[Finding]) -> dict[Guid, list[PortFinding]]:
    found: dict[Guid, list[PortFinding]] = {}
    for finding in findings:
        for one in (finding, *finding.members):
            told: set[tuple[Guid, int | None]] = set()
            for place in one.places:
                end = _end_of(evidence, place)
                guid = end.guid if end is not None else place.guid
                if guid is None or (guid, place.port) in told:
                    continue
                told.add((guid, place.port))
                found.setdefault(guid, []).append(PortFinding(place.port, one))
    return found


def _end_of(evidence: Evidence, place: Place) -> End | None:
    """The fabric's port that is meant; None where a place is no port of it."""
    if place.port is not None and place.guid in evidence.fabric.nodes:
        return End(place.guid, place.port)
    for guid in (place.port_guid, place.guid):
        if guid is not None and guid in evidence.end_of_port_guid:
            return evidence.end_of_port_guid[guid]
    return None
