"""Several runs in one log: told apart where that is certain, and never mixed up."""

from __future__ import annotations

import pytest
from support.job_logs import SOCKET, bml_lines, document, judged, nccl_lines, reason_ids, text, ucx_lines

from ibkit.transport.evidence import Mark
from ibkit.transport.host_names import Hosts
from ibkit.transport.logs.processes import Launches, Process, Span, overlaps, unions

TCP = nccl_lines(network="Socket", before=SOCKET, pid=500, comm_id="0xdef")


def mark(line: int, order: int = 0) -> Mark:
    return Mark(order, line, f"log{order}", "text", None, None)


def process(first: int, last: int, order: int = 0) -> Process:
    made = Process("n01", 1, mark(first, order))
    made.saw(mark(last, order))
    return made


# -- NCCL


def test_two_trainings_one_after_the_other_are_two() -> None:
    answer = judged(text(nccl_lines(), TCP))
    assert (answer.verdict, answer.status) == ("mixed", "fallback")
    assert [(layer.job, layer.verdict, layer.status) for layer in answer.layers] == [
        (1, "ib", "as-expected"),
        (2, "tcp", "fallback"),
    ]


def test_two_communicators_of_one_training_are_one() -> None:
    """The same processes: a second communicator is no second run."""
    answer = judged(text(nccl_lines(), nccl_lines(comm_id="0xdef")))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "ib")]


def test_interleaved_processes_are_one_run() -> None:
    one, other = nccl_lines(), nccl_lines(pid=500, comm_id="0xdef")
    mingled = [line for pair in zip(one, other, strict=True) for line in pair]
    assert [layer.job for layer in judged(text(mingled)).layers] == [1]


def test_logs_of_two_files_with_the_same_ranks_are_two_runs() -> None:
    answer = judged(text(nccl_lines()), text(TCP))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "ib"), (2, "tcp")]


def test_one_file_a_rank_is_one_run() -> None:
    lines = nccl_lines()
    files = [text([line for line in lines if f":{100 + rank}:" in line]) for rank in range(4)]
    answer = judged(*files)
    assert [(layer.job, layer.verdict, layer.ranks) for layer in answer.layers] == [(1, "ib", 4)]


def test_a_failed_start_and_its_retry() -> None:
    failed = [
        *nccl_lines(network=None, has_init=False),
        "n01:100:150 [0] misc/ibvwrap.cc:252 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory",
        "+ srun --nodes=2 python train.py",
    ]
    answer = judged(text(failed, nccl_lines(pid=300)))
    assert [(layer.job, layer.verdict, layer.status, reason_ids(layer)) for layer in answer.layers] == [
        (1, "none", "aborted", ["memlock"]),
        (2, "ib", "as-expected", []),
    ]
    assert (answer.verdict, answer.status) == ("ib", "aborted")


def test_a_setting_of_one_run_does_not_excuse_the_other() -> None:
    asked = [
        f"{host}:{pid}:{pid + 50} [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1."
        for host, pid in (("n01", 500), ("n02", 502))
    ]
    again = nccl_lines(network="Socket", before=SOCKET, pid=900, comm_id="0x123")
    answer = judged(text(TCP[:2], asked, TCP[2:], again))
    assert [(layer.job, layer.status) for layer in answer.layers] == [(1, "by-configuration"), (2, "fallback")]


def test_a_setting_of_one_host_does_not_excuse_the_other() -> None:
    asked = "n01:500:550 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1."
    (layer,) = judged(text(TCP[:2], asked, TCP[2:])).layers
    assert (layer.status, {reason.id for reason in layer.reasons}) == ("fallback", {"noport", "wrongtls"})


# -- MPI


def test_two_mpiruns_have_two_job_families() -> None:
    answer = judged(text(bml_lines(), bml_lines(btl="openib", family=4711, pid=300)))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "tcp"), (2, "rdma")]
    assert (answer.verdict, answer.status) == ("mixed", "fallback")


def mingled(one: list[str], other: list[str]) -> list[str]:
    """Lines of two jobs by turns."""
    return [line for pair in zip(one, other, strict=True) for line in pair]


def test_two_mpiruns_at_once_are_two() -> None:
    one, other = bml_lines(), bml_lines(("n03", "n04"), btl="openib", family=4711, pid=300)
    answer = judged(text(mingled(one, other)))
    assert [(layer.job, layer.verdict, layer.hosts, layer.ranks) for layer in answer.layers] == [
        (1, "tcp", ("n01", "n02"), 2),
        (2, "rdma", ("n03", "n04"), 2),
    ]


def test_two_mpiruns_at_once_are_one_where_a_setting_may_be_of_either() -> None:
    one, other = bml_lines(), bml_lines(("n03", "n04"), btl="openib", family=4711, pid=300)
    answer = judged(text("+ mpirun -np 2 --mca btl tcp,self ./a", mingled(one, other)))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "mixed")]


def test_the_ranks_of_what_a_job_has_spawned_are_others() -> None:
    """Rank 0 of the spawned job is no rank 0 of its parent's: both modules to a ``rank 0`` are of one process."""
    parent, spawned = bml_lines(), bml_lines(("n03",), pid=300)
    lines = [
        *parent,
        *(line.replace("[[31337,1],", "[[31337,2],") for line in spawned),
        "[n02:00101] mca: bml: Using openib btl for send to [[31337,2],0] on node n03",
        "[n03:00300] mca: bml: Using openib btl for send to [[31337,1],1] on node n02",
    ]
    (layer,) = judged(text(lines)).layers
    assert (layer.verdict, layer.ranks, [pair[:3] for pair in layer.pairs]) == (
        "mixed",
        3,
        [("n01", "n02", "tcp"), ("n02", "n03", "rdma")],
    )


@pytest.mark.parametrize(
    ("first", "second"), [(("openib", "rdma"), ("tcp", "tcp")), (("tcp", "tcp"), ("openib", "rdma"))]
)
def test_containers_have_the_same_pids_and_the_same_job_family(first: tuple[str, str], second: tuple[str, str]) -> None:
    """A process asks the modules of high exclusivity first, and uses no tcp beside openib: that is another one."""
    for lost in ("", "Using self"):
        lines = [line for btl, _ in (first, second) for line in bml_lines(btl=btl) if not (lost and lost in line)]
        answer = judged(text(lines))
        assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, first[1]), (2, second[1])]
        assert (answer.verdict, answer.status) == ("mixed", "fallback")


def test_containers_whose_next_run_has_other_modules() -> None:
    """The same pids behind a command line: what sends by btls does not go on to say what comes before them."""
    ucx = ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)", pid=100)
    answer = judged(text("+ mpirun ./a", bml_lines(), "+ mpirun ./b", ucx))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "tcp"), (2, "rdma")]
    turned = judged(text("+ mpirun ./b", ucx, "+ mpirun ./a", bml_lines()))
    assert [(layer.job, layer.verdict) for layer in turned.layers] == [(1, "rdma"), (2, "tcp")]


def test_a_later_run_repeats_lines_of_an_earlier_one() -> None:
    """In containers that have their pids again two hosts send as they did before, and a third one by tcp."""
    first = bml_lines(btl="openib")
    third = bml_lines(("n01", "n02", "n03"))[2:]
    second = [*first, *(line for line in third if "n03" in line)]
    answer = judged(text("+ mpirun -np 2 ./a", first, "done", "+ mpirun -np 3 ./a", second))
    assert [(layer.job, layer.verdict, [pair[:3] for pair in layer.pairs]) for layer in answer.layers] == [
        (1, "rdma", [("n01", "n02", "rdma")]),
        (2, "mixed", [("n01", "n02", "rdma"), ("n01", "n03", "tcp"), ("n02", "n03", "tcp")]),
    ]


def test_runs_with_the_same_pids_of_which_one_rank_is_heard() -> None:
    one, other = (bml_lines(btl=btl)[:2] for btl in ("tcp", "openib"))
    assert judged(text(one, other)).verdict == "mixed"


def test_a_log_that_stands_twice_in_a_file_is_one_run() -> None:
    lines = bml_lines(btl="openib")
    for doubled in ([*lines, *lines], [line for line in lines for _ in range(2)]):
        assert [(layer.job, layer.verdict) for layer in judged(text(doubled)).layers] == [(1, "rdma")]


def table(host: str, second: int, *rows: str) -> list[str]:
    """UCX 1.22's table of an endpoint's lanes."""
    who = f"[17719{second:05d}.199432] [{host}:300  :0]   "
    title = f"{who}| Endpoint Config #2 (ctx: mpi, type: inter-node)                |"
    return [title, *(f"{who}| {row} |" for row in rows)]


RC, AUX, ETH = "rc_mlx5   | mlx5_0:1 | 1 | am, am_bw", "tcp       | eth0 | 1 | cm", "tcp       | eth0 | 1 | am, am_bw"


def test_tables_of_ucx_are_not_added_up_over_two_runs_with_the_same_pids() -> None:
    def told(second: int, *rows: str) -> list[str]:
        return [line for host in ("n01", "n02") for line in table(host, second, *rows)]

    assert judged(text(told(0, RC, ETH))).verdict == "rdma"  # a second rail
    assert judged(text(told(0, RC, AUX), told(60, RC, AUX))).verdict == "rdma"
    for one, other in (((RC, AUX), (ETH,)), ((ETH,), (RC, AUX)), ((RC, ETH), (ETH,))):
        answer = judged(text(told(0, *one), told(60, *other)))
        assert (answer.verdict, answer.status) == ("mixed", "mixed")


def test_the_same_run_twice_behind_the_same_command_is_as_it_was() -> None:
    """What its settings and modules are is told in lines that the first run has printed, too."""
    tables = [line for host in ("n01", "n02") for line in table(host, 0, ETH)]
    asked = ucx_lines("UCX_* env variables: UCX_TLS=tcp,self", pid=300, hosts=("n01",))
    for run in (["+ mpirun ./a", *bml_lines()], ["+ mpirun ./a", *asked, *tables]):
        once, twice = judged(text(run)), judged(text(run, run))
        assert (once.verdict, once.status) == (twice.verdict, twice.status)
    answer = judged(text("+ mpirun ./a", table("n01", 0, RC), "+ mpirun ./a", table("n01", 60, ETH)))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "rdma"), (2, "tcp")]


def test_a_command_line_between_ucx_lines_parts_two_runs() -> None:
    verbs = ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)")
    tcp = ucx_lines("ep_cfg[2]: tag(tcp/eth0)", pid=400)
    answer = judged(text("+ mpirun -np 2 ./a", verbs, "+ mpirun -np 2 -x UCX_TLS=tcp,self ./a", tcp))
    assert [(layer.job, layer.verdict, layer.status) for layer in answer.layers] == [
        (1, "rdma", "as-expected"),
        (2, "tcp", "by-configuration"),
    ]


def test_without_a_command_line_between_them_ucx_lines_are_one_run() -> None:
    verbs = ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)")
    tcp = ucx_lines("ep_cfg[2]: tag(tcp/eth0)", pid=400)
    answer = judged(text(verbs, tcp))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "mixed")]


def test_processes_without_channels_are_not_hidden_by_another_runs() -> None:
    """NCCL 2.4 names no network: sockets are what is left, and that may be a run which nothing tells apart."""
    listed = [
        f"{host}:{pid}:{pid} [0] NCCL INFO {text}"
        for host, pid in (("n01", 900), ("n02", 901))
        for text in ("NET/Socket : Using [0]eth0:10.0.0.1<0>", "NET/IB : No device found.")
    ]
    for lines in (text(nccl_lines(), listed), text(listed, nccl_lines())):
        assert [layer.verdict for layer in judged(lines).layers] == ["unknown"]


def test_a_completion_with_an_error_is_not_hidden_by_another_run_over_sockets() -> None:
    failed = "n01:900:950 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4242> with "
    for lines in (text(TCP, f"{failed}error 12, opcode 0, len 0"), text(f"{failed}error 12, opcode 0, len 0", TCP)):
        assert judged(lines).verdict in ("mixed", "unknown")


# -- jobs that say different things, one after the other

RC_LANES, TCP_LANES = "ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)", "ep_cfg[2]: tag(tcp/eth0)"
BROKEN = (
    "[1771920100.100000] [n01:900  :0] ib_mlx5_log.c:170 UCX  ERROR Transport retry count exceeded on mlx5_0:1/IB "
    "(synd 0x15 vend 0x81 hw_synd 0/0)"
)
KILLED = "mpirun noticed that process rank 1 with PID 201 on node n02 exited on signal 9 (Killed)."
MATRIX = """\
Host 0 [n01] ranks 0 - 1
Host 1 [n02] ranks 2 - 3

 host | 0    1
======|===========
    0 : {inside}   {between}
    1 : {between}   {inside}

Connection summary:
  on-host:  all connections are {inside}
  off-host: all connections are {between}"""


def in_turn(*jobs: list[str]) -> list[list[tuple[str, str]]]:
    """Verdicts and statuses of the jobs one after the other in a file, in either order, with commands and without."""
    command = ["+ mpirun -np 4 ./a.out"]
    one, other = jobs
    texts = (text(one, other), text(other, one), text(command, one, command, other), text(command, other, command, one))
    return [[(layer.verdict, layer.status) for layer in judged(each).layers] for each in texts]


def test_a_queue_pair_that_broke_is_not_hidden_by_a_job_over_tcp() -> None:
    """What broke was verbs: without a border between them the two are a mixture, with one each has its own verdict."""
    for tcp in (ucx_lines(TCP_LANES), bml_lines()):
        assert in_turn(tcp, [BROKEN]) == [
            [("mixed", "aborted")],
            [("mixed", "mixed")],  # nodes' logs may stand one after the other: what speaks later may have been before
            [("tcp", "fallback"), ("ib", "aborted")],
            [("ib", "aborted"), ("tcp", "fallback")],
        ]


def test_a_line_without_a_head_is_not_hidden_by_other_jobs() -> None:
    cut = ["ucp_worker.c:1783 UCX INFO ep_cfg[3]: tag(tcp/ib1 tcp/ib0)"]
    assert in_turn(ucx_lines(RC_LANES), cut)[:2] == [[("mixed", "mixed")]] * 2
    assert in_turn(ucx_lines("ep_cfg[3]: tag(tcp/ib0)"), cut)[:2] == [[("ipoib", "fallback")]] * 2


def test_a_job_that_tells_only_what_ucx_supports_is_not_hidden_by_another_one_over_tcp() -> None:
    supported = [
        f"[{who}] {text}"
        for who in ("n01:00300", "n02:00301")
        for text in (
            "common_ucx.c:311 mca_common_ucx_support_level support level is transports and devices",
            "select: component ucx selected",
        )
    ]
    assert [verdict for verdict, _ in in_turn(bml_lines(), supported)[2]] == ["tcp", "rdma"]
    assert in_turn(bml_lines(), supported)[:2] == [[("mixed", "mixed")]] * 2
    own = [line.replace(":200 ", ":300 ").replace(":201 ", ":301 ") for line in ucx_lines(TCP_LANES)]
    assert judged(text(supported, own)).verdict == "tcp"  # what it has opened is not what it has taken


def test_tables_behind_command_lines_are_runs_of_their_own() -> None:
    def matrix(inside: str, between: str) -> list[str]:
        return MATRIX.format(inside=inside, between=between).splitlines()

    tcp, verbs = matrix("sm", "tcp"), matrix("sysv/memory", "rc_mlx5/mlx5_0:1")
    for other in (bml_lines(btl="openib"), verbs):
        answers = in_turn(tcp, other)
        assert answers[2:] == [
            [("tcp", "fallback"), ("rdma", "as-expected")],
            [("rdma", "as-expected"), ("tcp", "fallback")],
        ]
        assert answers[:2] == [[("mixed", "mixed")]] * 2


def test_a_parameter_belongs_to_the_table_behind_its_command_line() -> None:
    tcp = MATRIX.format(inside="sm", between="tcp").splitlines()
    answer = judged(text("+ mpirun -np 4 --mca btl tcp,sm,self ./a", tcp, "+ mpirun -np 4 ./a", tcp))
    assert [(layer.job, layer.status) for layer in answer.layers] == [(1, "by-configuration"), (2, "fallback")]


def test_the_launchers_last_word_is_of_the_run_before_it() -> None:
    """It looks like a command line, and is the end of a run: what follows is a retry."""
    first, second = ucx_lines(RC_LANES), ucx_lines(TCP_LANES, pid=400)
    for command in ([], ["+ mpirun -np 2 ./a"]):
        answer = judged(text(command, first, KILLED, command, second))
        assert [(layer.job, layer.verdict, layer.status) for layer in answer.layers] == [
            (1, "rdma", "aborted"),
            (2, "tcp", "fallback"),
        ]


def test_a_failure_is_of_the_run_of_the_process_that_tells_it() -> None:
    """However near another run's lines are."""
    first, second = ucx_lines(RC_LANES), ucx_lines(TCP_LANES, pid=400)
    late = BROKEN.replace("n01:900", "n01:200")
    noise = [f"step {number}" for number in range(50)]
    answer = judged(text("+ mpirun ./a", first, noise, late, "+ mpirun ./a", second))
    assert [(layer.verdict, layer.status) for layer in answer.layers] == [("ib", "aborted"), ("tcp", "fallback")]
    later = judged(text("+ mpirun ./a", first, "+ mpirun ./a", second, "+ ibstat; mpirun ./b", late))
    assert [layer.verdict for layer in later.layers] == ["ib", "tcp"]


REQUEUED = "slurmstepd: error: *** JOB 4711 ON n01 CANCELLED AT 2026-03-01T10:00:00 DUE TO JOB REQUEUE ***"


def test_a_requeued_job_is_two_runs_in_the_same_file() -> None:
    verbs = ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)")
    tcp = ucx_lines("ep_cfg[2]: tag(tcp/eth0)", hosts=("n03", "n04"), pid=400)
    answer = judged(text(verbs, REQUEUED, tcp))
    assert [(layer.job, layer.verdict, layer.hosts) for layer in answer.layers] == [
        (1, "rdma", ("n01", "n02")),
        (2, "tcp", ("n03", "n04")),
    ]
    assert answer.verdict == "mixed"


def test_the_last_words_of_a_requeued_job_are_its_own() -> None:
    first, last = ucx_lines("ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)"), ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_1:1)")
    answer = judged(text(first, REQUEUED, last))
    assert [(layer.job, layer.verdict) for layer in answer.layers] == [(1, "rdma")]


def test_a_requeued_job_whose_provider_changed() -> None:
    """MPICH prints no header: only the batch system's line stands between the two."""
    hosts = ["SLURM_JOB_NUM_NODES=2"]
    answer = judged(text(hosts, "libfabric provider: verbs;ofi_rxm", REQUEUED, "libfabric provider: tcp"))
    assert [layer.job for layer in answer.layers] == [1, 2]
    assert "mixed" not in {layer.verdict for layer in answer.layers}


@pytest.mark.parametrize("command", ["", "+ mpirun_rsh -hostfile hosts ./a"])
def test_each_table_of_mvapich2_is_a_run(command: str) -> None:
    """Though their lines are alike; what ranks say before the first one is of the same run."""

    def table(hca: str) -> list[str]:
        homogeneous = "[n01:mpi_rank_0][rdma_param_handle_heterogeneity] All nodes involved are homogeneous"
        return [command, homogeneous, " MVAPICH2-2.3.7 Parameters", f"\tHCA NAME                       : {hca}"]

    edr, hfi = table("MV2_HCA_MLX_CX_EDR"), table("MV2_HCA_INTEL_HFI1")
    answer = judged(text("SLURM_JOB_NUM_NODES=2", edr, edr))
    assert [(layer.job, layer.verdict, layer.version) for layer in answer.layers] == [
        (1, "rdma", "2.3.7"),
        (2, "rdma", "2.3.7"),
    ]
    assert [layer.job for layer in judged(text("SLURM_JOB_NUM_NODES=2", edr, hfi, edr)).layers] == [1, 2, 3]
    assert [layer.job for layer in judged(text("SLURM_JOB_NUM_NODES=2", edr)).layers] == [1]


def test_logs_of_two_nodes_are_not_parted_by_one_nodes_line() -> None:
    one = ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)", hosts=("n01",))
    other = ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)", hosts=("n02",), pid=400)
    answer = judged(text(one), text(REQUEUED, other))
    assert [(layer.job, layer.hosts) for layer in answer.layers] == [(1, ("n01", "n02"))]


def test_a_command_line_that_names_a_setting_belongs_to_what_follows() -> None:
    first, second = bml_lines(), bml_lines(family=4711, pid=300)
    answer = judged(text("+ mpirun -np 2 --mca btl tcp,self ./a", first, "+ mpirun -np 2 ./a", second))
    assert [(layer.job, layer.status) for layer in answer.layers] == [(1, "by-configuration"), (2, "fallback")]
    turned = judged(text("+ mpirun -np 2 ./a", first, "+ mpirun -np 2 --mca btl tcp,self ./a", second))
    assert [(layer.job, layer.status) for layer in turned.layers] == [(1, "fallback"), (2, "by-configuration")]


def test_a_reason_belongs_to_the_run_whose_lines_it_stands_in() -> None:
    memlock = [
        "The OpenFabrics (openib) BTL failed to initialize while trying to",
        "allocate some locked memory.  This typically can indicate that the",
        "  Local host:    n01",
        "  Memlock limit: 65536",
    ]
    first, second = bml_lines(), bml_lines(family=4711, pid=300)
    answer = judged(text(first[:1], memlock, first[1:], second))
    assert [reason_ids(layer) for layer in answer.layers] == [["memlock"], []]


def test_the_document_numbers_the_runs() -> None:
    found = document(judged(text(nccl_lines(), TCP)))
    assert [layer["job"] for layer in found["layers"]] == [1, 2]
    cited = {id for layer in found["layers"] for pair in layer["pairs"] for id in pair["evidence"]}
    assert cited <= {evidence["id"] for evidence in found["evidence"]}


# -- the parts


def test_spans_order_runs_only_within_one_file() -> None:
    early, late = Span([process(1, 5)]), Span([process(6, 9)])
    assert early.ends_before(late)
    assert not late.ends_before(early)
    assert not Span([process(1, 6)]).ends_before(late)
    assert not Span([process(1, 5, order=1)]).ends_before(late)
    assert not Span([process(1, 2), process(1, 2, order=1)]).ends_before(late)


def test_a_command_line_separates_what_is_on_both_sides_of_it() -> None:
    launches = Launches([mark(6), mark(20)])
    early, late = Span([process(1, 5)]), Span([process(7, 9)])
    assert launches.separate(early, late)
    assert not launches.separate(late, early)
    assert not launches.separate(Span([process(1, 6)]), late)
    assert not Launches([mark(6, order=1)]).separate(early, late)


def test_overlapping_processes_are_connected() -> None:
    found = [process(1, 4), process(3, 9), process(8, 10), process(11, 12), process(1, 99, order=1)]
    assert unions(overlaps(found), len(found)) == [0, 0, 0, 3, 4]


def test_short_and_full_names_are_one_host() -> None:
    hosts = Hosts(["n01", "n01.example.org", "n02.a.org", "n02.b.org", "n02", "10.0.0.1", "10.0.0.2"])
    assert hosts["n01.example.org"] == hosts["n01"] == "n01"
    assert len({hosts["n02.a.org"], hosts["n02.b.org"]}) == 2
    assert hosts["10.0.0.1"] != hosts["10.0.0.2"]


def test_host_names_have_no_case() -> None:
    hosts = Hosts(["N01", "n01", "N01.Example.org", "n02"])
    assert hosts["N01"] == hosts["n01"] == hosts["N01.Example.org"] == "N01"
    assert hosts["n02"] == "n02"
