"""The traps that make other judges of job logs wrong. One test for each, and the case that must not be hit by its cure."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

from pathlib import Path

import pytest
from support.job_logs import (
    SOCKET,
    bml_lines,
    judged,
    layer_of,
    nccl_lines,
    reason_ids,
    text,
    transports,
    ucx_lines,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "jobs"
NO_NICS = """[[31337,1],0]: A high-performance Open MPI point-to-point messaging module
was unable to find any relevant network interfaces:

Module: OpenFabrics (openib)
  Host: n01
"""
REFUSED = """By default, for Open MPI 4.0 and later, infiniband ports on a device
are not used by default.  The intent is to use UCX for these devices.

  Local host:              n01
  Local adapter:           mlx5_0
  Local port:              1
"""
INIT_ERROR = (
    "WARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   n01\n  Local device: mlx5_0\n"
)


# 1: on one host a socket, tcp or a failure of openib says nothing
def test_one_host_is_shared_memory_whatever_network_was_chosen() -> None:
    answer = judged(text(nccl_lines(["n01"], before=SOCKET)))
    assert (answer.verdict, answer.status) == ("shm", "as-expected")
    assert layer_of(answer, "nccl").reasons == ()
    answer = judged(text(nccl_lines(["n01"], network=None, before=SOCKET)))
    assert (answer.verdict, answer.status) == ("shm", "as-expected")
    answer = judged(text(NO_NICS, bml_lines(["n01", "n01"], btl="vader")))
    assert (answer.verdict, answer.status) == ("shm", "as-expected")


def test_one_pod_of_a_larger_job_is_not_one_host() -> None:
    """Four of eight ranks speak, all on n01: the others may be anywhere."""
    lines = [
        line.replace("nranks 4", "nranks 8") for line in nccl_lines(["n01"], per_host=4, network=None, before=SOCKET)
    ]
    answer = judged(text(lines))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")
    assert answer.next_step


def test_tcp_that_a_line_names_on_one_host_is_tcp() -> None:
    """E1 decides: p2p and shared memory were off."""
    assert judged(text(bml_lines(["n01", "n01"], btl="tcp"))).verdict == "tcp"


# 2: 2.4.2 to 2.4.7 list sockets even when IB carries the data
def test_a_list_of_sockets_beside_ib_channels_is_the_bootstraps() -> None:
    before = ("NET/Socket : Using [0]ib0:10.0.0.1<0>", "NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.0.0.1<0>")
    answer = judged(text(nccl_lines(before=before)))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")


# 3: OOB, Bootstrap and sideband are sockets without data
@pytest.mark.parametrize(
    "line",
    [
        "Bootstrap : Using eth0:10.0.0.1<0>",
        "NET/IB : Using interface eth0 for sideband communication",
        "NET : Using interface eth0:10.0.0.1<0>",
    ],
)
def test_bootstrap_lines_alone_decide_nothing(line: str) -> None:
    answer = judged(text(nccl_lines(network=None, before=(line,))))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")


def test_the_interface_of_the_bootstrap_is_not_that_of_the_data() -> None:
    before = (
        "Bootstrap : Using ib0:10.1.0.1<0>",
        "NET/IB : No device found.",
        "NET/Socket : Using [0]eth0:10.0.0.1<0>",
    )
    assert judged(text(nccl_lines(network="Socket", before=before))).verdict == "tcp"


# 4: the list says what could be used, the choice what is meant, the channel what is used; a failure may follow
def test_candidates_alone_decide_nothing() -> None:
    answer = judged(text(nccl_lines(network=None, before=("NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>",))))
    assert answer.verdict == "unknown"


def test_the_choice_of_all_ranks_decides_for_other_hosts() -> None:
    answer = judged(text(nccl_lines(network=None)))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")
    assert transports(layer_of(answer, "nccl")) == {("n01", "n02"): "ib"}
    assert {evidence.evidence_class for evidence in answer.evidence} == {"selection", "candidate"}


def test_the_line_that_tells_the_kind_of_a_network_is_cited() -> None:
    """The channel names the plugin, which is what its provider is."""
    lines = text(
        *(
            f"n0{rank + 1}:100:110 [0] NCCL INFO {said}"
            for rank in (0, 1)
            for said in (
                "NET/OFI Selected Provider is tcp;ofi_rxm (found 2 nics)",
                "Using network AWS Libfabric",
                f"Channel 00/0 : {rank}[0] -> {1 - rank}[0] [send] via NET/AWS Libfabric/0",
            )
        )
    )
    answer = judged(lines)
    (layer,) = answer.layers
    assert (layer.verdict, layer.status) == ("tcp", "fallback")
    assert [e.line for e in answer.evidence if e.evidence_class == "candidate"] == [1, 4]
    assert "libfabric took a provider that is TCP" in (layer.next_step or "")


@pytest.mark.parametrize(("network", "word"), [("UCX", "UCX_LOG_LEVEL=info"), ("FooNet", "no line tells what FooNet")])
def test_more_of_nccls_own_lines_would_not_tell_what_a_plugin_uses(network: str, word: str) -> None:
    channels = [f"n0{rank + 1}:100:110 [0] NCCL INFO Channel 00/0 : {rank}[0] -> {1 - rank}[0] [send] via NET/{network}/0"
                for rank in (0, 1)]  # fmt: skip
    answer = judged(text(channels))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")
    assert word in (answer.layers[0].next_step or "")


def test_a_choice_that_differs_is_a_mixture() -> None:
    lines = [
        line.replace("Using network IB", "Using network Socket") if line.startswith("n02") else line
        for line in nccl_lines(network=None)
    ]
    answer = judged(text(lines))
    assert (answer.verdict, answer.status) == ("mixed", "mixed")


def test_channels_that_were_announced_and_then_failed_moved_nothing() -> None:
    failure = (
        "n01:100:150 [0] misc/ibvwrap.cc:106 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory"
    )
    answer = judged(text(nccl_lines(has_init=False), failure))
    assert (answer.verdict, answer.status) == ("none", "aborted")
    assert reason_ids(layer_of(answer, "nccl")) == ["memlock"]
    assert layer_of(answer, "nccl").pairs == ()


def test_a_failure_after_the_connections_leaves_the_path() -> None:
    failure = (
        "n01:100:150 [0] net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<5> with error 12, opcode 0"
    )
    answer = judged(text(nccl_lines(), failure))
    assert (answer.verdict, answer.status) == ("ib", "aborted")


# 5: a missing plugin is normal on InfiniBand
def test_a_missing_plugin_is_no_reason() -> None:
    plugin = "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."
    answer = judged(text(nccl_lines(before=(plugin, "NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:1.2.3.4<0>"))))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")
    answer = judged(text(nccl_lines(network="Socket", before=(plugin, *SOCKET))))
    assert "plugin" not in reason_ids(layer_of(answer, "nccl"))


# 6: names with blanks and versions, devices behind a proxy
@pytest.mark.parametrize(
    ("network", "before", "verdict"),
    [
        ("IBext_v8", ("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:1.2.3.4<0>",), "roce"),
        ("AWS Libfabric", ("NET/OFI Selected Provider is efa (found 4 nics)",), "efa"),
        ("Libfabric", ("NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)",), "slingshot"),
        ("AWS Libfabric", (), "unknown"),
        ("AWS Libfabric", ("NET/OFI Selected Provider is tcp;ofi_rxm (found 1 nics)",), "tcp"),
        ("FastSocket", ("NET/FastSocket : Using [0]eth0:1.2.3.4<0>",), "tcp"),
        ("UCX", (), "unknown"),
        ("IBM_Fancy", (), "unknown"),
    ],
)
def test_names_of_networks(network: str, before: tuple[str, ...], verdict: str) -> None:
    assert judged(text(nccl_lines(network=network, before=before))).verdict == verdict


def test_a_proxy_rank_in_parentheses_is_no_part_of_the_device() -> None:
    before = ("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB ; OOB eth0:1.2.3.4<0>",)
    lines = [line.replace("NET/IB/1", "NET/IB/1(0)/GDRDMA(PCI)/Shared") for line in nccl_lines(device=1, before=before)]
    assert judged(text(lines)).verdict == "ib"


# 7: IB from RoCE only by the device list or the queue pairs
def test_the_link_layer_is_that_of_the_device_in_use() -> None:
    before = ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB eth0:1.2.3.4<0>",)
    assert judged(text(nccl_lines(device=0, before=before))).verdict == "ib"
    assert judged(text(nccl_lines(device=1, before=before))).verdict == "roce"
    assert judged(text(nccl_lines(device=5, before=before))).verdict == "rdma"
    assert judged(text(nccl_lines(before=()))).verdict == "rdma"


def test_queue_pairs_tell_the_link_layer() -> None:
    assert judged(text(nccl_lines(before=("NET/IB: Dev 0 Port 1 qpn 17 mtu 5 LID 4",)))).verdict == "ib"
    assert judged(text(nccl_lines(before=("NET/IB: Dev 0 Port 1 qpn 17 mtu 5 GID 3 (0/AC)",)))).verdict == "roce"


def test_a_host_without_a_list_has_the_link_layer_of_its_peers() -> None:
    lines = [line for line in nccl_lines(["n01", "n02", "n03"]) if not (line.startswith("n03") and "Using [0]" in line)]
    answer = judged(text(lines))
    assert transports(layer_of(answer, "nccl"))["n02", "n03"] == "ib"
    assert answer.verdict == "ib"


# 8: a plugin does not heed NCCL_IB_DISABLE
def test_ib_disable_without_effect() -> None:
    before = ("NCCL_IB_DISABLE set by environment to 1.", "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:1.2.3.4<0>")
    answer = judged(text(nccl_lines(network="IBext_v8", before=before)))
    assert (answer.verdict, answer.status) == ("roce", "as-expected")


def test_ib_disable_with_effect_is_a_choice() -> None:
    answer = judged(
        text(nccl_lines(network="Socket", before=("NCCL_IB_DISABLE set by environment to 1.", *SOCKET[1:])))
    )
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")
    assert reason_ids(layer_of(answer, "nccl")) == ["wrongtls"]
    zero = judged(text(nccl_lines(network="Socket", before=("NCCL_IB_DISABLE set by environment to 0.", *SOCKET))))
    assert zero.status == "fallback"


# 9: NCCL_SOCKET_IFNAME only names sockets
def test_an_interface_name_asks_for_nothing() -> None:
    name = "NCCL_SOCKET_IFNAME set by environment to eth0"
    assert (
        judged(text(nccl_lines(before=(name, "NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:1.2.3.4<0>")))).verdict == "ib"
    )
    assert judged(text(nccl_lines(network="Socket", before=(name, *SOCKET)))).status == "fallback"


# 10: pml ucx is not RDMA, pml ob1 is not TCP
@pytest.mark.parametrize(
    ("lane", "verdict"),
    [("tcp/eth0", "tcp"), ("tcp/ib0", "ipoib"), ("rc_mlx5/mlx5_0:1", "rdma"), ("srd/rdmap0s6:1", "efa")],
)
def test_pml_ucx_is_what_its_lanes_are(lane: str, verdict: str) -> None:
    selected = [f"[{host}:0020{rank}] select: component ucx selected" for rank, host in enumerate(("n01", "n02"))]
    answer = judged(text(selected, ucx_lines("ep_cfg[0]: tag(self/memory)", f"ep_cfg[1]: tag({lane})")))
    assert answer.verdict == verdict
    assert judged(text(selected)).verdict == "unknown"


def test_pml_ob1_with_openib_is_rdma() -> None:
    selected = [f"[{host}:0010{rank}] select: component ob1 selected" for rank, host in enumerate(("n01", "n02"))]
    assert judged(text(selected, bml_lines(btl="openib"))).verdict == "rdma"
    assert judged(text(selected)).verdict == "unknown"


# 11: warnings of openib beside pml ucx are noise; alone they show a build without UCX
def test_openib_warnings_beside_ucx_are_noise() -> None:
    answer = judged(text("Open MPI v4.0.1", REFUSED, INIT_ERROR, ucx_lines("ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)")))
    assert (answer.verdict, answer.status) == ("rdma", "as-expected")
    assert layer_of(answer, "mpi").reasons == ()


def test_a_refused_port_and_tcp_show_a_build_without_ucx() -> None:
    answer = judged(text("Open MPI v4.1.4", REFUSED, INIT_ERROR, bml_lines()))
    assert (answer.verdict, answer.status) == ("tcp", "fallback")
    assert reason_ids(layer_of(answer, "mpi")) == ["noucx"]


def test_40_and_401_refuse_ports_of_builds_with_ucx_too() -> None:
    answer = judged(text("Open MPI v4.0.1", REFUSED, bml_lines()))
    assert "noucx" not in reason_ids(layer_of(answer, "mpi"))


def test_a_refused_port_alone_decides_nothing() -> None:
    answer = judged(text("Open MPI v4.1.4", REFUSED))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")
    assert answer.next_step


# 12: UCX is opened by others than pml ucx
def test_memlock_of_ucx_beside_ob1_is_a_reason_and_no_abort() -> None:
    error = "[1.2] [n01:100:0] ib_md.c:1 UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory"
    answer = judged(text(error, bml_lines(["n01", "n01"], btl="vader")))
    assert (answer.verdict, answer.status) == ("shm", "as-expected")
    answer = judged(text(error, bml_lines()))
    assert (answer.verdict, answer.status) == ("tcp", "fallback")
    assert reason_ids(layer_of(answer, "mpi")) == ["memlock"]


# 13: endpoints on one host list the HCA's rails; a tcp lane may be wire-up only
def test_rails_behind_shared_memory_are_no_path() -> None:
    lanes = "tag(sysv/memory cma/memory rc_verbs/rxe0:1)"
    one_host = ucx_lines("ep_cfg[0]: tag(self/memory rc_verbs/rxe0:1)", f"ep_cfg[1]: {lanes}", hosts=["n01", "n01"])
    assert judged(text(one_host)).verdict == "shm"
    both = ucx_lines(f"ep_cfg[1]: {lanes}", "ep_cfg[2]: tag(tcp/eth0)")
    assert judged(text(both)).verdict == "tcp"
    named = ucx_lines(f"mpi intra-node cfg#1 {lanes}", "mpi inter-node cfg#2 tag(tcp/eth0)")
    assert judged(text(named)).verdict == "tcp"


def test_keep_alive_is_no_data() -> None:
    answer = judged(text(ucx_lines("mpi inter-node cfg#2 tag(tcp/eth0) ka(ud_mlx5/mlx5_0:1)")))
    assert answer.verdict == "tcp"


def test_tcp_for_small_messages_and_verbs_for_large_ones_is_a_mixture() -> None:
    assert judged(text(ucx_lines("mpi inter-node cfg#2 tag(tcp/eth0 rc_mlx5/mlx5_0:1)"))).verdict == "mixed"
    assert judged(text(ucx_lines("mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1 tcp/eth0)"))).verdict == "rdma"


# 14: an Ethernet name for UCX binds nobody else
def test_ucx_net_devices_does_not_bind_openib() -> None:
    command = "$ mpirun -np 2 --mca pml ob1 -x UCX_NET_DEVICES=eth0 ./a.out"
    answer = judged(text(command, bml_lines(btl="openib")))
    assert (answer.verdict, answer.status) == ("rdma", "as-expected")


# 15: UCX_TLS=tcp may be for the MPI that only starts the ranks
def test_settings_of_the_launching_mpi_are_not_nccls() -> None:
    command = "$ mpirun -np 4 --mca pml ob1 --mca btl ^openib -x UCX_TLS=tcp python train.py"
    answer = judged(text(command, nccl_lines()))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")
    answer = judged(text(command, bml_lines(), nccl_lines()))
    assert (answer.verdict, answer.status) == ("mixed", "by-configuration")
    assert layer_of(answer, "mpi").status == "by-configuration"
    assert layer_of(answer, "nccl").status == "as-expected"


# 16: Intel's mlx is UCX below
def test_intels_mlx_is_undecided_until_ucx_speaks() -> None:
    intel = "[0] MPI startup(): libfabric provider: mlx"
    answer = judged(text(intel))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")
    assert answer.next_step
    assert "I_MPI_DEBUG" in answer.next_step
    answer = judged(text(intel, ucx_lines("ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)")))
    assert answer.verdict == "rdma"
    assert layer_of(answer, "mpi").runtime == "Intel MPI"


# 17: MVAPICH2 has no TCP between hosts; how many there are is not told here
def test_mvapich_is_recognised() -> None:
    answer = judged(text(" MVAPICH2-2.3.7 Parameters", "[n01:mpi_rank_0][x] y"))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")


# 18: RDMA that is not InfiniBand has its own words
def test_other_rdma_has_its_own_word() -> None:
    cm = [
        f"[{host}:0010{rank}] {line}"
        for rank, host in enumerate(("n01", "n02"))
        for line in ("select: component cm selected", "mca:base:select:(  mtl) Selected component [psm2]")
    ]
    assert judged(text(cm)).verdict == "opa"
    opa = ("NET/IB : Using [0]hfi1_0:1/IB ; OOB eth0:1.2.3.4<0>",)
    assert judged(text(nccl_lines(before=opa))).verdict == "opa"


# 19: IPoIB by the interface's name, where that is certain
@pytest.mark.parametrize("name", ["ib0", "ib1", "ibs3", "ibp12s0", "ibs85f0", "ib0.8001", "mlx4_ib0", "ibP5p1s0"])
def test_names_of_ipoib(name: str) -> None:
    before = ("NET/IB : No device found.", f"NET/Socket : Using [0]{name}:10.0.0.1<0>")
    answer = judged(text(nccl_lines(network="Socket", before=before)))
    assert (answer.verdict, answer.status) == ("ipoib", "fallback")


@pytest.mark.parametrize("name", ["eth0", "bond0", "hsn0", "enp161s0f0np0", "ibmgmt0", "ens3", "fabric_ib", "vib0"])
def test_names_that_prove_no_ipoib(name: str) -> None:
    before = ("NET/IB : No device found.", f"NET/Socket : Using [0]{name}:10.0.0.1<0>")
    assert judged(text(nccl_lines(network="Socket", before=before))).verdict == "tcp"


# 20: bandwidth and latency are no evidence here
def test_figures_decide_nothing() -> None:
    table = "  8388608  2097152  float  sum  -1  800.1  10.48  180.66  0\n# Avg bus bandwidth    : 180.66"
    answer = judged(text(nccl_lines(network=None, before=(), has_init=True), table))
    assert answer.verdict == "unknown"


# 21: aggregated help messages, lines that are torn, masked names, tags in front
def test_a_count_of_messages_names_no_host() -> None:
    count = "[head:00009] 3 more processes have sent help message help-mpi-btl-base.txt / btl:no-nics"
    answer = judged(text(NO_NICS, count))
    assert answer.verdict == "unknown"
    assert layer_of(answer, "mpi").hosts == ("n01",)


def test_a_torn_line_does_not_make_up_a_path() -> None:
    torn = "n01:100:150 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Son02:102:152 [0] NCCL INFO Using network IB"
    assert judged(text(torn, nccl_lines())).verdict == "ib"


def test_masked_names_leave_the_verdict() -> None:
    lines = [line.replace("n01:", "<host>:").replace("n02:", "<host>:") for line in nccl_lines()]
    answer = judged(text(lines))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")


def test_tags_and_colours_in_front() -> None:
    lines = [f"\x1b[32m2026-01-01T00:00:00Z [1,{n % 4}]<stdout>:\x1b[0m{line}" for n, line in enumerate(nccl_lines())]
    answer = judged(text(lines))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")
    assert transports(layer_of(answer, "nccl")) == {("n01", "n01"): "shm", ("n01", "n02"): "ib", ("n02", "n02"): "shm"}


# 22: an open device is not a used one
def test_an_open_device_is_not_a_used_one() -> None:
    opened = [f"[{host}:0010{n}] [rank={n}] openib: using port mlx5_0:1" for n, host in enumerate(("n01", "n02"))]
    assert judged(text(opened, bml_lines(btl="tcp"))).verdict == "tcp"
    assert judged(text(opened)).verdict == "unknown"  # the pml may be ucx
    selected = [f"[{host}:0010{n}] select: component ob1 selected" for n, host in enumerate(("n01", "n02"))]
    assert judged(text(opened, selected)).verdict == "rdma"  # openib's exclusivity is above tcp's


# and what the facts add
def test_the_higher_exclusivity_carries_the_data() -> None:
    lines = [line.replace("Using tcp", f"Using {btl}") for line in bml_lines() for btl in ("tcp", "openib")]
    answer = judged(text(lines))
    assert (answer.verdict, answer.status) == ("rdma", "as-expected")


def test_a_pml_mismatch_is_an_abort() -> None:
    mismatch = "[n02:00007] [[57,1],5] selected pml ob1, but peer [[57,1],0] on n01 selected pml ucx"
    answer = judged(text("Open MPI v4.1.1", mismatch))
    assert (answer.verdict, answer.status) == ("none", "aborted")
    assert reason_ids(layer_of(answer, "mpi")) == ["ucxrace"]
    assert reason_ids(layer_of(judged(text("Open MPI v4.1.5", mismatch)), "mpi")) == ["mixed"]


def test_no_device_found_is_a_fall_back_unless_the_hosts_have_none() -> None:
    answer = judged(text(nccl_lines(network="Socket", before=SOCKET)))
    assert (answer.verdict, answer.status) == ("tcp", "fallback")
    assert reason_ids(layer_of(answer, "nccl")) == ["noport"]
    cloud = judged(text(nccl_lines(["ip-10-0-0-1", "ip-10-0-0-2"], network="Socket", before=SOCKET)))
    assert (cloud.verdict, cloud.status) == ("tcp", "undecided")  # EC2 has no InfiniBand; an EFA cannot be excluded
    assert cloud.next_step
    for before in ((), ("WARN Failed to open libibverbs.so[.1]",)):
        untold = judged(text(nccl_lines(["ip-10-0-0-1", "ip-10-0-0-2"], network="Socket", before=before)))
        assert (untold.verdict, untold.status) == ("tcp", "undecided")


def test_a_device_that_cannot_be_opened_is_the_reason() -> None:
    before = ("NET/IB : Unable to open device mlx5_0", *SOCKET)
    answer = judged(text(nccl_lines(network="Socket", before=before)))
    assert reason_ids(layer_of(answer, "nccl")) == ["nodev"]


def test_a_device_that_was_asked_for_is_the_reason() -> None:
    before = ("NCCL_IB_HCA set by environment to mlx4", *SOCKET)
    answer = judged(text(nccl_lines(network="Socket", before=before)))
    assert reason_ids(layer_of(answer, "nccl")) == ["wrongdev"]


def test_rails_that_differ_are_told_though_all_is_rdma() -> None:
    lines = nccl_lines(before=())
    lists = [
        "n01:100:150 [0] NCCL INFO NET/IB : Using [0]erdma_0:1/RoCE [1]erdma_1:1/RoCE ; OOB eth0:1.2.3.4<0>",
        "n02:102:152 [0] NCCL INFO NET/IB : Using [0]erdma_0:1/RoCE ; OOB eth0:1.2.3.4<0>",
        "n02:102:152 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Unable to open device erdma_1",
    ]
    answer = judged(text(lists, lines))
    assert (answer.verdict, answer.status) == ("roce", "mixed")
    assert reason_ids(layer_of(answer, "nccl")) == ["nodev"]


def test_the_mtl_of_open_mpi_before_2_0_counts_below_pml_cm_only() -> None:
    """It is selected, and says so, when pml cm is tried: before the pml is chosen (mtl_base_component.c of 1.2 to 1.10)."""
    lines = [f"[{host}:00400] select: component psm2 selected" for host in ("n01", "n02")]
    for pml, verdict in (("cm", "opa"), ("ob1", "unknown")):
        chosen = [f"[{host}:00400] select: component {pml} selected" for host in ("n01", "n02")]
        assert judged(text(lines, chosen)).verdict == verdict


@pytest.mark.parametrize("before", ["the earlier job printed ", "app: earlier job: ", "It should not be: "])
def test_a_line_of_ucx_that_a_program_quotes_is_not_the_jobs(before: str) -> None:
    own = ucx_lines("mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)")
    quoted = before + ucx_lines("mpi inter-node cfg#2 tag(tcp/eth0)")[0]
    assert judged(text(own, quoted)).verdict == "rdma"


@pytest.mark.parametrize("before", ["the earlier job printed ", "[app] older: "])
def test_a_line_of_a_btl_that_a_program_quotes_is_not_the_jobs(before: str) -> None:
    own, quoted = bml_lines(btl="openib"), before + bml_lines(btl="tcp")[1]
    assert judged(text(own, quoted)).verdict == "rdma"
    assert judged(text([before + line for line in own])).verdict == "rdma"


def test_a_line_of_ucx_behind_a_sentence_before_those_that_stand_alone_is_a_quotation() -> None:
    own = ucx_lines("mpi inter-node cfg#2 tag(tcp/eth0)")
    quoted = "good output looks like " + ucx_lines("mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)")[0]
    assert judged(text(quoted, own)).verdict == "tcp"


def test_a_text_in_front_of_all_lines_of_ucx_is_a_tag() -> None:
    own = [f"my trainer says {line}" for line in ucx_lines("mpi inter-node cfg#2 tag(tcp/eth0)")]
    assert judged(text(own)).verdict == "tcp"


def fixture(name: str) -> str:
    return (FIXTURES / name / "job.log").read_text()


@pytest.mark.parametrize("name", ["one-without-ib", "on-the-same-hosts"])
def test_a_setting_of_those_that_use_sockets_is_the_reason_of_a_mixture(name: str) -> None:
    layer = layer_of(judged(fixture(f"nccl-two-jobs-interleaved-{name}")), "nccl")
    assert (layer.status, [reason.id for reason in layer.reasons]) == ("mixed", ["wrongtls"])


def test_two_jobs_of_two_ranks_whose_lines_alternate_are_not_two_ranks() -> None:
    assert layer_of(judged(fixture("nccl-two-jobs-interleaved-one-without-ib")), "nccl").ranks is None


@pytest.mark.parametrize(("lane", "expected"), [("tcp/eth0", {"wrongtls"}), ("rc_mlx5/mlx5_0:1", set())])
def test_a_setting_of_ucx_explains_a_mixture_where_its_process_uses_tcp(lane: str, expected: set[str]) -> None:
    asked = "[1772000000.000001] [n03:4103 :0]  parser.c:2036 UCX  INFO  UCX_* env variables: UCX_TLS=tcp,self,sm"
    spoken = f"[1772000000.000002] [n03:4103 :0]  ucp_worker.c:1855 UCX  INFO  mpi inter-node cfg#2 tag({lane})"
    others = [
        *ucx_lines("mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)"),
        *ucx_lines("mpi inter-node cfg#2 tag(tcp/eth0)", pid=300),
    ]
    answer = judged(text(others, asked, spoken))
    assert (answer.verdict, {reason.id for reason in layer_of(answer, "mpi").reasons}) == ("mixed", expected)


def test_ranks_that_only_a_table_names_are_counted_and_told_to_be_silent() -> None:
    answer = judged(fixture("intel-mlx-half-of-the-ranks-speak"))
    assert (layer_of(answer, "mpi").ranks, answer.verdict) == (4, "rdma")
    assert "2 of 4 ranks said nothing of their transport" in [problem.text for problem in answer.problems]


def test_a_job_that_was_killed_at_once_is_not_asked_for_more_output_first() -> None:
    step = layer_of(judged(fixture("nccl-killed-before-all-ranks-chose")), "nccl").next_step or ""
    assert step.startswith("the job died before its ranks had said what they use")


# 5: a plugin that is missing is no reason, but where the hosts have Slingshot it is what to look at
def test_a_missing_plugin_is_a_step_on_hosts_with_slingshot() -> None:
    log = (FIXTURES / "rccl-socket-hsn" / "job.log").read_text()
    (layer,) = judged(log).layers
    assert layer.next_step is not None and "librccl-net.so" in layer.next_step
    (layer,) = judged(log.replace("hsn", "eth")).layers
    assert (layer.verdict, layer.status, layer.next_step) == ("tcp", "fallback", None)


# 21: whose failure it was is told by the channels that its process speaks of, too
def test_the_rank_of_a_failure_without_a_line_of_communicators() -> None:
    lines = nccl_lines(has_init=False)
    warning = "n02:102:1 [0] misc/ibvwrap.cc:213 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"
    ((reason,),) = (layer.reasons for layer in judged(text([*lines, warning])).layers)
    assert (reason.id, reason.hosts, reason.ranks) == ("memlock", ("n02",), (2,))
    other = nccl_lines(["n03", "n04"], pid=300, has_init=False)  # ranks 0 to 3, too
    ((reason,),) = (layer.reasons for layer in judged(text([*lines, *other, *lines, warning])).layers)
    assert (reason.id, reason.hosts, reason.ranks) == ("memlock", ("n02",), ())
