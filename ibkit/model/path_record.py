"""A path as the subnet administrator answers it, in units, whoever carried the answer: saquery, ibacm, ibkit's cache.

Source: InfiniBand Architecture Specification volume 1, 15.2.5.16 (PathRecord) and 15.2.5.17 for its codes; the rates
from 14 Gb/s on and their names are those of rdma-core's ``enum ibv_rate`` and OpenSM's ``ib_types.h``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.model.ids import Gid, PKey, gid_or_none
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple

#: A rate's code to nominal Gb/s: what ibstat prints of such a port.
RATE_GBPS = {
    2: 2.5, 3: 10.0, 4: 30.0, 5: 5.0, 6: 20.0, 7: 40.0, 8: 60.0, 9: 80.0, 10: 120.0, 11: 14.0, 12: 56.0, 13: 112.0,
    14: 168.0, 15: 25.0, 16: 100.0, 17: 200.0, 18: 300.0, 19: 28.0, 20: 50.0, 21: 400.0, 22: 600.0, 23: 800.0,
    24: 1200.0,
}  # fmt: skip
#: An MTU's code to octets.
MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
#: A packet's life of code n is 4.096 microseconds times 2 to the n; 0 is what OpenSM says of a loopback.
LIFE_UNIT_SECONDS = 4.096e-6
#: From this hop limit on a packet may leave its subnet, for which it needs a GRH (same source, 8.3.6 and 19.2.4.2).
ROUTED_HOP_LIMIT = 2
#: The selector in the upper two bits of a code, of which the rest is the code.
_CODE_BITS = 0x3F


class PathRecord(NamedTuple):
    """From one port to another in one partition. None is what the source does not tell.

    ``rate_gbps`` is nominal, ``life_seconds`` the packet life time. Of a path into another subnet ``dlid`` is the
    router's port; all that stands here is then true of the way to the router only.
    """

    sgid: Gid | None = None
    dgid: Gid | None = None
    slid: int | None = None
    dlid: int | None = None
    pkey: PKey | None = None
    sl: int | None = None
    mtu_bytes: int | None = None
    rate_gbps: float | None = None
    hop_limit: int | None = None
    life_seconds: float | None = None
    flow_label: int | None = None
    traffic_class: int | None = None
    reversible: bool | None = None

    @property
    def is_routed(self) -> bool | None:
        """Whether the path leaves the subnet, and so needs a GRH; None where the hop limit is not known."""
        return None if self.hop_limit is None else self.hop_limit >= ROUTED_HOP_LIMIT


#: What two sources must agree on about one path. (A hop limit of 0 and 1 mean the same, and few tell a life time.)
COMPARED = ("dlid", "slid", "sl", "mtu_bytes", "rate_gbps")


def of_codes(wire: Any) -> PathRecord:
    """A record as it stands in a message (``ibkit.parsers.acm_protocol.PathRecord``). 0 means "not given" there."""
    return PathRecord(
        Gid(wire.sgid) if wire.sgid else None,
        Gid(wire.dgid) if wire.dgid else None,
        wire.slid or None,
        wire.dlid or None,
        PKey(wire.pkey) if wire.pkey else None,
        wire.sl,
        MTU_BYTES.get(wire.mtu_code),
        RATE_GBPS.get(wire.rate_code),
        wire.hop_limit,
        life_seconds(wire.life_code),
        wire.flow_label,
        wire.traffic_class,
        wire.reversible,
    )


def of_fields(fields: Mapping[str, str]) -> PathRecord | None:
    """A PathRecord as saquery prints it; None where it cannot be one.

    A simulator that does not reassemble long answers lets saquery print what lies in its memory as a last record.
    """
    numbers = {name: _number(fields.get(name)) for name in _FIELDS}
    hops, codes = numbers["hop_flow_raw"], (numbers["mtu"], numbers["rate"])
    sgid, dgid = gid_or_none(fields.get("sgid")), gid_or_none(fields.get("dgid"))
    if not (sgid and dgid and _is_unicast(numbers["slid"]) and _is_unicast(numbers["dlid"])):
        return None
    mtu, rate = (None if code is None else code & _CODE_BITS for code in codes)
    if (mtu is not None and mtu not in MTU_BYTES) or not numbers["pkey"]:
        return None
    life = numbers["pkt_life"]
    return PathRecord(
        sgid,
        dgid,
        numbers["slid"],
        numbers["dlid"],
        PKey(numbers["pkey"]),
        numbers["sl"],
        MTU_BYTES.get(mtu or 0),
        RATE_GBPS.get(rate or 0),
        None if hops is None else hops & 0xFF,
        None if life is None else life_seconds(life & _CODE_BITS),
        None if hops is None else hops >> 8 & 0xFFFFF,
        numbers["tclass"],
        None if (count := numbers["num_path_revers"]) is None else bool(count & 0x80),
    )


def life_seconds(code: int) -> float:
    """The packet life time of a code (6 bits)."""
    return float(f"{LIFE_UNIT_SECONDS * (1 << (code & _CODE_BITS)):.6g}")


def code_of_rate(rate_gbps: float) -> int | None:
    """The code of a rate; None where there is none."""
    return next((code for code, rate in RATE_GBPS.items() if rate == rate_gbps), None)


def code_of_mtu(mtu_bytes: int) -> int | None:
    """The code of an MTU; None where there is none."""
    return next((code for code, size in MTU_BYTES.items() if size == mtu_bytes), None)


def differences(one: PathRecord, other: PathRecord) -> dict[str, tuple[Any, Any]]:
    """What both tell and tell differently."""
    found = {}
    for name in COMPARED:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine is not None and theirs is not None and mine != theirs:
            found[name] = mine, theirs
    return found


_FIELDS = (
    "dlid", "slid", "hop_flow_raw", "tclass", "num_path_revers", "pkey", "sl", "mtu", "rate", "pkt_life",
)  # fmt: skip


def _number(text: str | None) -> int | None:
    """Decimal or ``0x``, of 32 bits at most."""
    if text is None or len(text) > 10 or not text.isascii():
        return None
    try:
        return int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except ValueError:
        return None


def _is_unicast(lid: int | None) -> bool:
    return lid is not None and 0 < lid < 0xC000
