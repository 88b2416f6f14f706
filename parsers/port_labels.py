"""What a port is called on a panel, in one spelling: the same port is ``1/17/1``, ``17/1``, ``sw17p1`` and ``P1/17/1``.

The spellings are those of UFM's events and REST answers (imbue-ai/cluster-health, ``ufm_events``), ibdiagnet
(``P1/17/1``, ``U1/P1``, ``mlx5_0/P1``), MLNX-OS (``IB1/17``, ``IB1/17/1``), NVOS (``sw17p1``, NVIDIA's Cable Validation
Tool, P2P File) and UFM's NDT files (``Port 17``, Mellanox/ufm_sdk_3.0, ``UFM_NDT_Plugin``).
"""

from __future__ import annotations

import re

#: Switches of one box have one slot, 1. MLNX-OS names it always, the others where a cage holds two ports.
_SWITCH = re.compile(
    r"(?:IB ?1/(?P<onyx>\d{1,4}(?:/\d{1,3})?)"
    r"|sw(?P<cage>\d{1,4})p(?P<split>\d{1,3})"
    r"|(?:IB )?(?:Port[ _]?|P)?(?:1/(?P<slotted>\d{1,4}/\d{1,3})|(?P<plain>\d{1,4}(?:/\d{1,3})?)))\Z",
    re.IGNORECASE,
)
_ADAPTER = re.compile(r"(?P<device>[A-Za-z][\w-]{0,62}?)[ /](?:Port ?|P)(?P<port>\d{1,3})\Z", re.IGNORECASE)


def normalised(label: str) -> str:
    """``17/1`` is port 1 of cage 17, ``17`` a port or a cage by its number, ``mlx5_0/1`` port 1 of an adapter.

    Whether ``17`` is ``17/1`` depends on the switch, so they stay apart. A label of another form stays as it is.
    """
    label = label.strip()
    if found := _SWITCH.match(label):
        parts = found["onyx"] or found["slotted"] or found["plain"] or f"{found['cage']}/{found['split']}"
        return "/".join(str(int(part)) for part in parts.split("/"))
    if found := _ADAPTER.match(label):
        return f"{found['device']}/{int(found['port'])}"
    return label
