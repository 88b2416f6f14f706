"""What a capture of the job's hosts says about their HCAs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ibkit.collectors.pci import rdma_adapters
from ibkit.sources.site import Host
from ibkit.transport.host_names import short_name
from ibkit.transport.links import Links


class KnownHosts(NamedTuple):
    """Hosts that have no HCA, for certain, by their short names, and whether any has an active port."""

    without_hca: frozenset[str] = frozenset()
    has_active_port: bool = False


def read_hosts(hosts: Iterable[Host], links: Links) -> KnownHosts:
    """Put the link layers of the hosts' ports into ``links``; tell which hosts have no HCA."""
    without: set[str] = set()
    has_active_port = False
    for host in hosts:
        from ibkit.collectors.hca import collect_hcas

        found = collect_hcas(host.source, host.name, whole=False)
        links.add_ports(found)
        has_active_port |= any(port.state == "Active" for hca in found.hcas for port in hca.ports)
        listing = host.source.list("/sys/class/infiniband")
        has_no_device = not found.hcas and (listing.entries == () or listing.error == "ENOENT")
        if has_no_device and not rdma_adapters(host.source):  # one without its driver has no device
            without.add(short_name(host.name))
    return KnownHosts(frozenset(without), has_active_port)
