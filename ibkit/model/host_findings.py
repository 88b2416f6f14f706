"""What of a host's HCAs is not as it should be, as far as the host itself can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.model.host import HcaPort, HostHcas
from ibkit.model.port_state import ACTIVE, DORMANT, ETHERNET, FAULTY, TRAINING, UNKNOWN, condition
from ibkit.parsers.records import NamedTuple


class Finding(NamedTuple):
    """``kind`` is a stable word for scripts, ``text`` a sentence; the rest says where."""

    kind: str
    text: str
    host: str | None = None
    device: str | None = None
    port: int | None = None


def findings(hosts: Iterable[HostHcas]) -> tuple[Finding, ...]:
    """All that is wrong on these hosts, in their order."""
    return tuple(finding for host in hosts for finding in _findings_of(host))


def is_decided(host: HostHcas) -> bool:
    """Whether there is a port at all, every device shows its own, the state of each one is known, and nothing of the
    evidence is missing.
    """
    if host.has_gaps or not all(hca.ports or hca.error for hca in host.hcas):
        return False
    conditions = {condition(port) for hca in host.hcas for port in hca.ports}
    return bool(conditions) and UNKNOWN not in conditions


def _findings_of(host: HostHcas) -> Iterator[Finding]:
    name = host.host or None
    conditions = set()
    for hca in host.hcas:
        if hca.error:
            yield Finding("device-unreadable", f"the device cannot be read: {hca.error}", name, hca.name)
        if hca.planes_of and len({(port.state, port.rate_gbps) for port in hca.ports}) > 1:
            text = f"the planes of {hca.planes_of}'s link differ: {', '.join(_plane(port) for port in hca.ports)}"
            yield Finding("planes-differ", text, name, hca.name)
        for port in hca.ports:
            conditions.add(condition(port))
            if found := _wrong_with(port):
                yield Finding(found[0], found[1], name, hca.name, port.port)
    if conditions == {DORMANT}:
        yield Finding("no-active-port", "no port of this host has a link", name)


def _plane(port: HcaPort) -> str:
    return f"{port.port} {port.state}" + (f" {port.rate_gbps:g} Gb/s" if port.rate_gbps else "")


def _wrong_with(port: HcaPort) -> tuple[str, str] | None:
    """Kind and text, or None."""
    if condition(port) == ACTIVE:
        if port.transport == "ib" and port.lid is None and port.reported_lid is not None:
            return "no-lid", f"the port is Active with LID {port.reported_lid}, which is no unicast LID"
        if port.physical_state == "LinkErrorRecovery":
            return "link-recovers", "the link is in error recovery: look at its error counters and its cable"
        return None
    if condition(port) != FAULTY:
        return None
    if port.state == "Initializing" and port.link_layer != ETHERNET:
        return "port-not-active", "the link is up, and no subnet manager has configured the port"
    if port.state == "Armed" and port.link_layer != ETHERNET:
        return "port-not-active", "the subnet manager has armed the port and not activated it"
    if port.physical_state == TRAINING:
        return "port-training", "there is a neighbour, and the link does not come up"
    if port.port_guid == 0:
        return "port-not-active", "the link is up, and the port is Down and has no GUID: a virtual function without one"
    return "port-not-active", f"the link is up, and the port is {port.state}"
