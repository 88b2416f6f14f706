"""Rules about the ports of hosts: what `ibkit status` finds (ibkit.model.host_findings)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibkit.model import host_findings
from ibkit.model.findings import CRITICAL, WARNING, Fact, Finding, Undecided
from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.rates import width_speed
from ibkit.rules.evidence import HOSTS, Evidence, host_place
from ibkit.rules.rule import Limits, rule

_SOURCE = "InfiniBand Architecture Specification volume 1, 14.2.5.6 (PortInfo); facebookresearch/gcm check_iblink"


@rule("R01", "host-port-initializing", WARNING, needs=(HOSTS,), source=_SOURCE)
def host_port_initializing(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link of a host's port is up, and no subnet manager has configured the port.

    Threshold: none.

    Why: nothing but management packets passes the port.

    Next: see whether a subnet manager runs (`ibkit sm`) and what its log says of this port.

    Else: the port came up a moment ago.
    """
    yield from _of_kind(evidence, "port-not-active", lambda port: port.state != "Armed")


@rule("R02", "host-port-armed", WARNING, needs=(HOSTS,), source=f"{_SOURCE}; infiniband-diags ibcheckport")
def host_port_armed(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A host's port is Armed and not Active: the subnet manager began to set it up and did not end.

    Threshold: none.

    Why: it sends no data.

    Next: look into the subnet manager's log whether it died meanwhile, then let it sweep again.

    Else: nothing has been sent to the port since the subnet was brought up.
    """
    yield from _of_kind(evidence, "port-not-active", lambda port: port.state == "Armed")


@rule("R03", "host-port-training", WARNING, needs=(HOSTS,), source=f"{_SOURCE}; leptonai/gpud #482")
def host_port_training(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """There is a neighbour, and the link of a host's port does not come up, or recovers from errors right now.

    Threshold: none.

    Why: the link carries nothing, or will not for long.

    Next: reseat both ends, then swap the cable; `mlxlink -d DEVICE -m` tells what the port sees of its transceiver.

    Else: the port was looked at in the second in which it trained.
    """
    yield from _of_kind(evidence, "port-training")
    yield from _of_kind(evidence, "link-recovers")


@rule("R03", "host-without-link", WARNING, needs=(HOSTS,), source=f"{_SOURCE}; leptonai/gpud #482")
def host_without_link(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """No port of a host has a link: all poll for a neighbour or are disabled.

    Threshold: none. A single port without a cable is no finding; which ports should have one is in the expectations
    (R12).

    Why: the host has adapters and cannot use any.

    Next: Polling is a cable or a neighbour that is missing; Disabled was done by somebody (`ibportstate`, `mlxlink
    --port_state`, the switch).

    Else: a host that is not cabled yet.
    """
    yield from _of_kind(evidence, "no-active-port")


@rule("R06", "host-single-lane", WARNING, needs=(HOSTS,), source="infiniband-diags ibcheckport; OpenIB's ibcheckwidth")
def host_single_lane(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link of a host's InfiniBand port runs on one lane.

    Threshold: 1x. XDR, whose planes have one lane each, is not meant.

    Why: it carries a quarter of what it should.

    Next: reseat both ends, then swap the cable, then the port.

    Else: a port that was set to 1x on purpose.
    """
    for host, hca, port in evidence.host_ports():
        if port.transport == "ib" and port.state == "Active" and port.width == "1x" and port.speed not in (None, "XDR"):
            what = f"the link runs at {_rate(port)}: one lane only"
            yield Finding(what, (host_place(host, hca.name, port.port),), (Fact(what, hca.source),))


@rule("R13", "host-rails-differ", WARNING, needs=(HOSTS,), source="scitix/sichek HCA_PORT_SPEED")
def host_rails_differ(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port of a host is slower than another one of the same kind of adapter in the same host.

    Threshold: the fastest active InfiniBand port of a device of the same type.

    Why: what uses all rails runs at the speed of the slowest.

    Next: look at both ends of the slow one (`mlxlink -d DEVICE -m`), reseat, then swap the cable; compare the ports of
    the switches that the rails are cabled to.

    Else: a port that is for something else, such as storage, at a slower switch; a split cable.
    """
    for host in evidence.hosts:
        kinds: dict[str, list[tuple[Hca, HcaPort]]] = {}
        for hca in host.hcas:
            kind = hca.hca_type or hca.board_id
            for port in hca.ports if kind and hca.planes_of is None else ():
                if port.transport == "ib" and port.state == "Active" and port.rate_gbps is not None:
                    kinds.setdefault(kind or "", []).append((hca, port))
        for kind, ports in kinds.items():
            fastest = max(port.rate_gbps or 0 for _, port in ports)
            for hca, port in ports:
                if (port.rate_gbps or 0) < fastest:
                    what = f"the link runs at {_rate(port)}, others of this host's {kind} at {fastest:g} Gb/s"
                    yield Finding(what, (host_place(host, hca.name, port.port),), (Fact(what, hca.source),))


@rule("R08", "host-planes-differ", WARNING, needs=(HOSTS,), source="linux-rdma/rdma-core #1359")
def host_planes_differ(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The planes of a host's XDR link have different states or rates.

    Threshold: none.

    Why: the link's bandwidth is the sum of its planes', and traffic is spread over them evenly.

    Next: the planes of a link share a cage and a cable: reseat, then swap the cable.

    Else: a plane that was disabled on purpose.
    """
    yield from _of_kind(evidence, "planes-differ")


@rule("R41", "host-no-lid", CRITICAL, needs=(HOSTS,), source="InfiniBand Architecture Specification volume 1, 4.1.3")
def host_no_lid(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A host's port is Active with a LID that no port can have (0, 65535, or the range of multicast).

    Threshold: none.

    Why: nobody can send to it.

    Next: see what the subnet manager's log says of this port, and let it sweep anew.

    Else: a virtual function whose driver does not tell its LID.
    """
    yield from _of_kind(evidence, "no-lid")


@rule("R57", "device-unreadable", CRITICAL, needs=(HOSTS,), source="linux-rdma/rdma-core #1501")
def device_unreadable(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The driver lists a device and does not answer for it.

    Threshold: none.

    Why: a job that is given this rail fails, or hangs.

    Next: `dmesg | grep -i -e mlx -e infiniband`; reset the card (`mlxfwreset`), power-cycle the host, replace the card.

    Else: a device that was taken away while it was read.
    """
    yield from _of_kind(evidence, "device-unreadable")


def _of_kind(
    evidence: Evidence, kind: str, is_meant: Callable[[HcaPort], bool] = lambda port: True
) -> Iterator[Finding | Undecided]:
    """What the host itself shows to be wrong, and how many ports have a state that nobody knows."""
    for host in evidence.hosts:
        for found in host_findings.findings((host,)):
            if found.kind != kind:
                continue
            port = _port(host, found)
            if port is None or is_meant(port):
                place = host_place(host, found.device, found.port)
                yield Finding(found.text, (place,), (Fact(found.text, _speaker(host, found)),))


def _rate(port: HcaPort) -> str:
    """``200 Gb/s (2x NDR)``."""
    how = width_speed(port.width, port.speed)
    rate = None if port.rate_gbps is None else f"{port.rate_gbps:g} Gb/s"
    return " ".join(filter(None, (rate, f"({how})" if how and rate else how)))


def _port(host: HostHcas, found: host_findings.Finding) -> HcaPort | None:
    ports = (port for hca in host.hcas if hca.name == found.device for port in hca.ports)
    return next((port for port in ports if port.port == found.port), None)


def _speaker(host: HostHcas, found: host_findings.Finding) -> str | None:
    """Who told of the device: verbs, sysfs or a tool."""
    return next((hca.source for hca in host.hcas if found.device is None or hca.name == found.device), None)
