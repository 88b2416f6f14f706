"""HCAs from ``ibstat``: for a pasted output, and where the tool sees a device that /sys does not show (a simulator)."""

from __future__ import annotations

import re

from ibkit.model.host import Hca, HcaPort
from ibkit.model.ids import Guid
from ibkit.model.port_state import counted
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.ibstat import IbstatDevice, IbstatPort, parse
from ibkit.sources.base import MISSING, NOT_RECORDED, Source

COMMAND = ("ibstat",)
#: It reads some files per port and takes milliseconds, unless a card hangs.
DEADLINE_SECONDS = 20.0

#: What ibstat prints where the kernel has no ``link_layer`` file: libibumad assumes InfiniBand.
_LINK_LAYERS = {"IB": "InfiniBand"}


_TAG = re.compile(r"(?:([0-9]{1,2})X )?([A-Z]{2,4}[0-9]{0,3})\Z")


def read_hcas(source: Source) -> tuple[tuple[Hca, ...], list[Problem]]:
    """All devices that the tool names; none where it is missing, not recorded or sees none."""
    answer = source.run(COMMAND, deadline_seconds=DEADLINE_SECONDS)
    problems = []
    if answer.failure not in (None, MISSING, NOT_RECORDED):
        problems.append(Problem("tool-failed", f"ibstat: {answer.failure}", None, answer.command))
    if not answer.stdout.strip() and not answer.stderr.strip():
        return (), problems
    try:
        parsed = parse(answer.out, source=answer.command, stderr=answer.err)
    except NotThisFormat:
        reason = (answer.err.strip() or answer.out.strip()).splitlines()[0]
        return (), [*problems, Problem("tool-failed", reason[:500], None, answer.command)]
    return tuple(counted(hca_of(device)) for device in parsed.value), [*problems, *parsed.problems]


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
