"""Each of the eleven tests of a routed path: a case in which it is ok, one in which it is bad, one without evidence."""

from __future__ import annotations

from typing import Any

import pytest

from ibkit.collectors.mad_tools import ANY_PORT
from ibkit.collectors.path_records import PathAnswer
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, Fabric, FabricPort, Node
from ibkit.model.host import GidEntry, HcaPort
from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.model.resolution import SourcePort, Step
from ibkit.parsers.base import Problem
from ibkit.resolve.nodes import Nodes
from ibkit.resolve.routed import (
    BOTH_LEGS,
    BROKEN,
    FIRST_LEG,
    UNSEEN,
    Case,
    NextHop,
    Side,
    conclusion,
    explain,
)

A, B = 0xFEC0000000000001, 0xFEC0000000000002
SGID, DGID = Gid(A << 64 | 0x11), Gid(B << 64 | 0x31)
ALIAS = Gid(B << 64 | 0x0014050000000006)
FLID = Gid(0xFEC00000_002A_0002 << 64 | 0x31)
FULL, LIMITED = PKey(0xFFFF), PKey(0x7FFF)


def nodes(*ports: tuple[int, str, int], complete: bool | None = True) -> Nodes:
    """A fabric of (GUID, type, LID)."""
    made = {
        Guid(guid): Node(
            Guid(guid), kind, f"node {lid}", 1, (FabricPort(1, Guid(guid), lid, state="Active", subnet_prefix=None),)
        )
        for guid, kind, lid in ports
    }
    return Nodes([(ANY_PORT, Fabric(made, (), complete))])


NEAR = nodes((0x11, CHANNEL_ADAPTER, 1), (0xF01, ROUTER, 4))
FAR = nodes((0x31, CHANNEL_ADAPTER, 6), (0xF02, ROUTER, 5))
FIRST = PathRecord(SGID, DGID, 1, 4, FULL, 0, 4096, 200.0, 255, reversible=True)
SECOND = PathRecord(Gid(B << 64 | 0xF02), DGID, 5, 6, FULL, 0, 2048, 100.0, 0)
BACK = PathRecord(DGID, SGID, 6, 5, FULL, 0, 4096, 200.0, 255)
PORT = HcaPort(1, "Active", gids=(GidEntry(0, SGID), GidEntry(1, Gid(A << 64 | 0x0014050000000001))), pkeys=(FULL,))
GOOD = Case(
    ALIAS,
    SourcePort("mlx5_0", 1, SGID, 0, 1, "ib"),
    PORT,
    Side(NEAR, True, {0xF01: (LIMITED,)}, (NextHop(0xF01, B),)),
    Side(FAR, True, {0xF02: (FULL,), 0x31: (LIMITED,)}, (NextHop(0xF02, A),)),
    PathAnswer((FIRST._replace(dgid=ALIAS),)),
    PathAnswer((SECOND._replace(dgid=ALIAS),)),
    PathAnswer((BACK,)),
)
FAILED = PathAnswer(problem=Problem("umad-denied", "no right to ask"))
NONE = PathAnswer(is_none=True)


def step(number: int, **changes: Any) -> Step:
    return explain(GOOD._replace(**changes))[number - 1]


def test_the_good_case() -> None:
    steps = explain(GOOD)
    assert [one.number for one in steps] == list(range(1, 12))
    assert [one.state for one in steps] == ["ok"] * 8 + ["unknown", "ok", "unknown"]
    assert conclusion(steps) == BOTH_LEGS
    assert "at most MTU 2048 bytes, 100 Gb/s" in steps[6].text
    assert "SGID index 1" in steps[8].text
    assert all(one.needs for one in steps if one.state == "unknown")


def path(**changes: Any) -> PathAnswer:
    return PathAnswer((FIRST._replace(dgid=ALIAS, **changes),))


LINK_LOCAL = GOOD.source and GOOD.source._replace(gid=Gid(0xFE80 << 112 | 0x11))
SAME_SUBNET = GOOD.source and GOOD.source._replace(gid=Gid(B << 64 | 0x11))
STALE_ALIAS = PORT._replace(gids=(GidEntry(0, SGID), GidEntry(1, Gid(A << 64 | 0x0014050000000009))))


@pytest.mark.parametrize(
    ("number", "changes", "words"),
    [
        (1, {"source": LINK_LOCAL}, "never routed"),
        (1, {"source": SAME_SUBNET}, "no router is needed"),
        (1, {"port": PORT._replace(state="Initializing")}, "Initializing"),
        (1, {"near": GOOD.near._replace(has_master=False)}, "subnet manager"),
        (2, {"port": STALE_ALIAS}, "LID 9, and the port has LID 1"),
        (3, {"differs": True}, "differ"),
        (3, {"destination": Gid(0xFE80 << 112 | 0x31)}, "never routed"),
        (3, {"destination": Gid(B << 64 | 0x0014050000000007)}, "LID 7, and the port has LID 6"),
        (4, {"near": GOOD.near._replace(nodes=nodes((0x11, CHANNEL_ADAPTER, 1)))}, "no router"),
        (5, {"first": NONE}, "has no path"),
        (5, {"first": path(hop_limit=1)}, "no packet passes a router"),
        (5, {"first": path(dlid=1)}, "which is no router"),
        (5, {"first": path(reversible=False)}, "not reversible"),
        (5, {"first": PathAnswer((FIRST,))}, "another GID"),
        (6, {"near": GOOD.near._replace(keys={0xF01: (PKey(0x8001),)})}, "router is not in partition"),
        (6, {"port": PORT._replace(pkeys=(LIMITED,))}, "both"),
        (7, {"second": NONE}, "has no path from its router"),
        (8, {"back": NONE}, "no path back"),
        (8, {"back": PathAnswer((BACK._replace(dlid=6),))}, "which is no router"),
        (10, {"near": GOOD.near._replace(next_hops=(NextHop(0xF01, 0xFEC0000000000009),))}, "no router has a next hop"),
    ],
)  # fmt: skip
def test_what_is_bad_is_broken(number: int, changes: dict[str, Any], words: str) -> None:
    told = step(number, **changes)
    assert (told.state, words in told.text) == ("bad", True), told
    assert conclusion(explain(GOOD._replace(**changes))) == BROKEN


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (1, {"source": None}),
        (1, {"near": GOOD.near._replace(has_master=None)}),
        (2, {"port": PORT._replace(gids=(GidEntry(0, SGID),))}),
        (2, {"source": None}),
        (3, {"destination": DGID}),
        (4, {"near": Side()}),
        (4, {"near": GOOD.near._replace(nodes=nodes((0x11, CHANNEL_ADAPTER, 1), complete=None))}),
        (5, {"first": None}),
        (5, {"first": FAILED}),
        (5, {"near": Side(nodes((0x11, CHANNEL_ADAPTER, 1)), True)}),
        (6, {"first": None}),
        (6, {"near": GOOD.near._replace(keys={})}),
        (7, {"far": None, "second": None}),
        (7, {"second": FAILED}),
        (8, {"back": None}),
        (8, {"back": FAILED}),
        (10, {"near": GOOD.near._replace(next_hops=None), "far": None}),
        (10, {"near": GOOD.near._replace(next_hops=None)}),
        (11, {"gateway": "10.0.0.254"}),
    ],
)
def test_what_is_not_known_says_what_it_needs(number: int, changes: dict[str, Any]) -> None:
    told = step(number, **changes)
    assert (told.state, bool(told.needs)) == ("unknown", True), told


def test_an_flid_at_either_end() -> None:
    port = PORT._replace(gids=(GidEntry(0, SGID), GidEntry(1, Gid(0xFEC00000_0007_0001 << 64 | 0x11))))
    assert (step(2, port=port).state, "FLID 7" in step(2, port=port).text) == ("ok", True)
    assert (step(3, destination=FLID).state, "FLID 42" in step(3, destination=FLID).text) == ("ok", True)


def test_conclusions() -> None:
    assert conclusion(explain(GOOD._replace(far=None, second=None, back=None))) == FIRST_LEG
    assert conclusion(explain(GOOD._replace(back=None))) == FIRST_LEG
    assert conclusion(explain(GOOD._replace(first=None, second=None, back=None))) == UNSEEN
