"""tools/show.py: which hosts are looked at live."""

from __future__ import annotations

from pathlib import Path

import pytest

import show


def device(root: Path, name: str, node_type: str, ports: int) -> None:
    (root / name / "ports").mkdir(parents=True)
    (root / name / "node_type").write_text(node_type)
    for port in range(1, ports + 1):
        (root / name / "ports" / str(port)).mkdir()


@pytest.mark.parametrize(
    ("node_type", "ports", "expected"),
    [
        ("1: CA\n", 2, True),  # mlx5, rxe: InfiniBand and RoCE alike
        ("1: CA\n", 0, False),
        ("4: RNIC\n", 1, False),  # iWARP
        ("7: <unknown>\n", 1, False),  # EFA
    ],
)
def test_an_hca_with_a_port_makes_the_host_live(tmp_path: Path, node_type: str, ports: int, expected: bool) -> None:
    device(tmp_path, "dev0", node_type, ports)
    assert show.has_rdma_port(str(tmp_path)) is expected


def test_no_devices_at_all(tmp_path: Path) -> None:
    assert show.has_rdma_port(str(tmp_path / "missing")) is False
