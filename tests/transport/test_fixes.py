"""Which mend is given: by runtime, version and place, from one table."""

from __future__ import annotations

import pytest
from support.job_logs import SOCKET, bml_lines, judged, layer_of, nccl_lines, text

from ibkit.model.mpi import Evidence, JobVerdict, Layer, Reason
from ibkit.parsers import intel_mpi, libfabric, mpich, mvapich2, openmpi, ucx, verbs_messages
from ibkit.parsers.job_facts import Failure
from ibkit.parsers.line_prefixes import to_line
from ibkit.transport.catalogue import ENTRIES, NOISE, REASON
from ibkit.transport.fixes import PLACES, fitted, fix_for, places_of, tcp_settings
from ibkit.transport.reasons import _TOPICS, reason_of

MEMLOCK = (
    "[1700000000.000001] [n02:4711 :0]   ib_iface.c:1046 UCX  ERROR ibv_create_cq(cqe=4096) failed: "
    "Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)"
)
TCP_BTL = bml_lines()


@pytest.mark.parametrize(
    ("id", "runtime", "version", "places", "words"),
    [
        ("memlock", None, None, (), "LimitMEMLOCK=infinity in the unit of slurmd, pbs_mom or sshd"),
        ("memlock", "Open MPI", "4.1.4", ("slurm",), "PropagateResourceLimitsExcept=MEMLOCK"),
        ("memlock", "NCCL", "2.19.3", ("docker",), "--ulimit memlock=-1:-1 --cap-add=IPC_LOCK"),
        ("memlock", "NCCL", "2.19.3", ("kubernetes", "slurm"), "capabilities.add: [IPC_LOCK]"),
        ("ucxlist", "Open MPI", "4.1.1", (), "4.1.2 or later"),
        ("ucxlist", "Open MPI", "4.1.4", (), "--mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"),
        ("ucxlist", "Open MPI", "5.0.3", ("slurm",), "OMPI_MCA_"),
        ("noucx", "Open MPI", "4.1.1", (), "--mca btl_openib_allow_ib 1"),
        ("wrongdev", "Open MPI", "5.0.3", (), "btl_openib_ parameters do nothing"),
        ("wrongdev", "Open MPI", "4.0.7rc1", (), "--mca btl_openib_if_include"),
        ("wrongdev", "NCCL", "2.19.3+cuda12.2", (), "NCCL_IB_HCA"),
        ("wrongdev", "RCCL", None, (), "correct NCCL_IB_HCA"),
        ("wrongdev", None, None, (), "UCX_NET_DEVICES needs the port"),
        ("plugin", "RCCL", "2.18.3", (), "librccl-net.so"),
        ("wrongtls", "Intel MPI", "2018 Update 3", (), "shm:dapl"),
        ("wrongtls", "Intel MPI", "2021.9", (), "I_MPI_OFI_PROVIDER=mlx"),
        ("wrongtls", "Intel MPI", None, (), "remove the setting"),
        ("cpc", "Open MPI", "3.1.3", (), "a newer Open MPI with UCX"),
        ("pkey", "MVAPICH2", "2.3.7", (), "MV2_DEFAULT_PKEY"),
        ("nobuild", "MPICH", "3.3.2", (), "--with-device=ch4:ucx"),
    ],
)
def test_the_mend_that_fits(
    id: str, runtime: str | None, version: str | None, places: tuple[str, ...], words: str
) -> None:
    assert words in fix_for(id, runtime, version, places)


def test_each_entry_is_whole() -> None:
    for entry in ENTRIES:
        assert entry.lines and entry.checks and entry.sources, entry.id
        assert entry.fixes[0][1:] == (None, None, None, None), f"{entry.id}: the first mend is for anything"
        assert {fix.place for fix in entry.fixes} - {None} <= set(PLACES)
        keys = [fix[1:] for fix in entry.fixes]
        assert len(set(keys)) == len(keys), f"{entry.id}: two mends for one thing"
        ranged = {fix.runtime for fix in entry.fixes if fix.since or fix.before}
        assert None not in ranged, f"{entry.id}: a version of no runtime"


def test_noise_is_no_reason_and_each_topic_has_an_entry() -> None:
    kinds = {entry.id: entry.kind for entry in ENTRIES}
    given = {id for topics in _TOPICS.values() for id in topics.values()}
    assert {kinds[id] for id in given} == {REASON}
    assert {id for id, kind in kinds.items() if kind == NOISE} == {"noparams", "openibinit"}


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["srun -n 4 ./a.out"], ("slurm",)),
        (["SLURM_JOB_NODELIST"], ("slurm",)),
        (["[pod/train-worker-0/pytorch] NCCL INFO x"], ("kubernetes",)),
        (["docker run --gpus all img mpirun -np 2 ./a", "LSB_HOSTS"], ("docker", "lsf")),
        (["singularity exec img.sif ./a"], ("apptainer",)),
        (["qstat"], ("pbs",)),
        (["mpirun -np 2 ./a.out", "gpu-worker-1: hello"], ()),
    ],
)
def test_places(texts: list[str], places: tuple[str, ...]) -> None:
    assert places_of(texts) == places


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("mpirun --mca pml ob1 --mca btl tcp,self -np 2 ./a", ["--mca pml ob1", "--mca btl tcp,self"]),
        ("export OMPI_MCA_btl=^openib", ["OMPI_MCA_btl=^openib"]),
        ("UCX  INFO  UCX_* env variables: UCX_TLS=tcp,self UCX_LOG_LEVEL=info", ["UCX_TLS=tcp,self"]),
        ("n01:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.", ["NCCL_IB_DISABLE=1"]),
        ("I_MPI_FABRICS=shm:tcp", ["I_MPI_FABRICS=shm:tcp"]),
        ("FI_PROVIDER=tcp", ["FI_PROVIDER=tcp"]),
        ("+ mpirun -n 4 -genv FI_PROVIDER tcp -genv I_MPI_DEBUG 5 ./a", ["FI_PROVIDER=tcp"]),
        ("NCCL_SOCKET_IFNAME=eth0 NCCL_IB_DISABLE=0 UCX_TLS=all", []),
    ],
)
def test_settings_of_a_line_that_leave_tcp(line: str, found: list[str]) -> None:
    assert tcp_settings(line, None) == found


def test_the_mend_names_the_setting() -> None:
    answer = judged(text("+ mpirun --mca btl tcp,self -np 4 ./a", TCP_BTL))
    (reason,) = answer.layers[0].reasons
    assert (reason.id, reason.fix.split(" if RDMA")[0]) == ("wrongtls", "remove --mca btl tcp,self")


@pytest.mark.parametrize("setting", ["I_MPI_FABRICS=ofi", "I_MPI_SHM=off"])
def test_the_mend_on_one_host_is_shared_memory(setting: str) -> None:
    said = [
        "Intel(R) MPI Library, Version 2021.14  Build 20241121 (id: e7829d6)", "libfabric provider: tcp;ofi_rxm",
        "Rank    Pid      Node name  Pin cpu", "0       501      box        0", "1       502      box        1",
        setting, "I_MPI_DEBUG=5",
    ]  # fmt: skip
    layer = layer_of(judged(text([f"[0] MPI startup(): {line}" for line in said], "done")), "mpi")
    (reason,) = layer.reasons
    assert (layer.verdict, layer.status, reason.id) == ("tcp", "by-configuration", "wrongtls")
    assert reason.fix == f"remove {setting}: the ranks of one host then share memory"


def test_no_example_of_one_reason_is_read_as_another() -> None:
    """But for mlx's, whose words libfabric's other providers have, too."""
    for entry in ENTRIES:
        for example in entry.lines:
            read = [*openmpi.Reader().read(line := to_line(1, example.encode())), *ucx.Reader().read(line)]
            for reader in (intel_mpi, libfabric, mpich, mvapich2, verbs_messages):
                read += reader.read(line)
            found = {reason_of(fact) for fact in read if isinstance(fact, Failure)} - {None}
            assert found <= {entry.id} or entry.id == "mlxucx", (entry.id, example, found)


def test_the_mend_speaks_of_a_harmless_setting_where_it_is_set() -> None:
    socket = "n01:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"
    for setting, is_spoken_of in (("NCCL_IB_DISABLE=1", False), ("NCCL_IB_DISABLE=1 -x NCCL_SOCKET_IFNAME=eno1", True)):
        (reason,) = judged(text(f"+ mpirun -x {setting} -np 2 ./a", socket)).layers[0].reasons
        assert reason.fix.startswith("remove NCCL_IB_DISABLE=1 if RDMA is wanted")
        assert ("NCCL_SOCKET_IFNAME may stay" in reason.fix) is is_spoken_of


def test_a_reason_names_its_hosts_and_the_mend_knows_the_batch_system() -> None:
    answer = judged(text("+ srun -n 4 ./a", MEMLOCK, TCP_BTL))
    (reason,) = layer_of(answer, "mpi").reasons
    assert (reason.id, reason.hosts) == ("memlock", ("n02",))
    assert "PropagateResourceLimitsExcept" in reason.fix


def test_gpus_that_are_out_of_the_hcas_reach_are_a_remark() -> None:
    line = "n01:100:150 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)"
    layer = layer_of(judged(text(nccl_lines(), line)), "nccl")
    assert (layer.verdict, layer.status, layer.reasons) == ("ib", "as-expected", ())
    (remark,) = layer.remarks
    assert (remark.id, remark.hosts) == ("peermem", ("n01",))
    assert "nvidia_peermem" in remark.fix
    socket = layer_of(judged(text(nccl_lines(network="Socket", before=SOCKET), line)), "nccl")
    assert (socket.verdict, socket.remarks) == ("tcp", ())


def test_a_reason_names_the_ranks_that_lost_it() -> None:
    log = text(
        bml_lines(),
        "[1700000000.000001] [n02.site:200 :0]   ib_iface.c:1046 UCX  ERROR ibv_create_cq(cqe=4096) failed: "
        "Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)",
    )
    (reason,) = layer_of(judged(log), "mpi").reasons
    assert (reason.id, reason.hosts) == ("memlock", ("n02",))
    refused = text(nccl_lines(network="Socket", before=("NET/IB : No device found.", "Using network Socket")))
    (reason,) = layer_of(judged(refused), "nccl").reasons
    assert (reason.hosts, reason.ranks) == (("n01", "n02"), (0, 1, 2, 3))


def test_a_parameter_that_is_told_twice_is_removed_once() -> None:
    texts = ("mpirun --mca btl ^vader ./a", "[n1:7] btl=^vader (environment)", "pml = ^ucx", "OMPI_MCA_pml=^ucx")
    evidence = tuple(Evidence(number, "configuration", "a", number, text) for number, text in enumerate(texts, 1))
    reason = Reason("wrongtls", "", "", tuple(one.id for one in evidence))
    layer = Layer("mpi", "tcp", "by-configuration", runtime="Open MPI", hosts=("n1",), reasons=(reason,))
    answer = fitted(JobVerdict("a", "tcp", "by-configuration", (layer,), evidence))
    assert answer.layers[0].reasons[0].fix.startswith("remove --mca btl ^vader, pml=^ucx if RDMA is wanted")
