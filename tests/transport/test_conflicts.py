"""Lines that contradict each other, failures that another process does not mend, ranks that are not seen."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from support.job_logs import SOCKET, bml_lines, judged, layer_of, reason_ids, text, transports, ucx_lines

from ibkit.errors import UnreadableInput
from ibkit.export.mpi_sentence import sentence
from ibkit.transport.logs.job import Job, Log, open_job
from ibkit.transport.logs.verdict import judge

IB = "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"
ROCE = "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"


def nccl(host: str, *messages: str) -> list[str]:
    """What the one process of a host says."""
    pid = 100 * int(host[-1])
    return [f"{host}:{pid}:{pid + 1} [0] NCCL INFO {message}" for message in messages]


def init(rank: int, ranks: int = 2, end: str = "COMPLETE") -> str:
    return f"ncclCommInitRank comm 0x55a{rank} rank {rank} nranks {ranks} cudaDev 0 nvmlDev 0 busId 1b000 commId 0x7c2e41d0 - Init {end}"


# -- both ends of a channel


def test_a_channel_of_one_end_is_no_path_where_the_other_chose_sockets() -> None:
    answer = judged(
        text(
            nccl("gx1", "NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket"),
            nccl("gx2", IB, "Using network IB"),
            nccl("gx1", init(0, end="START")),
            nccl("gx2", init(1, end="START"), "Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0"),
        )
    )
    assert (answer.verdict, answer.status) == ("mixed", "mixed")
    assert transports(layer_of(answer, "nccl")) == {("gx1", "gx2"): "mixed"}


def test_a_channel_of_one_end_is_no_path_where_the_other_found_no_device() -> None:
    answer = judged(
        text(
            nccl("gx1", "NET/IB : No device found.", init(0)),
            nccl("gx2", IB, "Using network IB", init(1), "Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0"),
        )
    )
    assert (answer.verdict, answer.status) == ("unknown", "undecided")


def test_a_channel_of_one_end_is_a_path_where_the_other_chose_the_same() -> None:
    answer = judged(
        text(
            nccl("gx1", IB, "Using network IB", init(0)),
            nccl("gx2", IB, "Using network IB", init(1), "Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0"),
        )
    )
    assert (answer.verdict, answer.status) == ("ib", "as-expected")


def test_a_process_that_did_not_choose_leaves_the_others_choice_open() -> None:
    answer = judged(text(nccl("gx1", IB, "Using network IB"), nccl("gx2", "Bootstrap : Using eth0:10.0.0.2<0>")))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")


# -- failures

COMPLETION = "gx1:100:120 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47512> with error 12, opcode 32601, len 0, vendor err 129 (Send)"


def connected(host: str, rank: int) -> list[str]:
    return nccl(
        host, ROCE, "Using network IB", f"Channel 00/0 : {1 - rank}[0] -> {rank}[0] [receive] via NET/IB/0",
        f"Channel 00/0 : {rank}[0] -> {1 - rank}[0] [send] via NET/IB/0", "Connected all rings", init(rank),
    )  # fmt: skip


def test_the_next_nodes_log_does_not_mend_a_failure() -> None:
    """`cat gx1.out gx2.out`: what gx2 says stands below gx1's failure, and was said before it."""
    failure = ["", COMPLETION, "gx1: Test NCCL failure all_reduce.cu:44 'remote process exited'"]
    for lines in (
        text(connected("gx1", 0), failure, connected("gx2", 1)),
        text(connected("gx1", 0), connected("gx2", 1), failure),
    ):
        answer = judged(lines)
        assert (answer.verdict, answer.status) == ("roce", "aborted")
        assert "gid" not in reason_ids(layer_of(answer, "nccl")), "the GID worked before"


def test_results_and_the_own_later_connection_mend_a_failure() -> None:
    warning = ["", "gx1:100:120 [0] x.cc:1 NCCL WARN NET/IB : Got async fatal event: port error"]
    answer = judged(text(connected("gx1", 0), connected("gx2", 1), warning, "# Avg bus bandwidth    : 21.4"))
    assert answer.status == "as-expected"
    answer = judged(text(nccl("gx1", ROCE), warning, connected("gx1", 0), connected("gx2", 1)))
    assert answer.status == "as-expected"


@pytest.mark.parametrize("steps", [[], ["step 100 loss 2.1"]])
def test_a_lost_queue_pair_was_connected(steps: list[str]) -> None:
    """Send and receive alone print no "Connected"; from 2.22 on channels come after the initialisation."""
    paths = [
        *nccl("gx1", ROCE, "Using network IB", init(0)),
        *nccl("gx2", ROCE, "Using network IB", init(1)),
        *nccl("gx1", "Channel 00/1 : 0[0] -> 1[0] [send] via NET/IB/0/Shared"),
        *nccl("gx2", "Channel 00/1 : 0[0] -> 1[0] [receive] via NET/IB/0/Shared"),
    ]
    answer = judged(text(paths, steps, "", COMPLETION))
    assert (answer.verdict, answer.status) == ("roce", "aborted")
    answer = judged(text(steps, "", COMPLETION))
    assert (answer.verdict, answer.status) == ("rdma", "aborted"), "a completion comes from a connected queue pair"
    assert not reason_ids(layer_of(answer, "nccl")), "whether it had worked before is not told"


def test_a_queue_pair_that_could_not_be_made_is_no_path() -> None:
    answer = judged(
        text(
            nccl("gx1", ROCE, "Using network IB", "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"),
            "",
            "gx1:100:120 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory",
        )
    )
    assert (answer.verdict, answer.status) == ("none", "aborted")


@pytest.mark.parametrize(
    ("failed", "word"),
    [
        ("x.cc:1 NCCL WARN Call to ibv_create_cq failed", "did not print why ibv_create_cq failed"),
        ("x.cc:1 NCCL WARN Call to ibv_create_qp failed with error Invalid argument errno 22", None),
        ("x.cc:1 NCCL WARN Call to ibv_alloc_pd failed", None),
        ("x.cc:1 NCCL WARN Call to connect returned Connection refused failed", "look for that rank's own error"),
    ],
)
def test_what_is_to_be_looked_at_where_the_end_has_no_reason(failed: str, word: str | None) -> None:
    """Older NCCL tells no error of the calls that pin memory: memlock is likely then, and not proven."""
    answer = judged(text(nccl("gx1", ROCE, "Using network IB"), "", f"gx1:100:120 [0] {failed}"))
    layer = layer_of(answer, "nccl")
    assert (layer.verdict, layer.status, layer.reasons) == ("none", "aborted", ())
    assert word in (layer.next_step or "") if word else layer.next_step is None


# -- who is there


@pytest.mark.parametrize(
    ("told", "address"),
    [(", local GID index 3, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.0.2", "10.0.0.2"), ("", "ADDRESS")],
)
def test_a_peer_whose_roce_address_does_not_answer(told: str, address: str) -> None:
    """The channel lines before it tell what was to be connected, and are no paths."""
    failed = f"gx1:100:120 [0] misc/ibvwrap.cc:3 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out{told}"
    answer = judged(text(connected("gx1", 0)[:4], connected("gx2", 1)[:4], ["", failed]))
    layer = layer_of(answer, "nccl")
    assert (answer.verdict, answer.status, reason_ids(layer)) == ("none", "aborted", ["gid"])
    assert f"`ip neigh show {address}`" in (layer.next_step or "")
    assert "path" not in {one.evidence_class for one in answer.evidence}


def test_one_nvlink_domain_of_two_hosts_needs_no_network() -> None:
    lines = [
        line
        for rank, host in enumerate(("gx1", "gx2"))
        for line in nccl(
            host, IB, "Using network IB", init(rank, end="START"),
            f"comm 0x55a{rank} rank {rank} nRanks 2 nNodes 1 localRanks 2 localRank {rank} MNNVL 1", init(rank),
        )
    ]  # fmt: skip
    assert (judged(text(lines)).verdict, judged(text(lines)).status) == ("shm", "as-expected")
    assert "one host" not in sentence(judged(text(lines)))
    channels = [
        *nccl("gx1", "Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL"),
        *nccl("gx2", "Channel 00/0 : 1[1] -> 0[0] via P2P/MNNVL"),
    ]
    assert judged(text(lines, channels)).verdict == "shm"
    two = text(lines).replace("nNodes 1", "nNodes 2").replace("MNNVL 1", "MNNVL 0")
    assert judged(two).verdict == "ib"


def test_the_number_of_nodes_tells_where_silent_ranks_are() -> None:
    line = "comm 0x55a0 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0"
    answer = judged(text(nccl("gx1", line, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM")))
    assert (answer.verdict, answer.status, answer.problems) == ("shm", "as-expected", ())
    answer = judged(
        text(nccl("gx1", line.replace("nNodes 1", "nNodes 2"), "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"))
    )
    assert answer.verdict == "unknown"


def test_ranks_of_nccl_2_3() -> None:
    """`rank R nranks N` without a communicator."""
    lines = [
        nccl("gx1", "Using internal Network IB", "rank 0 nranks 3"),
        nccl("gx2", "Using internal Network IB", "rank 1 nranks 3"),
    ]
    answer = judged(text(*lines))
    assert (answer.verdict, layer_of(answer, "nccl").ranks) == ("unknown", 3)
    assert [problem.kind for problem in answer.problems] == ["silent-ranks"]
    lines.append(nccl("gx3", "Using internal Network IB", "rank 2 nranks 3"))
    assert judged(text(*lines)).verdict == "rdma"


def test_a_process_of_several_ranks_speaks_for_all_of_them() -> None:
    """nccl-tests -g 2 on two nodes, and on one."""
    lines = [
        line
        for node, host in enumerate(("gx1", "gx2"))
        for line in nccl(host, ROCE, "Using network IB", init(2 * node, 4), init(2 * node + 1, 4))
    ]
    assert (judged(text(lines)).verdict, judged(text(lines)).problems) == ("roce", ())
    assert judged(text(nccl("gx1", ROCE, "Using network IB", init(0), init(1)))).verdict == "shm"


def test_unseen_ranks_are_told_where_paths_decide() -> None:
    lines = nccl("gx1", IB, "Using network IB", init(0, 4), "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0")
    answer = judged(text(lines))
    assert answer.verdict == "ib"
    assert "3 of 4 ranks" in answer.problems[0].text


def test_rank_pairs_within_a_host_are_not_listed_under_the_networks_word() -> None:
    lines = nccl(
        "gx1", "NET/Socket : Using [0]eth0:10.0.0.1<0>", "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC",
        "Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0",
    )  # fmt: skip
    lines += [
        line.replace("gx1:100", "gx1:900")
        for line in nccl("gx1", "Channel 00/0 : 2[0] -> 0[0] [send] via NET/Socket/0")
    ]
    pairs = layer_of(judged(text(lines)), "nccl").pairs
    assert [(pair.transport, (0, 1) in pair.ranks) for pair in pairs] == [("tcp", False)]


# -- Open MPI and UCX

SUMMARY = """Host 0 [n01] ranks 0 - 0
Host 1 [n02] ranks 1 - 1

Connection summary: (pml)
  on-host:  all connections are self
  off-host: all connections are ucx=rc_mlx5;mlx5_0:1

"""


@pytest.mark.parametrize(
    "first",
    [text(bml_lines(btl="openib")), SUMMARY, SUMMARY.replace("n01", "c1").replace("n02", "c2")],
    ids=["bml", "table", "table-of-other-hosts"],
)
def test_named_and_said_paths_both_count(first: str) -> None:
    answer = judged(text(first, ucx_lines("mpi inter-node cfg#1 tag(tcp/eno1)")))
    assert (answer.verdict, answer.status) == ("mixed", "mixed")
    answer = judged(text(first, ucx_lines("mpi inter-node cfg#1 tag(rc_mlx5/mlx5_0:1)")))
    assert (answer.verdict, answer.status) == ("rdma", "as-expected")


def test_two_steps_by_tcp_and_by_ucx() -> None:
    answer = judged(text(bml_lines(btl="tcp"), ucx_lines("mpi inter-node cfg#1 tag(rc_mlx5/mlx5_0:1)")))
    assert answer.verdict == "mixed"


def test_a_process_that_says_both_is_not_decided() -> None:
    """The pml is not told: either may carry the messages."""
    answer = judged(text(bml_lines(btl="tcp"), ucx_lines("mpi inter-node cfg#1 tag(rc_mlx5/mlx5_0:1)", pid=100)))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")


def test_an_endpoint_to_somewhere_makes_no_pair_of_its_own_host() -> None:
    """1.7 to 1.14 do not say where the peer is."""
    answer = judged(text(ucx_lines("ep_cfg[0]: tag(tcp/eno1);", hosts=["n01"])))
    assert (answer.verdict, transports(layer_of(answer, "mpi"))) == ("tcp", {})


REFUSED = """By default, for Open MPI 4.0 and later, infiniband ports on a device
are not used by default.  The intent is to use UCX for these devices.

  Local host:              n01
  Local adapter:           {}
  Local port:              1
"""


def test_the_link_layers_of_some_rails() -> None:
    """What is told of some ports is said of these, and which the others are."""
    tail = "[n01:101 :0:101] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81)"
    lines = [
        f"[1.2] [{host}:101 :0] ucp_worker.c:1888 UCX  INFO  x inter-node cfg#2 tag(rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1)"
        for host in ("n01", "n02")
    ]
    answer = judged(text([*lines, tail]))
    step = answer.layers[0].next_step or ""
    assert (answer.verdict, answer.layers[0].link_layers) == ("rdma", ("ib",))
    assert sentence(answer).startswith("RDMA (verbs; InfiniBand where the log shows it")
    assert "mlx5_0:1 of n01: InfiniBand" in step
    assert "mlx5_1:1 of n01, mlx5_0:1 of n02, mlx5_1:1 of n02" in step


def test_ucx_struck_out_on_the_command_line_is_a_configuration() -> None:
    command = "mpirun -np 2 --mca pml {} --mca btl_base_verbose 100 ./a.out"
    answer = judged(text(command.format("^ucx"), REFUSED.format("mlx5_0"), bml_lines(btl="tcp")))
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")
    assert reason_ids(layer_of(answer, "mpi")) == ["wrongtls"]
    answer = judged(text(command.format("^cm"), REFUSED.format("mlx5_0"), bml_lines(btl="tcp")))
    assert answer.status == "fallback"


def test_ucx_is_not_omni_paths_mend() -> None:
    answer = judged(text(REFUSED.format("hfi1_0"), bml_lines(btl="tcp")))
    assert reason_ids(layer_of(answer, "mpi")) == []


# -- logs that are cut

PSM2 = """Host 0 [a1] ranks 0 - 1
Host 1 [a2] ranks 2 - 3

 host | 0    1
======|===========
    0 : sm   psm2
    1 : psm2 sm
"""


@pytest.mark.parametrize("end", range(len(PSM2) - 40, len(PSM2) + 1))
def test_a_cut_table_says_less_and_nothing_else(end: int) -> None:
    assert judged(PSM2[:end]).verdict in ("opa", "unknown")


def test_the_whole_table() -> None:
    assert judged(PSM2).verdict == "opa"


TWO_HOSTS = text(
    "[n01:00501] mca: bml: Using self btl for send to [[1777,1],0] on node n01",
    "[n01:00501] mca: bml: Using vader btl for send to [[1777,1],1] on node n01",
    "[n01:00502] mca: bml: Using vader btl for send to [[1777,1],0] on node n01",
    "[n01:00502] mca: bml: Using self btl for send to [[1777,1],1] on node n01",
)


@pytest.mark.parametrize(
    "last",
    [
        "[n01:00501] mca: bml: Using tcp btl for send to [[1777,1],2] on node n02",
        "[n02:00601] mca: bml: Using self btl for send to [[1777,1],2] on node n02",
    ],
)
def test_a_last_bml_line_that_is_cut_does_not_leave_one_host(last: str) -> None:
    for end in range(len("[n01:00501] mca: bml: Using "), len(last)):
        assert judged(TWO_HOSTS + last[:end]).verdict in ("unknown", "tcp"), last[:end]
    assert judged(TWO_HOSTS).verdict == "shm"


def test_a_channel_line_that_is_cut_after_the_network_counts() -> None:
    lines = nccl("gx1", IB, "Using network IB", init(0)) + nccl("gx2", IB, "Using network IB", init(1))
    whole = text(lines, nccl("gx2", "Channel 00/0 : 0[0] -> 1[0] [receive] via NET/Socket/0/Shared"))
    start = whole.rindex("NET/") + 4
    for end in range(start, len(whole)):
        is_whole_name = end > start + len("Socket/")
        assert judged(whole[:end]).verdict == ("mixed" if is_whole_name else "ib"), whole[start:end]


# -- how the text comes


def test_a_packed_log_that_gives_nothing_is_not_called_empty() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise EOFError("ended too early")

    with pytest.raises(UnreadableInput, match="not read to its end"):
        judge(Job("job.log.gz", (Log("job.log.gz", Broken),)))


def test_zstd_is_told(tmp_path: Path) -> None:
    path = tmp_path / "job.log.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(UnreadableInput, match="zstd"):
        open_job(str(path))


@pytest.mark.parametrize(
    "prefix", ["[0]<stdout>:", "[0]: ", "[0] ", "[1,mpirank:0,algo-1]<stdout>:", "[1,0]<stdout>:", "0: "]
)
def test_settings_behind_a_launchers_prefix(prefix: str) -> None:
    lines = [prefix + line for line in ("NCCL_IB_DISABLE=1", *nccl("gx1", *SOCKET), *nccl("gx2", *SOCKET))]
    answer = judged(text(lines))
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")


@pytest.mark.parametrize("key", ["log", "message", "textPayload", "line"])
def test_a_collectors_json(key: str) -> None:
    lines = ("NCCL_IB_DISABLE=1", *nccl("gx1", *SOCKET), *nccl("gx2", *SOCKET))
    answer = judged(text([json.dumps({"time": "x", key: f"\x1b[1m{line}\x1b[0m"}) for line in lines]))
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")
