"""Devices of ``ibstat`` as the model has them."""

from __future__ import annotations

import re

from ibkit.model.host import Hca, HcaPort
from ibkit.model.ids import Guid
from ibkit.parsers.ibstat import IbstatDevice, IbstatPort

#: What ibstat prints where the kernel has no ``link_layer`` file: libibumad assumes InfiniBand.
_LINK_LAYERS = {"IB": "InfiniBand"}


_TAG = re.compile(r"(?:([0-9]{1,2})X )?([A-Z]{2,4}[0-9]{0,3})\Z")


def hca_of(device: IbstatDevice) -> Hca:
    """The device as printed, its registers too."""
    return Hca(
        device.name or "",
        node_guid=_guid(device.node_guid),
        system_image_guid=_guid(device.system_image_guid),
        hca_type=device.hca_type,
        firmware=device.firmware,
        hardware=device.hardware,
        node_type=device.node_type if device.node_type != "???" else None,
        source="ibstat",
        error=device.error,
        ports=tuple(_port(port) for port in device.ports),
    )


def _port(port: IbstatPort) -> HcaPort:
    layer = port.link_layer
    tag = _TAG.match(port.rate_tag or "")
    return HcaPort(
        port.number,
        state=port.state,
        physical_state=port.physical_state,
        link_layer=_LINK_LAYERS.get(layer, layer) if layer else None,
        lid=port.base_lid,
        lmc=port.lmc,
        sm_lid=port.sm_lid,
        rate_gbps=port.rate_gbps,
        width=f"{tag[1]}x" if tag and tag[1] else None,
        speed=tag[2] if tag else None,
        effective_rate_gbps=port.effective_rate_gbps,
        port_guid=_guid(port.port_guid),
        capability_mask=port.capability_mask,
        tables_whole=None,
    )


def _guid(text: str | None) -> Guid | None:
    return None if text is None else Guid.parse(text)
