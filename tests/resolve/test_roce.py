"""Which GID index to use on RoCE and which one libraries take: tables of real cards, by the libraries' own code."""

from __future__ import annotations

import pytest

from ibkit.model.host import GidEntry, HcaPort
from ibkit.model.ids import Gid
from ibkit.resolve.roce import choose, nccl_index, ucx_index

V1, V2 = "RoCE v1", "RoCE v2"
LOCAL, IP, IP2, GLOBAL = "fe80::9e63:c0ff:fe12:3450", "::ffff:10.0.0.1", "::ffff:10.1.0.1", "2001:db8::1"


def entry(index: int, text: str, kind: str | None, netdev: str = "eth0") -> GidEntry:
    return GidEntry(index, Gid.parse(text), kind, netdev)


#: Without an address, with IPv4, with a VLAN, IPv6 only, from the kernel before v2, SoftRoCE's, and one with a hole.
BARE = (entry(0, LOCAL, V1), entry(1, LOCAL, V2))
USUAL = (*BARE, entry(2, IP, V1), entry(3, IP, V2))
VLAN = (*USUAL, entry(4, IP2, V1, "eth0.7"), entry(5, IP2, V2, "eth0.7"))
SIX = (*BARE, entry(2, GLOBAL, V1), entry(3, GLOBAL, V2))
OLD = (entry(0, LOCAL, V1), entry(1, IP, V1))
SOFT = (entry(0, LOCAL, V2), entry(1, IP, V2))
HOLE = (*BARE, entry(6, IP, V1), entry(7, IP, V2))


@pytest.mark.parametrize(
    ("table", "best", "ucx", "nccl"),
    [
        (BARE, 1, 1, 0), (USUAL, 3, 3, 3), (VLAN, 3, 3, 3), (SIX, 3, 1, 0), (OLD, 1, 1, 1), (SOFT, 1, 1, 1),
        (HOLE, 7, 7, 7),
    ],
    ids=["bare", "usual", "vlan", "ipv6", "v1 only", "softroce", "hole"],
)  # fmt: skip
def test_picks(table: tuple[GidEntry, ...], best: int, ucx: int, nccl: int) -> None:
    choice = choose(HcaPort(1, gids=table))
    assert (choice.gid_index, ucx_index(table), nccl_index(table)) == (best, ucx, nccl)
    assert choice.gid == {entry.gid_index: entry.gid for entry in table}[best]


def test_nccl_takes_no_link_local_entry_for_a_better_one() -> None:
    """ncclUpdateGidIndex leaves index 0 where no candidate is of its family: here the v1 entry of IPv4 is."""
    assert nccl_index((entry(0, LOCAL, V2), entry(1, IP, V1), entry(2, IP2, V2))) == 2


def test_the_interface_that_leads_there_decides() -> None:
    assert choose(HcaPort(1, gids=VLAN), "eth0.7").gid_index == 5
    assert choose(HcaPort(1, gids=VLAN), "eth9").gid_index == 3
    assert choose(HcaPort(1, gids=VLAN), None, Gid.parse(IP2)).gid_index == 5


def test_settings() -> None:
    choice = choose(HcaPort(1, gids=USUAL))
    assert {pick.runtime: (pick.gid_index, pick.setting) for pick in choice.picks} == {
        "UCX": (3, "UCX_IB_GID_INDEX=3"),
        "NCCL 2.21 and later": (3, "NCCL_IB_GID_INDEX=3"),
        "NCCL before 2.21": (0, "NCCL_IB_GID_INDEX=3"),
        "Open MPI, btl openib": (0, "OMPI_MCA_btl_openib_gid_index=3"),
        "MVAPICH2": (0, "MV2_DEFAULT_GID_INDEX=3"),
    }


def test_softroce_and_ucx() -> None:
    """Over an IPv4 entry UCX's wire-up gets no answer there."""
    picks = {pick.runtime: pick for pick in choose(HcaPort(1, gids=SOFT), device="rxe0").picks}
    assert (picks["UCX"].setting, picks["NCCL before 2.21"].setting) == ("UCX_IB_GID_INDEX=0", "NCCL_IB_GID_INDEX=1")


def test_what_is_not_known() -> None:
    untyped = choose(HcaPort(1, gids=(entry(0, LOCAL, None), entry(1, IP, None))))
    assert (untyped.gid_index, untyped.picks) == (1, ())
    for port in (HcaPort(1), HcaPort(1, gids=(), tables_whole=None)):
        assert (choose(port).gid_index, choose(port).gid) == (None, None)


def test_words_of_warning() -> None:
    assert "v1 is not routed" in choose(HcaPort(1, gids=OLD)).why
    assert "link-local" in choose(HcaPort(1, gids=BARE)).why
