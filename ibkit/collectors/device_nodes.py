"""Which device nodes belong to a device and its ports: what opens ``uverbs0`` uses that device.

Formats: the kernel's ``drivers/infiniband/core/{uverbs_main,user_mad}.c``: a folder for each node, with the device in
``ibdev`` and, for management datagrams, the port in ``port``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.model.host import Hca
from ibkit.sources.base import Source

VERBS_CLASS = "/sys/class/infiniband_verbs"
MAD_CLASS = "/sys/class/infiniband_mad"


def with_nodes(source: Source, hcas: Iterable[Hca]) -> tuple[Hca, ...]:
    """The devices with the names of their nodes below /dev/infiniband; None where the kernel has made none."""
    uverbs = {
        _read(source, VERBS_CLASS, name, "ibdev"): name
        for name in source.list(VERBS_CLASS).names
        if name.startswith("uverbs")
    }
    mad = {
        (name[:4], _read(source, MAD_CLASS, name, "ibdev"), _read(source, MAD_CLASS, name, "port")): name
        for name in source.list(MAD_CLASS).names
        if name.startswith(("umad", "issm"))
    }
    return tuple(
        hca._replace(
            uverbs=uverbs.get(hca.name),
            ports=tuple(
                port._replace(
                    umad=mad.get(("umad", hca.name, str(port.port))), issm=mad.get(("issm", hca.name, str(port.port)))
                )
                for port in hca.ports
            ),
        )
        for hca in hcas
    )


def _read(source: Source, folder: str, name: str, attribute: str) -> str:
    return (source.read(f"{folder}/{name}/{attribute}").text or "").strip()[:100]
