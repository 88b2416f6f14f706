"""NCCL's lines of all releases: the formats of its sources, one case each."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import nccl
from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.parsers.line_prefixes import to_line
from ibkit.parsers.log_lines import IGNORE, shape

WHO = "n01:4711:4790 [3] NCCL INFO "


def facts(text: str) -> list[nccl.NcclFact]:
    raw = text.encode()
    assert nccl.worth(shape(raw)) != IGNORE, "the prefilter would have dropped it"
    return list(nccl.read(to_line(7, raw)))


def only(text: str) -> nccl.NcclFact:
    (fact,) = facts(text)
    return fact


@pytest.mark.parametrize(
    ("text", "source", "target", "speaker", "medium", "network", "device"),
    [
        # 2.1
        ("5 -> 6 via NET/IB/0/GDRDMA", 5, 6, 6, "NET", "IB", 0),
        ("0 -> 1 via P2P/IPC", 0, 1, 0, "P2P", None, None),
        # 2.3: the receiver speaks and names no direction
        ("Ring 00 : 3 -> 0 via NET/IB/0/GDRDMA", 3, 0, 0, "NET", "IB", 0),
        ("Ring 01 : 0[0] -> 1[1] via P2P/IPC", 0, 1, 0, "P2P", None, None),
        ("Ring 00 : 0[0] -> 1[1] via direct shared memory", 0, 1, 0, "SHM", None, None),
        # 2.4.2
        ("Ring 00 : 3 -> 0 [receive] via NET/Socket/0", 3, 0, 0, "NET", "Socket", 0),
        ("Ring 00 : 0 -> 1 [send] via NET/IB/0/GDRDMA", 0, 1, 0, "NET", "IB", 0),
        # 2.5: bus ids in hexadecimal
        ("Ring 00 : 0[435e00000] -> 1[18100000] [send] via NET/IB/0", 0, 1, 0, "NET", "IB", 0),
        # 2.7 to 2.11
        ("Channel 00 : 0[b000] -> 9[1c000] [send] via NET/IB/2/GDRDMA/Shared", 0, 9, 0, "NET", "IB", 2),
        ("Channel 03 : 0[b000] -> 1[c000] via P2P/indirect/2[d000]/read", 0, 1, 0, "P2P", None, None),
        # 2.12: connection index, PXN
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3(5)/GDRDMA", 0, 8, 0, "NET", "IB", 3),
        ("Channel 00/-1 : 0[0] -> 8[0] [receive] via NET/IB/3", 0, 8, 8, "NET", "IB", 3),
        # 2.14: shared memory
        ("Channel 02 : 0[0] -> 1[1] via SHM/direct/direct", 0, 1, 0, "SHM", None, None),
        # 2.26
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IBext_v8/1/GDRDMA(PCI)/Shared", 0, 8, 0, "NET", "IBext_v8", 1),
        # plugins
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA", 0, 8, 0, "NET", "AWS Libfabric", 0),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/UCX-RMA/0", 0, 8, 0, "NET", "UCX-RMA", 0),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/FastSocket/1", 0, 8, 0, "NET", "FastSocket", 1),
        # RCCL
        (
            "Channel 00 : 1[c6000] -> 4[c1000] [send] via NET/Socket/1 comm 0x55aa nRanks 08",
            1,
            4,
            1,
            "NET",
            "Socket",
            1,
        ),
        # collnet: the other end is the switch
        ("CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA", 3, None, 3, "COLLNET", "SHARP", 0),
        ("Coll 00 : 3 [receive] via COLLNET/SHARP/1", 3, None, 3, "COLLNET", "SHARP", 1),
    ],
)
def test_channels(
    text: str, source: int, target: int | None, speaker: int, medium: str, network: str | None, device: int | None
) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, nccl.Channel)
    assert (fact.source, fact.target, fact.speaker) == (source, target, speaker)
    assert (fact.medium, fact.network, fact.device) == (medium, network, device)
    assert (fact.said.host, fact.said.pid, fact.said.line) == ("n01", 4711, 7)
    assert fact.comm == ("0x55aa" if "comm" in text else None)


@pytest.mark.parametrize(
    "text",
    [
        "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB",  # cut in the middle of the word
        "Channel 00/0 : 0[0] -> 8[0] [send] via NET/",
        "Channel 00/0 : 0[0] -> 8[0] [send] via ",
        "Channel 00/0 : 0[0] -> 8[0]",
        "Channel 00/02 :    0   1   2   3",
        "Ring 00 : 1 -> 0 -> 1",
        "Trees [0] 1/-1/-1->0->-1",
        "Channel 00/0 : 0[0] -> x via NET/IB/0",
    ],
)
def test_what_is_no_channel(text: str) -> None:
    assert not list(nccl.read(to_line(1, (WHO + text).encode())))


@pytest.mark.parametrize(
    ("text", "names", "links", "indexed"),
    [
        ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB ib0:10.0.0.1<0>", ("mlx5_0:1", "mlx5_1:1"), ("IB", "IB"), True),
        ("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", ("mlx5_0:1",), ("RoCE",), True),
        (
            "NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [2]mlx5_4:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
            ("mlx5_2:1+mlx5_3:1", "mlx5_4:1"), ("RoCE", "RoCE"), True,
        ),
        ("NET/IB : Using [0]mlx5_0:1:0:1/IB [1]mlx5_1:1::1/IB [RO]; OOB ib0:1.2.3.4<0>", ("mlx5_0:1", "mlx5_1:1"), ("IB", "IB"), True),
        ("NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB ib0:1.2.3.4<0>", ("mlx5_0:1",), ("IB",), True),
        ("NET/IB: [0] mlx5_0:1/IB ", ("mlx5_0:1",), ("IB",), False),
        ("NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=None speed=200000 context=0x1", ("mlx5_0:1",), ("RoCE",), False),
    ],
)  # fmt: skip
def test_device_lists(text: str, names: tuple[str, ...], links: tuple[str, ...], indexed: bool) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, nccl.Devices)
    assert (fact.network, fact.names, fact.links, fact.is_indexed) == ("IB", names, links, indexed)


def test_an_empty_device_list_is_no_list() -> None:
    """2.24 and later print it after `No device found`."""
    assert not list(nccl.read(to_line(1, f"{WHO}NET/IB : Using  [RO]; OOB eth0:10.0.0.1<0>".encode())))


def test_the_oob_interface_is_no_device() -> None:
    fact = only(WHO + "NET/IB : Using [0]mlx5_0:1/RoCE ; OOB ib0:10.0.0.1<0>")
    assert isinstance(fact, nccl.Devices)
    assert fact.names == ("mlx5_0:1",)


@pytest.mark.parametrize(
    ("text", "network", "names"),
    [
        ("NET/Socket : Using [0]ibs85f0:192.168.1.14<0> [1]ib0:fe80::1%ib0<0>", "Socket", ("ibs85f0", "ib0")),
        ("NET/FastSocket : Using [0]eth0:10.0.0.1<0>", "FastSocket", ("eth0",)),
        ("Bootstrap : Using [0]eth0:10.0.0.1<0>", "Bootstrap", ("eth0",)),
        ("Bootstrap: Using eth0:10.0.0.1<0>", "Bootstrap", ("eth0",)),
        ("NET : Using interface ib0:10.0.0.1<0>", "Bootstrap", ("ib0",)),
    ],
)
def test_interfaces(text: str, network: str, names: tuple[str, ...]) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, nccl.Interfaces)
    assert (fact.network, fact.names) == (network, names)


@pytest.mark.parametrize("text", ["Using network IB", "Using internal Network IB", "Using external Network IB"])
def test_the_chosen_network(text: str) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, nccl.Network)
    assert fact.name == "IB"


def test_sideband_sockets_are_nothing() -> None:
    assert not list(nccl.read(to_line(1, f"{WHO}NET/IB : Using interface ib0 for sideband communication".encode())))


@pytest.mark.parametrize(
    ("text", "device", "link"),
    [
        ("NET/IB: Dev 1 Port 1 qpn 1234 mtu 5 LID 17", 1, "IB"),
        ("NET/IB: Dev 0 Port 1 qpn 1234 mtu 3 GID 3 (80FE/1234)", 0, "RoCE"),
        ("NET/IB: NCCL Dev 0 IbDev 1 Port 1 qpn 1 mtu 5 LID 5 subnet-prefix 1  FLID 0 fifoRkey=0x1 fifoLkey=0x2", None, "IB"),
        ("NET/IB: NCCL Dev 0 IbDev 1 Port 1 qpn 1 mtu 3 query_ece={supported=1, x=0x1} GID 3 (0/AC) fifoRkey=0x1", None, "RoCE"),
        # a name that rdma-core gives; the log may have lost the quote
        ("NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 1 'roceP2p1s0f1", 1, "RoCE"),
        ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'rocep24s0'", 0, "RoCE"),
    ],
)  # fmt: skip
def test_links_of_devices(text: str, device: int | None, link: str) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, nccl.DeviceLink)
    assert (fact.device, fact.link) == (device, link)


@pytest.mark.parametrize(
    "text",
    [
        "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
        "NET/IB : GPU Direct RDMA Enabled for HCA 0 'ibp24s0'",  # port 1's protocol: the other port may be Ethernet
        "NET/IB : GPU Direct RDMA Enabled for HCA 0 'rocenter'",
        "NET/Socket : GPU Direct RDMA Disabled for HCA 0 'rocep24s0'",
    ],
)
def test_other_names_tell_no_link(text: str) -> None:
    assert not [fact for fact in facts(WHO + text) if isinstance(fact, nccl.DeviceLink)]


def test_a_completion_that_names_gids_came_by_ethernet() -> None:
    text = "NET/IB : Got completion from peer 10.2.3.6<548> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    link, failure = facts(f"{WHO.replace('INFO', 'WARN')}{text} localGid ::ffff:10.2.3.4 remoteGids::ffff:10.2.3.6")
    assert isinstance(link, nccl.DeviceLink)
    assert (link.device, link.link) == (None, "RoCE")
    assert isinstance(failure, Failure)
    assert failure.topic == "retry-exceeded"
    (failure,) = facts(WHO.replace("INFO", "WARN") + text)
    assert isinstance(failure, Failure)


def test_data_sockets_are_fast_sockets_choice() -> None:
    for text in ("NET/FastSocket : Accepted data socket 2", "NET/FastSocket : Connected after 18 retries."):
        fact = only(WHO + text)
        assert isinstance(fact, nccl.Network)
        assert fact.name == "FastSocket"


def test_a_filter_is_no_provider_yet() -> None:
    found, wanted = (
        only(f"{WHO}NET/OFI {text}")
        for text in ("Selected provider is efa, fabric is efa (found 4 nics)", "Setting provider_filter to efa")
    )
    assert isinstance(found, nccl.Provider)
    assert isinstance(wanted, nccl.Provider)
    assert (found.name, found.is_selected, wanted.name, wanted.is_selected) == ("efa", True, "efa", False)


def test_interfaces_have_addresses() -> None:
    fact = only(f"{WHO}NET/Socket : Using [0]eth0:10.1.1.9<0> [1]enP7s1:fe80::20d:3aff:fef9:4aef%enP7s1<0>")
    assert isinstance(fact, nccl.Interfaces)
    assert fact.addresses == ("10.1.1.9", "fe80::20d:3aff:fef9:4aef%enP7s1")
    fact = only(f"{WHO}Bootstrap: Using eth0:10.1.1.9<0>")
    assert isinstance(fact, nccl.Interfaces)
    assert fact.addresses == ("10.1.1.9",)


def test_an_error_that_pytorch_passes_on_with_the_version() -> None:
    text = "RuntimeError: NCCL error in: /pytorch/ProcessGroupNCCL.cpp:410, unhandled system error, NCCL version 2.4.8"
    fact = only(text)
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.is_fatal) == ("aborted", True)


@pytest.mark.parametrize(
    ("text", "rank", "ranks", "comm_id", "is_complete"),
    [
        ("comm 0x7f01 rank 3 nranks 4 - COMPLETE", 3, 4, None, True),
        ("comm 0x7f01 rank 3 nranks 16 cudaDev 3 busId 1000 - Init COMPLETE", 3, 16, None, True),
        ("comm 0x7f01 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1000 commId 0xabc - Init START", 3, 16, "0xabc", False),
        ("ncclCommInitRank comm 0x7f01 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1 commId 0xabc - Init COMPLETE", 3, 16, "0xabc", True),
        ("[Rank 3] ncclCommInitRank comm 0x7f01 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1 commId 0xabc - Init START", 3, 16, "0xabc", False),
    ],
)  # fmt: skip
def test_ranks(text: str, rank: int, ranks: int, comm_id: str | None, is_complete: bool) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, nccl.RankInit)
    assert (fact.rank, fact.ranks, fact.comm, fact.comm_id, fact.is_complete) == (
        rank,
        ranks,
        "0x7f01",
        comm_id,
        is_complete,
    )


def test_a_split_communicator_names_its_parent() -> None:
    fact = only(
        WHO
        + "ncclCommSplit comm 0x7f02 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1 parent 0x7f01 splitCount 1 color 7 key 0- Init START"
    )
    assert isinstance(fact, nccl.RankInit)
    assert (fact.parent, fact.split) == ("0x7f01", "1/7")


@pytest.mark.parametrize("text", ["comm 0x7f rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE", "comm 0x7f rank 0 nranks 2 cudaDev 0 busId 1 - Abort COMPLETE"])  # fmt: skip
def test_the_end_of_a_communicator_is_nothing(text: str) -> None:
    """PyTorch aborts its communicators at the end of healthy runs."""
    assert not list(nccl.read(to_line(1, (WHO + text).encode())))


WARN = "n01:4711:4790 [3] transport/net_ib.cc:100 NCCL WARN "


@pytest.mark.parametrize(
    ("text", "topic", "is_fatal"),
    [
        (WARN + "Failed to open libibverbs.so[.1]", "no-verbs-library", False),
        (WHO + "Failed to open libibverbs.so[.1]", "no-verbs-library", False),
        (WHO + "NET/IB : No device found.", "no-device", False),
        (WHO + "Net/IB: call to devices() returned 0 devices.", "no-device", False),
        (WARN + "Net : Socket creation failed : Address family not supported by protocol", "connect", True),
        (WARN + "NET/IB : Unable to open device mlx5_bond_0", "open-device", False),
        (WARN + "Call to ibv_open_device failed", "open-device", False),
        (WARN + "Call to ibv_create_cq failed with error Cannot allocate memory", "memlock", True),
        (WARN + "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "memlock", True),
        (WARN + "Call to ibv_create_cq failed", "verbs-call", True),
        (WARN + "Call to ibv_modify_qp failed with error No such device", "gid", True),
        (WARN + "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1", "gid", True),
        (WHO + "Call to ibv_modify_qp failed with 110 Connection timed out, x, retrying 1/4 after 10 msec of sleep", None, False),
        (WARN + "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", "retry-exceeded", True),
        (WARN + "NET/IB : Got completion from peer 1.2.3.4<5> with status=12 opcode=1 len=0 vendor err 129 (Send)", "retry-exceeded", True),
        (WARN + "NET/IB: Got completion from peer x with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)", "retry-exceeded", True),
        (WARN + "NET/IB : Got completion from peer 1.2.3.4<5> with error 4, opcode 1", "completion-error", True),
        (WARN + "NET/OFI Couldn't find any optimal provider", "ofi-no-provider", False),
        (WARN + "Error: network IB not found.", "no-such-network", True),
        (WARN + "Failed to initialize any NET plugin", "no-network", True),
        (WHO + "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.", "no-plugin", False),
        (WHO + "NET/Plugin : dlerror=librccl-net.so: cannot open shared object file: No such file or directory No plugin found (librccl-net.so), using internal implementation", "no-plugin", False),
        (WARN + "Detected mixed local Net device counts across ranks (min 1, max 2). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.", "mixed-devices", True),
        (WHO + "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)", "no-peer-memory", False),
        ("n01:1:2 [0] net_ib.cc:7 (ncclIbInit) NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory", "memlock", True),
        ("[2026-03-01 10:00:00] n01:1:2 [0] x.cc:7 NCCL WARN Call to ibv_alloc_pd failed", "verbs-call", True),
        ("n01: Test NCCL failure common.cu:954 'unhandled system error'", "aborted", True),
    ],
)  # fmt: skip
def test_failures(text: str, topic: str | None, is_fatal: bool) -> None:
    found = [fact for fact in facts(text) if isinstance(fact, Failure)]
    assert [(fact.topic, fact.is_fatal) for fact in found] == ([(topic, is_fatal)] if topic else [])


def test_a_socket_line_with_the_word_rdma_is_no_failure() -> None:
    assert not list(
        nccl.read(to_line(1, f"{WHO}NET/Socket : GPU Direct RDMA Disabled for HCA 0 'enp1s0f0' (no module)".encode()))
    )


@pytest.mark.parametrize(
    ("text", "runtime", "version"),
    [
        ("NCCL version 2.19.3+cuda12.2", "NCCL", "2.19.3+cuda12.2"),
        ("RCCL version : 2.20.5-HEAD:1a2b", "RCCL", "2.20.5-HEAD:1a2b"),
        (WHO + "NCCL version 2.30.7+cuda13.0", "NCCL", "2.30.7+cuda13.0"),
    ],
)
def test_versions(text: str, runtime: str, version: str) -> None:
    fact = only(text)
    assert isinstance(fact, Version)
    assert (fact.runtime, fact.version) == (runtime, version)


def test_settings_lose_the_full_stop() -> None:
    assert only(WHO + "NCCL_IB_DISABLE set by environment to 1.")[1:4] == ("nccl", "NCCL_IB_DISABLE", "1")
    fact = only(WHO + "NCCL_SOCKET_IFNAME set by environment to eth0")
    assert isinstance(fact, Setting)
    assert fact.value == "eth0"


def test_the_header_of_nccl_tests() -> None:
    fact = only("#  Rank  3 Group  0 Pid  16902 on HOST-A device  3 [0x2a] NVIDIA A100")
    assert isinstance(fact, nccl.RankMap)
    assert (fact.rank, fact.pid, fact.host) == (3, 16902, "HOST-A")


@pytest.mark.parametrize(
    ("head", "host"),
    [
        ("[1,3]<stdout>:n01", "n01"),
        ("2024-05-01T10:00:00Z [1,3]<stdout>:n01", "n01"),
        ("<cluster_name>", "<cluster_name>"),
        ("", None),
        (" 45%|####5     | 10/22 [00:01<00:01] n01", "n01"),
        ("n01.cluster.local", "n01.cluster.local"),
    ],
)
def test_who_speaks(head: str, host: str | None) -> None:
    fact = only(f"{head}:4711:4790 [0] NCCL INFO Using network IB")
    assert fact.said.host == host
    assert fact.said.pid == 4711


def test_two_messages_on_one_line() -> None:
    first, second = facts(
        "n01:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0 n02:7:8 [1] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/Socket/0"
    )
    assert isinstance(first, nccl.Channel)
    assert isinstance(second, nccl.Channel)
    assert (first.said.host, first.network) == ("n01", "IB")
    assert (second.said.host, second.network) == ("n02", "Socket")


def test_a_name_glued_to_a_path_is_not_made_up() -> None:
    """Where NET/IB/0 ends and n02 begins cannot be told."""
    (fact,) = facts(
        "n01:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0n02:7:8 [1] NCCL INFO Using network IB"
    )
    assert isinstance(fact, nccl.Network)
    assert fact.said.host is None


def test_22_has_no_word_nccl() -> None:
    assert isinstance(only("n01:5:6 [0] INFO Using internal Network Socket"), nccl.Network)
    assert isinstance(only("n01:5:6 [0] INFO Ring 00 : 0[0] -> 1[1] via P2P/IPC"), nccl.Channel)


def test_absurd_numbers_are_no_numbers() -> None:
    text = f"{WHO}Channel 00/0 : {'9' * 5000}[0] -> 8[0] [send] via NET/IB/0"
    assert not list(nccl.read(to_line(1, text.encode())))


@given(st.binary(max_size=400))
def test_arbitrary_bytes_never_fail(data: bytes) -> None:
    line = to_line(1, data.replace(b"\n", b" "))
    list(nccl.read(line))
    list(nccl.read(to_line(1, WHO.encode() + data.replace(b"\n", b" "))))


PIECES = [
    "n01:1:2 [0] NCCL INFO ",
    "Channel 00/0 : ",
    "0[0] -> 1[1] ",
    "via ",
    "NET/IB/0",
    ":1:2 [0] ",
    "[0]={",
    "NET/IB : Using ",
    " comm 0x1 ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_pieces_in_any_order_never_fail(pieces: list[str]) -> None:
    for fact in nccl.read(to_line(1, "".join(pieces).encode())):
        assert fact.said.line == 1


@pytest.mark.parametrize("part", [*PIECES, "NCCL WARN ", ":1:1 ", "x", " [0]a:1/IB"])
def test_long_lines_take_linear_time(part: str) -> None:
    start = time.perf_counter()
    list(nccl.read(to_line(1, (WHO + part * (65_000 // len(part))).encode())))
    assert time.perf_counter() - start < 3


ALONE = "n01:17:18 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"


def told_behind(before: str, *, first: str = ALONE) -> bool:
    """Whether a line behind this text is taken as the job's own."""
    reader = nccl.Reader()
    lines = [to_line(1, first.encode()), to_line(2, (before + ALONE.replace("IB", "Socket")).encode())]
    facts = [*(fact for line in lines for fact in reader.read(line)), *reader.finish()]
    return any(fact.said.line == 2 for fact in facts)


@pytest.mark.parametrize(
    "before",
    ["[app] baseline: ", "INFO:train: reference line was ", 'it said: "', "the last run's line = ", "Compare this: "],
)
def test_a_line_that_a_program_quotes_is_not_its_own(before: str) -> None:
    assert not told_behind(before)


@pytest.mark.parametrize(
    "before", ["", "    ", "epoch 3 ", "loss ", "worker1: ", "[cn7:12] ", "stage:1:2 ", "- nccl - INFO - ", "INFO: "]
)
def test_a_line_behind_a_tag_or_glued_to_output_is_its_own(before: str) -> None:
    assert told_behind(before)


def test_a_label_in_front_of_all_lines_is_a_tag() -> None:
    assert told_behind("INFO trainer: ", first="INFO trainer: " + ALONE)
    assert told_behind("the rank says ", first="the rank says " + ALONE)


def test_a_quotation_before_the_lines_that_stand_alone_is_one() -> None:
    reader = nccl.Reader()
    quoted = to_line(1, ("reference line was " + ALONE.replace("IB", "Socket")).encode())
    assert not list(reader.read(quoted))
    assert [fact.said.line for fact in reader.read(to_line(2, ALONE.encode()))] == [2]
    assert not list(reader.finish())


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Call to ibv_create_qp failed with error Cannot allocate memory errno 12", "memlock"),
        ("Call to ibv_modify_qp failed with error No such device", "gid"),
        ("NET/IB: Got completion from peer 10.1.1.2<4123> with status=12 opcode=0", "retry-exceeded"),
        ("Cuda failure 2 'out of memory'", None),
    ],
)
def test_what_pytorch_passes_on_counts_behind_its_announcement(text: str, topic: str | None) -> None:
    def topics(*texts: str) -> list[str]:
        reader = nccl.Reader()
        lines = [to_line(number, said.encode()) for number, said in enumerate(texts, 1)]
        return [fact.topic for line in lines for fact in reader.read(line) if isinstance(fact, Failure)]

    assert topics("[rank1]: Last error:", f"[rank1]: {text}") == ([topic] if topic else [])
    assert not topics(text, "Last error:")
    assert not topics("Last error:", *["step"] * 300, text)


def test_the_gpu_of_a_rank() -> None:
    text = WHO + "comm 0x7f rank 1 nranks 2 cudaDev 0 nvmlDev 3 busId 9d000 commId 0xa - Init COMPLETE"
    (fact,) = facts(text)
    assert isinstance(fact, nccl.RankInit) and fact.gpu == "nvmlDev 3 busId 9d000"
    (fact,) = facts(text.replace("nvmlDev 3 ", ""))
    assert isinstance(fact, nccl.RankInit) and fact.gpu == "cudaDev 0 busId 9d000"
