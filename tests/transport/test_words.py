"""The words for transports: what a name proves, and what several of them come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.mpi import VERDICTS
from ibkit.transport import words

NAMES = st.sampled_from(VERDICTS)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["ib"], "ib"),
        (["ib", "shm"], "ib"),
        (["shm", "shm"], "shm"),
        (["ib", "rdma"], "rdma"),
        (["ib", "roce"], "mixed"),
        (["ib", "tcp"], "mixed"),
        (["ipoib", "tcp"], "tcp"),
        (["ipoib", "ib"], "mixed"),
        (["rdma", "tcp"], "mixed"),
        (["ib", "unknown"], "unknown"),
        (["shm", "unknown"], "unknown"),
        (["none", "tcp"], "tcp"),
        (["efa", "rdma"], "mixed"),
        ([], "unknown"),
    ],
)
def test_several_words_become_one(found: list[str], expected: str) -> None:
    assert words.combine(found) == expected


@given(st.lists(NAMES, max_size=6))
def test_the_order_and_repetitions_do_not_matter(found: list[str]) -> None:
    assert words.combine(found) == words.combine([*reversed(found), *found])


@given(st.lists(NAMES, min_size=1, max_size=6))
def test_no_rdma_comes_out_where_something_else_went_in(found: list[str]) -> None:
    if words.combine(found) in words.RDMA:
        assert set(found) - {"shm", "none"} <= words.RDMA


@pytest.mark.parametrize(
    ("transport", "device", "expected"),
    [
        ("rc_mlx5", "mlx5_0:1", "rdma"),
        ("rc_verbs", "rxe0:1", "rdma"),
        ("dc_mlx5", "mlx5_0:1", "rdma"),
        ("dc_x", "mlx5_0:1", "rdma"),
        ("ud_mlx5", "mlx5_2:1", "rdma"),
        ("ud_v", "mlx5_2:1", "rdma"),
        ("rc", "mlx4_0:1", "rdma"),
        ("rc_gda", "cuda0-mlx5_0:1", "rdma"),
        ("rc_verbs", "hfi1_0:1", "opa"),
        ("srd", "rdmap0s6:1", "efa"),
        ("tcp", "eth0", "tcp"),
        ("tcp", "ib0", "ipoib"),
        ("sysv", "memory", "shm"),
        ("cma", "memory", "shm"),
        ("xpmem", "memory", "shm"),
        ("cuda_ipc", "cuda", "shm"),
        ("rc_unheard_of", "mlx5_0:1", "unknown"),
        ("ugni", "device", "unknown"),
    ],
)
def test_transports_of_ucx(transport: str, device: str, expected: str) -> None:
    assert words.of_ucx(transport, device) == expected


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("efa", "efa"),
        ("EFA", "efa"),
        ("cxi", "slingshot"),
        ("psm2", "opa"),
        ("opx", "opa"),
        ("verbs;ofi_rxm", "rdma"),
        ("tcp;ofi_rxm", "tcp"),
        ("sockets", "tcp"),
        ("shm", "shm"),
        ("psm3", "unknown"),  # RoCE or sockets
        ("mlx", "unknown"),  # UCX, which may be anything
        ("", "unknown"),
        ("eth0", "tcp"),  # Open MPI 4.1's word for what goes over IP
        ("enp129s0f0np0", "tcp"),
        ("eno1", "tcp"),
        ("bond0.100", "tcp"),
        ("mlx5_0", "unknown"),
        ("bnxt_re0", "unknown"),
        ("rocep65s0f0", "unknown"),
        ("ibp65s0", "unknown"),  # a device or its interface
        ("enc", "unknown"),
    ],
)
def test_providers_of_libfabric(provider: str, expected: str) -> None:
    assert words.of_provider(provider) == expected


def test_tcp_is_the_btl_of_the_lowest_exclusivity() -> None:
    """So a peer that has any other module is not reached by TCP."""
    assert min(words.BTLS, key=lambda name: words.BTLS[name][1]) == "tcp"


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("hfi1_0:1", "opa"),
        ("opap129s0", "opa"),
        ("cxgb4_0:1", "iwarp"),
        ("iwp65s0f0", "iwarp"),
        ("qib0:1", "ib"),
        ("mthca0", "ib"),
        ("mlx4_0", "rdma"),
        ("mlx5_0:1", "rdma"),
        ("irdma0", "rdma"),
        ("ibp65s0", "rdma"),  # may be left from before the port's protocol changed
    ],
)
def test_devices_of_one_network(device: str, expected: str) -> None:
    assert words.of_device(device) == expected
