"""What explains TCP: settings that leave nothing else, where they were in force. A setting never makes a verdict."""

from __future__ import annotations

import pytest
from support.job_logs import SOCKET, bml_lines, judged, layer_of, nccl_lines, reason_ids, text, ucx_lines

from ibkit.parsers.job_facts import Said, Setting
from ibkit.transport.settings import (
    asks_for_tcp,
    asks_for_ucx,
    denies_shared_memory,
    leaves_no_network,
    leaves_no_shared_memory,
    leaves_tcp_to_openmpi,
    leaves_tcp_to_ucx,
    wants_module,
)

NCCL_TCP = nccl_lines(network="Socket", before=SOCKET[1:])
UCX_TCP = ucx_lines("ep_cfg[2]: tag(tcp/eth0)")


def setting(name: str, value: str) -> Setting:
    return Setting(Said(1, "", None, None, None), "any", name, value)


@pytest.mark.parametrize(
    ("name", "value", "leaves_tcp"),
    [
        ("UCX_TLS", "tcp", True),
        ("UCX_TLS", "tcp,self,sm", True),
        ("UCX_TLS", "tcp,cuda_copy,cuda_ipc", True),
        ("UCX_TLS", "^ib", True),
        ("UCX_TLS", "^rc,ud,dc", True),
        ("UCX_TLS", "^rc", False),
        ("UCX_MODULES", "^ib", True),
        ("UCX_MODULES", "^cuda,ib", True),
        ("UCX_MODULES", "^i*", True),
        ("UCX_MODULES", "cma,rdmacm", True),
        ("UCX_MODULES", "^cuda", False),
        ("UCX_MODULES", "^mlx5", False),
        ("UCX_MODULES", "ib,cma", False),
        ("UCX_MODULES", "all", False),
        ("UCX_MODULES", "*", False),
        ("UCX_MODULES", "", False),
        ("UCX_TLS", "^tcp", False),
        ("UCX_TLS", "rc,tcp,self", False),
        ("UCX_TLS", "rc_x,sm", False),
        ("UCX_TLS", "ud_verbs", False),
        ("UCX_TLS", "all", False),
        ("UCX_TLS", "ib,sm", False),
        ("UCX_TLS", "", False),
        ("UCX_NET_DEVICES", "eth0", True),
        ("UCX_NET_DEVICES", "eth0,eno1", True),
        ("UCX_NET_DEVICES", "mlx5_0:1", False),
        ("UCX_NET_DEVICES", "mlx5_0:1,eth0", False),
        ("UCX_NET_DEVICES", "mlx5_0", False),
        ("UCX_NET_DEVICES", "all", False),
        ("UCX_LOG_LEVEL", "tcp", False),
    ],
)
def test_what_leaves_tcp_to_ucx(name: str, value: str, leaves_tcp: bool) -> None:
    assert leaves_tcp_to_ucx(setting(name, value)) is leaves_tcp


@pytest.mark.parametrize(
    ("name", "value", "leaves_none"),
    [
        ("UCX_TLS", "self,sm", True),
        ("UCX_TLS", "self,sm,cuda_copy,gdr_copy,rocm_ipc,ze_copy", True),
        ("UCX_TLS", "posix,sysv,cma,self", True),
        ("UCX_TLS", "self,sm,tcp", False),
        ("UCX_TLS", "self,sm,rc_x", False),
        ("UCX_TLS", "self,sm,ugni", False),
        ("UCX_TLS", "^tcp", False),
        ("UCX_TLS", "all", False),
        ("UCX_TLS", "", False),
        ("btl", "self,vader", True),
        ("btl", "sm,self,smcuda", True),
        ("btl", "self,vader,tcp", False),
        ("btl", "self,openib", False),
        ("btl", "^tcp,openib", False),
        ("UCX_NET_DEVICES", "self", False),
    ],
)
def test_what_leaves_no_network(name: str, value: str, leaves_none: bool) -> None:
    assert leaves_no_network(setting(name, value)) is leaves_none


@pytest.mark.parametrize(
    ("name", "value", "version", "leaves_tcp"),
    [
        ("btl", "tcp,self", "4.1.4", True),
        ("btl", "self,vader,tcp", None, True),
        ("btl", "^openib", "4.1.4", True),
        ("btl", "^tcp", "4.1.4", False),
        ("btl", "openib,self,tcp", "3.1.0", False),
        ("btl", "self,vader", "4.1.4", False),
        ("pml", "ob1", "4.1.4", True),
        ("pml", "ob1", "5.0.3", True),
        ("pml", "ob1", "3.1.0", False),
        ("pml", "^ucx", "4.0.3", True),
        ("pml", "ucx", "4.0.3", False),
        ("btl_tcp_if_include", "eth0", "4.1.4", False),
        ("btl", "", "4.1.4", False),
    ],
)
def test_what_leaves_tcp_to_openmpi(name: str, value: str, version: str | None, leaves_tcp: bool) -> None:
    assert leaves_tcp_to_openmpi(setting(name, value), version, has_module=False) is leaves_tcp


def test_pml_ob1_alone_explains_nothing_where_a_module_for_hcas_was_there() -> None:
    assert not leaves_tcp_to_openmpi(setting("pml", "ob1"), "4.1.4", has_module=True)
    assert leaves_tcp_to_openmpi(setting("btl", "tcp,self"), "4.1.4", has_module=True)


def test_lists_of_modules() -> None:
    assert leaves_no_shared_memory(setting("btl", "tcp,self"))
    assert leaves_no_shared_memory(setting("btl", "^vader,sm"))
    assert not leaves_no_shared_memory(setting("btl", "self,vader,tcp"))
    assert not leaves_no_shared_memory(setting("btl", "^openib"))
    assert wants_module(setting("btl", "openib,self"))
    assert not wants_module(setting("btl", "^openib"))


# -- where they count


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("export NCCL_IB_DISABLE=1", "by-configuration"),
        ("NCCL_IB_DISABLE=1", "by-configuration"),
        ("export NCCL_NET=Socket", "by-configuration"),
        ("export NCCL_IB_DISABLE=0", "fallback"),
        ("export NCCL_SOCKET_IFNAME=eth0", "fallback"),
        ("# export NCCL_IB_DISABLE=1", "fallback"),
        ("NCCL_IB_DISABLE=1 may be slower", "fallback"),
        ("export NCCL_IB_DISABLE=true", "fallback"),  # no number
        ("NCCL_IB_DISABLE=1 \\\n  torchrun train.py", "by-configuration"),
        ("cd run && export NCCL_IB_DISABLE=1; torchrun train.py", "by-configuration"),
        ("export NCCL_IB_DISABLE=1  # for the test", "by-configuration"),
        ("mpirun -x NCCL_IB_DISABLE=1 ./a", "by-configuration"),
        ("mpirun -x NCCL_IB_DISABLE=1 ./a\nmpirun \\\n -x NCCL_IB_DISABLE=1 ./b", "by-configuration"),
        ("export NCCL_IB_DISABLE=1\nmpirun ./a\nmpirun ./b", "by-configuration"),
        ("srun hostname\nmpirun -x NCCL_IB_DISABLE=1 ./a", "undecided"),  # which of them wrote the log?
        ("mpirun -x NCCL_IB_DISABLE=1 ./a\nmpirun -x NCCL_IB_DISABLE=0 ./b", "undecided"),
        ("echo NCCL_IB_DISABLE=1 turns InfiniBand off", "fallback"),
        ("if [ $TCP ]; then\n    export NCCL_IB_DISABLE=1\nfi", "fallback"),
        ("[ $TCP ] && export NCCL_IB_DISABLE=1", "fallback"),
        ("export NCCL_IB_DISABLE=1\nexport NCCL_IB_DISABLE=0", "fallback"),
        ("export NCCL_IB_DISABLE=0\nexport NCCL_IB_DISABLE=1", "by-configuration"),
        ("export NCCL_IB_DISABLE=1\nunset NCCL_IB_DISABLE", "fallback"),
    ],
)
def test_a_script_beside_the_log(script: str, status: str) -> None:
    answer = judged(text(NCCL_TCP), script + "\n", names=["job.out", "job.sh"])
    assert (answer.verdict, answer.status) == ("tcp", status)
    assert reason_ids(layer_of(answer, "nccl")) == (["wrongtls"] if status == "by-configuration" else [])
    if status == "undecided":
        assert "job.sh:" in (answer.next_step or "")


@pytest.mark.parametrize(("above", "below"), [(1, 0), (0, 1), (1, 1)])
def test_a_report_of_lsf_is_of_the_run_above_or_below_it(above: int, below: int) -> None:
    report = ("# LSBATCH: User input", "mpirun -x NCCL_IB_DISABLE=1 ./a", "-" * 60, "", "Resource usage summary:")
    answer = judged(text(*NCCL_TCP * above, *report, *(line.replace(":1", ":3") for line in NCCL_TCP * below)))
    assert answer.status == ("by-configuration" if above + below == 1 else "fallback")


def test_what_the_ranks_say_of_their_environment_counts_for_more_than_a_script() -> None:
    said = "n01:100:150 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0."
    answer = judged(text(NCCL_TCP[:1], said, NCCL_TCP[1:]), "export NCCL_IB_DISABLE=1\n")
    assert answer.status == "fallback"


def test_a_variable_that_the_launcher_did_not_pass_on() -> None:
    """UCX lists all of its variables: what is not among them was not given to the ranks."""
    said = ucx_lines("UCX_* env variables: UCX_LOG_LEVEL=info")
    assert judged(text(said, UCX_TCP), "export UCX_TLS=tcp,self\n").status == "fallback"
    said = ucx_lines("UCX_* env variables: UCX_TLS=tcp,self UCX_LOG_LEVEL=info")
    assert judged(text(said, UCX_TCP), "export UCX_TLS=tcp,self\n").status == "by-configuration"
    assert judged(text(UCX_TCP), "export UCX_TLS=tcp,self\n").status == "by-configuration"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("mpirun -np 2 --mca btl tcp,self ./a", "by-configuration"),
        ("mpirun -np 2 -mca btl self,tcp ./a", "by-configuration"),
        ("mpirun -np 2 \\\n  --mca btl tcp,self \\\n  ./a", "by-configuration"),
        ("OMPI_MCA_btl=tcp,self mpirun -np 2 ./a", "by-configuration"),
        ("+ /opt/openmpi/bin/mpirun -x OMPI_MCA_btl=tcp,self ./a", "by-configuration"),
        ("export OMPI_MCA_btl=tcp,self", "by-configuration"),
        ("mpirun -np 2 --mca btl openib,tcp,self ./a", "fallback"),
        ("use mpirun --mca btl tcp,self to switch it off", "fallback"),
    ],
)
def test_command_lines(command: str, status: str) -> None:
    answer = judged(command + "\n" + text(bml_lines()))
    assert (answer.verdict, answer.status) == ("tcp", status)


def test_a_setting_for_tcp_does_not_make_rdma_tcp() -> None:
    answer = judged("mpirun --mca btl tcp,self ./a\n" + text(bml_lines(btl="openib")))
    assert (answer.verdict, answer.status) == ("rdma", "as-expected")
    answer = judged("export NCCL_IB_DISABLE=1\n" + text(nccl_lines()))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")


@pytest.mark.parametrize(
    ("prefix", "status"),
    [("cn01: ", "by-configuration"), ("gpu-07.site: export ", "by-configuration"), ("Hint: ", "fallback")],
)
def test_a_setting_behind_its_host(prefix, status):
    """pdsh puts the host before a line of an environment; advice in a sentence is no setting."""
    made = judged(text([f"{prefix}NCCL_IB_DISABLE=1", *NCCL_TCP]))
    assert layer_of(made, "nccl").status == status


@pytest.mark.parametrize(
    ("name", "value", "denies"),
    [
        ("I_MPI_SHM", "off", True),
        ("I_MPI_SHM", "disable", True),
        ("I_MPI_SHM", "skx_sse", False),
        ("I_MPI_FABRICS", "ofi", True),
        ("I_MPI_FABRICS", "shm:ofi", False),
        ("MV2_USE_BLOCKING", "1", True),
        ("MV2_USE_SHARED_MEM", ": 0", True),  # MVAPICH2's own list of its parameters
        ("MV2_USE_SHARED_MEM", ": 1", False),
    ],
)
def test_what_denies_shared_memory(name: str, value: str, denies: bool) -> None:
    assert denies_shared_memory(setting(name, value)) is denies


def test_without_verbs_intel_mpi_still_has_mlx() -> None:
    without = setting("FI_PROVIDER", "^verbs")
    assert asks_for_tcp(without, has_mlx=False)
    assert not asks_for_tcp(without)
    assert asks_for_tcp(setting("FI_PROVIDER", "^verbs,mlx"))


@pytest.mark.parametrize(
    ("name", "value", "asks"),
    [
        ("MPIR_CVAR_CH4_NETMOD", "ucx", True),
        ("MPICH_CH4_NETMOD", "UCX", True),
        ("MVP_CH4_NETMOD", "ucx", True),
        ("MPIR_CVAR_CH4_NETMOD", "ofi", False),
        ("MPIR_CVAR_CH4_SHM", "ucx", False),
    ],
)
def test_the_module_that_mpich_is_told_to_use(name: str, value: str, asks: bool) -> None:
    assert asks_for_ucx(setting(name, value)) is asks


def test_only_intel_mpi_has_a_fall_back_fabric() -> None:
    layer = layer_of(judged(text(["dapl fabric is not available and fallback fabric is not enabled"])), "mpi")
    assert (layer.runtime, layer.verdict, layer.status) == ("Intel MPI", "none", "aborted")
