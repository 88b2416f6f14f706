"""Node descriptions of public dumps: which name somebody, and which are firmware's own words."""

from __future__ import annotations

import pytest

from ibkit.model.node_names import host_of, is_default


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
