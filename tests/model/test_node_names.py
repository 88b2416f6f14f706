"""Node descriptions of public dumps: which name somebody, and which are firmware's own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.node_names import Place, host_of, is_default, place_of


@pytest.mark.parametrize(
    ("description", "host"),
    [
        ("n01 mlx5_0", "n01"),
        ("c001-001 mlx5_0", "c001-001"),
        ("n01 HCA-1", "n01"),
        ("n01.cluster.example mlx5_bond_0", "n01.cluster.example"),
        (" 'node1' hfi1_0", "node1"),
        ("MF0;swib-l001:MQM8700/U1", "swib-l001"),
        ("quantum01 mlx5_0", "quantum01"),
        ("connect-a mlx5_1", "connect-a"),
        ("sw1", "sw1"),
        ("Node with many words", "Node"),
    ],
)
def test_names(description: str, host: str) -> None:
    assert host_of(description) == host
    assert not is_default(description)


@pytest.mark.parametrize(
    "description",
    [
        None, "", "  ", "MT4119 ConnectX5   Mellanox Technologies", "MT25408 ConnectX Mellanox Technologies",
        "Quantum Mellanox Technologies", "SwitchX -  Mellanox Technologies", "Infiniscale-IV Mellanox Technologies",
        "Mellanox Technologies Aggregation Node", "localhost mlx5_0", "localhost.localdomain mlx5_0",
        "localhost", "Switch-IB 2 Mellanox Technologies", "MT4129 ConnectX7   NVIDIA",
    ],
)  # fmt: skip
def test_defaults(description: str | None) -> None:
    assert is_default(description)
    assert host_of(description) is None


def test_a_device_alone_is_no_host() -> None:
    assert host_of("mlx5_0") is None
    assert not is_default("mlx5_0"), "somebody chose that"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("MF0;swib-p01l03:MQM8700/U1", Place("swib-p01l03", "MQM8700", None, 1)),
        ("MF0;dir1:CS8500/L12/U2", Place("dir1", "CS8500", "L12", 2)),
        ("MF0;dir1:CS7520/S03/U1", Place("dir1", "CS7520", "S03", 1)),
        ("rt01/U2/RT", Place("rt01", None, None, 2)),
        ("MF0;a:b:MQM9790/U1", Place("a", "b:MQM9790", None, 1)),
        ("c001 mlx5_0", Place("c001", device="mlx5_0")),
        ("n7 HCA-1", Place("n7", device="HCA-1")),
        ("storage rack seven", Place("storage")),
        ("MT4119 ConnectX5   Mellanox Technologies", Place()),
        ("", Place()),
        (None, Place()),
        ("/U1", Place(None, None, None, 1)),
    ],
)
def test_the_place_that_a_name_hints_at(name: str | None, place: Place) -> None:
    assert place_of(name) == place


@given(st.text())
def test_any_name_has_a_place_or_none(name: str) -> None:
    assert isinstance(place_of(name), Place)
